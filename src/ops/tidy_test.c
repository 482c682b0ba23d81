#include "ops/tidy.h"

#include "base/test.h"
#include "sql.h"
#include "store/fixture_test.h"
#include "store/limits.h"

#define MINUTE  (60 * US_PER_S)
#define NOW     (INT64_C(28400000) * MINUTE)
#define DAY     (24 * 60 * MINUTE)
#define KEEP    (30 * DAY)
#define ENTRIES 1300

static const struct str NONE = {.p = NULL};
static struct fixture f;
static struct db *db;
static struct err e;

/* Entry n is as old as ENTRIES - n hours. */
static int64_t
came(int64_t n)
{
	return NOW - (ENTRIES - n) * 60 * MINUTE;
}

static int
begin(void **state)
{
	static const struct str ID = {"0123456789abcdef", 16};
	enum store_engine on = *(enum store_engine *)*state;

	fixture_open(&f, on, NULL);
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
				    .received_at = came(n),
				    .to_sub = NULL,
				    .attrs = NONE,
				    .body = STR("{}")},
				1, &e) >= 0);
		assert_true(sql_mark_put(db, &e, .minute = came(n) / MINUTE,
				.seq = n) >= 0);
		assert_true(sql_attempt_put(db,
				&(struct sql_attempt_put_args){.seq = n,
				    .sub = 1,
				    .rep = 0,
				    .n = 1,
				    .at = came(n),
				    .us = 5,
				    .status = 200,
				    .verdict = 0,
				    .reason = 0,
				    .detail = NONE},
				1, &e) >= 0);
	}
	/* An old one that was sent again today. */
	assert_true(sql_attempt_put(db,
			&(struct sql_attempt_put_args){.seq = 5,
			    .sub = 1,
			    .rep = 0,
			    .n = 2,
			    .at = NOW,
			    .us = 5,
			    .status = 200,
			    .verdict = 0,
			    .reason = 0,
			    .detail = NONE},
			1, &e) >= 0);
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

/* A whole pass; how many steps it took. */
static int
pass(void)
{
	struct tidy *t = tidy_new(NULL, KEEP);
	bool more = true;
	int n = 0;

	assert_non_null(t);
	while (more) {
		assert_int_equal(tidy_run(t, db, NOW, &more, &e), OK);
		assert_true(n++ < 100);
	}
	tidy_free(t);
	return n;
}

static int64_t
count(int64_t lo, int64_t hi)
{
	struct rows *rows = NULL;
	int64_t n = 0;

	assert_int_equal(sql_look_attempts(db, &rows, &e, .lo = lo, .seq = hi,
			     .sub = 0, .rep = 0, .n = 0, .most = 10000),
	    OK);
	while (rows_next(rows, &e) > 0)
		n++;
	rows_close(rows);
	return n;
}

static void
test_attempts(void **)
{
	int64_t young = ENTRIES - 30 * 24;

	assert_int_equal(count(1, ENTRIES + 1), ENTRIES + 1);
	assert_true(pass() >= 2 + 4);
	assert_int_equal(count(young, ENTRIES + 1), ENTRIES + 1 - young);
	assert_int_equal(count(1, young), 1); /* today's */
	assert_int_equal(count(5, 6), 1);
}

static void
dead(int64_t seq, int state, int64_t decided)
{
	assert_true(sql_dead_put(db, &e, .sub = 1, .seq = seq, .rep = 0,
			.seq_to = seq, .okey = 0, .skey = 0, .reason = 9,
			.status = 503, .tries = 3, .n = 3, .at = NOW - 2 * KEEP,
			.error = (struct str){.p = NULL}) >= 0);
	if (state > 0)
		assert_int_equal(sql_dead_decide(db, &e, .sub = 1, .seq = seq,
				     .rep = 0, .state = state, .at = decided,
				     .who = STR("me"), .note = NONE),
		    1);
}

static void
test_deads(void **)
{
	struct rows *rows = NULL;
	int64_t left[8];
	size_t n = 0;

	dead(1, 0, 0);              /* waits: for ever */
	dead(2, 2, NOW - 2 * KEEP); /* skipped long ago */
	dead(3, 1, NOW - KEEP / 2); /* requeued lately */
	dead(4, 1, NOW - 2 * KEEP);
	(void)pass();
	assert_int_equal(sql_look_deads_sub(db, &rows, &e, .lo = 0, .seq = 100,
			     .sub = 1, .rep = 0, .most = 100),
	    OK);
	while (rows_next(rows, &e) > 0)
		left[n++] = rows_int(rows, 0);
	rows_close(rows);
	assert_int_equal(n, 2);
	assert_int_equal(left[0], 3);
	assert_int_equal(left[1], 1);
}

/* The body of a row that the log loses is kept, until the row is gone. */
static void
test_kept(void **)
{
	struct rows *rows = NULL;

	assert_true(sql_row_put(db,
			&(struct sql_row_put_args){.sub = 1,
			    .seq = 7,
			    .rep = 0,
			    .okey = 0,
			    .skey = 0,
			    .state = 1,
			    .tries = 1,
			    .n = 1,
			    .crashes = 0,
			    .next_at = NOW,
			    .token = STR("n"),
			    .last_status = 503,
			    .last_reason = 1,
			    .rec_a = 0,
			    .rec_b = 0,
			    .rv = 0,
			    .asked = 0},
			1, &e) >= 0);
	assert_int_equal(
	    sql_keep_rows(db, &e, .lo = 1, .hi = 10, .now = NOW), 1);
	(void)pass();
	assert_int_equal(
	    sql_dead_body(db, &rows, &e, .sub = 1, .seq = 7, .rep = 0), OK);
	assert_int_equal(rows_next(rows, &e), 1);
	assert_true(str_eq(rows_str(rows, 0), STR("{}")));
	assert_int_equal(rows_int(rows, 1), 3);
	rows_close(rows);
	assert_int_equal(
	    sql_row_del(db,
		&(struct sql_row_del_args){.sub = 1, .seq = 7, .rep = 0}, 1,
		&e),
	    1);
	(void)pass();
	rows = NULL;
	assert_int_equal(
	    sql_dead_body(db, &rows, &e, .sub = 1, .seq = 7, .rep = 0), OK);
	assert_int_equal(rows_next(rows, &e), 0);
	rows_close(rows);
}

/* The newest handed over of a record, as the log had it at this place. */
static void
version(int64_t sub, int64_t rec, int64_t seq)
{
	assert_true(
	    sql_record_version_put(db,
		&(struct sql_record_version_put_args){
		    .sub = sub, .rec_a = rec, .rec_b = 0, .rv = 1, .seq = seq},
		1, &e) >= 0);
}

static bool
version_there(int64_t sub, int64_t rec)
{
	struct rows *rows = NULL;
	bool there;

	assert_int_equal(sql_record_version_get(db, &rows, &e, .sub = sub,
			     .rec_a = rec, .rec_b = 0),
	    OK);
	there = rows_next(rows, &e) > 0;
	rows_close(rows);
	return there;
}

static void
test_versions(void **)
{
	assert_true(sql_retain_log(db, &e, .upto = 1199, .cut = NOW) == 1199);
	assert_true(sql_row_put(db,
			&(struct sql_row_put_args){.sub = 9,
			    .seq = 20,
			    .rep = 0,
			    .okey = 0,
			    .skey = 0,
			    .state = 1,
			    .tries = 1,
			    .n = 1,
			    .crashes = 0,
			    .next_at = NOW,
			    .token = STR("n"),
			    .last_status = 503,
			    .last_reason = 1,
			    .rec_a = 0,
			    .rec_b = 0,
			    .rv = 0,
			    .asked = 0},
			1, &e) >= 0);
	version(8, 1, 30); /* the log has lost it */
	version(8, 2, 1200);
	version(9, 1, 30); /* and so here, but a row is older */
	version(9, 2, 10);
	for (int64_t i = 1; i <= 2 * RETAIN_STEP + 10; i++)
		version(10, i, i);
	version(10, 5, 1201); /* it was handed over once more */
	(void)pass();
	assert_false(version_there(8, 1));
	assert_true(version_there(8, 2));
	assert_true(version_there(9, 1));
	assert_false(version_there(9, 2));
	for (int64_t i = 1; i <= 2 * RETAIN_STEP + 10; i++)
		assert_true(version_there(10, i) == (i == 5));
	assert_int_equal(
	    sql_row_del(db,
		&(struct sql_row_del_args){.sub = 9, .seq = 20, .rep = 0}, 1,
		&e),
	    1);
	(void)pass();
	assert_false(version_there(9, 1));
}

static void
stat(int64_t sub, int64_t minute)
{
	assert_true(
	    sql_stat_add(db, &e, .sub = sub, .minute = minute, .ok = 2,
		.fail = 1, .dead = 0, .us = 100, .slow = minute % 60, .h0 = 3,
		.h1 = 0, .h2 = 0, .h3 = 0, .h4 = 0, .h5 = 0, .h6 = 0) >= 0);
}

/* Minutes for two days, then hours, then nothing. */
static void
test_stats(void **)
{
	int64_t now = NOW / MINUTE, hour = now - 3 * 1440;
	struct rows *rows = NULL;
	struct sql_stat_seen_row row;
	int n = 0;

	hour -= hour % 60;
	for (int64_t m = 0; m < 60; m++)
		stat(1, hour + m);
	stat(1, now - 10);
	stat(1, now - 40 * 1440);
	(void)pass();
	assert_int_equal(sql_stat_seen(db, &rows, &e, .sub = 1, .since = 0,
			     .upto = INT64_MAX, .most = 100),
	    OK);
	while (rows_next(rows, &e) > 0) {
		sql_stat_seen_get(rows, &row);
		if (n++ == 0) {
			assert_int_equal(row.minute, hour);
			assert_int_equal(row.ok, 120);
			assert_int_equal(row.fail, 60);
			assert_int_equal(row.slow, 59);
		}
	}
	rows_close(rows);
	assert_int_equal(n, 2);
}

/* A number is free again when nothing of the replay is left. */
static void
test_replays(void **)
{
	static const struct str UID = {"0123456789abcdef", 16};
	struct sql_replay_rep_row row;
	struct rows *rows = NULL;

	for (int round = 0; round < 3; round++) {
		rows = NULL;
		assert_int_equal(sql_replay_rep(db, &rows, &e, .sub = 1), OK);
		assert_int_equal(rows_next(rows, &e), 1);
		sql_replay_rep_get(rows, &row);
		rows_close(rows);
		assert_int_equal(row.rep, round == 1 ? 2 : 1);
		if (round == 0) {
			assert_int_equal(
			    sql_replay_add(db, &e, .uid = UID, .sub = 1,
				.rep = 1, .from_seq = 0, .until_seq = 10,
				.types = NONE, .rate = 0, .exclusive = 0,
				.now = NOW, .who = STR("me"), .pkey = NONE,
				.tenant = NONE, .total = NULL),
			    1);
			assert_int_equal(sql_replay_stop(db, &e, .uid = UID,
					     .now = NOW - 2 * KEEP),
			    1);
			assert_true(
			    sql_attempt_put(db,
				&(struct sql_attempt_put_args){.seq = ENTRIES,
				    .sub = 1,
				    .rep = 1,
				    .n = 1,
				    .at = NOW,
				    .us = 5,
				    .status = 200,
				    .verdict = 0,
				    .reason = 0,
				    .detail = NONE},
				1, &e) >= 0);
			(void)pass();
		}
		if (round == 1) {
			assert_true(
			    sql_tidy_attempts(db, &e, .seq = 0, .sub = 0,
				.rep = 0, .n = 0, .to_seq = ENTRIES,
				.to_sub = 99, .to_rep = 0, .to_n = 0,
				.cut = NOW + 1) >= 0);
			(void)pass();
		}
	}
}

int
main(void)
{
	static enum store_engine on = STORE_SQLITE;
#define T(fn)                                                                  \
	{                                                                      \
		.name = #fn, .test_func = fn, .setup_func = begin,             \
		.teardown_func = end, .initial_state = &on                     \
	}
	const struct CMUnitTest tests[] = {
	    T(test_attempts),
	    T(test_deads),
	    T(test_kept),
	    T(test_versions),
	    T(test_stats),
	    T(test_replays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
