#include "base/clock.h"

#include "base/test.h"

static void
reads_rfc3339(void **)
{
	static const struct {
		const char *text;
		bool ok, utc;
		int64_t want;
	} ROWS[] = {
	    {"1970-01-01T00:00:00Z", true, true, 0},
	    {"1970-01-01T00:00:00.000001Z", true, true, 1},
	    {"1970-01-01T00:00:00.1Z", true, true, 100000},
	    {"1970-01-01T00:00:00.123456789Z", true, true, 123456},
	    {"1969-12-31T23:59:59.999Z", true, true, -1000},
	    {"1970-01-01t01:00:00z", true, true, 3600 * US_PER_S},
	    {"1970-01-01T00:00:00+01:00", true, false, -3600 * US_PER_S},
	    {"1970-01-01T00:00:00-00:30", true, false, 1800 * US_PER_S},
	    {"1970-01-01T00:00:00+00:00", true, false, 0},
	    {"2000-02-29T00:00:00Z", true, true, 951782400 * US_PER_S},
	    {"2026-01-10T12:34:56.789Z", true, true, 1768048496789000},
	    {"2016-12-31T23:59:60Z", true, true, 1483228800 * US_PER_S},
	    {"0000-01-01T00:00:00Z", true, true, -62167219200 * US_PER_S},
	    {"9999-12-31T23:59:59Z", true, true, 253402300799 * US_PER_S},
	    {"1900-02-29T00:00:00Z", false, false, 0},
	    {"2023-02-29T00:00:00Z", false, false, 0},
	    {"2023-04-31T00:00:00Z", false, false, 0},
	    {"2023-00-01T00:00:00Z", false, false, 0},
	    {"2023-13-01T00:00:00Z", false, false, 0},
	    {"2023-01-00T00:00:00Z", false, false, 0},
	    {"2023-01-01T24:00:00Z", false, false, 0},
	    {"2023-01-01T00:60:00Z", false, false, 0},
	    {"2023-01-01T00:00:61Z", false, false, 0},
	    {"2023-01-01T00:00:00", false, false, 0},
	    {"2023-01-01 00:00:00Z", false, false, 0},
	    {"2023-01-01T00:00:00.Z", false, false, 0},
	    {"2023-01-01T00:00:00.1234567890Z", false, false, 0},
	    {"2023-01-01T00:00:00+24:00", false, false, 0},
	    {"2023-01-01T00:00:00+0100", false, false, 0},
	    {"2023-01-01T00:00Z", false, false, 0},
	    {"2023-1-1T00:00:00Z", false, false, 0},
	    {"2023-01-01T00:00:00Zx", false, false, 0},
	    {"2023-01-01", false, false, 0},
	    {"", false, false, 0},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str s = str_of(ROWS[i].text);
		int64_t us = 77;
		bool utc = false;

		assert_int_equal(time_parse(s, &us, &utc), ROWS[i].ok);
		assert_int_equal(us, ROWS[i].ok ? ROWS[i].want : 77);
		assert_int_equal(utc, ROWS[i].utc);
		if (ROWS[i].ok)
			assert_true(time_parse(s, &us, NULL));
	}
}

static void
writes_what_it_reads(void **)
{
	static const char *const ROWS[] = {
	    "1970-01-01T00:00:00.000Z",
	    "1969-12-31T23:59:59.999Z",
	    "2024-02-29T23:59:59.001Z",
	    "2000-03-01T00:00:00.000Z",
	    "0001-01-01T00:00:00.000Z",
	    "9999-12-31T23:59:59.999Z",
	};
	struct buf b = BUF(100);

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		char text[TIME_LEN + 1];
		int64_t us;

		assert_true(time_parse(str_of(ROWS[i]), &us, NULL));
		time_format(us, text);
		assert_string_equal(text, ROWS[i]);
		/* Less than a millisecond is dropped, not rounded. */
		time_format(us + 999, text);
		assert_string_equal(text, ROWS[i]);
	}
	time_add(&b, 0);
	assert_str(buf_str(&b), "1970-01-01T00:00:00.000Z");
	buf_done(&b);
}

static void
every_day_for_400_years(void **)
{
	char text[TIME_LEN + 1], last[TIME_LEN + 1] = "";

	for (int64_t day = -40000; day < 146097 - 40000; day++) {
		int64_t us;

		time_format(day * US_PER_DAY, text);
		assert_true(strcmp(text, last) > 0);
		assert_true(time_parse(str_of(text), &us, NULL));
		assert_int_equal(us, day * US_PER_DAY);
		memcpy(last, text, sizeof(last));
	}
}

static void
knows_real_days(void **)
{
	static const struct {
		const char *text;
		bool ok;
	} ROWS[] = {
	    {"2024-02-29", true},
	    {"2023-02-29", false},
	    {"2024-12-31", true},
	    {"2024-12-32", false},
	    {"2024-12-31 ", false},
	    {"24-12-31", false},
	    {"", false},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		assert_int_equal(time_is_day(str_of(ROWS[i].text)), ROWS[i].ok);
}

static void
goes_forward(void **)
{
	int64_t a = clock_mono_us(), b = clock_mono_us();

	assert_true(b >= a);
	assert_true(clock_mono_ms() >= a / US_PER_MS);
	/* After this was written, and before the year 2200. */
	assert_true(clock_now_us() > 1700000000 * US_PER_S);
	assert_true(clock_now_us() < 7258118400 * US_PER_S);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(reads_rfc3339),
	    cmocka_unit_test(writes_what_it_reads),
	    cmocka_unit_test(every_day_for_400_years),
	    cmocka_unit_test(knows_real_days),
	    cmocka_unit_test(goes_forward),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
