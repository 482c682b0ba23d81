#include "source/row.h"

#include "base/conf/conf.h"
#include "base/test.h"
#include "source/limits.h"
#include "source/refused.h"

static struct arena *keep, *scratch;
static struct buf text;

static struct outbox_row
some(void)
{
	struct outbox_row row = {
	    .id = 17,
	    .v =
		{
		    [COL_ID] = STR("17"),
		    [COL_EVENT_ID] =
			STR("0197f000-0000-7000-8000-000000000001"),
		    [COL_TENANT] = STR("11111111-1111-4111-8111-111111111111"),
		    [COL_TYPE] = STR("order.paid"),
		    [COL_VERSION] = STR("1"),
		    [COL_KEY] = STR("k \"1\""),
		    [COL_RV] = STR("2026-01-10T12:34:56.789123Z"),
		    [COL_CORRELATION] =
			STR("22222222-2222-4222-8222-222222222222"),
		    [COL_PRODUCER] =
			STR("{\"service\":\"s\",\"instanceId\":\"i\"}"),
		    [COL_PAYLOAD] = STR(" {\"a\" : 1e400}\n"),
		    [COL_OCCURRED] = STR("2026-01-10T12:34:56.789Z"),
		},
	};

	return row;
}

static struct entry
make(const struct outbox_row *row, int64_t now_us, bool *ret_refused)
{
	struct row_opts o = {.keep = keep,
	    .scratch = scratch,
	    .text = &text,
	    .source = STR("outbox"),
	    .body_max = 1000,
	    .now_us = now_us};
	struct entry en;
	struct err e = {0};

	if (row_entry(&o, row, &en, ret_refused, &e) < 0)
		fail_msg("%s", e.text);
	arena_reset(scratch); /* nothing of the entry may lie there */
	return en;
}

static void
test_event(void **)
{
	struct outbox_row row = some();
	bool refused;
	struct entry en = make(&row, 1, &refused);

	assert_false(refused);
	assert_str(en.type, "order.paid");
	assert_str(en.key, "k \"1\"");
	assert_true(en.has_rv);
	assert_int_equal(en.rv_us % 1000000, 789123);
	assert_str(en.body,
	    "{\"eventId\":\"0197f000-0000-7000-8000-000000000001\","
	    "\"schemaVersion\":1,\"eventType\":\"order.paid\","
	    "\"occurredAt\":\"2026-01-10T12:34:56.789Z\","
	    "\"tenantId\":\"11111111-1111-4111-8111-111111111111\","
	    "\"producer\":{\"service\":\"s\",\"instanceId\":\"i\"},"
	    "\"correlationId\":\"22222222-2222-4222-8222-222222222222\","
	    "\"sequence\":{\"partitionKey\":\"k \\\"1\\\"\","
	    "\"recordVersion\":\"2026-01-10T12:34:56.789123Z\"},"
	    "\"payload\": {\"a\" : 1e400}\n}");
}

/* What is made up is not part of what makes two reads the same. */
static void
test_same_bytes(void **)
{
	struct outbox_row row = some();
	struct entry a, b;
	bool refused;

	row.v[COL_CORRELATION].p = row.v[COL_OCCURRED].p = NULL;
	a = make(&row, 1000000, &refused);
	assert_false(refused);
	b = make(&row, 9000000, &refused);
	assert_memory_equal(a.hash, b.hash, ENTRY_HASH_LEN);
	assert_true(uuid_eq(a.event_id, b.event_id));
	row.v[COL_PAYLOAD] = STR("{}");
	b = make(&row, 1000000, &refused);
	assert_memory_not_equal(a.hash, b.hash, ENTRY_HASH_LEN);
}

static void
test_refused(void **)
{
	static const struct {
		enum outbox_col col;
		const char *value; /* NULL: null */
		const char *pointer;
	} ROWS[] = {
	    {COL_EVENT_ID, NULL, "/eventId"},
	    {COL_EVENT_ID, "17", "/eventId"},
	    {COL_TYPE, NULL, "/eventType"},
	    {COL_TYPE, "ops.mine", "/eventType"},
	    {COL_TYPE, "\xff", "/eventType"},
	    {COL_VERSION, "0", "/schemaVersion"},
	    {COL_VERSION, "1.5", "/schemaVersion"},
	    {COL_RV, "yesterday", "/sequence/recordVersion"},
	    {COL_CORRELATION, "x", "/correlationId"},
	    {COL_TENANT, "no body", "/tenantId"},
	    {COL_PRODUCER, "{\"service\":1}", "/producer/service"},
	    {COL_PRODUCER, "{\"service\":\"s\",\"instanceId\":\"i\"},\"x\":1",
		"/producer"},
	    {COL_PAYLOAD, NULL, "/payload"},
	    {COL_PAYLOAD, "[]", "/payload"},
	    {COL_PAYLOAD, "{", "/payload"},
	    {COL_PAYLOAD, "", "/payload"},
	    {COL_PAYLOAD, "{},\"x\":{}", "/payload"},
	    {COL_PAYLOAD, "{}}", "/payload"},
	    {COL_PAYLOAD, "{\"a\":\xff}", "/payload"},
	    {COL_OCCURRED, "noon", "/occurredAt"},
	    {COL_TOO_LARGE, "2000", "/payload"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct outbox_row row = some();
		struct entry en;
		struct refused x;
		bool refused = false;
		struct err e = {0};

		row.v[ROWS[i].col] = ROWS[i].value ? (struct str){ROWS[i].value,
							 strlen(ROWS[i].value)}
						   : (struct str){.p = NULL};
		en = make(&row, 1, &refused);
		if (!refused)
			fail_msg("row %zu is an event", i);
		if (refused_open(keep, en.body, &x, &e) < 0)
			fail_msg("row %zu: %s", i, e.text);
		if (!str_eq(x.pointer, str_of(ROWS[i].pointer)))
			fail_msg("row %zu: %.*s: %.*s", i, STR_ARG(x.pointer),
			    STR_ARG(x.reason));
		assert_str(x.ref, "17");
		assert_true(x.copy.n > 0 && x.copy.p[0] == '{');
	}
}

static void
test_too_large(void **)
{
	char *big = malloc(2000);
	struct outbox_row row = some();
	bool refused;

	assert_non_null(big);
	memset(big, ' ', 2000);
	big[0] = '{';
	big[1999] = '}';
	row.v[COL_PAYLOAD] = (struct str){big, 2000};
	(void)make(&row, 1, &refused);
	assert_true(refused);
	/* One that is larger than what it is written to. */
	text.limit = 1500;
	(void)make(&row, 1, &refused);
	assert_true(refused);
	text.limit = MIB;
	free(big);
}

static void
test_table(void **)
{
	static const struct {
		const char *in, *out; /* NULL: refused */
	} ROWS[] = {
	    {"outbox_events", "\"outbox_events\""},
	    {"app.Outbox2", "\"app\".\"Outbox2\""},
	    {"", NULL},
	    {".", NULL},
	    {"a.", NULL},
	    {".a", NULL},
	    {"a.b.c", NULL},
	    {"2a", NULL},
	    {"a b", NULL},
	    {"a\"b", NULL},
	    {"a'b", NULL},
	    {"a;DROP", NULL},
	    {"t\xc3\xa9", NULL},
	    {"a123456789012345678901234567890123456789012345678901234567890123",
		NULL},
	};

	struct outbox_opts got[OUTBOXES_MAX];
	struct conf c;
	struct err e;

	assert_int_equal(conf_init(&c, &e), OK);
	assert_int_equal(outbox_all(&c, got, &e), 0);
	c.outbox_url = "sqlite:///x";
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		int rc;

		c.outbox_table = ROWS[i].in;
		rc = outbox_all(&c, got, &e);
		assert_int_equal(rc, ROWS[i].out ? 1 : ERR_INVALID);
		if (ROWS[i].out)
			assert_string_equal(got[0].table, ROWS[i].out);
	}
	conf_done(&c);
	assert_string_equal(outbox_file("sqlite:///x/y.db"), "/x/y.db");
	assert_null(outbox_file("postgres://x/y"));
}

static int
begin(void **)
{
	keep = arena_new(16 * MIB);
	scratch = arena_new(16 * MIB);
	text = BUF(MIB);
	return keep && scratch ? 0 : -1;
}

static int
end(void **)
{
	arena_free(keep);
	arena_free(scratch);
	buf_done(&text);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_event),
	    cmocka_unit_test(test_same_bytes),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_too_large),
	    cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
