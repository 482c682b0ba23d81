/* Widths, escapes and cuts, as a terminal has them. */
#include "cli/out/term.h"

#include "base/test.h"

static void
measures(void **)
{
	static const struct {
		const char *text;
		size_t width;
	} ROWS[] = {
	    {"", 0},
	    {"abc", 3},
	    {"漢字", 4},
	    {"é", 1},
	    {"e\u0301", 1}, /* combining */
	    {"飛脚 x", 6},
	    {"…", 1},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		assert_int_equal(
		    term_width(str_of(ROWS[i].text)), ROWS[i].width);
}

static void
cleans(void **)
{
	static const struct {
		struct str text;
		bool lines;
		const char *want;
	} ROWS[] = {
	    {{"plain 漢", 9}, false, "plain 漢"},
	    {{"\033[31m", 5}, false, "\\x1b[31m"},
	    {{"a\nb\t", 4}, true, "a\nb\t"},
	    {{"a\nb", 3}, false, "a\\x0ab"},
	    {{"\xc2\x9b"
	      "1m",
		 4},
		false, "\\xc2\\x9b1m"},
	    {{"\xff"
	      "x",
		 2},
		true, "\\xffx"},
	    {{"\x7f", 1}, true, "\\x7f"},
	};
	struct arena *a = arena_new(MIB);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str got = term_clean(a, ROWS[i].text, ROWS[i].lines);

		assert_true(str_eq(got, str_of(ROWS[i].want)));
	}
	arena_free(a);
}

static void
fits(void **)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *want;
	} ROWS[] = {
	    {"abcdef", 6, "abcdef"},
	    {"abcdef", 5, "abcd…"},
	    {"漢字漢字", 5, "漢字…"},
	    {"漢字漢字", 4, "漢…"},
	};
	struct arena *a = arena_new(MIB);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		assert_true(
		    str_eq(term_fit(a, str_of(ROWS[i].text), ROWS[i].columns),
			str_of(ROWS[i].want)));
	arena_free(a);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(measures),
	    cmocka_unit_test(cleans),
	    cmocka_unit_test(fits),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
