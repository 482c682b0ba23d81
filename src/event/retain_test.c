#include "event/retain.h"

#include "base/test.h"
#include "event/append_priv.h"
#include "event/limits.h"
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
		    .keep = {.us = ROWS[i].keep_s * US_PER_S}};
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
	struct retain x = {.engine = &APPEND_SQLITE, .keep = {.us = US_PER_S}};

	assert_int_equal(
	    steps(&x, AT(5000)), (ENTRIES - 1 + RETAIN_STEP - 1) / RETAIN_STEP);
}

/* While there is other work, a step every 100 ms and no more. */
static void
test_busy(void **)
{
	struct retain x = {.engine = &APPEND_SQLITE, .keep = {.us = US_PER_S}};

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
	struct retain x = {.engine = &APPEND_SQLITE, .keep = {.us = US_PER_S}};
	int64_t last = 2 * ENTRIES, first = 1;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		last += ROWS[i].came;
		first += ROWS[i].gone;
		assert_int_equal(
		    retain_step(&x, db, last, AT(5000), false, &e), OK);
		assert_int_equal(first_seq(), first);
	}
}

/* Who waits at `from`; what may go, by age and by weight. */
static void
test_may(void **)
{
	static const struct retain_keep KEEP = {
	    .us = 100, .pending_us = 300, .pending_bytes = 1000};
	static const struct {
		const char *what;
		struct retain_pending p;
		int64_t upto, before; /* upto 0: nothing */
		double used;
	} ROWS[] = {
	    {"young", {1, 900, INT64_MAX, 0, 0, 1}, 0, 0, 0},
	    {"old, nobody waits", {1, 899, INT64_MAX, 0, 0, 1}, INT64_MAX - 1,
		900, 0},
	    {"somebody waits further on", {1, 800, 5, 850, 400, 100}, 4, 900,
		50},
	    {"for the oldest", {5, 850, 5, 850, 1000, 100}, 0, 0, 100},
	    {"it is as old as may be", {5, 700, 5, 700, 10, 1}, 0, 0, 100},
	    {"older", {5, 699, 5, 699, 10, 1}, INT64_MAX, 700, 100.333},
	    {"heavier", {5, 850, 5, 850, 1300, 100}, 8, 900, 130},
	    {"so it was: they go", {7, 855, 5, 850, 1300, 100}, 8, 900, 130},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		int64_t upto = 0, before = 0;
		double used = retain_used(&KEEP, &ROWS[i].p, 1000);

		if (!retain_may(&KEEP, &ROWS[i].p, 1000, &upto, &before))
			upto = before = 0;
		if (upto != ROWS[i].upto || before != ROWS[i].before ||
		    used < ROWS[i].used - 0.01 || used > ROWS[i].used + 0.01)
			fail_msg("%s: %lld, %lld, %g", ROWS[i].what,
			    (long long)upto, (long long)before, used);
	}
}

static int64_t
subscribe(bool enabled)
{
	struct sql_sub_insert_row row;
	struct uuid uid = uuid_v4();

	assert_int_equal(db_begin(db, &e), OK);
	assert_int_equal(sql_sub_insert_one(db, &row, &e, .uid = uuid_str(&uid),
			     .name = STR("s"), .url = STR("u"),
			     .preset = STR("p"), .conf = STR("{}"),
			     .enabled = enabled, .managed_by = {.p = NULL},
			     .owner = NULL, .tenants = {.p = NULL}, .now = 1),
	    1);
	assert_int_equal(db_commit(db, &e), OK);
	return row.id;
}

/* Readers, rows and gatherings keep what they need; ended and stopped don't. */
static void
test_who_waits(void **)
{
	struct retain_keep keep = {.us = US_PER_S,
	    .pending_us = 10000 * US_PER_S,
	    .pending_bytes = INT64_MAX};
	struct retain_pending p;
	struct retain x = {.engine = &APPEND_SQLITE, .keep = keep};
	int64_t sub = subscribe(false), ended = subscribe(true);

	assert_int_equal(db_begin(db, &e), OK);
	assert_int_equal(sql_grp_take(db, &e, .node = STR("n"), .now = 1), 64);
	assert_true(sql_grp_cursor(db, &e, .node = STR("n"), .epoch = 1,
			.cursor = ENTRIES) > 0);
	assert_int_equal(
	    sql_sub_until(db, &e, .id = ended, .seq = 1, .now = 1), 1);
	assert_int_equal(sql_reader_put(db, &e, .sub = ended, .okey = 0,
			     .rep = 0, .pos = 3, .until_seq = 0),
	    1);
	assert_int_equal(db_commit(db, &e), OK);
	assert_int_equal(retain_look(db, &keep, AT(5000), &p, &e), 1);
	assert_true(p.from == INT64_MAX);
	assert_int_equal(sql_batch_engage(db, &e, .sub = sub, .pos = 1000), 1);
	assert_int_equal(retain_look(db, &keep, AT(5000), &p, &e), 1);
	assert_int_equal(p.from, 1001);
	assert_int_equal(sql_reader_put(db, &e, .sub = sub, .okey = 0, .rep = 0,
			     .pos = 700, .until_seq = 0),
	    1);
	(void)steps(&x, AT(5000));
	assert_int_equal(first_seq(), 701);
	assert_int_equal(retain_look(db, &keep, AT(5000), &p, &e), 1);
	assert_int_equal(p.from, 701);
	assert_int_equal(p.each, RETAIN_ENTRY_BYTES + 2);
	assert_int_equal(p.bytes, (ENTRIES - 700) * p.each);
	/* Past its bytes the oldest go, and it waits for the rest. */
	x = (struct retain){.engine = &APPEND_SQLITE, .keep = keep};
	x.keep.pending_bytes = 100 * p.each;
	for (int s = 0; s < 4; s++)
		(void)steps(&x, AT(5000 + 2 * s));
	assert_true(first_seq() >= ENTRIES - 100 && first_seq() < ENTRIES - 90);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_goes),
	    cmocka_unit_test(test_may),
	    cmocka_unit_test_setup_teardown(test_who_waits, begin, end),
	    cmocka_unit_test_setup_teardown(test_steps_are_small, begin, end),
	    cmocka_unit_test_setup_teardown(test_busy, begin, end),
	    cmocka_unit_test_setup_teardown(test_keeps_up, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
