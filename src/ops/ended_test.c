/* What an ended subscription leaves goes in steps, and is told. */
#include "ops/ended.h"

#include "base/test.h"
#include "ops/limits.h"
#include "sql.h"
#include "store/fixture_test.h"

#define END 50 /* where in the log it ended */

struct world {
	struct fixture f;
	struct db *db;
	struct err e;
	int64_t id, did;
};

static int
begin_on(void **state, enum store_engine engine)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	fixture_open(&w->f, engine, NULL);
	assert_int_equal(db_open(w->f.store, DB_WRITE, &w->db, &w->e), OK);
	*state = w;
	return 0;
}

static int
begin_sqlite(void **state)
{
	return begin_on(state, STORE_SQLITE);
}

static int
begin_postgres(void **state)
{
	return begin_on(state, STORE_POSTGRES);
}

static int
end(void **state)
{
	struct world *w = *state;

	db_close(w->db);
	fixture_close(&w->f);
	free(w);
	return 0;
}

static int
insert(struct db *db, void *ctx, struct err *e)
{
	struct world *w = ctx;
	struct uuid id = uuid_v4();
	struct rows *rows = NULL;
	int rc = sql_sub_insert(db, &rows, e, .uid = uuid_str(&id),
	    .name = STR("n"), .url = STR("u"), .preset = STR("standard"),
	    .conf = STR("{\"secret\":1}"), .enabled = 1,
	    .managed_by = (struct str){NULL, 0}, .owner = NULL,
	    .tenants = (struct str){NULL, 0}, .now = 1);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		w->id = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static int
fill(struct db *db, void *ctx, struct err *e)
{
	struct world *w = ctx;
	int64_t n = 0;

	for (int i = 0; n >= 0 && i < 2 * SUB_DROP_STEP; i++)
		n = sql_dead_put(db, e, .sub = w->id, .seq = i, .rep = 0,
		    .seq_to = i, .okey = 0, .skey = 0, .reason = 1,
		    .status = 500, .tries = 1, .n = 1, .at = 1,
		    .error = (struct str){.p = NULL});
	for (int i = 0; n >= 0 && i < 10; i++)
		n = sql_stat_add(db, e, .sub = w->id, .minute = i, .ok = 1,
		    .fail = 0, .dead = 0, .us = 1, .slow = 1, .h0 = 1, .h1 = 0,
		    .h2 = 0, .h3 = 0, .h4 = 0, .h5 = 0, .h6 = 0);
	if (n >= 0)
		n = sql_reader_put(db, e, .sub = w->id, .okey = 0, .rep = 0,
		    .pos = 5, .until_seq = 0);
	if (n >= 0 && db_engine(db) == STORE_SQLITE)
		n = sql_record_version_put(db,
		    &(struct sql_record_version_put_args){.sub = w->id,
			.rec_a = 1,
			.rec_b = 2,
			.rv = 3,
			.seq = 4},
		    1, e);
	/* One that was decided on, and another subscription's. */
	if (n >= 0)
		n = sql_dead_decide(db, e, .sub = w->id, .seq = 3, .rep = 0,
		    .state = 2, .at = 9, .who = STR("anna"), .note = STR(""));
	if (n >= 0)
		n = sql_reader_put(db, e, .sub = w->id + 1, .okey = 0, .rep = 0,
		    .pos = 5, .until_seq = 0);
	return n < 0 ? (int)n : OK;
}

static int
step(struct db *db, void *ctx, struct err *e)
{
	struct world *w = ctx;

	return ended_step(db, 1000, &w->did, e);
}

static bool
any(struct world *w)
{
	bool is = false;

	assert_int_equal(ended_any(w->db, &is, &w->e), OK);
	return is;
}

static void
test_steps(void **state)
{
	struct world *w = *state;
	struct rows *rows = NULL;
	int n = 0;

	assert_int_equal(db_tx(w->db, insert, w, &w->e), OK);
	if (db_tx(w->db, fill, w, &w->e) < 0)
		fail_msg("%s", w->e.text);
	assert_false(any(w));
	assert_int_equal(
	    sql_sub_until(w->db, &w->e, .id = w->id, .seq = END, .now = 2), 1);
	/* The engine has not come so far. */
	assert_int_equal(sql_grp_cursor(w->db, &w->e, .node = STR(""),
			     .epoch = 0, .cursor = END - 1),
	    64);
	assert_false(any(w));
	assert_int_equal(sql_grp_cursor(w->db, &w->e, .node = STR(""),
			     .epoch = 0, .cursor = END),
	    64);
	assert_true(any(w));
	do {
		if (db_tx(w->db, step, w, &w->e) < 0)
			fail_msg("%s", w->e.text);
		n += w->did > 0;
	} while (w->did > 0);
	assert_int_equal(n, 3); /* 1000 - 1 + 1 + 10 rows */
	assert_false(any(w));
	assert_int_equal(
	    sql_ended_dead(w->db, &w->e, .sub = w->id, .most = 10), 0);
	assert_int_equal(
	    sql_ended_stat(w->db, &w->e, .sub = w->id, .most = 10), 0);
	assert_int_equal(
	    sql_ended_reader(w->db, &w->e, .sub = w->id, .most = 10), 0);
	assert_int_equal(
	    sql_ended_version(w->db, &w->e, .sub = w->id, .most = 10), 0);
	assert_int_equal(
	    sql_ended_reader(w->db, &w->e, .sub = w->id + 1, .most = 10), 1);
	/* No secret is left, and what was decided is. */
	assert_int_equal(sql_subs_one(w->db, &rows, &w->e, .id = w->id), OK);
	assert_int_equal(rows_next(rows, &w->e), 1);
	assert_true(str_eq(rows_str(rows, 2), STR("{}")));
	rows_close(rows);
}

int
main(void)
{
	const struct CMUnitTest sqlite[] = {
	    cmocka_unit_test_setup_teardown(test_steps, begin_sqlite, end)};
	const struct CMUnitTest postgres[] = {
	    cmocka_unit_test_setup_teardown(test_steps, begin_postgres, end)};
	int failed = cmocka_run_group_tests(sqlite, NULL, NULL);

	if (fixture_postgres())
		failed += cmocka_run_group_tests(postgres, NULL, NULL);
	return failed;
}
