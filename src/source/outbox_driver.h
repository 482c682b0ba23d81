/*
 * outbox_driver.h - what an outbox must be able to do, for its back ends.
 *
 * An outbox is a table in somebody else's database. The relay (relay.h) reads
 * it in rounds:
 *
 *   open, lock ──▶ begin ──▶ next ──▶ (append) ──▶ mark ──▶ … ──▶ end
 *                    ▲        └── chunk by chunk ──┘               │
 *                    └──────────── now, or after wait ─────────────┘
 *
 * next() hands rows to the sink until it is full or the round has no more;
 * mark() says that those of one chunk are durable in our log. A chunk is
 * marked while the next one is in the sink already: a back end may read ahead,
 * but what it reads must be of one snapshot in the order of id (invariant 2).
 *
 * LIFE. One thread, the relay's. After any failure close() is the only call;
 * what was not committed by end() is then not marked and will be read again.
 *
 * INVARIANTS
 *   1. published_at is set only for what mark() named.
 *   2. Rows that were not visible in the round's snapshot are never passed by
 *      a later row of the same key: the next round sees both or the first.
 */
#pragma once

#include "source/outbox.h"

enum outbox_col {
	COL_ID,
	COL_EVENT_ID,
	COL_TENANT,
	COL_TYPE,
	COL_VERSION,
	COL_KEY,
	COL_RV,
	COL_CORRELATION,
	COL_PRODUCER,
	COL_PAYLOAD,
	COL_OCCURRED,
	COL_CREATED,
	COL_TOO_LARGE, /* bytes of a payload that is left out */
	OUTBOX_COLS
};

/* All as text; .p NULL: null. Valid during the call. */
struct outbox_row {
	int64_t id;
	struct str v[OUTBOX_COLS];
};

struct outbox_sink {
	/* 1: full with this one; 0: more; < 0: it can't go on. */
	int (*take)(void *ctx, const struct outbox_row *row, struct err *e);
	void *ctx;
};

struct outbox_driver {
	int (*open)(const struct outbox_opts *o, void **ret, struct err *e);
	void (*close)(void *self);
	/* 1: it is this relay's turn, alone; 0: another one has it, and this
	 * is to be asked again. */
	int (*lock)(void *self, struct err *e);
	/* It is still its turn: before each append, and while one is waited
	 * for. */
	int (*keep)(void *self, struct err *e);
	int (*begin)(void *self, struct err *e);
	/* 1: rows were handed over, 0: there are no more in this round. */
	int (*next)(void *self, const struct outbox_sink *sink, struct err *e);
	int (*mark)(void *self, const int64_t *ids, size_t n, struct err *e);
	/* *ret_more: there may be more to read at once. */
	int (*end)(void *self, bool *ret_more, struct err *e);
	/* Up to ms, or until somebody says that there is something, or `fd` can
	 * be read. */
	int (*wait)(void *self, int fd, int64_t ms, struct err *e);
	/* Rows that wait (at most OUTBOX_LAG_MAX are counted), and the age of
	 * the oldest. */
	int (*lag)(
	    void *self, int64_t *ret_rows, int64_t *ret_s, struct err *e);
};

extern const struct outbox_driver OUTBOX_POSTGRES;
extern const struct outbox_driver OUTBOX_SQLITE;
