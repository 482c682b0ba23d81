#include "event/cloud/trace.h"

#include "base/test.h"

#define GOOD "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static void
which_are_valid(void **)
{
	static const struct {
		const char *text;
		bool good;
	} ROWS[] = {
	    {GOOD, true},
	    {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", true},
	    {"", false},
	    {GOOD "0", false},
	    {"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
	    {"00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false},
	    {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", false},
	    {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false},
	    {"00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01", false},
	    {"00-4bf92f3577b34da6a3ce929d0e0e473\"-00f067aa0ba902b7-01", false},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		assert_int_equal(
		    trace_valid(str_of(ROWS[i].text)), ROWS[i].good);
}

static void
found_and_passed_on(void **)
{
	struct str t;
	char next[TRACE_LEN + 1];

	assert_true(
	    trace_of(STR("{\"traceparent\":\"" GOOD "\",\"a\":1}"), &t));
	assert_true(str_eq(t, STR(GOOD)));
	assert_true(trace_of(
	    STR("{\"a\":{\"traceparent\":1},\"traceparent\" : \"" GOOD "\"}"),
	    &t));
	assert_false(
	    trace_of(STR("{\"a\":{\"traceparent\":\"" GOOD "\"}}"), &t));
	assert_false(trace_of(STR("{\"traceparent\":5}"), &t));
	assert_false(trace_of(STR("{\"traceparent\":\"" GOOD), &t));
	trace_next(STR(GOOD), next);
	assert_true(trace_valid(str_of(next)));
	assert_memory_equal(next, GOOD, 36);
	assert_memory_equal(next + 52, GOOD + 52, 3);
	assert_memory_not_equal(next + 36, GOOD + 36, 16);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(which_are_valid),
	    cmocka_unit_test(found_and_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
