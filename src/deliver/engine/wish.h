/*
 * wish.h - a subscription in short: what dispatch and readers need of it.
 *
 * There may be a hundred thousand of them in memory, so a wish has no secrets,
 * no templates and no arena: types, tenants, the filter's text, and the numbers
 * that core.h wants. The whole subscription is read from the store when
 * something is to be sent to it (confs.h).
 *
 * Counted and never changed, but for its strikes: dispatch, readers and the
 * deliver thread share it.
 */
#pragma once

#include <stdatomic.h>

#include "contract/sub.h"
#include "deliver/core/core.h"
#include "deliver/dispatch/strikes.h"
#include "deliver/limits.h"
#include "sink/sink.h"

struct presets;
struct sql_subs_page_row;

/* The key of a map by something of a fixed size, as the id of a subscription. */
#define SUB_KEY(id) ((struct str){(const char *)(id), sizeof(*(id))})

/*
 * What an entry's order key is made of. It is made whether deliveries are in
 * order or not: what waits in order keeps its key when that is changed.
 */
enum wish_key {
	WISH_KEY_EVENT,  /* the event's own key */
	WISH_KEY_PRESET, /* what its preset says: request.h knows */
};

/* What of a subscription's events is gathered (deliver/batch/batch.h), not fed. */
enum wish_kind {
	WISH_PLAIN, /* nothing */
	WISH_CHILD, /* CHILD_* events */
	WISH_ALL,
};

/* Up to until_seq it was another. */
struct wish_was {
	int64_t until_seq;
	enum wish_kind kind;
};

struct wish {
	_Atomic int refs;
	struct uuid uid;
	enum sink_kind sink;
	int64_t version;
	int64_t from_seq; /* it wants what stands behind it */
	struct core_sub core;
	struct strikes strikes;
	int64_t strike_us; /* the time that they are counted in */
	bool hold_begun;   /* hold.h's */
	enum wish_key key;
	bool spaced;   /* its spacing_key has to be asked */
	bool picky;    /* request_wanted() has to be asked */
	bool directed; /* gets what names it (letter.h), and nothing else */
	bool checked;  /* there is a health check before each call */
	bool audited;  /* what comes to nothing has a row in the audit */
	const struct str *types; /* patterns; n 0: all */
	size_t n_types;
	const struct uuid *tenants; /* n 0: all */
	size_t n_tenants;
	struct str filter; /* jq; empty: none */
	enum wish_kind kind;
	struct wish_was was[BATCH_KINDS_MAX]; /* oldest first */
	size_t n_was;
	struct sub_batch batch;
	int64_t window_us; /* scaled */
};

/* `was`: oldest first. ERR_INVALID or ERR_ABSENT when the stored text can't be
 * used. */
int wish_new(const struct sql_subs_page_row *row, const struct wish_was *was,
    size_t n_was, const struct presets *presets, int64_t scale,
    struct wish **ret, struct err *e) MUST_CHECK;
struct wish *wish_ref(struct wish *w);
void wish_unref(struct wish *w); /* NULL is fine */

/* Its filter or template went wrong. True: it is held from now on. */
bool wish_strike(struct wish *w, enum reason r, int64_t now_us);
/* By the store or since: what comes is its reader's. Any thread. */
bool wish_held(const struct wish *w);

/* By what the core knows the receiver at this URL: the key of its state. */
uint64_t wish_endpoint(struct str url);

/* By its preset's `gathers` and its own batch.mode. */
enum wish_kind wish_kind_of(const struct sub_conf *s);
/* Whether an event at this place of the log is gathered: it is never fed. */
bool wish_gathers(const struct wish *w, struct str type, int64_t seq);

/*
 * What the program tells of itself (ops.*) goes to those who name it: whoever
 * wants all events wants those of the publishers.
 */
bool wish_asked(const struct wish *w, struct str type);
/* By type and tenant; the filter is somebody else's. */
bool wish_wants(
    const struct wish *w, struct str type, const struct uuid *tenant);
