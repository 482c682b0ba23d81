#include "base/uuid.h"

#include "base/test.h"

static void
reads_and_writes(void **)
{
	static const struct {
		const char *text;
		bool ok;
	} ROWS[] = {
	    {"00000000-0000-0000-0000-000000000000", true},
	    {"0123abcd-4567-89ef-0123-456789abcdef", true},
	    {"0123ABCD-4567-89EF-0123-456789ABCDEF", true},
	    {"0123abcd-4567-89ef-0123-456789abcde", false},
	    {"0123abcd-4567-89ef-0123-456789abcdef0", false},
	    {"0123abcd-4567-89ef-0123-456789abcdeg", false},
	    {"0123abcd-4567-89ef-01234-56789abcdef", false},
	    {"0123abcd04567-89ef-0123-456789abcdef", false},
	    {"{123abcd-4567-89ef-0123-456789abcde}", false},
	    {"0123abcd-4567-89ef-0123-456789abcd:f", false},
	    {"", false},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct buf b = BUF(100);
		struct str s = str_of(ROWS[i].text);
		struct uuid u;

		assert_int_equal(uuid_parse(s, &u), ROWS[i].ok);
		if (ROWS[i].ok) {
			uuid_add(&b, u);
			assert_true(str_eq_nocase(buf_str(&b), s));
		}
		buf_done(&b);
	}
}

/* Any byte in any place: a digit's value, or refused. */
static void
knows_each_digit(void **)
{
	static const char TEXT[] = "00000000-0000-0000-0000-000000000000";
	static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";

	for (size_t at = 0, n = 0; at < UUID_LEN; at++) {
		if (TEXT[at] == '-')
			continue;
		for (int c = 0; c < 256; c++) {
			const char *digit = c ? strchr(DIGITS, c) : NULL;
			char text[sizeof(TEXT)];
			struct uuid u;

			memcpy(text, TEXT, sizeof(text));
			text[at] = (char)c;
			assert_int_equal(
			    uuid_parse((struct str){text, UUID_LEN}, &u),
			    digit != NULL);
			if (!digit)
				continue;
			assert_int_equal(u.b[n / 2] >> (n % 2 ? 0 : 4),
			    (digit - DIGITS) % 16);
			uuid_format(u, text);
			assert_int_equal(
			    text[at], DIGITS[(digit - DIGITS) % 16]);
		}
		n++;
	}
}

static void
carries_version_and_variant(void **)
{
	static const unsigned char DIGEST[16] = {
	    0xff, 1, 2, 3, 4, 5, 0xff, 7, 0xff, 9, 10, 11, 12, 13, 14, 15};
	char text[UUID_LEN + 1];

	for (int i = 0; i < 1000; i++) {
		struct uuid u4 = uuid_v4();
		struct uuid u7 = uuid_v7(clock_now_us());

		assert_int_equal(u4.b[6] >> 4, 4);
		assert_int_equal(u4.b[8] >> 6, 2);
		assert_int_equal(u7.b[6] >> 4, 7);
		assert_int_equal(u7.b[8] >> 6, 2);
	}
	uuid_format(uuid_from_digest(DIGEST), text);
	assert_string_equal(text, "ff010203-0405-8f07-bf09-0a0b0c0d0e0f");
}

static void
v7_grows_with_time(void **)
{
	struct uuid last = {{0}};

	for (int64_t us = 1700000000 * US_PER_S;
	     us < 1700000000 * US_PER_S + 5000; us++) {
		struct uuid u = uuid_v7(us);

		if (us % 10 != 0) /* steps of 1/4096 ms are finer than this */
			continue;
		assert_true(memcmp(u.b, last.b, 8) > 0);
		last = u;
	}
	assert_int_equal(
	    last.b[5], (unsigned char)((1700000000 * US_PER_S + 4990) / 1000));
}

static void
no_two_alike(void **)
{
	static struct uuid seen[2000];

	for (size_t i = 0; i < COUNT_OF(seen); i++) {
		seen[i] = uuid_v4();
		for (size_t j = 0; j < i; j++)
			assert_false(uuid_eq(seen[i], seen[j]));
	}
	assert_true(uuid_eq(seen[0], seen[0]));
	assert_ptr_equal(uuid_str(&seen[1]).p, seen[1].b);
	assert_int_equal(uuid_str(&seen[1]).n, 16);
}

/* Every size from the pool's and past it; all bits come out both ways. */
static void
random_in_any_size(void **)
{
	unsigned char p[1500], ones[1500] = {0}, zeros[1500] = {0};

	for (size_t n = 0; n <= sizeof(p); n += n < 200 ? 1 : 100) {
		memset(p, 0xa5, sizeof(p));
		rand_bytes(p, n);
		for (size_t i = n; i < sizeof(p); i++)
			assert_int_equal(p[i], 0xa5);
	}
	for (int i = 0; i < 64; i++) {
		rand_bytes(p, sizeof(p));
		for (size_t j = 0; j < sizeof(p); j++) {
			ones[j] |= p[j];
			zeros[j] |= (unsigned char)~p[j];
		}
	}
	for (size_t j = 0; j < sizeof(p); j++)
		assert_true(ones[j] == 0xff && zeros[j] == 0xff);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(reads_and_writes),
	    cmocka_unit_test(knows_each_digit),
	    cmocka_unit_test(carries_version_and_variant),
	    cmocka_unit_test(v7_grows_with_time),
	    cmocka_unit_test(no_two_alike),
	    cmocka_unit_test(random_in_any_size),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
