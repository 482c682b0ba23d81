#include <hikyaku_sqlite.h>
#include <stdio.h>

#include "counter.h"

static const char TABLES[] =
    "CREATE TABLE IF NOT EXISTS counted ("
    " event_id TEXT PRIMARY KEY, times INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS record ("
    " name TEXT PRIMARY KEY, version TEXT, deleted INTEGER NOT NULL,"
    " payload TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS history ("
    " id INTEGER PRIMARY KEY, name TEXT NOT NULL, version_us INTEGER);";

struct hk_db *
counter_open(const char *where)
{
	struct hk_error e = {0};
	struct hk_db *db = NULL;
	sqlite3 *conn = NULL;

	if (sqlite3_open(where, &conn) != SQLITE_OK ||
	    sqlite3_busy_timeout(conn, 10000) != SQLITE_OK ||
	    sqlite3_exec(conn, "PRAGMA journal_mode = WAL", NULL, NULL, NULL) !=
		SQLITE_OK ||
	    sqlite3_exec(conn, TABLES, NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", where, sqlite3_errmsg(conn));
	} else if (hk_sqlite_setup(conn, &e) == HK_OK &&
		   hk_sqlite_open(conn, &db, &e) == HK_OK) {
		return db;
	} else {
		fprintf(stderr, "%s: %s\n", where, e.text);
	}
	sqlite3_close(conn);
	return NULL;
}

/* One statement of the open transaction; its arguments are texts. */
static int
run(sqlite3 *conn, const char *sql, const char *name, const char *version,
    const struct hk_event *ev, struct hk_error *e)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(conn, sql, -1, &st, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 2, version, -1, SQLITE_STATIC);
		sqlite3_bind_int64(st, 3, ev->record_version_us);
		sqlite3_bind_int(st, 4, ev->deleted);
		sqlite3_bind_text(
		    st, 5, ev->payload, (int)ev->payload_n, SQLITE_STATIC);
		rc = sqlite3_step(st);
	}
	sqlite3_finalize(st);
	if (rc == SQLITE_DONE)
		return HK_OK;
	return hk_fail(e, HK_RETRY, "%s", sqlite3_errmsg(conn));
}

int
counter_apply(
    void *ctx, struct hk_db *db, const struct hk_event *ev, struct hk_error *e)
{
	sqlite3 *conn = db->conn;
	char name[700];
	int rc;

	(void)ctx;
	snprintf(name, sizeof(name), "%s:%s", ev->object_name, ev->record_id);
	rc = run(conn,
	    "INSERT INTO counted (event_id, times) VALUES (?1, 1)"
	    " ON CONFLICT (event_id) DO UPDATE SET times = times + 1",
	    ev->event_id, NULL, ev, e);
	if (rc == HK_OK)
		rc = run(conn,
		    "INSERT INTO record (name, version, deleted, payload)"
		    " VALUES (?1, ?2, ?4, ?5) ON CONFLICT (name) DO UPDATE"
		    " SET version = ?2, deleted = ?4, payload = ?5",
		    name, ev->record_version, ev, e);
	if (rc == HK_OK && ev->record_version)
		rc = run(conn,
		    "INSERT INTO history (name, version_us) VALUES (?1, ?3)",
		    name, NULL, ev, e);
	return rc;
}

void
counter_close(struct hk_db *db)
{
	sqlite3 *conn = db ? db->conn : NULL;

	hk_sqlite_close(db);
	sqlite3_close(conn);
}
