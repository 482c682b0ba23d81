#include "base/str.h"

#include "base/test.h"

static const struct str NONE = {NULL, 0};

static void
compares(void **)
{
	static const struct {
		const char *a, *b;
		int cmp;
		bool nocase;
	} ROWS[] = {
	    {"", "", 0, true}, {"", "a", -1, false}, {"a", "", 1, false},
	    {"abc", "abc", 0, true}, {"abc", "abd", -1, false},
	    {"abc", "ab", 1, false}, {"AbC", "aBc", -1, true},
	    {"a\xff", "a\x01", 1, false},
	    {"[", "{", -1, false}, /* 32 apart, but no letters */
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str a = str_of(ROWS[i].a), b = str_of(ROWS[i].b);
		int d = str_cmp(a, b);

		assert_int_equal((d > 0) - (d < 0), ROWS[i].cmp);
		assert_int_equal(str_eq(a, b), ROWS[i].cmp == 0);
		assert_int_equal(str_eq_nocase(a, b), ROWS[i].nocase);
	}
	assert_true(str_eq(NONE, STR("")));
	assert_true(str_eq(str_of(NULL), STR("")));
}

static void
looks_inside(void **)
{
	struct str s = STR("hello");

	assert_true(str_starts(s, STR("he")));
	assert_true(str_starts(s, STR("")));
	assert_true(str_starts(s, s));
	assert_false(str_starts(STR("he"), s));
	assert_true(str_ends(s, STR("llo")));
	assert_true(str_ends(s, STR("")));
	assert_false(str_ends(STR("llo"), s));
	assert_true(str_has(s, 'o'));
	assert_false(str_has(s, 'x'));
	assert_false(str_has(NONE, 'x'));
}

static void
trims_and_cuts(void **)
{
	struct str s = STR("a,b,,c");

	assert_str(str_trim(STR(" \t a b\r\n")), "a b");
	assert_str(str_trim(STR(" \n")), "");
	assert_str(str_trim(NONE), "");
	assert_str(str_cut(&s, ','), "a");
	assert_str(str_cut(&s, ','), "b");
	assert_str(str_cut(&s, ','), "");
	assert_str(s, "c");
	assert_str(str_cut(&s, ','), "c");
	assert_str(s, "");
	assert_str(str_cut(&s, ','), "");
	assert_str(str_from(STR("abc"), 1), "bc");
	assert_str(str_from(STR("abc"), 3), "");
	assert_str(str_from(STR("abc"), 9), "");
	assert_int_equal(str_from(NONE, 3).n, 0);
}

static void
reads_whole_numbers(void **)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t want;
	} ROWS[] = {
	    {"0", true, 0},
	    {"-0", true, 0},
	    {"42", true, 42},
	    {"-42", true, -42},
	    {"007", true, 7},
	    {"9223372036854775807", true, INT64_MAX},
	    {"-9223372036854775808", true, INT64_MIN},
	    {"9223372036854775808", false, 0},
	    {"-9223372036854775809", false, 0},
	    {"99999999999999999999", false, 0},
	    {"", false, 0},
	    {"-", false, 0},
	    {"+1", false, 0},
	    {" 1", false, 0},
	    {"1 ", false, 0},
	    {"--1", false, 0},
	    {"1.5", false, 0},
	    {"0x10", false, 0},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		int64_t v = 77;

		assert_int_equal(str_int(str_of(ROWS[i].text), &v), ROWS[i].ok);
		assert_int_equal(v, ROWS[i].ok ? ROWS[i].want : 77);
	}
}

static void
finds_bad_utf8(void **)
{
	static const struct {
		const char *text;
		int bad; /* -1: all is good */
	} ROWS[] = {
	    {"", -1},
	    {"plain", -1},
	    {"\xc3\xa9", -1},
	    {"\xe9\xa3\x9b\xe8\x84\x9a", -1},
	    {"\xf0\x9f\x98\x80", -1},
	    {"\xf4\x8f\xbf\xbf", -1}, /* U+10FFFF */
	    {"\xed\x9f\xbf", -1},     /* U+D7FF */
	    {"ab\x80", 2},            /* continuation alone */
	    {"ab\xc3", 2},            /* cut short */
	    {"\xe9\xa3", 0},          /* cut short */
	    {"\xc0\xaf", 0},          /* overlong / */
	    {"\xc1\xbf", 0},          /* overlong */
	    {"\xe0\x9f\xbf", 0},      /* overlong */
	    {"\xf0\x8f\xbf\xbf", 0},  /* overlong */
	    {"x\xed\xa0\x80", 1},     /* surrogate */
	    {"\xf4\x90\x80\x80", 0},  /* past U+10FFFF */
	    {"\xf5\x80\x80\x80", 0},
	    {"\xff", 0},
	    {"\xe2\x28\xa1", 0},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str s = str_of(ROWS[i].text);
		size_t want = ROWS[i].bad < 0 ? s.n : (size_t)ROWS[i].bad;

		assert_int_equal(str_utf8_bad(s), want);
	}
}

static void
reads_hex(void **)
{
	unsigned char b[4] = {0};

	assert_true(str_unhex(STR("00aFf0"), b));
	assert_memory_equal(b, "\x00\xaf\xf0\x00", 4);
	assert_true(str_unhex(STR_EMPTY, b));
	assert_false(str_unhex(STR("0"), b));
	assert_false(str_unhex(STR("0g"), b));
	assert_int_equal(str_hex_digit('G'), -1);
	assert_int_equal(str_hex_digit('F'), 15);
	assert_int_equal(str_hex_digit('\0'), -1);
}

static void
counts_characters(void **)
{
	static const struct {
		const char *z;
		size_t n, bytes;
	} rows[] = {
	    {"", 3, 0},
	    {"abc", 0, 0},
	    {"abc", 2, 2},
	    {"abc", 3, 3},
	    {"abc", 9, 3},
	    {"é不x", 1, 2},
	    {"é不x", 2, 5},
	    {"é不x", 3, 6},
	    {"\x80\x80\x80\x80\x80\x80\x80\x80\x80", 2, 8},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
		    str_chars(str_of(rows[i].z), rows[i].n).n, rows[i].bytes);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(compares),
	    cmocka_unit_test(looks_inside),
	    cmocka_unit_test(trims_and_cuts),
	    cmocka_unit_test(reads_whole_numbers),
	    cmocka_unit_test(finds_bad_utf8),
	    cmocka_unit_test(counts_characters),
	    cmocka_unit_test(reads_hex),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
