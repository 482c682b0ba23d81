/*
 * request_priv.h - between request.c, which puts a request together, and
 * request_vars.c, which knows what each variable stands for.
 */
#ifndef CONTRACT_REQUEST_PRIV_H
#define CONTRACT_REQUEST_PRIV_H

#include "base/json.h"
#include "contract/request.h"

struct maker {
	struct arena *a;
	const struct sub_conf *s;
	const struct request_event *ev;
	const struct request_attempt *at;
	enum reason *reason;
	struct err *e;
	const struct json *tree; /* the envelope, when somebody asked */
	struct str body;         /* {body}, once it is there */
	struct str response;     /* {response} */
	bool truncate;           /* leave property values out */
	bool tiny;               /* and their names */
};

/* ERR_INVALID with the reason. */
int maker_fail(struct maker *m, enum reason why, const char *fmt, ...)
    PRINTF(3, 4);
/* 1 and *ret: what stands in b, which ends here; too much is a failure. */
int maker_done(struct maker *m, struct buf *b, struct str *ret);

/* 1 and *ret, 0 when it has no value here, or a failure. */
int maker_value(struct maker *m, enum var var, struct str *ret);
bool maker_has(const struct sub_conf *s, enum var var); /* for `when` */
/* The text, in the arena, as its place wants it; 0 when a header lacks one. */
int maker_render(struct maker *m, const struct vars *v, enum vars_place place,
    struct str *ret);
/* NULL and m->e set when the event has none. */
const struct json *maker_payload(struct maker *m);

#endif
