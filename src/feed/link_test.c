#include "feed/link.h"

#include "base/test.h"

#define B "http://a/b/c/d;p?q"

/* RFC 3986, 5.4, and what feeds add to it. */
static const struct {
	const char *base, *link, *want;
} ROWS[] = {
    {B, "g:h", "g:h"},
    {B, "g", "http://a/b/c/g"},
    {B, "./g", "http://a/b/c/g"},
    {B, "g/", "http://a/b/c/g/"},
    {B, "/g", "http://a/g"},
    {B, "//g", "http://g"},
    {B, "?y", "http://a/b/c/d;p?y"},
    {B, "g?y", "http://a/b/c/g?y"},
    {B, "#s", "http://a/b/c/d;p?q#s"},
    {B, "g#s", "http://a/b/c/g#s"},
    {B, "g?y#s", "http://a/b/c/g?y#s"},
    {B, ";x", "http://a/b/c/;x"},
    {B, "g;x=1/./y", "http://a/b/c/g;x=1/y"},
    {B, ".", "http://a/b/c/"},
    {B, "./", "http://a/b/c/"},
    {B, "..", "http://a/b/"},
    {B, "../g", "http://a/b/g"},
    {B, "../..", "http://a/"},
    {B, "../../g", "http://a/g"},
    {B, "../../../g", "http://a/g"},
    {B, "/./g", "http://a/g"},
    {B, "/../g", "http://a/g"},
    {B, "g.", "http://a/b/c/g."},
    {B, "..g", "http://a/b/c/..g"},
    {B, "g?y/../x", "http://a/b/c/g?y/../x"},
    {"http://a", "g", "http://a/g"},
    {"http://a?x", "g", "http://a/g"},
    {"", "g/h", "g/h"},
    {"not a base", "g", "g"},
    {B, "", ""},
    {B, "  \n http://x/y z\n ", "http://x/y%20z"},
    {B, "http://x/\ny", "http://x/y"},
    {B, "javascript:alert(1)", ""},
    {B, "JavaScript:alert(1)", ""},
    {B, "java\nscript:alert(1)", ""},
    {B, "data:text/html,x", ""},
    {"javascript:x", "g", ""},
    {B, "mailto:a@b", "mailto:a@b"},
};

static void
resolves(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct arena *a = arena_new(1 << 16);
		struct str got =
		    link_resolve(a, str_of(ROWS[i].base), str_of(ROWS[i].link));

		if (!str_eq(got, str_of(ROWS[i].want)))
			fail_msg("\"%s\" on \"%s\": \"%.*s\"", ROWS[i].link,
			    ROWS[i].base, STR_ARG(got));
		arena_free(a);
	}
}

static void
knows_the_web(void **)
{
	assert_true(link_web(STR("http://a")));
	assert_true(link_web(STR("HTTPS://a")));
	assert_false(link_web(STR("http://")));
	assert_false(link_web(STR("http:a")));
	assert_false(link_web(STR("ftp://a")));
	assert_false(link_web(STR("")));
	assert_true(link_absolute(STR("tag:a")));
	assert_false(link_absolute(STR("/a:b")));
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(resolves),
	    cmocka_unit_test(knows_the_web),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
