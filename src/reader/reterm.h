/*
 * reterm.h - words of articles that came before their cut was what it is.
 *
 * What is searched for is cut as doc/terms.h says; so must be what was stored
 * by an earlier version. A migration leaves the newest id of those, and the
 * jobs thread has them cut anew, newest first, some in a step, while all else
 * goes on. Until then such an article is found by its old words.
 */
#pragma once

#include "base/base.h"

struct db;

/* Whether there are any. */
int reterm_any(struct db *db, bool *ret, struct err *e) MUST_CHECK;
/* A step, in a transaction; may run twice. *ret: how many, 0: all are done. */
int reterm_step(struct db *db, int64_t *ret, struct err *e) MUST_CHECK;
