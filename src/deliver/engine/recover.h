/*
 * recover.h - what the store knows of deliveries, into a core.
 *
 * After a start, and after groups were taken over. It reads endpoints, rows and
 * readers, and what is settled above the cursor, which is bounded by the
 * window (limits.h) whatever the backlog is. What is settled above a reader's
 * position is not read: its pages leave such entries out (sql log_feed_sub).
 *
 * LIFE. On the deliver thread, once its core knows the subscriptions.
 */
#ifndef DELIVER_ENGINE_RECOVER_H
#define DELIVER_ENGINE_RECOVER_H

#include "base/base.h"

struct core;
struct db;

struct sql_load_readers_row;

/* `replay` begins a reader with a rep; a row's texts are the store's. */
int recover(struct core *c, struct db *db, int64_t cursor, int64_t now,
    int (*replay)(
	void *arg, const struct sql_load_readers_row *row, struct err *e),
    void *arg, struct err *e) MUST_CHECK;

#endif
