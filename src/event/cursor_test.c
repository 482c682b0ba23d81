#include "event/cursor.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h> /* wants the others first */
/* clang-format on */

static const int64_t SEQS[] = {0, 1, 2, 63, 64, 255, 256, 65535, 1000000,
    INT64_C(1) << 32, (INT64_C(1) << 53) + 1, INT64_MAX - 1, INT64_MAX};

static void
every_seq_comes_back(void **)
{
	struct err e;

	for (size_t i = 0; i < COUNT_OF(SEQS); i++) {
		char token[CURSOR_LEN + 1];
		int64_t seq = -1;

		cursor_format(SEQS[i], token);
		assert_int_equal(strlen(token), CURSOR_LEN);
		assert_int_equal(cursor_parse(str_of(token), &seq, &e), OK);
		assert_true(seq == SEQS[i]);
	}
}

/* Tokens that clients have kept must stay good. */
static void
the_form_is_pinned(void **)
{
	static const struct {
		int64_t seq;
		const char *token;
	} T[] = {
	    {0, "AQAAAAAAAAAAEVYN"},
	    {1, "AQAAAAAAAAABlxr2"},
	};
	char token[CURSOR_LEN + 1];

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		cursor_format(T[i].seq, token);
		assert_string_equal(token, T[i].token);
	}
}

static void
any_one_change_is_found(void **)
{
	struct err e;
	int64_t seq = 7;

	for (size_t i = 0; i < COUNT_OF(SEQS); i++) {
		char good[CURSOR_LEN + 1], bad[CURSOR_LEN + 1];

		cursor_format(SEQS[i], good);
		for (size_t at = 0; at < CURSOR_LEN; at++)
			for (int c = 0; c < 256; c++) {
				memcpy(bad, good, sizeof(bad));
				bad[at] = (char)c;
				if (bad[at] == good[at])
					continue;
				assert_int_equal(
				    cursor_parse((struct str){bad, CURSOR_LEN},
					&seq, &e),
				    ERR_INVALID);
			}
		/* Neighbours that changed places. */
		for (size_t at = 1; at < CURSOR_LEN; at++) {
			memcpy(bad, good, sizeof(bad));
			bad[at] = good[at - 1];
			bad[at - 1] = good[at];
			if (bad[at] == good[at])
				continue;
			assert_int_equal(
			    cursor_parse(str_of(bad), &seq, &e), ERR_INVALID);
		}
	}
	assert_int_equal(seq, 7);
}

static void
strangers_are_told_why(void **)
{
	static const struct {
		const char *token, *why;
	} T[] = {
	    {"", "16 characters, this one has 0"},
	    {"AQAAAAAAAAAAEVY", "this one has 15"},
	    {"AQAAAAAAAAAAEVYN=", "this one has 17"}, {"0", "this one has 1"},
	    {"AQAAAAAAAAA+5E4V", "letters, digits"},
	    {"aaaaaaaaaaaaaaaa", "altered, or is not from here"},
	    {"AgAAAAAAAAAAkJji", "version"}, /* a version 2, well made */
	    {"AYAAAAAAAAAAb-kL", "version"}, /* a seq below 0, well made */
	};
	struct err e;
	int64_t seq;

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		assert_int_equal(
		    cursor_parse(str_of(T[i].token), &seq, &e), ERR_INVALID);
		if (!strstr(e.text, T[i].why))
			fail_msg("%s: %s", T[i].token, e.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_seq_comes_back),
	    cmocka_unit_test(the_form_is_pinned),
	    cmocka_unit_test(any_one_change_is_found),
	    cmocka_unit_test(strangers_are_told_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
