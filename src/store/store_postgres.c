/*
 * store_postgres.c - the data in a PostgreSQL database.
 *
 * Arguments and results are binary; a result is read whole, so that rows of
 * several statements may be open at once (lists have a LIMIT). Statements are
 * prepared under their names at first use, and again on a new connection.
 *
 * LOST CONNECTIONS. Before a call is sent, a connection that was closed while
 * idle is seen and opened again: nothing is uncertain then. When it is lost
 * after that, it depends on what was on the way:
 *
 *   begin, or a read outside of a transaction    run again, once
 *   a statement inside of a transaction          ERR_AWAY, doomed; db_tx()
 *                                                runs all of it again
 *   a commit, or a statement that is one         ERR_UNCERTAIN
 *
 * An error that the server reports and lives on after is certain, also at a
 * commit. One by which it hangs up is not: it may come behind a commit that
 * waited for a standby.
 */
#include <endian.h>
#include <poll.h>

#include "base/log/log.h"
#include "sql.h"
#include "store/limits.h"
#include "store/pgconn.h"
#include "store/pgparam.h"
#include "store/store_driver.h"

struct pg_rows {
	struct rows base;
	PGresult *res; /* NULL: not open */
	int at;
};

struct pg_db {
	struct db base;
	struct pgconn conn;
	struct pgparam param;
	unsigned hears;                /* conn.times when it was asked to */
	unsigned prepared[STMT_COUNT]; /* conn.times when it was */
	struct pg_rows rows[STMT_COUNT];
};

/* What each state means to a caller; a class stands behind its members. */
static const struct {
	const char *state;
	enum err_code code;
	bool again;
} STATES[] = {
    {"23505", ERR_CONFLICT, false}, /* unique_violation */
    {"25006", ERR_AWAY, false},     /* a standby, or about to be one */
    {"25P03", ERR_AWAY, true},      /* we stood still in a transaction */
    {"40001", ERR_BUSY, true},      /* serialization_failure */
    {"40P01", ERR_BUSY, true},      /* deadlock_detected */
    {"55P03", ERR_BUSY, true},      /* lock_not_available */
    {"53100", ERR_FULL, false},     /* disk_full */
    {"57014", ERR_AWAY, false},     /* statement_timeout */
    {"57", ERR_AWAY, true},         /* shutdown, crash, starting up */
    {"53", ERR_AWAY, false},        /* too many connections, no memory */
    {"08", ERR_AWAY, true},         /* the connection */
};

static struct pg_db *
of(struct db *db)
{
	return (struct pg_db *)db;
}

/* There was no answer; e says why, here it is told what that means. */
static int
lost(struct pg_db *d, bool commits, struct err *e)
{
	struct err why = *e;

	d->base.up = false;
	d->base.again = !commits;
	return commits ? store_fail(e, ERR_UNCERTAIN,
			     "a commit's answer was lost: %s", why.text)
		       : ERR_AWAY;
}

static int
refused(struct pg_db *d, const PGresult *res, const char *doing, bool commits,
    struct err *e)
{
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY);
	enum err_code code = ERR_STORE;

	state = state ? state : "?????";
	d->base.up = d->conn.open;
	if (commits && !d->conn.open)
		return store_fail(e, ERR_UNCERTAIN,
		    "%s: a commit's answer was lost: %s (%s)", doing, text,
		    state);
	for (size_t i = 0; i < COUNT_OF(STATES); i++) {
		if (!str_starts(str_of(state), str_of(STATES[i].state)))
			continue;
		code = STATES[i].code;
		d->base.again = STATES[i].again;
		break;
	}
	return store_fail(
	    e, code, "%s: %s (%s)", doing, text ? text : "no reason", state);
}

/* Takes the answer to what was sent. *ret only when there is a good one. */
static int
store_postgres_take(struct pg_db *d, int sent, const char *doing, bool commits,
    int64_t wait_ms, PGresult **ret, struct err *e)
{
	PGresult *res CLEANUP(pgconn_clear) =
	    pgconn_answer(&d->conn, sent, wait_ms, e);

	if (!res)
		return lost(d, commits, e);
	if (PQresultStatus(res) == PGRES_FATAL_ERROR)
		return refused(d, res, doing, commits, e);
	d->base.up = true;
	*ret = res;
	res = NULL;
	return OK;
}

/* SQL without arguments and without an answer that matters. */
static int
say(struct pg_db *d, const char *sql, const char *doing, bool commits,
    int64_t wait_ms, struct err *e)
{
	PGresult *res CLEANUP(pgconn_clear) = NULL;

	TRY(store_postgres_take(
	    d, PQsendQuery(d->conn.pg, sql), doing, commits, wait_ms, &res, e));
	/* Of a transaction that had failed, the server says so this way. */
	if (commits && strcmp(PQcmdStatus(res), "COMMIT") != 0)
		return err_set(e, ERR_STORE, "%s: it was rolled back", doing);
	return OK;
}

static int
connected(struct pg_db *d, struct err *e)
{
	int rc = pgconn_ready(&d->conn, STORE_RECONNECT_MS, e);

	d->base.up = rc == OK;
	return rc;
}

/* For people: all but the password, and nothing that libpq would guess. */
static void
name_store(struct store *s, const PQconninfoOption *url)
{
	static const char *const KEYS[] = {"user", "host", "port", "dbname"};
	const char *v[] = {"", "", "", ""};

	for (; url->keyword; url++)
		for (size_t i = 0; url->val && i < COUNT_OF(KEYS); i++)
			if (strcmp(url->keyword, KEYS[i]) == 0)
				v[i] = url->val;
	(void)snprintf(s->name, sizeof(s->name),
	    "postgres %.100s%s%.100s%s%.10s/%.100s", v[0], *v[0] ? "@" : "",
	    v[1], *v[2] ? ":" : "", v[2], v[3]);
}

static int
pg_open(struct store *s, const struct store_opts *o, struct err *e)
{
	PQconninfoOption *url = PQconninfoParse(o->url, NULL);

	/* libpq's own words would show the url, and with it the password. */
	if (!url)
		return err_set(e, ERR_INVALID,
		    "the database url is not postgres://user:password@host:port/name");
	s->self = url;
	name_store(s, url);
	return OK;
}

static void
pg_close(struct store *s)
{
	PQconninfoFree(s->self);
}

static void
pg_db_close(struct db *db)
{
	pgconn_close(&of(db)->conn);
	pgparam_done(&of(db)->param);
	free(db);
}

static int
pg_db_open(struct store *s, enum db_use use, struct db **ret, struct err *e)
{
	struct pg_db *d = mem_get(sizeof(*d));
	struct err ignored;
	int rc;

	d->base = (struct db){.store = s, .use = use};
	rc = pgconn_init(&d->conn, s->self, use, e);
	if (rc < 0) {
		pg_db_close(&d->base);
		return rc;
	}
	d->base.up = pgconn_ready(&d->conn, d->conn.connect_ms, &ignored) == OK;
	*ret = &d->base;
	return OK;
}

/* A reader's transaction sees one moment, as SQLite's does. */
static int
pg_begin(struct db *db, struct err *e)
{
	const char *sql = db->use == DB_WRITE
			      ? "BEGIN"
			      : "BEGIN ISOLATION LEVEL REPEATABLE READ";

	for (int times = 0;; times++) {
		int rc;

		TRY(connected(of(db), e));
		rc = say(of(db), sql, "BEGIN", false, STORE_WAIT_MS, e);
		if (rc == OK || db->up || times > 0)
			return rc;
	}
}

static void
pg_rollback(struct db *db)
{
	struct err e;

	/* A lost connection has rolled back by itself. */
	if (of(db)->conn.open &&
	    say(of(db), "ROLLBACK", "ROLLBACK", false, STORE_WAIT_MS, &e) < 0)
		pgconn_close(&of(db)->conn);
}

static int
pg_begin_alone(struct db *db, struct err *e)
{
	int rc;

	TRY(pg_begin(db, e));
	rc = say(of(db),
	    "SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(4857300)",
	    "lock", false, STORE_MIGRATE_MS, e);
	if (rc < 0)
		pg_rollback(db);
	return rc;
}

static int
pg_commit(struct db *db, struct err *e)
{
	return say(of(db), "COMMIT", "COMMIT", true, STORE_WAIT_MS, e);
}

static int
pg_checkpoint(
    struct db *, enum checkpoint, int64_t *ret_wal_bytes, struct err *)
{
	*ret_wal_bytes = 0;
	return OK;
}

static int
pg_tell(struct db *db, struct err *e)
{
	TRY(connected(of(db), e));
	return say(of(db), "NOTIFY hikyaku", "NOTIFY", false, STORE_WAIT_MS, e);
}

/* Whether another than this connection told something. */
static bool
heard(struct pg_db *d)
{
	bool any = false;
	PGnotify *n;

	while ((n = PQnotifies(d->conn.pg))) {
		any = any || n->be_pid != PQbackendPID(d->conn.pg);
		PQfreemem(n);
	}
	return any;
}

static int
pg_hear(struct db *db, int fd, int64_t wait_ms, struct err *e)
{
	struct pg_db *d = of(db);
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = -1}};
	int rc = connected(d, e);

	if (rc == OK && d->hears != d->conn.times) {
		rc =
		    say(d, "LISTEN hikyaku", "LISTEN", false, STORE_WAIT_MS, e);
		if (rc == OK)
			d->hears = d->conn.times;
	}
	/* What came beside an answer is here already. */
	if (rc == OK && heard(d))
		return 1;
	if (rc == OK)
		p[1] = (struct pollfd){
		    .fd = PQsocket(d->conn.pg), .events = POLLIN};
	(void)poll(p, 2, wait_ms > 0 ? (int)wait_ms : 0);
	if (rc == OK && p[1].revents && PQconsumeInput(d->conn.pg) == 0)
		pgconn_close(&d->conn);
	return rc == OK && d->conn.open ? heard(d) : rc;
}

static int
pg_script(struct db *db, const char *sql, struct err *e)
{
	return say(of(db), sql, "migration", false, STORE_MIGRATE_MS, e);
}

static int
store_postgres_prepare(struct pg_db *d, int q, struct err *e)
{
	const struct stmt_info *s = &STMTS[q];
	Oid types[STORE_ARGS_MAX];
	PGresult *res CLEANUP(pgconn_clear) = NULL;

	assert(s->postgres);
	if (d->prepared[q] == d->conn.times)
		return OK;
	for (int i = 0; i < s->n_args; i++)
		types[i] = pgparam_type(store_arg_type(STORE_POSTGRES, q, i));
	TRY(store_postgres_take(d,
	    PQsendPrepare(d->conn.pg, s->name, s->postgres, s->n_args, types),
	    s->name, false, STORE_WAIT_MS, &res, e));
	d->prepared[q] = d->conn.times;
	return OK;
}

/* Runs the prepared statement with what is in d->param. */
static int
store_postgres_run(struct pg_db *d, int q, PGresult **ret, struct err *e)
{
	const struct pgparam *p = &d->param;
	bool commits = store_commits(&d->base, q);

	TRY(store_postgres_prepare(d, q, e));
	return store_postgres_take(d,
	    PQsendQueryPrepared(d->conn.pg, STMTS[q].name, STMTS[q].n_args,
		p->values, p->lengths, p->formats, 1),
	    STMTS[q].name, commits, STORE_WAIT_MS, ret, e);
}

static int
store_postgres_ask(struct pg_db *d, int q, const struct val *args,
    size_t n_args, PGresult **ret, struct err *e)
{
	int rc = pgparam_set(&d->param, args, n_args, e);

	for (int times = 0; rc == OK; times++) {
		if (!d->base.in_tx)
			rc = connected(d, e);
		if (rc == OK)
			rc = store_postgres_run(d, q, ret, e);
		if (rc != ERR_AWAY || d->base.in_tx || times > 0)
			break;
		/* Nothing was changed: once more, if that was the connection. */
		if (!d->base.up && d->conn.next_ms == 0)
			rc = OK;
	}
	pgparam_sent(&d->param);
	return rc;
}

static int64_t
pg_exec(
    struct db *db, int q, const struct val *args, size_t n_args, struct err *e)
{
	PGresult *res CLEANUP(pgconn_clear) = NULL;
	int64_t n = 0;

	TRY(store_postgres_ask(of(db), q, args, n_args, &res, e));
	(void)str_int(str_of(PQcmdTuples(res)), &n);
	return n;
}

static int
pg_query(struct db *db, int q, const struct val *args, size_t n_args,
    struct rows **ret, struct err *e)
{
	struct pg_rows *r = &of(db)->rows[q];

	assert(!r->res);
	TRY(store_postgres_ask(of(db), q, args, n_args, &r->res, e));
	assert(PQnfields(r->res) == STMTS[q].n_cols);
	r->at = -1;
	*ret = &r->base;
	return OK;
}

static int
pg_next(struct rows *rows, struct err *e)
{
	struct pg_rows *r = (struct pg_rows *)rows;

	(void)e; /* all is here already */
	if (r->at < PQntuples(r->res))
		r->at++;
	return r->at < PQntuples(r->res);
}

static const struct pg_rows *
rows_of(const struct rows *r)
{
	return (const struct pg_rows *)r;
}

static bool
pg_null(const struct rows *rows, int col)
{
	const struct pg_rows *r = rows_of(rows);

	return PQgetisnull(r->res, r->at, col);
}

/* The length tells the type: int8, int4, int2, or a boolean. */
static int64_t
pg_int(const struct rows *rows, int col)
{
	const struct pg_rows *r = rows_of(rows);
	const char *p = PQgetvalue(r->res, r->at, col);
	int n = PQgetlength(r->res, r->at, col);
	uint64_t v = 0;

	if (pg_null(rows, col))
		return 0;
	assert(n == 1 || n == 2 || n == 4 || n == 8);
	memcpy((char *)&v + sizeof(v) - (size_t)n, p, (size_t)n);
	v = be64toh(v);
	switch (n) {
	case 2:
		return (int16_t)v;
	case 4:
		return (int32_t)v;
	default:
		return (int64_t)v;
	}
}

static struct str
pg_str(const struct rows *rows, int col)
{
	const struct pg_rows *r = rows_of(rows);

	if (pg_null(rows, col))
		return (struct str){.p = NULL};
	return (struct str){PQgetvalue(r->res, r->at, col),
	    (size_t)PQgetlength(r->res, r->at, col)};
}

static void
pg_rows_close(struct rows *rows)
{
	struct pg_rows *r = (struct pg_rows *)rows;

	PQclear(r->res);
	r->res = NULL;
}

const struct store_driver POSTGRES_DRIVER = {
    .kind = STORE_POSTGRES,
    .shared = true,
    .open = pg_open,
    .close = pg_close,
    .db_open = pg_db_open,
    .db_close = pg_db_close,
    .begin = pg_begin,
    .begin_alone = pg_begin_alone,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .checkpoint = pg_checkpoint,
    .tell = pg_tell,
    .hear = pg_hear,
    .script = pg_script,
    .exec = pg_exec,
    .query = pg_query,
    .next = pg_next,
    .col_int = pg_int,
    .col_str = pg_str,
    .col_null = pg_null,
    .rows_close = pg_rows_close,
};
