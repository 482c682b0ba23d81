/*
 * core_test.c - small scenarios of the core; core_sim_test.c has the invariants.
 */
#include "deliver/core/core.h"

#include "base/test.h"
#include "contract/limits.h"
#include "deliver/core/core_test.h"

/* How many may be in flight after so many answers: o fine, f failed. */
static void
concurrency_follows_results(void **)
{
	static const struct {
		const char *answers;
		int in_flight;
	} ROWS[] = {
	    {"", 2},
	    {"o", 3},
	    {"oooo", 6},
	    {"oooooooooo", 8}, /* its most */
	    {"oooof", 5},      /* one may be the event's own */
	    {"ooooff", 2},     /* two in a row are the endpoint's */
	    {"oooofo", 6},
	    {"ffff", 1},
	    {"ffffo", 2},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct core *c = make(64);
		struct core_sub s = terms(1);
		struct core_send x, fly[64];
		int n = 0;

		s.concurrency = 8;
		core_sub(c, &s, T0);
		for (int64_t seq = 1; seq <= 50; seq++)
			feed(c, 1, seq, 0, T0);
		for (const char *a = ROWS[i].answers; *a; a++) {
			while (core_next_send(c, T0, &x))
				fly[n++] = x;
			result(c, fly[--n].item,
			    *a == 'o' ? CORE_OK : CORE_LATER, T0);
		}
		/* Those that flew before it fell say nothing: they land. */
		while (n > 0)
			result(c, fly[--n].item, CORE_HOLD, T0);
		while (core_next_send(c, T0, &x))
			n++;
		assert_int_equal(n, ROWS[i].in_flight);
		core_free(c);
	}
}

/* The fault of a key is not that of its endpoint. */
/* What was never stored has details that nobody else frees. */
static void
unstored_details_are_freed(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	struct core_result r = {.verdict = CORE_OK};
	struct core_send x;

	core_sub(c, &s, T0);
	for (int64_t i = 1; i <= 2; i++) {
		feed(c, 1, i, 0, T0);
		x = send_one(c, T0);
		r.detail = malloc(8);
		core_result(c, x.item, &r, T0);
		if (i == 1) /* and the store is away */
			assert_int_equal(flush(c, T0)->n_attempts, 1);
	}
	core_free(c);
}

static void
the_sick_share_half_of_the_slots(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	struct core_send x;
	int n = 0;

	core_sub(c, &s, T0);
	for (int64_t seq = 1; seq <= 60; seq++)
		feed(c, 1, seq, 0, T0);
	for (int i = 0; i < 30; i++) {
		x = send_one(c, T0);
		result(c, x.item, CORE_OK, T0);
	}
	while (core_next_send(c, T0, &x))
		n++;
	assert_int_equal(n, 8);
	/* A failure frees a slot, which the sick may not have. */
	result(c, x.item, CORE_LATER, T0);
	send_none(c, T0);
	s = terms(2);
	core_sub(c, &s, T0);
	feed(c, 2, 61, 0, T0);
	assert_int_equal(send_one(c, T0).row.sub, 2);
	core_free(c);
}

static void
an_endpoint_gets_its_rest(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	struct core_result r = {.verdict = CORE_LATER,
	    .delay_us = SEC,
	    .endpoint_wait_us = 60 * SEC,
	    .at = T0};
	const struct core_changes *ch;
	struct core_endpoint stored;
	struct core_send a, b;

	core_sub(c, &s, T0);
	for (int64_t seq = 1; seq <= 4; seq++)
		feed(c, 1, seq, 0, T0);
	a = send_one(c, T0);
	b = send_one(c, T0);
	core_result(c, a.item, &r, T0);
	/* One that began before says nothing against it. */
	result(c, b.item, CORE_OK, T0 + SEC);
	send_none(c, T0 + SEC);
	ch = flush(c, T0 + SEC);
	assert_int_equal(ch->n_endpoints, 1);
	stored = ch->endpoints[0];
	assert_int_equal(stored.not_before, T0 + 60 * SEC);
	core_flushed(c, T0 + SEC);
	core_tick(c, T0 + 59 * SEC);
	send_none(c, T0 + 59 * SEC);
	core_tick(c, T0 + 60 * SEC);
	(void)send_one(c, T0 + 60 * SEC);
	core_free(c);

	c = make(8);
	core_sub(c, &s, T0);
	core_load_endpoint(c, &stored);
	feed(c, 1, 1, 0, T0);
	send_none(c, T0 + 59 * SEC);
	core_tick(c, T0 + 60 * SEC);
	(void)send_one(c, T0 + 60 * SEC);
	core_free(c);
}

static void
a_lock_is_stored_before_the_send(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	const struct core_changes *ch;
	struct core_row row;
	struct core_send x;

	s.lock_us = 180 * SEC;
	core_sub(c, &s, T0);
	feed(c, 1, 1, 0, T0);
	send_none(c, T0);
	ch = flush(c, T0);
	assert_int_equal(ch->n_puts, 1);
	row = ch->puts[0];
	assert_int_equal(row.state, ROW_SENDING);
	assert_int_equal(row.next_at, T0 + 180 * SEC);
	send_none(c, T0);
	core_flushed(c, T0);
	x = send_one(c, T0);
	result(c, x.item, CORE_OK, T0);
	ch = flush(c, T0);
	assert_int_equal(ch->n_dels, 1);
	core_free(c);

	/* The store took its time: too little of the lock is left for a call. */
	c = make(8);
	core_sub(c, &s, T0);
	feed(c, 1, 1, 0, T0);
	send_none(c, T0);
	(void)flush(c, T0);
	core_flushed(c, T0 + 100 * SEC);
	send_none(c, T0 + 100 * SEC);
	ch = flush(c, T0 + 100 * SEC);
	assert_int_equal(ch->puts[0].state, ROW_SENDING);
	assert_int_equal(ch->puts[0].next_at, T0 + 280 * SEC);
	core_flushed(c, T0 + 190 * SEC); /* half of it is enough */
	assert_int_equal(send_one(c, T0 + 190 * SEC).row.seq, 1);
	core_free(c);

	/* After a start the call may be under way still. */
	c = make(8);
	core_sub(c, &s, T0);
	core_load_cursor(c, 1);
	core_load_row(c, &row, T0 + 10 * SEC);
	send_none(c, T0 + 10 * SEC);
	core_tick(c, T0 + 180 * SEC);
	send_none(c, T0 + 180 * SEC);
	(void)flush(c, T0 + 180 * SEC);
	core_flushed(c, T0 + 180 * SEC);
	assert_int_equal(send_one(c, T0 + 180 * SEC).row.seq, 1);
	core_free(c);
}

static void
a_dead_letter_holds_its_lane(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	struct core_row row = {.sub = 1, .okey = 5, .seq = 1};
	struct core_send x;

	s.order = CORE_ORDER_KEY;
	s.block = true;
	core_sub(c, &s, T0);
	feed(c, 1, 1, 5, T0);
	feed(c, 1, 2, 5, T0);
	feed(c, 1, 3, 6, T0);
	x = send_one(c, T0);
	result(c, x.item, CORE_DEAD, T0);
	assert_int_equal(send_one(c, T0).row.seq, 3); /* another key */
	send_none(c, T0);
	/* Again, from the first try on; it fails again. */
	core_requeue(c, &row, T0);
	x = send_one(c, T0);
	assert_int_equal(x.row.seq, 1);
	assert_int_equal(x.row.tries, 0);
	assert_int_equal(x.row.n, 1);
	result(c, x.item, CORE_DEAD, T0);
	send_none(c, T0);
	core_skip(c, 1, 1, 0, T0);
	assert_int_equal(send_one(c, T0).row.seq, 2);
	core_free(c);
}

static void
a_dead_letter_may_be_requeued(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	struct core_row row = {.sub = 1, .seq = 1, .tries = 9, .n = 9};
	const struct core_changes *ch;
	struct core_send x;

	core_sub(c, &s, T0);
	core_load_cursor(c, 5);
	core_requeue(c, &row, T0);
	ch = flush(c, T0);
	assert_int_equal(ch->n_puts, 1);
	core_flushed(c, T0);
	x = send_one(c, T0);
	assert_int_equal(x.row.tries, 0);
	assert_int_equal(x.row.n, 9);
	result(c, x.item, CORE_OK, T0);
	ch = flush(c, T0);
	assert_int_equal(ch->n_attempts, 1);
	assert_int_equal(ch->attempts[0].n, 10);
	assert_int_equal(ch->n_dels, 1);
	core_free(c);
}

static void
a_replay_reads_its_part_of_the_log(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	struct core_reader rd = {.sub = 1, .rep = 2, .pos = 3, .until = 6};
	const struct core_changes *ch;
	struct core_read page;

	core_sub(c, &s, T0);
	core_load_cursor(c, 9);
	core_replay(c, &rd, 10 * SEC);
	assert_true(core_next_read(c, T0, &page));
	assert_int_equal(page.rep, 2);
	assert_int_equal(page.after, 3);
	assert_int_equal(page.upto, 6);
	for (int64_t seq = 4; seq <= 5; seq++) {
		struct core_entry en = {.seq = seq, .sub = 1};

		assert_true(core_read_feed(c, page.reader, &en, T0));
	}
	core_read_done(c, page.reader, 5);
	for (int64_t seq = 4; seq <= 5; seq++) {
		struct core_send x = send_one(c, T0);

		assert_int_equal(x.row.seq, seq);
		assert_int_equal(x.row.rep, 2);
		result(c, x.item, CORE_OK, T0);
	}
	/* Not before its interval is over. */
	assert_false(core_next_read(c, T0 + 9 * SEC, &page));
	core_tick(c, T0 + 10 * SEC);
	assert_true(core_next_read(c, T0 + 10 * SEC, &page));
	assert_int_equal(page.after, 5);
	core_read_done(c, page.reader, 6);
	ch = flush(c, T0 + 10 * SEC);
	assert_int_equal(ch->n_readers, 1);
	assert_true(ch->readers[0].gone);
	core_free(c);
}

static void
rates_hold_for_all_of_an_endpoint(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);

	s.url_rate_us = SEC;
	core_sub(c, &s, T0);
	s.id = 2;
	core_sub(c, &s, T0);
	feed(c, 1, 1, 0, T0);
	feed(c, 2, 2, 0, T0);
	(void)send_one(c, T0);
	send_none(c, T0);
	core_tick(c, T0 + SEC);
	(void)send_one(c, T0 + SEC);
	core_free(c);
}

/* Only what waits is skipped, and a start knows of it. */
static void
a_skip_is_remembered(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1), other = terms(2);
	const struct core_changes *ch;
	struct core_reader rd;
	struct core_row row;

	core_sub(c, &s, T0);
	core_sub(c, &other, T0);
	feed(c, 2, 1, 0, T0); /* holds the cursor */
	for (int64_t seq = 2; seq <= 9; seq++)
		feed(c, 1, seq, 0, T0);
	for (int i = 0; i < 3; i++)
		(void)send_one(c, T0);
	core_sub_skip(c, 1, T0);
	send_none(c, T0);
	ch = flush(c, T0);
	assert_int_equal(ch->n_puts, 2); /* those in flight */
	row = ch->puts[0];
	assert_int_equal(ch->n_readers, 1);
	rd = ch->readers[0];
	core_free(c);

	c = make(8);
	core_sub(c, &s, T0);
	core_load_row(c, &row, T0);
	core_load_reader(c, &rd);
	for (int64_t seq = 2; seq <= 9; seq++)
		feed(c, 1, seq, 0, T0);
	feed(c, 1, 10, 0, T0);
	assert_int_equal(send_one(c, T0).row.seq, row.seq);
	assert_int_equal(send_one(c, T0).row.seq, 10);
	send_none(c, T0);
	core_free(c);
}

static void
assert_why(struct core *c, uint32_t sub, int64_t seq, const char *want)
{
	struct core_seen seen;

	assert_true(core_look(c, sub, seq, 0, &seen));
	assert_string_equal(seen.why, want);
}

static void
it_says_why_one_waits(void **)
{
	struct core *c = make(8);
	struct core_sub s = terms(1);
	struct core_send x;

	s.order = CORE_ORDER_KEY;
	s.breaker_fails = BREAKER_FAILURES;
	s.block = true;
	core_sub(c, &s, T0);
	feed(c, 1, 1, 5, T0);
	feed(c, 1, 2, 5, T0);
	assert_why(c, 1, 1, "it waits for its turn");
	assert_why(c, 1, 2, "an earlier one of its key is not delivered yet");
	x = send_one(c, T0);
	assert_why(c, 1, 1, "it is being sent");
	result(c, x.item, CORE_LATER, T0);
	assert_why(c, 1, 1, "it waits for its next attempt");
	settle(c, T0);
	core_tick(c, T0 + SEC);
	x = send_one(c, T0 + SEC);
	result(c, x.item, CORE_DEAD, T0 + SEC);
	assert_why(
	    c, 1, 1, "it failed for good, and holds the later ones of its key");
	core_skip(c, 1, 1, 0, T0 + SEC);
	s.enabled = false;
	core_sub(c, &s, T0 + SEC);
	assert_why(c, 1, 2, "its subscription is disabled");
	core_free(c);

	c = make(8);
	s = terms(1);
	s.breaker_fails = BREAKER_FAILURES;
	core_sub(c, &s, T0);
	fail_five(c, T0);
	settle(c, T0 + 10 * SEC);
	feed(c, 1, 7, 0, T0 + 10 * SEC);
	assert_why(c, 1, 7, "the breaker of its endpoint is open");
	s = terms(2);
	s.lock_us = SEC;
	core_sub(c, &s, T0);
	feed(c, 2, 8, 0, T0);
	send_none(c, T0);
	assert_why(c, 2, 8, "its lock is being written");
	core_free(c);
}

/* Many that stand still must cost nothing: shown, not asserted. */
static void
show_cost(const char *what, uint32_t idle, int64_t events)
{
	struct core *c = make(64);
	struct core_sub s = terms(1);
	int64_t begin, now = T0;

	core_sub(c, &s, now);
	for (uint32_t i = 2; i < idle + 2; i++) {
		s = terms(i);
		s.endpoint = i % 1000 + 2;
		s.enabled = false;
		core_sub(c, &s, now);
		feed(c, i, i, 0, now);
	}
	begin = clock_mono_us();
	for (int64_t i = 0; i < events; i++, now += 10) {
		struct core_send x;

		feed(c, 1, idle + 2 + i, 0, now);
		core_tick(c, now);
		while (core_next_send(c, now, &x))
			result(c, x.item, CORE_OK, now);
		if (core_next_due(c, now) <= now && core_flush(c, now, false))
			core_flushed(c, now);
	}
	print_message("%s: %lld ns an event\n", what,
	    (long long)((clock_mono_us() - begin) * 1000 / events));
	core_free(c);
}

static void
costs_are_shown(void **)
{
	const char *n = getenv("BENCH_EVENTS");
	int64_t events = n ? strtoll(n, NULL, 10) : 20000;

	show_cost("1 subscription", 0, events);
	show_cost("100,000 more that stand still", 100000, events);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(concurrency_follows_results),
	    cmocka_unit_test(unstored_details_are_freed),
	    cmocka_unit_test(the_sick_share_half_of_the_slots),
	    cmocka_unit_test(an_endpoint_gets_its_rest),
	    cmocka_unit_test(a_lock_is_stored_before_the_send),
	    cmocka_unit_test(a_dead_letter_holds_its_lane),
	    cmocka_unit_test(a_dead_letter_may_be_requeued),
	    cmocka_unit_test(a_replay_reads_its_part_of_the_log),
	    cmocka_unit_test(rates_hold_for_all_of_an_endpoint),
	    cmocka_unit_test(a_skip_is_remembered),
	    cmocka_unit_test(it_says_why_one_waits),
	    cmocka_unit_test(costs_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
