/*
 * router.h - which route a path and method mean.
 *
 * The table of routes is made into a tree of path segments once. A segment
 * that is spelled out wins over a {param}; when its branch leads nowhere the
 * param's is tried; {name...}, at the end of a route, is tried last and takes
 * all segments that are left, as one. Segments are split before they are percent-decoded, so an
 * encoded slash is part of a param and never a separator.
 *
 * LIFE. Built at start, then only read, by all http threads. It points into
 * the table, which must outlive it.
 */
#ifndef HTTP_ROUTER_H
#define HTTP_ROUTER_H

#include "http/req.h"

#define METHODS 5 /* of enum method */

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

/* -1 for a method no route can have. HEAD is GET. */
int method_parse(struct str name);
const char *method_name(enum method m);
#define SCOPES_END (1u << 9)
/* Of one bit, as in "publish"; NULL for those that are no name to be had. */
const char *scope_name(unsigned scope);

#endif
