#include "base/buf.h"

#include <unistd.h>

#include "base/test.h"

static void
grows_to_its_limit(void **)
{
	struct buf b = BUF(1000);

	for (int i = 0; i < 1000; i++)
		buf_addc(&b, (char)('a' + i % 26));
	assert_false(b.failed);
	assert_int_equal(b.n, 1000);
	assert_true(b.cap <= 1000);
	assert_int_equal(b.p[999], 'a' + 999 % 26);
	buf_addc(&b, 'x');
	assert_true(b.failed);
	assert_int_equal(b.n, 1000);
	buf_done(&b);
}

static void
failure_is_sticky(void **)
{
	struct buf b = BUF(4);

	buf_addz(&b, "abc");
	buf_addz(&b, "de");
	assert_true(b.failed);
	buf_addc(&b, 'f'); /* would fit */
	assert_str(buf_str(&b), "abc");
	assert_null(buf_room(&b, 1));
	buf_clear(&b);
	buf_addz(&b, "wxyz");
	assert_false(b.failed);
	assert_str(buf_str(&b), "wxyz");
	assert_null(buf_room(&b, SIZE_MAX));
	assert_true(b.failed);
	buf_done(&b);
	assert_str(buf_str(&b), "");
}

static void
empty_runs_are_fine(void **)
{
	struct buf b = BUF(10);

	assert_str(buf_str(&b), "");
	buf_add(&b, STR_EMPTY);
	buf_add(&b, (struct str){NULL, 0});
	buf_addz(&b, NULL);
	buf_hex(&b, STR_EMPTY);
	assert_false(b.failed);
	assert_str(buf_str(&b), "");
	buf_done(&b);
}

static void
writes_numbers(void **)
{
	static const struct {
		int64_t v;
		const char *want;
	} ROWS[] = {
	    {0, "0"},
	    {7, "7"},
	    {-7, "-7"},
	    {1000, "1000"},
	    {INT64_MAX, "9223372036854775807"},
	    {INT64_MIN, "-9223372036854775808"},
	};
	struct buf b = BUF(100);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		buf_clear(&b);
		buf_int(&b, ROWS[i].v);
		assert_true(str_eq(buf_str(&b), str_of(ROWS[i].want)));
	}
	buf_clear(&b);
	buf_fmt(&b, "%s=%05.1f", "x", 2.5);
	buf_fmt(&b, "%s", "");
	buf_hex(&b, STR("\x00\xfe\x1f"));
	assert_str(buf_str(&b), "x=002.500fe1f");
	buf_done(&b);
}

static void
format_over_the_limit_fails(void **)
{
	struct buf b = BUF(4);

	buf_fmt(&b, "%s", "12345");
	assert_true(b.failed);
	assert_int_equal(b.n, 0);
	buf_done(&b);
}

static void
writes_json_strings(void **)
{
	static const struct {
		struct str in;
		const char *want;
	} ROWS[] = {
	    {STR(""), "\"\""},
	    {STR("plain"), "\"plain\""},
	    {STR("a\"b\\c"), "\"a\\\"b\\\\c\""},
	    {STR("\n\r\t\b\f"), "\"\\n\\r\\t\\b\\f\""},
	    {STR("\x01\x1f\x7f"), "\"\\u0001\\u001f\\u007f\""},
	    {STR("a\0b"), "\"a\\u0000b\""},
	    {STR("\xe9\xa3\x9b/"), "\"\xe9\xa3\x9b/\""},
	};
	struct buf b = BUF(100);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		buf_clear(&b);
		buf_json(&b, ROWS[i].in);
		assert_true(str_eq(buf_str(&b), str_of(ROWS[i].want)));
	}
	buf_done(&b);
}

/* All of a file, up to the limit and not a byte past it. */
static void
reads_files(void **)
{
	char text[1500];

	memset(text, 'x', sizeof(text));
	for (size_t limit = sizeof(text) - 1; limit <= sizeof(text) + 1;
	     limit++) {
		struct buf b = BUF(limit);
		int ends[2];

		assert_int_equal(pipe(ends), 0);
		assert_int_equal(
		    write(ends[1], text, sizeof(text)), sizeof(text));
		assert_int_equal(close(ends[1]), 0);
		assert_int_equal(buf_read(&b, ends[0]), limit >= sizeof(text));
		assert_int_equal(b.failed, limit < sizeof(text));
		assert_int_equal(
		    b.n, limit < sizeof(text) ? limit : sizeof(text));
		assert_int_equal(close(ends[0]), 0);
		buf_done(&b);
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(grows_to_its_limit),
	    cmocka_unit_test(failure_is_sticky),
	    cmocka_unit_test(empty_runs_are_fine),
	    cmocka_unit_test(writes_numbers),
	    cmocka_unit_test(format_over_the_limit_fails),
	    cmocka_unit_test(writes_json_strings),
	    cmocka_unit_test(reads_files),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
