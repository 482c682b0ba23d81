/*
 * reseal.h - moves sealed values to the active key, a few at a time.
 *
 *   keyring_add ──▶ step, step, … over each table ──▶ sealing_fresh ──▶ done
 *
 * A table of columns (reseal.c) names for each a statement that pages through
 * its values and one that puts a value back, unless it was changed meanwhile.
 * A new column is two statements in sql/seal.sql and a line there; the values
 * must be sealed with where = keyring_where(column, the row's UUID), and must be
 * sealed on the commit thread, inside the transaction that writes them: so
 * none of an old key can come in behind the walk.
 *
 * A subscription has several sealed values within one text; which they are is
 * known to contract/sub.h alone, so it is loaded and stored again, all
 * of them at once.
 *
 * WHEN IT IS BROKEN OFF, by a crash or a stop, nothing is lost: each value is
 * readable by the old or by the new key. A server takes it up again by itself,
 * and so does `hikyaku seal rotate`.
 *
 * LIFE. reseal_step() runs on the writer, in a transaction a step. A resealer
 * belongs to a server and posts its steps to the commit thread one by one, so
 * that events go in between; it ends before the append does.
 */
#pragma once

#include "base/base.h"

struct append;
struct conf;
struct db;
struct keyring;

/* A place in the walk; zeroed it begins. */
struct reseal {
	size_t table;
	int64_t after;
	int64_t seen, changed;
	int64_t broken; /* could not be unsealed, and stay as they are */
	bool done;
};

/* Up to RESEAL_STEP rows, and *s moves on. Inside a transaction. */
int reseal_step(struct db *db, struct keyring *k, const struct conf *conf,
    struct reseal *s, struct err *e) MUST_CHECK;

/* Of the run that goes on, or of the last one. */
struct reseal_state {
	bool running, failed;
	int64_t seen, changed, broken;
};
/*
 * {"source","active","keys":[{"id","active","values","log"}],"logMissing":
 * [{"id","log"}],"missing":N,"running","failed","seen","changed","broken"}: how
 * many values each key has sealed, and how many a key that is not there. Walks
 * all values, in pages. "log" is null, or {"firstSeq","firstAt","lastAt"} of
 * the events that the key has sealed: they are not sealed anew, so the key has
 * to stay until retention has taken them (event/sealed.h).
 */
int reseal_show(struct db *db, struct keyring *k, const struct conf *conf,
    const struct reseal_state *s, struct buf *b, struct err *e) MUST_CHECK;

struct resealer;
struct resealer *resealer_new(
    struct append *append, struct keyring *k, const struct conf *conf);
/* From any thread; one that runs goes on. */
int resealer_start(struct resealer *x, struct err *e) MUST_CHECK;
/* From any thread. */
void resealer_state(struct resealer *x, struct reseal_state *ret);
void resealer_end(struct resealer *x); /* posts no more steps */
/* After the append has stopped. NULL is fine. */
void resealer_free(struct resealer *x);
