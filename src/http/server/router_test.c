#include "http/server/router.h"

#include "base/test.h"

#define ROUTE(m, p)                                                            \
	{                                                                      \
		.method = m, .path = p                                         \
	}

static const struct route_group OWN = {.by_browsers = true};

static const struct route ROUTES[] = {
    ROUTE(GET, "/"),
    ROUTE(GET, "/a"),
    ROUTE(POST, "/a"),
    ROUTE(GET, "/a/{x}"),
    ROUTE(POST, "/a/exact"),
    ROUTE(GET, "/a/exact/deep"),
    ROUTE(GET, "/a/{x}/b/{y}/c/{z}/d/{w}"),
    ROUTE(DELETE, "/a/{x}/only"),
    ROUTE(GET, "/r/{rest...}"),
    ROUTE(GET, "/r/one"),
    {.method = GET, .path = "/p/{x}", .group = &OWN, .alias = "/api/old.php"},
    ROUTE(GET, "/p/slash/"),
};

static const struct row {
	const char *method, *path;
	int rc;
	int route; /* its place above; -1: none for the method */
	const char *params[REQ_PARAMS_MAX];
} ROWS[] = {
    {"GET", "/", OK, 0, {0}},
    {"HEAD", "/", OK, 0, {0}},
    {"GET", "/a", OK, 1, {0}},
    {"POST", "/a", OK, 2, {0}},
    {"PATCH", "/a", OK, -1, {0}},
    {"OPTIONS", "/a", OK, -1, {0}},
    {"get", "/a", OK, -1, {0}},
    {"GET", "/a/x", OK, 3, {"x"}},
    {"GET", "/a/{x}", OK, 3, {"{x}"}},
    {"GET", "/a/x%2fy", OK, 3, {"x/y"}},
    {"GET", "/a/a+b", OK, 3, {"a+b"}},
    {"GET", "/%61/x", OK, 3, {"x"}},
    {"POST", "/a/exact", OK, 4, {0}},
    {"GET", "/a/exact", OK, -1, {0}},
    {"GET", "/a/exact/deep", OK, 5, {0}},
    {"DELETE", "/a/exact/only", OK, 7, {"exact"}},
    {"GET", "/a/1/b/2/c/3/d/4", OK, 6, {"1", "2", "3", "4"}},
    {"GET", "/a/1/b/2/c/3/d", ERR_ABSENT, 0, {0}},
    {"GET", "/b", ERR_ABSENT, 0, {0}},
    {"GET", "/a/", ERR_ABSENT, 0, {0}},
    {"GET", "//", ERR_ABSENT, 0, {0}},
    {"GET", "//a", ERR_ABSENT, 0, {0}},
    {"GET", "/a//only", ERR_ABSENT, 0, {0}},
    {"GET", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17", ERR_ABSENT, 0, {0}},
    {"GET", "/r/x", OK, 8, {"x"}},
    {"GET", "/r/x/y%2fz/a%20b", OK, 8, {"x/y/z/a b"}},
    {"GET", "/r/one", OK, 9, {0}},
    {"GET", "/r/one/two", OK, 8, {"one/two"}},
    {"GET", "/r/", ERR_ABSENT, 0, {0}},
    {"GET", "/r", ERR_ABSENT, 0, {0}},
    {"GET", "", ERR_SYNTAX, 0, {0}},
    {"GET", "a", ERR_SYNTAX, 0, {0}},
    {"GET", "*", ERR_SYNTAX, 0, {0}},
    {"GET", "/a/%", ERR_SYNTAX, 0, {0}},
    {"GET", "/a/%2", ERR_SYNTAX, 0, {0}},
    {"GET", "/a/%2g", ERR_SYNTAX, 0, {0}},
    {"GET", "/a/%00", ERR_SYNTAX, 0, {0}},
    {"GET", "/a/%c3%28", ERR_SYNTAX, 0, {0}},
    {"GET", "/a/\xc3\xa9", OK, 3, {"\xc3\xa9"}},
    {"GET", "/a/.", ERR_ABSENT, 0, {0}},
    {"GET", "/a/..", ERR_ABSENT, 0, {0}},
    {"GET", "/a/%2e%2E", ERR_ABSENT, 0, {0}},
    {"GET", "/a/../a", ERR_ABSENT, 0, {0}},
    {"GET", "/r/x/../y", ERR_ABSENT, 0, {0}},
    {"GET", "/a/...", OK, 3, {"..."}},
    {"GET", "/a/..%2f..", OK, 3, {"../.."}},
    {"GET", "/a/..\\x", OK, 3, {"..\\x"}},
    {"GET", "/A", ERR_ABSENT, 0, {0}},
    {"GET", "/a%2fx", ERR_ABSENT, 0, {0}},
    {"GET", "/%2561/x", ERR_ABSENT, 0, {0}},
    {"GET", "/p/x", OK, 10, {"x"}},
    {"GET", "/api/old.php/p/x", OK, 10, {"x"}},
    {"GET", "/%61pi/old%2ephp/p/x", OK, 10, {"x"}},
    {"GET", "/api/old.php/a", ERR_ABSENT, 0, {0}},
    {"GET", "/api/old.php/api/old.php/p/x", ERR_ABSENT, 0, {0}},
    {"GET", "/p/slash/", OK, 11, {0}},
    {"GET", "/p/slash", OK, 10, {"slash"}},
    {"GET", "/p/other/", ERR_ABSENT, 0, {0}},
};

static void
test_find(void **)
{
	struct arena *a = arena_new(MIB);
	struct router *rt = NULL;
	struct err e = {0};

	assert_int_equal(router_new(ROUTES, COUNT_OF(ROUTES), &rt, &e), OK);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		const struct row *row = &ROWS[i];
		struct match m = {0};
		int rc = router_find(rt, method_parse(str_of(row->method)),
		    str_of(row->path), a, &m, &e);
		const struct route *want =
		    row->route >= 0 ? &ROUTES[row->route] : NULL;

		if (rc != row->rc || (rc == OK && m.route != want))
			fail_msg("%s %s: %d", row->method, row->path, rc);
		for (size_t k = 0; rc == OK && k < REQ_PARAMS_MAX; k++)
			if (!str_eq(m.params[k], str_of(row->params[k])))
				fail_msg("%s: param %zu is %.*s", row->path, k,
				    STR_ARG(m.params[k]));
	}
	router_free(rt);
	arena_free(a);
}

/* Whose errors a path gets that is not there. */
static void
test_group(void **)
{
	static const struct {
		const char *path;
		const struct route_group *want;
	} rows[] = {
	    {"/", NULL},
	    {"", NULL},
	    {"/nowhere", NULL},
	    {"/a/b/c/d", NULL},
	    {"/p", &OWN},
	    {"/p/x/y", &OWN},
	    {"/%70/x/y", &OWN},
	    {"/api/z", &OWN},
	    {"/%zz/p", NULL},
	};
	struct arena *a = arena_new(MIB);
	struct router *rt = NULL;
	struct err e = {0};

	assert_int_equal(router_new(ROUTES, COUNT_OF(ROUTES), &rt, &e), OK);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (router_group(rt, str_of(rows[i].path), a) != rows[i].want)
			fail_msg("%s", rows[i].path);
	router_free(rt);
	arena_free(a);
}

static void
test_bad_tables(void **)
{
	static const struct {
		struct route routes[2];
		int rc;
	} T[] = {
	    {{ROUTE(GET, "/a"), ROUTE(GET, "/a")}, ERR_CONFLICT},
	    {{ROUTE(GET, "/{a}"), ROUTE(GET, "/{b}")}, ERR_CONFLICT},
	    {{ROUTE(GET, "/a"), ROUTE(GET, "b")}, ERR_INVALID},
	    {{ROUTE(GET, "/a"), ROUTE(GET, "")}, ERR_INVALID},
	    {{ROUTE(GET, "/a"), ROUTE(GET, "/{a}/{b}/{c}/{d}/{e}")}, ERR_LIMIT},
	    {{ROUTE(GET, "/a"), ROUTE(GET, "/{a...}/b")}, ERR_INVALID},
	    {{ROUTE(GET, "/a"), ROUTE(POST, "/a")}, OK},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct router *rt = NULL;
		struct err e = {0};

		assert_int_equal(router_new(T[i].routes, 2, &rt, &e), T[i].rc);
		router_free(rt);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_find),
	    cmocka_unit_test(test_group),
	    cmocka_unit_test(test_bad_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
