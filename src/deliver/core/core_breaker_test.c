/*
 * core_breaker_test.c - when an endpoint's breaker opens, for how long, and
 * what closes it.
 */
#include "base/test.h"
#include "contract/limits.h"
#include "deliver/core/core_test.h"

static void
breaker_opens_probes_and_closes(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	const struct core_changes *ch;
	struct core_endpoint stored;
	struct core_send x;
	int64_t opened = T0 + 8 * SEC, now;
	struct core_seen seen;

	s.breaker_fails = BREAKER_FAILURES;
	core_sub(c, &s, T0);
	fail_five(c, T0);
	send_none(c, T0 + 10 * SEC);
	ch = flush(c, T0 + 10 * SEC);
	assert_int_equal(ch->n_endpoints, 1);
	stored = ch->endpoints[0];
	assert_int_equal(stored.open_until, opened + BREAKER_US);
	core_flushed(c, T0 + 10 * SEC);
	/* One probe, which costs no try and opens it again. */
	send_none(c, stored.open_until - 1);
	now = stored.open_until;
	core_tick(c, now);
	x = send_one(c, now);
	assert_true(x.probe);
	send_none(c, now);
	result(c, x.item, CORE_SPENT, now);
	assert_true(core_look(c, 1, x.row.seq, 0, &seen));
	assert_int_equal(seen.row.tries, x.row.tries);
	assert_int_equal(seen.row.n, x.row.n + 1);
	assert_int_equal(seen.row.state, ROW_RETRY);
	settle(c, now);
	send_none(c, now + 10 * SEC);
	now += BREAKER_US;
	core_tick(c, now);
	x = send_one(c, now);
	assert_true(x.probe);
	result(c, x.item, CORE_OK, now);
	/* It is closed, and the store hears of it. */
	x = send_one(c, now);
	assert_false(x.probe);
	ch = flush(c, now);
	assert_int_equal(ch->n_endpoints, 1);
	assert_int_equal(ch->endpoints[0].open_until, 0);
	core_free(c);

	/* A start knows that it was open. */
	c = make(8);
	core_sub(c, &s, T0);
	core_load_endpoint(c, &stored);
	feed(c, 1, 1, 0, T0);
	send_none(c, stored.open_until - 1);
	core_tick(c, stored.open_until);
	assert_true(send_one(c, stored.open_until).probe);
	core_free(c);
}

/* Its tries count once, with order and without: nobody else is held. */
static void
breaker_wants_several_deliveries(void **)
{
	for (int order = CORE_ORDER_NONE; order <= CORE_ORDER_KEY; order++) {
		struct core *c = make(8);
		struct core_sub s = terms(1);
		struct core_send x, y;
		int64_t now = T0;

		s.breaker_fails = 2;
		s.order = order;
		core_sub(c, &s, T0);
		feed(c, 1, 1, 7, T0);
		for (int i = 0; i < 8; i++, now += 2 * SEC) {
			core_tick(c, now);
			x = send_one(c, now);
			assert_int_equal(x.row.seq, 1);
			assert_false(x.probe);
			result(c, x.item, CORE_LATER, now);
			settle(c, now);
		}
		/* It hangs, and another one goes beside it. */
		core_tick(c, now);
		x = send_one(c, now);
		feed(c, 1, 2, 8, now);
		y = send_one(c, now);
		assert_int_equal(y.row.seq, 2);
		result(c, y.item, CORE_LATER, now);
		/* Now they are two. */
		feed(c, 1, 3, 9, now);
		send_none(c, now);
		/* A success of any of them closes it. */
		result(c, x.item, CORE_OK, now);
		assert_int_equal(send_one(c, now).row.seq, 3);
		core_free(c);
	}
}

/* What was tried keeps its schedule; first tries wait, and none is free. */
static void
breaker_holds_first_tries(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	struct core_seen seen;
	struct core_send x;
	int64_t now;

	s.breaker_fails = 1;
	s.breaker_first = true;
	core_sub(c, &s, T0);
	feed(c, 1, 1, 0, T0);
	feed(c, 1, 2, 0, T0);
	x = send_one(c, T0);
	result(c, x.item, CORE_LATER, T0);
	send_none(c, T0);
	settle(c, T0);
	for (int i = 1; i <= 2; i++) {
		now = T0 + i * 2 * SEC;
		core_tick(c, now);
		x = send_one(c, now);
		assert_int_equal(x.row.seq, 1);
		assert_int_equal(x.row.tries, i);
		assert_false(x.probe);
		send_none(c, now);
		result(c, x.item, i < 2 ? CORE_LATER : CORE_SPENT, now);
		settle(c, now);
	}
	assert_false(core_look(c, 1, 1, 0, &seen));
	/* A first try is the probe, and costs a try. */
	send_none(c, T0 + BREAKER_US - 1);
	now = T0 + BREAKER_US;
	core_tick(c, now);
	x = send_one(c, now);
	assert_true(x.probe);
	assert_int_equal(x.row.seq, 2);
	result(c, x.item, CORE_LATER, now);
	assert_true(core_look(c, 1, 2, 0, &seen));
	assert_int_equal(seen.row.tries, 1);
	settle(c, now);
	core_tick(c, now + SEC);
	assert_int_equal(send_one(c, now + SEC).row.seq, 2);
	core_free(c);
}

/* Whatever fails, so many calls go at once. */
static void
failures_leave_the_floor(void **)
{
	struct core *c = make(64);
	struct core_sub s = terms(1);
	struct core_send x;

	s.floor = 3;
	core_sub(c, &s, T0);
	for (int64_t i = 1; i <= 40; i++)
		feed(c, 1, i, 0, T0);
	for (int i = 0; i < 20; i++) {
		x = send_one(c, T0);
		result(c, x.item, CORE_LATER, T0);
	}
	for (int i = 0; i < 3; i++)
		(void)send_one(c, T0);
	send_none(c, T0);
	core_free(c);
}

/* Each has its own terms; who gives up first opens it, for as long as it says. */
static void
breaker_has_terms_of_its_own(void **)
{
	static const struct {
		int fails, other_fails; /* of those who share it */
		int failed;     /* in a row, in turns, the first's first */
		int64_t open_s; /* 0: it is closed */
	} ROWS[] = {
	    {1, 0, 1, 10},
	    {2, 0, 1, 0},
	    {2, 0, 2, 0}, /* the second failure is not its own */
	    {2, 0, 3, 10},
	    {3, 2, 2, 50},
	    {3, 4, 3, 10},
	    {0, 0, 12, 0},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct core *c = make(64);
		struct core_sub a = terms(1), b = terms(2);
		const struct core_changes *ch;
		int64_t open_until = 0;

		a.breaker_fails = ROWS[i].fails;
		a.breaker_us = 10 * SEC;
		b.breaker_fails = ROWS[i].other_fails;
		b.breaker_us = 50 * SEC;
		b.endpoint = 1;
		core_sub(c, &a, T0);
		core_sub(c, &b, T0);
		for (int k = 0; k < ROWS[i].failed; k++) {
			struct core_send x;

			feed(c, k % 2 ? 2 : 1, k + 1, 0, T0);
			x = send_one(c, T0);
			assert_int_equal(x.row.sub, k % 2 ? 2 : 1);
			result(c, x.item, CORE_LATER, T0);
		}
		ch = flush(c, T0);
		if (ch->n_endpoints > 0)
			open_until = ch->endpoints[0].open_until - T0;
		assert_int_equal(open_until, ROWS[i].open_s * SEC);
		core_flushed(c, T0);
		core_free(c);
	}
}

/* A probe that fails before it is made leaves the breaker as it is. */
static void
breaker_stays_when_nothing_was_asked(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	struct core_result r = {.verdict = CORE_DEAD, .unasked = true};
	int64_t now = T0 + 8 * SEC + BREAKER_US;
	struct core_send x;

	s.breaker_fails = BREAKER_FAILURES;
	core_sub(c, &s, T0);
	fail_five(c, T0);
	settle(c, T0 + 10 * SEC);
	core_tick(c, now);
	x = send_one(c, now);
	assert_true(x.probe);
	core_result(c, x.item, &r, now);
	x = send_one(c, now);
	assert_true(x.probe);
	send_none(c, now);
	core_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(breaker_opens_probes_and_closes),
	    cmocka_unit_test(breaker_wants_several_deliveries),
	    cmocka_unit_test(breaker_holds_first_tries),
	    cmocka_unit_test(failures_leave_the_floor),
	    cmocka_unit_test(breaker_has_terms_of_its_own),
	    cmocka_unit_test(breaker_stays_when_nothing_was_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
