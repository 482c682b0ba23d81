/*
 * hikyaku_sqlite.h - hk_consume() over a SQLite database of your own.
 *
 * Link with -lhikyaku-sqlite -lhikyaku -lsqlite3. The connection is yours: the
 * adapter opens none and closes none, and your handler uses it inside the
 * transaction that is open. Each event is one BEGIN IMMEDIATE … COMMIT.
 *
 * The tables are those of sqlite.sql; hk_sqlite_setup() makes them.
 */
#ifndef HIKYAKU_SQLITE_H
#define HIKYAKU_SQLITE_H

#include <hikyaku.h>
#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the tables, unless they are there. In a transaction of its own. */
HK_API int hk_sqlite_setup(sqlite3 *conn, struct hk_error *e) HK_CHECK;
/* ret->conn is the connection. One adapter may serve one thread. */
HK_API int hk_sqlite_open(
    sqlite3 *conn, struct hk_db **ret, struct hk_error *e) HK_CHECK;
HK_API void hk_sqlite_close(struct hk_db *db); /* not the connection */
/*
 * Inside a handler: is this the first time for this key? (event id, action),
 * (version, cause).
 */
HK_API int hk_sqlite_once(struct hk_db *db, const char *tenant_id,
    const char *key, int *ret_first, struct hk_error *e) HK_CHECK;
/* Forgets up to `most` ids older than age_s; *ret is how many went. */
HK_API int hk_sqlite_prune(struct hk_db *db, int64_t age_s, int most,
    int64_t *ret, struct hk_error *e) HK_CHECK;

#ifdef __cplusplus
}
#endif

#endif
