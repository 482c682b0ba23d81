/*
 * reply.h - how an error looks to a client: one shape, one table.
 *
 *   {"error":{"code":"INVALID_FIELD","message":"…","pointer":"/url"},
 *    "traceId":"…"}
 *
 * The pointer is left out when there is none. Where more than one thing is
 * looked at, `errors` beside `error` has all of them. What went wrong inside us is
 * logged with the trace id and shown as "internal error": a message of the
 * database is no business of a stranger. When it is away, full or busy the
 * client is told so and no more; the request's line in the log has its words
 * (`inside` of struct err). A group of routes may have a shape of its own
 * (struct route_group, req.h).
 */
#pragma once

#include "base/base.h"

/* An error that is about to be told. */
struct http_error {
	int status;
	const char *name;     /* for programs, when e.word is NULL */
	bool hidden;          /* our own fault: e.text says no more than that */
	const char *trace_id; /* of the request */
	struct err e;         /* what a stranger may read */
	const struct uuid *feed; /* that is in the way, or NULL */
	struct str errors;       /* a JSON array of all; .p NULL: one is all */
};

/* The shape above. */
void http_error_write(struct buf *b, const struct http_error *x);

int http_error_status(const struct err *e); /* 422 for ERR_INVALID, … */
/* {"code","message","pointer"}, for one item of many. */
void http_error_json(struct buf *b, const struct err *e);
