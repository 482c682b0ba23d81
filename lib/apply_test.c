#include "base/base.h"
#include "base/test.h"
#include "hikyaku_pq.h"
#include "hikyaku_sqlite.h"

/*
 * One table of what comes and what is to be made of it, for both adapters and
 * for the plain SQL of both databases.
 */

#define TENANT "11111111-1111-4111-8111-111111111111"
#define OTHER  "22222222-2222-4222-8222-222222222222"

struct row {
	int story; /* rows of one run in turn, on a new record */
	const char *tenant;
	const char *object;
	int id;              /* of the event; the same: the same event */
	const char *version; /* NULL: none */
	bool deleted;
	enum hk_verdict want;
};

static const struct row ROWS[] = {
    /* A repeat is seen, also when it is stale by now. */
    {1, TENANT, "A", 1, "2026-01-10T12:00:00.000Z", false, HK_APPLY},
    {1, TENANT, "A", 1, "2026-01-10T12:00:00.000Z", false, HK_SEEN},
    {1, TENANT, "A", 2, "2026-01-10T12:00:01.000Z", false, HK_APPLY},
    {1, TENANT, "A", 1, "2026-01-10T12:00:00.000Z", false, HK_SEEN},
    /* Older is strictly older: one save has several events. */
    {2, TENANT, "A", 1, "2026-01-10T12:00:00.500Z", false, HK_APPLY},
    {2, TENANT, "A", 2, "2026-01-10T12:00:00.500Z", false, HK_APPLY},
    {2, TENANT, "A", 3, "2026-01-10T12:00:00.499Z", false, HK_STALE},
    {2, TENANT, "A", 3, "2026-01-10T12:00:00.499Z", false, HK_SEEN},
    {2, TENANT, "A", 4, "2026-01-10T12:00:00.501Z", false, HK_APPLY},
    {2, TENANT, "A", 5, "2026-01-10T12:00:00.500Z", false, HK_STALE},
    /* Instants, not texts. */
    {3, TENANT, "A", 1, "2026-01-10T12:00:00Z", false, HK_APPLY},
    {3, TENANT, "A", 2, "2026-01-10T12:30:00+01:00", false, HK_STALE},
    {3, TENANT, "A", 3, "2026-01-10T13:00:00+01:00", false, HK_APPLY},
    {3, TENANT, "A", 4, "2026-01-10T11:30:00.25-01:00", false, HK_APPLY},
    {3, TENANT, "A", 5, "2026-01-10T12:30:00.2Z", false, HK_STALE},
    {3, TENANT, "A", 6, "2026-01-10T12:30:00.250001Z", false, HK_APPLY},
    {3, TENANT, "A", 7, "2026-01-10T12:30:00.2500Z", false, HK_STALE},
    {3, TENANT, "A", 8, "2026-01-10T12:30:00.999999Z", false, HK_APPLY},
    {3, TENANT, "A", 9, "2026-01-10T12:30:00.999998Z", false, HK_STALE},
    {3, TENANT, "A", 10, "2026-01-10T12:30:01Z", false, HK_APPLY},
    /* A tombstone stays; what is newer brings the record back. */
    {4, TENANT, "A", 1, "2026-01-10T12:00:00Z", false, HK_APPLY},
    {4, TENANT, "A", 2, "2026-01-10T12:00:02Z", true, HK_APPLY},
    {4, TENANT, "A", 3, "2026-01-10T12:00:01Z", false, HK_STALE},
    {4, TENANT, "A", 4, "2026-01-10T12:00:02Z", false, HK_APPLY},
    {4, TENANT, "A", 5, "2026-01-10T12:00:02Z", true, HK_APPLY},
    {4, TENANT, "A", 6, "2026-01-10T12:00:01Z", true, HK_STALE},
    {4, TENANT, "A", 7, "2026-01-10T12:00:03Z", false, HK_APPLY},
    {4, TENANT, "A", 8, "2026-01-10T12:00:03Z", false, HK_APPLY},
    /* The delete comes first. */
    {5, TENANT, "A", 1, "2026-01-10T12:00:02Z", true, HK_APPLY},
    {5, TENANT, "A", 2, "2026-01-10T12:00:00Z", false, HK_STALE},
    {5, TENANT, "A", 3, "2026-01-10T12:00:01Z", false, HK_STALE},
    /* Another object or tenant with the same record is another one. */
    {6, TENANT, "A", 1, "2026-01-10T12:00:02Z", false, HK_APPLY},
    {6, TENANT, "B", 2, "2026-01-10T12:00:01Z", false, HK_APPLY},
    {6, OTHER, "A", 3, "2026-01-10T12:00:01Z", false, HK_APPLY},
    {6, OTHER, "A", 1, "2026-01-10T12:00:01Z", false, HK_APPLY},
    {6, TENANT, "A", 4, "2026-01-10T12:00:01Z", false, HK_STALE},
    /* Without a version nothing is stale, and nothing is remembered. */
    {7, TENANT, "A", 1, NULL, false, HK_APPLY},
    {7, TENANT, "A", 1, NULL, false, HK_SEEN},
    {7, TENANT, "A", 2, "2026-01-10T12:00:01Z", false, HK_APPLY},
    {7, TENANT, "A", 3, NULL, false, HK_APPLY},
    {7, TENANT, "A", 4, "2026-01-10T12:00:00Z", false, HK_STALE},
};

struct dbs {
	sqlite3 *lite;
	PGconn *pg; /* NULL: there is none to test with */
	struct hk_db *lite_db, *pg_db;
};

static void
lite_run(sqlite3 *conn, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(conn, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
}

static int
lite_count(sqlite3 *conn, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int n;

	assert_int_equal(
	    sqlite3_prepare_v2(conn, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int(st, 0);
	(void)sqlite3_finalize(st);
	return n;
}

static char *
pg_run(PGconn *conn, const char *sql)
{
	static char first[64];
	PGresult *r = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(r);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(conn));
	(void)snprintf(first, sizeof(first), "%s",
	    PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");
	PQclear(r);
	return first;
}

static int
set_up(void **state)
{
	struct dbs *d = calloc(1, sizeof(*d));
	const char *url = getenv("HK_TEST_PG");
	struct hk_error e;

	assert_non_null(d);
	assert_int_equal(sqlite3_open(":memory:", &d->lite), SQLITE_OK);
	/* Twice: it may be there already. */
	for (int i = 0; i < 2; i++)
		if (hk_sqlite_setup(d->lite, &e) != HK_OK)
			fail_msg("%s", e.text);
	assert_int_equal(hk_sqlite_open(d->lite, &d->lite_db, &e), HK_OK);
	*state = d;
	if (!url)
		return 0;
	d->pg = PQconnectdb(url);
	if (PQstatus(d->pg) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(d->pg));
	(void)pg_run(d->pg, "SET client_min_messages = warning;"
			    "DROP SCHEMA IF EXISTS lib_test CASCADE");
	(void)pg_run(d->pg, "CREATE SCHEMA lib_test");
	(void)pg_run(d->pg, "SET search_path = lib_test, pg_temp");
	for (int i = 0; i < 2; i++)
		if (hk_pq_setup(d->pg, &e) != HK_OK)
			fail_msg("%s", e.text);
	assert_int_equal(hk_pq_open(d->pg, &d->pg_db, &e), HK_OK);
	return 0;
}

static int
tear_down(void **state)
{
	struct dbs *d = *state;

	hk_sqlite_close(d->lite_db);
	assert_int_equal(sqlite3_close(d->lite), SQLITE_OK);
	if (d->pg)
		(void)pg_run(d->pg, "DROP SCHEMA lib_test CASCADE");
	hk_pq_close(d->pg_db);
	PQfinish(d->pg);
	free(d);
	return 0;
}

/* The ids of a way of running the table, so that ways don't meet. */
static void
ids(const struct row *r, int way, char event[64], char record[64])
{
	(void)snprintf(event, 64, "aaaaaaaa-0000-4000-8%03d-%04d%08d", way,
	    r->story, r->id);
	(void)snprintf(record, 64, "record-%d-%d", way, r->story);
}

static void
wrong(size_t i, enum hk_verdict got)
{
	fail_msg("row %zu: %d, not %d", i, (int)got, (int)ROWS[i].want);
}

/* A handler that leaves a trace in the transaction. */
static int
leave_trace(
    void *ctx, struct hk_db *db, const struct hk_event *, struct hk_error *)
{
	int *left = ctx;

	++*left;
	if (db->begin == NULL)
		return HK_DEAD;
	return HK_OK;
}

/* Through JSON, as an event comes, and an adapter. */
static void
run_adapter(struct hk_db *db, int way)
{
	int applied = 0, want = 0;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		const struct row *r = &ROWS[i];
		enum hk_verdict got = HK_SEEN;
		char event[64], record[64], version[64] = "null", json[1024];
		struct hk_event *ev;
		struct hk_error e;

		ids(r, way, event, record);
		if (r->version)
			(void)snprintf(
			    version, sizeof(version), "\"%s\"", r->version);
		(void)snprintf(json, sizeof(json),
		    "{\"eventId\":\"%s\",\"eventType\":\"%s\",\"tenantId\":\"%s\","
		    "\"sequence\":{\"partitionKey\":\"%s:%s:%s\","
		    "\"recordVersion\":%s},\"payload\":{}}",
		    event, r->deleted ? "RecordDeleted" : "RecordUpdated",
		    r->tenant, r->object, r->tenant, record, version);
		if (hk_event_read(json, strlen(json), &ev, &e) != HK_OK)
			fail_msg("%s", e.text);
		if (hk_apply(db, ev, leave_trace, &applied, &got, &e) != HK_OK)
			fail_msg("row %zu: %s", i, e.text);
		want += r->want == HK_APPLY;
		if (got != r->want || applied != want)
			wrong(i, got);
		hk_event_free(ev);
	}
}

static void
test_sqlite(void **state)
{
	struct dbs *d = *state;

	run_adapter(d->lite_db, 1);
}

static void
test_pq(void **state)
{
	struct dbs *d = *state;

	if (!d->pg)
		skip();
	run_adapter(d->pg_db, 2);
}

static enum hk_verdict
verdict(const char *word)
{
	return strcmp(word, "apply") == 0  ? HK_APPLY
	       : strcmp(word, "seen") == 0 ? HK_SEEN
					   : HK_STALE;
}

/* As a program without the library would: statements in a shell. */
static void
test_sqlite_plain(void **state)
{
	struct dbs *d = *state;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		const struct row *r = &ROWS[i];
		char event[64], record[64], version[64] = "NULL", sql[1024];
		sqlite3_stmt *st;
		enum hk_verdict got;

		ids(r, 3, event, record);
		if (r->version)
			(void)snprintf(
			    version, sizeof(version), "'%s'", r->version);
		(void)snprintf(sql, sizeof(sql),
		    "BEGIN IMMEDIATE; INSERT INTO hikyaku_apply VALUES "
		    "('%s', '%s', '%s', '%s', %s, %d)",
		    r->tenant, event, r->object, record, version, r->deleted);
		lite_run(d->lite, sql);
		assert_int_equal(
		    sqlite3_prepare_v2(d->lite,
			"SELECT verdict FROM hikyaku_verdict", -1, &st, NULL),
		    SQLITE_OK);
		assert_int_equal(sqlite3_step(st), SQLITE_ROW);
		got = verdict((const char *)sqlite3_column_text(st, 0));
		(void)sqlite3_finalize(st);
		lite_run(d->lite, "COMMIT");
		if (got != r->want)
			wrong(i, got);
	}
	/* What is no time is an error, not a version. */
	assert_int_not_equal(
	    sqlite3_exec(d->lite,
		"INSERT INTO hikyaku_apply VALUES ('t', 'e', 'o', 'r', "
		"'yesterday', 0)",
		NULL, NULL, NULL),
	    SQLITE_OK);
}

static void
test_postgres_plain(void **state)
{
	struct dbs *d = *state;

	if (!d->pg)
		skip();
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		const struct row *r = &ROWS[i];
		char event[64], record[64], version[64] = "NULL", sql[1024];
		bool apply;

		ids(r, 4, event, record);
		if (r->version)
			(void)snprintf(
			    version, sizeof(version), "'%s'", r->version);
		(void)snprintf(sql, sizeof(sql),
		    "SELECT hikyaku_apply('%s', '%s', '%s', '%s', %s, %s)",
		    r->tenant, event, r->object, record, version,
		    r->deleted ? "true" : "false");
		apply = pg_run(d->pg, sql)[0] == 't';
		if (apply != (r->want == HK_APPLY))
			wrong(i, apply ? HK_APPLY : HK_SEEN);
	}
}

/* A handler that fails takes everything back, so that it can come again. */
static int
fail_once(
    void *ctx, struct hk_db *db, const struct hk_event *, struct hk_error *e)
{
	int *calls = ctx;

	if (++*calls == 1)
		return hk_fail(e, HK_DEAD, "no use");
	if (*calls == 2)
		return hk_fail(e, 17, "what is 17?");
	return db ? HK_OK : HK_DEAD;
}

static void
run_failures(struct hk_db *db, const char *id)
{
	static const int want[] = {HK_DEAD, HK_RETRY, HK_OK, HK_OK};
	enum hk_verdict got = HK_STALE;
	struct hk_event *ev;
	struct hk_error e;
	int calls = 0;
	char json[512];

	(void)snprintf(json, sizeof(json),
	    "{\"eventId\":\"%s\",\"tenantId\":\"" TENANT
	    "\",\"sequence\":{\"partitionKey\":\"k\",\"recordVersion\":"
	    "\"2026-01-10T12:00:00Z\"},\"payload\":{}}",
	    id);
	assert_int_equal(hk_event_read(json, strlen(json), &ev, &e), HK_OK);
	for (size_t i = 0; i < COUNT_OF(want); i++) {
		assert_int_equal(
		    hk_apply(db, ev, fail_once, &calls, &got, &e), want[i]);
		assert_int_equal(e.code, want[i]);
		assert_int_equal(got, i < 2    ? HK_STALE
				      : i == 2 ? HK_APPLY
					       : HK_SEEN);
	}
	assert_int_equal(calls, 3);
	hk_event_free(ev);
}

static void
test_failures(void **state)
{
	struct dbs *d = *state;

	run_failures(d->lite_db, "bbbbbbbb-0000-4000-8000-000000000001");
	if (d->pg)
		run_failures(d->pg_db, "bbbbbbbb-0000-4000-8000-000000000002");
}

/* A statement that failed makes PostgreSQL's COMMIT a rollback. */
static int
break_transaction(
    void *, struct hk_db *db, const struct hk_event *, struct hk_error *)
{
	PQclear(PQexec(db->conn, "SELECT 1 / 0"));
	return HK_OK;
}

static void
test_silent_rollback(void **state)
{
	struct dbs *d = *state;
	enum hk_verdict got;
	struct hk_event *ev;
	struct hk_error e;
	static const char json[] =
	    "{\"eventId\":\"bbbbbbbb-0000-4000-8000-000000000003\","
	    "\"tenantId\":\"" TENANT "\",\"payload\":{}}";
	int left = 0;

	if (!d->pg)
		skip();
	assert_int_equal(hk_event_read(json, strlen(json), &ev, &e), HK_OK);
	assert_int_equal(
	    hk_apply(d->pg_db, ev, break_transaction, NULL, &got, &e), HK_DB);
	assert_int_equal(
	    hk_apply(d->pg_db, ev, leave_trace, &left, &got, &e), HK_OK);
	assert_int_equal(got, HK_APPLY);
	hk_event_free(ev);
}

static void
test_once_and_prune(void **state)
{
	struct dbs *d = *state;
	struct hk_error e;
	int64_t went = -1;
	int first;

	for (int i = 0; i < 3; i++) {
		const char *key = i < 2 ? "e1/mail" : "e1/page";

		first = -1;
		assert_int_equal(
		    hk_sqlite_once(d->lite_db, TENANT, key, &first, &e), HK_OK);
		assert_int_equal(first, i != 1);
		if (!d->pg)
			continue;
		first = -1;
		assert_int_equal(
		    hk_pq_once(d->pg_db, TENANT, key, &first, &e), HK_OK);
		assert_int_equal(first, i != 1);
	}
	lite_run(d->lite, "UPDATE processed_events SET processed_at = 0");
	lite_run(d->lite, "INSERT INTO processed_events (tenant_id, event_id) "
			  "VALUES ('t', 'new')");
	/* In steps, the new one and the versions stay. */
	assert_int_equal(hk_sqlite_prune(d->lite_db, 60, 5, &went, &e), HK_OK);
	assert_int_equal(went, 5);
	while (went > 0)
		assert_int_equal(
		    hk_sqlite_prune(d->lite_db, 60, 100, &went, &e), HK_OK);
	assert_int_equal(
	    lite_count(d->lite, "SELECT count(*) FROM processed_events"), 1);
	assert_true(lite_count(d->lite,
			"SELECT count(*) FROM last_applied_version") > 5);
	if (!d->pg)
		return;
	(void)pg_run(
	    d->pg, "UPDATE processed_events SET processed_at = 'epoch'");
	assert_int_equal(hk_pq_prune(d->pg_db, 60, 5, &went, &e), HK_OK);
	assert_int_equal(went, 5);
	while (went > 0)
		assert_int_equal(
		    hk_pq_prune(d->pg_db, 60, 1000, &went, &e), HK_OK);
	assert_string_equal(
	    pg_run(d->pg, "SELECT count(*) FROM processed_events"), "0");
	assert_string_equal(
	    pg_run(d->pg, "SELECT count(*) > 5 FROM last_applied_version"),
	    "t");
}

static void
test_event_read(void **)
{
	static const struct {
		const char *key, *payload, *object, *record;
		int deleted;
	} rows[] = {
	    {"Account:" TENANT ":r1", "{}", "Account", "r1", 0},
	    {"Campaign:" TENANT ":c/m:x", "{}", "Campaign", "c/m:x", 0},
	    {"Account:" OTHER ":r1", "{}", "Account:" OTHER ":r1", "", 0},
	    {"Account:" OTHER ":r1",
		"{\"objectName\":\"Lead\",\"recordId\":\"r2\"}", "Lead", "r2",
		0},
	    {"k", "{\"deleted\":true}", "k", "", 1},
	    {"k", "{\"deleted\":\"true\"}", "k", "", 0},
	};
	static const char *const bad[] = {"{}", "[]", "x",
	    "{\"eventId\":\"x\",\"tenantId\":\"" TENANT "\",\"payload\":{}}",
	    "{\"eventId\":\"" TENANT "\",\"payload\":{}}",
	    "{\"eventId\":\"" TENANT "\",\"tenantId\":\"" TENANT "\"}",
	    "{\"eventId\":\"" TENANT "\",\"tenantId\":\"" TENANT
	    "\",\"payload\":{},\"sequence\":{\"recordVersion\":\"soon\"}}"};
	char json[1024];
	struct hk_event *ev;
	struct hk_error e;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		(void)snprintf(json, sizeof(json),
		    "{\"eventId\":\"AAAAAAAA-0000-4000-8000-000000000001\","
		    "\"tenantId\":\"" TENANT
		    "\",\"sequence\":{\"partitionKey\":\"%s\","
		    "\"recordVersion\":null},\"payload\":%s}",
		    rows[i].key, rows[i].payload);
		assert_int_equal(
		    hk_event_read(json, strlen(json), &ev, &e), HK_OK);
		assert_string_equal(ev->object_name, rows[i].object);
		assert_string_equal(ev->record_id, rows[i].record);
		assert_string_equal(
		    ev->event_id, "aaaaaaaa-0000-4000-8000-000000000001");
		assert_null(ev->record_version);
		assert_int_equal(ev->deleted, rows[i].deleted);
		hk_event_free(ev);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(
		    hk_event_read(bad[i], strlen(bad[i]), &ev, &e), HK_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sqlite),
	    cmocka_unit_test(test_sqlite_plain),
	    cmocka_unit_test(test_pq),
	    cmocka_unit_test(test_postgres_plain),
	    cmocka_unit_test(test_failures),
	    cmocka_unit_test(test_silent_rollback),
	    cmocka_unit_test(test_once_and_prune),
	    cmocka_unit_test(test_event_read),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
