/*
 * counter.h - what the example does with an event, in a database of its own.
 *
 * counter_sqlite.c and counter_pq.c are the same program for two databases:
 *
 *   counted   how often each event was applied: once, whatever happens
 *   record    the newest state of each record, or that it was deleted
 *   history   each version in the order it was applied: never backwards
 */
#pragma once

#include <hikyaku.h>

/* Opens the database and makes what is missing; NULL after saying why. */
struct hk_db *counter_open(const char *where);
/* The handler for hk_consume(). */
int counter_apply(
    void *ctx, struct hk_db *db, const struct hk_event *ev, struct hk_error *e);
void counter_close(struct hk_db *db);
