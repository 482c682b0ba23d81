/* alerts.h: the rules, at their edges. */
#include "ops/alerts.h"

#include <math.h>

#include "base/test.h"

static void
test_rules(void **state)
{
	static const struct {
		const char *what;
		enum alert_rule rule;
		struct alert_sums s;
		bool fires;
	} rows[] = {
	    {"nothing", ALERT_SUCCESS_99, {.ok = 0}, false},
	    {"too few", ALERT_SUCCESS_99, {.ok = 8, .dead = 1}, false},
	    {"99 of 100", ALERT_SUCCESS_99, {.ok = 99, .dead = 1}, false},
	    {"98 of 100", ALERT_SUCCESS_99, {.ok = 98, .dead = 2}, true},
	    {"95 of 100", ALERT_SUCCESS_95, {.ok = 95, .dead = 5}, false},
	    {"94 of 100", ALERT_SUCCESS_95, {.ok = 94, .dead = 6}, true},
	    {"all fast", ALERT_LATENCY, {.ok = 100, .hist = {100}}, false},
	    {"5 of 100 slow", ALERT_LATENCY,
		{.ok = 100, .hist = {90, 0, 0, 0, 5, 5}, .slow_us = 7000000},
		false},
	    {"6 of 100 slow", ALERT_LATENCY,
		{.ok = 100, .hist = {90, 0, 0, 0, 4, 6}, .slow_us = 7000000},
		true},
	    {"past the last", ALERT_LATENCY,
		{.ok = 10, .hist = {0}, .slow_us = 60000000}, true},
	    {"1.5 retries", ALERT_RETRIES, {.ok = 20, .fail = 30}, false},
	    {"over 1.5", ALERT_RETRIES, {.ok = 20, .fail = 31}, true},
	    {"10 an hour", ALERT_FAILURES, {.dead_hour = 10}, false},
	    {"11 an hour", ALERT_FAILURES, {.dead_hour = 11}, true},
	    {"two in a row", ALERT_IN_A_ROW, {.fail = 2}, false},
	    {"three", ALERT_IN_A_ROW, {.fail = 3, .in_a_row = true}, true},
	    {"1000 wait", ALERT_WAITING, {.waiting = 1000}, false},
	    {"1001 wait", ALERT_WAITING, {.waiting = 1001}, true},
	    {"no state", ALERT_DEAD, {.dead = 9, .dead_hour = 9}, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (alert_fires(rows[i].rule, &rows[i].s) != rows[i].fires)
			fail_msg("%s", rows[i].what);
}

static void
test_values(void **state)
{
	static const struct {
		enum alert_rule rule;
		struct alert_sums s;
		double want;
	} rows[] = {
	    {ALERT_SUCCESS_99, {.ok = 0}, 100},
	    {ALERT_SUCCESS_99, {.ok = 1, .dead = 3}, 25},
	    {ALERT_LATENCY, {.ok = 0}, 0},
	    {ALERT_LATENCY, {.ok = 4, .hist = {4}, .slow_us = 20000}, 0.02},
	    {ALERT_LATENCY, {.ok = 20, .hist = {18, 1, 1}, .slow_us = 900000},
		0.5},
	    {ALERT_RETRIES, {.ok = 2, .fail = 6, .dead = 2}, 1},
	    {ALERT_RETRIES, {.dead = 3}, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		double v = -1;

		(void)alert_value(rows[i].rule, &rows[i].s, &v);
		if (fabs(v - rows[i].want) > 1e-9)
			fail_msg("row %zu: %g", i, v);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rules),
	    cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
