/*
 * pool.h - the read threads: work that may block, off the http threads.
 *
 * n threads share one mailbox-like queue; each has a context of its own (its
 * read connection) made by `enter`. A job is posted by anybody, run once by
 * one of them, and tells its owner by itself that it is done. The queue has a
 * bound: a full one refuses, and the caller answers 503.
 */
#pragma once

#include "base/base.h"

struct pool;

struct pool_job {
	struct pool_job *next;
	void (*run)(struct pool_job *job, void *thread_ctx);
};

struct pool_opts {
	const char *name;
	int threads;
	size_t queue_max;
	void *(*enter)(void *arg); /* on the thread itself; NULL: no context */
	void (*leave)(void *thread_ctx);
	void *arg;
};

int pool_start(
    const struct pool_opts *o, struct pool **ret, struct err *e) MUST_CHECK;
bool pool_post(struct pool *p, struct pool_job *job) MUST_CHECK;
/* Runs what is queued, then ends the threads and frees. NULL is fine. */
void pool_stop(struct pool *p);
