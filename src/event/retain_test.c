#include "event/retain.h"

#include "base/test.h"
#include "event/append_priv.h"
#include "sql.h"
#include "store/fixture_test.h"
#include "store/limits.h"

/* Entry n came in second n of the test's own time. */
#define START   (INT64_C(1700000000) * US_PER_S)
#define AT(n)   (START + (n)*US_PER_S)
#define ENTRIES 1200

static struct fixture f;
static struct db *db;
static struct err e;

static int
begin(void **)
{
	static const struct str ID = {"0123456789abcdef", 16};

	fixture_open(&f, STORE_SQLITE, NULL);
	assert_int_equal(db_open(f.store, DB_WRITE, &db, &e), OK);
	assert_int_equal(db_begin(db, &e), OK);
	for (int64_t n = 1; n <= ENTRIES; n++) {
		assert_true(sql_log_insert(db,
				&(struct sql_log_insert_args){.seq = n,
				    .kind = 0,
				    .tenant = ID,
				    .event_id = ID,
				    .h = n,
				    .hash = ID,
				    .type = STR("t"),
				    .pkey = STR("k"),
				    .rv = NULL,
				    .received_at = AT(n),
				    .to_sub = NULL,
				    .attrs = (struct str){.p = NULL},
				    .body = STR("{}")},
				1, &e) >= 0);
	}
	assert_int_equal(db_commit(db, &e), OK);
	return 0;
}

static int
end(void **)
{
	db_close(db);
	fixture_close(&f);
	return 0;
}

static int64_t
first_seq(void)
{
	struct rows *rows = NULL;
	int64_t seq;

	assert_int_equal(sql_log_first(db, &rows, &e), OK);
	assert_int_equal(rows_next(rows, &e), 1);
	seq = rows_int(rows, 0);
	rows_close(rows);
	return seq;
}

/* Steps at `now`, as an idle thread takes them, until nothing goes. */
static int
steps(struct retain *x, int64_t now_us)
{
	int64_t before = first_seq();

	for (int n = 0;; n++) {
		assert_int_equal(
		    retain_step(x, db, ENTRIES, now_us, true, &e), OK);
		if (first_seq() == before)
			return n;
		assert_true(first_seq() - before <= RETAIN_STEP);
		before = first_seq();
	}
}

static void
test_what_goes(void **)
{
	static const struct {
		int64_t keep_s, now_s, first;
	} ROWS[] = {
	    {0, 1000000, 1},       /* for ever */
	    {1000, 1001, 1},       /* just as old as that: it stays */
	    {1000, 1002, 2},       /* a second more */
	    {1000, 1701, 701},     /* in two steps */
	    {1000, 2200, ENTRIES}, /* all but the newest */
	    {1, 1000000, ENTRIES}, /* which stays however old */
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct retain x = {.engine = &APPEND_SQLITE,
		    .keep_us = ROWS[i].keep_s * US_PER_S};
		int64_t first;

		(void)begin(NULL);
		(void)steps(&x, AT(ROWS[i].now_s));
		first = first_seq();
		if (first != ROWS[i].first)
			fail_msg("row %zu: %lld", i, (long long)first);
		(void)end(NULL);
	}
}

static void
test_steps_are_small(void **)
{
	struct retain x = {.engine = &APPEND_SQLITE, .keep_us = US_PER_S};

	assert_int_equal(
	    steps(&x, AT(5000)), (ENTRIES - 1 + RETAIN_STEP - 1) / RETAIN_STEP);
}

/* While there is other work, a step every 100 ms and no more. */
static void
test_busy(void **)
{
	struct retain x = {.engine = &APPEND_SQLITE, .keep_us = US_PER_S};

	assert_int_equal(retain_step(&x, db, ENTRIES, AT(5000), false, &e), OK);
	assert_int_equal(first_seq(), RETAIN_STEP + 1);
	assert_int_equal(
	    retain_step(&x, db, ENTRIES, AT(5000) + 99 * US_PER_MS, false, &e),
	    OK);
	assert_int_equal(first_seq(), RETAIN_STEP + 1);
	assert_int_equal(
	    retain_step(&x, db, ENTRIES, AT(5000) + 100 * US_PER_MS, false, &e),
	    OK);
	assert_int_equal(first_seq(), 2 * RETAIN_STEP + 1);
}

/* Two go for each that comes, once there is something to take. */
static void
test_keeps_up(void **)
{
	static const struct {
		int64_t came, gone;
	} ROWS[] = {
	    {0, RETAIN_STEP},         /* the first look */
	    {RETAIN_STEP / 2 - 1, 0}, /* not yet worth a step */
	    {51, RETAIN_STEP + 100},  /* worth a larger one */
	    {80, 0},
	};
	struct retain x = {.engine = &APPEND_SQLITE, .keep_us = US_PER_S};
	int64_t last = 2 * ENTRIES, first = 1;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		last += ROWS[i].came;
		first += ROWS[i].gone;
		assert_int_equal(
		    retain_step(&x, db, last, AT(5000), false, &e), OK);
		assert_int_equal(first_seq(), first);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_goes),
	    cmocka_unit_test_setup_teardown(test_steps_are_small, begin, end),
	    cmocka_unit_test_setup_teardown(test_busy, begin, end),
	    cmocka_unit_test_setup_teardown(test_keeps_up, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
