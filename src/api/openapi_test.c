#include "api/openapi.h"

#include <yajl/yajl_tree.h>

#include "account/scopes.h"
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
	(void)at(op, "responses", "2XX", "description");

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
	    {"/me", 2, 0},
	    {"/metrics", 3, 1},
	    {"/v1/events", 2, 2},
	    {"/v1/events/{eventId}", 2, 1},
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_document),
	    cmocka_unit_test(test_security),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
