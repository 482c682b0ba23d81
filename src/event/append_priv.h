/*
 * append_priv.h - how a batch gets into each engine.
 *
 * A batch holds unique ids only (append.c has linked the others to their
 * first). `write` runs the whole transaction: afterwards each entry has its
 * state and seq, or nothing was changed. `resync` brings what is remembered in
 * memory back in step with the store, at start and after an uncertain commit.
 */
#pragma once

#include "event/append.h"
#include "event/limits.h"
#include "event/retain.h"

struct append_batch {
	struct entry **v;
	size_t n;
	int64_t now_us;
	/* In the same transaction: before the entries, and behind them. */
	int (*fn)(struct db *db, void *ctx, struct err *e);
	int (*after)(struct db *db, void *ctx, struct err *e);
	void *ctx;
};

/* The batch in a transaction, its entries by `put`. */
int append_tx(struct db *db, void *self, struct append_batch *b,
    int (*put)(
	void *self, struct db *db, struct append_batch *b, struct err *e),
    struct err *e) MUST_CHECK;

struct append_engine {
	bool alone; /* nobody else writes: what memory holds is all there is */
	void *(*open)(void);
	void (*close)(void *self);
	int (*resync)(
	    void *self, struct db *db, int64_t *ret_last_seq, struct err *e);
	int (*write)(
	    void *self, struct db *db, struct append_batch *b, struct err *e);
	/* What goes before the entries of the cut do. */
	int (*retain_ids)(
	    struct db *db, const struct retain_cut *cut, struct err *e);
	/* How many seqs may have the event id with this hash. */
	int (*find)(void *self, struct db *db, int64_t h,
	    int64_t ret_seqs[IDS_SAME_MAX], struct err *e);
};

extern const struct append_engine APPEND_SQLITE;
extern const struct append_engine APPEND_POSTGRES;
