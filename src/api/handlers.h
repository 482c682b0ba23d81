/*
 * handlers.h - the handlers that routes.tbl names, one for each of its lines,
 * and the tables of members that describe.tbl names.
 *
 * What a handler does stands in its file, and what a family of them shares in
 * that family's header; that they are there is said by the table alone.
 */
#pragma once

#include "contract/member.h"
#include "http/server/req.h"

#define ROUTE(method, path, scope, limit, on, run, body, summary)              \
	int run(struct req *r, struct db *db, struct err *e);
#include "api/routes.tbl"
#undef ROUTE

/* The tables by which they read bodies and queries. */
#define DESCRIBE(run, body, query, says)                                       \
	extern const struct member body[];                                     \
	extern const struct member query[];
#define TABLE(table) extern const struct member table[];
#include "api/describe.tbl"
#undef TABLE
#undef DESCRIBE
