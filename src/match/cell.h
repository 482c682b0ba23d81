/*
 * cell.h - the subscriptions that want one type of one tenant.
 *
 * An ascending list. Most have one member, which lies in the cell itself. A
 * member that is removed leaves a hole (its negative), which is filled when it
 * comes back and swept when holes are the half: replacing or dropping one of
 * a hundred thousand moves nothing.
 *
 * INVARIANTS
 *   1. |member i| < |member i+1|.
 *   2. n - holes members; holes are at most half of n.
 *   3. After cell_reserve() one cell_put() can't fail, whatever was removed
 *      in between.
 */
#ifndef MATCH_CELL_H
#define MATCH_CELL_H

#include "base/uuid.h"
#include "match/index.h"

struct name;
struct match_hits;

struct cell {
	struct link link; /* count: who refers to it */
	struct uuid tenant;
	struct name *name;
	uint32_t n;
	uint32_t holes : 27, shift : 5; /* room for 1 << shift */
	union {
		int64_t one; /* shift 0 */
		int64_t *many;
	};
};

int cell_reserve(struct cell *c, struct err *e) MUST_CHECK;
void cell_put(struct cell *c, int64_t sub);    /* it may be there already */
void cell_remove(struct cell *c, int64_t sub); /* absent is fine */
int cell_hits(
    const struct cell *c, struct match_hits *h, struct err *e) MUST_CHECK;
void cell_done(struct cell *c);

#endif
