#include "event/ids.h"

#include <assert.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "event/bloom.h"
#include "sql.h"

#define SLOTS    ((size_t)2 * IDS_FRESH_MAX) /* a power of two */
#define PAGE     4096
#define PIECE    21 /* bits of seq within a piece; as in sql/ */
#define FEW      32 /* that are sorted by insertion */
#define TOGETHER 8  /* that are written at once; as in sql/event.sql */

/* A slot is 0, or where its pair is in fresh, from 1 on, under some bits of h:
 * a look for what is not there seldom leaves the slots. */
#define AT_BITS    18
#define AT_MASK    ((UINT32_C(1) << AT_BITS) - 1)
#define FRESH_MOST (SLOTS - SLOTS / 4)

_Static_assert((SLOTS & (SLOTS - 1)) == 0, "SLOTS must be a power of two");
_Static_assert(FRESH_MOST <= AT_MASK, "a slot must be able to tell each");

struct pair {
	int64_t h, seq;
};

struct ids {
	uint32_t slots[SLOTS];
	struct pair *fresh; /* FRESH_MOST of them, in the order of their puts */
	size_t n_fresh;
	struct pair *frozen; /* sorted by h; NULL when there is none */
	size_t n_frozen, at, at_next;
	int64_t frozen_upto; /* every id up to this seq is in it or before it */
	size_t credit;       /* puts since the last slice */
	int64_t first;       /* seq of the log's oldest entry, or less */
	int64_t newest;      /* seq that was put, perhaps undone since */

	/* All of frozen and the table are in bloom; NULL: there is none yet.
	 * The next one is being filled, and will be in its place. */
	struct bloom *bloom, *next;
	int64_t scan_piece, scan_h; /* the table was read up to here */
	size_t review_at; /* count from which another may serve better */
};

static struct pair *
fresh_new(void)
{
	return calloc(FRESH_MOST, sizeof(struct pair));
}

struct ids *
ids_new(void)
{
	struct ids *x = calloc(1, sizeof(*x));

	if (x)
		x->fresh = fresh_new();
	if (x && !x->fresh) {
		free(x);
		return NULL;
	}
	return x;
}

static void
drop_derived(struct ids *x)
{
	bloom_free(x->bloom);
	bloom_free(x->next);
	free(x->frozen);
}

void
ids_free(struct ids *x)
{
	if (x) {
		drop_derived(x);
		free(x->fresh);
	}
	free(x);
}

static size_t
slot_of(int64_t h)
{
	/* h is part of a SHA-256: any of its bits are as good. */
	return (size_t)h & (SLOTS - 1);
}

static uint32_t
tag_of(int64_t h)
{
	return (uint32_t)((uint64_t)h >> (32 + AT_BITS)) << AT_BITS;
}

void
ids_hint(const struct ids *x, int64_t h)
{
	__builtin_prefetch(&x->slots[slot_of(h)]);
	if (x->bloom)
		bloom_hint(x->bloom, h);
}

void
ids_put(struct ids *x, int64_t h, int64_t seq)
{
	size_t at = slot_of(h);

	assert(x->n_fresh < FRESH_MOST && seq > 0); /* invariant 2 */
	while (x->slots[at])
		at = (at + 1) & (SLOTS - 1);
	x->fresh[x->n_fresh++] = (struct pair){.h = h, .seq = seq};
	x->slots[at] = tag_of(h) | (uint32_t)x->n_fresh;
	x->newest = seq;
	x->credit++;
}

/* Emptied newest first, no later put can have probed past the slot. */
void
ids_undo(struct ids *x, size_t n)
{
	assert(n <= x->n_fresh && n <= COMMIT_BATCH_MAX);
	x->credit -= n < x->credit ? n : x->credit;
	for (; n > 0; n--, x->n_fresh--) {
		size_t at = slot_of(x->fresh[x->n_fresh - 1].h);

		while ((x->slots[at] & AT_MASK) != x->n_fresh)
			at = (at + 1) & (SLOTS - 1);
		x->slots[at] = 0;
	}
	x->at_next = x->at;
}

static bool
before(const struct pair *x, const struct pair *y)
{
	return x->h != y->h ? x->h < y->h : x->seq < y->seq;
}

/* The byte of h at `shift`, such that their order is that of h. */
static size_t
byte_of(const struct pair *p, int shift)
{
	return (((uint64_t)p->h ^ UINT64_C(1) << 63) >> shift) & 0xff;
}

static void
sort_few(struct pair *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && before(&v[k], &v[k - 1]); k--) {
			struct pair p = v[k];

			v[k] = v[k - 1];
			v[k - 1] = p;
		}
}

/* By radix and in place: qsort() would take as much memory again. */
static void
sort(struct pair *v, size_t n, int shift)
{
	UNINIT size_t at[256], end[256];
	size_t sum = 0;

	memset(end, 0, sizeof(end));
	for (size_t i = 0; i < n; i++)
		end[byte_of(&v[i], shift)]++;
	for (size_t b = 0; b < 256; b++) {
		at[b] = sum;
		sum += end[b];
		end[b] = sum;
	}
	for (size_t b = 0; b < 256; b++)
		while (at[b] < end[b]) {
			struct pair p = v[at[b]];
			size_t to = byte_of(&p, shift);

			v[at[b]] = v[at[to]];
			v[at[to]++] = p;
		}
	for (size_t b = 0, from = 0; b < 256; from = end[b++])
		if (end[b] - from <= FEW || shift == 0)
			sort_few(v + from, end[b] - from);
		else
			sort(v + from, end[b] - from, shift - 8);
}

/* Turns fresh into frozen. Failing for want of memory only delays it. */
static void
freeze(struct ids *x)
{
	struct pair *v = x->fresh, *fresh = fresh_new();

	if (!fresh)
		return;
	x->frozen_upto = 0; /* newest may have been undone */
	for (size_t i = 0; i < x->n_fresh; i++) {
		if (v[i].seq > x->frozen_upto)
			x->frozen_upto = v[i].seq;
		if (x->bloom)
			bloom_add(x->bloom, v[i].h);
		if (x->next)
			bloom_add(x->next, v[i].h);
	}
	memset(x->slots, 0, sizeof(x->slots));
	sort(v, x->n_fresh, 56);
	x->frozen = v;
	x->n_frozen = x->n_fresh;
	x->fresh = fresh;
	x->n_fresh = 0;
	x->at = x->at_next = 0;
	x->credit = 0; /* else all of it would be one slice */
}

static int
put_upto(struct db *db, int64_t seq, struct err *e)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%lld", (long long)seq);

	return sql_meta_put(
		   db, STR("ids_upto"), (struct str){text, (size_t)n}, e) < 0
		   ? (int)e->code
		   : OK;
}

/* The oldest entry: what is below it went with retention. */
static int
first_seq(struct ids *x, struct db *db, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_log_first(db, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		x->first = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/* The filter that so many ids want: with 6.7 bits each, while it may grow. */
static size_t
bloom_size(size_t live)
{
	size_t bytes = IDS_BLOOM_MIN;

	while (bytes < IDS_BLOOM_MAX && live > bytes * 6 / 5)
		bytes *= 4;
	return bytes;
}

/* Begins a filter anew when there is none, or a better one is to be had. */
static int
review(struct ids *x, struct db *db, struct err *e)
{
	size_t count = x->bloom ? bloom_count(x->bloom) : 0, live;
	int rc;

	if (x->next || (x->bloom && count < x->review_at))
		return OK;
	rc = first_seq(x, db, e);
	if (rc < 0)
		return rc;
	live = x->newest > x->first ? (size_t)(x->newest - x->first) : 0;
	if (x->bloom && bloom_size(live) <= bloom_bytes(x->bloom) &&
	    live > count / 4 * 3) {
		x->review_at = count + count / 4;
		return OK;
	}
	x->next = bloom_new(bloom_size(live));
	x->scan_piece = 0;
	x->scan_h = INT64_MIN;
	if (!x->next)
		return OK;
	x->review_at = bloom_bytes(x->next) * 6 / 5;
	if (x->review_at < 2 * live)
		x->review_at = 2 * live;
	for (size_t i = 0; i < x->n_frozen; i++)
		bloom_add(x->next, x->frozen[i].h);
	return OK;
}

/* Some more of the table into the filter. Before anything is deleted in this
 * transaction: what a rollback brings back must have been seen. */
static int
learn(struct ids *x, struct db *db, struct err *e)
{
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = review(x, db, e);

	if (rc < 0 || !x->next)
		return rc;
	rc = sql_ids_from(
	    db, x->scan_piece, x->scan_h, IDS_BLOOM_STEP, &rows, e);
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		x->scan_piece = rows_int(rows, 0);
		x->scan_h = rows_int(rows, 1);
		bloom_add(x->next, x->scan_h);
		n++;
	}
	rows_close(rows);
	/* The last one is read again: more may have the same h. */
	if (rc == 0 && n < IDS_BLOOM_STEP) {
		bloom_free(x->bloom);
		x->bloom = x->next;
		x->next = NULL;
	}
	return rc < 0 ? rc : OK;
}

static int
write_slice(struct ids *x, struct db *db, size_t end, struct err *e)
{
	UNINIT struct sql_ids_add_args v[TOGETHER];
	size_t n = 0;
	int64_t rc = OK;

	for (size_t i = x->at; rc >= 0 && i < end; i++) {
		const struct pair *p = &x->frozen[i];

		if (p->seq < x->first)
			continue;
		v[n++] = (struct sql_ids_add_args){
		    .piece = p->seq >> PIECE, .h = p->h, .seq = p->seq};
		if (n < TOGETHER)
			continue;
		rc = sql_ids_add_8(db, v, e);
		n = 0;
	}
	for (size_t i = 0; rc >= 0 && i < n; i++)
		rc = sql_ids_add(db, v[i].piece, v[i].h, v[i].seq, e);
	return rc < 0 ? (int)e->code : OK;
}

int
ids_write(struct ids *x, struct db *db, struct err *e)
{
	size_t end;
	int rc = learn(x, db, e);

	if (rc < 0)
		return rc;
	if (!x->frozen && x->n_fresh >= IDS_FRESH_MAX)
		freeze(x);
	x->at_next = x->at;
	if (!x->frozen || x->credit < IDS_SLICE_MIN / 2)
		return OK;
	rc = first_seq(x, db, e);
	end = x->at + 2 * x->credit; /* invariant 2 */
	if (end > x->n_frozen)
		end = x->n_frozen;
	if (rc == OK)
		rc = write_slice(x, db, end, e);
	if (rc == OK && end == x->n_frozen)
		rc = put_upto(db, x->frozen_upto, e);
	if (rc == OK)
		x->at_next = end;
	return rc;
}

void
ids_written(struct ids *x)
{
	if (!x->frozen || x->at_next == x->at)
		return;
	x->at = x->at_next;
	x->credit = 0;
	if (x->at < x->n_frozen)
		return;
	free(x->frozen);
	x->frozen = NULL;
	x->n_frozen = x->at = x->at_next = 0;
}

/* An id may be in memory and written already: it counts once. */
static int
add(int64_t seq, int64_t *ret, int n, struct err *e)
{
	for (int i = 0; i < n; i++)
		if (ret[i] == seq)
			return n;
	if (n >= IDS_SAME_MAX)
		return err_at(e, ERR_LIMIT, "/eventId",
		    "over %d tenants use this event id", IDS_SAME_MAX);
	ret[n] = seq;
	return n + 1;
}

static int
find_frozen(struct ids *x, int64_t h, int64_t *ret, int n, struct err *e)
{
	size_t lo = 0, hi = x->n_frozen;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->frozen[mid].h < h)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; n >= 0 && lo < x->n_frozen && x->frozen[lo].h == h; lo++)
		n = add(x->frozen[lo].seq, ret, n, e);
	return n;
}

static int
find_written(
    struct db *db, int64_t piece, int64_t h, int64_t *ret, int n, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_ids_find_in(db, piece, h, &rows, e);

	while (rc >= 0 && n >= 0 && (rc = rows_next(rows, e)) > 0)
		n = add(rows_int(rows, 0), ret, n, e);
	rows_close(rows);
	return rc < 0 ? rc : n;
}

int
ids_find(struct ids *x, struct db *db, int64_t h,
    int64_t ret_seqs[IDS_SAME_MAX], struct err *e)
{
	int n = 0;

	for (size_t at = slot_of(h); x->slots[at] && n >= 0;
	     at = (at + 1) & (SLOTS - 1)) {
		const struct pair *p = &x->fresh[(x->slots[at] & AT_MASK) - 1];

		if ((x->slots[at] & ~AT_MASK) == tag_of(h) && p->h == h)
			n = add(p->seq, ret_seqs, n, e);
	}
	if (n >= 0 && x->bloom && !bloom_has(x->bloom, h))
		return n;
	if (n >= 0)
		n = find_frozen(x, h, ret_seqs, n, e);
	for (int64_t p = x->newest >> PIECE; n >= 0 && p >= x->first >> PIECE;
	     p--)
		n = find_written(db, p, h, ret_seqs, n, e);
	return n;
}

static int
read_upto(struct db *db, int64_t *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_meta_get(db, STR("ids_upto"), &rows, e);

	*ret = 0;
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0 && !str_int(rows_str(rows, 0), ret))
		rc = err_set(e, ERR_STORE, "meta ids_upto is no number");
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
ids_load(struct ids *x, struct db *db, struct err *e)
{
	int64_t until_ms = clock_mono_ms() + IDS_BLOOM_START_MS, after;
	int rc = read_upto(db, &after, e);
	struct pair *fresh = x->fresh;
	int64_t seen;

	drop_derived(x);
	memset(x, 0, sizeof(*x));
	x->fresh = fresh;
	x->newest = after;
	do {
		struct rows *rows = NULL;

		seen = 0;
		if (rc == OK)
			rc = sql_log_ids_above(db, after, PAGE, &rows, e);
		while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
			after = rows_int(rows, 0);
			if (!x->frozen && x->n_fresh >= IDS_FRESH_MAX)
				freeze(x);
			ids_put(x, rows_int(rows, 1), after);
			seen++;
		}
		rows_close(rows);
	} while (rc >= 0 && seen == PAGE);
	/* A commit that has to look in vain is slow: better to begin late. */
	do
		rc = rc < 0 ? rc : learn(x, db, e);
	while (rc >= 0 && x->next && clock_mono_ms() < until_ms);
	return rc < 0 ? rc : OK;
}

size_t
ids_in_memory(const struct ids *x)
{
	return x->n_fresh + x->n_frozen - x->at;
}
