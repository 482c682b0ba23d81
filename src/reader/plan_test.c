/*
 * How lists of articles are found, with 200,000 of them: along indexes, so
 * that a page costs what it shows. A list of all feeds goes along the index of
 * all articles; what is not found near takes a page of each feed and sorts those.
 * Stars, and what changed, are few, and sorted. PostgreSQL has no statistics.
 */
#include <sqlite3.h>

#include "base/test.h"
#include "sql.h"
#include "store/fixture_test.h"
#include "store/store_val.h"

#define ARTICLES 200000
#define MOST     "9223372036854775807"
/* at, id, plain, is_read: of the first person, a page of 51. */
#define ALL(at, id, plain, is_read)                                            \
	"1, 0, 0, " at ", " id ", " plain ", 0, " MOST ", 0, " MOST            \
	", 0, " MOST ", 0, " MOST ", " is_read ", -1, 0, '', 0, 0, 2, 51, 0"
#define WORDS(id, words)                                                       \
	"1, 0, 0, 0, " id ", 0, 0, " MOST ", 0, " MOST ", 0, " MOST            \
	", 0, " MOST ", -1, -1, 0, " words ", 0, 0, 2, 51, 0"

static const struct {
	enum stmt q;
	const char *name;
	const char *sqlite[2]; /* what the plan must have */
	bool sorts;            /* it may */
	const char *postgres;  /* an index that it must use */
	const char *args;      /* as literals, in order */
} LISTS[] = {
    {STMT_LIST_FEED, "a feed", {"INDEX feed_item_published", NULL}, false,
	"feed_item_published", "1, 50, 0, 1500000, 1500000, 51"},
    {STMT_LIST_FEED, "unread of a feed", {"INDEX feed_item_published", NULL},
	false, "feed_item_published", "1, 50, 1, 1500000, 1500000, 51"},
    {STMT_LIST_ROWS, "rows", {"INTEGER PRIMARY KEY", NULL}, true, NULL,
	"1, '[7]'"},
    {STMT_SYNC_DATES_DOWN, "all feeds",
	{"INDEX feed_item_published", "sqlite_autoindex_feed_subscription_2"},
	true, "feed_item_date", ALL("1300000", "1300000", "1", "-1")},
    {STMT_SYNC_DATES_DOWN, "unread",
	{"INDEX feed_item_published", "INDEX feed_item_date"}, true,
	"feed_item_date", ALL("1300000", "1300000", "1", "0")},
    {STMT_SYNC_DATES_UP, "oldest unread",
	{"INDEX feed_item_published", "INDEX feed_item_date"}, true,
	"feed_item_date", ALL("0", "0", "1", "0")},
    {STMT_SYNC_DATES_DOWN, "unread, once",
	{"INDEX feed_item_date", "feed_item_same"}, true, "feed_item_date",
	"1, 0, 0, 1300000, 1300000, 0, 0, " MOST ", 0, " MOST ", 0, " MOST
	", 0, " MOST ", 0, -1, 1, '', 0, 0, 2, 51, 0"},
    {STMT_SYNC_IDS_DOWN, "ids", {"INDEX feed_item_feed", NULL}, true,
	"feed_item_pkey", ALL("0", "150000", "1", "0")},
    {STMT_SYNC_IDS_UP, "ids, oldest first", {"INDEX feed_item_feed", NULL},
	true, "feed_item_pkey", ALL("0", "50000", "1", "-1")},
    {STMT_SYNC_DATES_DOWN, "unread of a category",
	{"INDEX feed_item_published", NULL}, true, "feed_item_published",
	"1, 0, 2147483647, 1300000, 1300000, 1, 0, " MOST ", 0, " MOST
	", 0, " MOST ", 0, " MOST ", 0, -1, 0, '', 0, 0, 2, 51, 0"},
    {STMT_SYNC_DATES_DOWN, "unread since a date",
	{"INDEX feed_item_date", NULL}, true, "feed_item_date",
	"1, 0, 0, " MOST ", " MOST ", 0, 0, " MOST ", 1399000, " MOST
	", 0, " MOST ", 0, " MOST ", 0, -1, 0, '', 0, 0, 2, 51, 0"},
    {STMT_SYNC_CHANGED, "changed",
	{"INDEX feed_item_changed", "item_state_changed"}, true,
	"feed_item_changed",
	"1, 0, 0, " MOST ", " MOST ", 0, 0, " MOST ", 0, " MOST ", 0, " MOST
	", 199900, " MOST ", -1, -1, 0, '', 0, 0, 3, 51, 0"},
    {STMT_SYNC_ITEMS, "articles", {"INTEGER PRIMARY KEY", NULL}, true,
	"feed_item_pkey", "1, '[7]'"},
    {STMT_SYNC_STARRED, "starred", {"INDEX item_state_starred", NULL}, true,
	"item_state_starred",
	"1, 0, 0, 1300000, 1300000, 0, 0, " MOST ", 0, " MOST ", 0, " MOST
	", 0, " MOST ", -1, 1, 0, '', 0, 0, 3, 51, 0"},
    {STMT_SYNC_SEARCH_DOWN, "a search for all", {"VIRTUAL TABLE INDEX", NULL},
	true, "item_terms_pkey", WORDS("150000", "'''word'''")},
    {STMT_SYNC_SEARCH_UP, "a search from the oldest",
	{"VIRTUAL TABLE INDEX", NULL}, true, "item_terms_pkey",
	WORDS("50000", "'''word'''")},
    {STMT_SYNC_SEARCH_DOWN, "a search for nothing",
	{"VIRTUAL TABLE INDEX", NULL}, true, "item_terms_terms",
	WORDS("150000", "'''nothing'''")},
    {STMT_SYNC_TOTALS, "totals", {"INDEX item_state_starred", NULL}, true, NULL,
	"1, 0, 0, 0"},
    {STMT_FSUB_LIST, "subscriptions",
	{"INDEX item_state_read", "sqlite_autoindex_feed_subscription_2"}, true,
	NULL, "1, NULL"},
    {STMT_CLEAN_OLD, "old ones", {"INDEX feed_item_created", NULL}, true,
	"feed_item_created", "900000, 100, 5, 200"},
};

/* Up to 100 feeds of 2,000; every second one read, a star here and there. */
static const char *const FILL[] = {
    "INSERT INTO users (uid, email, name, created_at, updated_at)"
    " VALUES (@u(1), '', 'x', 1, 1)",
    "INSERT INTO feed (uid, feed_url, title, fetch_status, consecutive_errors,"
    " parse_errors, next_fetch_at, claimed_until, subscribers, items, version,"
    " created_at, updated_at) SELECT @u(g), 'http://x/' || g, 't', 'active', 0,"
    " 0, 1, 0, 1, 2000, 1, 1, 1 FROM @n(100)",
    "INSERT INTO feed_subscription (uid, user_id, feed_id,"
    " fetch_interval_minutes, created_at, updated_at) SELECT uid, 1, id, 60, 1,"
    " 1 FROM feed",
    "INSERT INTO feed_item (uid, feed_id, published_at, is_date_estimated,"
    " fetched_at, created_at, updated_at, content_hash, state_hash, title,"
    " guid_or_id, same_as) SELECT @u(g), g % 100 + 1, g * 7, 0, g, g, g, @u(g),"
    " @u(g), 'title', 'g' || g, @u(g) FROM @n(200000)",
    "INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred,"
    " updated_at) SELECT 1, id, feed_id, 1, 0, 1 FROM feed_item"
    " WHERE id % 2 = 0",
    "UPDATE item_state SET is_starred = 1 WHERE item_id % 1000 = 0",
    "INSERT INTO item_terms (@id, terms) SELECT id, 'word' FROM feed_item",
    NULL,
};

static void
expand(const char *sql, bool pg, char *ret, size_t n)
{
	size_t at = 0;

	for (; *sql && at + 200 < n; sql++) {
		int took = 0, count = 0;
		char arg[8];

		if (sscanf(sql, "@u(%7[g0-9])%n", arg, &took) == 1 && took) {
			at += (size_t)snprintf(ret + at, n - at,
			    pg ? "decode(lpad(to_hex(%s), 32, '0'), 'hex')"
			       : "CAST(printf('%%016d', %s) AS BLOB)",
			    arg);
			sql += took - 1;
		} else if (sscanf(sql, "@n(%d)%n", &count, &took) == 1 &&
			   took) {
			at += (size_t)snprintf(ret + at, n - at,
			    pg ? "generate_series(1, %d) g"
			       : "(WITH RECURSIVE s (g) AS (SELECT 1 UNION ALL"
				 " SELECT g + 1 FROM s WHERE g < %d)"
				 " SELECT g FROM s)",
			    count);
			sql += took - 1;
		} else if (strncmp(sql, "@id", 3) == 0) {
			at += (size_t)snprintf(
			    ret + at, n - at, "%s", pg ? "item_id" : "rowid");
			sql += 2;
		} else {
			ret[at++] = *sql;
		}
	}
	ret[at] = '\0';
}

static void
lite(sqlite3 *db, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%.100s: %s", sql, why);
}

/* A search walks its matches, a list the one row of its cut or the ids that it
 * was given, which are called scans too. */
static bool
scans(const char *plan)
{
	const char *at = plan;

	while ((at = strstr(at, "SCAN "))) {
		at += 5;
		if (strncmp(at, "q ", 2) != 0 && strncmp(at, "cut", 3) != 0 &&
		    strncmp(at, "near;", 5) != 0 &&
		    strncmp(at, "hit;", 4) != 0 && strncmp(at, "k;", 2) != 0 &&
		    strncmp(at, "i;", 2) != 0 && strncmp(at, "s;", 2) != 0 &&
		    strncmp(at, "d;", 2) != 0 && strncmp(at, "j ", 2) != 0 &&
		    strncmp(at, "CONSTANT", 8) != 0)
			return true;
	}
	return false;
}

static void
test_sqlite(void **)
{
	struct fixture f;
	sqlite3 *db = NULL;
	char path[96], plan[8192], text[16384];

	fixture_open(&f, STORE_SQLITE, NULL);
	(void)snprintf(path, sizeof(path), "%s/hikyaku.db", f.dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (size_t i = 0; i < COUNT_OF(LISTS); i++) {
		sqlite3_stmt *s = NULL;

		(void)snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s",
		    STMTS[LISTS[i].q].sqlite);
		if (sqlite3_prepare_v2(db, text, -1, &s, NULL) != SQLITE_OK)
			fail_msg("%s", sqlite3_errmsg(db));
		plan[0] = '\0';
		while (sqlite3_step(s) == SQLITE_ROW) {
			size_t at = strlen(plan);

			(void)snprintf(plan + at, sizeof(plan) - at, "%s; ",
			    (const char *)sqlite3_column_text(s, 3));
		}
		sqlite3_finalize(s);
		for (size_t k = 0; k < 2 && LISTS[i].sqlite[k]; k++)
			if (!strstr(plan, LISTS[i].sqlite[k]))
				fail_msg("%s: no %s: %s", LISTS[i].name,
				    LISTS[i].sqlite[k], plan);
		if (scans(plan) ||
		    (!LISTS[i].sorts && strstr(plan, "TEMP B-TREE")))
			fail_msg("%s: %s", LISTS[i].name, plan);
	}
	sqlite3_close(db);
	fixture_close(&f);
}

/* What is between the quotes; a word is the same for both engines then. */
static const char *
unquoted(char *arg)
{
	while (*arg == '\'')
		arg++;
	arg[strcspn(arg, "'")] = '\0';
	return arg;
}

/* What it did, as SQLite counts the steps of its machine. */
static int64_t
counted(sqlite3 *db, size_t i)
{
	sqlite3_stmt *s = NULL;
	int64_t steps;
	int n = 0;

	assert_int_equal(
	    sqlite3_prepare_v2(db, STMTS[LISTS[i].q].sqlite, -1, &s, NULL),
	    SQLITE_OK);
	for (int k = 1; k <= sqlite3_bind_parameter_count(s); k++) {
		char text[256];
		char *rest = text, *arg = text;

		(void)snprintf(text, sizeof(text), "%s", LISTS[i].args);
		for (int j = 0; j < k; j++)
			arg = strsep(&rest, ",");
		while (*arg == ' ')
			arg++;
		if (strcmp(arg, "NULL") == 0)
			(void)sqlite3_bind_null(s, k);
		else if (*arg == '\'')
			(void)sqlite3_bind_text(
			    s, k, unquoted(arg), -1, SQLITE_TRANSIENT);
		else
			(void)sqlite3_bind_int64(s, k, strtoll(arg, NULL, 10));
	}
	while (sqlite3_step(s) == SQLITE_ROW)
		n++;
	steps = sqlite3_stmt_status(s, SQLITE_STMTSTATUS_VM_STEP, 0);
	sqlite3_finalize(s);
	if (n == 0 && !strstr(LISTS[i].name, "nothing"))
		fail_msg("%s: no rows", LISTS[i].name);
	return steps;
}

/* What a plan promises: no page takes long, however many articles there are. */
static void
test_sqlite_filled(void **)
{
	struct fixture f;
	sqlite3 *db = NULL;
	char path[96], text[4096];

	fixture_open(&f, STORE_SQLITE, NULL);
	(void)snprintf(path, sizeof(path), "%s/hikyaku.db", f.dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	lite(db, "BEGIN");
	for (size_t i = 0; FILL[i]; i++) {
		expand(FILL[i], false, text, sizeof(text));
		lite(db, text);
	}
	lite(db, "COMMIT");
	for (size_t i = 0; i < COUNT_OF(LISTS); i++) {
		int64_t steps = counted(db, i);

		print_message(
		    "%-26s %8lld steps\n", LISTS[i].name, (long long)steps);
		/* Each article takes ten or more. Counting what was read takes
		 * four for each, along an index. */
		if (steps > 4 * ARTICLES)
			fail_msg("%s: %lld", LISTS[i].name, (long long)steps);
	}
	sqlite3_close(db);
	fixture_close(&f);
}

static void
run(PGconn *c, const char *sql)
{
	PGresult *res = PQexec(c, sql);

	if (PQresultStatus(res) == PGRES_FATAL_ERROR)
		fail_msg("%.200s: %s", sql, PQerrorMessage(c));
	PQclear(res);
}

/* As the store says them. */
static const char *
types_of(size_t i, char ret[256])
{
	const struct stmt_info *q = &STMTS[LISTS[i].q];

	ret[0] = '\0';
	for (int k = 0; k < q->n_args; k++) {
		size_t at = strlen(ret);

		(void)snprintf(ret + at, 256 - at, "%s%s", k ? ", " : "",
		    q->args[k] == VAL_INT    ? "bigint"
		    : q->args[k] == VAL_TEXT ? "text"
					     : "bytea");
	}
	return ret;
}

static void
explain(PGconn *c, size_t i, char *ret, size_t n)
{
	char text[16384], types[256];
	PGresult *res;

	(void)snprintf(text, sizeof(text), "PREPARE p%zu (%s) AS %s", i,
	    types_of(i, types), STMTS[LISTS[i].q].postgres);
	run(c, text);
	(void)snprintf(text, sizeof(text),
	    "EXPLAIN (ANALYZE, TIMING OFF) EXECUTE p%zu(%s)", i, LISTS[i].args);
	res = PQexec(c, text);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", LISTS[i].name, PQerrorMessage(c));
	ret[0] = '\0';
	for (int k = 0; k < PQntuples(res); k++) {
		const char *line = PQgetvalue(res, k, 0);
		size_t at = strlen(ret);

		/* It has two ways for one question, and took the other. */
		if (!strstr(line, "never executed"))
			(void)snprintf(ret + at, n - at, "%s; ", line);
	}
	PQclear(res);
}

/* Rows that the lines of a plan read, and those that they left out again. */
static double
rows_read(const char *plan)
{
	double all = 0, loops = 0;

	for (const char *end; (end = strchr(plan, ';')); plan = end + 1) {
		const char *actual = strstr(plan, "(actual rows=");
		const char *removed = strstr(plan, "Rows Removed by ");
		double rows;

		if (actual && actual < end &&
		    sscanf(actual, "(actual rows=%lf loops=%lf", &rows,
			&loops) == 2)
			all += rows * loops;
		else if (removed && removed < end &&
			 sscanf(strchr(removed, ':'), ": %lf", &rows) == 1)
			all += rows * loops;
	}
	return all;
}

/* Where it begins to be wrong; NULL: nowhere. */
static const char *
wrong(size_t i, const char *plan)
{
	const char *at = strstr(plan, "Seq Scan on feed_item");

	if (!at)
		at = strstr(plan, "Seq Scan on item_");
	if (!at && LISTS[i].postgres && !strstr(plan, LISTS[i].postgres))
		at = plan;
	if (!at && LISTS[i].postgres && !LISTS[i].sorts)
		at = strstr(plan, "Sort Method");
	return at;
}

static void
test_postgres(void **)
{
	struct fixture f;
	char plan[32768], text[4096];
	PGconn *c;

	if (!fixture_postgres())
		skip();
	fixture_open(&f, STORE_POSTGRES, NULL);
	c = PQconnectdb(f.url);
	for (size_t i = 0; FILL[i]; i++) {
		expand(FILL[i], true, text, sizeof(text));
		run(c, text);
	}
	run(c, "SET jit = off; SET enable_seqscan = off;" /* store/pgconn.c */
	       " SET random_page_cost = 1.1;"
	       " SET plan_cache_mode = force_generic_plan");
	for (size_t i = 0; i < COUNT_OF(LISTS); i++) {
		explain(c, i, plan, sizeof(plan));
		if (wrong(i, plan))
			fail_msg("%s: %s", LISTS[i].name, wrong(i, plan));
		print_message(
		    "%-26s %8.0f rows\n", LISTS[i].name, rows_read(plan));
		/* What was read is counted: every second one. */
		if (rows_read(plan) > 1.5 * ARTICLES)
			fail_msg("%s: %s", LISTS[i].name, plan);
	}
	PQfinish(c);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sqlite),
	    cmocka_unit_test(test_sqlite_filled),
	    cmocka_unit_test(test_postgres),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
