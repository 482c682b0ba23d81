/* What an ended subscription leaves goes in steps, and is told. */
#include "ops/ended.h"

#include "base/arena.h"
#include "base/test.h"
#include "base/uuid.h"
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
	int rc = sql_sub_insert(db, uuid_str(&id), STR("n"), STR("u"),
	    STR("standard"), STR("{\"secret\":1}"), 1, (struct str){NULL, 0},
	    NULL, (struct str){NULL, 0}, 1, &rows, e);

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
		n = sql_dead_put(db, w->id, i, 0, i, 0, 0, 1, 500, 1, 1, 1,
		    (struct str){.p = NULL}, e);
	for (int i = 0; n >= 0 && i < 10; i++)
		n = sql_stat_add(
		    db, w->id, i, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, e);
	if (n >= 0)
		n = sql_reader_put(db, w->id, 0, 0, 5, 0, e);
	if (n >= 0 && db_engine(db) == STORE_SQLITE)
		n = sql_record_version_put(db, w->id, 1, 2, 3, 4, e);
	/* One that was decided on, and another subscription's. */
	if (n >= 0)
		n = sql_dead_decide(
		    db, w->id, 3, 0, 2, 9, STR("anna"), STR(""), e);
	if (n >= 0)
		n = sql_reader_put(db, w->id + 1, 0, 0, 5, 0, e);
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
	assert_int_equal(sql_sub_until(w->db, w->id, END, 2, &w->e), 1);
	/* The engine has not come so far. */
	assert_int_equal(sql_grp_cursor(w->db, STR(""), 0, END - 1, &w->e), 64);
	assert_false(any(w));
	assert_int_equal(sql_grp_cursor(w->db, STR(""), 0, END, &w->e), 64);
	assert_true(any(w));
	do {
		if (db_tx(w->db, step, w, &w->e) < 0)
			fail_msg("%s", w->e.text);
		n += w->did > 0;
	} while (w->did > 0);
	assert_int_equal(n, 3); /* 1000 - 1 + 1 + 10 rows */
	assert_false(any(w));
	assert_int_equal(sql_ended_dead(w->db, w->id, 10, &w->e), 0);
	assert_int_equal(sql_ended_stat(w->db, w->id, 10, &w->e), 0);
	assert_int_equal(sql_ended_reader(w->db, w->id, 10, &w->e), 0);
	assert_int_equal(sql_ended_version(w->db, w->id, 10, &w->e), 0);
	assert_int_equal(sql_ended_reader(w->db, w->id + 1, 10, &w->e), 1);
	/* No secret is left, and what was decided is. */
	assert_int_equal(sql_subs_one(w->db, w->id, &rows, &w->e), OK);
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
