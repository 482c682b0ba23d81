#include "event/ids/id_table.h"

#include <endian.h>

#include "base/buf.h"
#include "base/str.h"
#include "sql.h"

#define FAN_BITS   2 /* of the runs that are merged into one */
#define FAN        (1 << FAN_BITS)
#define PART_BITS  10 /* of h, that a part of the lowest level is for */
#define MERGE_STEP 16 /* parts of each level at a time: 8,192 ids */
#define DROP_STEP  256
#define FEW        32 /* pairs that are sorted by insertion */

_Static_assert(ID_RUN_BITS + (ID_LEVELS - 1) * FAN_BITS == ID_SEQ_BITS,
    "a pair must tell the seqs of the largest runs apart");

static int
part_bits(int level)
{
	return PART_BITS + level * FAN_BITS;
}

static int
run_bits(int level)
{
	return ID_RUN_BITS + level * FAN_BITS;
}

/* The first key of a run. */
static int64_t
run_key(int level, int64_t run)
{
	return (int64_t)level << ID_LEVEL_AT | run << part_bits(level);
}

static int64_t
part_key(int level, int64_t run, uint64_t pair)
{
	return run_key(level, run) | (int64_t)(pair >> (64 - part_bits(level)));
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
	int rc = sql_meta_get(db, &rows, e, .name = name);

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

	return sql_meta_put(db, e, .name = name,
		   .value = (struct str){text, (size_t)n}) < 0
		   ? (int)e->code
		   : OK;
}

static const struct str MERGED[] = {{"ids_merged_0", 12}, {"ids_merged_1", 12}};

_Static_assert(COUNT_OF(MERGED) == ID_LEVELS - 1, "one for each but the last");

int
id_table_load(struct id_table *t, struct db *db, struct err *e)
{
	int rc;

	*t = (struct id_table){0}; /* what there is to drop, a look will tell */
	rc = read_number(db, STR("ids_upto"), &t->now.upto, e);
	for (int k = 0; rc == OK && k < ID_LEVELS - 1; k++)
		rc = read_number(db, MERGED[k], &t->now.merged[k], e);
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

/* Writes pairs as parts of a run, until at least `most` or all are. */
static int
put_parts(struct db *db, int level, int64_t run, const void *pairs, size_t n,
    size_t most, size_t *at, struct err *e)
{
	size_t i = *at, end = n - i > most ? i + most : n;
	int rc = OK;

	while (rc == OK && i < end) {
		int64_t key = part_key(level, run, id_at(pairs, i));
		size_t from = i;

		while (i < n && part_key(level, run, id_at(pairs, i)) == key)
			i++;
		if (sql_id_part_put(db, e, .part = key,
			.pairs = bytes_of(pairs, from, i)) < 0)
			rc = (int)e->code;
	}
	*at = i;
	return rc;
}

int
id_table_put(struct db *db, int64_t run, const void *pairs, size_t n,
    size_t most, size_t *at, struct err *e)
{
	return put_parts(db, 0, run, pairs, n, most, at, e);
}

int
id_table_put_end(struct id_table *t, struct db *db, int64_t run, struct err *e)
{
	t->next.upto = ((run + 1) << ID_RUN_BITS) - 1;
	return put_number(db, STR("ids_upto"), t->next.upto, e);
}

/* ---- merging ---- */

/* Runs of a level that are whole, or were: from the first one of the log. */
static int64_t
runs_there(const struct id_state *s, int level)
{
	return level == 0 ? (s->upto + 1) >> ID_RUN_BITS
			  : s->merged[level - 1] >> part_bits(level - 1);
}

/* Runs of a level that are in the next. */
static int64_t
runs_merged(const struct id_state *s, int level)
{
	return level == ID_LEVELS - 1 ? 0 : runs_there(s, level + 1) * FAN;
}

int64_t
id_table_behind(const struct id_table *t)
{
	return ((t->next.upto + 1) >> ID_SEQ_BITS) -
	       runs_there(&t->next, ID_LEVELS - 1);
}

static int
read_part(struct db *db, int64_t key, struct buf *b, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_id_part_get(db, &rows, e, .part = key);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0 && count(rows_str(rows, 0), e) < 0)
		rc = (int)e->code;
	if (rc > 0)
		buf_add(b, rows_str(rows, 0));
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/* One part of four runs becomes as many parts of one of the next level. */
static int
merge(struct db *db, int level, int64_t to, int64_t part, struct err *e)
{
	struct buf b = BUF((sizeof(uint64_t) << ID_SEQ_BITS) + 1);
	size_t n, at = 0;
	uint64_t *v;
	int rc = OK;

	for (int64_t run = to * FAN; rc == OK && run < (to + 1) * FAN; run++)
		rc = read_part(db, run_key(level, run) | part, &b, e);
	if (rc == OK && b.failed)
		rc = err_set(e, ERR_NOMEM, "no memory to merge ids");
	if (rc == OK) {
		v = (void *)b.p;
		n = b.n / sizeof(*v);
		id_store(v, n); /* and back: it is its own inverse */
		id_sort(v, n, 64 - part_bits(level));
		id_store(v, n);
		rc = put_parts(db, level + 1, to, v, n, n, &at, e);
	}
	buf_done(&b);
	return rc;
}

static int
merge_some(
    struct id_table *t, struct db *db, int level, int64_t first, struct err *e)
{
	int64_t *merged = &t->next.merged[level], was = *merged;
	int64_t gone = first >> run_bits(level + 1), rc = OK;
	int64_t parts = INT64_C(1) << part_bits(level);

	if (*merged < gone * parts)
		*merged = gone * parts;
	for (int i = 0; rc == OK && i < MERGE_STEP; i++) {
		int64_t to = *merged / parts;

		if ((to + 1) * FAN > runs_there(&t->next, level))
			break;
		rc = merge(db, level, to, *merged % parts, e);
		*merged += rc == OK;
	}
	if (rc == OK && *merged != was)
		rc = put_number(db, MERGED[level], *merged, e);
	return rc < 0 ? (int)rc : *merged != was;
}

static int
drop_some(struct id_table *t, struct db *db, int level, struct err *e)
{
	int64_t runs = runs_merged(&t->next, level), n;

	if (t->next.dropped[level] == runs)
		return 0;
	n = sql_id_part_drop(db, e, .from = run_key(level, 0),
	    .below = run_key(level, runs), .most = DROP_STEP);
	if (n < 0)
		return e->code;
	if (n < DROP_STEP)
		t->next.dropped[level] = runs;
	return 1;
}

int
id_table_tidy(struct id_table *t, struct db *db, int64_t first, struct err *e)
{
	int done = 0;

	for (int k = 0; k < ID_LEVELS - 1; k++) {
		int rc = drop_some(t, db, k, e);

		if (rc == 0)
			rc = merge_some(t, db, k, first, e);
		if (rc < 0)
			return rc;
		done |= rc;
	}
	return done;
}

int
id_table_retain(struct db *db, int64_t first, struct err *e)
{
	for (int k = 0; k < ID_LEVELS; k++)
		if (sql_id_part_drop(db, e, .from = run_key(k, 0),
			.below = run_key(k, first >> run_bits(k)),
			.most = DROP_STEP) < 0)
			return e->code;
	return OK;
}

/* ---- reading ---- */

/* In a part, if it is there. `top`: the last seq it may have. */
static int
find_in(struct db *db, int64_t key, int64_t h, int64_t top,
    int (*fn)(void *ctx, int64_t seq, struct err *e), void *ctx, struct err *e)
{
	struct rows *rows = NULL;
	struct str row = STR_EMPTY;
	int rc = sql_id_part_get(db, &rows, e, .part = key);
	int64_t n;

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		row = rows_str(rows, 0);
	n = rc < 0 ? rc : count(row, e);
	for (size_t i = n > 0 ? id_lower(row.p, (size_t)n, h) : 0;
	     n > 0 && i < (size_t)n && id_same(id_at(row.p, i), h); i++) {
		rc = fn(ctx, id_seq(id_at(row.p, i), top), e);
		if (rc < 0)
			n = rc;
	}
	rows_close(rows);
	return n < 0 ? (int)n : OK;
}

int
id_table_find(const struct id_table *t, struct db *db, int64_t h, int64_t first,
    int (*fn)(void *ctx, int64_t seq, struct err *e), void *ctx, struct err *e)
{
	int rc = OK;

	for (int k = 0; k < ID_LEVELS; k++) {
		int64_t from = runs_merged(&t->now, k), bits = run_bits(k);
		int64_t run = runs_there(&t->now, k) - 1;

		if (from < first >> bits)
			from = first >> bits;
		for (; rc == OK && run >= from; run--)
			rc = find_in(db, part_key(k, run, (uint64_t)h), h,
			    ((run + 1) << bits) - 1, fn, ctx, e);
	}
	return rc;
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
	rc = sql_id_part_from(db, &rows, e, .part = s->part, .most = parts);
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
	s->done = seen < parts;
	return OK;
}
