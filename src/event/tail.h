/*
 * tail.h - who waits for the next event, and waking them.
 *
 * Long polls, live streams and, later, dispatch wait here for the log to grow
 * past their position, or for a time to pass. One thread holds the waiters, so
 * there is no lock: a waiter is handed over by mail and comes back by wake().
 *
 * The commit thread tells of each commit, which costs it one atomic unless
 * somebody waits.
 *
 * OTHER NODES. In a shared store another node may have committed. A second
 * thread with a connection of its own tells the others of our commits and hears
 * of theirs (db_tell, db_hear): outside of the append's transaction, where it
 * would cost two thirds of the speed, and at most once in TELL_MS, however many
 * commits there are. Who heard something asks for the newest seq every
 * TAIL_POLL_MS for a while, which is longer than TELL_MS, so that nothing is
 * missed; who did not, every SLOW_POLL_MS, in case that a word was lost.
 *
 * CHANGES. What changed for people who read (reader/changes.h) is not in the log.
 * Whoever committed such a change says so, and who waits for that is woken, here
 * and on other nodes in the same way; these look for it only while somebody waits.
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
	bool for_changes; /* or when tail_changes() is not `changes` any more */
	int64_t changes;
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
/* Behind the commit of a change; any thread. */
void tail_changed(struct tail *t);
/* A number that moves with each that we know of. */
int64_t tail_changes(const struct tail *t);
