#include "http/server/router.h"

#include "http/server/limits.h"
#include "http/server/query.h"

#define ROUTER_BYTES (1 * MIB)

struct node {
	struct node *sibling, *child; /* children spelled out */
	struct node *param;           /* the child that takes anything */
	struct node *rest;            /* … and all behind it */
	struct str segment;
	bool ends;                       /* some route ends here */
	const struct route_group *group; /* of the first that leads through */
	const struct route *methods[METHODS];
};

struct router {
	struct arena *arena;
	struct node root;
};

struct path {
	struct str segments[HTTP_SEGMENTS_MAX];
	size_t n;
	size_t rest_from, rest_param; /* of a {name...}; rest_from 0: none */
};

static bool
is_param(struct str segment)
{
	return segment.n > 2 && segment.p[0] == '{' &&
	       segment.p[segment.n - 1] == '}';
}

/* {name...}: one segment or more. */
static bool
is_rest(struct str segment)
{
	return is_param(segment) && str_ends(segment, STR("...}"));
}

/* NULL: there is none that is spelled so. */
static struct node *
spelled_out(const struct node *parent, struct str segment)
{
	struct node *n = parent->child;

	while (n && !str_eq(n->segment, segment))
		n = n->sibling;
	return n;
}

/* The child of that segment, made if it was not there. */
static struct node *
node_child(struct arena *a, struct node *parent, struct str segment,
    const struct route_group *group)
{
	struct node *n;
	struct node **any = is_rest(segment)    ? &parent->rest
			    : is_param(segment) ? &parent->param
						: NULL;

	n = any ? *any : spelled_out(parent, segment);
	if (n)
		return n;
	n = arena_alloc(a, sizeof(*n));
	n->segment = segment;
	n->group = group;
	if (any) {
		*any = n;
	} else {
		n->sibling = parent->child;
		parent->child = n;
	}
	return n;
}

static int
router_add(struct router *rt, const struct route *route, struct str path,
    struct err *e)
{
	struct str rest = path;
	struct node *at = &rt->root;
	size_t segments = 0, params = 0;

	if (rest.n == 0 || rest.p[0] != '/')
		return err_set(
		    e, ERR_INVALID, "route %s: no path", route->path);
	rest = str_from(rest, 1);
	for (bool more = rest.n > 0; more;) {
		size_t before = rest.n;
		struct str segment = str_cut(&rest, '/');

		more = segment.n < before;
		params += is_param(segment);
		if (is_rest(segment) && more)
			return err_set(e, ERR_INVALID,
			    "route %s: {name...} must end it", route->path);
		if (++segments > HTTP_SEGMENTS_MAX || params > REQ_PARAMS_MAX)
			return err_set(
			    e, ERR_LIMIT, "route %s: too long", route->path);
		at = node_child(rt->arena, at, segment, route->group);
	}
	if (at->methods[route->method])
		return err_set(e, ERR_CONFLICT, "route %s %s: there twice",
		    method_name(route->method), route->path);
	at->methods[route->method] = route;
	at->ends = true;
	return OK;
}

/* Under its path and, when it has one, under its alias. */
static int
add_both(struct router *rt, const struct route *route, struct err *e)
{
	TRY(router_add(rt, route, str_of(route->path), e));
	if (!route->alias)
		return OK;
	return router_add(rt, route,
	    arena_fmt(rt->arena, "%s%s", route->alias, route->path), e);
}

int
router_new(
    const struct route *routes, size_t n, struct router **ret, struct err *e)
{
	struct arena *arena = arena_new(ROUTER_BYTES);
	struct router *rt = arena_alloc(arena, sizeof(*rt));
	int rc = OK;

	rt->arena = arena;
	for (size_t i = 0; i < n && rc == OK; i++)
		rc = add_both(rt, &routes[i], e);
	if (rc < 0)
		arena_free(arena);
	else
		*ret = rt;
	return rc;
}

void
router_free(struct router *rt)
{
	if (rt)
		arena_free(rt->arena);
}

static int
split(struct str path, struct arena *a, struct path *ret, struct err *e)
{
	if (path.n == 0 || path.p[0] != '/')
		return err_set(e, ERR_SYNTAX, "the path must begin with /");
	path = str_from(path, 1);
	for (bool more = path.n > 0; more;) {
		size_t before = path.n;
		struct str segment = str_cut(&path, '/');

		/* "a/" has an empty last segment, and is not "a". */
		more = segment.n < before;
		if (ret->n == HTTP_SEGMENTS_MAX)
			return err_set(e, ERR_ABSENT, "there is no such path");
		TRY(percent_decode(a, segment, false, "the path", &segment, e));
		if (str_eq(segment, STR(".")) || str_eq(segment, STR("..")))
			return err_set(e, ERR_ABSENT, "there is no such path");
		ret->segments[ret->n++] = segment;
	}
	return OK;
}

/* No deeper than the tree, no wider than three ways at each node. */
static const struct node *
walk(const struct node *at, struct path *path, size_t depth, struct str *params,
    size_t n_params)
{
	struct str segment;
	const struct node *n;

	if (depth == path->n)
		return at->ends ? at : NULL;
	segment = path->segments[depth];
	n = spelled_out(at, segment);
	n = n ? walk(n, path, depth + 1, params, n_params) : NULL;
	if (n || segment.n == 0)
		return n;
	if (at->param) {
		params[n_params] = segment;
		n = walk(at->param, path, depth + 1, params, n_params + 1);
	}
	if (n || !at->rest || depth == 0)
		return n;
	path->rest_from = depth;
	path->rest_param = n_params;
	return at->rest;
}

/* The segments from there on, as one param. */
static struct str
join_rest(const struct path *path, struct arena *a)
{
	struct str s = path->segments[path->rest_from];

	for (size_t i = path->rest_from + 1; i < path->n; i++)
		s = arena_fmt(
		    a, "%.*s/%.*s", STR_ARG(s), STR_ARG(path->segments[i]));
	return s;
}

int
router_find(const struct router *rt, int method, struct str path,
    struct arena *a, struct match *ret, struct err *e)
{
	struct path split_path = {.n = 0};
	struct match m = {.route = NULL};
	const struct node *n;

	TRY(split(path, a, &split_path, e));
	n = walk(&rt->root, &split_path, 0, m.params, 0);
	if (!n)
		return err_set(e, ERR_ABSENT, "there is no such path");
	m.methods = n->methods;
	if (method >= 0)
		m.route = n->methods[method];
	if (split_path.rest_from)
		m.params[split_path.rest_param] = join_rest(&split_path, a);
	*ret = m;
	return OK;
}

const struct route_group *
router_group(const struct router *rt, struct str path, struct arena *a)
{
	const struct node *at = &rt->root, *n;
	struct err unused;

	path = str_from(path, path.n > 0 && path.p[0] == '/');
	while (path.n > 0) {
		struct str segment = str_cut(&path, '/');

		if (percent_decode(
			a, segment, false, "the path", &segment, &unused) < 0)
			break;
		n = spelled_out(at, segment);
		if (!n)
			break;
		at = n;
	}
	return at->group;
}
