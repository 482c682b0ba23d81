/*
 * request_priv.h - between request.c, which puts a request together,
 * request_render.c, which fills a text with variables, and request_vars.c,
 * which knows what each of them stands for.
 */
#pragma once

#include "contract/request.h"

struct maker {
	struct arena *a;
	const struct sub_conf *s;
	const struct request_event *ev;
	const struct request_attempt *at;
	enum reason *reason;
	struct err *e;
	int rc;                  /* OK, or that it can't be sent */
	const struct json *tree; /* the envelope, when somebody asked */
	struct str body;         /* {body}, once it is there */
	struct str response;     /* {response} */
	bool truncate;           /* leave property values out */
	bool tiny;               /* and their names */
};

/*
 * It can't be sent: false, and m->rc is ERR_INVALID with the reason. The first
 * failure stays, and whoever began asks for it at the end.
 */
bool maker_fail(struct maker *m, enum reason why, const char *fmt, ...)
    PRINTF(3, 4);
/* What stands in b, which ends here; too much is a failure. */
bool maker_done(struct maker *m, struct buf *b, struct str *ret);

/* False: it has no value here, or m->rc is a failure. */
bool maker_value(struct maker *m, enum var var, struct str *ret);
bool maker_has(const struct sub_conf *s, enum var var); /* for `when` */
/* The attribute behind `last` that a CloudEvent came with; NULL: no more. */
const struct json *maker_extension(struct maker *m, const struct json *last);
/* The text, in the arena, as its place wants it; false when a header lacks a
 * value, or as above. */
bool maker_render(struct maker *m, const struct vars *v, enum vars_place place,
    struct str *ret);
