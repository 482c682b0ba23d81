/*
 * letter.h - an entry of the log on its way to those who want it.
 *
 * One copy in memory, however many subscriptions want it; counted, since
 * dispatch reads it, the deliver thread sends it, and whoever is last frees it.
 * Once it is shared it never changes: whoever read it from the log opens it
 * before (letter_open), when anybody wants it at all. One whose filter failed
 * is no longer for all: that subscription gets a copy (letter_failed).
 */
#pragma once

#include <stdatomic.h>

#include "contract/request.h"
#include "deliver/core/core.h"

struct keyring;
struct sql_log_feed_row;

struct letter {
	_Atomic int refs;
	int64_t seq, received_us;
	int64_t to_sub; /* 0: for whoever wants it */
	int kind;       /* enum entry_kind */
	uint64_t
	    key_hash; /* letter_lane(), by the deliver thread; 0: not yet */
	struct core_rec rec;     /* letter_record(), by the deliver thread */
	int64_t rv;              /* CORE_NO_RV: none */
	bool correlated;         /* the next is known; all 0: it has none */
	struct uuid correlation; /* letter_correlation(), the same */
	bool was_sealed;         /* in the log */
	bool shut;               /* no key opens it: body is empty */
	struct uuid tenant, event_id;
	struct str type, key, attrs, body; /* attrs empty: none */
	int failed;        /* enum reason: its filter did; 0: no */
	int64_t judged_by; /* … of that version of the subscription */
	char *why;         /* … in words */
	char data[];
};

/* With one reference. */
struct letter *letter_new(const struct sql_log_feed_row *row);
/* Opens a sealed body, in place; when it can't, the letter is shut. */
void letter_open(struct letter *l, struct keyring *k);
/* Nobody else has it: its filter failed, with these words. */
void letter_fail(struct letter *l, int64_t version, int reason, struct str why);
/* The same for a copy of one that others have. */
struct letter *letter_failed(
    const struct letter *l, int64_t version, int reason, struct str why);
struct letter *letter_ref(struct letter *l);
void letter_unref(void *letter); /* NULL is fine */
size_t letter_bytes(const struct letter *l);
/* As requests are made of it: borrowed. */
struct request_event letter_event(const struct letter *l);
/* It is one that the program tells of itself: ops.* */
bool letter_ours(const struct letter *l);

/* All 0: it has none. */
struct uuid letter_correlation(struct letter *l);

/*
 * What record it is about; zero when that can't be told: it is shut,
 * or it is for one subscription alone, as a batch or an edited dead
 * letter is, and so stands for nothing but itself. Without a version events of
 * another type are of another record: they tell other things. The arena is for
 * looking into the body, and is reset.
 */
struct core_rec letter_record(struct letter *l, struct arena *scratch);

/*
 * Subscriptions that an entry names in its attrs, {"subs":[7,9]}, get it beside
 * those that want it. The next one; start with *at = 0; false at the end.
 */
bool letter_named(const struct letter *l, size_t *at, uint32_t *ret);

/* 64 bits of a text that stay the same for ever; never 0. */
uint64_t letter_hash(struct str text);
/* Its lane by its own key: without one it is alone in it. */
uint64_t letter_lane(const struct letter *l);
