#include "http/server/reply.h"

#include "base/test.h"
#include "http/server/server_test.h"

static const struct {
	struct err e;
	int status;
	const char *json;
} ROWS[] = {
    {{.code = ERR_INVALID, .text = "no", .at = "/url"}, 422,
	"{\"code\":\"INVALID_FIELD\",\"message\":\"no\",\"pointer\":\"/url\"}"},
    {{.code = ERR_SYNTAX, .text = "a \"b\""}, 400,
	"{\"code\":\"MALFORMED\",\"message\":\"a \\\"b\\\"\"}"},
    {{.code = ERR_STORE, .text = "disk"}, 500,
	"{\"code\":\"INTERNAL\",\"message\":\"internal error\"}"},
    /* cut in mid-character, as vsnprintf does */
    {{.code = ERR_CONFLICT, .text = "caf\xc3"}, 409,
	"{\"code\":\"CONFLICT\",\"message\":\"caf\"}"},
    /* a code nobody thought of must not leak its text */
    {{.code = (enum err_code) - 99, .text = "x"}, 500,
	"{\"code\":\"INTERNAL\",\"message\":\"internal error\"}"},
};

static void
test_items(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct buf b = BUF(KIB);

		http_error_json(&b, &ROWS[i].e);
		assert_int_equal(http_error_status(&ROWS[i].e), ROWS[i].status);
		if (!str_eq(buf_str(&b), str_of(ROWS[i].json)))
			fail_msg("%.*s", STR_ARG(buf_str(&b)));
		buf_done(&b);
	}
}

/* An answer that is like the last one is made of it (reply.c): each has its own
 * id, and what is in between leaves nothing behind. */
static void
test_like_the_last(void **)
{
	static const struct {
		const char *path, *id, *want;
	} T[] = {
	    {"/hello", "one", "{\"hello\":\"world\"}"},
	    {"/hello", "two-and-longer", "{\"hello\":\"world\"}"},
	    {"/items/1", "3", "{\"id\":\"1\",\"part\":\"\"}"},
	    {"/items/2", "4", "{\"id\":\"2\",\"part\":\"\"}"},
	    {"/items/special", "5", "special"},
	    {"/nothing", "6", NULL},
	    {"/items/3", "7", "{\"id\":\"3\",\"part\":\"\"}"},
	    {"/hello", "8", "{\"hello\":\"world\"}"},
	};
	struct server_opts o = test_opts();
	struct server *s = test_start(&o);
	int fd = dial(server_port(s));

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct buf b = BUF(1000);
		struct answer a;
		const char *at;

		buf_fmt(&b, "GET %s" H "X-Request-Id: %s\r\n\r\n", T[i].path,
		    T[i].id);
		(void)put(fd, buf_str(&b));
		a = get(fd, NULL, false);
		buf_clear(&b);
		buf_fmt(&b, "\r\nX-Request-Id: %s\r\n", T[i].id);
		at = memmem(a.head.p, a.head.n, b.p, b.n);
		assert_non_null(at);
		at += 3;
		assert_null(memmem(at, (size_t)(a.head.p + a.head.n - at),
		    "X-Request-Id", 12));
		if (T[i].want)
			assert_true(str_eq(a.body, str_of(T[i].want)));
		assert_int_equal(
		    contains(a.head, "Cache-Control: no-store"), i != 4);
		answer_done(&a);
		buf_done(&b);
	}
	(void)close(fd);
	test_stop(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_items),
	    cmocka_unit_test(test_like_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
