#include "event/id_table.h"

#include <assert.h>
#include <endian.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sql.h"

#define RUN_PART_BITS   10
#define PIECE_PART_BITS 14
#define RUNS            (1 << (ID_SEQ_BITS - ID_RUN_BITS)) /* of a piece */
#define RUN_PARTS       (1 << RUN_PART_BITS)
#define DROP_PARTS      128 /* at a time: some twenty pages */
#define FEW             32  /* that are sorted by insertion */

_Static_assert(PIECE_PART_BITS - RUN_PART_BITS == ID_SEQ_BITS - ID_RUN_BITS,
    "a part of a piece is as large as one of a run");

static int64_t
run_part(int64_t run, uint64_t pair)
{
	return run << RUN_PART_BITS | (int64_t)(pair >> (64 - RUN_PART_BITS));
}

static int64_t
piece_part(int64_t piece, uint64_t pair)
{
	return piece << PIECE_PART_BITS |
	       (int64_t)(pair >> (64 - PIECE_PART_BITS));
}

uint64_t
id_at(const void *pairs, size_t i)
{
	uint64_t v;

	memcpy(&v, (const char *)pairs + i * sizeof(v), sizeof(v));
	return le64toh(v);
}

void
id_store(uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = htole64(v[i]);
}

static struct str
bytes_of(const void *pairs, size_t from, size_t end)
{
	return (struct str){(const char *)pairs + from * sizeof(uint64_t),
	    (end - from) * sizeof(uint64_t)};
}

/* How many pairs a row has, or < 0. */
static int64_t
count(struct str row, struct err *e)
{
	if (row.n % sizeof(uint64_t) != 0)
		return err_set(e, ERR_STORE, "a part of the ids is damaged");
	return (int64_t)(row.n / sizeof(uint64_t));
}

size_t
id_lower(const void *pairs, size_t n, int64_t h)
{
	uint64_t least = id_pair(h, 0);
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (id_at(pairs, mid) < least)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
sort_few(uint64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && v[k] < v[k - 1]; k--) {
			uint64_t p = v[k];

			v[k] = v[k - 1];
			v[k - 1] = p;
		}
}

/* By radix and in place: qsort() would take as much memory again. */
void
id_sort(uint64_t *v, size_t n, int bits)
{
	UNINIT size_t at[256], end[256];
	int shift = bits > 8 ? bits - 8 : 0;
	size_t sum = 0;

	memset(end, 0, sizeof(end));
	for (size_t i = 0; i < n; i++)
		end[v[i] >> shift & 0xff]++;
	for (size_t b = 0; b < 256; b++) {
		at[b] = sum;
		sum += end[b];
		end[b] = sum;
	}
	for (size_t b = 0; b < 256; b++)
		while (at[b] < end[b]) {
			uint64_t p = v[at[b]];
			size_t to = p >> shift & 0xff;

			v[at[b]] = v[at[to]];
			v[at[to]++] = p;
		}
	for (size_t b = 0, from = 0; b < 256 && shift > 0; from = end[b++])
		if (end[b] - from <= FEW)
			sort_few(v + from, end[b] - from);
		else
			id_sort(v + from, end[b] - from, shift);
}

static int
read_number(struct db *db, struct str name, int64_t *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_meta_get(db, name, &rows, e);

	*ret = 0;
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0 && !str_int(rows_str(rows, 0), ret))
		rc = err_set(
		    e, ERR_STORE, "meta %.*s is no number", STR_ARG(name));
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static int
put_number(struct db *db, struct str name, int64_t v, struct err *e)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%lld", (long long)v);

	return sql_meta_put(db, name, (struct str){text, (size_t)n}, e) < 0
		   ? (int)e->code
		   : OK;
}

int
id_table_load(struct id_table *t, struct db *db, struct err *e)
{
	int rc;

	*t = (struct id_table){0}; /* what there is to drop, a look will tell */
	rc = read_number(db, STR("ids_upto"), &t->now.upto, e);
	if (rc == OK)
		rc = read_number(db, STR("ids_merged"), &t->now.merged, e);
	t->next = t->now;
	return rc;
}

void
id_table_begin(struct id_table *t)
{
	t->next = t->now;
}

void
id_table_committed(struct id_table *t)
{
	t->now = t->next;
}

int
id_table_put(struct db *db, int64_t run, const void *pairs, size_t n,
    size_t most, size_t *at, struct err *e)
{
	size_t i = *at, end = n - i > most ? i + most : n;
	int rc = OK;

	while (rc == OK && i < end) {
		int64_t part = run_part(run, id_at(pairs, i));
		size_t from = i;

		while (i < n && run_part(run, id_at(pairs, i)) == part)
			i++;
		if (sql_id_run_put(db, part, bytes_of(pairs, from, i), e) < 0)
			rc = (int)e->code;
	}
	*at = i;
	return rc;
}

int
id_table_put_end(struct id_table *t, struct db *db, int64_t run, struct err *e)
{
	t->next.upto = ((run + 1) << ID_RUN_BITS) - 1;
	return put_number(db, STR("ids_upto"), t->next.upto, e);
}

/* ---- merging ---- */

static int64_t
whole_pieces(const struct id_state *s)
{
	return (s->upto + 1) >> ID_SEQ_BITS;
}

static int64_t
merged_pieces(const struct id_state *s)
{
	return s->merged >> RUN_PART_BITS;
}

int64_t
id_table_behind(const struct id_table *t)
{
	return whole_pieces(&t->next) - merged_pieces(&t->next);
}

static int
read_part(struct db *db, int64_t part, struct buf *b, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_id_run_get(db, part, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0 && count(rows_str(rows, 0), e) < 0)
		rc = (int)e->code;
	if (rc > 0)
		buf_add(b, rows_str(rows, 0));
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/* The same part of all runs of a piece becomes as many parts of the piece. */
static int
merge(struct db *db, int64_t piece, int64_t part, struct err *e)
{
	struct buf b = BUF((sizeof(uint64_t) << ID_SEQ_BITS) + 1);
	int64_t run = piece * RUNS;
	size_t n, i = 0;
	uint64_t *v;
	int rc = OK;

	for (int k = 0; rc == OK && k < RUNS; k++)
		rc = read_part(db, (run + k) << RUN_PART_BITS | part, &b, e);
	if (rc == OK && b.failed)
		rc = err_set(e, ERR_NOMEM, "no memory to merge ids");
	v = (void *)b.p;
	n = b.n / sizeof(*v);
	if (rc == OK) {
		id_store(v, n); /* and back: it is its own inverse */
		id_sort(v, n, 64 - RUN_PART_BITS);
		id_store(v, n);
	}
	while (rc == OK && i < n) {
		int64_t to = piece_part(piece, id_at(v, i));
		size_t from = i;

		while (i < n && piece_part(piece, id_at(v, i)) == to)
			i++;
		if (sql_id_piece_put(db, to, bytes_of(v, from, i), e) < 0)
			rc = (int)e->code;
	}
	buf_done(&b);
	return rc;
}

/* Runs that are in a piece now. */
static int
drop_merged(struct id_table *t, struct db *db, struct err *e)
{
	int64_t below = merged_pieces(&t->next) * RUNS;
	int64_t n = sql_id_run_drop(db, below << RUN_PART_BITS, DROP_PARTS, e);

	if (n < 0)
		return e->code;
	if (n < DROP_PARTS)
		t->next.dropped = merged_pieces(&t->next);
	return OK;
}

int
id_table_tidy(struct id_table *t, struct db *db, int64_t first, struct err *e)
{
	int64_t gone = first >> ID_SEQ_BITS, piece = merged_pieces(&t->next);
	int rc;

	if (t->next.dropped < piece) {
		rc = drop_merged(t, db, e);
		return rc < 0 ? rc : 1;
	}
	if (piece >= whole_pieces(&t->next))
		return 0;
	if (piece < gone) {
		t->next.merged = gone << RUN_PART_BITS;
	} else {
		rc = merge(db, piece, t->next.merged % RUN_PARTS, e);
		if (rc < 0)
			return rc;
		t->next.merged++;
	}
	rc = put_number(db, STR("ids_merged"), t->next.merged, e);
	return rc < 0 ? rc : 1;
}

int
id_table_retain(struct db *db, int64_t first, struct err *e)
{
	int64_t run = first >> ID_RUN_BITS, piece = first >> ID_SEQ_BITS;

	if (sql_id_run_drop(db, run << RUN_PART_BITS, DROP_PARTS, e) < 0 ||
	    sql_id_piece_drop(db, piece << PIECE_PART_BITS, DROP_PARTS, e) < 0)
		return e->code;
	return OK;
}

/* ---- reading ---- */

struct find {
	int64_t h;
	int (*fn)(void *ctx, int64_t seq, struct err *e);
	void *ctx;
};

/* In the row that is there, if one is. `top`: the last seq it may have. */
static int
find_in(const struct find *f, struct rows *rows, int64_t top, struct err *e)
{
	int rc = rows_next(rows, e);
	struct str row;
	int64_t n;

	if (rc <= 0)
		return rc;
	row = rows_str(rows, 0);
	n = count(row, e);
	if (n < 0)
		return (int)n;
	rc = OK;
	for (size_t i = id_lower(row.p, (size_t)n, f->h);
	     rc >= 0 && i < (size_t)n && id_same(id_at(row.p, i), f->h); i++)
		rc = f->fn(f->ctx, id_seq(id_at(row.p, i), top), e);
	return rc;
}

int
id_table_find(const struct id_table *t, struct db *db, int64_t h, int64_t first,
    int (*fn)(void *ctx, int64_t seq, struct err *e), void *ctx, struct err *e)
{
	int64_t merged = merged_pieces(&t->now), from = merged * RUNS;
	struct find f = {.h = h, .fn = fn, .ctx = ctx};
	int rc = OK;

	if (from < first >> ID_RUN_BITS)
		from = first >> ID_RUN_BITS;
	for (int64_t run = ((t->now.upto + 1) >> ID_RUN_BITS) - 1;
	     rc >= 0 && run >= from; run--) {
		struct rows *rows = NULL;

		rc = sql_id_run_get(db, run_part(run, (uint64_t)h), &rows, e);
		if (rc == OK)
			rc = find_in(
			    &f, rows, ((run + 1) << ID_RUN_BITS) - 1, e);
		rows_close(rows);
	}
	for (int64_t piece = merged - 1;
	     rc >= 0 && piece >= first >> ID_SEQ_BITS; piece--) {
		struct rows *rows = NULL;

		rc = sql_id_piece_get(
		    db, piece_part(piece, (uint64_t)h), &rows, e);
		if (rc == OK)
			rc = find_in(
			    &f, rows, ((piece + 1) << ID_SEQ_BITS) - 1, e);
		rows_close(rows);
	}
	return rc < 0 ? rc : OK;
}

int
id_table_scan(struct db *db, struct id_scan *s, int64_t parts,
    void (*fn)(void *ctx, uint64_t pair), void *ctx, struct err *e)
{
	struct rows *rows = NULL;
	int64_t seen = 0, n = 0;
	int rc;

	if (s->done)
		return OK;
	rc = s->pieces ? sql_id_piece_from(db, s->part, parts, &rows, e)
		       : sql_id_run_from(db, s->part, parts, &rows, e);
	while (rc >= 0 && n >= 0 && (rc = rows_next(rows, e)) > 0) {
		struct str row = rows_str(rows, 1);

		s->part = rows_int(rows, 0) + 1;
		n = count(row, e);
		for (int64_t i = 0; i < n; i++)
			fn(ctx, id_at(row.p, (size_t)i));
		seen++;
	}
	rows_close(rows);
	if (rc < 0 || n < 0)
		return e->code;
	if (seen < parts) {
		s->done = s->pieces;
		s->pieces = true;
		s->part = 0;
	}
	return OK;
}
