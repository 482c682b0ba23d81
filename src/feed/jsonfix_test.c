#include "feed/jsonfix.h"

#include "base/test.h"

struct row {
	const char *in, *want;
};

static void
mends_json(void **)
{
	static const struct row ROWS[] = {
	    {"{\"a\":1}", "{\"a\":1}"},
	    {"{\"a\":1,}", "{\"a\":1}"},
	    {"[1,2, ]", "[1,2]"},
	    {"{\"a\":\"x\ny\x01\"}", "{\"a\":\"x\\ny\"}"},
	    {"{\"a\":\"\\ud83d!\"}", "{\"a\":\"\\ufffd!\"}"},
	    {"{\"a\":\"\\ud83d\\ude00\"}", "{\"a\":\"\\ud83d\\ude00\"}"},
	    {"{\"a\":\"\\q\\u12\"}", "{\"a\":\"q\\\\u12\"}"},
	    {"{\"a\":[{\"b\":1},{\"c\":\"cu", "{\"a\":[{\"b\":1},{}]}"},
	    {"{\"a\":1,\"b\"", "{\"a\":1}"},
	    {"{\"a\":1}}}", "{\"a\":1}"},
	    {"{\"a\":1 /* x */ // y\n}", "{\"a\":1}"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct arena *a = arena_new(1 << 16);
		struct buf b = BUF(MIB);
		struct json *j;
		struct err e;

		jsonfix(str_of(ROWS[i].in), &b);
		if (!str_eq(buf_str(&b), str_of(ROWS[i].want)))
			fail_msg("%s: %.*s", ROWS[i].in, STR_ARG(buf_str(&b)));
		assert_int_equal(json_parse(a, buf_str(&b), &j, &e), OK);
		buf_done(&b);
		arena_free(a);
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(mends_json),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
