/*
 * errand.h - what one node asks of the node that delivers, through the store.
 *
 * Several nodes may share a PostgreSQL; one of them delivers, and what only it
 * can do is asked there. A node that gets such a call and does not deliver writes a row with the question; the one that delivers
 * finds it, does it and writes the answer into the row; the asker reads that and
 * removes the row. Nodes need not know each other's addresses, and who may reach
 * the store needs no further right.
 *
 *   asker   post ──▶ row ·················▶ answer read ──▶ done, row removed
 *   owner              read ──▶ run ──▶ answer written
 *
 * WAITING. The asker waits ERRAND_WAIT_US and what the question itself may take:
 * longer than a lease, so that a node which takes over finds the row of one that
 * died and does it then. Past that the row is removed and the error says that
 * nobody took it up, or that nobody knows how it ended. A question may be run
 * twice when its node dies in the middle: it must be one that can be.
 *
 * LOOKING. The owner looks for rows each ERRAND_LOOK_MS while there were some a
 * moment ago, else each ERRAND_REST_MS; the asker for answers while it waits.
 *
 * LIFE. A thread of its own that reads; writes are jobs of the commit thread.
 * errands_stop() once nobody asks and before the engine stops: what that was
 * given may still end. errands_free() after append_stop().
 */
#pragma once

#include "event/append.h"

struct db;
struct errands;
struct node;
struct store;

/* A question; the errands' from errands_post() until done(), on another
 * thread. */
struct errand {
	struct mail mail;
	struct str question; /* the asker's, JSON */
	int64_t takes_us;    /* what it may take by itself */
	struct err err;      /* OK: there is an answer */
	struct str answer;   /* until done() returns */
	void (*done)(struct errand *x);
	/* the errands' own */
	struct append_job job;
	struct errands *all;
	struct link in_list;
	int64_t id, until_us;
};

/* One that this node runs. `answer` is filled before errands_answer(). */
struct errand_task {
	struct mail mail;
	int64_t id;
	struct str question;
	struct arena *arena; /* gone with the task */
	struct buf answer;
	struct append_job job; /* the errands' own, and the rest */
	struct errands *all;
	struct link in_list;
};

struct errands_opts {
	struct store *store;
	struct append *append;
	const struct node *node;
	/* True while this node delivers. NULL: it never does. */
	bool (*owns)(void *arg);
	/* Ends in errands_answer() or errands_leave(), here or on another
	 * thread. */
	void (*run)(void *arg, struct errand_task *t, struct db *db);
	void *arg;
};

int errands_start(const struct errands_opts *o, struct errands **ret,
    struct err *e) MUST_CHECK;
/* The server is stopping: nobody waits much longer. NULL is fine. */
void errands_hurry(struct errands *all);
void errands_stop(struct errands *all);
void errands_free(struct errands *all);

void errands_post(struct errands *all, struct errand *x);
void errands_answer(struct errand_task *t);
/* It is not for this node after all: whoever delivers finds it. */
void errands_leave(struct errand_task *t);
