/*
 * tasks.h - tasks and their webhooks over HTTP, as seed 004 has them.
 *
 * Answers are {"data":…,"traceId":"…"}. A result is a 404 before it is there, and
 * a 410 once it is no longer kept.
 *
 * WHO SEES WHAT. Everything belongs to the API key that made it, and for any
 * other it is not there. The one exception is whoever does the work: a caller
 * with MANAGE, not limited to tenants, lists and reads any task and reports its
 * status. Accounts own no tasks.
 */
#pragma once

#include "api/handlers.h"

/* Between these, r->out gets the data. */
void tasks_data(struct req *r);
int tasks_data_end(struct req *r); /* OK */
/* An error with a name of its own; OK, since it is an answer. */
int tasks_refuse(
    struct req *r, int status, const char *code, const char *message);
/* ERR_DENIED unless an API key is calling. */
int tasks_key_only(const struct req *r, struct err *e) MUST_CHECK;
/* The secret that signs for the calling key; ERR_CONFLICT: it has none. */
int tasks_key_secret(
    struct req *r, struct db *db, struct str *ret, struct err *e) MUST_CHECK;

/*
 * On the check thread: a subscription of preset `task` that the key owns, in
 * op->seen.conf; `old` for a change. *at_url: what a wrong URL is called.
 */
struct sub_conf;
struct sub_op;
int tasks_sub_read(struct sub_op *op, struct str json,
    const struct sub_conf *old, const char *at_url, struct err *e) MUST_CHECK;
/* On the commit thread: a subscription that is made with the key's secret still
 * has it. ERR_CONFLICT: it was replaced. */
int tasks_secret_same(
    struct sub_op *op, struct db *db, struct err *e) MUST_CHECK;
