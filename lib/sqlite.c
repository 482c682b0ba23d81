#include <stdlib.h>
#include <string.h>

#include "hikyaku_sqlite.h"
#include "lib_sql.h"

/* The adapter of SQLite: of libhikyaku it uses what is public alone. */

enum { BEGIN, COMMIT, ROLLBACK, JUDGE, VERDICT, ONCE, PRUNE, EFFECTS, N_SQL };

static const char *const SQL[N_SQL] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [JUDGE] = "INSERT INTO hikyaku_apply VALUES (?, ?, ?, ?, ?, ?)",
    [VERDICT] = "SELECT verdict FROM hikyaku_verdict",
    [ONCE] = "INSERT INTO processed_effects (tenant_id, effect_key) "
	     "VALUES (?, ?) ON CONFLICT DO NOTHING",
    [PRUNE] = "DELETE FROM processed_events WHERE (tenant_id, event_id) IN ("
	      "SELECT tenant_id, event_id FROM processed_events "
	      "WHERE processed_at < strftime('%s', 'now') - ? LIMIT ?)",
    [EFFECTS] =
	"DELETE FROM processed_effects WHERE (tenant_id, effect_key) IN ("
	"SELECT tenant_id, effect_key FROM processed_effects "
	"WHERE processed_at < strftime('%s', 'now') - ? LIMIT ?)",
};

struct lite {
	struct hk_db db; /* first: whoever has it has the whole */
	sqlite3_stmt *st[N_SQL];
};

static struct lite *
lite_of(struct hk_db *db)
{
	return (struct lite *)(void *)db;
}

static int
fail(sqlite3 *conn, const char *what, struct hk_error *e)
{
	return hk_fail(e, HK_DB, "%s: %s", what, sqlite3_errmsg(conn));
}

/* Ready to be bound; NULL with *e. */
static sqlite3_stmt *
statement(struct hk_db *db, int which, struct hk_error *e)
{
	sqlite3_stmt **st = &lite_of(db)->st[which];

	if (!*st && sqlite3_prepare_v3(db->conn, SQL[which], -1,
			SQLITE_PREPARE_PERSISTENT, st, NULL) != SQLITE_OK) {
		(void)fail(db->conn, SQL[which], e);
		return NULL;
	}
	return *st;
}

static int
run(struct hk_db *db, int which, struct hk_error *e)
{
	sqlite3_stmt *st = statement(db, which, e);
	int rc, done;

	if (!st)
		return HK_DB;
	done = sqlite3_step(st);
	rc = done == SQLITE_DONE ? HK_OK : fail(db->conn, SQL[which], e);
	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
	return rc;
}

static int
lite_begin(struct hk_db *db, struct hk_error *e)
{
	return run(db, BEGIN, e);
}

static int
lite_commit(struct hk_db *db, struct hk_error *e)
{
	return run(db, COMMIT, e);
}

static void
lite_rollback(struct hk_db *db)
{
	/* Some errors have rolled back already. */
	if (!sqlite3_get_autocommit(db->conn))
		(void)run(db, ROLLBACK, NULL);
}

static int
read_verdict(struct hk_db *db, enum hk_verdict *ret, struct hk_error *e)
{
	sqlite3_stmt *st = statement(db, VERDICT, e);
	const unsigned char *word;
	int rc = HK_OK;

	if (!st)
		return HK_DB;
	if (sqlite3_step(st) != SQLITE_ROW ||
	    !(word = sqlite3_column_text(st, 0)))
		rc = fail(db->conn, SQL[VERDICT], e);
	else
		*ret = word[0] == 'a'   ? HK_APPLY
		       : word[1] == 'e' ? HK_SEEN
					: HK_STALE;
	(void)sqlite3_reset(st);
	return rc;
}

static int
bind(sqlite3_stmt *st, int at, const char *text)
{
	return sqlite3_bind_text(st, at, text, -1, SQLITE_TRANSIENT);
}

static int
lite_judge(struct hk_db *db, const struct hk_event *ev, enum hk_verdict *ret,
    struct hk_error *e)
{
	sqlite3_stmt *st = statement(db, JUDGE, e);
	int rc;

	if (!st)
		return HK_DB;
	rc = bind(st, 1, ev->tenant_id) | bind(st, 2, ev->event_id) |
	     bind(st, 3, ev->object_name) | bind(st, 4, ev->record_id) |
	     sqlite3_bind_int(st, 6, ev->deleted != 0);
	if (ev->record_version)
		rc |= sqlite3_bind_int64(st, 5, ev->record_version_us);
	if (rc != SQLITE_OK)
		return fail(db->conn, SQL[JUDGE], e);
	rc = run(db, JUDGE, e);
	return rc < 0 ? rc : read_verdict(db, ret, e);
}

int
hk_sqlite_setup(sqlite3 *conn, struct hk_error *e)
{
	int rc = HK_OK;

	if (sqlite3_exec(conn, "BEGIN IMMEDIATE", NULL, NULL, NULL) !=
	    SQLITE_OK)
		return fail(conn, "BEGIN", e);
	if (sqlite3_exec(conn, LIB_SQL_SQLITE, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(conn, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
		rc = fail(conn, "the tables of sqlite.sql", e);
		if (!sqlite3_get_autocommit(conn))
			(void)sqlite3_exec(conn, "ROLLBACK", NULL, NULL, NULL);
	}
	return rc;
}

int
hk_sqlite_open(sqlite3 *conn, struct hk_db **ret, struct hk_error *e)
{
	struct lite *l = calloc(1, sizeof(*l));

	if (!l)
		return hk_fail(e, HK_NOMEM, "no memory");
	l->db = (struct hk_db){
	    conn, lite_begin, lite_judge, lite_commit, lite_rollback};
	*ret = &l->db;
	return HK_OK;
}

void
hk_sqlite_close(struct hk_db *db)
{
	for (int i = 0; db && i < N_SQL; i++)
		(void)sqlite3_finalize(lite_of(db)->st[i]);
	free(db ? lite_of(db) : NULL);
}

int
hk_sqlite_once(struct hk_db *db, const char *tenant_id, const char *key,
    int *ret_first, struct hk_error *e)
{
	sqlite3_stmt *st = statement(db, ONCE, e);
	char id[HK_ID_LEN + 1];
	int rc;

	if (!st)
		return HK_DB;
	rc = hk_tenant_id(tenant_id, id, e);
	if (rc < 0)
		return rc;
	if (bind(st, 1, id) | bind(st, 2, key))
		return fail(db->conn, SQL[ONCE], e);
	rc = run(db, ONCE, e);
	if (rc == HK_OK)
		*ret_first = sqlite3_changes(db->conn) > 0;
	return rc;
}

int
hk_sqlite_prune(
    struct hk_db *db, int64_t age_s, int most, int64_t *ret, struct hk_error *e)
{
	int64_t went = 0;

	for (int which = PRUNE; which <= EFFECTS; which++) {
		sqlite3_stmt *st = statement(db, which, e);
		int rc;

		if (!st)
			return HK_DB;
		if (sqlite3_bind_int64(st, 1, age_s) |
		    sqlite3_bind_int(st, 2, most))
			return fail(db->conn, SQL[which], e);
		rc = run(db, which, e);
		if (rc < 0)
			return rc;
		went += sqlite3_changes(db->conn);
	}
	*ret = went;
	return HK_OK;
}
