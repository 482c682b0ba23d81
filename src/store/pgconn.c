#include "store/pgconn.h"

#include <poll.h>

#include "base/log/log.h"
#include "store/limits.h"
#include "store/store_driver.h"

/* Ours, unless the url says otherwise. */
static const char *const DEFAULTS[][2] = {
    {"application_name", "hikyaku"},
    {"client_encoding", "UTF8"},
    {"keepalives_idle", "10"},
    {"keepalives_interval", "5"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "15000"},
};

/* Statements go along indexes, also before there are statistics; compiling
 * them takes longer than they do. */
#define PLANS "-c jit=off -c enable_seqscan=off -c random_page_cost=1.1"

/*
 * A statement ends by itself on the server: a reader's when nobody waits for
 * it any more, a writer's before our own wait ends, so that we know that it
 * changed nothing. A writer that stands still inside a transaction holds the
 * order lock of the log and is cut off.
 */
static const char *const OPTIONS[] = {
    [DB_READ] = (PLANS " -c statement_timeout=30000"
		       " -c default_transaction_read_only=on"),
    [DB_WRITE] = (PLANS " -c statement_timeout=8000"
			" -c idle_in_transaction_session_timeout=5000"),
    [DB_JOBS] = (PLANS " -c statement_timeout=30000"),
};

static void
notice(void *, const char *text)
{
	log_fmt(LOG_DEBUG, "postgres notice", "%s", text);
}

static void
pgconn_add(struct pgconn *c, size_t *n, const char *key, const char *value)
{
	assert(*n < PGCONN_KEYS_MAX - 1);
	c->keys[*n] = key;
	c->values[(*n)++] = value;
}

int
pgconn_init(struct pgconn *c, const PQconninfoOption *url, enum db_use use,
    struct err *e)
{
	const char *options = "";
	int64_t seconds = 0;
	size_t n = 0;
	int len;

	*c = (struct pgconn){.connect_ms = STORE_CONNECT_MS};
	for (size_t i = 0; i < COUNT_OF(DEFAULTS); i++)
		pgconn_add(c, &n, DEFAULTS[i][0], DEFAULTS[i][1]);
	for (; url->keyword; url++) {
		if (!url->val)
			continue;
		if (strcmp(url->keyword, "options") == 0)
			options = url->val;
		else
			pgconn_add(c, &n, url->keyword, url->val);
		/* libpq keeps this only for those who block. */
		if (strcmp(url->keyword, "connect_timeout") == 0 &&
		    str_int(str_of(url->val), &seconds) && seconds > 0 &&
		    seconds < 3600)
			c->connect_ms = seconds * 1000;
	}
	len = snprintf(
	    c->options, sizeof(c->options), "%s %s", OPTIONS[use], options);
	if (len < 0 || (size_t)len >= sizeof(c->options))
		return err_set(
		    e, ERR_INVALID, "the database url's options are too long");
	pgconn_add(c, &n, "options", c->options);
	return OK;
}

void
pgconn_close(struct pgconn *c)
{
	PQfinish(c->pg); /* not blocking, as the connection is not */
	c->pg = NULL;
	c->open = false;
}

const char *
pgconn_line(const char *words, char ret[PGCONN_LINE])
{
	struct str s = str_trim(str_of(words));
	size_t n = s.n < PGCONN_LINE - 1 ? s.n : PGCONN_LINE - 1;

	for (size_t i = 0; i < n; i++)
		ret[i] = s.p[i] == '\n' ? ' ' : s.p[i];
	ret[n] = '\0';
	return ret;
}

void
pgconn_clear(PGresult **res)
{
	PQclear(*res);
}

static int
away(struct err *e, const char *why)
{
	char line[PGCONN_LINE];

	return store_fail(
	    e, ERR_AWAY, "PostgreSQL: %s", pgconn_line(why, line));
}

/* Closed, as the connection says why. */
static int
gone(struct pgconn *c, struct err *e)
{
	(void)away(e, PQerrorMessage(c->pg));
	pgconn_close(c);
	return ERR_AWAY;
}

bool
pgconn_wait(PGconn *pg, short events, int64_t until_ms)
{
	struct pollfd p = {.fd = PQsocket(pg), .events = events};

	for (;;) {
		int64_t left = until_ms - clock_mono_ms();
		int n = poll(&p, 1, left > 0 ? (int)left : 0);

		if (n > 0)
			return true;
		if (left <= 0)
			return false;
	}
}

static int
start(struct pgconn *c, struct err *e)
{
	int64_t now = clock_mono_ms();

	if (now < c->next_ms)
		return away(e, "not connected");
	c->opened_ms = now;
	c->next_ms = now + STORE_RECONNECT_MS;
	c->pg = PQconnectStartParams(c->keys, c->values, 0);
	if (!c->pg)
		mem_out(sizeof(*c));
	c->wants = PGRES_POLLING_WRITING;
	return PQstatus(c->pg) == CONNECTION_BAD ? gone(c, e) : OK;
}

/* Goes on with opening until it is done, failed, or `until_ms`. */
static int
carry_on(struct pgconn *c, int64_t until_ms, struct err *e)
{
	int64_t end = c->opened_ms + c->connect_ms;

	if (until_ms < end)
		end = until_ms;
	while (c->wants == PGRES_POLLING_READING ||
	       c->wants == PGRES_POLLING_WRITING) {
		bool in = c->wants == PGRES_POLLING_READING;

		if (!pgconn_wait(c->pg, in ? POLLIN : POLLOUT, end))
			break;
		c->wants = PQconnectPoll(c->pg);
	}
	if (c->wants == PGRES_POLLING_OK)
		return OK;
	if (c->wants == PGRES_POLLING_FAILED)
		return gone(c, e);
	if (clock_mono_ms() - c->opened_ms >= c->connect_ms)
		pgconn_close(c);
	return away(e, "no answer to our attempt to connect");
}

/* What the server said while nobody asked: most of all, that it is gone. */
static bool
still_there(struct pgconn *c)
{
	struct pollfd p = {.fd = PQsocket(c->pg), .events = POLLIN};

	/* A last word and the end are two reads. */
	while (PQstatus(c->pg) == CONNECTION_OK && poll(&p, 1, 0) > 0)
		if (!PQconsumeInput(c->pg))
			return false;
	return PQstatus(c->pg) == CONNECTION_OK;
}

int
pgconn_ready(struct pgconn *c, int64_t wait_ms, struct err *e)
{
	if (c->open && still_there(c))
		return OK;
	if (c->open) {
		pgconn_close(c);
		c->next_ms = 0; /* lost just now: at once */
	}
	if (!c->pg)
		TRY(start(c, e));
	TRY(carry_on(c, clock_mono_ms() + wait_ms, e));
	(void)PQsetnonblocking(c->pg, 1);
	(void)PQsetNoticeProcessor(c->pg, notice, NULL);
	c->open = true;
	c->next_ms = 0;
	c->times++;
	return OK;
}

/* False when it could not be sent in time; a lost one shows in the answer. */
static bool
flush(struct pgconn *c, int64_t until_ms)
{
	while (PQflush(c->pg) > 0) {
		if (!pgconn_wait(c->pg, POLLIN | POLLOUT, until_ms))
			return false;
		(void)PQconsumeInput(c->pg);
	}
	return true;
}

/* False when the time is over. *ret: all results there were, in one. */
static bool
collect(struct pgconn *c, int64_t until_ms, PGresult **ret)
{
	PGresult *res = NULL, *next;

	for (;;) {
		while (PQisBusy(c->pg)) {
			if (!pgconn_wait(c->pg, POLLIN, until_ms)) {
				PQclear(res);
				return false;
			}
			(void)PQconsumeInput(c->pg);
		}
		next = PQgetResult(c->pg);
		if (!next)
			break;
		if (res && PQresultStatus(res) == PGRES_FATAL_ERROR) {
			PQclear(next);
			continue;
		}
		PQclear(res);
		res = next;
	}
	*ret = res;
	return true;
}

PGresult *
pgconn_answer(struct pgconn *c, int sent, int64_t wait_ms, struct err *e)
{
	int64_t until_ms = clock_mono_ms() + wait_ms;
	const char *why = "no answer in time";
	PGresult *res = NULL;

	if (!sent) {
		why = PQerrorMessage(c->pg);
	} else if (flush(c, until_ms) && collect(c, until_ms, &res)) {
		if (res && PQstatus(c->pg) == CONNECTION_OK)
			return res;
		why = PQerrorMessage(c->pg);
	}
	(void)away(e, why);
	pgconn_close(c);
	if (PQresultErrorField(res, PG_DIAG_SQLSTATE))
		return res;
	PQclear(res);
	return NULL;
}
