/*
 * reader.h - feeds, articles and what a person does with them, over HTTP, as
 * seed 002 has them.
 *
 * WHO SEES WHAT. All of it belongs to r->who.user: what is somebody else's, or
 * of a feed that one does not have, is a 404. There is no admin's view.
 */
#pragma once

#include "api/handlers.h"

/* The id in the path; ERR_ABSENT when it is none. */
int reader_id(
    const struct req *r, const char *what, struct uuid *ret, struct err *e);
/* api_query() (api/io.h), which also names a field that is none. */
struct member;
int reader_query(struct req *r, const struct member *table, void *ret,
    struct err *e) MUST_CHECK;
int reader_query_none(struct req *r, struct err *e) MUST_CHECK;
