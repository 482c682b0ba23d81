/*
 * openapi.h - the API as an OpenAPI 3.1 document.
 *
 * What the server obeys is what describes it:
 *
 *   routes.tbl    paths, methods, scopes, media types, limits, summaries
 *   describe.tbl  which table of members (contract/member.h) reads a route's
 *                 body, which its query, and what it answers
 *   schemas.txt   what answers look like, and bodies that no table reads; by
 *                 tools/schemagen.py, which tells its notation
 *
 * so a path, a parameter, a bound or a default can't be described otherwise
 * than it is. That answers are as schemas.txt has them is shown by every system
 * test: tests/sys/hk.py holds each answer against the document of its server.
 *
 * WHAT A ROUTE SAYS is words with commas between:
 *
 *   201 Name          a status and the schema of its JSON
 *   200 [Name]        a page of them: {"data":[…],"next":cursor or null}
 *   200 text/csv      something else; also beside JSON
 *   204, 409          a status alone; from 400 on the error of its group
 *   body Name         the JSON body's schema, when no table reads it
 *   body type/sub     one that it takes, when routes.tbl says any
 *   body?             it may be left out
 *   header Name       a header that it heeds: HEADERS in openapi.c
 *
 * Errors that follow from scope, limit, body and path are added to these.
 */
#pragma once

#include "contract/member.h"
#include "http/server/req.h"

/* A row of describe.tbl; `body` and `query` have no rows when there is none. */
struct openapi_route {
	handler_fn run;
	const struct member *body, *query;
	const char *says;
};
extern const struct openapi_route OPENAPI_ROUTES[]; /* .run NULL ends */
/* NULL when it is not described: then it is an app's, or a mistake. */
const struct openapi_route *openapi_find(handler_fn run);

/* The same, or one that says nothing. */
const struct openapi_route *openapi_described(const struct route *rt);
/* What it says with this word: the rest of that; and one after the other. */
bool openapi_says(
    const struct openapi_route *d, struct str word, struct str *ret);
bool openapi_says_next(struct str *rest, struct str word, struct str *ret);
bool openapi_is_app(const struct route *rt); /* of a protocol of others */
/* "responses" of a route; those that components have. */
void openapi_responses(struct buf *b, const struct route *rt);
void openapi_errors(struct buf *b);

/* A schema as JSON, with marks where tables of members go. */
struct openapi_text {
	const char *name, *text;
};
extern const struct openapi_text OPENAPI_SCHEMAS[]; /* .name NULL ends */

/* How members are described. */
enum openapi_way {
	OPENAPI_TAKEN, /* of a body */
	OPENAPI_SHOWN, /* of an answer: all of them are there */
	OPENAPI_ASKED, /* of a query */
};
/* The schema of one member's value; that of an object of them. */
void openapi_member(
    struct buf *b, const char *name, const struct member *m, enum openapi_way);
void openapi_object(struct buf *b, const char *name, const struct member *table,
    enum openapi_way way, bool nullable);
/* A schema of OPENAPI_SCHEMAS, or JSON, as it stands there. */
void openapi_ref(struct buf *b, const char *name, struct str schema);
/* OPENAPI_SCHEMAS, their marks replaced. */
void openapi_schemas(struct buf *b);

/* Routes of one path need not stand together. */
void openapi_write(const struct route *routes, size_t n, struct buf *out);
