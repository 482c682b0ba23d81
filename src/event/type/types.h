/*
 * types.h - event types of one's own: their versions, in the store and at hand.
 *
 * A version of a type is a row (event_type): a JSON Schema of the payload, and
 * whether what does not fit is refused. What the server was built with
 * (catalog.h) is no row and is looked at first.
 *
 * AT HAND. Each event is checked by the thread that reads it, so that all
 * versions lie compiled in memory, as one list that is never changed: a change
 * makes another list, which shares what stayed, and puts it in the place of the
 * old one. Readers take the list that is there (types_now()) and look at it for
 * less than TYPES_GRACE_MS, after which an old list may go.
 *
 *   PUT ──▶ rows and the stamp, one transaction ──▶ types_reload ──▶ answered
 *   other nodes: types_look() by the stamp, each TYPES_POLL_MS ──▶ types_reload
 *
 * LIFE. The list is replaced by the commit thread alone; anybody reads it.
 */
#pragma once

#include "base/base.h"

struct append;
struct db;
struct event;
struct faults;
struct jschema;
struct types;      /* a list */
struct types_live; /* that which is good now */

/* A version, as it is written and shown. */
struct type_version {
	struct str type;
	int64_t version;
	bool strict, deprecated;
	struct str description; /* .p NULL: none */
	struct str schema;      /* JSON */
	struct str example;     /* a payload; .p NULL: none */
	int64_t created_us, changed_us;
	const struct jschema *compiled;
};

struct types_live *types_live_new(void);
void types_live_free(struct types_live *l); /* NULL is fine */
/* What the store has. On the commit thread, or before there is one. */
int types_reload(struct types_live *l, struct db *db, struct err *e) MUST_CHECK;
/* From time to time, by one thread with its own db: has another node changed
 * them, or did a change's answer get lost? Then it is a job of the other. */
void types_look(struct types_live *l, struct db *db, struct append *append);
const struct types *types_now(struct types_live *l); /* NULL: NULL */

/*
 * What does not fit its version, and that it is deprecated. False: it is of no
 * type that is here. *strict becomes true when the type says so.
 */
bool types_check(const struct types *t, const struct event *ev,
    struct faults *ret, bool *strict);

/* In the order of type and version: the first that is not before these two. */
size_t types_find(const struct types *t, struct str type, int64_t version);
size_t types_count(const struct types *t);
const struct type_version *types_at(const struct types *t, size_t i);

/* Inside a transaction of the commit thread; types_reload() comes after. */
int types_put(struct db *db, const struct type_version *v, int64_t now_us,
    struct err *e) MUST_CHECK;
/* version 0: all of them. How many there were. */
int types_delete(
    struct db *db, struct str type, int64_t version, struct err *e) MUST_CHECK;
