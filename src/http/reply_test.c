#include "http/reply.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/test.h"

static const struct {
	struct err e;
	int status;
	const char *json;
} ROWS[] = {
    {{ERR_INVALID, 0, "no", "/url", NULL}, 422,
	"{\"code\":\"INVALID_FIELD\",\"message\":\"no\",\"pointer\":\"/url\"}"},
    {{ERR_SYNTAX, 0, "a \"b\"", "", NULL}, 400,
	"{\"code\":\"MALFORMED\",\"message\":\"a \\\"b\\\"\"}"},
    {{ERR_STORE, 0, "disk", "", NULL}, 500,
	"{\"code\":\"INTERNAL\",\"message\":\"internal error\"}"},
    {{ERR_NOMEM, 0, "x", "", NULL}, 500,
	"{\"code\":\"INTERNAL\",\"message\":\"internal error\"}"},
    /* cut in mid-character, as vsnprintf does */
    {{ERR_CONFLICT, 0, "caf\xc3", "", NULL}, 409,
	"{\"code\":\"CONFLICT\",\"message\":\"caf\"}"},
    /* a code nobody thought of must not leak its text */
    {{(enum err_code) - 99, 0, "x", "", NULL}, 500,
	"{\"code\":\"INTERNAL\",\"message\":\"internal error\"}"},
};

static void
test_items(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct buf b = BUF(KIB);

		http_error_json(&b, &ROWS[i].e);
		assert_int_equal(http_error_status(&ROWS[i].e), ROWS[i].status);
		if (!str_eq(buf_str(&b), str_of(ROWS[i].json)))
			fail_msg("%.*s", STR_ARG(buf_str(&b)));
		buf_done(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_items)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
