/*
 * id_table.h - the ids of the log on SQLite's disk, as sorted runs.
 *
 * WHY NOT A ROW AN ID. A row of a B-tree costs a microsecond, thirty bytes, and
 * a page that is written for a dozen ids. Here an id is 8 bytes, a row holds
 * some 128 of them, and rows are only appended.
 *
 *   pair     43 bits of h, then the low 21 of seq: sorted by h
 *   run      the pairs of 2^17 seqs; four of them are merged into one of the
 *            next level, and four of those again: 2^21
 *   part     the pairs of a run that begin with the same bits: a row
 *
 * The key of a part is its level, its run, and those bits: as many that a part
 * has some 128 pairs, on each level. A run is written by slices. When four are
 * there, part after part of them is merged, and then they are dropped. So an id
 * is looked for in few places, and written three times. What is gone from the
 * log goes by whole runs.
 *
 * A find gives seqs whose h agrees in 43 bits. The caller compares with the log.
 *
 * LIFE. Owned by the commit thread, changed inside its transactions only:
 * id_table_begin() when one begins, id_table_committed() when it was.
 *
 * INVARIANTS
 *   1. Each id up to `upto` is in a run of one level that was not merged yet.
 *   2. A part is written whole: to write it again is to replace it.
 *   3. What is merged is never merged again: runs that are partly dropped
 *      would replace more by less.
 */
#ifndef EVENT_IDS_ID_TABLE_H
#define EVENT_IDS_ID_TABLE_H

#include "base/base.h"

#define ID_SEQ_BITS 21 /* of a seq in a pair: the largest runs have as many */
#define ID_RUN_BITS 17
#define ID_LEVELS   3
#define ID_LEVEL_AT 56 /* bits of a key below its level */

struct db;

struct id_state {
	int64_t upto; /* every id up to this seq is in the table */
	/* Of each level: parts of all its runs, one after the other, that are
	 * in the next; and runs of the next whose four are dropped. */
	int64_t merged[ID_LEVELS - 1], dropped[ID_LEVELS - 1];
};

struct id_table {
	struct id_state now, next; /* as committed; after this transaction */
};

/* Where a reading of the whole table has got to. Zeroed: at its beginning. What
 * is merged meanwhile moves on to a part that is still to be read. */
struct id_scan {
	bool done;
	int64_t part;
};

static inline uint64_t
id_pair(int64_t h, int64_t seq)
{
	uint64_t low = (UINT64_C(1) << ID_SEQ_BITS) - 1;

	return ((uint64_t)h & ~low) | ((uint64_t)seq & low);
}

static inline bool
id_same(uint64_t pair, int64_t h)
{
	return pair >> ID_SEQ_BITS == (uint64_t)h >> ID_SEQ_BITS;
}

/* The seq of a pair that is at or below `top`, by less than 2^21. */
static inline int64_t
id_seq(uint64_t pair, int64_t top)
{
	return top - (int64_t)(((uint64_t)top - pair) &
			       ((UINT64_C(1) << ID_SEQ_BITS) - 1));
}

/* Sorts pairs in which all bits from `bits` on are the same. */
void id_sort(uint64_t *v, size_t n, int bits);

/* Sorted pairs as they are stored, little endian; and one of them. */
void id_store(uint64_t *v, size_t n);
uint64_t id_at(const void *pairs, size_t i);
/* The first of n stored pairs that is not below h; or n. */
size_t id_lower(const void *pairs, size_t n, int64_t h);

int id_table_load(struct id_table *t, struct db *db, struct err *e) MUST_CHECK;
void id_table_begin(struct id_table *t);
void id_table_committed(struct id_table *t);

/* Writes parts of a run of n stored pairs, from *at until at least `most` of
 * them or all are written; *at is moved on. */
int id_table_put(struct db *db, int64_t run, const void *pairs, size_t n,
    size_t most, size_t *at, struct err *e) MUST_CHECK;
/* The run is whole: so is the table, up to its last seq. */
int id_table_put_end(
    struct id_table *t, struct db *db, int64_t run, struct err *e) MUST_CHECK;

/* Some merging and dropping: 1 when something was done, 0 when nothing is left.
 * `first` is the log's oldest seq: nothing below is worth merging. */
int id_table_tidy(
    struct id_table *t, struct db *db, int64_t first, struct err *e) MUST_CHECK;
/* How many runs of the largest kind could be there but are not. */
int64_t id_table_behind(const struct id_table *t);

/* Drops some of what is below the log's oldest seq. */
int id_table_retain(struct db *db, int64_t first, struct err *e) MUST_CHECK;

/* Calls fn with each seq that may have h, but for whole runs below `first`,
 * until it returns < 0. */
int id_table_find(const struct id_table *t, struct db *db, int64_t h,
    int64_t first, int (*fn)(void *ctx, int64_t seq, struct err *e), void *ctx,
    struct err *e) MUST_CHECK;

/* Calls fn with the pairs of up to `parts` more parts. */
int id_table_scan(struct db *db, struct id_scan *s, int64_t parts,
    void (*fn)(void *ctx, uint64_t pair), void *ctx, struct err *e) MUST_CHECK;

#endif
