/*
 * failures.h - logins that failed: counted, logged and audited, within bounds.
 *
 * Whoever guesses must leave a trace, and must not be able to fill the log or
 * the audit with it. So each failure is counted (hikyaku_login_failures_total);
 * LOGIN_LINES_MAX of a minute have a line in the log, and the others are told
 * of in one; and a minute's failures become at most LOGIN_ROWS_MAX rows of the
 * audit: one for each (way, whom, network) with its count, and one for all that
 * found no place.
 *
 * WHOM. A name that was typed may be a password in the wrong field, so only
 * that of an account or key that exists is told; else nobody is named.
 *
 *   failures_add() ──▶ mailbox ──▶ failures_look() ──▶ commit thread: rows
 *   any thread                     jobs thread, each minute
 *
 * LIFE. failures_new() before those who add; failures_free() after them, the
 * jobs thread and the commit thread, which then has written the last.
 */
#pragma once

#include "base/base.h"

struct append;
struct failures;

struct failure {
	const char *way; /* "password", "key", "app", "openid"; a constant */
	struct str whom; /* "user:anna", "key:shop"; empty: nobody we know */
	const char *peer, *trace_id;
};

/* `window_us` is the minute. */
struct failures *failures_new(struct append *append, int64_t window_us);
void failures_free(struct failures *f); /* NULL is fine */

/* From any thread. With f NULL it is counted alone. */
void failures_add(struct failures *f, const struct failure *x);
/* From time to time, on one thread; `last`: what there is, at once. */
void failures_look(struct failures *f, bool last);
