#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hikyaku_pq.h"
#include "lib_sql.h"

/* The adapter of PostgreSQL: of libhikyaku it uses what is public alone. */

#define EPOCH "timestamptz 'epoch' + $5::bigint * interval '1 microsecond'"

static int
fail(PGconn *conn, const char *what, struct hk_error *e)
{
	const char *text = PQerrorMessage(conn);
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == '\n')
		n--;
	return hk_fail(e, HK_DB, "%s: %.*s", what, (int)n, text);
}

/* A statement with no rows to read. */
static int
run(PGconn *conn, const char *sql, struct hk_error *e)
{
	PGresult *r = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(r);
	int rc = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK
		     ? HK_OK
		     : fail(conn, "PostgreSQL", e);

	PQclear(r);
	return rc;
}

/* One with one value, copied. */
static int
ask(PGconn *conn, const char *sql, int n, const char *const *args, char *ret,
    size_t room, struct hk_error *e)
{
	PGresult *r = PQexecParams(conn, sql, n, NULL, args, NULL, NULL, 0);
	int rc = HK_OK;

	if (PQresultStatus(r) != PGRES_TUPLES_OK || PQntuples(r) != 1)
		rc = fail(conn, "PostgreSQL", e);
	else
		(void)snprintf(ret, room, "%s", PQgetvalue(r, 0, 0));
	PQclear(r);
	return rc;
}

/* A connection that was lost shows here, and is made anew. */
static int
pq_begin(struct hk_db *db, struct hk_error *e)
{
	if (PQstatus(db->conn) != CONNECTION_OK)
		PQreset(db->conn);
	return run(db->conn, "BEGIN", e);
}

/*
 * COMMIT of a transaction in which a statement failed is a ROLLBACK, and says
 * so by its tag alone.
 */
static int
pq_commit(struct hk_db *db, struct hk_error *e)
{
	PGresult *r = PQexec(db->conn, "COMMIT");
	int rc = HK_OK;

	if (PQresultStatus(r) != PGRES_COMMAND_OK)
		rc = fail(db->conn, "COMMIT", e);
	else if (strcmp(PQcmdStatus(r), "COMMIT") != 0)
		rc = hk_fail(
		    e, HK_DB, "a statement of the transaction had failed");
	PQclear(r);
	return rc;
}

static void
pq_rollback(struct hk_db *db)
{
	if (PQtransactionStatus(db->conn) != PQTRANS_IDLE)
		(void)run(db->conn, "ROLLBACK", NULL);
}

static int
pq_judge(struct hk_db *db, const struct hk_event *ev, enum hk_verdict *ret,
    struct hk_error *e)
{
	char us[24], word[16] = "";
	const char *const args[] = {ev->tenant_id, ev->event_id,
	    ev->object_name, ev->record_id, ev->record_version ? us : NULL,
	    ev->deleted ? "true" : "false"};
	int rc;

	(void)snprintf(us, sizeof(us), "%" PRId64, ev->record_version_us);
	rc = ask(db->conn,
	    "SELECT hikyaku_verdict($1::uuid, $2::uuid, $3, $4, " EPOCH
	    ", $6::boolean)",
	    6, args, word, sizeof(word), e);
	if (rc == HK_OK)
		*ret = word[0] == 'a'   ? HK_APPLY
		       : word[1] == 'e' ? HK_SEEN
					: HK_STALE;
	return rc;
}

int
hk_pq_setup(PGconn *conn, struct hk_error *e)
{
	/* Two that begin at once would both make the same table. */
	int rc = run(conn,
	    "BEGIN; SET LOCAL client_min_messages = warning;"
	    "SELECT pg_advisory_xact_lock(hashtext('hikyaku_setup'))",
	    e);

	if (rc == HK_OK)
		rc = run(conn, LIB_SQL_POSTGRES, e);
	if (rc == HK_OK)
		return run(conn, "COMMIT", e);
	(void)run(conn, "ROLLBACK", NULL);
	return rc;
}

int
hk_pq_open(PGconn *conn, struct hk_db **ret, struct hk_error *e)
{
	struct hk_db *db = calloc(1, sizeof(*db));

	if (!db)
		return hk_fail(e, HK_NOMEM, "no memory");
	*db = (struct hk_db){conn, pq_begin, pq_judge, pq_commit, pq_rollback};
	*ret = db;
	return HK_OK;
}

void
hk_pq_close(struct hk_db *db)
{
	free(db);
}

int
hk_pq_once(struct hk_db *db, const char *tenant_id, const char *key,
    int *ret_first, struct hk_error *e)
{
	char id[HK_ID_LEN + 1], word[8] = "";
	const char *const args[] = {id, key};
	int rc;

	rc = hk_tenant_id(tenant_id, id, e);
	if (rc < 0)
		return rc;
	rc = ask(db->conn, "SELECT hikyaku_once($1::uuid, $2)", 2, args, word,
	    sizeof(word), e);
	if (rc == HK_OK)
		*ret_first = word[0] == 't';
	return rc;
}

int
hk_pq_prune(
    struct hk_db *db, int64_t age_s, int most, int64_t *ret, struct hk_error *e)
{
	char age[24], limit[16], went[24] = "";
	const char *const args[] = {age, limit};
	int rc;

	(void)snprintf(age, sizeof(age), "%" PRId64, age_s);
	(void)snprintf(limit, sizeof(limit), "%d", most);
	rc = ask(db->conn,
	    "SELECT hikyaku_prune($1::bigint * interval '1 second', $2::int)",
	    2, args, went, sizeof(went), e);
	if (rc == HK_OK)
		*ret = strtoll(went, NULL, 10);
	return rc;
}
