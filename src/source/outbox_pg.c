/*
 * outbox_driver.h: an outbox in a PostgreSQL database.
 *
 * POLLING. A round is one transaction: a cursor over `published_at IS NULL` in
 * the order of id, FOR UPDATE, read in pieces; the marks of a chunk are sent
 * while the next is read; one commit. All pieces are of the cursor's snapshot,
 * so reading on is no `id > last`: two rows of a key, written under the
 * record's lock, have ids in the order of their commits, and a snapshot that
 * shows the second shows the first. Plain FOR UPDATE, as SKIP LOCKED would
 * pass a locked row by.
 *
 * XID. The column `xid` holds the writing transaction's pg_current_xact_id().
 * A round reads what is visible in its snapshot T and was not in the one
 * before, P:
 *
 *   xid >= pg_snapshot_xmin(P) AND NOT pg_visible_in_snapshot(xid, P)
 *
 * in a repeatable read transaction, whose own visibility is T's.
 *   Nothing is lost: each transaction is invisible in some snapshot and
 *   visible in the next, so its rows are in exactly one window.
 *   Key order holds: if A and B write one key, A first under the record's
 *   lock, B can only end after A has: B visible implies A visible. So A is in
 *   B's window, with a lower id, or in one before.
 * Windows by xmin alone (`xid < xmin`) would not do: A may have got its xid
 * late and B early, before it waited for the lock; while something holds xmin
 * between the two, B's row is below it and A's is not, and B goes out first.
 *
 * WHERE IT STANDS is published_at, and nothing else. P lives in memory: a new
 * connection begins with rounds of polling until nothing is left, and takes the
 * snapshot of the last of them as P. So a crash, a failover, a restored or an
 * upgraded database, whose transaction ids may begin anew, need no detection:
 * nobody compares ids of two databases. What was appended and not yet marked
 * is read again and known by its event id. Every OUTBOX_SWEEP_MS a round of
 * polling looks for what no window can see: rows with a null or odd xid.
 *
 * Marks are sent on a second connection, in large pieces, behind the append.
 *
 * Whose turn it is: pglease.h. Who stands by has no other connection than that.
 */
#include <poll.h>

#include "base/log/log.h"
#include "source/outbox_driver.h"
#include "source/pglease.h"

/* What was sent. */
enum { SENT_PLAIN, SENT_SNAP, SENT_FETCH, SENT_MARK };

/* pg_type.h: these never change. */
enum {
	OID_INT8 = 20,
	OID_INT2 = 21,
	OID_INT4 = 23,
	OID_TEXT = 25,
	OID_JSON = 114,
	OID_BPCHAR = 1042,
	OID_VARCHAR = 1043,
	OID_TIMESTAMP = 1114,
	OID_TIMESTAMPTZ = 1184,
	OID_UUID = 2950,
	OID_JSONB = 3802,
};
#define AHEAD_MARKS 8 /* statements on their way, at most, for a mark to join */
#define PG_EPOCH_US (INT64_C(946684800) * US_PER_S) /* 2000-01-01 */

struct self {
	struct outbox_opts o;
	struct pglease lease;
	struct pgwire w, marker;
	/* the round */
	bool window;           /* by snapshot; else polling */
	bool ended, read_some; /* no more rows */
	int64_t left, got;
	struct buf sql;
	/* xid */
	struct buf snap, prev; /* of this round, of the one before */
	bool has_prev;
	int64_t sweep_ms;
	int64_t *marks;
	size_t n_marks;
	int64_t marks_ms; /* when the oldest came */
	/* a row's values as text */
	char text[OUTBOX_COLS][48];
};

static void
close_self(void *self)
{
	struct self *s = self;

	pgwire_close(&s->w);
	pgwire_close(&s->marker);
	pglease_close(&s->lease);
	buf_done(&s->sql);
	buf_done(&s->snap);
	buf_done(&s->prev);
	free(s->marks);
	free(s);
}

/* What was written into it: it has room for all there is to say. */
static const char *
outbox_pg_text_of(struct buf *b)
{
	buf_addc(b, '\0');
	assert(!b->failed);
	return b->p;
}

static int
open_self(const struct outbox_opts *o, void **ret, struct err *e)
{
	struct self *s = mem_get(sizeof(*s));
	int rc;

	s->o = *o;
	s->sql = BUF(OUTBOX_SNAP_MAX + 4 * KIB);
	s->snap = BUF(OUTBOX_SNAP_MAX);
	s->prev = BUF(OUTBOX_SNAP_MAX);
	s->marks =
	    mem_array(OUTBOX_MARKS_MAX + OUTBOX_CHUNK_ROWS, sizeof(*s->marks));
	rc = pglease_open(&s->lease, o->url, o->stop, e);
	if (rc < 0)
		close_self(s);
	else
		*ret = s;
	return rc;
}

static int
keep(void *self, struct err *e)
{
	struct self *s = self;

	return pglease_keep(&s->lease, e);
}

/* Its waits are part of the turn. */
static int
open_one(struct self *s, struct pgwire *w, struct err *e)
{
	TRY(pgwire_open(w, s->o.url, s->lease.name, s->o.stop, e));
	w->idle = keep;
	w->idle_ctx = s;
	return OK;
}

static int
lock(void *self, struct err *e)
{
	struct self *s = self;

	if (TRY(pglease_take(&s->lease, s->o.table, e)) == 0)
		return 0;
	TRY(open_one(s, &s->w, e));
	if (s->o.xid)
		TRY(open_one(s, &s->marker, e));
	TRY(pgwire_do(&s->w, "LISTEN hikyaku_outbox", NULL, e));
	return 1;
}

/* Rounds --------------------------------------------------------------------- */

static int
send_cursor(struct self *s, struct err *e)
{
	struct buf *b = &s->sql;
	long long max = (long long)s->o.body_max;

	buf_clear(b);
	buf_fmt(b,
	    "DECLARE hikyaku NO SCROLL CURSOR FOR SELECT id, event_id,"
	    " tenant_id, event_type, schema_version, partition_key,"
	    " record_version, correlation_id, producer,"
	    " CASE WHEN octet_length(payload::text) <= %lld THEN payload END,"
	    " occurred_at, created_at,"
	    " CASE WHEN octet_length(payload::text) > %lld"
	    " THEN octet_length(payload::text) END FROM %s WHERE ",
	    max, max, s->o.table);
	if (s->window) {
		buf_addz(b, "xid >= pg_snapshot_xmin('");
		buf_add(b, buf_str(&s->prev));
		buf_addz(b, "'::pg_snapshot) AND NOT"
			    " pg_visible_in_snapshot(xid, '");
		buf_add(b, buf_str(&s->prev));
		buf_addz(b, "'::pg_snapshot) ORDER BY id");
	} else {
		buf_fmt(b,
		    "published_at IS NULL ORDER BY id LIMIT %lld FOR UPDATE",
		    (long long)s->o.batch);
	}
	return pgwire_send(&s->w, SENT_PLAIN, outbox_pg_text_of(b), e);
}

static int
send_fetch(struct self *s, struct err *e)
{
	char sql[64];

	s->got = 0;
	(void)snprintf(sql, sizeof(sql), "FETCH FORWARD %d FROM hikyaku",
	    OUTBOX_FETCH_ROWS);
	TRY(pgwire_send_with(&s->w, SENT_FETCH, sql, NULL, true, e));
	return pgwire_flush(&s->w, e);
}

static int marks_flush(struct self *s, bool all, struct err *e);

static int
outbox_pg_begin(void *self, struct err *e)
{
	struct self *s = self;

	s->window = s->o.xid && s->has_prev && clock_mono_ms() < s->sweep_ms;
	/* What waits for its mark would be read again. */
	if (s->o.xid && !s->window)
		TRY(marks_flush(s, true, e));
	s->ended = s->read_some = false;
	s->left = s->o.batch;
	TRY(pgwire_send(&s->w, SENT_PLAIN,
	    s->window ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
		      : "BEGIN ISOLATION LEVEL READ COMMITTED",
	    e));
	/* When polling, of a moment before the cursor's own: what lies between
	 * the two is in the next window once more, and known. */
	if (s->o.xid)
		TRY(pgwire_send(
		    &s->w, SENT_SNAP, "SELECT pg_current_snapshot()::text", e));
	TRY(send_cursor(s, e));
	return send_fetch(s, e);
}

/* digits, colons and commas: it goes into a statement again */
static int
take_snap(struct self *s, const PGresult *res, struct err *e)
{
	const char *text = PQntuples(res) == 1 ? PQgetvalue(res, 0, 0) : "";

	buf_clear(&s->snap);
	buf_addz(&s->snap, text);
	if (!*text || strspn(text, "0123456789:,") != strlen(text) ||
	    s->snap.failed)
		return err_set(e, ERR_AWAY, "that is no snapshot");
	return OK;
}

/* A number as it is sent: big endian, of n bytes. */
static int64_t
int_of(const char *p, int n)
{
	int64_t v = (p[0] & 0x80) ? -1 : 0;

	for (int i = 0; i < n; i++)
		v = v * 256 + (unsigned char)p[i];
	return v;
}

/* Microseconds where it has them: two saves of one millisecond differ. */
static void
format_time(int64_t us, char ret[48])
{
	char ms[TIME_LEN + 1];

	time_format(us, ms);
	if (us % US_PER_MS == 0)
		(void)snprintf(ret, 48, "%s", ms);
	else
		(void)snprintf(ret, 48, "%.*s%03dZ", TIME_LEN - 1, ms,
		    (int)(((us % US_PER_MS) + US_PER_MS) % US_PER_MS));
}

static int
read_value(struct self *s, const PGresult *res, int col, struct str *ret,
    struct err *e)
{
	const char *p = PQgetvalue(res, 0, col);
	int n = PQgetlength(res, 0, col);
	char *text = s->text[col];
	struct uuid id;

	*ret = (struct str){.p = NULL};
	if (PQgetisnull(res, 0, col))
		return OK;
	switch (PQftype(res, col)) {
	case OID_TEXT:
	case OID_VARCHAR:
	case OID_BPCHAR:
	case OID_JSON:
		*ret = (struct str){p, (size_t)n};
		return OK;
	case OID_JSONB: /* a version before the text */
		*ret = (struct str){p + 1, (size_t)n - 1};
		return OK;
	case OID_UUID:
		memcpy(id.b, p, sizeof(id.b));
		uuid_format(id, text);
		break;
	case OID_INT2:
	case OID_INT4:
	case OID_INT8:
		(void)snprintf(
		    text, sizeof(s->text[0]), "%lld", (long long)int_of(p, n));
		break;
	case OID_TIMESTAMP:
	case OID_TIMESTAMPTZ:
		if (col == COL_RV)
			format_time(int_of(p, n) + PG_EPOCH_US, text);
		else /* envelope: milliseconds */
			time_format(int_of(p, n) + PG_EPOCH_US, text);
		break;
	default:
		return err_set(e, ERR_AWAY,
		    "column %s of the outbox has a type that the relay does not read: see hikyaku outbox check",
		    PQfname(res, col));
	}
	*ret = str_of(text);
	return OK;
}

static int
read_row(
    struct self *s, const PGresult *res, struct outbox_row *row, struct err *e)
{
	if (PQnfields(res) != OUTBOX_COLS || PQgetisnull(res, 0, COL_ID))
		return err_set(e, ERR_AWAY, "that is no row of an outbox");
	for (int i = 0; i < OUTBOX_COLS; i++)
		TRY(read_value(s, res, i, &row->v[i], e));
	if (!str_int(row->v[COL_ID], &row->id))
		return err_set(e, ERR_AWAY, "the outbox's id is no number");
	return OK;
}

/* The fetch is over: the next one is sent at once, to be ready in time. */
static int
fetched(struct self *s, struct err *e)
{
	s->left -= s->got;
	if (s->got == OUTBOX_FETCH_ROWS && (s->window || s->left > 0))
		return send_fetch(s, e);
	s->ended = true;
	return OK;
}

static int
next(void *self, const struct outbox_sink *sink, struct err *e)
{
	struct self *s = self;
	struct outbox_row row;
	bool any = false;

	while (!s->ended) {
		int kind = pgwire_kind(&s->w);
		PGresult *res CLEANUP(pgconn_clear) = NULL;
		int there = TRY(pgwire_get(&s->w, kind == SENT_FETCH, &res, e));

		if (there && kind == SENT_SNAP) {
			TRY(take_snap(s, res, e));
		} else if (PQresultStatus(res) == PGRES_SINGLE_TUPLE) {
			TRY(read_row(s, res, &row, e));
			s->got++;
			any = s->read_some = true;
			if (TRY(sink->take(sink->ctx, &row, e)) > 0)
				return 1;
		} else if (!there && kind == SENT_FETCH) {
			TRY(fetched(s, e));
			if (any)
				return 1;
		}
	}
	return any;
}

static int
send_marks(struct self *s, struct pgwire *w, const int64_t *ids, size_t n,
    struct err *e)
{
	struct buf list CLEANUP(buf_done) =
	    BUF(32 * (OUTBOX_MARK_ROWS + OUTBOX_CHUNK_ROWS));

	for (size_t i = 0; i < n; i++) {
		buf_addc(&list, i ? ',' : '{');
		buf_int(&list, ids[i]);
	}
	buf_addc(&list, '}');
	buf_clear(&s->sql);
	buf_fmt(&s->sql,
	    "UPDATE %s SET published_at = clock_timestamp()"
	    " WHERE id = ANY ($1::bigint[]) AND published_at IS NULL",
	    s->o.table);
	return pgwire_send_with(w, SENT_MARK, outbox_pg_text_of(&s->sql),
	    outbox_pg_text_of(&list), false, e);
}

/* Of the first n, or all there are, and they are off the list. */
static int
send_some(struct self *s, struct pgwire *w, struct err *e)
{
	size_t n =
	    s->n_marks < OUTBOX_MARK_ROWS ? s->n_marks : OUTBOX_MARK_ROWS;
	int rc = send_marks(s, w, s->marks, n, e);

	s->n_marks -= n;
	s->marks_ms = clock_mono_ms();
	memmove(s->marks, s->marks + n, s->n_marks * sizeof(*s->marks));
	return rc;
}

/* Marks of xid mode: one piece on its way at a time. */
static int
marks_flush(struct self *s, bool all, struct err *e)
{
	struct pgwire *m = &s->marker;

	for (;;) {
		bool due = s->n_marks > 0 &&
			   (all || s->n_marks >= OUTBOX_MARK_ROWS ||
			       clock_mono_ms() - s->marks_ms >= OUTBOX_MARK_MS);
		bool must = all || s->n_marks >= OUTBOX_MARKS_MAX;

		while (m->n > 0) {
			PGresult *res CLEANUP(pgconn_clear) = NULL;

			if (!must && TRY(pgwire_ready(m, e)) == 0)
				return OK;
			TRY(pgwire_get(m, false, &res, e));
		}
		if (!due)
			return OK;
		TRY(send_some(s, m, e));
		TRY(pgwire_sync(m, e));
	}
}

static int
mark(void *self, const int64_t *ids, size_t n, struct err *e)
{
	struct self *s = self;

	if (s->n_marks == 0)
		s->marks_ms = clock_mono_ms();
	assert(s->n_marks + n <= OUTBOX_MARKS_MAX + OUTBOX_CHUNK_ROWS);
	memcpy(s->marks + s->n_marks, ids, n * sizeof(*ids));
	s->n_marks += n;
	if (s->window)
		return marks_flush(s, false, e);
	/* Behind a fetch of which many chunks are made they gather. */
	if (s->w.n < AHEAD_MARKS)
		TRY(send_some(s, &s->w, e));
	return pgwire_flush(&s->w, e);
}

static int
end(void *self, bool *ret_more, struct err *e)
{
	struct self *s = self;

	while (!s->window && s->n_marks > 0)
		TRY(send_some(s, &s->w, e));
	TRY(pgwire_send(&s->w, SENT_PLAIN, "COMMIT", e));
	TRY(pgwire_sync(&s->w, e));
	while (s->w.n > 0) {
		PGresult *res CLEANUP(pgconn_clear) = NULL;

		/* A transaction that had failed answers so. */
		if (TRY(pgwire_get(&s->w, false, &res, e)) > 0 &&
		    strcmp(PQcmdStatus(res), "ROLLBACK") == 0)
			return err_set(
			    e, ERR_AWAY, "PostgreSQL rolled the marks back");
	}
	*ret_more = s->window ? s->read_some : s->left <= 0;
	if (s->o.xid && (s->window || s->left > 0)) {
		struct buf old = s->prev;

		s->prev = s->snap;
		s->snap = old;
		s->has_prev = true;
		if (!s->window)
			s->sweep_ms = clock_mono_ms() + OUTBOX_SWEEP_MS;
	}
	return OK;
}

static bool
heard(struct self *s)
{
	PGnotify *n = PQnotifies(s->w.pg);
	bool any = n != NULL;

	for (; n; n = PQnotifies(s->w.pg))
		PQfreemem(n);
	return any;
}

static int
wait_more(void *self, int fd, int64_t ms, struct err *e)
{
	struct self *s = self;
	int64_t until = clock_mono_ms() + ms;

	while (!heard(s)) {
		int64_t left = until - clock_mono_ms();
		struct pollfd p[] = {
		    {.fd = fd, .events = POLLIN},
		    {.fd = PQsocket(s->w.pg), .events = POLLIN},
		};

		if (s->o.xid)
			TRY(marks_flush(s, false, e));
		TRY(keep(s, e));
		if (left <= 0)
			break;
		if (left > OUTBOX_BEAT_MS)
			left = OUTBOX_BEAT_MS;
		if (s->o.xid && s->n_marks + s->marker.n > 0 &&
		    left > OUTBOX_MARK_MS / 2)
			left = OUTBOX_MARK_MS / 2;
		(void)poll(p, 2, (int)left);
		if (p[0].revents)
			break;
		if (p[1].revents && !PQconsumeInput(s->w.pg))
			return pgwire_fail(&s->w, NULL, e);
	}
	return OK;
}

static int
lag(void *self, int64_t *ret_rows, int64_t *ret_s, struct err *e)
{
	struct self *s = self;
	PGresult *res CLEANUP(pgconn_clear) = NULL;

	buf_clear(&s->sql);
	buf_fmt(&s->sql,
	    "SELECT count(*), coalesce(extract(epoch FROM now() -"
	    " min(created_at)), 0)::bigint FROM (SELECT created_at FROM %s"
	    " WHERE published_at IS NULL ORDER BY id LIMIT %d) x",
	    s->o.table, OUTBOX_LAG_MAX);
	TRY(pgwire_ask(&s->w, outbox_pg_text_of(&s->sql), NULL, &res, e));
	if (PQntuples(res) == 1) {
		(void)str_int(str_of(PQgetvalue(res, 0, 0)), ret_rows);
		(void)str_int(str_of(PQgetvalue(res, 0, 1)), ret_s);
	}
	return OK;
}

const struct outbox_driver OUTBOX_POSTGRES = {
    .open = open_self,
    .close = close_self,
    .lock = lock,
    .keep = keep,
    .begin = outbox_pg_begin,
    .next = next,
    .mark = mark,
    .end = end,
    .wait = wait_more,
    .lag = lag,
};
