/*
 * append_queue.h - what waits for the commit thread, and when it has waited
 * long enough. Owned by that thread; others only post to the box.
 */
#pragma once

#include "loop/mailbox.h"

struct append_job;

struct append_queue {
	struct mailbox *box;
	struct mail *todo; /* taken from the box, oldest first */
	struct mail **todo_end;
	size_t last_jobs, last_n; /* of the last commit of entries … */
	int64_t last_us;          /* … and how long it took */
};

/* It stays where it is: it points into itself. */
void queue_init(struct append_queue *q, struct mailbox *box);

/* Adds what is in the box; waits at most timeout_ms for it. */
void queue_take(struct append_queue *q, int timeout_ms);
struct append_job *queue_first(const struct append_queue *q); /* or NULL */
void queue_drop(struct append_queue *q); /* the first one, which is there */

/* A commit of entries is over. */
void queue_note(struct append_queue *q, size_t n_jobs, size_t n, int64_t us);
/*
 * Callers who were just answered are about to come again, and those who are
 * here would have a commit, with its sync, to themselves: when there were many,
 * half of all are waited for, but no longer than the last commit took, and only
 * while some keep coming. One caller never waits.
 */
void queue_gather(struct append_queue *q);
