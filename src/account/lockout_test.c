#include "account/lockout.h"

#include "account/limits.h"
#include "base/test.h"

static const struct lockout_opts OPTS = {
    .failures_max = 3,
    .window_us = 100 * US_PER_S,
    .first_us = 1 * US_PER_S,
    .lock_us = 8 * US_PER_S,
};

static void
test_rule(void **)
{
	enum { FAIL, PASS, WAIT };
	static const struct {
		int64_t at_s;
		int what;
		int64_t wait_s;
	} rows[] = {
	    {1000, WAIT, 0},
	    {1000, FAIL, 0},
	    {1001, FAIL, 0},
	    {1001, WAIT, 0},
	    /* the third locks, each further one for twice as long */
	    {1002, FAIL, 0},
	    {1002, WAIT, 1},
	    {1003, WAIT, 0},
	    {1003, FAIL, 0},
	    {1003, WAIT, 2},
	    {1005, FAIL, 0},
	    {1005, WAIT, 4},
	    {1009, FAIL, 0},
	    {1009, WAIT, 8},
	    {1017, FAIL, 0},
	    {1017, WAIT, 8},
	    {1024, WAIT, 1},
	    /* a success forgets */
	    {1025, PASS, 0},
	    {1025, FAIL, 0},
	    {1025, FAIL, 0},
	    {1025, WAIT, 0},
	    /* so does a quiet window, not a shorter one */
	    {1126, FAIL, 0},
	    {1127, FAIL, 0},
	    {1127, WAIT, 0},
	    {1227, FAIL, 0},
	    {1227, WAIT, 1},
	    /* … counted from the end of the lock */
	    {1327, FAIL, 0},
	    {1327, WAIT, 2},
	};
	struct lockout *l = lockout_new(&OPTS);
	struct lockout_key k =
	    lockout_pair(STR("admin"), STR("$h"), "192.0.2.1");

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t now = rows[i].at_s * US_PER_S;
		int64_t wait;

		if (rows[i].what == FAIL)
			lockout_failed(l, &k, now);
		if (rows[i].what == PASS)
			lockout_passed(l, &k);
		if (rows[i].what != WAIT)
			continue;
		wait = lockout_wait_us(l, &k, now);
		if (wait != rows[i].wait_s * US_PER_S)
			fail_msg("row %zu: %lld us", i, (long long)wait);
	}
	lockout_free(l);
}

/* Which two callers are one pair. */
static void
test_pairs(void **)
{
	static const struct {
		const char *name, *peer;
		bool same;
	} rows[] = {
	    {"admin", "192.0.2.1", true},
	    {"admin", "::ffff:192.0.2.1", true},
	    {"admin", "192.0.2.2", false},
	    {"Admin", "192.0.2.1", false},
	    {"admin1", "92.0.2.1", false},
	    {"", "192.0.2.1", false},
	    {"admin", "c000:201::", false},
	    {"admin", "somewhere", false},
	};
	struct lockout_key a = lockout_pair(
			       STR("admin"), STR("$h"), "192.0.2.1"),
			   b;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		b = lockout_pair(str_of(rows[i].name), STR("$h"), rows[i].peer);
		if ((memcmp(&a, &b, sizeof(a)) == 0) != rows[i].same)
			fail_msg("row %zu", i);
	}
	/* a new password is a new count */
	b = lockout_pair(STR("admin"), STR("$i"), "192.0.2.1");
	assert_memory_not_equal(&a, &b, sizeof(a));
	a = lockout_network("2001:db8:1:2::1");
	b = lockout_network("2001:db8:1:2:ffff::9");
	assert_memory_equal(&a, &b, sizeof(a));
	b = lockout_network("2001:db8:1:3::1");
	assert_memory_not_equal(&a, &b, sizeof(a));
}

/* However many names are tried, memory stays; the oldest pair goes first. */
static void
test_bound(void **)
{
	struct lockout *l = lockout_new(&OPTS);
	struct lockout_key first = lockout_pair(STR("first"), STR("$h"), "::1");
	struct lockout_key held = lockout_pair(STR("held"), STR("$h"), "::1");
	char name[32];

	for (int i = 0; i < 3; i++)
		lockout_failed(l, &first, US_PER_S);
	for (int i = 0; i < 2; i++)
		lockout_failed(l, &held, US_PER_S);
	for (int i = 0; i < 3 * LOCKOUT_MAX; i++) {
		struct lockout_key k;

		(void)snprintf(name, sizeof(name), "n%d", i);
		k = lockout_pair(str_of(name), STR("$h"), "::1");
		lockout_failed(l, &k, US_PER_S);
		if (i == LOCKOUT_MAX - 10) {
			assert_true(lockout_wait_us(l, &first, US_PER_S) > 0);
			lockout_failed(l, &held, US_PER_S);
		}
		if (i == LOCKOUT_MAX + 10) {
			assert_int_equal(
			    lockout_wait_us(l, &first, US_PER_S), 0);
			assert_true(lockout_wait_us(l, &held, US_PER_S) > 0);
		}
		if (i > 2 * LOCKOUT_MAX && i % 7 == 0)
			lockout_passed(l, &k);
	}
	assert_int_equal(lockout_wait_us(l, &held, US_PER_S), 0);
	lockout_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rule),
	    cmocka_unit_test(test_pairs),
	    cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
