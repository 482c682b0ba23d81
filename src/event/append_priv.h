/*
 * append_priv.h - how a batch gets into each engine.
 *
 * A batch holds unique ids only (append.c has linked the others to their
 * first). `write` runs the whole transaction: afterwards each entry has its
 * state and seq, or nothing was changed. `resync` brings what is remembered in
 * memory back in step with the store, at start and after an uncertain commit.
 */
#ifndef EVENT_APPEND_PRIV_H
#define EVENT_APPEND_PRIV_H

#include "event/append.h"
#include "event/limits.h"

struct append_batch {
	struct entry **v;
	size_t n;
	int64_t now_us;
	/* In the same transaction: before the entries, and behind them. */
	int (*fn)(struct db *db, void *ctx, struct err *e);
	int (*after)(struct db *db, void *ctx, struct err *e);
	void *ctx;
};

struct append_engine {
	int (*open)(void **ret, struct err *e);
	void (*close)(void *self);
	int (*resync)(
	    void *self, struct db *db, int64_t *ret_last_seq, struct err *e);
	int (*write)(
	    void *self, struct db *db, struct append_batch *b, struct err *e);
	/* How many seqs may have the event id with this hash. */
	int (*find)(void *self, struct db *db, int64_t h,
	    int64_t ret_seqs[IDS_SAME_MAX], struct err *e);
};

extern const struct append_engine APPEND_SQLITE;
extern const struct append_engine APPEND_POSTGRES;

#endif
