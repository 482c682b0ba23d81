/*
 * ids.h - which entry of the log has an id: the index behind dedupe on SQLite.
 *
 * WHY NOT A UNIQUE INDEX. Ids are random, so each insert into an index over
 * them touches another page: a commit of 64 events writes 64 index pages. The
 * index is therefore derived and late: the newest ids live in memory, and are
 * written sorted, a slice at a time, by later commits. What memory held when
 * the process died is read again from the log, which is the truth; without the
 * table all of it is.
 *
 *   pair     43 bits of h, which is 64 of SHA-256 over the event id, then the
 *            low 21 of the seq: sorted by h
 *   run      the pairs of 2^17 seqs, written one after the other by h
 *   piece    the pairs of 2^21 seqs, the leading part of the table's key: what
 *            retention takes goes by pieces
 *   bin      1/2048 of all h: a row of the table has the pairs of one run, or
 *            of a part of one, that are in one bin, and the least of them as
 *            its key. So a run is 2,048 rows, not 131,072, and the rows of a
 *            piece that may have an id lie side by side, 16 of them
 *
 *   put ──▶ fresh (hash table) ──a run──▶ frozen (sorted) ──slices──▶ table
 *
 * A find gives candidates, which agree in 43 bits; the caller compares with the
 * log, since two tenants may use the same id, and entries go before their ids.
 *
 * Nearly every id is new, and to look for it in a table that does not fit in
 * the cache is a read of a page. A filter (bloom.h) of all that is in frozen
 * and the table says of most that they are in neither. It is read from the
 * table by ids_load(), for a second at most, and further by each ids_write();
 * until that is done each id is looked for. Its size grows with the log, up to
 * IDS_BLOOM_MAX; ids that retention took stay in it until they are a quarter,
 * then it is made anew. The old one serves until the new one is whole.
 *
 * LIFE. Owned by the commit thread. ids_write() comes first in a transaction,
 * before its puts, so that a rollback can take those back; ids_written()
 * follows when it was committed.
 *
 * INVARIANTS
 *   1. Every id of the log is in fresh, in frozen, or in the table.
 *   2. fresh holds one run and what a commit has put beyond it: frozen is
 *      written at twice the speed at which fresh grows.
 *   3. A filter that is in use has every id of frozen and of the table: an id
 *      comes into it before it comes into either.
 */
#pragma once

#include "event/limits.h"

struct db;
struct ids;

struct ids *ids_new(void);
void ids_free(struct ids *x);

/* Forgets what memory holds and reads it again from the log; not within a
 * transaction, since it writes what is too much to hold. */
int ids_load(struct ids *x, struct db *db, struct err *e) MUST_CHECK;

/* How many seqs have this h; ERR_LIMIT when over IDS_SAME_MAX. */
int ids_find(struct ids *x, struct db *db, int64_t h,
    int64_t ret_seqs[IDS_SAME_MAX], struct err *e) MUST_CHECK;

/* This h will be looked for soon. */
void ids_hint(const struct ids *x, int64_t h);

void ids_put(struct ids *x, int64_t h, int64_t seq);
/* Takes back the last n puts, after a rollback. */
void ids_undo(struct ids *x, size_t n);

/* Writes a slice when it is time. */
int ids_write(struct ids *x, struct db *db, struct err *e) MUST_CHECK;
void ids_written(struct ids *x); /* that transaction was committed */

/* Drops some of what is below the log's oldest seq. */
int ids_retain(struct db *db, int64_t first, struct err *e) MUST_CHECK;

size_t ids_in_memory(const struct ids *x);
