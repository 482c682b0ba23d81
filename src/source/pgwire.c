#include "source/pgwire.h"

#include <assert.h>
#include <poll.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/str.h"
#include "source/limits.h"

/* A look at `stop` so often. */
#define LOOK_MS 100

static int
fail_text(const char *why, const char *state, struct err *e)
{
	struct str s = str_trim(str_of(why));
	char line[200];
	size_t n = s.n < sizeof(line) - 1 ? s.n : sizeof(line) - 1;

	for (size_t i = 0; i < n; i++)
		line[i] = s.p[i] == '\n' ? ' ' : s.p[i];
	line[n] = '\0';
	str_clean_utf8(line, n);
	if (state && strcmp(state, "55P03") == 0)
		return err_set(e, ERR_AWAY,
		    "a row is held locked by another session for over %d s; the relay waits for it: %s",
		    OUTBOX_LOCK_MS / 1000, line);
	return err_set(e, ERR_AWAY, "PostgreSQL: %s", line);
}

int
pgwire_fail(struct pgwire *w, const PGresult *res, struct err *e)
{
	if (res)
		return fail_text(PQresultErrorMessage(res),
		    PQresultErrorField(res, PG_DIAG_SQLSTATE), e);
	return fail_text(w->pg ? PQerrorMessage(w->pg) : "no memory", NULL, e);
}

static void
notice(void *arg, const char *text)
{
	(void)arg;
	log_fmt(LOG_DEBUG, "outbox notice", "%s", text);
}

static bool
stopping(const struct pgwire *w)
{
	return w->stop && __atomic_load_n(w->stop, __ATOMIC_RELAXED);
}

/* 1: ready, 0: the time is over. */
static int
wait_for(struct pgwire *w, short events, int64_t until_ms, struct err *e)
{
	for (;;) {
		struct pollfd p = {.fd = PQsocket(w->pg), .events = events};
		int64_t left = until_ms - clock_mono_ms();
		int n;

		if (stopping(w))
			return err_set(e, ERR_BUSY, "the relay stops");
		n = poll(&p, 1,
		    left <= 0        ? 0
		    : left < LOOK_MS ? (int)left
				     : LOOK_MS);
		if (n > 0)
			return 1;
		if (left <= 0)
			return 0;
	}
}

static int
connect_it(struct pgwire *w, struct err *e)
{
	int64_t until = clock_mono_ms() + OUTBOX_CONNECT_MS;
	PostgresPollingStatusType wants = PGRES_POLLING_WRITING;

	if (!w->pg || PQstatus(w->pg) == CONNECTION_BAD)
		return pgwire_fail(w, NULL, e);
	(void)PQsetNoticeProcessor(w->pg, notice, NULL);
	while (wants != PGRES_POLLING_OK) {
		int rc;

		if (wants == PGRES_POLLING_FAILED)
			return pgwire_fail(w, NULL, e);
		rc = wait_for(w,
		    wants == PGRES_POLLING_READING ? POLLIN : POLLOUT, until,
		    e);
		if (rc <= 0)
			return rc < 0 ? rc
				      : err_set(e, ERR_AWAY,
					    "PostgreSQL: no connection in %d s",
					    OUTBOX_CONNECT_MS / 1000);
		wants = PQconnectPoll(w->pg);
	}
	return OK;
}

static int
set_up(struct pgwire *w, struct err *e)
{
	static const struct {
		const char *name;
		int ms;
	} SETTINGS[] = {
	    {"lock_timeout", OUTBOX_LOCK_MS},
	    {"statement_timeout", OUTBOX_ANSWER_MS / 2},
	    {"idle_in_transaction_session_timeout", OUTBOX_ANSWER_MS},
	};
	int rc = OK;

	if (PQsetnonblocking(w->pg, 1) != 0 || !PQenterPipelineMode(w->pg))
		return pgwire_fail(w, NULL, e);
	for (size_t i = 0; rc == OK && i < COUNT_OF(SETTINGS); i++) {
		PGresult *res = NULL;
		char sql[96];

		(void)snprintf(sql, sizeof(sql), "SET %s = %d",
		    SETTINGS[i].name, SETTINGS[i].ms);
		rc = pgwire_ask(w, sql, NULL, &res, e);
		PQclear(res);
	}
	return rc;
}

int
pgwire_open(struct pgwire *w, const char *url, const bool *stop, struct err *e)
{
	/* `dbname` first: it holds the whole url, which wins over what is
	 * before it alone. */
	static const char *const KEYS[] = {"application_name",
	    "client_encoding", "keepalives_idle", "keepalives_interval",
	    "keepalives_count", "tcp_user_timeout", "dbname", NULL};
	const char *values[] = {
	    "hikyaku relay", "UTF8", "10", "5", "3", "30000", url, NULL};
	int rc;

	*w = (struct pgwire){.stop = stop};
	w->pg = PQconnectStartParams(KEYS, values, 1);
	rc = connect_it(w, e);
	if (rc == OK)
		rc = set_up(w, e);
	if (rc < 0)
		pgwire_close(w);
	return rc;
}

void
pgwire_close(struct pgwire *w)
{
	PQfinish(w->pg);
	*w = (struct pgwire){.pg = NULL};
}

static int
sent(struct pgwire *w, int kind, int ok, struct err *e)
{
	if (!ok)
		return pgwire_fail(w, NULL, e);
	assert(w->n < PGWIRE_AHEAD);
	if (w->n == 0)
		w->fresh = true;
	w->ahead[(w->first + w->n++) % PGWIRE_AHEAD] = kind;
	return OK;
}

int
pgwire_send_with(struct pgwire *w, int kind, const char *sql, const char *param,
    bool binary, struct err *e)
{
	const char *values[1] = {param};

	return sent(w, kind,
	    PQsendQueryParams(w->pg, sql, param ? 1 : 0, NULL, values, NULL,
		NULL, binary ? 1 : 0),
	    e);
}

int
pgwire_send(struct pgwire *w, int kind, const char *sql, struct err *e)
{
	return pgwire_send_with(w, kind, sql, NULL, false, e);
}

int
pgwire_sync(struct pgwire *w, struct err *e)
{
	return sent(w, PGWIRE_SYNC, PQpipelineSync(w->pg), e);
}

/* Reads too while the socket takes nothing, or both sides could wait. */
int
pgwire_flush(struct pgwire *w, struct err *e)
{
	int64_t until = clock_mono_ms() + OUTBOX_ANSWER_MS;

	if (!PQsendFlushRequest(w->pg))
		return pgwire_fail(w, NULL, e);
	for (;;) {
		int left = PQflush(w->pg), rc;

		if (left < 0)
			return pgwire_fail(w, NULL, e);
		if (left == 0)
			return OK;
		rc = wait_for(w, POLLIN | POLLOUT, until, e);
		if (rc < 0)
			return rc;
		if (rc == 0)
			return err_set(e, ERR_AWAY, "PostgreSQL takes nothing");
		if (!PQconsumeInput(w->pg))
			return pgwire_fail(w, NULL, e);
	}
}

int
pgwire_kind(const struct pgwire *w)
{
	assert(w->n > 0);
	return w->ahead[w->first];
}

static void
pop(struct pgwire *w)
{
	w->first = (w->first + 1) % PGWIRE_AHEAD;
	w->n--;
	w->fresh = true;
}

int
pgwire_ready(struct pgwire *w, struct err *e)
{
	if (PQflush(w->pg) < 0 || !PQconsumeInput(w->pg))
		return pgwire_fail(w, NULL, e);
	return !PQisBusy(w->pg);
}

int
pgwire_get(struct pgwire *w, bool rows, PGresult **ret, struct err *e)
{
	int64_t until = clock_mono_ms() + OUTBOX_ANSWER_MS;
	PGresult *res;

	assert(w->n > 0);
	if (w->fresh && rows && !PQsetSingleRowMode(w->pg))
		return err_set(e, ERR_AWAY, "PostgreSQL: no single rows");
	w->fresh = false;
	while (PQisBusy(w->pg)) {
		int rc = wait_for(w, POLLIN, until, e);

		if (rc < 0)
			return rc;
		if (rc == 0)
			return err_set(
			    e, ERR_AWAY, "PostgreSQL does not answer");
		if (PQflush(w->pg) < 0 || !PQconsumeInput(w->pg))
			return pgwire_fail(w, NULL, e);
	}
	res = PQgetResult(w->pg);
	if (!res) {
		if (PQstatus(w->pg) == CONNECTION_BAD)
			return pgwire_fail(w, NULL, e);
		pop(w);
		return 0;
	}
	switch (PQresultStatus(res)) {
	case PGRES_PIPELINE_SYNC: /* no NULL behind it */
		PQclear(res);
		pop(w);
		return 0;
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
	case PGRES_SINGLE_TUPLE:
		*ret = res;
		return 1;
	case PGRES_EMPTY_QUERY:
	case PGRES_COPY_OUT:
	case PGRES_COPY_IN:
	case PGRES_COPY_BOTH:
	case PGRES_BAD_RESPONSE:
	case PGRES_NONFATAL_ERROR:
	case PGRES_FATAL_ERROR:
	case PGRES_PIPELINE_ABORTED:
	default:
		(void)pgwire_fail(w, res, e);
		PQclear(res);
		return e->code;
	}
}

int
pgwire_ask(struct pgwire *w, const char *sql, const char *param, PGresult **ret,
    struct err *e)
{
	PGresult *last = NULL, *res = NULL;
	int rc;

	assert(w->n == 0);
	rc = pgwire_send_with(w, 0, sql, param, false, e);
	if (rc == OK)
		rc = pgwire_sync(w, e);
	if (rc == OK)
		rc = pgwire_flush(w, e);
	while (rc >= 0 && w->n > 0) {
		rc = pgwire_get(w, false, &res, e);
		if (rc > 0) {
			PQclear(last);
			last = res;
		}
	}
	if (rc < 0) {
		PQclear(last);
		return rc;
	}
	*ret = last;
	return OK;
}
