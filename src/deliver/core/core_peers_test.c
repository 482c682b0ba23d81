/* core.h, RECORDS: small scenarios; core_sim_test.c has the invariants. */
#include "base/test.h"
#include "deliver/core/core.h"
#include "deliver/core/limits.h"

#define SEC    ((int64_t)1000 * 1000)
#define T0     (1000 * SEC)
#define REASON 21

static void
no_ev(void *)
{
}

static struct core *
make(const struct core_sub *o)
{
	struct core_opts opts = {.slots = 64,
	    .free_detail = free,
	    .coalesced = REASON,
	    .free_ev = no_ev};
	struct core *c = core_new(&opts);

	core_sub(c, o, T0);
	return c;
}

static struct core_sub
terms(int order, bool alone, bool coalesce)
{
	return (struct core_sub){
	    .id = 1,
	    .endpoint = 1,
	    .order = order,
	    .concurrency = 100,
	    .enabled = true,
	    .alone = alone,
	    .coalesce = coalesce,
	};
}

static void
feed(struct core *c, int64_t seq, uint64_t rec, int64_t rv)
{
	struct core_entry en = {
	    .seq = seq, .sub = 1, .okey = 5, .rec = {rec, 0}, .rv = rv};

	core_feed(c, &en, T0);
	core_upto(c, seq);
}

/* The seq of the next send; 0: none. */
static int64_t
sent(struct core *c, int64_t now, struct item **ret)
{
	struct core_send x;

	if (!core_next_send(c, now, &x))
		return 0;
	*ret = x.item;
	return x.row.seq;
}

static void
result(struct core *c, struct item *it, enum core_verdict v, int64_t now)
{
	struct core_result r = {
	    .verdict = v, .delay_us = SEC, .at = now, .rv = CORE_NO_RV};

	core_result(c, it, &r, now);
}

static void
store(struct core *c, int64_t now)
{
	assert_non_null(core_flush(c, now, true));
	core_flushed(c, now);
}

/* Of entries that wait, with the first in flight: which are sent after it. */
static void
the_newest_is_sent(void **)
{
#define NO CORE_NO_RV
	static const struct {
		int order;
		struct {
			uint64_t rec;
			int64_t rv;
		} fed[5]; /* seq 1, 2, … */
		int64_t want[5];
	} ROWS[] = {
	    {CORE_ORDER_KEY, {{1, 1}, {1, 2}, {1, 3}, {1, 4}}, {4}},
	    {CORE_ORDER_KEY, {{1, 9}, {1, 4}, {1, 3}, {1, 2}}, {2}},
	    {CORE_ORDER_KEY, {{1, 9}, {1, 3}, {1, 4}, {1, 2}}, {3}},
	    /* one save */
	    {CORE_ORDER_KEY, {{1, 9}, {1, 3}, {1, 3}, {1, 2}}, {2, 3}},
	    {CORE_ORDER_KEY, {{1, 9}, {1, 3}, {1, 3}, {1, 4}}, {4}},
	    /* others of the same order key */
	    {CORE_ORDER_KEY, {{1, 1}, {1, 2}, {2, 3}, {1, 4}}, {3, 4}},
	    {CORE_ORDER_KEY, {{1, 1}, {2, 2}, {3, 3}, {4, 4}}, {2, 3, 4}},
	    /* no version: as the log has them; no record: none yields */
	    {CORE_ORDER_KEY, {{1, NO}, {1, NO}, {1, NO}, {1, NO}}, {4}},
	    {CORE_ORDER_KEY, {{0, 1}, {0, 2}, {0, 3}, {0, 4}}, {2, 3, 4}},
	    {CORE_ORDER_NONE, {{1, 1}, {1, 2}, {1, 3}, {1, 4}}, {4}},
	    {CORE_ORDER_NONE, {{1, 9}, {1, 3}, {1, 4}, {1, 2}}, {3}},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct core_sub o =
		    terms(ROWS[i].order, ROWS[i].order == 0, true);
		struct core *c = make(&o);
		struct item *first = NULL, *it = NULL;
		const struct core_changes *ch;
		size_t n = 0, dropped = 0;

		feed(c, 1, ROWS[i].fed[0].rec, ROWS[i].fed[0].rv);
		assert_int_equal(sent(c, T0, &first), 1);
		for (int k = 1; k < 4; k++)
			feed(c, k + 1, ROWS[i].fed[k].rec, ROWS[i].fed[k].rv);
		assert_int_equal(sent(c, T0, &it), 0);
		result(c, first, CORE_OK, T0);
		for (; ROWS[i].want[n]; n++) {
			int64_t seq = sent(c, T0, &it);

			if (seq != ROWS[i].want[n])
				fail_msg("row %zu: %lld is sent, not %lld", i,
				    (long long)seq, (long long)ROWS[i].want[n]);
			result(c, it, CORE_OK, T0);
		}
		assert_int_equal(sent(c, T0, &it), 0);
		ch = core_flush(c, T0, true);
		assert_non_null(ch);
		for (size_t k = 0; k < ch->n_attempts; k++)
			dropped +=
			    ch->attempts[k].result.verdict == CORE_DROP &&
			    ch->attempts[k].result.reason == REASON;
		assert_int_equal(dropped, 3 - n);
		assert_int_equal(ch->cursor, 4);
		core_free(c);
	}
}

/* What waits for its next attempt keeps its time, and then yields. */
static void
a_retry_yields(void **)
{
	static const int ORDERS[] = {CORE_ORDER_KEY, CORE_ORDER_NONE};

	for (size_t i = 0; i < COUNT_OF(ORDERS); i++) {
		struct core_sub o = terms(ORDERS[i], false, true);
		struct core *c = make(&o);
		struct item *it = NULL;
		struct core_count n;
		int64_t now = T0;

		feed(c, 1, 1, 1);
		assert_int_equal(sent(c, now, &it), 1);
		result(c, it, CORE_LATER, now);
		feed(c, 2, 1, 2);
		feed(c, 3, 1, 3);
		if (ORDERS[i] == CORE_ORDER_KEY) {
			assert_int_equal(sent(c, now, &it), 0);
			store(c, now);
			now += SEC;
			core_tick(c, now);
		}
		assert_int_equal(sent(c, now, &it), 3);
		result(c, it, CORE_OK, now);
		store(c, now);
		core_tick(c, now + 2 * SEC);
		assert_int_equal(sent(c, now + 2 * SEC, &it), 0);
		core_counts(c, &n);
		assert_int_equal(n.items, 0);
		assert_int_equal(n.cursor, 3);
		core_free(c);
	}
}

static void
what_is_asked_for_stays(void **)
{
	struct core_sub o = terms(CORE_ORDER_KEY, true, true);
	struct core_row row = {
	    .sub = 1, .seq = 1, .okey = 5, .rec = {1, 0}, .asked = true};
	struct core *c = make(&o);
	const struct core_changes *ch;
	struct core_send x;
	struct item *it = NULL;

	core_upto(c, 1);
	core_requeue(c, &row, T0);
	feed(c, 2, 1, 2);
	assert_true(core_next_send(c, T0, &x));
	assert_true(x.row.seq == 1 && x.row.asked);
	result(c, x.item, CORE_LATER, T0);
	ch = core_flush(c, T0, true);
	assert_non_null(ch);
	assert_true(ch->n_puts == 1 && ch->puts[0].asked);
	core_flushed(c, T0);
	/* After a start too. */
	row = ch->puts[0];
	core_free(c);
	c = make(&o);
	core_load_cursor(c, 1);
	core_load_row(c, &row, T0);
	feed(c, 2, 1, 2);
	core_tick(c, T0 + 2 * SEC);
	assert_true(core_next_send(c, T0 + 2 * SEC, &x));
	assert_true(x.row.seq == 1 && x.row.asked);
	assert_int_equal(sent(c, T0, &it), 0); /* they share a lane */
	core_free(c);
}

static void
one_of_a_record_at_a_time(void **)
{
	struct core_sub o = terms(CORE_ORDER_NONE, true, false);
	struct core *c = make(&o);
	struct item *a = NULL, *b = NULL, *it = NULL;

	feed(c, 1, 1, 1);
	feed(c, 2, 1, 2);
	feed(c, 3, 2, 1);
	assert_int_equal(sent(c, T0, &a), 1);
	assert_int_equal(sent(c, T0, &b), 3);
	assert_int_equal(sent(c, T0, &it), 0);
	result(c, b, CORE_OK, T0);
	assert_int_equal(sent(c, T0, &it), 0);
	/* It waits for a retry, and lets the newer one pass. */
	result(c, a, CORE_LATER, T0);
	assert_int_equal(sent(c, T0, &it), 2);
	store(c, T0);
	core_tick(c, T0 + 2 * SEC);
	assert_int_equal(sent(c, T0 + 2 * SEC, &a), 0);
	result(c, it, CORE_OK, T0 + 2 * SEC);
	assert_int_equal(sent(c, T0 + 2 * SEC, &a), 1);
	result(c, a, CORE_DROP, T0 + 2 * SEC);
	core_free(c);
}

/* What was not sent uses up no rate, and says nothing of its endpoint. */
static void
a_drop_costs_nothing(void **)
{
	struct core_sub o = terms(CORE_ORDER_NONE, true, false);
	struct core *c;
	struct item *it = NULL;

	o.rate_us = 10 * SEC;
	c = make(&o);
	for (int64_t seq = 1; seq <= 50; seq++)
		feed(c, seq, 1, 100 - seq);
	for (int64_t seq = 1; seq <= 49; seq++) {
		assert_int_equal(sent(c, T0, &it), seq);
		result(c, it, CORE_DROP, T0);
	}
	assert_int_equal(sent(c, T0, &it), 50);
	result(c, it, CORE_OK, T0);
	feed(c, 51, 1, 1);
	assert_int_equal(sent(c, T0, &it), 0);
	core_free(c);
}

/* Drops are bounded too: with many unwritten all wait, and none is lost. */
static void
drops_have_their_bound(void **)
{
	struct core_sub o = terms(CORE_ORDER_NONE, true, true);
	struct core *c = make(&o);
	struct item *first = NULL, *it = NULL;
	struct core_count n;

	feed(c, 1, 1, 1);
	assert_int_equal(sent(c, T0, &first), 1);
	for (int64_t seq = 2; seq <= UNFLUSHED_MAX + 100; seq++)
		feed(c, seq, 1, seq);
	core_counts(c, &n);
	assert_int_equal(n.drops, UNFLUSHED_MAX);
	assert_int_equal(n.items, 100);
	result(c, first, CORE_OK, T0);
	assert_int_equal(sent(c, T0, &it), 0);
	store(c, T0);
	assert_int_equal(sent(c, T0, &it), UNFLUSHED_MAX + 100);
	core_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_newest_is_sent),
	    cmocka_unit_test(a_retry_yields),
	    cmocka_unit_test(what_is_asked_for_stays),
	    cmocka_unit_test(one_of_a_record_at_a_time),
	    cmocka_unit_test(a_drop_costs_nothing),
	    cmocka_unit_test(drops_have_their_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
