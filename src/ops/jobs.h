/*
 * jobs.h - what must happen from time to time, on a thread of its own.
 *
 * SQLite: passive checkpoints, so that the commit thread seldom has to. It
 * copies pages that nobody waits for; the fsync it does is not the writer's.
 * PostgreSQL: pieces of the log whose every event is past its time are
 * detached (a short lock) and dropped (none of the writer's).
 * Both: looks for audit rows, deliveries, results of tasks and, once a day,
 * articles past their time, for what ended subscriptions left behind (ended.h),
 * for consumers whose time is over (expire.h),
 * and for sessions past their end (account/session.h), and has them removed;
 * ends callbacks of tasks that nobody needs (task/target.h);
 * looks whether there is something to tell (alerts.h), and begins the log's
 * next file. Nodes tell each other what people took (account/rates.h).
 *
 * LIFE. One thread with a connection of its own, from start to stop. It stops
 * before the append does.
 */
#pragma once

#include "base/base.h"

struct alerts;
struct append;
struct db;
struct jobs;
struct log_folder;
struct store;
struct tidy;

struct jobs_opts {
	struct store *store;
	struct append *append; /* rows go in steps of its thread */
	int64_t audit_keep_us;
	int64_t articles_keep_us;  /* reader/clean.h; 0: for ever */
	int64_t callbacks_keep_us; /* task/target.h */
	struct tidy *tidy;
	struct alerts *alerts;   /* NULL: nobody looks */
	struct log_folder *logs; /* base/log/log_folder.h; NULL: none */
	/* Of a room that this one does not know, with the thread's connection;
	 * `last`: at the end. */
	void (*look)(void *arg, struct db *db, bool last);
	void *arg;
};

int jobs_start(
    const struct jobs_opts *o, struct jobs **ret, struct err *e) MUST_CHECK;
void jobs_stop(struct jobs *j); /* NULL is fine */
