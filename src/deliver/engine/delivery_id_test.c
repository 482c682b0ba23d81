#include "deliver/engine/delivery_id.h"

#include "base/test.h"

static const struct delivery_id_key KEY = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};

static const struct {
	int64_t seq;
	uint32_t sub;
	uint16_t rep;
} ROWS[] = {
    {0, 0, 0},
    {1, 1, 0},
    {1, 1, 1},
    {DELIVERY_SEQ_MAX, UINT32_MAX, UINT16_MAX},
    {INT64_C(123456789012), 4000000000U, 60000},
};

static void
test_round_trip(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS) + 100000; i++) {
		bool row = i < COUNT_OF(ROWS);
		int64_t seq = row ? ROWS[i].seq
				  : (int64_t)i * 2654435761 % DELIVERY_SEQ_MAX;
		uint32_t sub = row ? ROWS[i].sub : (uint32_t)(i * 40503);
		uint16_t rep = row ? ROWS[i].rep : (uint16_t)(i % 7);
		struct uuid id = delivery_id_make(&KEY, seq, sub, rep);
		int64_t s = -1;
		uint32_t b = 0;
		uint16_t r = 0;

		assert_int_equal(id.b[6] >> 4, 4);
		assert_int_equal(id.b[8] >> 6, 2);
		assert_true(delivery_id_open(&KEY, id, &s, &b, &r));
		assert_true(s == seq && b == sub && r == rep);
	}
}

/* It is for good: ids that receivers have kept must stay theirs. */
static void
test_never_changes(void **)
{
	static const char *const want[] = {
	    "c316d810-7636-4c32-b3f9-e5d13cbe78a5",
	    "89cc2d28-2cae-49c2-9585-50086e25339a",
	    "94662be4-2e3c-44c7-a5f8-31bbabf1336f",
	    "494c3ffd-06bf-4cc0-bd59-1d7ddd56df76",
	    "a969f296-d5f7-4e20-8608-5d103875aaf8"};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		char text[UUID_LEN + 1];

		uuid_format(delivery_id_make(
				&KEY, ROWS[i].seq, ROWS[i].sub, ROWS[i].rep),
		    text);
		assert_string_equal(text, want[i]);
	}
}

/* One bit off, another key, or any other UUID: not ours. */
static void
test_not_ours(void **)
{
	struct delivery_id_key other = KEY;
	struct uuid id = delivery_id_make(&KEY, 77, 5, 0);
	unsigned passed = 0;
	int64_t s = -1;
	uint32_t b = 9;
	uint16_t r = 9;

	for (int bit = 0; bit < 128; bit++) {
		struct uuid u = id;

		u.b[bit / 8] ^= (unsigned char)(1 << bit % 8);
		assert_false(delivery_id_open(&KEY, u, &s, &b, &r));
	}
	other.b[15] ^= 1;
	assert_false(delivery_id_open(&other, id, &s, &b, &r));
	/* 200,000 guesses pass 0.003 times. */
	for (int i = 0; i < 200000; i++)
		passed += delivery_id_open(&KEY, uuid_v4(), &s, &b, &r);
	assert_in_range(passed, 0, 1);
	if (!passed)
		assert_true(s == -1 && b == 9 && r == 9);
}

/* Neighbours share nothing: each free bit is set half of the time, and half
 * of them change from one seq to the next. */
static void
test_looks_random(void **)
{
	enum { N = 20000 };
	unsigned ones[128] = {0}, changed = 0;
	struct uuid last = delivery_id_make(&KEY, 0, 1, 0);

	for (int i = 1; i <= N; i++) {
		struct uuid u = delivery_id_make(&KEY, i, 1, 0);

		for (int bit = 0; bit < 128; bit++) {
			int is = u.b[bit / 8] >> bit % 8 & 1;
			int was = last.b[bit / 8] >> bit % 8 & 1;

			ones[bit] += is == 1;
			changed += is != was;
		}
		last = u;
	}
	for (int bit = 0; bit < 128; bit++) {
		bool fixed = (bit / 8 == 6 && bit % 8 >= 4) ||
			     (bit / 8 == 8 && bit % 8 >= 6);

		/* Six standard deviations. */
		if (!fixed)
			assert_in_range(ones[bit], N / 2 - 425, N / 2 + 425);
	}
	assert_in_range(changed, N * 61 - 4700, N * 61 + 4700);
}

static void
test_cursors(void **)
{
	const struct delivery_cursor rows[] = {
	    {1, 1, 0, 0},
	    {DELIVERY_SEQ_MAX, UINT32_MAX, UINT16_MAX, UINT32_MAX},
	    {77, 3, 2, 9},
	};
	struct delivery_cursor c = {.seq = -1};
	char text[DELIVERY_CURSOR_LEN + 1], other[DELIVERY_CURSOR_LEN + 1];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		delivery_cursor_make(&KEY, &rows[i], text);
		assert_int_equal(strlen(text), DELIVERY_CURSOR_LEN);
		assert_true(delivery_cursor_open(&KEY, str_of(text), &c));
		assert_memory_equal(&c.seq, &rows[i].seq, sizeof(c.seq));
		assert_int_equal(c.sub, rows[i].sub);
		assert_int_equal(c.rep, rows[i].rep);
		assert_int_equal(c.n, rows[i].n);
	}
	/* Each digit counts, and a cursor has one form. */
	for (size_t i = 0; i < DELIVERY_CURSOR_LEN; i++) {
		memcpy(other, text, sizeof(other));
		other[i] = text[i] == '0' ? '1' : '0';
		assert_false(delivery_cursor_open(&KEY, str_of(other), &c));
		other[i] = 'A';
		assert_false(delivery_cursor_open(&KEY, str_of(other), &c));
	}
	assert_false(delivery_cursor_open(&KEY, STR(""), &c));
	assert_false(delivery_cursor_open(&KEY, STR("0"), &c));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_never_changes),
	    cmocka_unit_test(test_not_ours),
	    cmocka_unit_test(test_looks_random),
	    cmocka_unit_test(test_cursors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
