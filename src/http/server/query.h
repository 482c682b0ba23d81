/*
 * query.h - the parameters of a request, wherever they stand.
 *
 * Older protocols send them in the query, in a form as the body
 * (application/x-www-form-urlencoded) or in both, and repeat a name for each
 * value of a list. A form is all of them: first the body's, then the query's.
 *
 * LIFE. The request's arena's. INVARIANT: at most HTTP_QUERY_MAX of the query
 * and FORM_PAIRS_MAX of the body.
 */
#pragma once

#include "http/percent.h"
#include "http/server/req.h"

/*
 * "a=1&b&c=" as pairs in the order given; empty parts are skipped. ERR_SYNTAX,
 * ERR_LIMIT past HTTP_QUERY_MAX.
 */
int query_parse(struct arena *a, struct str s, const struct str_pair **ret,
    size_t *ret_n, struct err *e) MUST_CHECK;

struct form {
	const struct str_pair *pairs;
	size_t n;
};

/* ERR_SYNTAX, ERR_LIMIT. */
int form_read(const struct req *r, struct form *ret, struct err *e) MUST_CHECK;

/* The first of that name; empty when there is none. */
struct str form_get(const struct form *f, const char *name);
bool form_has(const struct form *f, const char *name);
/* One after the other; begin with *at = 0. False at the end. */
bool form_each(
    const struct form *f, const char *name, size_t *at, struct str *ret);
/* ERR_INVALID naming the parameter when it is no whole number in range. */
int form_int(const struct form *f, const char *name, int64_t lo, int64_t hi,
    int64_t absent, int64_t *ret, struct err *e) MUST_CHECK;
