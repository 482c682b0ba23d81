/*
 * tail.h - who waits for the next event, and waking them.
 *
 * Long polls, live streams and, later, dispatch wait here for the log to grow
 * past their position, or for a time to pass. One thread holds the waiters, so
 * there is no lock: a waiter is handed over by mail and comes back by wake().
 *
 * The commit thread tells of each commit, which costs it one atomic unless
 * somebody waits. On PostgreSQL another node may have committed, so while
 * somebody waits the newest seq is also asked for every TAIL_POLL_MS.
 *
 * LIFE. A waiter belongs to the tail from tail_wait() until wake() is called,
 * on the tail's thread, exactly once; also when the tail ends.
 */
#pragma once

#include "loop/mailbox.h"

struct store;
struct tail;

struct tail_waiter {
	struct mail mail;
	int64_t after;    /* wake when the log has something newer */
	int64_t until_ms; /* or at this time of clock_mono_ms() */
	void (*wake)(struct tail_waiter *w);
	/* the tail's own */
	struct tail_waiter *next;
};

int tail_start(struct store *s, struct tail **ret, struct err *e) MUST_CHECK;
/* Wakes everybody, then ends. */
void tail_stop(struct tail *t);
/* From now on everybody is woken at once: the program wants to end. */
void tail_hurry(struct tail *t);

/* False when the tail has ended; the waiter is the caller's then. */
bool tail_wait(struct tail *t, struct tail_waiter *w) MUST_CHECK;
void tail_committed(struct tail *t, int64_t last_seq);
int64_t tail_last_seq(const struct tail *t);
