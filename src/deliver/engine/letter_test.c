/* letter.h: whom an entry names. */
#include "deliver/engine/letter.h"

#include "base/test.h"

static void
test_named(void **)
{
	static const struct {
		const char *attrs;
		size_t n;
		uint32_t want[3];
	} rows[] = {
	    {"", 0, {0}},
	    {"{}", 0, {0}},
	    {"{\"subs\":[]}", 0, {0}},
	    {"{\"subs\":[7]}", 1, {7}},
	    {"{\"subs\":[7,19,4294967295]}", 3, {7, 19, 4294967295U}},
	    {"{\"subs\":[7", 1, {7}},
	    {"{\"subs\":[x]}", 0, {0}},
	    {"{\"ancestors\":[7]}", 0, {0}},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct letter l = {.attrs = str_of(rows[i].attrs)};
		size_t at = 0, n = 0;
		uint32_t id = 0;

		for (; letter_named(&l, &at, &id); n++)
			assert_int_equal(id, rows[i].want[n]);
		assert_int_equal(n, rows[i].n);
	}
	assert_false(letter_named(&(struct letter){.attrs = {.p = NULL}},
	    &(size_t){0}, &(uint32_t){0}));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_named)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
