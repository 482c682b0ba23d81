#include "base/near.h"

#include "base/test.h"

static void
finds_the_closest(void **)
{
	static const char *const KNOWN[] = {
	    "serve", "migrate", "event tail", "http.body.max", "up"};
	static const struct {
		const char *typed, *want;
	} ROWS[] = {
	    {"serv", "serve"},
	    {"srve", "serve"},
	    {"sevre", "serve"},
	    {"serve", "serve"},
	    {"migarte", "migrate"},
	    {"event tial", "event tail"},
	    {"http.body.size", "http.body.max"},
	    {"http_body_max", "http.body.max"},
	    {"", NULL},
	    {"xx", NULL},
	    {"completely-else", NULL},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct near n = near_to(str_of(ROWS[i].typed));

		for (size_t j = 0; j < COUNT_OF(KNOWN); j++)
			near_try(&n, KNOWN[j]);
		if (ROWS[i].want)
			assert_string_equal(n.best, ROWS[i].want);
		else
			assert_null(n.best);
	}
}

static void
leaves_long_words_alone(void **)
{
	char word[NEAR_WORD_MAX + 2];
	struct near n;

	memset(word, 'a', sizeof(word));
	word[NEAR_WORD_MAX] = '\0';
	n = near_to(str_of(word));
	near_try(&n, word);
	assert_ptr_equal(n.best, word);
	word[NEAR_WORD_MAX] = 'a';
	word[NEAR_WORD_MAX + 1] = '\0';
	n = near_to(str_of(word));
	near_try(&n, word);
	assert_null(n.best);
	n = near_to(str_of("aaa"));
	near_try(&n, word);
	assert_null(n.best);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(finds_the_closest),
	    cmocka_unit_test(leaves_long_words_alone),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
