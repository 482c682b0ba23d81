/*
 * pgwire.h - a connection to the application's PostgreSQL, in pipeline mode.
 *
 * The relay sends several statements ahead (the marks of one chunk, the fetch
 * of the one after the next) and reads their answers in order, so that the
 * database works while our log is written. What was sent is remembered in a
 * ring, so that each answer is known for what it is.
 *
 * Every wait ends: by answer_ms, or when the relay stops. After a
 * failure the connection is of no more use; pgwire_close() is the next call.
 *
 * LIFE. One thread. A result belongs to whoever got it.
 */
#pragma once

#include <libpq-fe.h>

#include "store/pgconn.h"

#define PGWIRE_AHEAD 32 /* statements that may be on their way */

struct pgwire {
	PGconn *pg;
	const bool *stop;
	int64_t answer_ms; /* for anything from PostgreSQL */
	/* Called while it waits, often; a failure ends the wait. NULL is fine. */
	int (*idle)(void *ctx, struct err *e);
	void *idle_ctx;
	int ahead[PGWIRE_AHEAD]; /* kinds, the caller's own; ring */
	size_t first, n;
	bool fresh; /* nothing was read of the first one's answer yet */
};

/* With the session's time-outs set, and its application_name: letters, digits
 * and blanks. */
int pgwire_open(struct pgwire *w, const char *url, const char *name,
    const bool *stop, struct err *e) MUST_CHECK;
void pgwire_close(struct pgwire *w); /* a zeroed one is fine */

/* One statement; PGWIRE_SYNC ends a run of them. */
#define PGWIRE_SYNC (-1)
int pgwire_send(
    struct pgwire *w, int kind, const char *sql, struct err *e) MUST_CHECK;
/* With one text parameter; `binary` results. */
int pgwire_send_with(struct pgwire *w, int kind, const char *sql,
    const char *param, bool binary, struct err *e) MUST_CHECK;
/* All of it is on its way to the server; after a sync. */
int pgwire_sync(struct pgwire *w, struct err *e) MUST_CHECK;
int pgwire_flush(struct pgwire *w, struct err *e) MUST_CHECK;

/* Of what was sent first; only when something was. */
int pgwire_kind(const struct pgwire *w);
/*
 * The next piece of its answer: 1 and a result (one row each when `rows`),
 * 0 when it is over and the next is first, < 0.
 */
int pgwire_get(
    struct pgwire *w, bool rows, PGresult **ret, struct err *e) MUST_CHECK;
/* 1: an answer can be read without waiting. */
int pgwire_ready(struct pgwire *w, struct err *e) MUST_CHECK;

/*
 * All at once: one statement, its only result (a row or none), the pipeline
 * empty before and after.
 */
int pgwire_ask(struct pgwire *w, const char *sql, const char *param,
    PGresult **ret, struct err *e) MUST_CHECK;

/* The same, for what it does and not for what it says. */
int pgwire_do(struct pgwire *w, const char *sql, const char *param,
    struct err *e) MUST_CHECK;

/* The error of a result, or of the connection when res is NULL. */
int pgwire_fail(struct pgwire *w, const PGresult *res, struct err *e);
