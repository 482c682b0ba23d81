#include "event/envelope.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* wants the others first */
/* clang-format on */

#include "event/mask.h"
#include "event/type/fault.h"
#include "seal/tenant.h"

#define ID     "0198c2f0-0000-7000-8000-000000000001"
#define TENANT "0198c2f0-7d1e-7a3b-8c4d-5e6f70819203"
#define REST                                                                   \
	"\"schemaVersion\":1,\"eventType\":\"test.case\",\"tenantId\":"        \
	"\"" TENANT "\",\"producer\":{\"service\":\"core\",\"instanceId\":"    \
	"\"pod-1\"},\"sequence\":{\"partitionKey\":\"A:t:r\"}"
#define WHOLE(payload)                                                         \
	"{\"eventId\":\"" ID "\",\"occurredAt\":\"2026-01-10T12:34:56.789Z\"," \
	"\"correlationId\":\"0198C2F0-0000-7000-8000-000000000002\"," REST     \
	",\"payload\":" payload "}"

static const int64_t NOW = INT64_C(1768048496789) * 1000; /* 12:34:56.789 */

static struct arena *arena;
static struct err e;

static int
parse_with(const char *text, const struct envelope_opts *o, struct event *ret)
{
	e = (struct err){0};
	return envelope_parse(arena, str_of(text), o, ret, &e);
}

static struct event
parse(const char *text, const struct envelope_opts *o)
{
	struct event ev = {0};

	if (parse_with(text, o, &ev) < 0)
		fail_msg("%s: %s: %s", text, e.at, e.text);
	return ev;
}

/* Undoes \\ and \xNN in place. */
static size_t
unescape(char *p)
{
	char *out = p, *from = p;

	while (*p) {
		unsigned v = 0;

		if (p[0] != '\\') {
			*out++ = *p++;
		} else if (p[1] == 'x' && sscanf(p + 2, "%2x", &v) == 1) {
			*out++ = (char)v;
			p += 4;
		} else {
			assert_true(p[1] == '\\');
			*out++ = '\\';
			p += 2;
		}
	}
	return (size_t)(out - from);
}

static void
malformed_bodies_are_refused(void **)
{
	const struct envelope_opts o = {.now_us = NOW, .exact = true};
	FILE *f = fopen("tests/data/malformed.txt", "r");
	static char line[16384];
	int count = 0;

	if (!f)
		fail_msg("run me from the root of the repository");
	while (fgets(line, sizeof(line), f)) {
		char *name = line, *status = strchr(line, '\t'), *what, *body;
		struct event ev = {0};
		struct str text;
		int rc;

		if (line[0] == '#')
			continue;
		line[strcspn(line, "\n")] = '\0';
		what = strchr(status + 1, '\t');
		body = strchr(what + 1, '\t');
		*status++ = *what++ = *body++ = '\0';
		text = (struct str){body, unescape(body)};
		rc = envelope_parse(arena, text, &o, &ev, &e);
		if (rc !=
		    (strcmp(status, "400") == 0 ? ERR_SYNTAX : ERR_INVALID))
			fail_msg("%s: %d %s: %s", name, rc, e.at, e.text);
		if (!strstr(e.text, what) && !strstr(e.at, what))
			fail_msg("%s: %s: %s", name, e.at, e.text);
		assert_null(ev.body.p);
		assert_int_equal(str_utf8_bad(str_of(e.text)), strlen(e.text));
		arena_reset(arena);
		count++;
	}
	(void)fclose(f);
	assert_true(count >= 60);
}

static void
fields_are_read(void **)
{
	struct event ev =
	    parse(" \n{\"payload\":{\"a\":[1]},\"extra\":null,"
		  "\"sequence\":{\"partitionKey\":\"\\u9375\",\"x\":1,"
		  "\"recordVersion\":\"2026-01-10T21:34:56.789+09:00\"},"
		  "\"correlationId\":\"0198C2F0-0000-7000-8000-00000000000A\","
		  "\"producer\":{\"instanceId\":\"i\",\"service\":\"s\"},"
		  "\"tenantId\":\"" TENANT "\",\"schemaVersion\":2147483647,"
		  "\"occurredAt\":\"2026-01-10T12:34:56.789123Z\","
		  "\"eventType\":\"A.b_c-9\",\"eventId\":\"" ID "\"}\t",
		&(struct envelope_opts){.now_us = 1});
	struct uuid u;

	assert_true(uuid_parse(STR(ID), &u) && uuid_eq(u, ev.event_id));
	assert_true(uuid_parse(STR(TENANT), &u) && uuid_eq(u, ev.tenant));
	assert_true(
	    uuid_parse(STR("0198c2f0-0000-7000-8000-00000000000a"), &u) &&
	    uuid_eq(u, ev.correlation));
	assert_true(str_eq(ev.type, STR("A.b_c-9")));
	assert_int_equal(ev.schema_version, INT32_MAX);
	assert_true(ev.occurred_us == NOW + 123);
	assert_true(str_eq(ev.key, STR("\xe9\x8d\xb5")));
	assert_true(ev.has_rv && ev.rv_us == NOW);
	assert_true(str_eq(ev.payload_raw, STR("{\"a\":[1]}")));
	assert_int_equal(ev.payload->n, 1);
	assert_int_equal(ev.body.p[0], '{');
	assert_int_equal(ev.body.p[ev.body.n - 1], '}');
}

static void
record_version_may_be_missing(void **)
{
	static const char *const T[] = {"", ",\"recordVersion\":null"};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct event ev;
		char text[512];

		(void)snprintf(text, sizeof(text),
		    "{\"schemaVersion\":1,\"eventType\":\"t\",\"tenantId\":"
		    "\"" TENANT "\",\"producer\":{\"service\":\"s\","
		    "\"instanceId\":\"i\"},\"sequence\":{\"partitionKey\":"
		    "\"k\"%s},\"payload\":{}}",
		    T[i]);
		ev = parse(text, &(struct envelope_opts){.now_us = NOW});
		assert_false(ev.has_rv);
	}
}

/* What was published comes back byte for byte. */
static void
bytes_survive(void **)
{
	static const char *const T[] = {
	    WHOLE("{}"),
	    WHOLE("{\"a\":0.1,\"b\":1e400,\"c\":12345678901234567890,\"d\":-0,"
		  "\"e\":1E+2,\"f\":-0.0,\"g\":1.0000000000000000000000001}"),
	    WHOLE(" { \"a\" :\r\n\t[ 1 ,2 ] } "),
	    WHOLE("{\"\\u0061\":\"\\u00e9\\ud83d\\ude00\\/\\u0000\"}"),
	    WHOLE("{\"\":{\"\":\"\"},\"\xf0\x9f\x98\x80\":\"\xe9\xa3\x9b\"}"),
	    WHOLE("{\"a\":\"\x7f\xe2\x80\xa8\xef\xbf\xbf\"}"),
	    "{ " REST ",\"eventId\":\"" ID "\",\"correlationId\":\"" ID "\","
	    "\"payload\":{\"x\":{}},\"occurredAt\":\"2026-01-10T12:34:56Z\" }",
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct event ev =
		    parse(T[i], &(struct envelope_opts){.now_us = NOW});

		assert_ptr_equal(ev.body.p, T[i]); /* not even copied */
		assert_int_equal(ev.body.n, strlen(T[i]));
	}
}

static void
missing_members_are_filled_in(void **)
{
	static const struct {
		const char *in, *head; /* %I: the id, %N: now, %C: any */
		const char *tail;
	} T[] = {
	    {"{" REST ",\"payload\":{}}",
		"{\"eventId\":\"%I\",\"occurredAt\":\"%N\",\"correlationId\":"
		"\"%C\",",
		REST ",\"payload\":{}}"},
	    {"  { \n" REST ",\"payload\":{} }\n",
		"{\"eventId\":\"%I\",\"occurredAt\":\"%N\",\"correlationId\":"
		"\"%C\",",
		" \n" REST ",\"payload\":{} }"},
	    {"{\"eventId\":\"" ID "\"," REST ",\"payload\":{\"a\":1e400}}",
		"{\"occurredAt\":\"%N\",\"correlationId\":\"%C\",",
		"\"eventId\":\"" ID "\"," REST ",\"payload\":{\"a\":1e400}}"},
	    {"{\"correlationId\":\"" ID "\"," REST ",\"payload\":{}}",
		"{\"eventId\":\"%I\",\"occurredAt\":\"%N\",",
		"\"correlationId\":\"" ID "\"," REST ",\"payload\":{}}"},
	};
	struct uuid id;

	assert_true(uuid_parse(STR(ID), &id));
	for (size_t i = 0; i < COUNT_OF(T); i++) {
		const struct envelope_opts o = {.now_us = NOW, .event_id = &id};
		struct event ev = parse(T[i].in, &o);
		struct buf b = BUF(4 * KIB);

		for (const char *p = T[i].head; *p; p++) {
			if (*p != '%') {
				buf_addc(&b, *p);
				continue;
			}
			p++;
			if (*p == 'I')
				buf_addz(&b, ID);
			else if (*p == 'N')
				buf_addz(&b, "2026-01-10T12:34:56.789Z");
			else
				uuid_add(&b, ev.correlation);
		}
		buf_addz(&b, T[i].tail);
		if (!str_eq(ev.body, buf_str(&b)))
			fail_msg("%.*s\n%.*s", STR_ARG(ev.body),
			    STR_ARG(buf_str(&b)));
		assert_true(uuid_eq(ev.event_id, id));
		assert_true(ev.occurred_us == NOW);
		buf_done(&b);
	}
}

static const struct event_defaults *
defaults(void)
{
	static struct event_defaults d = {.tenant_name = STR(TENANT_DEFAULT),
	    .producer = STR("{\"service\":\"shop\"}")};

	d.tenant = tenant_default();
	return &d;
}

/* eventType and payload are enough; what is stored has the rest. */
static void
little_is_needed(void **)
{
	const struct envelope_opts o = {.now_us = NOW, .defaults = defaults()};
	static const struct {
		const char *in, *tenant, *key;
	} T[] = {
	    {"{\"eventType\":\"a.b\",\"payload\":{\"x\":1}}", "default", ""},
	    {"{\"eventType\":\"a.b\",\"payload\":{},\"tenantId\":\"acme\"}",
		"acme", ""},
	    {"{\"eventType\":\"a.b\",\"payload\":{},\"tenantId\":\"" TENANT
	     "\",\"sequence\":{\"partitionKey\":\"k\"}}",
		"", "k"},
	    {"{\"eventType\":\"a.b\",\"payload\":{},\"sequence\":{"
	     "\"recordVersion\":\"2026-01-10T12:34:56Z\"},\"producer\":{}}",
		"default", ""},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		const struct envelope_opts bare = {.now_us = 1};
		struct event ev = parse(T[i].in, &o), again;
		struct uuid u;

		assert_true(str_eq(ev.tenant_name, str_of(T[i].tenant)));
		assert_true(str_eq(ev.key, str_of(T[i].key)));
		assert_int_equal(ev.schema_version, 1);
		if (T[i].tenant[0]) {
			assert_true(tenant_parse(str_of(T[i].tenant), &u));
			assert_true(uuid_eq(u, ev.tenant));
		}
		/* It has all of it: read again it is the same. */
		assert_int_equal(
		    envelope_parse(arena, ev.body, &bare, &again, &e), OK);
		assert_ptr_equal(again.body.p, ev.body.p);
		assert_true(uuid_eq(again.tenant, ev.tenant));
	}
	assert_true(str_ends(parse(T[0].in, &o).body,
	    STR("\"schemaVersion\":1,\"tenantId\":\"default\",\"producer\":"
		"{\"service\":\"shop\"},\"sequence\":{\"partitionKey\":\"\"},"
		"\"eventType\":\"a.b\",\"payload\":{\"x\":1}}")));
}

static void
all_that_is_wrong_is_told(void **)
{
	static const char TEXT[] =
	    "{\"eventId\":7,\"eventType\":\"9\",\"tenantId\":\"a b\","
	    "\"producer\":{\"service\":1,\"instanceId\":\"\"},\"seq\":1}";
	static const char *const AT[] = {"/eventId", "/eventType", "/tenantId",
	    "/producer/service", "/producer/instanceId", "/payload", "/seq"};
	struct faults f = {.n = 0};
	struct envelope_opts o = {
	    .now_us = NOW, .defaults = defaults(), .faults = &f};
	const struct fault *x;
	struct event ev;
	size_t i = 0;

	assert_int_equal(parse_with(TEXT, &o, &ev), ERR_INVALID);
	assert_string_equal(e.at, AT[0]);
	for (x = f.first; x; x = x->next)
		assert_true(str_eq(x->at, str_of(AT[i++])));
	assert_int_equal(i, COUNT_OF(AT));
}

/* A key for several tenants, and the seed's own envelope. */
static void
a_tenant_may_be_needed(void **)
{
	static const char TEXT[] = "{\"eventType\":\"a\",\"payload\":{}}";
	struct event_defaults d = *defaults();
	struct envelope_opts o = {.now_us = NOW, .defaults = &d};
	struct event ev;

	d.tenant_name = STR_EMPTY;
	assert_int_equal(parse_with(TEXT, &o, &ev), ERR_INVALID);
	assert_string_equal(e.at, "/tenantId");
	o.defaults = defaults();
	o.exact = true;
	assert_int_equal(parse_with(TEXT, &o, &ev), ERR_INVALID);
	assert_string_equal(e.at, "/schemaVersion");
}

static void
made_ids_are_new(void **)
{
	const struct envelope_opts o = {.now_us = NOW};
	struct event a = parse("{" REST ",\"payload\":{}}", &o);
	struct event b = parse("{" REST ",\"payload\":{}}", &o);
	struct event again;

	assert_false(uuid_eq(a.event_id, b.event_id));
	assert_false(uuid_eq(a.correlation, b.correlation));
	assert_false(uuid_eq(a.event_id, a.correlation));
	assert_int_equal(a.event_id.b[6] >> 4, 7);
	/* And they stay what they are. */
	assert_int_equal(envelope_parse(arena, a.body, &o, &again, &e), OK);
	assert_true(uuid_eq(again.event_id, a.event_id));
	assert_true(uuid_eq(again.correlation, a.correlation));
	assert_ptr_equal(again.body.p, a.body.p);
}

static void
a_batch_is_read_from_its_tree(void **)
{
	static const char BATCH[] =
	    "[ " WHOLE("{\"n\":1}") " ,{\"x\":1}, "
				    "{" REST ",\"payload\":{\"n\":3}} ,7]";
	const struct envelope_opts o = {.now_us = NOW};
	struct json *tree = NULL, *j;
	struct event ev = {0};

	assert_int_equal(json_parse(arena, STR(BATCH), &tree, &e), OK);
	j = tree->child;
	assert_int_equal(envelope_read(arena, j, &o, &ev, &e), OK);
	assert_true(str_eq(ev.body, STR(WHOLE("{\"n\":1}"))));
	j = j->next;
	assert_int_equal(envelope_read(arena, j, &o, &ev, &e), ERR_INVALID);
	assert_string_equal(e.at, "/eventType");
	j = j->next;
	assert_int_equal(envelope_read(arena, j, &o, &ev, &e), OK);
	assert_true(str_eq(ev.payload_raw, STR("{\"n\":3}")));
	assert_true(str_ends(ev.body, STR(REST ",\"payload\":{\"n\":3}}")));
	j = j->next;
	assert_int_equal(envelope_read(arena, j, &o, &ev, &e), ERR_INVALID);
}

static const char BAD_DELETE[] =
    "{\"schemaVersion\":1,\"eventType\":\"RecordDeleted\",\"tenantId\":"
    "\"" TENANT "\",\"producer\":{\"service\":\"s\",\"instanceId\":\"i\"},"
    "\"sequence\":{\"partitionKey\":\"k\"},\"payload\":{\"objectName\":1}}";

static void
schema_mode_decides(void **)
{
	static const struct {
		const char *text;
		bool own, warns;
		const char *at; /* NULL: fits */
	} T[] = {
	    {BAD_DELETE, false, true, "/payload/objectName"},
	    {BAD_DELETE, true, false, NULL},
	    {WHOLE("{}"), false, false, "/eventType"}, /* an open world */
	    {WHOLE("{}"), true, false, NULL},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct envelope_opts o = {.now_us = NOW, .own = T[i].own};
		struct event ev = parse(T[i].text, &o);

		assert_int_equal(ev.faults != NULL, T[i].warns);
		if (T[i].warns)
			assert_true(
			    str_eq(ev.faults->first->at, str_of(T[i].at)));
		o.strict = true;
		assert_int_equal(
		    parse_with(T[i].text, &o, &ev), T[i].at ? ERR_INVALID : OK);
		assert_string_equal(e.at, T[i].at ? T[i].at : "");
	}
}

/* Of a type of the catalog: with what the payload says. */
static void
the_sequence_is_filled_in(void **)
{
#define REC  "22222222-2222-4222-8222-22222222222b"
#define LATE "2026-01-10T12:00:00.123Z"
#define PAYLOAD                                                                \
	"\"payload\":{\"objectName\":\"A \\\"b\",\"recordId\":\"" REC          \
	"\",\"ownerId\":\"" REC                                                \
	"\",\"changedFields\":[],\"recordVersion\":\"" LATE "\"}"
#define KEY "\"partitionKey\":\"A \\\"b:" TENANT ":" REC "\""
#define RV  "\"recordVersion\":\"" LATE "\""
	static const struct {
		const char *before, *after; /* of the payload */
		const char *want;           /* in the body */
		const char *strict;         /* where it is wrong, or NULL */
	} ROWS[] = {
	    {"", "", "\"sequence\":{" KEY "," RV "},", NULL},
	    {"\"sequence\":{},", "", "\"sequence\":{" KEY "," RV "},", NULL},
	    {"", ",\"sequence\":{ }", ",\"sequence\":{" KEY "," RV " }", NULL},
	    {"", ",\"sequence\":{\"recordVersion\":null}",
		",\"sequence\":{" KEY "," RV "}", NULL},
	    {"\"sequence\":{\"x\":1,\"recordVersion\": null ,\"y\":2},", "",
		"\"sequence\":{" KEY ",\"x\":1,\"recordVersion\": \"" LATE
		"\" ,\"y\":2},",
		NULL},
	    {"\"sequence\":{" KEY "},", "", "\"sequence\":{" RV "," KEY "},",
		NULL},
	    {"\"sequence\":{\"recordVersion\":\"2026-01-10T21:00:00.123+09:00\"},",
		"", "\"sequence\":{" KEY ",\"recordVersion\":\"2026-01-10T21",
		NULL},
	    {"\"sequence\":{\"partitionKey\":\"mine\"},", "",
		"\"sequence\":{" RV ",\"partitionKey\":\"mine\"},",
		"/sequence/partitionKey"},
	    {"\"sequence\":{\"recordVersion\":\"2026-01-10T12:00:00Z\"},", "",
		"\"recordVersion\":\"2026-01-10T12:00:00Z\"},",
		"/sequence/recordVersion"},
	};

	for (size_t i = 0; i < 2 * COUNT_OF(ROWS); i++) {
		struct mask *mask = NULL;
		struct envelope_opts o = {.now_us = NOW, .strict = i % 2};
		struct event ev = {0};
		char text[2048];
		int rc;

		(void)snprintf(text, sizeof(text),
		    "{\"schemaVersion\":1,\"eventType\":\"RecordUpdated\",\"tenantId\":\"%s\",\"producer\":{\"service\":\"core\",\"instanceId\":\"p\"},%s%s%s}",
		    TENANT, ROWS[i / 2].before, PAYLOAD, ROWS[i / 2].after);
		assert_int_equal(
		    mask_parse(arena, STR("*:/payload/ownerId"), &mask, &e),
		    OK);
		o.mask = mask;
		rc = parse_with(text, &o, &ev);
		if (o.strict && ROWS[i / 2].strict) {
			assert_int_equal(rc, ERR_INVALID);
			assert_string_equal(e.at, ROWS[i / 2].strict);
		} else {
			struct json *j;
			const char *body;

			if (rc < 0)
				fail_msg("%s: %s: %s", text, e.at, e.text);
			body = arena_z(arena, ev.body);
			if (!strstr(body, ROWS[i / 2].want))
				fail_msg("%s lacks %s", body, ROWS[i / 2].want);
			assert_int_equal(
			    json_parse(arena, ev.body, &j, &e), OK);
			assert_true(str_eq(
			    json_get(j, "payload")->raw, ev.payload_raw));
			assert_true(ev.has_rv);
			assert_int_equal(
			    ev.faults != NULL, ROWS[i / 2].strict != NULL);
		}
		arena_reset(arena);
	}
}

static void
our_prefixes_are_ours(void **)
{
	static const char TEXT[] =
	    "{\"schemaVersion\":1,\"eventType\":\"ops.disk.full\",\"tenantId\":"
	    "\"" TENANT "\",\"producer\":{\"service\":\"s\",\"instanceId\":"
	    "\"i\"},\"sequence\":{\"partitionKey\":\"k\"},\"payload\":{}}";
	struct envelope_opts o = {.now_us = NOW};
	struct event ev;

	assert_int_equal(parse_with(TEXT, &o, &ev), ERR_INVALID);
	assert_string_equal(e.at, "/eventType");
	o.own = o.strict = true;
	assert_int_equal(parse_with(TEXT, &o, &ev), OK);
}

static void
masks_change_body_and_payload(void **)
{
	struct envelope_opts o = {.now_us = NOW};
	struct mask *m = NULL;
	struct event ev;

	assert_int_equal(
	    mask_parse(arena, STR("test.*:/payload/a *:/payload/b/0"), &m, &e),
	    OK);
	o.mask = m;
	ev = parse(WHOLE("{\"a\":\"secret\",\"b\":[1,2]}"), &o);
	assert_true(
	    str_eq(ev.body, STR(WHOLE("{\"a\":\"***\",\"b\":[\"***\",2]}"))));
	assert_true(
	    str_eq(ev.payload_raw, STR("{\"a\":\"***\",\"b\":[\"***\",2]}")));
	ev = parse("{" REST ",\"payload\":{\"a\":{}},\"z\":1}", &o);
	assert_true(str_ends(
	    ev.body, STR(REST ",\"payload\":{\"a\":\"***\"},\"z\":1}")));
	assert_true(str_eq(ev.payload_raw, STR("{\"a\":\"***\"}")));
	ev = parse(WHOLE("{\"c\":1}"), &o);
	assert_true(str_eq(ev.body, STR(WHOLE("{\"c\":1}"))));
}

static void
size_is_bounded(void **)
{
	struct envelope_opts o = {.now_us = NOW};
	struct event ev;

	o.body_max = strlen(WHOLE("{}"));
	assert_int_equal(parse_with(" " WHOLE("{}") " ", &o, &ev), OK);
	o.body_max--;
	assert_int_equal(parse_with(WHOLE("{}"), &o, &ev), ERR_LIMIT);
}

static void
a_small_arena_is_an_error(void **)
{
	struct mask *m = NULL;
	bool fitted = false;

	assert_int_equal(
	    mask_parse(arena, STR("*:/payload/objectName"), &m, &e), OK);
	for (size_t limit = 512; !fitted; limit += 16) {
		const struct envelope_opts o = {.now_us = NOW, .mask = m};
		struct arena *a = arena_new(limit);
		struct event ev = {0};
		int rc = envelope_parse(a, STR(BAD_DELETE), &o, &ev, &e);

		fitted = rc == OK;
		if (!fitted)
			assert_true(rc < 0 && rc != ERR_INVALID);
		assert_int_equal(ev.body.p != NULL, fitted);
		arena_free(a);
	}
}

static void
shown_with_its_place(void **)
{
	struct buf b = BUF(KIB);

	envelope_show(&b, STR("{\"a\":1 }"), 42, NOW);
	assert_true(
	    str_eq(buf_str(&b), STR("{\"a\":1 ,\"seq\":42,\"receivedAt\":"
				    "\"2026-01-10T12:34:56.789Z\"}")));
	buf_clear(&b);
	envelope_show_all(&b, STR("{\"a\":1}"), INT64_MAX, NOW, STR("[]"));
	assert_true(str_eq(buf_str(&b),
	    STR("{\"a\":1,\"seq\":9223372036854775807,\"receivedAt\":"
		"\"2026-01-10T12:34:56.789Z\",\"deliveries\":[]}")));
	buf_done(&b);
}

static int
setup(void **)
{
	arena = arena_new(64 * MIB);
	return !arena;
}

static int
teardown(void **)
{
	arena_free(arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(malformed_bodies_are_refused),
	    cmocka_unit_test(fields_are_read),
	    cmocka_unit_test(record_version_may_be_missing),
	    cmocka_unit_test(bytes_survive),
	    cmocka_unit_test(missing_members_are_filled_in),
	    cmocka_unit_test(little_is_needed),
	    cmocka_unit_test(all_that_is_wrong_is_told),
	    cmocka_unit_test(a_tenant_may_be_needed),
	    cmocka_unit_test(made_ids_are_new),
	    cmocka_unit_test(a_batch_is_read_from_its_tree),
	    cmocka_unit_test(schema_mode_decides),
	    cmocka_unit_test(the_sequence_is_filled_in),
	    cmocka_unit_test(our_prefixes_are_ours),
	    cmocka_unit_test(masks_change_body_and_payload),
	    cmocka_unit_test(size_is_bounded),
	    cmocka_unit_test(a_small_arena_is_an_error),
	    cmocka_unit_test(shown_with_its_place),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
