/* alerts.h: the rules, at their edges. */
#include "ops/alerts.h"

#include <math.h>

#include "base/test.h"

static void
test_rules(void **)
{
	static const struct {
		const char *what;
		struct alert_sums s;
		enum alert_rule rule;
		bool fires;
	} rows[] = {
	    {"nothing", {.ok = 0}, ALERT_SUCCESS_99, false},
	    {"too few", {.ok = 8, .dead = 1}, ALERT_SUCCESS_99, false},
	    {"99 of 100", {.ok = 99, .dead = 1}, ALERT_SUCCESS_99, false},
	    {"98 of 100", {.ok = 98, .dead = 2}, ALERT_SUCCESS_99, true},
	    {"95 of 100", {.ok = 95, .dead = 5}, ALERT_SUCCESS_95, false},
	    {"94 of 100", {.ok = 94, .dead = 6}, ALERT_SUCCESS_95, true},
	    {"all fast", {.ok = 100, .hist = {100}}, ALERT_LATENCY, false},
	    {"5 of 100 slow",
		{.ok = 100, .hist = {90, 0, 0, 0, 5, 5}, .slow_us = 7000000},
		ALERT_LATENCY, false},
	    {"6 of 100 slow",
		{.ok = 100, .hist = {90, 0, 0, 0, 4, 6}, .slow_us = 7000000},
		ALERT_LATENCY, true},
	    {"past the last", {.ok = 10, .hist = {0}, .slow_us = 60000000},
		ALERT_LATENCY, true},
	    {"1.5 retries", {.ok = 20, .fail = 30}, ALERT_RETRIES, false},
	    {"over 1.5", {.ok = 20, .fail = 31}, ALERT_RETRIES, true},
	    {"10 an hour", {.dead_hour = 10}, ALERT_FAILURES, false},
	    {"11 an hour", {.dead_hour = 11}, ALERT_FAILURES, true},
	    {"two in a row", {.fail = 2}, ALERT_IN_A_ROW, false},
	    {"three", {.fail = 3, .in_a_row = true}, ALERT_IN_A_ROW, true},
	    {"1000 wait", {.waiting = 1000}, ALERT_WAITING, false},
	    {"1001 wait", {.waiting = 1001}, ALERT_WAITING, true},
	    {"not held", {.ok = 1}, ALERT_HELD, false},
	    {"held", {.held = true}, ALERT_HELD, true},
	    {"no state", {.dead = 9, .dead_hour = 9}, ALERT_DEAD, false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (alert_fires(rows[i].rule, &rows[i].s) != rows[i].fires)
			fail_msg("%s", rows[i].what);
}

static void
test_values(void **)
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
