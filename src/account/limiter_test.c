#include "account/limiter.h"

#include <stdatomic.h>

#include "account/limits.h"
#include "base/test.h"
#include "loop/thread.h"

static void
test_bucket(void **)
{
	static const struct {
		int64_t at_ms, rate, cost;
		int want, retry_s;
	} rows[] = {
	    /* ten at once, then one each 100 ms */
	    {1000, 10, 9, OK, 0},
	    {1000, 10, 1, OK, 0},
	    {1000, 10, 1, ERR_BUSY, 1},
	    {1099, 10, 1, ERR_BUSY, 1},
	    {1100, 10, 1, OK, 0},
	    {1100, 10, 1, ERR_BUSY, 1},
	    /* a second later it is full again, and no fuller */
	    {9000, 10, 10, OK, 0},
	    {9000, 10, 1, ERR_BUSY, 1},
	    /* a batch above a second's worth waits for a full bucket … */
	    {9500, 10, 50, ERR_BUSY, 1},
	    {10000, 10, 50, OK, 0},
	    /* … and is paid for afterwards */
	    {10000, 10, 1, ERR_BUSY, 5},
	    {14000, 10, 1, ERR_BUSY, 1},
	    {14100, 10, 1, OK, 0},
	    /* nothing costs nothing; no rate is no limit */
	    {14100, 10, 0, OK, 0},
	    {14100, 0, 1000000, OK, 0},
	    /* a higher rate from now on */
	    {14100, 1000, 100, ERR_BUSY, 1},
	    {15100, 1000, 1000, OK, 0},
	    {15101, 1000, 1, OK, 0},
	    {15101, 1000, 1, ERR_BUSY, 1},
	    /* no sum can overflow; an hour is the longest debt */
	    {20000, 1, INT64_MAX, OK, 0},
	    {20000, 1, INT64_MAX, ERR_BUSY, 3600},
	};
	struct limiter *l = limiter_new(LIMITER_MAX, 1);
	struct err e = {0};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int rc = limiter_take(l, 7, rows[i].rate, rows[i].cost,
		    rows[i].at_ms * US_PER_MS, &e);

		if (rc != rows[i].want)
			fail_msg("row %zu: %d", i, rc);
		if (rc < 0)
			assert_int_equal(e.retry_after_s, rows[i].retry_s);
	}
	limiter_free(l);
}

/* Keys don't take from each other, nor does an idle one hold a slot. */
static void
test_keys(void **)
{
	struct limiter *l = limiter_new(LIMITER_MAX, 1);
	struct err e;

	for (int64_t k = 1; k <= LIMITER_MAX; k++)
		assert_int_equal(limiter_take(l, k, 1, 1, 1, &e), OK);
	for (int64_t k = 1; k <= LIMITER_MAX; k++)
		assert_int_equal(limiter_take(l, k, 1, 1, 1, &e), ERR_BUSY);
	assert_int_equal(
	    limiter_take(l, LIMITER_MAX + 1, 1, 1, 1, &e), ERR_BUSY);
	assert_int_equal(
	    limiter_take(l, LIMITER_MAX + 1, 1, 1, 2 * US_PER_S, &e), OK);
	assert_int_equal(
	    limiter_take(l, LIMITER_MAX + 1, 1, 1, 2 * US_PER_S, &e), ERR_BUSY);
	limiter_free(l);
}

/* 120 a minute: 120 at once, then one each half second (seed 002, 13.1). */
static void
test_minute(void **)
{
	struct limiter *l = limiter_new(LIMITER_PEOPLE_MAX, 60);
	int64_t at = 5 * US_PER_S;
	struct err e = {0};

	for (int i = 0; i < 120; i++)
		assert_int_equal(limiter_take(l, 7, 120, 1, at, &e), OK);
	assert_int_equal(limiter_take(l, 7, 120, 1, at, &e), ERR_BUSY);
	assert_int_equal(e.retry_after_s, 1);
	/* another person is not touched by that */
	for (int i = 0; i < 120; i++)
		assert_int_equal(limiter_take(l, 8, 120, 1, at, &e), OK);
	at += 499 * US_PER_MS;
	assert_int_equal(limiter_take(l, 7, 120, 1, at, &e), ERR_BUSY);
	at += 1 * US_PER_MS;
	assert_int_equal(limiter_take(l, 7, 120, 1, at, &e), OK);
	assert_int_equal(limiter_take(l, 7, 120, 1, at, &e), ERR_BUSY);
	/* ten a minute: one each six seconds (13.2) */
	for (int i = 0; i < 10; i++)
		assert_int_equal(limiter_take(l, 9, 10, 1, at, &e), OK);
	assert_int_equal(limiter_take(l, 9, 10, 1, at, &e), ERR_BUSY);
	assert_int_equal(e.retry_after_s, 6);
	at += 60 * US_PER_S;
	for (int i = 0; i < 10; i++)
		assert_int_equal(limiter_take(l, 9, 10, 1, at, &e), OK);
	assert_int_equal(limiter_take(l, 9, 10, 1, at, &e), ERR_BUSY);
	assert_int_equal(limiter_take(l, 9, 0, 1, at, &e), OK);
	limiter_free(l);
}

/* Who is not heard of for a minute leaves no slot behind. */
static void
test_minute_slots(void **)
{
	struct limiter *l = limiter_new(4, 60);
	int64_t at = 5 * US_PER_S;
	struct err e = {0};

	for (int round = 0; round < 100; round++) {
		for (int64_t id = 1; id <= 4; id++)
			assert_int_equal(
			    limiter_take(l, round * 4 + id, 1, 1, at, &e), OK);
		assert_int_equal(
		    limiter_take(l, 100000, 1, 1, at, &e), ERR_BUSY);
		at += 60 * US_PER_S;
	}
	limiter_free(l);
}

enum { THREADS = 4, TRIES = 20000, RATE = 1000 };

struct crowd {
	struct limiter *l;
	_Atomic int passed;
};

static void
push(void *arg)
{
	struct crowd *c = arg;
	struct err e;

	for (int i = 0; i < TRIES; i++)
		if (limiter_take(c->l, 3, RATE, 1, 5, &e) == OK)
			atomic_fetch_add(&c->passed, 1);
}

/* At one instant exactly a second's worth passes, whoever asks. */
static void
test_threads(void **)
{
	struct crowd c = {.l = limiter_new(LIMITER_MAX, 1)};
	struct thread *t[THREADS];
	struct err e;

	assert_int_equal(limiter_take(c.l, 3, RATE, 1, 5, &e), OK);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(thread_start("push", push, &c, &t[i], &e), OK);
	for (int i = 0; i < THREADS; i++)
		thread_join(t[i]);
	assert_int_equal(atomic_load(&c.passed), RATE - 1);
	limiter_free(c.l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bucket),
	    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_minute),
	    cmocka_unit_test(test_minute_slots),
	    cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
