#include "event/ids.h"

#include <assert.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sql.h"

#define SLOTS ((size_t)2 * IDS_FRESH_MAX) /* a power of two */
#define PAGE  4096

_Static_assert((SLOTS & (SLOTS - 1)) == 0, "SLOTS must be a power of two");

struct pair {
	int64_t h, seq; /* seq 0: an empty slot */
};

struct ids {
	struct pair fresh[SLOTS];
	uint32_t order[SLOTS]; /* slots in the order they were filled */
	size_t n_fresh;
	struct pair *frozen; /* sorted by h; NULL when there is none */
	size_t n_frozen, at, at_next;
	int64_t frozen_upto; /* every id up to this seq is in it or before it */
	size_t credit;       /* puts since the last slice */
};

struct ids *
ids_new(void)
{
	return calloc(1, sizeof(struct ids));
}

void
ids_free(struct ids *x)
{
	if (x)
		free(x->frozen);
	free(x);
}

static size_t
slot_of(int64_t h)
{
	/* h is part of a SHA-256: any of its bits are as good. */
	return (size_t)h & (SLOTS - 1);
}

void
ids_put(struct ids *x, int64_t h, int64_t seq)
{
	size_t at = slot_of(h);

	assert(x->n_fresh < SLOTS - SLOTS / 4 && seq > 0); /* invariant 2 */
	while (x->fresh[at].seq)
		at = (at + 1) & (SLOTS - 1);
	x->fresh[at] = (struct pair){.h = h, .seq = seq};
	x->order[x->n_fresh++] = (uint32_t)at;
	x->credit++;
}

/* Emptied newest first, no later put can have probed past the slot. */
void
ids_undo(struct ids *x, size_t n)
{
	assert(n <= x->n_fresh);
	x->credit -= n < x->credit ? n : x->credit;
	while (n-- > 0)
		x->fresh[x->order[--x->n_fresh]] = (struct pair){0};
	x->at_next = x->at;
}

static int
by_h(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->h != y->h)
		return x->h < y->h ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Turns fresh into frozen. Failing for want of memory only delays it. */
static void
freeze(struct ids *x)
{
	struct pair *v = calloc(x->n_fresh, sizeof(*v));

	if (!v)
		return;
	x->frozen_upto = 0;
	for (size_t i = 0; i < x->n_fresh; i++) {
		struct pair *p = &x->fresh[x->order[i]];

		v[i] = *p;
		if (p->seq > x->frozen_upto)
			x->frozen_upto = p->seq;
		*p = (struct pair){0};
	}
	qsort(v, x->n_fresh, sizeof(*v), by_h);
	x->frozen = v;
	x->n_frozen = x->n_fresh;
	x->n_fresh = 0;
	x->at = x->at_next = 0;
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
first_seq(struct db *db, int64_t *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_log_first(db, &rows, e);

	*ret = 0;
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
ids_write(struct ids *x, struct db *db, struct err *e)
{
	int64_t first;
	size_t end;
	int rc;

	if (!x->frozen && x->n_fresh >= IDS_FRESH_MAX)
		freeze(x);
	x->at_next = x->at;
	if (!x->frozen || x->credit < IDS_SLICE_MIN / 2)
		return OK;
	rc = first_seq(db, &first, e);
	end = x->at + 2 * x->credit; /* invariant 2 */
	if (end > x->n_frozen)
		end = x->n_frozen;
	for (size_t i = x->at; rc == OK && i < end; i++) {
		const struct pair *p = &x->frozen[i];

		if (p->seq >= first && sql_ids_add(db, p->h, p->seq, e) < 0)
			rc = (int)e->code;
	}
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

int
ids_find(struct ids *x, struct db *db, int64_t h,
    int64_t ret_seqs[IDS_SAME_MAX], struct err *e)
{
	struct rows *rows = NULL;
	int n = 0, rc;

	for (size_t at = slot_of(h); x->fresh[at].seq && n >= 0;
	     at = (at + 1) & (SLOTS - 1))
		if (x->fresh[at].h == h)
			n = add(x->fresh[at].seq, ret_seqs, n, e);
	if (n >= 0)
		n = find_frozen(x, h, ret_seqs, n, e);
	if (n < 0)
		return n;
	rc = sql_ids_find(db, h, &rows, e);
	while (rc >= 0 && n >= 0 && (rc = rows_next(rows, e)) > 0)
		n = add(rows_int(rows, 0), ret_seqs, n, e);
	rows_close(rows);
	return rc < 0 ? rc : n;
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
	int64_t after;
	int rc = read_upto(db, &after, e);
	int64_t seen;

	free(x->frozen);
	memset(x, 0, sizeof(*x));
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
	return rc < 0 ? rc : OK;
}

size_t
ids_in_memory(const struct ids *x)
{
	return x->n_fresh + x->n_frozen - x->at;
}
