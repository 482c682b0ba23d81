/*
 * tidy.h - what is known of deliveries goes by its age, a few rows at a time.
 *
 * attempts      older than webhook.delivery.log.retention.days
 * dead letters  decided so long ago; one that waits stays for ever, and so
 *               does its body. Bodies kept for rows that are gone go.
 * counters      by the minute for two days, then by the hour, as long
 * replays       ended so long ago, and nothing of them is left: only then is
 *               their number (rep) given again
 *
 * WHY BY KEY. None of these tables has an index by time: an index is paid for
 * with every delivery. A pass walks a table in the order of its key, RETAIN_STEP
 * rows a step, and removes those whose time has come; then it rests for a
 * hundredth of what is kept. Attempts of an event that is younger than that are
 * younger still, so the walk ends where the log says (event/when.h).
 *
 * LIFE. tidy_look() by the jobs thread; the steps run on the commit thread, each
 * posted anew, so that what waits comes first. tidy_free() after append_stop().
 */
#pragma once

#include "base/base.h"

struct append;
struct db;
struct tidy;

struct tidy *tidy_new(struct append *append, int64_t keep_us);
void tidy_free(struct tidy *t); /* NULL is fine */
/* Begins some steps when it is time. */
void tidy_look(struct tidy *t);

/* One step by itself, as the commit thread does it; *ret_more: not the last. */
int tidy_run(struct tidy *t, struct db *db, int64_t now_us, bool *ret_more,
    struct err *e) MUST_CHECK;
