#include "event/when.h"

#include "base/test.h"
#include "sql.h"
#include "store/fixture_test.h"

#define MIN        60
#define START      (INT64_C(28333333) * MIN * US_PER_S)
#define AT(second) (START + (second)*US_PER_S)

/* seq and second of each entry; a minute without any, and a gap in seq. */
static const struct {
	int64_t seq, second;
} ENTRIES[] = {
    {3, 0}, {4, 10}, {5, 10}, {6, 59}, {9, 61}, {10, 100}, {11, 250}};

static void
fill(struct db *db)
{
	static const struct str ID = {"0123456789abcdef", 16};
	struct err e;

	assert_int_equal(db_begin(db, &e), OK);
	for (size_t i = 0; i < COUNT_OF(ENTRIES); i++) {
		int64_t at = AT(ENTRIES[i].second);

		assert_true(
		    sql_log_insert(db,
			&(struct sql_log_insert_args){.seq = ENTRIES[i].seq,
			    .kind = 0,
			    .tenant = ID,
			    .event_id = ID,
			    .h = 1,
			    .hash = ID,
			    .type = STR("t"),
			    .pkey = STR("k"),
			    .rv = NULL,
			    .received_at = at,
			    .to_sub = NULL,
			    .attrs = (struct str){.p = NULL},
			    .body = STR("{}")},
			1, &e) >= 0);
		assert_true(sql_mark_put(db, &e, .minute = at / US_PER_S / MIN,
				.seq = ENTRIES[i].seq) >= 0);
	}
	assert_int_equal(db_commit(db, &e), OK);
}

static void
test_times(void **)
{
	static const struct {
		int64_t second, seq;
	} ROWS[] = {
	    {-1000, 3},
	    {0, 3},
	    {1, 4},
	    {10, 4},
	    {11, 6},
	    {59, 6},
	    {60, 9}, /* 7 and 8 never were */
	    {62, 10},
	    {101, 11},
	    {150, 11},
	    {250, 11},
	    {251, 12},
	    {100000, 12},
	};
	struct fixture f;
	struct db *db;
	struct err e;

	fixture_open(&f, STORE_SQLITE, NULL);
	assert_int_equal(db_open(f.store, DB_WRITE, &db, &e), OK);
	fill(db);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		int64_t seq = -1;

		assert_int_equal(
		    when_seq(db, AT(ROWS[i].second), &seq, &e), OK);
		/* A seq that never was is as good as the one behind it. */
		if (seq != ROWS[i].seq && !(ROWS[i].seq == 9 && seq == 7))
			fail_msg("second %lld: %lld", (long long)ROWS[i].second,
			    (long long)seq);
	}
	db_close(db);
	fixture_close(&f);
}

static void
test_empty(void **)
{
	struct fixture f;
	struct db *db;
	struct err e;
	int64_t seq = -1;

	fixture_open(&f, STORE_SQLITE, NULL);
	assert_int_equal(db_open(f.store, DB_READ, &db, &e), OK);
	assert_int_equal(when_seq(db, AT(0), &seq, &e), OK);
	assert_int_equal(seq, 1);
	db_close(db);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
