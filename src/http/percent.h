/*
 * percent.h - percent-encoding and -decoding.
 *
 * What is decoded is UTF-8 without NUL or it is refused: it ends up in the
 * store, in logs and in JSON, and none of these should have to wonder.
 * Undecoded input is not copied, so the usual path costs nothing.
 */
#pragma once

#include "base/base.h"

/*
 * s decoded, in the arena when it had to change. `plus` makes '+' a blank, as
 * forms do. ERR_SYNTAX or ERR_LIMIT naming `what`.
 */
int percent_decode(struct arena *a, struct str s, bool plus, const char *what,
    struct str *ret, struct err *e) MUST_CHECK;

/* s with all but letters, digits and -._~ encoded: for queries and forms. */
void percent_add(struct buf *b, struct str s);
