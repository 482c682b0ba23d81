/*
 * query.h - the query of a request, and the pairs of a form.
 */
#ifndef HTTP_SERVER_QUERY_H
#define HTTP_SERVER_QUERY_H

#include "http/percent.h"
#include "http/server/req.h"

/*
 * "a=1&b&c=" as pairs in the order given; empty parts are skipped. ERR_SYNTAX,
 * ERR_LIMIT past HTTP_QUERY_MAX.
 */
int query_parse(struct arena *a, struct str s, const struct req_pair **ret,
    size_t *ret_n, struct err *e) MUST_CHECK;

/* The same with a bound and a name for it of one's own: for forms. */
int pairs_parse(struct arena *a, struct str s, size_t most, const char *what,
    struct req_pair **ret, size_t *ret_n, struct err *e) MUST_CHECK;

#endif
