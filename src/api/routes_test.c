/* routes.tbl: what it promises, and that OpenAPI tells all of it. */
#include "account/scopes.h"
#include "api/api.h"
#include "api/openapi.h"
#include "base/test.h"
#include "http/server/router.h"

static const char *const VERBS[] = {[GET] = "get",
    [POST] = "post",
    [PUT] = "put",
    [PATCH] = "patch",
    [DELETE] = "delete"};

/* A path as OpenAPI has it: {name...} is {name}. */
static const char *
shown(struct arena *a, const char *path)
{
	struct str s = str_of(path);

	if (!str_ends(s, STR("...}")))
		return path;
	return arena_z(a, arena_fmt(a, "%.*s}", (int)s.n - 4, s.p));
}

static void
test_openapi(void **)
{
	struct arena *a = arena_new(16 * MIB);
	struct buf out = BUF(MIB);
	struct json *doc = NULL;
	const struct json *paths;
	size_t operations = 0;
	struct err e;

	openapi_write(API_ROUTES, API_ROUTE_COUNT, &out);
	if (json_parse(a, buf_str(&out), &doc, &e) < 0)
		fail_msg("%s", e.text);
	paths = json_get(doc, "paths");
	for (size_t i = 0; i < API_ROUTE_COUNT; i++) {
		const struct route *r = &API_ROUTES[i];
		const struct json *op = json_get(
		    json_get(paths, shown(a, r->path)), VERBS[r->method]);

		if (!op)
			fail_msg("no %s %s", VERBS[r->method], r->path);
		assert_true(
		    str_eq(json_get(op, "summary")->text, str_of(r->summary)));
		/* One that takes anything may have no use for it. */
		if (strcmp(r->body, "*/*") != 0)
			assert_int_equal(json_get(op, "requestBody") != NULL,
			    r->body[0] != '\0');
	}
	for (const struct json *p = paths->child; p; p = p->next)
		for (size_t m = 0; m < COUNT_OF(VERBS); m++)
			operations += json_get(p, VERBS[m]) != NULL;
	assert_int_equal(operations, API_ROUTE_COUNT);
	buf_done(&out);
	arena_free(a);
}

/* Each is found by its own path; what is open to anybody is known. */
static void
test_routes(void **)
{
	static const char *const OPEN[] = {
	    "/healthz", "/readyz", "/openapi.json"};
	struct arena *a = arena_new(MIB);
	struct router *rt = NULL;
	size_t open = 0;
	struct err e;

	if (router_new(API_ROUTES, API_ROUTE_COUNT, &rt, &e) < 0)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < API_ROUTE_COUNT; i++) {
		const struct route *r = &API_ROUTES[i];
		struct match m;

		assert_non_null(r->run);
		assert_true(r->summary[0] != '\0');
		assert_int_equal(
		    router_find(rt, r->method, str_of(r->path), a, &m, &e), OK);
		assert_ptr_equal(m.route, r);
		for (size_t k = 0; k < COUNT_OF(OPEN); k++)
			if (r->scope == SCOPE_OPEN)
				open += strcmp(OPEN[k], r->path) == 0;
			else
				assert_string_not_equal(OPEN[k], r->path);
	}
	assert_int_equal(open, COUNT_OF(OPEN));
	router_free(rt);
	arena_free(a);
}

/* What people call as often as they like: pictures, and states of many. */
static bool
is_free(const struct route *r)
{
	static const struct {
		enum method method;
		const char *path;
	} FREE[] = {
	    {GET, "/api/feeds/{id}/favicon"},
	    {PUT, "/api/items/state"},
	    {GET, "/api/stream"},
	    {GET, "/miniflux/v1/feeds/{id}/icon"},
	    {GET, "/miniflux/v1/icons/{id}"},
	    {PUT, "/miniflux/v1/entries"},
	    {GET, "/miniflux/v1/entries/ids"},
	    {GET, "/reader/api/0/stream/items/ids"},
	    {POST, "/reader/api/0/edit-tag"},
	};

	for (size_t i = 0; i < COUNT_OF(FREE); i++)
		if (FREE[i].method == r->method &&
		    strcmp(FREE[i].path, r->path) == 0)
			return true;
	return false;
}

/* Who calls a route that is not open is counted, by the limit of its kind. */
static void
test_limits(void **)
{
	size_t events = 0, feeds = 0, n_free = 0;

	for (size_t i = 0; i < API_ROUTE_COUNT; i++) {
		const struct route *r = &API_ROUTES[i];
		bool person =
		    r->limit == LIMIT_PERSON || r->limit == LIMIT_FEED;
		bool costs_none = is_free(r);

		if (person !=
			(r->group == &FOR_PEOPLE || r->scope == SCOPE_USER) &&
		    !(costs_none && r->limit == LIMIT_KEY))
			fail_msg("%s %s", VERBS[r->method], r->path);
		if ((r->limit == LIMIT_NONE) !=
		    (r->scope == SCOPE_OPEN && !person))
			fail_msg("%s %s", VERBS[r->method], r->path);
		events += r->limit == LIMIT_EVENTS && r->method == POST &&
			  strcmp(r->path, "/v1/events") == 0;
		feeds += r->limit == LIMIT_FEED;
		n_free += costs_none;
	}
	assert_int_equal(events, 1);
	/* /api/feeds, and what else adds some: two lists, two apps */
	assert_int_equal(feeds, 5);
	assert_int_equal(n_free, 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_openapi),
	    cmocka_unit_test(test_routes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
