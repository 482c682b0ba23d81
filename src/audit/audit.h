/*
 * audit.h - who did what, and what became of it, in rows that can't be edited
 * unseen.
 *
 * A row is the JSON object of seed 6.6.2 as text, with its time and category
 * beside it for finding it, and
 *
 *   hash(n) = SHA-256(hash(n-1), n, at, category, row)
 *
 * Rows are numbered without gaps. audit_head holds the newest number and hash,
 * so that a cut tail shows, and the number and hash before the oldest row that
 * is kept, so that retention does not break the chain. Who can change rows and
 * all hashes behind them can forge the whole: `hikyaku audit verify` prints
 * the newest hash, to be kept elsewhere.
 *
 * WHY THE TEXT. What is hashed is what is stored and what is shown: no second
 * spelling of a row that could differ.
 *
 * LIFE. Rows are written by the commit thread, inside the transaction of what
 * they tell of: both are there or neither. The head row is locked meanwhile
 * (PostgreSQL), so that two nodes can't fork the chain. Lists and verify run
 * on any connection. It is the last thing a transaction does: one that locks
 * the head first and other rows then could wait in a circle with another
 * node's.
 *
 * WHAT IS NOT IN IT. Values of headers, secrets; the user part and the query
 * of a URL are masked. Texts are cut at AUDIT_TEXT_MAX, never refused: what
 * happened must be told.
 *
 * INVARIANTS
 *   1. The rows kept are numbered cut_n + 1 to n.
 *   2. A row never changes; the oldest go, in order.
 */
#pragma once

#include "seal/digest.h"

struct db;

enum audit_category {
#define AUDIT(name) AUDIT_##name,
#include "audit/categories.tbl"
#undef AUDIT
	AUDIT_COUNT
};

/* Empty texts and zeroed parts are left out. All is borrowed. */
struct audit_row {
	enum audit_category category;
	int64_t at_us;
	/* "user:anna", "key:shop", "local"; empty: SYSTEM */
	struct str actor, triggered_by;
	struct str target_type; /* "key", "user", "subscription", "object" */
	struct str repository, object_id, object_name, object_path;
	struct str webhook_id, url, event_type, delivery_id;
	bool has_result, success;
	int status, attempts;
	int64_t ms;
	struct str error;
	int64_t payload_bytes;
	const struct str *header_names; /* names alone */
	size_t n_header_names;
	struct str trigger; /* a JSON object: the event behind it */
	struct str details; /* more members, as JSON: "\"a\":1,\"b\":2" */
};

const char *audit_name(enum audit_category c);
bool audit_category_of(struct str name, enum audit_category *ret);

/* Inside a write transaction. */
int audit_put(
    struct db *db, const struct audit_row *row, struct err *e) MUST_CHECK;
/* Many at the cost of few: up to AUDIT_MANY_MAX, in this order. */
int audit_put_many(struct db *db, const struct audit_row *rows, size_t n,
    struct err *e) MUST_CHECK;

/* A place in the list, newest first; both 0: its beginning. */
struct audit_at {
	int64_t at_us, n;
};
struct audit_query {
	int64_t from_us, to_us;         /* from, and before; 0: no end */
	const enum audit_category *one; /* NULL: all */
	struct audit_at after;
	size_t limit;
};
#define AUDIT_ENOUGH 1
/*
 * Hands over each row as its JSON text, which is valid during the call; one
 * that is answered with AUDIT_ENOUGH is left to the next page. *ret_next is {0, 0} when there is nothing more.
 */
int audit_list(struct db *db, const struct audit_query *q,
    int (*each)(void *ctx, struct str row, struct err *e), void *ctx,
    struct audit_at *ret_next, struct err *e) MUST_CHECK;

/*
 * Verify goes in steps of AUDIT_WALK_MAX rows; a zeroed struct begins. It ends
 * when `done` or `broken` is set.
 */
struct audit_walk {
	int64_t n; /* looked at so far, all good */
	unsigned char hash[DIGEST_LEN];
	int64_t rows, head; /* good rows so far; newest number */
	bool begun, done, broken;
	int64_t broken_n;
	char why[128];
};
int audit_walk(struct db *db, struct audit_walk *w, struct err *e) MUST_CHECK;
/* {"n","hash","rows","head","done","broken":null or {"n","why"}} */
void audit_walk_json(const struct audit_walk *w, struct buf *b);

/*
 * Removes up to RETAIN_STEP of the oldest rows, those before cut_us. Inside a
 * write transaction.
 */
int audit_retain(struct db *db, int64_t cut_us, int64_t *ret_removed,
    struct err *e) MUST_CHECK;
/* Whether audit_retain() would find any; on any connection. */
int audit_old(
    struct db *db, int64_t cut_us, bool *ret, struct err *e) MUST_CHECK;
