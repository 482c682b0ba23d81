/*
 * outbox_driver.h: an outbox in a SQLite file of the application's.
 *
 * Ids are given under SQLite's one write lock, so they come in the order of
 * commits. A round is one short read, and one short write for the marks: in
 * between, while our log is written, the application is not held up. Two
 * relays on one file would do each other's work twice, and dedupe makes one
 * event of it; so there is no lock.
 */
#include <poll.h>
#include <sqlite3.h>
#include <unistd.h>

#include "source/outbox_driver.h"

struct self {
	struct outbox_opts o;
	const char *path;
	sqlite3 *db;
	sqlite3_stmt *read, *mark, *lag;
	int64_t left; /* rows that this round may read */
	int64_t after;
	bool more;
};

static int
fail(struct self *s, const char *what, struct err *e)
{
	int code = s->db ? sqlite3_errcode(s->db) : SQLITE_NOMEM;

	return err_set(e,
	    code == SQLITE_FULL || code == SQLITE_IOERR ? ERR_FULL : ERR_AWAY,
	    "%s: %s: %s", s->path, what,
	    s->db ? sqlite3_errmsg(s->db) : "no memory");
}

static int
outbox_sqlite_prepare(struct self *s, sqlite3_stmt **ret, const char *before,
    const char *after, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(4 * KIB);

	/* A table's name is at most OUTBOX_TABLE_MAX. */
	buf_addz(&b, before);
	buf_addz(&b, s->o.table);
	buf_addz(&b, after);
	return sqlite3_prepare_v2(s->db, b.p, (int)b.n, ret, NULL) == SQLITE_OK
		   ? OK
		   : fail(s, "the outbox can't be read", e);
}

static void
close_self(void *self)
{
	struct self *s = self;

	sqlite3_finalize(s->read);
	sqlite3_finalize(s->mark);
	sqlite3_finalize(s->lag);
	sqlite3_close(s->db);
	free(s);
}

static int
prepare_all(struct self *s, struct err *e)
{
	TRY(outbox_sqlite_prepare(s, &s->read,
	    "SELECT id, event_id, tenant_id, event_type, schema_version,"
	    " partition_key, record_version, correlation_id, producer,"
	    " CASE WHEN length(CAST(payload AS BLOB)) <= ?3 THEN payload END,"
	    " occurred_at, created_at,"
	    " CASE WHEN length(CAST(payload AS BLOB)) > ?3"
	    " THEN length(CAST(payload AS BLOB)) END"
	    " FROM ",
	    " WHERE published_at IS NULL AND id > ?1"
	    " ORDER BY id LIMIT ?2",
	    e));
	TRY(outbox_sqlite_prepare(s, &s->mark, "UPDATE ",
	    " SET published_at ="
	    " strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = ?1",
	    e));
	return outbox_sqlite_prepare(s, &s->lag,
	    "SELECT count(*), coalesce(CAST(strftime('%s', 'now') AS"
	    " INTEGER) - CAST(strftime('%s', min(created_at)) AS"
	    " INTEGER), 0) FROM (SELECT created_at FROM ",
	    " WHERE published_at IS NULL ORDER BY id LIMIT ?1)", e);
}

static int
open_self(const struct outbox_opts *o, void **ret, struct err *e)
{
	struct self *s = mem_get(sizeof(*s));
	int rc;

	s->o = *o;
	s->path = outbox_file(o->url);
	if (access(s->path, F_OK) != 0) {
		rc = err_set(
		    e, ERR_AWAY, "the outbox %s is not there: %m", s->path);
	} else if (sqlite3_open_v2(s->path, &s->db,
		       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
		       NULL) != SQLITE_OK) {
		rc = fail(s, "it can't be opened", e);
	} else {
		(void)sqlite3_busy_timeout(s->db, OUTBOX_BUSY_MS);
		rc = prepare_all(s, e);
	}
	if (rc < 0)
		close_self(s);
	else
		*ret = s;
	return rc;
}

static int
lock(void *, struct err *)
{
	return 1;
}

static int
keep(void *, struct err *)
{
	return OK;
}

static int
outbox_sqlite_begin(void *self, struct err *e)
{
	struct self *s = self;

	/* A file that was put in place of ours would be read no more. */
	if (access(s->path, F_OK) != 0)
		return err_set(
		    e, ERR_AWAY, "the outbox %s is no longer there", s->path);
	s->left = s->o.batch;
	s->after = INT64_MIN;
	s->more = true;
	return OK;
}

static void
read_row(struct self *s, struct outbox_row *row)
{
	row->id = sqlite3_column_int64(s->read, COL_ID);
	for (int i = 0; i < OUTBOX_COLS; i++) {
		row->v[i] = (struct str){.p = NULL};
		if (sqlite3_column_type(s->read, i) == SQLITE_NULL)
			continue;
		row->v[i].p = (const char *)sqlite3_column_text(s->read, i);
		row->v[i].n = (size_t)sqlite3_column_bytes(s->read, i);
	}
}

/*
 * A chunk is one read of its own. `id > after` within a round is fine here: a
 * lower id that is not yet visible can't be, as there is one writer at a time.
 */
static int
next(void *self, const struct outbox_sink *sink, struct err *e)
{
	struct self *s = self;
	struct outbox_row row;
	int rc = SQLITE_ROW, full = 0;
	int64_t n = 0, most = OUTBOX_FETCH_ROWS;

	if (!s->more || s->left <= 0)
		return 0;
	if (most > s->left)
		most = s->left;
	(void)sqlite3_bind_int64(s->read, 1, s->after);
	(void)sqlite3_bind_int64(s->read, 2, most);
	(void)sqlite3_bind_int64(s->read, 3, s->o.body_max);
	while (full == 0 && (rc = sqlite3_step(s->read)) == SQLITE_ROW) {
		read_row(s, &row);
		s->after = row.id;
		n++;
		full = sink->take(sink->ctx, &row, e);
	}
	(void)sqlite3_reset(s->read);
	if (full < 0)
		return full;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return fail(s, "the outbox can't be read", e);
	if (rc == SQLITE_DONE && n < most)
		s->more = false;
	s->left -= n;
	return n > 0;
}

static int
exec(struct self *s, const char *sql, struct err *e)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
		   ? OK
		   : fail(s, "published_at can't be set", e);
}

static int
mark(void *self, const int64_t *ids, size_t n, struct err *e)
{
	struct self *s = self;
	int rc = OK;

	TRY(exec(s, "BEGIN IMMEDIATE", e));
	for (size_t i = 0; rc == OK && i < n; i++) {
		(void)sqlite3_bind_int64(s->mark, 1, ids[i]);
		if (sqlite3_step(s->mark) != SQLITE_DONE)
			rc = fail(s, "published_at can't be set", e);
		(void)sqlite3_reset(s->mark);
	}
	if (rc == OK)
		rc = exec(s, "COMMIT", e);
	if (rc < 0)
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int
end(void *self, bool *ret_more, struct err *)
{
	const struct self *s = self;

	*ret_more = s->more;
	return OK;
}

static int
wait_more(void *, int fd, int64_t ms, struct err *)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	(void)poll(&p, 1, (int)ms);
	return OK;
}

static int
lag(void *self, int64_t *ret_rows, int64_t *ret_s, struct err *e)
{
	struct self *s = self;
	int rc;

	(void)sqlite3_bind_int64(s->lag, 1, OUTBOX_LAG_MAX);
	rc = sqlite3_step(s->lag);
	if (rc == SQLITE_ROW) {
		*ret_rows = sqlite3_column_int64(s->lag, 0);
		*ret_s = sqlite3_column_int64(s->lag, 1);
	}
	(void)sqlite3_reset(s->lag);
	return rc == SQLITE_ROW ? OK : fail(s, "the outbox can't be read", e);
}

const struct outbox_driver OUTBOX_SQLITE = {
    .open = open_self,
    .close = close_self,
    .lock = lock,
    .keep = keep,
    .begin = outbox_sqlite_begin,
    .next = next,
    .mark = mark,
    .end = end,
    .wait = wait_more,
    .lag = lag,
};
