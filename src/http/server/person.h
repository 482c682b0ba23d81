/*
 * person.h - errors as routes FOR_PEOPLE answer them (seed 002):
 *
 *   {"code":"FEED_NOT_DETECTED","message":"…","category":"feed",
 *    "action":"…what to do…","fields":[{"field":"url","message":"…"}]}
 *
 * fields stands there when something of the request is wrong: a 400. The words
 * are a table (person.tbl): a code, its status, its category (auth, validation,
 * feed, system) and what the person can do. Handlers name theirs by err_word().
 */
#ifndef HTTP_SERVER_PERSON_H
#define HTTP_SERVER_PERSON_H

#include "base/base.h"

struct buf;

/*
 * Writes the error and returns its status, which is the table's when it has
 * one for the word. `hidden`: the text is for the log alone.
 */
int person_error(struct buf *b, int status, const char *name, bool hidden,
    const struct err *e);

#endif
