#include "reader/fetch/typed.h"

#include "base/test.h"

static const struct {
	const char *typed, *first, *second; /* first NULL: refused */
} ROWS[] = {
    {"https://example.com/feed", "https://example.com/feed", NULL},
    {"  http://example.com/a b\n", "http://example.com/a%20b", NULL},
    {"example.com", "https://example.com", "http://example.com"},
    {"EXAMPLE.com/Feed", "https://example.com/Feed", "http://example.com/Feed"},
    {"//example.com/x", "https://example.com/x", "http://example.com/x"},
    {"localhost:8080/x", "https://localhost:8080/x", "http://localhost:8080/x"},
    {"feed://example.com/x", "https://example.com/x", "http://example.com/x"},
    {"feed:https://example.com/x", "https://example.com/x", NULL},
    {"FEED:http://example.com/x", "http://example.com/x", NULL},
    {"<https://example.com/>", "https://example.com/", NULL},
    {"HTTPS://Example.com/A", "https://example.com/A", NULL},
    {"https://example.com/\tfe\ned", "https://example.com/feed", NULL},
    {"https://b\xc3\xbc"
     "cher.example/f",
	"https://xn--bcher-kva.example/f", NULL},
    {"https://\xe3\x83\x89\xe3\x83\xa1\xe3\x82\xa4\xe3\x83\xb3\xe3\x80\x82jp",
	"https://xn--eckwd4c7c.jp", NULL},
    {"m\xc3\xbcnchen.de", "https://xn--mnchen-3ya.de",
	"http://xn--mnchen-3ya.de"},
    {"ftp://example.com/x", "ftp://example.com/x", NULL},
    {"javascript:alert(1)", "javascript:alert(1)", NULL},
    {"", NULL, NULL},
    {"  \n ", NULL, NULL},
    {"https://", NULL, NULL},
    {"feed:", NULL, NULL},
    {"\xff\xfe", NULL, NULL},
};

static void
test_table(void **)
{
	struct arena *a = arena_new(1 << 20);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str got[TYPED_MAX];
		size_t n = 0;
		struct err e;
		int rc = typed_urls(a, str_of(ROWS[i].typed), got, &n, &e);

		if (!ROWS[i].first) {
			assert_int_equal(rc, ERR_INVALID);
			assert_string_equal(e.at, "/url");
			continue;
		}
		assert_int_equal(rc, OK);
		assert_int_equal(n, ROWS[i].second ? 2 : 1);
		if (!str_eq(got[0], str_of(ROWS[i].first)))
			fail_msg("row %zu: %.*s", i, STR_ARG(got[0]));
		if (n == 2)
			assert_true(str_eq(got[1], str_of(ROWS[i].second)));
	}
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
