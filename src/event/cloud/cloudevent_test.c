#include "event/cloud/cloudevent.h"

#include "base/test.h"
#include "event/envelope.h"

#define EVENT  "0198c2f0-0000-7000-8000-000000000001"
#define CORR   "0198c2f0-0000-7000-8000-000000000002"
#define TENANT "0198c2f0-7d1e-7a3b-8c4d-5e6f70819203"

#define HEAD "\"specversion\":\"1.0\",\"id\":\"" EVENT "\""
#define CORE HEAD ",\"source\":\"/core\",\"type\":\"a.b\""
#define FULL CORE ",\"tenantid\":\"" TENANT "\""
#define OUT(version, time, service, instance, corr, sequence, more, payload)   \
	"{\"eventId\":\"" EVENT "\",\"schemaVersion\":" version                \
	",\"eventType\":\"a.b\"," time "\"tenantId\":\"" TENANT                \
	"\",\"producer\":{\"service\":\"" service                              \
	"\",\"instanceId\":\"" instance "\"}," corr                            \
	"\"sequence\":{\"partitionKey\":" sequence "}," more                   \
	"\"payload\":" payload "}"
#define PLAIN(payload)                                                         \
	OUT("1", "", "core", "cloudevents", "", "\"\"", "", payload)

static struct arena *arena;
static struct err e;

static int
begin(void **)
{
	arena = arena_new(4 * MIB);
	return arena ? 0 : -1;
}

static int
end(void **)
{
	arena_free(arena);
	return 0;
}

/* As the API does it: mapped, then taken for an envelope. */
static int
finish(int rc, struct str *text, bool binary)
{
	const struct envelope_opts o = {.now_us = 1768048496789000};
	struct event ev;

	if (rc == OK) {
		rc = envelope_parse(arena, *text, &o, &ev, &e);
		if (rc < 0)
			cloudevent_blame(&e, binary);
	}
	return rc;
}

static int
structured(const char *in, struct str tenant, struct str *ret)
{
	struct json *tree = NULL;

	*ret = STR_EMPTY;
	e = (struct err){0};
	assert_int_equal(json_parse(arena, str_of(in), &tree, &e), OK);
	return finish(
	    cloudevent_structured(arena, tree, tenant, ret, &e), ret, false);
}

static void
test_structured(void **)
{
	static const struct {
		const char *in, *out;
	} T[] = {
	    {"{" FULL "}", PLAIN("{}")},
	    {"{" FULL ",\"data\":null}", PLAIN("{}")},
	    {"{" FULL ",\"data\":{\"a\" : 1.50,\"b\":\"\\u00e9\"}}",
		PLAIN("{\"a\" : 1.50,\"b\":\"\\u00e9\"}")},
	    {"{" FULL ",\"datacontenttype\":\"application/vnd.x+json; a=b\"}",
		PLAIN("{}")},
	    {"{" FULL ",\"subject\":\"k \\\"1\",\"time\":"
	     "\"2026-01-10T12:34:56.789123Z\",\"schemaversion\":3,"
	     "\"instanceid\":\"pod\",\"correlationid\":\"" CORR
	     "\",\"recordversion\":\"2026-01-10T21:34:56+09:00\"}",
		OUT("3", "\"occurredAt\":\"2026-01-10T12:34:56.789123Z\",",
		    "core", "pod", "\"correlationId\":\"" CORR "\",",
		    "\"k \\\"1\",\"recordVersion\":\"2026-01-10T21:34:56+09:00\"",
		    "", "{}")},
	    {"{" FULL ",\"time\":\"2026-01-10T21:34:56.7899+09:00\"}",
		OUT("1", "\"occurredAt\":\"2026-01-10T12:34:56.789Z\",", "core",
		    "cloudevents", "", "\"\"", "", "{}")},
	    /* The key, and the subject beside it. */
	    {"{" FULL ",\"subject\":\"s\",\"partitionkey\":\"k\"}",
		OUT("1", "", "core", "cloudevents", "", "\"k\"",
		    "\"cloudEvent\":{\"partitionkey\":\"k\",\"subject\":\"s\"},",
		    "{}")},
	    {"{" FULL ",\"subject\":\"k\",\"partitionkey\":\"k\"}",
		OUT("1", "", "core", "cloudevents", "", "\"k\"",
		    "\"cloudEvent\":{\"partitionkey\":\"k\",\"subject\":\"k\"},",
		    "{}")},
	    /* What is not known is kept as it is; null is absent. */
	    {"{" FULL ",\"dataschema\":\"urn:x\",\"n\":1,\"t\":true,\"z\":null,"
	     "\"traceparent\":\"00-\\u00e9\"}",
		OUT("1", "", "core", "cloudevents", "", "\"\"",
		    "\"cloudEvent\":{\"dataschema\":\"urn:x\",\"n\":1,\"t\":true,"
		    "\"traceparent\":\"00-\\u00e9\"},",
		    "{}")},
	    {"{" FULL ",\"correlationid\":\"not one\"}",
		OUT("1", "", "core", "cloudevents",
		    "\"correlationId\":\"b10085c5-032c-87e7-898e-03b3af6308db\",",
		    "\"\"", "\"cloudEvent\":{\"correlationid\":\"not one\"},",
		    "{}")},
	    /* Sources: one segment is a service of ours. */
	    {"{" HEAD ",\"type\":\"a.b\",\"tenantid\":\"" TENANT
	     "\",\"source\":\"/core%20%2Fapp\"}",
		OUT("1", "", "core /app", "cloudevents", "", "\"\"", "", "{}")},
	    {"{" HEAD ",\"type\":\"a.b\",\"tenantid\":\"" TENANT
	     "\",\"source\":\"/a/b%20\"}",
		OUT("1", "", "/a/b%20", "cloudevents", "", "\"\"",
		    "\"cloudEvent\":{\"source\":\"/a/b%20\"},", "{}")},
	    {"{" HEAD ",\"type\":\"a.b\",\"tenantid\":\"" TENANT
	     "\",\"source\":\"https://x.example\"}",
		OUT("1", "", "https://x.example", "cloudevents", "", "\"\"",
		    "\"cloudEvent\":{\"source\":\"https://x.example\"},",
		    "{}")},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct str got;

		if (structured(T[i].in, STR_EMPTY, &got) < 0)
			fail_msg("%s: %s: %s", T[i].in, e.at, e.text);
		if (!str_eq(got, str_of(T[i].out)))
			fail_msg("%s\n  %.*s\n  %s", T[i].in, STR_ARG(got),
			    T[i].out);
	}
}

static void
test_refused(void **)
{
	static const struct {
		const char *in, *at, *why;
	} T[] = {
	    {"[]", "", "cloudevents-batch+json"},
	    {"1", "", "must be an object"},
	    {"{}", "/specversion", "is required"},
	    {"{\"specversion\":\"0.3\",\"id\":\"1\",\"source\":\"/c\","
	     "\"type\":\"a\"}",
		"/specversion", "must be 1.0"},
	    {"{\"specversion\":1.0}", "/specversion", "must be a text"},
	    {"{\"specversion\":\"1.0\"}", "/id", "is required"},
	    {"{" HEAD "}", "/source", "is required"},
	    {"{" HEAD ",\"source\":\"/c\"}", "/type", "is required"},
	    {"{" HEAD ",\"source\":\"\"}", "/source", "must not be empty"},
	    {"{" HEAD ",\"source\":\"/%00\",\"type\":\"a\",\"tenantid\":"
	     "\"" TENANT "\"}",
		"/source", "source must not have control"},
	    {"{" HEAD ",\"source\":\"/%ff\",\"type\":\"a\",\"tenantid\":"
	     "\"" TENANT "\"}",
		"/source", "UTF-8"},
	    {"{" CORE ",\"tenantid\":\"a b\"}", "/tenantid",
		"tenantid must be a UUID, or a name"},
	    {"{" FULL ",\"time\":\"yesterday\"}", "/time", "RFC 3339"},
	    {"{" FULL ",\"schemaversion\":0}", "/schemaversion",
		"schemaversion must be a whole number from 1"},
	    {"{" FULL ",\"schemaversion\":true}", "/schemaversion",
		"whole number"},
	    {"{" FULL ",\"schemaversion\":1.5}", "/schemaversion",
		"whole number"},
	    {"{" FULL ",\"recordversion\":\"7\"}", "/recordversion",
		"recordversion must be a time"},
	    {"{" FULL ",\"data\":[1]}", "/data", "must be an object"},
	    {"{" FULL ",\"data\":\"x\"}", "/data", "must be an object"},
	    {"{" FULL ",\"data_base64\":\"e30=\"}", "/data_base64", "data"},
	    {"{" FULL ",\"datacontenttype\":\"text/xml\"}", "/datacontenttype",
		"must be JSON"},
	    {"{" FULL ",\"Upper\":1}", "/Upper", "lower-case"},
	    {"{" FULL ",\"tenant_id\":1}", "/tenant_id", "lower-case"},
	    {"{" FULL ",\"x\":{}}", "/x", "must be a text"},
	    {"{" FULL ",\"x\":\"\\u0001\"}", "/x", "control"},
	    {"{" HEAD ",\"source\":\"/c\",\"tenantid\":\"" TENANT
	     "\",\"type\":\"a b\"}",
		"/type", "type must have letters"},
	    {"{" HEAD ",\"source\":\"/c\",\"tenantid\":\"" TENANT
	     "\",\"type\":\"ops.x\"}",
		"/type", "type must not begin with ops."},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct str got;

		assert_int_equal(
		    structured(T[i].in, STR_EMPTY, &got), ERR_INVALID);
		if (strcmp(e.at, T[i].at) != 0 || !strstr(e.text, T[i].why))
			fail_msg("%s: %s: %s", T[i].in, e.at, e.text);
	}
}

/* An id that is none of ours: the same for the same source, and kept. */
static void
test_derived(void **)
{
	static const char *const IN[] = {
	    "{\"specversion\":\"1.0\",\"id\":\"A-1\",\"source\":\"/shop\","
	    "\"type\":\"a.b\"}",
	    "{\"specversion\":\"1.0\",\"id\":\"A-1\",\"source\":\"/shop2\","
	    "\"type\":\"a.b\"}",
	    "{\"specversion\":\"1.0\",\"id\":\"A-2\",\"source\":\"/shop\","
	    "\"type\":\"a.b\"}",
	};
	struct uuid ids[COUNT_OF(IN)];
	struct str got, again;

	for (size_t i = 0; i < COUNT_OF(IN); i++) {
		struct json *j = NULL;

		assert_int_equal(structured(IN[i], STR(TENANT), &got), OK);
		assert_int_equal(structured(IN[i], STR(TENANT), &again), OK);
		assert_true(str_eq(got, again));
		assert_int_equal(json_parse(arena, got, &j, &e), OK);
		assert_true(uuid_parse(json_get(j, "eventId")->text, &ids[i]));
		assert_true(str_eq(json_get(j, "tenantId")->text, STR(TENANT)));
		assert_true(str_starts(
		    json_at(j, STR("/cloudEvent/id"))->text, STR("A-")));
		assert_true(str_starts(
		    json_at(j, STR("/cloudEvent/source"))->text, STR("/shop")));
		for (size_t k = 0; k < i; k++)
			assert_false(uuid_eq(ids[i], ids[k]));
	}
}

#define CE(name, text)                                                         \
	{                                                                      \
		{"ce-" name, sizeof(name) + 2},                                \
		{                                                              \
			text, sizeof(text) - 1                                 \
		}                                                              \
	}

static int
binary(
    const struct str_pair *extra, size_t n, const char *body, struct str *ret)
{
	struct str_pair h[16] = {
	    CE("specversion", "1.0"),
	    CE("id", EVENT),
	    {{"Content-Type", 12}, {"application/json", 16}},
	    {{"CE-Source", 9}, {"/core", 5}},
	    CE("Type", "a.b"),
	    CE("tenantid", TENANT),
	};

	for (size_t i = 0; i < n; i++)
		h[6 + i] = extra[i];
	*ret = STR_EMPTY;
	e = (struct err){0};
	return finish(cloudevent_binary(
			  arena, h, 6 + n, str_of(body), STR_EMPTY, ret, &e),
	    ret, true);
}

static void
test_binary(void **)
{
	static const struct {
		struct str_pair extra[2];
		size_t n;
		const char *body;
		const char *out, *at, *why;
	} T[] = {
	    {{CE("x", "")}, 0, " {\"a\": 1} ", PLAIN("{\"a\": 1}"), "", ""},
	    {{CE("x", "")}, 0, "", PLAIN("{}"), "", ""},
	    {{CE("subject", "k%C3%A9%201%22%25"), CE("Schemaversion", "2")}, 2,
		"{}",
		OUT("2", "", "core", "cloudevents", "", "\"ké 1\\\"%\"", "",
		    "{}"),
		"", ""},
	    /* Once and no more; a stray % stays. */
	    {{CE("subject", "a%2541%zz%4")}, 1, "{}",
		OUT("1", "", "core", "cloudevents", "", "\"a%41%zz%4\"", "",
		    "{}"),
		"", ""},
	    {{CE("subject", "\"a \\\"b\\\\ %41\"")}, 1, "{}",
		OUT("1", "", "core", "cloudevents", "", "\"a \\\"b\\\\ A\"", "",
		    "{}"),
		"", ""},
	    {{CE("n", "1")}, 1, "{}",
		OUT("1", "", "core", "cloudevents", "", "\"\"",
		    "\"cloudEvent\":{\"n\":\"1\"},", "{}"),
		"", ""},
	    {{CE("id", EVENT)}, 1, "{}", NULL, "ce-id", "twice"},
	    {{CE("n", "1"), CE("N", "2")}, 2, "{}", NULL, "ce-N", "twice"},
	    {{CE("subject", "%ff")}, 1, "{}", NULL, "ce-subject", "UTF-8"},
	    {{CE("subject", "%0a")}, 1, "{}", NULL, "ce-subject", "control"},
	    {{CE("data", "x")}, 1, "{}", NULL, "ce-data", "no attribute"},
	    {{CE("a-b", "x")}, 1, "{}", NULL, "ce-a-b", "no attribute"},
	    {{CE("datacontenttype", "application/json")}, 1, "{}", NULL,
		"ce-datacontenttype", "Content-Type"},
	    {{CE("schemaversion", "x")}, 1, "{}", NULL, "ce-schemaversion",
		"ce-schemaversion must be a whole"},
	    {{CE("recordversion", "x")}, 1, "{}", NULL, "ce-recordversion",
		"ce-recordversion must be a time"},
	    {{CE("x", "")}, 0, "[1]", NULL, "", "must be an object"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct str got;
		int rc = binary(T[i].extra, T[i].n, T[i].body, &got);

		if (T[i].out && (rc < 0 || !str_eq(got, str_of(T[i].out))))
			fail_msg(
			    "%zu: %.*s %s %s", i, STR_ARG(got), e.at, e.text);
		if (!T[i].out &&
		    (rc != ERR_INVALID || strcmp(e.at, T[i].at) != 0 ||
			!strstr(e.text, T[i].why)))
			fail_msg("%zu: %d %s %s", i, rc, e.at, e.text);
	}
	assert_int_equal(
	    binary(NULL, 0, "{", &(struct str){NULL, 0}), ERR_SYNTAX);
}

static void
test_blame(void **)
{
	static const struct {
		const char *at, *text;
		bool binary;
		const char *to, *says;
	} T[] = {
	    {"/payload/a/b", "b must be x", false, "/data/a/b", "b must be x"},
	    {"/payload/a/b", "b must be x", true, "/a/b", "b must be x"},
	    {"/payload", "payload must", false, "/data", "data must"},
	    {"/producer/service", "service must", true, "ce-source",
		"ce-source must"},
	    {"/sequence/partitionKey", "partitionKey must", false,
		"/partitionkey", "partitionkey must"},
	    {"", "an event", false, "", "an event"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		(void)err_at(&e, ERR_INVALID, T[i].at, "%s", T[i].text);
		cloudevent_blame(&e, T[i].binary);
		assert_string_equal(e.at, T[i].to);
		assert_string_equal(e.text, T[i].says);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_structured),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_derived),
	    cmocka_unit_test(test_binary),
	    cmocka_unit_test(test_blame),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
