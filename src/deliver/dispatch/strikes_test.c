/* strikes.h: three overruns, a hundred errors, and the edges of their time. */
#include "deliver/dispatch/strikes.h"

#include "base/test.h"
#include "deliver/limits.h"

#define WINDOW ((int64_t)600 * 1000 * 1000)
#define S      ((int64_t)1000 * 1000)

static void
overruns(void **)
{
	static const struct {
		const char *what;
		int64_t at_s[8];
		int held_by; /* which of them; 0: none */
	} ROWS[] = {
	    {"two", {1, 2}, 0},
	    {"three", {1, 2, 3}, 3},
	    {"at the edge", {1, 300, 601}, 3},
	    {"past it", {1, 300, 602}, 0},
	    {"any three in a row", {1, 500, 700, 900}, 4},
	    {"one in five minutes", {1, 302, 603, 904, 1205}, 0},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct strikes s = {.held = 0};

		for (int k = 0; k < 8 && ROWS[i].at_s[k]; k++) {
			enum reason r = k % 2 ? REASON_FILTER_OVERRAN
					      : REASON_TEMPLATE_OVERRAN;
			bool now =
			    strikes_add(&s, r, ROWS[i].at_s[k] * S, WINDOW);

			if (now != (k + 1 == ROWS[i].held_by))
				fail_msg("%s: %d", ROWS[i].what, k + 1);
		}
		assert_int_equal(s.held != 0, ROWS[i].held_by > 0);
	}
}

static void
failures(void **)
{
	struct strikes s = {.held = 0};

	for (int i = 1; i < STRIKE_FAILURES; i++)
		assert_false(
		    strikes_add(&s, REASON_FILTER_FAILED, S + i, WINDOW));
	/* Too late: these begin anew. */
	for (int i = 1; i < STRIKE_FAILURES; i++)
		assert_false(strikes_add(
		    &s, REASON_FILTER_FAILED, 2 * S + WINDOW + i, WINDOW));
	assert_true(
	    strikes_add(&s, REASON_TEMPLATE_FAILED, 3 * S + WINDOW, WINDOW));
	assert_int_equal(s.held, REASON_TEMPLATE_FAILED);
	/* It is told once. */
	assert_false(
	    strikes_add(&s, REASON_TEMPLATE_FAILED, 3 * S + WINDOW, WINDOW));
}

static void
texts(void **)
{
	static const struct {
		enum reason r;
		const char *text;
	} ROWS[] = {
	    {REASON_FILTER_OVERRAN,
		"its filter overran 3 times within 10 minutes"},
	    {REASON_TEMPLATE_OVERRAN,
		"its template overran 3 times within 10 minutes"},
	    {REASON_FILTER_FAILED,
		"its filter failed over 100 events within 10 minutes"},
	    {REASON_TEMPLATE_FAILED,
		"its template failed over 100 events within 10 minutes"},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		assert_string_equal(strikes_text(ROWS[i].r), ROWS[i].text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(overruns),
	    cmocka_unit_test(failures),
	    cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
