#include <hikyaku_pq.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "counter.h"

static const char TABLES[] =
    "SET client_min_messages = warning;"
    "CREATE TABLE IF NOT EXISTS counted ("
    " event_id uuid PRIMARY KEY, times integer NOT NULL);"
    "CREATE TABLE IF NOT EXISTS record ("
    " name text PRIMARY KEY, version text, deleted boolean NOT NULL,"
    " payload text NOT NULL);"
    "CREATE TABLE IF NOT EXISTS history ("
    " id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
    " name text NOT NULL, version_us bigint);";

struct hk_db *
counter_open(const char *where)
{
	PGconn *conn = PQconnectdb(where);
	struct hk_error e = {0};
	struct hk_db *db = NULL;
	PGresult *r = PQexec(conn, TABLES);
	int ok = PQresultStatus(r) == PGRES_COMMAND_OK;

	PQclear(r);
	if (!ok)
		fprintf(stderr, "%s", PQerrorMessage(conn));
	else if (hk_pq_setup(conn, &e) == HK_OK &&
		 hk_pq_open(conn, &db, &e) == HK_OK)
		return db;
	else
		fprintf(stderr, "%s\n", e.text);
	PQfinish(conn);
	return NULL;
}

static int
run(PGconn *conn, const char *sql, int n, const char *const *args,
    struct hk_error *e)
{
	PGresult *r = PQexecParams(conn, sql, n, NULL, args, NULL, NULL, 0);
	int ok = PQresultStatus(r) == PGRES_COMMAND_OK;

	PQclear(r);
	return ok ? HK_OK : hk_fail(e, HK_RETRY, "%s", PQerrorMessage(conn));
}

int
counter_apply(
    void *ctx, struct hk_db *db, const struct hk_event *ev, struct hk_error *e)
{
	PGconn *conn = db->conn;
	char name[700], us[24];
	char *payload = malloc(ev->payload_n + 1);
	const char *args[] = {
	    name, ev->record_version, ev->deleted ? "true" : "false", payload};
	const char *seen[] = {name, us};
	int rc;

	(void)ctx;
	if (!payload)
		return hk_fail(e, HK_RETRY, "no memory");
	snprintf(payload, ev->payload_n + 1, "%.*s", (int)ev->payload_n,
	    ev->payload);
	snprintf(name, sizeof(name), "%s:%s", ev->object_name, ev->record_id);
	snprintf(us, sizeof(us), "%" PRId64, ev->record_version_us);
	rc = run(conn,
	    "INSERT INTO counted VALUES ($1::uuid, 1) ON CONFLICT (event_id)"
	    " DO UPDATE SET times = counted.times + 1",
	    1, &ev->event_id, e);
	if (rc == HK_OK)
		rc = run(conn,
		    "INSERT INTO record VALUES ($1, $2, $3::boolean, $4)"
		    " ON CONFLICT (name) DO UPDATE SET version = $2,"
		    " deleted = $3::boolean, payload = $4",
		    4, args, e);
	if (rc == HK_OK && ev->record_version)
		rc = run(conn,
		    "INSERT INTO history (name, version_us)"
		    " VALUES ($1, $2::bigint)",
		    2, seen, e);
	free(payload);
	return rc;
}

void
counter_close(struct hk_db *db)
{
	PGconn *conn = db ? db->conn : NULL;

	hk_pq_close(db);
	PQfinish(conn);
}
