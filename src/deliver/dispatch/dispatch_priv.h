/*
 * dispatch_priv.h - the dispatch thread: dispatch.c reads and matches,
 * dispatch_subs.c knows who there is.
 */
#pragma once

#include <stdatomic.h>

#include "deliver/engine/attempt.h"
#include "deliver/engine/feeding.h"
#include "deliver/engine/wish.h"
#include "event/tail.h"
#include "match/table.h"

#define FEEDS 8 /* that circulate */

struct batcher;
struct jq_item;
struct jq_said;
struct sql_batch_kinds_row;

/* One that there is: its wish, and its filter. */
struct known {
	struct wish *wish;
	int program; /* jq; -1: none */
};

/* One that wants the entry in hand, by type and tenant. */
struct hit {
	struct known *k;
	bool gathers; /* wish_gathers() */
	bool waits;   /* its filter is not asked now */
	bool failed;  /* its filter did */
	size_t ask;   /* in the programs, from 1; 0: none is asked */
};

struct dispatch {
	struct deliver *d; /* who is told */
	const struct deliver_opts *o;
	struct mailbox *box;
	struct thread *thread;
	struct db *db;
	struct jq *jq;
	struct presets *presets;
	struct match_table *table;
	struct map *subs; /* id to struct known */
	struct match_hits hits;
	struct hit *found; /* of these; with what their filters are asked */
	struct jq_item *items;
	struct jq_said *said;
	size_t cap_found;
	struct batcher *batch;
	/* How subscriptions were gathered before, by sub and place. */
	struct sql_batch_kinds_row *kinds;
	size_t n_kinds, cap_kinds;
	struct feed *feed; /* that is being filled; NULL: none */
	struct feed *free[FEEDS];
	size_t n_free;
	struct tail_waiter waiter;
	struct note news;
	_Atomic int held; /* 1: the tail has our waiter */
	bool waiting;     /* for the news that it gives back */
	bool going;
	bool go_again; /* the batcher could not read what is stored */
	int64_t go_epoch;
	int64_t pos; /* read up to here */
	int64_t again_ms;
	int64_t rest_ms; /* no look at the log before */
	bool told;
};

void dispatch_forget_all(struct dispatch *x);
/* Tells the deliver thread of all, and that these were all. */
int dispatch_load(struct dispatch *x, struct err *e) MUST_CHECK;
/* A subscription or preset was made, changed or ended at this place. */
int dispatch_apply(
    struct dispatch *x, const struct letter *l, struct err *e) MUST_CHECK;
