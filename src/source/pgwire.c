#include "source/pgwire.h"

#include <poll.h>

#include "base/log/log.h"
#include "source/limits.h"

/* A look at `stop` so often. */
#define LOOK_MS 100

int
pgwire_fail(struct pgwire *w, const PGresult *res, struct err *e)
{
	const char *state = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	const char *why = res ? PQresultErrorMessage(res) : "no memory";
	char line[PGCONN_LINE];

	if (!res && w->pg)
		why = PQerrorMessage(w->pg);
	(void)pgconn_line(why, line);
	str_clean_utf8(line, strlen(line));
	if (state && strcmp(state, "55P03") == 0)
		return err_set(e, ERR_AWAY,
		    "a row is held locked by another session for over %d s; the relay waits for it: %s",
		    OUTBOX_LOCK_MS / 1000, line);
	return err_set(e, ERR_AWAY, "PostgreSQL: %s", line);
}

static void
notice(void *, const char *text)
{
	log_fmt(LOG_DEBUG, "outbox notice", "%s", text);
}

/* The socket is ready, or the time is over and `late` is the error. */
static int
wait_for(struct pgwire *w, short events, int64_t until_ms, const char *late,
    struct err *e)
{
	for (;;) {
		int64_t now = clock_mono_ms();
		int64_t look =
		    until_ms < now + LOOK_MS ? until_ms : now + LOOK_MS;

		if (w->stop && __atomic_load_n(w->stop, __ATOMIC_RELAXED))
			return err_set(e, ERR_BUSY, "the relay stops");
		if (pgconn_wait(w->pg, events, look))
			return OK;
		if (w->idle)
			TRY(w->idle(w->idle_ctx, e));
		if (now >= until_ms)
			return err_set(e, ERR_AWAY, "PostgreSQL%s", late);
	}
}

static int
connect_it(struct pgwire *w, struct err *e)
{
	static_assert(OUTBOX_CONNECT_MS == 10000, "as told below");
	int64_t until = clock_mono_ms() + OUTBOX_CONNECT_MS;
	PostgresPollingStatusType wants = PGRES_POLLING_WRITING;

	if (!w->pg || PQstatus(w->pg) == CONNECTION_BAD)
		return pgwire_fail(w, NULL, e);
	(void)PQsetNoticeProcessor(w->pg, notice, NULL);
	while (wants != PGRES_POLLING_OK) {
		if (wants == PGRES_POLLING_FAILED)
			return pgwire_fail(w, NULL, e);
		TRY(wait_for(w,
		    wants == PGRES_POLLING_READING ? POLLIN : POLLOUT, until,
		    ": no connection in 10 s", e));
		wants = PQconnectPoll(w->pg);
	}
	return OK;
}

/* The name is set last: one in the url would win over a parameter. */
static int
set_up(struct pgwire *w, const char *name, struct err *e)
{
	static const struct {
		const char *name;
		int ms;
	} SETTINGS[] = {
	    {"lock_timeout", OUTBOX_LOCK_MS},
	    {"statement_timeout", OUTBOX_ANSWER_MS / 2},
	    {"idle_in_transaction_session_timeout", OUTBOX_ANSWER_MS},
	};

	if (PQsetnonblocking(w->pg, 1) != 0 || !PQenterPipelineMode(w->pg))
		return pgwire_fail(w, NULL, e);
	for (size_t i = 0; i < COUNT_OF(SETTINGS); i++) {
		char sql[96];

		(void)snprintf(sql, sizeof(sql), "SET %s = %d",
		    SETTINGS[i].name, SETTINGS[i].ms);
		TRY(pgwire_do(w, sql, NULL, e));
	}
	return pgwire_do(
	    w, "SELECT set_config('application_name', $1, false)", name, e);
}

int
pgwire_open(struct pgwire *w, const char *url, const char *name,
    const bool *stop, struct err *e)
{
	/* `dbname` first: it holds the whole url, which wins over what is
	 * before it alone. */
	static const char *const KEYS[] = {"client_encoding", "keepalives_idle",
	    "keepalives_interval", "keepalives_count", "tcp_user_timeout",
	    "dbname", NULL};
	const char *values[] = {"UTF8", "10", "5", "3", "30000", url, NULL};
	int rc;

	*w = (struct pgwire){.stop = stop, .answer_ms = OUTBOX_ANSWER_MS};
	w->pg = PQconnectStartParams(KEYS, values, 1);
	rc = connect_it(w, e);
	if (rc == OK)
		rc = set_up(w, name, e);
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
	TRY(sent(w, PGWIRE_SYNC, PQpipelineSync(w->pg), e));
	return pgwire_flush(w, e);
}

/* Reads too while the socket takes nothing, or both sides could wait. */
int
pgwire_flush(struct pgwire *w, struct err *e)
{
	int64_t until = clock_mono_ms() + w->answer_ms;
	int left;

	if (!PQsendFlushRequest(w->pg))
		return pgwire_fail(w, NULL, e);
	while ((left = PQflush(w->pg)) > 0) {
		TRY(wait_for(w, POLLIN | POLLOUT, until, " takes nothing", e));
		if (!PQconsumeInput(w->pg))
			return pgwire_fail(w, NULL, e);
	}
	return left < 0 ? pgwire_fail(w, NULL, e) : OK;
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
	int64_t until = clock_mono_ms() + w->answer_ms;
	PGresult *res;
	ExecStatusType status;

	assert(w->n > 0);
	if (w->fresh && rows && !PQsetSingleRowMode(w->pg))
		return err_set(e, ERR_AWAY, "PostgreSQL: no single rows");
	w->fresh = false;
	while (PQisBusy(w->pg)) {
		TRY(wait_for(w, POLLIN, until, " does not answer", e));
		TRY(pgwire_ready(w, e));
	}
	res = PQgetResult(w->pg);
	if (!res && PQstatus(w->pg) == CONNECTION_BAD)
		return pgwire_fail(w, NULL, e);
	status = PQresultStatus(res);
	if (res && (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
		       status == PGRES_SINGLE_TUPLE)) {
		*ret = res;
		return 1;
	}
	/* Its end; behind a sync there is no NULL. */
	if (!res || status == PGRES_PIPELINE_SYNC)
		pop(w);
	else
		(void)pgwire_fail(w, res, e);
	PQclear(res);
	return !res || status == PGRES_PIPELINE_SYNC ? 0 : (int)e->code;
}

int
pgwire_ask(struct pgwire *w, const char *sql, const char *param, PGresult **ret,
    struct err *e)
{
	PGresult *last CLEANUP(pgconn_clear) = NULL;
	PGresult *res = NULL;

	assert(w->n == 0);
	TRY(pgwire_send_with(w, 0, sql, param, false, e));
	TRY(pgwire_sync(w, e));
	while (w->n > 0)
		if (TRY(pgwire_get(w, false, &res, e)) > 0) {
			PQclear(last);
			last = res;
		}
	*ret = last;
	last = NULL;
	return OK;
}

int
pgwire_do(struct pgwire *w, const char *sql, const char *param, struct err *e)
{
	PGresult *res CLEANUP(pgconn_clear) = NULL;

	return pgwire_ask(w, sql, param, &res, e);
}
