#include "api/openapi.h"

#include <yajl/yajl_tree.h>

#include "account/scopes.h"
#include "api/api.h"
#include "base/test.h"
#include "base/version.h"

static const struct route ROUTES[] = {
    {GET, "/v1/events/{eventId}", SCOPE_READ, ON_READ, NULL, "",
	.summary = "One event"},
    {POST, "/v1/events", SCOPE_PUBLISH, ON_WRITE, NULL,
	"application/json, application/x-ndjson",
	.summary = "Publish \"events\""},
    {GET, "/v1/events", SCOPE_READ | SCOPE_MANAGE, ON_READ, NULL, "",
	.summary = "List"},
    {GET, "/healthz", SCOPE_OPEN, ON_HTTP, NULL, "", .summary = "Alive?"},
    {GET, "/metrics", SCOPE_METRICS, ON_HTTP, NULL, "", .summary = "Metrics"},
    {GET, "/me", SCOPE_ANY, ON_HTTP, NULL, "", .summary = "Who am I?"},
    {DELETE, "/a/{x}/dead-letters/{y}", SCOPE_ADMIN, ON_WRITE, NULL, "",
	.summary = "D"},
};

static yajl_val
make(void)
{
	struct buf b = BUF(MIB);
	char why[256];
	yajl_val v;

	openapi_write(ROUTES, COUNT_OF(ROUTES), &b);
	buf_addc(&b, '\0');
	assert_false(b.failed);
	v = yajl_tree_parse(b.p, why, sizeof(why));
	if (!v)
		fail_msg("%s", why);
	buf_done(&b);
	return v;
}

static yajl_val
at(yajl_val v, const char *a, const char *b, const char *c)
{
	const char *path[] = {a, b, c, NULL};

	v = yajl_tree_get(v, path, yajl_t_any);
	if (!v)
		fail_msg("no %s %s %s", a, b ? b : "", c ? c : "");
	return v;
}

/* Members of an object, elements of an array. */
static size_t
length(yajl_val v)
{
	if (YAJL_IS_OBJECT(v))
		return v->u.object.len;
	assert_true(YAJL_IS_ARRAY(v));
	return v->u.array.len;
}

static void
test_document(void **)
{
	yajl_val v = make(), paths = at(v, "paths", NULL, NULL), op;

	assert_string_equal(
	    YAJL_GET_STRING(at(v, "openapi", NULL, NULL)), "3.1.0");
	assert_string_equal(
	    YAJL_GET_STRING(at(v, "info", "version", NULL)), HIKYAKU_VERSION);
	/* Two routes of one path are one entry. */
	assert_int_equal(length(paths), COUNT_OF(ROUTES) - 1);
	assert_int_equal(length(at(paths, "/v1/events", NULL, NULL)), 2);

	op = at(paths, "/v1/events", "post", NULL);
	assert_string_equal(
	    YAJL_GET_STRING(at(op, "operationId", NULL, NULL)), "postV1Events");
	assert_string_equal(YAJL_GET_STRING(at(op, "summary", NULL, NULL)),
	    "Publish \"events\"");
	(void)at(op, "requestBody", "content", "application/x-ndjson");
	(void)at(op, "requestBody", "content", "application/json");
	(void)at(op, "responses", "415", NULL);
	(void)at(op, "responses", "429", NULL);

	op = at(paths, "/a/{x}/dead-letters/{y}", "delete", NULL);
	assert_string_equal(YAJL_GET_STRING(at(op, "operationId", NULL, NULL)),
	    "deleteAByXDeadLettersByY");
	assert_int_equal(length(at(op, "parameters", NULL, NULL)), 2);
	(void)at(op, "responses", "404", NULL);
	(void)at(v, "components", "schemas", "Error");
	yajl_tree_free(v);
}

static void
test_security(void **)
{
	static const struct {
		const char *path;
		size_t ways, roles; /* roles of the last way */
	} T[] = {
	    {"/healthz", 0, 0},
	    {"/me", 3, 0},
	    {"/metrics", 4, 1},
	    {"/v1/events", 3, 2},
	    {"/v1/events/{eventId}", 3, 1},
	};
	yajl_val v = make();

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		yajl_val op = at(v, "paths", T[i].path, "get");
		yajl_val ways = at(op, "security", NULL, NULL), last;

		assert_int_equal(length(ways), T[i].ways);
		if (T[i].ways == 0)
			continue;
		last = ways->u.array.values[T[i].ways - 1];
		last = at(last, "account", NULL, NULL);
		assert_int_equal(length(last), T[i].roles);
	}
	yajl_tree_free(v);
}

/* A schema of schemas.txt. */
static bool
is_schema(struct str name)
{
	for (const struct openapi_text *t = OPENAPI_SCHEMAS; t->name; t++)
		if (str_eq(name, str_of(t->name)))
			return true;
	return false;
}

/* Each member can be described, and names a schema that is there. */
static void
check_table(const char *of, const struct member *m)
{
	for (; m->name; m++) {
		bool own = m->kind == MEMBER_JSON || m->kind == MEMBER_OWN;

		if (m->kind == MEMBER_JSON && !m->schema &&
		    !(m->part && member_find(m->part, str_of(m->name))))
			fail_msg("%s: %s has no schema", of, m->name);
		if (own && m->schema && m->schema[0] != '{' &&
		    !is_schema(str_of(m->schema)))
			fail_msg("%s: no schema %s", of, m->schema);
		if (m->kind == MEMBER_PART || (own && m->rows))
			check_table(of, m->part);
	}
}

/* The words of what a route says: statuses, bodies and headers. */
static void
check_says(const struct route *rt, const struct openapi_route *d)
{
	struct str rest = str_of(d->says);
	bool good = false;

	while (rest.n > 0) {
		struct str one = str_trim(str_cut(&rest, ','));
		struct str word = str_cut(&one, ' ');
		bool status = word.n == 3 && str_is_digit(word.p[0]);

		if (!status && !str_eq(word, STR("body")) &&
		    !str_eq(word, STR("body?")) &&
		    !str_eq(word, STR("header")) && !str_eq(word, STR("query")))
			fail_msg("%s: %s", rt->path, d->says);
		good = good || (status && word.p[0] < '4');
		if (str_starts(one, STR("[")))
			one = (struct str){one.p + 1, one.n - 2};
		if ((status || str_eq(word, STR("body"))) && one.n > 0 &&
		    !str_has(one, '/') && !is_schema(one))
			fail_msg("%s: no schema %.*s", rt->path, STR_ARG(one));
	}
	if (!good)
		fail_msg("%s %s answers nothing", rt->path, d->says);
}

/* Every route of ours is described, and what reads its body is named. */
static void
test_all_described(void **)
{
	for (size_t i = 0; i < API_ROUTE_COUNT; i++) {
		const struct route *rt = &API_ROUTES[i];
		const struct openapi_route *d = openapi_find(rt->run);
		bool app = rt->group && rt->group->by_apps;

		if (!d && app)
			continue;
		if (!d)
			fail_msg("%s has no row in describe.tbl", rt->path);
		check_says(rt, d);
		check_table(rt->path, d->body);
		check_table(rt->path, d->query);
		if (strstr(rt->body, "application/json") && !d->body->name &&
		    !strstr(d->says, "body"))
			fail_msg("%s: nobody says what its body is", rt->path);
	}
	for (const struct openapi_route *d = OPENAPI_ROUTES; d->run; d++) {
		bool there = false;

		for (size_t i = 0; i < API_ROUTE_COUNT; i++)
			there = there || API_ROUTES[i].run == d->run;
		if (!there)
			fail_msg("a row of describe.tbl is of no route: %s",
			    d->says);
	}
}

/* Members as they are taken, shown and asked for. */
static void
test_members(void **)
{
	static const char *const WORDS[] = {"a", "b", NULL};
	static const struct member PART[] = {
	    {"n", MEMBER_INT, 0, 1, 9, .must = true}, {.name = NULL}};
	static const struct {
		struct member m;
		enum openapi_way way;
		const char *want;
	} T[] = {
	    {{"t", MEMBER_TEXT, 0, 1, 5, .must = true}, OPENAPI_TAKEN,
		"{\"type\":\"string\",\"minLength\":1,\"maxLength\":5}"},
	    {{"t", MEMBER_STRING, 0, 0, INT32_MAX, .about = "x"}, OPENAPI_TAKEN,
		"{\"type\":[\"string\",\"null\"],\"description\":\"x\"}"},
	    {{"t", MEMBER_TEXT, 0, 1, 5}, OPENAPI_SHOWN,
		"{\"type\":[\"string\",\"null\"]}"},
	    {{"i", MEMBER_INT, 0, 1, 9, .absent = 5}, OPENAPI_ASKED,
		"{\"type\":\"integer\",\"format\":\"int64\",\"minimum\":1,"
		"\"maximum\":9,\"default\":5}"},
	    {{"i", MEMBER_INT, 0, 0, 9}, OPENAPI_SHOWN,
		"{\"type\":\"integer\",\"format\":\"int64\"}"},
	    {{"c", MEMBER_CHOICE, .words = WORDS}, OPENAPI_TAKEN,
		"{\"type\":[\"string\",\"null\"],\"enum\":[\"a\",\"b\",null]}"},
	    {{"w", MEMBER_WORDS, .words = WORDS}, OPENAPI_ASKED,
		"{\"type\":\"array\",\"items\":{\"type\":\"string\","
		"\"enum\":[\"a\",\"b\"]}}"},
	    {{"p", MEMBER_PART, .part = PART, .must = true}, OPENAPI_TAKEN,
		"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
		"\"integer\",\"format\":\"int64\",\"minimum\":1,\"maximum\":9}},"
		"\"required\":[\"n\"],\"additionalProperties\":false}"},
	    {{"o", MEMBER_OWN, .schema = "Types"}, OPENAPI_TAKEN,
		"{\"anyOf\":[{\"$ref\":\"#/components/schemas/Types\"},"
		"{\"type\":\"null\"}]}"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct buf b CLEANUP(buf_done) = BUF(KIB);

		openapi_member(&b, NULL, &T[i].m, T[i].way);
		buf_addc(&b, '\0');
		assert_string_equal(b.p, T[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_document),
	    cmocka_unit_test(test_security),
	    cmocka_unit_test(test_all_described),
	    cmocka_unit_test(test_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
