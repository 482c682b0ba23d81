/*
 * query.h - percent-encoding and -decoding, and the query of a request.
 *
 * What is decoded is UTF-8 without NUL or it is refused: it ends up in the
 * store, in logs and in JSON, and none of these should have to wonder.
 * Undecoded input is not copied, so the usual path costs nothing.
 */
#ifndef HTTP_QUERY_H
#define HTTP_QUERY_H

#include "http/req.h"

/*
 * s decoded, in the arena when it had to change. `plus` makes '+' a blank, as
 * forms do. ERR_SYNTAX naming `what`, ERR_NOMEM.
 */
int percent_decode(struct arena *a, struct str s, bool plus, const char *what,
    struct str *ret, struct err *e) MUST_CHECK;

/* s with all but letters, digits and -._~ encoded: for queries and forms. */
void percent_add(struct buf *b, struct str s);

/*
 * "a=1&b&c=" as pairs in the order given; empty parts are skipped. ERR_SYNTAX,
 * ERR_LIMIT past HTTP_QUERY_MAX, ERR_NOMEM.
 */
int query_parse(struct arena *a, struct str s, const struct req_pair **ret,
    size_t *ret_n, struct err *e) MUST_CHECK;

/* The same with a bound and a name for it of one's own: for forms. */
int pairs_parse(struct arena *a, struct str s, size_t most, const char *what,
    struct req_pair **ret, size_t *ret_n, struct err *e) MUST_CHECK;

#endif
