/*
 * receiver.h - a small HTTP server on loopback that takes webhooks.
 *
 * `listen` shows what comes to it, `demo` tells a story with it. One thread,
 * which calls take() for each request when its body is there: what take()
 * touches belongs to that thread until receiver_stop().
 */
#pragma once

#include "base/base.h"

struct received;
struct receiver;

struct receiver_opts {
	int64_t port; /* 0: any that is free */
	/* The status to answer with; `a` ends with the request. */
	unsigned (*take)(void *arg, const char *method, const char *path,
	    const struct received *r, struct arena *a);
	void *arg;
};

int receiver_start(const struct receiver_opts *o, struct receiver **ret,
    struct err *e) MUST_CHECK;
void receiver_stop(struct receiver *x); /* NULL is fine */
unsigned receiver_port(const struct receiver *x);
