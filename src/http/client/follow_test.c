#include "http/client/follow.h"

#include "base/test.h"

static const struct {
	const char *base, *ref, *want; /* NULL: leads nowhere */
} ROWS[] = {
    {"http://a.example/b/c", "http://x.example/y", "http://x.example/y"},
    {"http://a.example/b/c", "//x.example/y", "http://x.example/y"},
    {"https://a.example/b/c", "//x.example/y", "https://x.example/y"},
    {"http://a.example/b/c", "/y?z=1#f", "http://a.example/y?z=1"},
    {"http://a.example:8080/b/c", "d", "http://a.example:8080/b/d"},
    {"https://a.example:443/b/c", "d", "https://a.example/b/d"},
    {"http://a.example/b/c?q", "?r", "http://a.example/b/c?r"},
    {"http://a.example/b/c?q", "", "http://a.example/b/c?q"},
    {"http://a.example/b/c", "../d", "http://a.example/d"},
    {"http://a.example/b/c", "../../../d/./e/..", "http://a.example/d/"},
    {"http://a.example/b/c", "./", "http://a.example/b/"},
    {"http://a.example/b/c", "/x/../y?a=../b", "http://a.example/y?a=../b"},
    {"http://a.example/", "a b", "http://a.example/a%20b"},
    {"http://a.example/", "a:b", "a:b"}, /* another scheme: for url_parse */
    {"http://a.example", "x", "http://a.example/x"},
    {"http://[2001:db8::1]/b", "c", "http://[2001:db8::1]/c"},
    {"http://a.example/b", "  /trimmed\r\n", "http://a.example/trimmed"},
};

static void
test_resolve(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		char got[URL_TEXT_MAX];
		struct url u;
		struct err e;
		size_t n;

		assert_int_equal(url_parse(str_of(ROWS[i].base), &u, &e), OK);
		n = follow_resolve(&u, str_of(ROWS[i].ref), got);
		if (!str_eq((struct str){got, n}, str_of(ROWS[i].want)))
			fail_msg("row %zu: %.*s", i, (int)n, got);
	}
}

static void
test_resolve_long(void **)
{
	static char ref[URL_TEXT_MAX + 10];
	char got[URL_TEXT_MAX];
	struct url u;
	struct err e;

	memset(ref, 'a', sizeof(ref));
	assert_int_equal(url_parse(STR("http://a.example/"), &u, &e), OK);
	assert_int_equal(
	    follow_resolve(&u, (struct str){ref, sizeof(ref)}, got), 0);
	memset(ref, ' ', sizeof(ref));
	ref[0] = ref[sizeof(ref) - 1] = 'x';
	assert_int_equal(
	    follow_resolve(&u, (struct str){ref, sizeof(ref)}, got), 0);
}

static void
test_header(void **)
{
	struct buf all = BUF(KIB);
	struct str head =
	    STR("HTTP/1.1 200 OK\r\nETag: \"a:b\"\r\netag:  x \r\n"
		"Empty:\r\nBroken\r\n\r\n");

	assert_str(follow_header(head, "ETag"), "x");
	assert_str(follow_header(head, "empty"), "");
	assert_null(follow_header(head, "Broken").p);
	assert_null(follow_header(head, "Location").p);
	assert_null(follow_header(STR_EMPTY, "x").p);
	follow_headers(head, "ETAG", &all);
	assert_str(buf_str(&all), "\"a:b\", x");
	buf_clear(&all);
	follow_headers(head, "location", &all);
	assert_int_equal(all.n, 0);
	buf_done(&all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_resolve),
	    cmocka_unit_test(test_resolve_long),
	    cmocka_unit_test(test_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
