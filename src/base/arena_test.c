#include "base/arena.h"

#include <stdalign.h>

#include "base/test.h"

static void
hands_out_zeroed_and_aligned(void **)
{
	struct arena *a = arena_new(1 << 20);

	for (size_t n = 0; n < 3000; n++) {
		unsigned char *p = arena_alloc(a, n % 97);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
		for (size_t i = 0; i < n % 97; i++) {
			assert_int_equal(p[i], 0);
			p[i] = 0xff;
		}
		if (n % 1000 == 999)
			arena_reset(a);
	}
	arena_free(a);
	arena_free(NULL);
}

static void
keeps_its_limit(void **)
{
	struct arena *a = arena_new(100);

	assert_null(arena_try(a, 101));
	assert_non_null(arena_try(a, 60));
	assert_null(arena_try(a, 41));
	assert_non_null(arena_try(a, 40));
	assert_int_equal(arena_used(a), 100);
	assert_null(arena_try(a, 1));
	assert_null(arena_try(a, SIZE_MAX));
	assert_false(arena_over(a));
	assert_str(arena_fmt(a, "%d", 1), "1");
	assert_true(arena_over(a));
	assert_null(arena_try(a, 0));
	arena_reset(a);
	assert_int_equal(arena_used(a), 0);
	assert_false(arena_over(a));
	assert_non_null(arena_array(a, 10, 10));
	arena_free(a);
}

static void
takes_what_is_larger_than_a_block(void **)
{
	struct arena *a = arena_new(8 << 20);
	char *big = arena_alloc(a, 3 << 20);

	assert_non_null(big);
	big[(3 << 20) - 1] = 'x';
	assert_non_null(arena_alloc(a, 4 << 20));
	assert_null(arena_try(a, 2 << 20));
	arena_reset(a);
	assert_non_null(arena_alloc(a, 7 << 20));
	arena_free(a);
}

static void
copies_and_formats(void **)
{
	struct arena *a = arena_new(4096);
	struct str s;

	s = arena_dup(a, STR("pa\0ir"));
	assert_int_equal(s.n, 5);
	assert_memory_equal(s.p, "pa\0ir", 6);
	assert_str(arena_dup(a, STR_EMPTY), "");
	assert_str(arena_dup(a, (struct str){NULL, 0}), "");
	assert_string_equal(arena_z(a, (struct str){"hello", 4}), "hell");
	assert_str(arena_fmt(a, "%s-%d", "n", 42), "n-42");
	arena_free(a);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(hands_out_zeroed_and_aligned),
	    cmocka_unit_test(keeps_its_limit),
	    cmocka_unit_test(takes_what_is_larger_than_a_block),
	    cmocka_unit_test(copies_and_formats),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
