/*
 * router.h - which route a path and method mean.
 *
 * The table of routes is made into a tree of path segments once; a route with
 * an alias stands in it twice. A segment that is spelled out wins over a
 * {param}; when its branch leads nowhere the param's is tried; {name...}, at
 * the end of a route, is tried last and takes all segments that are left, as
 * one.
 *
 * SPELLING. A path is split at its slashes, then each segment is
 * percent-decoded, once, then the route is looked for. So /%61pi is /api; an
 * encoded slash or a backslash is part of a param and never a separator; no
 * param is empty, so // and a slash at the end are other paths, which no route
 * has unless it is written so; case counts. A segment that is "." or ".." when
 * decoded, anywhere, makes it a path that is not there: whoever is before us
 * may have read it otherwise. What can't be decoded, or holds a NUL or no
 * UTF-8, is ERR_SYNTAX. Whoever decides something goes by the route, not by
 * the path.
 *
 * LIFE. Built at start, then only read, by all http threads. It points into
 * the table, which must outlive it.
 */
#pragma once

#include "http/server/req.h"

struct router;

struct match {
	const struct route *route; /* NULL: the path has no such method */
	const struct route *const *methods; /* what the path has, by method */
	struct str params[REQ_PARAMS_MAX];
};

/*
 * ERR_INVALID for a path that is no path, ERR_CONFLICT for two routes of the
 * same method and path, ERR_LIMIT for too many segments or params.
 */
int router_new(const struct route *routes, size_t n, struct router **ret,
    struct err *e) MUST_CHECK;
void router_free(struct router *rt); /* NULL is fine */

/*
 * OK when the path is known: *ret says the rest; `method` -1 asks for the
 * methods only. ERR_ABSENT when it is not, ERR_SYNTAX when it can't be decoded.
 */
int router_find(const struct router *rt, int method, struct str path,
    struct arena *a, struct match *ret, struct err *e) MUST_CHECK;

/*
 * How errors are written of a path or method that no route has: as of the first
 * route in the table that begins with the same segments, as many as are known.
 */
const struct route_group *router_group(
    const struct router *rt, struct str path, struct arena *a);
