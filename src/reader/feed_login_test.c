#include "reader/feed_login.h"

#include "base/test.h"

static void
test_split(void **)
{
	static const struct {
		const char *typed, *url, *login; /* url NULL: refused */
	} rows[] = {
	    {"https://example.com/f", "https://example.com/f", NULL},
	    {"https://a:b@example.com/f", "https://example.com/f", "a:b"},
	    {" <https://a:b@example.com:81/>", " <https://example.com:81/>",
		"a:b"},
	    {"feed://a:b@example.com", "feed://example.com", "a:b"},
	    {"https://a@example.com", "https://example.com", "a:"},
	    {"https://a:b:c@example.com", "https://example.com", "a:b:c"},
	    {"https://a:b@c@example.com", "https://example.com", "a:b@c"},
	    {"https://a%40b:c%3a%2Fd@example.com", "https://example.com",
		"a@b:c:/d"},
	    {"https://@example.com", "https://example.com", NULL},
	    {"https://example.com/@anna:x", "https://example.com/@anna:x",
		NULL},
	    {"https://example.com?q=a:b@c", "https://example.com?q=a:b@c",
		NULL},
	    {"https://example.com#a:b@c", "https://example.com#a:b@c", NULL},
	    {"mailto:anna@example.com", "mailto:anna@example.com", NULL},
	    {"", "", NULL},
	    {"https://:b@example.com", NULL, NULL},
	    {"https://a%3ab:c@example.com", NULL, NULL},
	    {"https://a:%0Ab@example.com", NULL, NULL},
	    {"https://a:%zz@example.com", NULL, NULL},
	    {"https://a:%ff@example.com", NULL, NULL},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct arena *a = arena_new(64 * KIB);
		struct str url = str_of(rows[i].typed), login = {.p = NULL};
		struct err e = {0};
		int rc = feed_login_split(a, &url, &login, &e);

		if (rc != (rows[i].url ? OK : ERR_INVALID) ||
		    (rc == OK && (!str_eq(url, str_of(rows[i].url)) ||
				     !!login.p != !!rows[i].login ||
				     (login.p && !str_eq(login,
						     str_of(rows[i].login))))))
			fail_msg("%s: %d %.*s %.*s", rows[i].typed, rc,
			    STR_ARG(url), (int)login.n, login.p);
		arena_free(a);
	}
}

#define NONE ((struct str){.p = NULL})

static void
test_make(void **)
{
	static const struct {
		const char *was, *name, *password, *want; /* NULL: none */
		const char *at;                           /* of the error */
	} rows[] = {
	    {NULL, "a", "b", "a:b", NULL},
	    {NULL, "a", NULL, "a:", NULL},
	    {NULL, NULL, NULL, NULL, NULL},
	    {NULL, "", "", NULL, NULL},
	    {NULL, NULL, "b", NULL, "/username"},
	    {NULL, "", "b", NULL, "/username"},
	    {"a:b", NULL, "c:d", "a:c:d", NULL},
	    {"a:b", "z", NULL, "z:b", NULL},
	    {"a:b", NULL, "", "a:", NULL},
	    {"a:b", "", NULL, NULL, NULL},
	    {"a:b", "********", "********", "a:b", NULL},
	    {"a:b", "********", "c", "a:c", NULL},
	    {NULL, "a:b", "c", NULL, "/username"},
	    {NULL, "a\n", "c", NULL, "/username"},
	    {NULL, "a", "c\x7f", NULL, "/password"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct arena *a = arena_new(64 * KIB);
		const char *n = rows[i].name, *p = rows[i].password;
		struct feed_login_edit x = {
		    n ? str_of(n) : NONE, p ? str_of(p) : NONE};
		struct str got = NONE;
		struct err e = {0};
		int rc;

		(void)feed_login_says(&x);
		rc = feed_login_make(
		    a, rows[i].was ? str_of(rows[i].was) : NONE, &x, &got, &e);
		if (rows[i].at) {
			assert_int_equal(rc, ERR_INVALID);
			assert_string_equal(e.at, rows[i].at);
		} else {
			assert_int_equal(rc, OK);
			assert_int_equal(!!got.p, !!rows[i].want);
			if (got.p)
				assert_true(str_eq(got, str_of(rows[i].want)));
		}
		arena_free(a);
	}
}

static void
test_origin(void **)
{
	static const struct {
		const char *a, *b;
		bool want;
	} rows[] = {
	    {"https://example.com/a", "https://EXAMPLE.com:443/b?c", true},
	    {"https://example.com/a", "http://example.com/a", false},
	    {"https://example.com/a", "https://example.com:444/a", false},
	    {"https://example.com/a", "https://www.example.com/a", false},
	    {"https://example.com/a", "https://example.com.evil/a", false},
	    {"https://example.com/a", "nothing", false},
	};
	struct arena *a = arena_new(64 * KIB);

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (feed_login_same_origin(
			str_of(rows[i].a), str_of(rows[i].b)) != rows[i].want)
			fail_msg("%s %s", rows[i].a, rows[i].b);
	assert_true(str_eq(feed_login_header(a, STR("Aladdin:open sesame")),
	    STR("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")));
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_split),
	    cmocka_unit_test(test_make),
	    cmocka_unit_test(test_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
