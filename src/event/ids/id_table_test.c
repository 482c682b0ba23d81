#include "event/ids/id_table.h"

#include "base/str.h"
#include "base/test.h"
#include "sql.h"
#include "store/fixture_test.h"

#define RUN_SEQS (INT64_C(1) << ID_RUN_BITS)
#define RUNS     (1 << (ID_SEQ_BITS - ID_RUN_BITS))
#define EACH     9000 /* ids of a run, in the tests: some in each part */

static int64_t
h_of(int64_t seq)
{
	uint64_t x = (uint64_t)seq * 0x9e3779b97f4a7c15u;

	x ^= x >> 29;
	return (int64_t)(x * 0xbf58476d1ce4e5b9u);
}

struct bench {
	struct fixture f;
	struct db *db;
	struct id_table t;
};

static void
open_bench(struct bench *b)
{
	struct err e = {0};

	fixture_open(&b->f, STORE_SQLITE, NULL);
	assert_int_equal(db_open(b->f.store, DB_WRITE, &b->db, &e), OK);
	assert_int_equal(id_table_load(&b->t, b->db, &e), OK);
}

static void
close_bench(struct bench *b)
{
	db_close(b->db);
	fixture_close(&b->f);
}

/* The nth id of a run: from its first seq to its last. */
static int64_t
seq_at(int64_t run, int n)
{
	return run * RUN_SEQS + n * (RUN_SEQS - 1) / (EACH - 1);
}

static void
put_run(struct bench *b, int64_t run)
{
	uint64_t v[EACH];
	size_t at = 0;
	struct err e = {0};

	for (int i = 0; i < EACH; i++)
		v[i] = id_pair(h_of(seq_at(run, i)), seq_at(run, i));
	id_sort(v, EACH, 64);
	id_store(v, EACH);
	while (at < EACH) {
		size_t was = at;

		assert_int_equal(db_begin(b->db, &e), OK);
		id_table_begin(&b->t);
		assert_int_equal(
		    id_table_put(b->db, run, v, EACH, 500, &at, &e), OK);
		assert_true(at == EACH || at - was >= 500);
		if (at == EACH)
			assert_int_equal(
			    id_table_put_end(&b->t, b->db, run, &e), OK);
		assert_int_equal(db_commit(b->db, &e), OK);
		id_table_committed(&b->t);
	}
}

struct seen {
	int64_t want;
	int times, others;
};

static int
see(void *ctx, int64_t seq, struct err *e)
{
	struct seen *s = ctx;

	(void)e;
	s->times += seq == s->want;
	s->others += seq != s->want;
	return OK;
}

static int
times(struct bench *b, int64_t seq, int64_t first)
{
	struct seen s = {.want = seq};
	struct err e = {0};

	assert_int_equal(
	    id_table_find(&b->t, b->db, h_of(seq), first, see, &s, &e), OK);
	assert_int_equal(s.others, 0);
	return s.times;
}

static void
all_there(struct bench *b, int64_t from_run, int64_t end_run)
{
	for (int64_t run = from_run; run < end_run; run++)
		for (int i = 0; i < EACH; i += 37)
			assert_int_equal(times(b, seq_at(run, i), 0), 1);
	assert_int_equal(times(b, seq_at(end_run, 5), 0), 0);
}

static void
tick(void *ctx, uint64_t pair)
{
	unsigned char *seen = ctx;

	seen[pair & ((1 << ID_SEQ_BITS) - 1)] = 1;
}

/* 1, or 0 when nothing was left to do; undone when `undo`. */
static int
tidy(struct bench *b, int64_t first, bool undo)
{
	struct err e = {0};
	int rc;

	assert_int_equal(db_begin(b->db, &e), OK);
	id_table_begin(&b->t);
	rc = id_table_tidy(&b->t, b->db, first, &e);
	assert_true(rc >= 0);
	if (undo) {
		db_rollback(b->db);
		return rc;
	}
	assert_int_equal(db_commit(b->db, &e), OK);
	id_table_committed(&b->t);
	return rc;
}

static int64_t
rows_of(struct bench *b, int level)
{
	struct rows *rows = NULL;
	struct err e = {0};
	int64_t n = 0;
	int rc = sql_id_part_from(b->db, &rows, &e,
	    .part = (int64_t)level << ID_LEVEL_AT, .most = INT64_C(1) << 30);

	while (rc >= 0 && (rc = rows_next(rows, &e)) > 0)
		n += rows_int(rows, 0) >> ID_LEVEL_AT == level;
	assert_int_equal(rc, 0);
	rows_close(rows);
	return n;
}

/* Runs are merged twice and go; every id is found all the time, whatever
 * is rolled back, and whenever the process ends. */
static void
test_merged(void **state)
{
	struct bench b;
	struct err e = {0};
	int64_t all;
	int steps = 0;

	(void)state;
	open_bench(&b);
	for (int64_t run = 0; run < RUNS + 2; run++) {
		assert_int_equal(id_table_behind(&b.t), run >= RUNS);
		put_run(&b, run);
	}
	all = rows_of(&b, 0);
	while (tidy(&b, 0, false) > 0) {
		steps++;
		if (steps % 111 == 0)
			all_there(&b, 0, RUNS + 2);
		if (steps % 77 == 0)
			(void)tidy(&b, 0, true);
		if (steps % 99 == 0)
			assert_int_equal(id_table_load(&b.t, b.db, &e), OK);
		assert_true(steps < 5000);
	}
	assert_int_equal(id_table_behind(&b.t), 0);
	all_there(&b, 0, RUNS + 2);
	assert_true(rows_of(&b, 0) <= 2 << 10); /* of the two newest runs */
	assert_int_equal(rows_of(&b, 1), 0);
	assert_true(rows_of(&b, 2) > all / 2);
	/* What comes later finds its way too. */
	for (int64_t run = RUNS + 2; run < 2 * RUNS; run++)
		put_run(&b, run);
	while (tidy(&b, 0, false) > 0)
		;
	all_there(&b, 0, 2 * RUNS);
	assert_int_equal(rows_of(&b, 0) + rows_of(&b, 1), 0);
	close_bench(&b);
}

/* Read from end to end while it is merged, no pair is left out. */
static void
test_scan(void **state)
{
	static const int MERGES[] = {0, 1, 7, 300};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(MERGES); k++) {
		unsigned char *seen = calloc(1, 1 << ID_SEQ_BITS);
		struct id_scan scan = {0};
		struct bench b;
		struct err e = {0};

		open_bench(&b);
		for (int64_t run = 0; run < RUNS; run++)
			put_run(&b, run);
		while (!scan.done) {
			assert_int_equal(
			    id_table_scan(b.db, &scan, 16, tick, seen, &e), OK);
			for (int i = 0; i < MERGES[k]; i++)
				(void)tidy(&b, 0, false);
		}
		for (int64_t run = 0; run < RUNS; run++)
			for (int i = 0; i < EACH; i++)
				assert_true(seen[seq_at(run, i)]);
		free(seen);
		close_bench(&b);
	}
}

/* What is below the log's first seq goes by whole runs and pieces. */
static void
test_retained(void **state)
{
	const int64_t first = (RUNS + 1) * RUN_SEQS + 17;
	struct bench b;
	struct err e = {0};

	(void)state;
	open_bench(&b);
	for (int64_t run = 0; run < RUNS + 3; run++)
		put_run(&b, run);
	while (tidy(&b, 0, false) > 0)
		;
	assert_int_equal(times(&b, seq_at(3, 3), 0), 1);
	assert_int_equal(times(&b, seq_at(3, 3), first), 0);
	for (int i = 0; i < 1 << 8; i++)
		assert_int_equal(id_table_retain(b.db, first, &e), OK);
	assert_int_equal(rows_of(&b, 1) + rows_of(&b, 2), 0);
	all_there(&b, RUNS + 1, RUNS + 3);
	assert_int_equal(times(&b, seq_at(RUNS, 1), 0), 0);
	/* A run that is gone is not waited for. */
	for (int64_t run = RUNS + 3; run < 2 * RUNS; run++)
		put_run(&b, run);
	assert_int_equal(tidy(&b, 5 * RUNS * RUN_SEQS, false), 1);
	assert_int_equal(id_table_behind(&b.t), 2 - 5);
	close_bench(&b);
}

static void
test_damaged(void **state)
{
	struct bench b;
	struct seen s = {0};
	struct err e = {0};

	(void)state;
	open_bench(&b);
	put_run(&b, 0);
	assert_int_equal(
	    sql_id_part_put(b.db, &e, .part = 0, .pairs = STR("123456789")), 1);
	assert_int_equal(
	    id_table_find(&b.t, b.db, 0, 0, see, &s, &e), ERR_STORE);
	assert_non_null(strstr(e.text, "damaged"));
	close_bench(&b);
}

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
test_sort(void **state)
{
	static const size_t N[] = {0, 1, 2, 31, 33, 500, 20000};

	(void)state;
	for (size_t k = 0; k < COUNT_OF(N); k++)
		for (int bits = 8; bits <= 64; bits += 14) {
			uint64_t *v = calloc(N[k] + 1, sizeof(*v));
			uint64_t *w = calloc(N[k] + 1, sizeof(*w));

			for (size_t i = 0; i < N[k]; i++)
				v[i] = w[i] = (uint64_t)h_of((int64_t)i / 2) >>
					      (64 - bits);
			id_sort(v, N[k], bits);
			qsort(w, N[k], sizeof(*w), by_value);
			assert_memory_equal(v, w, N[k] * sizeof(*v));
			free(v);
			free(w);
		}
}

static void
test_pair(void **state)
{
	static const int64_t SEQ[] = {
	    1, 5, (1 << ID_SEQ_BITS) - 1, 1 << ID_SEQ_BITS, INT64_C(1) << 40};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(SEQ); i++)
		for (int64_t above = 0; above < 1 << ID_SEQ_BITS;
		     above += 99991) {
			uint64_t pair = id_pair(-1, SEQ[i]);

			assert_int_equal(id_seq(pair, SEQ[i] + above), SEQ[i]);
			assert_true(id_same(pair, -1));
			assert_false(id_same(pair, INT64_MAX));
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_pair),
	    cmocka_unit_test(test_sort),
	    cmocka_unit_test(test_merged),
	    cmocka_unit_test(test_scan),
	    cmocka_unit_test(test_retained),
	    cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
