/*
 * flush.h - a set of the core's changes into the store, in one transaction.
 *
 * On PostgreSQL attempts and rows go as arrays: a message for all of a kind
 * instead of one for each. Every flush has a number; one whose commit's answer
 * was lost finds its number there and writes nothing twice, not even counters.
 *
 * LIFE. Made by the deliver thread, which leaves the changes alone until they
 * are written; flush_write() runs on the commit thread.
 *
 * INVARIANT 7 of ENGINE.md: a node that lost its groups writes nothing.
 */
#ifndef DELIVER_ENGINE_FLUSH_H
#define DELIVER_ENGINE_FLUSH_H

#include "base/base.h"
#include "base/uuid.h"

struct core_dead;
struct db;
struct flushing;

/* What a person decided about a dead letter; written with the rows it makes. */
struct flush_decision {
	uint32_t sub;
	int rep;
	int64_t seq, at;
	int state; /* 1: put back, 2: skipped */
	struct str who, note;
	/* for the audit */
	char webhook_id[UUID_LEN + 1], delivery_id[UUID_LEN + 1];
};

/* A stretch of the log that went before a reader came to it. */
struct flush_range {
	uint32_t sub;
	uint64_t okey;
	int64_t seq, seq_to, at;
};

/*
 * What became of deliveries whose subscription another part keeps
 * (wish.directed), for that part to write down in the same transaction.
 */
enum settled { SETTLED_AGAIN, SETTLED_OK, SETTLED_DEAD };
struct flush_settled {
	uint32_t sub;
	int64_t seq;
	enum settled how;
};
typedef int (*flush_settled_fn)(
    struct db *db, const struct flush_settled *v, size_t n, struct err *e);

/* The set under way. ERR_DENIED when the groups belong to another node. In a
 * transaction. */
int flush_write(
    struct db *db, const struct flushing *f, struct err *e) MUST_CHECK;
/* Dead letters that are not the core's, and their counters. */
int flush_deads(struct db *db, const struct core_dead *v, size_t n,
    int64_t minute, struct err *e) MUST_CHECK;

#endif
