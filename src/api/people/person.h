/*
 * person.h - errors as routes for people answer them (seed 002):
 *
 *   {"code":"FEED_NOT_DETECTED","message":"…","category":"feed",
 *    "action":"…what to do…","fields":[{"field":"url","message":"…"}]}
 *
 * fields stands there when something of the request is wrong: a 400; feed_id
 * when a feed is in the way. The words are a table (person.tbl): a code, its status, its category (auth, validation,
 * feed, system) and what the person can do. Handlers name theirs by err_word().
 */
#pragma once

#include "base/base.h"

struct http_error;

/* Returns its status, which is the table's when it has one for the word. */
int person_error(struct buf *b, const struct http_error *x);
