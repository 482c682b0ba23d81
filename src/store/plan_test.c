/*
 * How lists are found: every page of deliveries goes along one index, in its
 * order, so that it reads the rows it shows and sorts nothing.
 */
#include <sqlite3.h>

#include "base/test.h"
#include "sql.h"
#include "store/fixture_test.h"
#include "store/store_val.h"

static const struct {
	enum stmt q;
	const char *name;
	const char *sqlite; /* what the plan must have */
	/* The index; NULL: any, as long as it reads no other's rows. */
	const char *postgres;
	const char *args; /* of a middle page */
} PAGES[] = {
    {STMT_LOOK_ATTEMPTS, "attempts", "USING PRIMARY KEY", "attempt_pkey",
	"1, 40000, 3, 0, 1, 51"},
    {STMT_LOOK_ATTEMPTS_SUB, "attempts of one", "USING INDEX attempt_sub",
	"attempt_sub", "1, 40000, 3, 0, 1, 51"},
    {STMT_LOOK_ROWS, "rows", "USING INDEX delivery_seq", "delivery_seq",
	"1, 40000, 3, 0, 51"},
    {STMT_LOOK_ROWS_SUB, "rows of one", "USING PRIMARY KEY", "delivery_pkey",
	"1, 40000, 3, 0, 51"},
    {STMT_LOOK_DEADS, "dead", "USING INDEX dead_seq", "dead_seq",
	"1, 40000, 3, 0, 51"},
    {STMT_LOOK_DEADS_SUB, "dead of one", "USING PRIMARY KEY", "dead_pkey",
	"1, 40000, 3, 0, 51"},
    {STMT_DEAD_PAGE, "dead letters", "USING INDEX dead_state", "dead_state",
	"0, 1, 40000, 3, 40000, 0, 51"},
    {STMT_DEAD_PAGE_SUB, "dead letters of one", "USING INDEX dead_sub_state",
	"dead_sub_state", "0, 1, 40000, 3, 40000, 0, 51"},
    {STMT_ATTEMPTS_OF, "one delivery", "AND rep=? AND n>?", "attempt_pkey",
	"40000, 3, 0, 0, 100"},
    {STMT_TIDY_ATTEMPTS_END, "old attempts", "USING PRIMARY KEY",
	"attempt_pkey", "1, 0, 0, 0, 40000, 499"},
};

static void
plan_of(sqlite3 *db, const char *sql, char *ret, size_t n)
{
	char text[4096];
	sqlite3_stmt *s = NULL;

	(void)snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", sql);
	if (sqlite3_prepare_v2(db, text, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	ret[0] = '\0';
	while (sqlite3_step(s) == SQLITE_ROW) {
		size_t at = strlen(ret);

		(void)snprintf(ret + at, n - at, "%s; ",
		    (const char *)sqlite3_column_text(s, 3));
	}
	sqlite3_finalize(s);
}

static void
test_sqlite(void **)
{
	struct fixture f;
	sqlite3 *db = NULL;
	char path[96], plan[1024];

	fixture_open(&f, STORE_SQLITE, NULL);
	(void)snprintf(path, sizeof(path), "%s/hikyaku.db", f.dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (size_t i = 0; i < COUNT_OF(PAGES); i++) {
		plan_of(db, STMTS[PAGES[i].q].sqlite, plan, sizeof(plan));
		if (!strstr(plan, PAGES[i].sqlite) || strstr(plan, "SCAN") ||
		    strstr(plan, "TEMP B-TREE"))
			fail_msg("%s: %s", PAGES[i].name, plan);
	}
	sqlite3_close(db);
	fixture_close(&f);
}

/* As the planner has it when the tables are large, whatever the values. */
static const char FILL[] =
    "INSERT INTO attempt SELECT g, g % 7, 0, 1, g, 1, 200, 0, 0, NULL"
    " FROM generate_series(1, 50000) g;"
    "INSERT INTO delivery SELECT g % 7, g, 0, 0, 0, 1, 1, 1, 0, g, '', 503, 1"
    " FROM generate_series(1, 50000) g;"
    "INSERT INTO dead SELECT g % 700, g, 0, g, 0, 0, 9, 503, 3, 3, g, 0, 0"
    " FROM generate_series(1, 50000) g;"
    "ANALYZE attempt; ANALYZE delivery; ANALYZE dead;"
    "SET plan_cache_mode = force_generic_plan;";

static void
run(PGconn *c, const char *sql)
{
	PGresult *res = PQexec(c, sql);

	if (PQresultStatus(res) == PGRES_FATAL_ERROR)
		fail_msg("%.200s: %s", sql, PQerrorMessage(c));
	PQclear(res);
}

static void
explain(PGconn *c, size_t i, char *ret, size_t n)
{
	char text[4096];
	PGresult *res;

	(void)snprintf(text, sizeof(text), "PREPARE p%zu AS %s", i,
	    STMTS[PAGES[i].q].postgres);
	run(c, text);
	(void)snprintf(text, sizeof(text),
	    "EXPLAIN (ANALYZE, TIMING OFF) EXECUTE p%zu(%s)", i, PAGES[i].args);
	res = PQexec(c, text);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", PAGES[i].name, PQerrorMessage(c));
	ret[0] = '\0';
	for (int k = 0; k < PQntuples(res); k++) {
		size_t at = strlen(ret);

		(void)snprintf(ret + at, n - at, "%s; ", PQgetvalue(res, k, 0));
	}
	PQclear(res);
}

static void
test_postgres(void **)
{
	struct fixture f;
	char plan[4096];
	PGconn *c;

	if (!fixture_postgres())
		skip();
	fixture_open(&f, STORE_POSTGRES, NULL);
	c = PQconnectdb(f.url);
	run(c, FILL);
	for (size_t i = 0; i < COUNT_OF(PAGES); i++) {
		explain(c, i, plan, sizeof(plan));
		if (strstr(plan, "Seq Scan") ||
		    (PAGES[i].postgres && (!strstr(plan, PAGES[i].postgres) ||
					      strstr(plan, "Sort") ||
					      strstr(plan, "Rows Removed"))))
			fail_msg("%s: %s", PAGES[i].name, plan);
	}
	PQfinish(c);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sqlite),
	    cmocka_unit_test(test_postgres),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
