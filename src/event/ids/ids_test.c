#include "event/ids/ids.h"

#include "base/test.h"
#include "event/limits.h"
#include "sql.h"
#include "store/fixture_test.h"

/* A cheap stand-in for a SHA-256: any 64 bits that look random. */
static int64_t
h_of(int64_t seq)
{
	uint64_t x = (uint64_t)seq * 0x9e3779b97f4a7c15u;

	x ^= x >> 29;
	return (int64_t)(x * 0xbf58476d1ce4e5b9u);
}

static struct db *
begin(struct fixture *f)
{
	struct db *db = NULL;
	struct err e;

	fixture_open(f, STORE_SQLITE, NULL);
	assert_int_equal(db_open(f->store, DB_WRITE, &db, &e), OK);
	return db;
}

static void
end(struct fixture *f, struct ids *x, struct db *db)
{
	ids_free(x);
	db_close(db);
	fixture_close(f);
}

static void
insert(struct db *db, int64_t seq)
{
	static const struct str ID = {"0123456789abcdef", 16};
	struct err e;

	assert_true(sql_log_insert(db,
			&(struct sql_log_insert_args){.seq = seq,
			    .kind = 0,
			    .tenant = ID,
			    .event_id = ID,
			    .h = h_of(seq),
			    .hash = ID,
			    .type = STR("t"),
			    .pkey = STR("k"),
			    .rv = NULL,
			    .received_at = 1,
			    .to_sub = NULL,
			    .attrs = (struct str){0},
			    .body = STR("{}")},
			1, &e) >= 0);
}

static void
expect(struct ids *x, struct db *db, int64_t seq, bool there)
{
	int64_t seqs[IDS_SAME_MAX];
	struct err e = {0};
	int n = ids_find(x, db, h_of(seq), seqs, &e);

	assert_int_equal(n, there);
	if (there)
		assert_int_equal(seqs[0], seq);
}

static void
all_there(struct ids *x, struct db *db, int64_t from, int64_t last)
{
	for (int64_t seq = from + 1; seq <= last; seq += 331)
		expect(x, db, seq, true);
	for (int64_t seq = last + 1; seq <= last + 500; seq++)
		expect(x, db, seq, false);
}

/* Many times what memory holds, found wherever it is, also after a restart. */
static void
test_all_are_found(void **)
{
	enum { BATCH = 700 };
	/* The table begins one piece, which is merged, and ends another. */
	const int64_t from = (INT64_C(1) << 21) - IDS_FRESH_MAX / 2;
	const int64_t last = from + IDS_FRESH_MAX * 2 + 5000;
	struct fixture f;
	struct ids *x = ids_new();
	struct db *db;
	struct err e = {0};
	size_t most = 0;

	db = begin(&f);
	for (int64_t seq = from; seq < last;) {
		assert_int_equal(db_begin(db, &e), OK);
		assert_int_equal(ids_write(x, db, &e), OK);
		for (int i = 0; i < BATCH && seq < last; i++) {
			insert(db, ++seq);
			ids_put(x, h_of(seq), seq);
		}
		assert_int_equal(db_commit(db, &e), OK);
		ids_written(x);
		if (ids_in_memory(x) > most)
			most = ids_in_memory(x);
	}
	assert_true(most < IDS_FRESH_MAX * 2); /* bounded, and by how much */
	all_there(x, db, from, last);

	ids_free(x);
	x = ids_new();
	assert_int_equal(ids_load(x, db, &e), OK);
	/* the rest is written */
	assert_true(ids_in_memory(x) < (size_t)(last - from));
	all_there(x, db, from, last);
	/* Again, with a filter that was read from the table. */
	for (int64_t n = 0; n <= (last - from) / IDS_BLOOM_STEP + 1; n++)
		assert_int_equal(ids_write(x, db, &e), OK);
	all_there(x, db, from, last);
	end(&f, x, db);
}

/* While a larger filter is filled the smaller one serves: none is missed. */
static void
test_filter_grows(void **)
{
	enum { BATCH = COMMIT_BATCH_MAX };
	const int64_t last = IDS_BLOOM_MIN / 2 + 10 * IDS_FRESH_MAX;
	struct fixture f;
	struct ids *x = ids_new();
	struct db *db;
	struct err e = {0};

	db = begin(&f);
	assert_int_equal(db_begin(db, &e), OK);
	insert(db, 1);
	for (int64_t seq = 0, look = 1; seq < last;) {
		assert_int_equal(ids_write(x, db, &e), OK);
		for (int i = 0; i < BATCH; i++, seq++)
			ids_put(x, h_of(seq + 1), seq + 1);
		ids_written(x);
		look = (look * 31 + 7) % seq + 1;
		expect(x, db, look, true);
		expect(x, db, seq + look, false);
	}
	for (int64_t seq = 1; seq <= last; seq += 331)
		expect(x, db, seq, true);
	assert_int_equal(db_commit(db, &e), OK);
	end(&f, x, db);
}

static void
write_slice(struct ids *x, struct db *db)
{
	struct err e = {0};

	assert_int_equal(db_begin(db, &e), OK);
	assert_int_equal(ids_write(x, db, &e), OK);
	assert_int_equal(db_commit(db, &e), OK);
	ids_written(x);
}

/* A run is written in slices, for as many as are put meanwhile. */
static void
test_slices(void **)
{
	struct fixture f;
	struct ids *x = ids_new();
	struct db *db;
	int64_t seq = 0;

	db = begin(&f);
	while (seq < IDS_FRESH_MAX) {
		++seq;
		ids_put(x, h_of(seq), seq);
	}
	write_slice(x, db);
	assert_int_equal(ids_in_memory(x), IDS_FRESH_MAX);
	while (seq < IDS_FRESH_MAX * 3 / 2) {
		for (int i = 0; i < IDS_SLICE_MIN; i++) {
			++seq;
			ids_put(x, h_of(seq), seq);
		}
		write_slice(x, db);
	}
	/* seq 0 is nobody's: the first run is one short */
	assert_int_equal(ids_in_memory(x), seq - (IDS_FRESH_MAX - 1));
	for (int64_t i = 1; i <= seq; i += 97)
		expect(x, db, i, true);
	expect(x, db, seq + 1, false);
	end(&f, x, db);
}

/* Without what it derived it reads all of the log again, at its start. */
static void
test_made_anew(void **)
{
	const int64_t from = (INT64_C(3) << 21) - IDS_FRESH_MAX - 77;
	const int64_t last = from + IDS_FRESH_MAX * 3;
	struct fixture f;
	struct ids *x = ids_new();
	struct db *db;
	struct err e = {0};

	db = begin(&f);
	assert_int_equal(db_begin(db, &e), OK);
	for (int64_t seq = from + 1; seq <= last; seq++)
		insert(db, seq);
	assert_int_equal(db_commit(db, &e), OK);
	assert_int_equal(ids_load(x, db, &e), OK);
	assert_true(ids_in_memory(x) <= IDS_FRESH_MAX);
	all_there(x, db, from, last);
	/* And again, from what that has written. */
	assert_int_equal(ids_load(x, db, &e), OK);
	assert_true(ids_in_memory(x) <= IDS_FRESH_MAX);
	all_there(x, db, from, last);
	end(&f, x, db);
}

static void
test_undo(void **)
{
	struct rows *rows = NULL;
	char upto[16];
	struct fixture f;
	struct ids *x = ids_new();
	struct db *db;
	struct err e = {0};

	db = begin(&f);
	for (int64_t seq = 1; seq <= 100; seq++)
		ids_put(x, h_of(seq), seq);
	ids_undo(x, 40);
	assert_int_equal(ids_in_memory(x), 60);
	for (int64_t seq = 1; seq <= 100; seq++)
		expect(x, db, seq, seq <= 60);
	/* What was undone is not taken for written. */
	for (int64_t seq = 61; seq <= IDS_FRESH_MAX + 9; seq++)
		ids_put(x, h_of(seq), seq);
	ids_undo(x, 9);
	insert(db, 1);
	write_slice(x, db);
	for (int64_t seq = 1; seq < IDS_FRESH_MAX * 3 / 4; seq++) {
		ids_put(x, h_of(IDS_FRESH_MAX + seq), IDS_FRESH_MAX + seq);
		if (seq % IDS_SLICE_MIN == 0)
			write_slice(x, db);
	}
	assert_int_equal(
	    sql_meta_get(db, &rows, &e, .name = STR("ids_upto")), OK);
	assert_int_equal(rows_next(rows, &e), 1);
	(void)snprintf(upto, sizeof(upto), "%d", IDS_FRESH_MAX - 1);
	assert_true(str_eq(rows_str(rows, 0), str_of(upto)));
	rows_close(rows);
	end(&f, x, db);
}

/* How many of the table's pairs are of pieces from `first` on, and all. */
static void
count_pairs(struct db *db, int64_t first, int64_t *ret_from, int64_t *ret_all)
{
	struct sql_id_from_row row;
	struct rows *rows = NULL;
	struct err e = {0};

	*ret_from = *ret_all = 0;
	assert_int_equal(sql_id_from(db, &rows, &e, .piece = -1, .least = -1,
			     .most = 1 << 22),
	    OK);
	while (sql_id_from_next(rows, &row, &e) > 0) {
		int64_t n = (int64_t)(row.pairs.n / sizeof(int64_t));

		*ret_all += n;
		*ret_from += row.piece >= first ? n : 0;
	}
	rows_close(rows);
}

/* What is below the log's first seq goes by whole pieces, in steps. */
static void
test_retained(void **)
{
	const int64_t edge = INT64_C(1) << 21;
	const int64_t from = edge - 2 * IDS_FRESH_MAX;
	const int64_t last = edge + 2 * IDS_FRESH_MAX;
	int64_t kept, all, after;
	struct fixture f;
	struct ids *x = ids_new();
	struct db *db;
	struct err e = {0};

	db = begin(&f);
	assert_int_equal(db_begin(db, &e), OK);
	for (int64_t seq = from; seq < last; seq++)
		insert(db, seq);
	assert_int_equal(db_commit(db, &e), OK);
	assert_int_equal(ids_load(x, db, &e), OK);
	count_pairs(db, 1, &kept, &all);
	assert_int_equal(all - kept, 2 * IDS_FRESH_MAX);
	assert_int_equal(ids_retain(db, edge - 1, &e), OK);
	count_pairs(db, 1, &kept, &after);
	assert_int_equal(after, all);
	assert_int_equal(ids_retain(db, edge + 17, &e), OK);
	count_pairs(db, 1, &kept, &after);
	assert_in_range(after, kept + 1, all - 1);
	for (int64_t i = 0; i < IDS_FRESH_MAX / RETAIN_STEP_MAX; i++)
		assert_int_equal(ids_retain(db, edge + 17, &e), OK);
	count_pairs(db, 1, &kept, &after);
	assert_int_equal(after, kept);
	expect(x, db, edge - 1, false);
	all_there(x, db, edge, last - 1);
	end(&f, x, db);
}

/* A slice that was rolled back is written again, and one that was written
 * before a crash is no trouble. */
static void
test_slice_again(void **)
{
	struct fixture f;
	struct ids *x = ids_new();
	struct db *db;
	struct err e = {0};
	int64_t seq = 0, kept, all;

	db = begin(&f);
	assert_int_equal(db_begin(db, &e), OK);
	while (seq < IDS_FRESH_MAX + IDS_SLICE_MIN)
		insert(db, ++seq);
	assert_int_equal(db_commit(db, &e), OK);
	for (int64_t i = 1; i <= IDS_FRESH_MAX; i++)
		ids_put(x, h_of(i), i);
	write_slice(x, db);
	for (int64_t i = IDS_FRESH_MAX + 1; i <= seq; i++)
		ids_put(x, h_of(i), i);
	assert_int_equal(db_begin(db, &e), OK);
	assert_int_equal(ids_write(x, db, &e), OK);
	db_rollback(db);
	ids_undo(x, 0);
	count_pairs(db, 0, &kept, &all);
	assert_int_equal(all, 0);
	write_slice(x, db);
	count_pairs(db, 0, &kept, &all);
	assert_int_equal(all, 2 * IDS_SLICE_MIN);
	assert_int_equal(ids_load(x, db, &e), OK);
	count_pairs(db, 0, &kept, &all);
	assert_int_equal(all, IDS_FRESH_MAX - 1);
	all_there(x, db, 0, seq);
	end(&f, x, db);
}

/* Colliding hashes are told apart by the caller, up to a bound. */
static void
test_same_hash(void **)
{
	struct fixture f;
	struct ids *x = ids_new();
	struct db *db;
	int64_t seqs[IDS_SAME_MAX];
	struct err e = {0};

	db = begin(&f);
	for (int64_t seq = 1; seq <= IDS_SAME_MAX; seq++)
		ids_put(x, 7, seq);
	assert_int_equal(ids_find(x, db, 7, seqs, &e), IDS_SAME_MAX);
	ids_put(x, 7, IDS_SAME_MAX + 1);
	assert_int_equal(ids_find(x, db, 7, seqs, &e), ERR_LIMIT);
	end(&f, x, db);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_are_found),
	    cmocka_unit_test(test_filter_grows),
	    cmocka_unit_test(test_slices),
	    cmocka_unit_test(test_made_anew),
	    cmocka_unit_test(test_undo),
	    cmocka_unit_test(test_retained),
	    cmocka_unit_test(test_slice_again),
	    cmocka_unit_test(test_same_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
