/*
 * replay.h - replays under way: what their readers need besides a position.
 *
 * A replay is a reader of the log with a number (rep) and an end, and a row in
 * the store that says which types, key and tenant it is limited to and how fast
 * it may go. The
 * reader is the core's; the rest is here, found by (subscription, rep).
 *
 * RATE. A page of a replay has at most replay_chunk() entries and there is one
 * in replay_interval_us(): small pages for low rates, so that ten a second are
 * not 256 each half minute.
 *
 * STOPPING. Nothing of the core's is torn out. A stopped replay's next page is
 * empty and reaches to its end: the reader is then over, and goes as any. What
 * was read before is still sent.
 *
 * STORED. Its rows are written together with an entry of the log, by which
 * dispatch tells the deliver thread to look at the replays of the subscription:
 * one that is new begins, one that was stopped ends. So whichever node delivers
 * hears of it, in its place, however busy it is.
 *
 * EXCLUSIVE. One that its subscription waits for. The subscription's own reader
 * is not moved back for it: what it would read again has attempts of its own,
 * by which a restart takes it for settled, and ids that receivers know.
 *
 * LIFE. Counted: the deliver thread keeps them, a page under way has one.
 */
#pragma once

#include <stdatomic.h>

#include "base/base.h"

struct core;
struct mail;
struct core_reader;

struct replay_key {
	uint32_t sub, rep;
};

struct replay {
	_Atomic int refs;
	_Atomic bool stopped;
	struct replay_key key;
	int64_t rate;         /* entries a second; 0: no limit */
	struct str order_key; /* of events; .p NULL: any */
	struct uuid tenant;   /* all 0: any */
	size_t n_types;
	struct str types[]; /* keys of match/types.h; none: all */
};

struct replay_terms {
	int64_t rate;
	struct str types; /* a JSON array of patterns, stored; .p NULL: all */
	struct str order_key; /* .p NULL: any */
	struct uuid tenant;   /* all 0: any */
	bool stopped;
};

int replay_new(struct replay_key key, const struct replay_terms *t,
    struct replay **ret, struct err *e) MUST_CHECK;
struct replay *replay_ref(struct replay *p); /* NULL is fine */
void replay_unref(struct replay *p);         /* NULL is fine */

/* Those of the deliver thread, by (subscription, rep). */
struct replays {
	struct map *map;
	struct mail *late; /* notes: the store did not answer */
	int64_t again_us;
};

struct replay *replays_find(const struct replays *all, uint32_t sub, int rep);
/* Stored already; again is nothing, but that it may be stopped by now. */
int replays_begin(struct replays *all, struct core *core,
    const struct core_reader *rd, const struct replay_terms *t,
    struct err *e) MUST_CHECK;
void replays_written(struct replays *all, const struct core_reader *rd);
void replays_forget(struct replays *all, uint32_t sub); /* 0: all */

bool replay_wants(const struct replay *p, struct str type,
    const struct uuid *tenant, struct str key);
int replay_chunk(int64_t rate);
int64_t replay_interval_us(int64_t rate);
