/*
 * rates.h - what people may take of several nodes: one bucket behind all.
 *
 * Each node counts by itself (limiter.h), so that no request waits for the store.
 * Where nodes share a store, each tells a row of it, once in RATES_MS, what a
 * person took there since, and learns how much all took: the row is the same
 * bucket as a limiter's, by the database's clock, and its fullness is carried
 * over. A node that serves nobody asks nothing.
 *
 *   http threads ──limiter_take()──▶ slots ──rates_look()──▶ rate (store)
 *                                      ▲                        │
 *                                      └──────limiter_told()────┘
 *
 * HOW MUCH TOO MUCH. A node that knows nothing of a person yet gives a whole
 * bucket. Each grant moves the one row on, and who sees it too far ahead gives
 * nothing until it is paid back. So of n nodes a person gets, in any s minutes,
 * at most rate × (s + n), and a moment's worth: what n nodes give between two
 * looks, rate × n × RATES_MS / 60 s. One node: rate × (s + 1).
 *
 * What can't be told, since the store is away, is lost: meanwhile each node
 * counts for itself, as it does for networks (who is not logged in).
 *
 * LIFE. rates_look() on the jobs thread; the limiter is shared with all.
 */
#pragma once

#include "base/base.h"

struct db;
struct limiter;

/* What is counted of a person, apart from each other. */
enum rates_kind { RATES_CALLS, RATES_FEEDS, RATES_KINDS };

/* What a limiter knows it by. */
int64_t rates_id(int64_t user, enum rates_kind kind);

struct rates {
	struct limiter *people;
	int64_t due_us; /* mono: the next look */
	size_t at;      /* the slot it begins with */
};

/* As often as one likes; with a connection that may write. A failure is logged. */
void rates_look(struct rates *r, struct db *db, int64_t now_us);
