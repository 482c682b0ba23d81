#include "match/types.h"

#include "base/test.h"

static void
checks(void **)
{
	static const struct {
		const char *pattern, *why; /* NULL: fine */
	} ROWS[] = {
	    {"*", NULL},
	    {"RecordUpdated", NULL},
	    {"feed.item.*", NULL},
	    {"feed.item.added", NULL},
	    {"f.*", NULL},
	    {"", "has the wrong length"},
	    {".*", "has the wrong length"},
	    {"**", "last part only"},
	    {"feed*", "last part only"},
	    {"feed.*.added", "last part only"},
	    {"*.added", "last part only"},
	    {"feed.*.*", "last part only"},
	    {"feed..*", "must not end with a dot"},
	    {"feed.", "must not end with a dot"},
	    {"feed..item", "empty part"},
	    {"1feed", "begin with a letter"},
	    {"feed item", "letters, digits"},
	};
	char longest[131];

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct err e = {.code = OK};
		int rc = match_types_check(str_of(ROWS[i].pattern), &e);

		assert_int_equal(rc, ROWS[i].why ? ERR_INVALID : OK);
		if (ROWS[i].why && !strstr(e.text, ROWS[i].why))
			fail_msg("%s: %s", ROWS[i].pattern, e.text);
	}
	memset(longest, 'a', sizeof(longest));
	for (size_t n = 127; n < sizeof(longest); n++) {
		struct err e;

		assert_int_equal(
		    match_types_check((struct str){longest, n}, &e),
		    n <= 128 ? OK : ERR_INVALID);
	}
}

static void
fits(void **)
{
	static const struct {
		const char *pattern, *type;
		bool fit;
	} ROWS[] = {
	    {"*", "a", true},
	    {"*", "a.b.c", true},
	    {"a", "a", true},
	    {"a", "a.b", false},
	    {"a", "b", false},
	    {"a.*", "a.b", true},
	    {"a.*", "a.b.c", true},
	    {"a.*", "a", false},
	    {"a.*", "ab", false},
	    {"a.*", "ab.c", false},
	    {"feed.item.*", "feed.item.added", true},
	    {"feed.item.*", "feed.item.a.b", true},
	    {"feed.item.*", "feed.item", false},
	    {"feed.item.*", "feed.items.added", false},
	    {"feed.item.*", "feed.failed", false},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		if (match_types_fit(match_types_key(str_of(ROWS[i].pattern)),
			str_of(ROWS[i].type)) != ROWS[i].fit)
			fail_msg("%s %s", ROWS[i].pattern, ROWS[i].type);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(checks),
	    cmocka_unit_test(fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
