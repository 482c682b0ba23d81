#include "event/ids/bloom.h"

#include "base/test.h"

static int64_t
h_of(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (int64_t)(x ^ x >> 31);
}

/* Never "absent" of what is there; of what is not, as seldom as promised. */
static const struct {
	size_t bytes, n;
	unsigned wrong_most; /* of a thousand */
} T[] = {
    {64, 1, 10},
    {64, 1000, 1000},
    {64 * KIB, 0, 0},
    {64 * KIB, 10000, 10},
    {64 * KIB, 52000, 14},
    {64 * KIB, 78000, 50},
    {64 * KIB, 156000, 250},
    {1 * MIB, 1250000, 50},
};

static void
test_absent_is_true(void **)
{
	for (size_t t = 0; t < COUNT_OF(T); t++) {
		struct bloom *b = bloom_new(T[t].bytes);
		size_t wrong = 0;

		assert_int_equal(bloom_bytes(b), T[t].bytes);
		for (size_t i = 0; i < T[t].n; i++)
			bloom_add(b, h_of(i));
		assert_int_equal(bloom_count(b), T[t].n);
		for (size_t i = 0; i < T[t].n; i++)
			assert_true(bloom_has(b, h_of(i)));
		for (size_t i = 0; i < 100000; i++)
			wrong += bloom_has(b, h_of(T[t].n + i));
		if (wrong > 100 * T[t].wrong_most)
			fail_msg("row %zu: %zu of 100000", t, wrong);
		bloom_free(b);
	}
	bloom_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_absent_is_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
