#include "reader/secret_url.h"

#include "base/test.h"

static void
test_secret(void **)
{
	static const struct {
		const char *url;
		bool want;
	} rows[] = {
	    {"https://example.com/feed", false},
	    {"https://example.com/feed?page=2&format=rss", false},
	    {"https://example.com/me.atom?token=AbCdEf0123456789", true},
	    {"https://example.com/rss?x=1&AUTH=0123456789", true},
	    {"https://example.com/rss?access_token=0123456789", true},
	    {"https://example.com/rss?apiKey=0123456789", true},
	    {"https://example.com/rss?token=", false},
	    {"https://example.com/rss?auth=yes", false},
	    {"https://example.com/rss?tokens=0123456789", false},
	    {"https://example.com/rss#?token=0123456789", false},
	    {"https://example.com/token=0123456789", false},
	    {"https://anna:secret@example.com/rss", true},
	    {"https://example.com/@anna/rss", false},
	    {"https://example.com?u=a@b", false},
	    {"", false},
	    {"no address", false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (secret_url(str_of(rows[i].url)) != rows[i].want)
			fail_msg("%s", rows[i].url);
}

static void
test_json(void **)
{
	static const struct {
		const char *url, *want;
	} rows[] = {
	    {"https://a:b@example.com/x", "\"https://example.com/x\""},
	    {"https://a@b@example.com", "\"https://example.com\""},
	    {"https://example.com/@anna", "\"https://example.com/@anna\""},
	    {"http://example.com?q=a@b", "\"http://example.com?q=a@b\""},
	    {"mailto:anna@example.com", "\"mailto:anna@example.com\""},
	    {"", "\"\""},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buf b = BUF(KIB);

		secret_url_json(str_of(rows[i].url), &b);
		if (!str_eq(buf_str(&b), str_of(rows[i].want)))
			fail_msg("%.*s", STR_ARG(buf_str(&b)));
		buf_done(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_secret),
	    cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
