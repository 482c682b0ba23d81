#include "event/ids/ids.h"

#include "base/log/log.h"
#include "event/ids/bloom.h"
#include "sql.h"

#define SEQ_BITS   21 /* of a seq in a pair: as many as pieces have */
#define RUN_BITS   17
#define BIN_BITS   53 /* of a pair, below those that tell its bin */
#define SEQ_MASK   ((UINT64_C(1) << SEQ_BITS) - 1)
#define SLOTS      ((size_t)2 * IDS_FRESH_MAX) /* a power of two */
#define PAGE       4096
#define FRESH_MOST (IDS_FRESH_MAX + 2 * PAGE)
#define TOGETHER   64 /* rows that are given to the store at once */
#define TELL_MS    5000

/* A slot is 0, or where its pair is in fresh, from 1 on, under some bits of h:
 * a look for what is not there seldom leaves the slots. */
#define AT_BITS 18
#define AT_MASK ((UINT32_C(1) << AT_BITS) - 1)

_Static_assert((SLOTS & (SLOTS - 1)) == 0, "SLOTS must be a power of two");
_Static_assert(FRESH_MOST <= AT_MASK, "a slot must be able to tell each");
_Static_assert(FRESH_MOST < SLOTS, "one slot must be free");
_Static_assert(IDS_FRESH_MAX == 1 << RUN_BITS, "what is frozen is a run");
_Static_assert(PAGE > 2 * COMMIT_BATCH_MAX, "a commit must find room");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rows are as memory");

struct ids {
	uint32_t slots[SLOTS];
	int64_t *fresh; /* pairs, in the order of their puts: by seq */
	size_t n_fresh;
	int64_t newest;  /* seq that was put, perhaps undone since */
	int64_t *frozen; /* those of one run, sorted */
	size_t n_frozen, at,
	    at_next; /* written up to here; see ids_written() */
	int64_t run;
	size_t credit, spent; /* puts since the last slice; see ids_written() */
	int64_t first;        /* seq of the log's oldest entry, or less */
	int64_t upto, upto_next; /* every id up to this seq is in the table */

	/* All of frozen and the table are in bloom; NULL: there is none yet.
	 * The next one is being filled, and will be in its place. */
	struct bloom *bloom, *next;
	int64_t scan_piece,
	    scan_least;   /* up to where the table was read for it */
	size_t review_at; /* count from which another may serve better */
};

struct ids *
ids_new(void)
{
	struct ids *x = mem_get(sizeof(*x));

	x->fresh = mem_array(FRESH_MOST, sizeof(*x->fresh));
	x->frozen = mem_array(FRESH_MOST, sizeof(*x->frozen));
	return x;
}

void
ids_free(struct ids *x)
{
	if (x) {
		bloom_free(x->bloom);
		bloom_free(x->next);
		free(x->fresh);
		free(x->frozen);
	}
	free(x);
}

static int64_t
pair_of(int64_t h, int64_t seq)
{
	return (
	    int64_t)(((uint64_t)h & ~SEQ_MASK) | ((uint64_t)seq & SEQ_MASK));
}

static bool
same(int64_t pair, int64_t h)
{
	return pair >> SEQ_BITS == h >> SEQ_BITS;
}

/* The seq of a pair that is at or below `top`, by less than 2^21. */
static int64_t
seq_of(int64_t pair, int64_t top)
{
	return top - (int64_t)(((uint64_t)top - (uint64_t)pair) & SEQ_MASK);
}

/* The smallest that a pair of this one's bin can be. */
static int64_t
bin_of(int64_t pair)
{
	return (int64_t)((uint64_t)pair >> BIN_BITS << BIN_BITS);
}

/* The i-th pair of a row; a store's bytes lie anywhere. */
static int64_t
pair_at(struct str pairs, size_t i)
{
	int64_t pair;

	memcpy(&pair, pairs.p + i * sizeof(pair), sizeof(pair));
	return pair;
}

static size_t
pairs_in(struct str pairs)
{
	return pairs.n / sizeof(int64_t);
}

static size_t
slot_of(int64_t pair)
{
	/* h is part of a SHA-256: any of its bits are as good. */
	return (size_t)(pair >> SEQ_BITS) & (SLOTS - 1);
}

static uint32_t
tag_of(int64_t pair)
{
	return (uint32_t)((uint64_t)pair >> (32 + AT_BITS)) << AT_BITS;
}

void
ids_hint(const struct ids *x, int64_t h)
{
	__builtin_prefetch(&x->slots[slot_of(h)]);
	if (x->bloom)
		bloom_hint(x->bloom, h);
}

static void
add_fresh(struct ids *x, int64_t pair)
{
	size_t at = slot_of(pair);

	assert(x->n_fresh < FRESH_MOST); /* invariant 2 */
	while (x->slots[at])
		at = (at + 1) & (SLOTS - 1);
	x->fresh[x->n_fresh++] = pair;
	x->slots[at] = tag_of(pair) | (uint32_t)x->n_fresh;
}

void
ids_put(struct ids *x, int64_t h, int64_t seq)
{
	assert(seq > x->newest || x->n_fresh == 0 ||
	       seq > seq_of(x->fresh[x->n_fresh - 1], x->newest));
	add_fresh(x, pair_of(h, seq));
	x->newest = seq;
	x->credit++;
}

/* Emptied newest first, no later put can have probed past the slot. */
void
ids_undo(struct ids *x, size_t n)
{
	assert(n <= x->n_fresh && n <= COMMIT_BATCH_MAX);
	x->credit -= n < x->credit ? n : x->credit; /* a freeze forgets some */
	x->spent = 0;
	for (; n > 0; n--, x->n_fresh--) {
		size_t at = slot_of(x->fresh[x->n_fresh - 1]);

		while ((x->slots[at] & AT_MASK) != x->n_fresh)
			at = (at + 1) & (SLOTS - 1);
		x->slots[at] = 0;
	}
}

static int64_t
fresh_run(const struct ids *x, size_t i)
{
	return seq_of(x->fresh[i], x->newest) >> RUN_BITS;
}

static int
by_pair(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* When a run is whole it is frozen; what is fresh beyond it stays so. */
static void
freeze(struct ids *x)
{
	int64_t *v = x->fresh;
	size_t n = x->n_fresh, all = n;

	if (x->n_frozen > 0 || n == 0 || fresh_run(x, 0) == fresh_run(x, n - 1))
		return;
	x->run = fresh_run(x, 0);
	while (fresh_run(x, n - 1) != x->run)
		n--;
	memset(x->slots, 0, sizeof(x->slots));
	x->fresh = x->frozen;
	x->n_fresh = 0;
	for (size_t i = n; i < all; i++)
		add_fresh(x, v[i]);
	for (size_t i = 0; i < n; i++) {
		if (x->bloom)
			bloom_add(x->bloom, v[i]);
		if (x->next)
			bloom_add(x->next, v[i]);
	}
	qsort(v, n, sizeof(*v), by_pair);
	x->frozen = v;
	x->n_frozen = n;
	x->at = x->at_next = 0;
	x->credit = 0; /* else all of it would be one slice */
}

/* The oldest entry: what is below it went with retention. */
static int
first_seq(struct ids *x, struct db *db, struct err *e)
{
	struct sql_log_first_row row;

	if (TRY(sql_log_first_one(db, &row, e)) > 0)
		x->first = row.seq;
	return OK;
}

/*
 * How many ids a filter is for: each has 5.3 bits of it at least. The smallest
 * is for little logs; others leave it early, while few are looked for in vain.
 */
static size_t
bloom_ids(size_t bytes)
{
	return bytes == IDS_BLOOM_MIN ? bytes / 2 : bytes + bytes / 2;
}

static size_t
bloom_size(size_t live)
{
	size_t bytes = IDS_BLOOM_MIN;

	while (bytes < IDS_BLOOM_MAX && live > bloom_ids(bytes))
		bytes *= bytes == IDS_BLOOM_MIN ? 4 : 2;
	return bytes;
}

/* Begins a filter anew when there is none, or a better one is to be had. */
static int
review(struct ids *x, struct db *db, struct err *e)
{
	size_t count = x->bloom ? bloom_count(x->bloom) : 0, live;

	if (x->next || (x->bloom && count < x->review_at))
		return OK;
	TRY(first_seq(x, db, e));
	live = x->newest > x->first ? (size_t)(x->newest - x->first) : 0;
	if (x->bloom && bloom_size(live) <= bloom_bytes(x->bloom) &&
	    live > count / 4 * 3) {
		x->review_at = count + count / 4;
		return OK;
	}
	x->next = bloom_new(bloom_size(live));
	x->scan_piece = x->scan_least = -1;
	x->review_at = bloom_ids(bloom_bytes(x->next));
	if (x->review_at < 2 * live)
		x->review_at = 2 * live;
	for (size_t i = 0; i < x->n_frozen; i++)
		bloom_add(x->next, x->frozen[i]);
	return OK;
}

/* Some more of the table into the filter. Before anything is deleted in this
 * transaction: what a rollback brings back must have been seen. */
static int
learn(struct ids *x, struct db *db, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_id_from_row row;
	int64_t n = 0;

	TRY(review(x, db, e));
	if (!x->next)
		return OK;
	TRY(sql_id_from(db, &rows, e, .piece = x->scan_piece,
	    .least = x->scan_least, .most = IDS_BLOOM_STEP));
	for (; TRY(sql_id_from_next(rows, &row, e)) > 0; n++) {
		for (size_t i = 0; i < pairs_in(row.pairs); i++)
			bloom_add(x->next, pair_at(row.pairs, i));
		x->scan_piece = row.piece;
		x->scan_least = row.least;
	}
	if (n < IDS_BLOOM_STEP) {
		bloom_free(x->bloom);
		x->bloom = x->next;
		x->next = NULL;
	}
	return OK;
}

static int
put_upto(struct ids *x, struct db *db, struct err *e)
{
	char text[24];
	int n;

	x->upto_next = ((x->run + 1) << RUN_BITS) - 1;
	n = snprintf(text, sizeof(text), "%lld", (long long)x->upto_next);
	return sql_meta_put(db, e, .name = STR("ids_upto"),
		   .value = (struct str){text, (size_t)n}) < 0
		   ? (int)e->code
		   : OK;
}

/* The next pairs of one bin. */
static struct sql_id_put_args
next_row(struct ids *x, int64_t piece, size_t end)
{
	const int64_t *from = &x->frozen[x->at_next];

	while (
	    x->at_next < end && bin_of(x->frozen[x->at_next]) == bin_of(*from))
		x->at_next++;
	return (struct sql_id_put_args){.piece = piece,
	    .least = *from,
	    .pairs = {.p = (const char *)from,
		.n = (size_t)(&x->frozen[x->at_next] - from) * sizeof(*from)}};
}

/* The next pairs of frozen, at most so many. */
static int
write_slice(struct ids *x, struct db *db, size_t most, struct err *e)
{
	UNINIT struct sql_id_put_args v[TOGETHER];
	size_t end = x->n_frozen - x->at > most ? x->at + most : x->n_frozen;
	int64_t piece = x->run >> (SEQ_BITS - RUN_BITS);

	for (x->at_next = x->at; x->at_next < end;) {
		size_t n = 0;

		for (; n < TOGETHER && x->at_next < end; n++)
			v[n] = next_row(x, piece, end);
		if (sql_id_put(db, v, n, e) < 0)
			return e->code;
	}
	return end == x->n_frozen ? put_upto(x, db, e) : OK;
}

int
ids_write(struct ids *x, struct db *db, struct err *e)
{
	int rc = learn(x, db, e);

	freeze(x);
	x->at_next = x->at;
	x->upto_next = x->upto;
	x->spent =
	    x->n_frozen > 0 && x->credit >= IDS_SLICE_MIN ? x->credit : 0;
	if (rc == OK && x->spent > 0)
		rc = write_slice(x, db, 2 * x->spent, e); /* invariant 2 */
	return rc;
}

/* The puts of the transaction itself stay to be answered by the next. */
void
ids_written(struct ids *x)
{
	x->upto = x->upto_next;
	x->credit -= x->spent;
	x->spent = 0;
	x->at = x->at_next;
	if (x->n_frozen > 0 && x->at == x->n_frozen)
		x->n_frozen = x->at = x->at_next = 0;
}

int
ids_retain(struct db *db, int64_t first, struct err *e)
{
	/* A row has 64 ids in the mean: four are taken for each that came. */
	return sql_id_retain(db, e, .piece = first >> SEQ_BITS,
		   .most = RETAIN_STEP_MAX / 16) < 0
		   ? (int)e->code
		   : OK;
}

struct found {
	int64_t *seqs;
	int n;
};

/* An id may be in memory and written already: it counts once. */
static int
ids_add(struct found *f, int64_t seq, struct err *e)
{
	for (int i = 0; i < f->n; i++)
		if (f->seqs[i] == seq)
			return OK;
	if (f->n >= IDS_SAME_MAX)
		return err_at(e, ERR_LIMIT, "/eventId",
		    "over %d tenants use this event id", IDS_SAME_MAX);
	f->seqs[f->n++] = seq;
	return OK;
}

static int
find_fresh(const struct ids *x, int64_t h, struct found *f, struct err *e)
{
	uint32_t tag = tag_of(h);

	for (size_t at = slot_of(h); x->slots[at];
	     at = (at + 1) & (SLOTS - 1)) {
		int64_t pair;

		if ((x->slots[at] & ~AT_MASK) != tag)
			continue;
		pair = x->fresh[(x->slots[at] & AT_MASK) - 1];
		if (same(pair, h))
			TRY(ids_add(f, seq_of(pair, x->newest), e));
	}
	return OK;
}

/* The first of frozen that is not below h; or n_frozen. */
static size_t
lower(const struct ids *x, int64_t h)
{
	int64_t least = pair_of(h, 0);
	size_t lo = 0, hi = x->n_frozen;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->frozen[mid] < least)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int
find_frozen(const struct ids *x, int64_t h, struct found *f, struct err *e)
{
	int64_t top = ((x->run + 1) << RUN_BITS) - 1;

	for (size_t i = lower(x, h); i < x->n_frozen && same(x->frozen[i], h);
	     i++)
		TRY(ids_add(f, seq_of(x->frozen[i], top), e));
	return OK;
}

static int
find_written(const struct ids *x, struct db *db, int64_t h, struct found *f,
    struct err *e)
{
	int64_t piece = x->upto >> SEQ_BITS, oldest = x->first >> SEQ_BITS;

	for (; piece >= oldest; piece--) {
		int64_t top = ((piece + 1) << SEQ_BITS) - 1;
		struct rows *rows CLEANUP(rows_closep) = NULL;
		struct sql_id_find_row row;

		TRY(sql_id_find(db, &rows, e, .piece = piece,
		    .least = bin_of(h), .most = pair_of(h, -1)));
		while (TRY(sql_id_find_next(rows, &row, e)) > 0)
			for (size_t i = 0; i < pairs_in(row.pairs); i++)
				if (same(pair_at(row.pairs, i), h))
					TRY(ids_add(f,
					    seq_of(pair_at(row.pairs, i), top),
					    e));
	}
	return OK;
}

int
ids_find(struct ids *x, struct db *db, int64_t h,
    int64_t ret_seqs[IDS_SAME_MAX], struct err *e)
{
	struct found f = {.seqs = ret_seqs};

	TRY(find_fresh(x, h, &f, e));
	if (!x->bloom || bloom_has(x->bloom, h)) {
		TRY(find_frozen(x, h, &f, e));
		TRY(find_written(x, db, h, &f, e));
	}
	return f.n;
}

/* ---- from the log ---- */

static int
write_frozen(struct db *db, void *ctx, struct err *e)
{
	struct ids *x = ctx;

	return write_slice(x, db, x->n_frozen, e);
}

/* A table that has to be made anew is written as the log is read. */
static int
keep_up(struct ids *x, struct db *db, struct err *e)
{
	freeze(x);
	if (x->n_frozen == 0)
		return OK;
	TRY(db_tx(db, write_frozen, x, e));
	ids_written(x);
	return OK;
}

static void
ids_tell(int64_t seq, int64_t *again_ms)
{
	UNINIT struct log_line l;
	int64_t now = clock_mono_ms();

	if (now < *again_ms)
		return;
	*again_ms = now + TELL_MS;
	log_begin(&l, LOG_INFO, "reading ids from the log");
	log_int(&l, "seq", seq);
	log_end(&l);
}

/* A page of the log behind *after: how many entries it had. */
static int
read_ids(struct ids *x, struct db *db, int64_t *after, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_log_ids_above_row row;
	int seen = 0;

	TRY(sql_log_ids_above(db, &rows, e, .after = *after, .most = PAGE));
	for (; TRY(sql_log_ids_above_next(rows, &row, e)) > 0; seen++) {
		*after = row.seq;
		ids_put(x, row.h, row.seq);
	}
	return seen;
}

static int
read_log(struct ids *x, struct db *db, struct err *e)
{
	int64_t after = x->newest, again_ms = clock_mono_ms() + TELL_MS;
	int seen;

	do {
		seen = TRY(read_ids(x, db, &after, e));
		TRY(keep_up(x, db, e));
		ids_tell(after, &again_ms);
	} while (seen == PAGE);
	return OK;
}

static int
read_upto(struct ids *x, struct db *db, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_meta_get_row row;

	x->upto = 0;
	TRY(sql_meta_get(db, &rows, e, .name = STR("ids_upto")));
	if (TRY(sql_meta_get_next(rows, &row, e)) > 0 &&
	    !str_int(row.value, &x->upto))
		return err_set(e, ERR_STORE, "meta ids_upto is no number");
	return OK;
}

int
ids_load(struct ids *x, struct db *db, struct err *e)
{
	int64_t until_ms;

	bloom_free(x->bloom);
	bloom_free(x->next);
	x->bloom = x->next = NULL;
	memset(x->slots, 0, sizeof(x->slots));
	x->n_fresh = x->n_frozen = x->at = x->at_next = 0;
	x->credit = x->spent = 0;
	x->first = 0;
	TRY(read_upto(x, db, e));
	x->newest = x->upto_next = x->upto;
	TRY(first_seq(x, db, e));
	TRY(read_log(x, db, e));
	/* A commit that has to look in vain is slow: better to begin late. */
	until_ms = clock_mono_ms() + IDS_BLOOM_START_MS;
	do
		TRY(learn(x, db, e));
	while (x->next && clock_mono_ms() < until_ms);
	return OK;
}

size_t
ids_in_memory(const struct ids *x)
{
	return x->n_fresh + x->n_frozen - x->at;
}
