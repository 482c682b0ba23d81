/*
 * core_pull_test.c - small scenarios of subscriptions that pull.
 */

#include "base/test.h"
#include "deliver/core/core.h"
#include "deliver/core/limits.h"

#define SEC   ((int64_t)1000 * 1000)
#define T0    (1000 * SEC)
#define LEASE (30 * SEC)

static void
no_ev(void *)
{
}

static const struct core_sub PULL = {
    .id = 1,
    .endpoint = 1,
    .order = CORE_ORDER_KEY,
    .concurrency = 3,
    .lock_us = LEASE,
    .enabled = true,
    .pull = true,
};

static struct core *
make(void)
{
	/* One slot, which leases have no use for. */
	struct core_opts o = {
	    .slots = 1, .free_ev = no_ev, .free_detail = free};
	struct core *c = core_new(&o);

	core_sub(c, &PULL, T0);
	return c;
}

static void
feed(struct core *c, int64_t seq, uint64_t okey)
{
	core_feed(
	    c, &(struct core_entry){.seq = seq, .sub = 1, .okey = okey}, T0);
	core_upto(c, seq);
}

static const struct core_changes *
flush(struct core *c, int64_t now)
{
	const struct core_changes *ch = core_flush(c, now, true);

	if (ch)
		core_flushed(c, now);
	return ch;
}

/* Locks, stores, hands over; how many. */
static int
take(struct core *c, int want, int64_t now, struct core_send *v)
{
	struct core_send x;
	int n = 0;

	core_allow(c, 1, want);
	assert_false(core_next_send(c, now, &x));
	(void)flush(c, now);
	while (core_next_send(c, now, &x)) {
		core_handed(c, x.item, false);
		v[n++] = x;
	}
	return n;
}

static void
result(
    struct core *c, const struct core_send *x, enum core_verdict v, int64_t now)
{
	core_result(c, x->item,
	    &(struct core_result){.verdict = v, .delay_us = SEC, .at = now},
	    now);
}

static void
nothing_without_demand(void **)
{
	struct core *c = make();
	struct core_send v[8];
	struct core_count n;

	for (int64_t i = 1; i <= 5; i++)
		feed(c, i, (uint64_t)i);
	assert_int_equal(take(c, 0, T0, v), 0);
	assert_int_equal(take(c, 2, T0, v), 2);
	assert_true(v[0].row.seq == 1 && v[1].row.seq == 2);
	assert_true(v[0].row.next_at == T0 + LEASE && v[0].row.n == 0);
	/* As many as are allowed at once, and no slot is taken. */
	assert_int_equal(take(c, 8, T0, v), 1);
	core_counts(c, &n);
	assert_true(n.leases == 3 && n.in_flight == 0 && n.starting == 0);
	core_free(c);
}

static void
one_of_a_key(void **)
{
	struct core *c = make();
	struct core_send v[8];

	feed(c, 1, 7);
	feed(c, 2, 7);
	assert_int_equal(take(c, 8, T0, v), 1);
	assert_int_equal(take(c, 8, T0, v + 1), 0);
	result(c, &v[0], CORE_OK, T0);
	assert_int_equal(take(c, 8, T0, v), 1);
	assert_int_equal(v[0].row.seq, 2);
	core_free(c);
}

static void
the_end_of_a_lease(void **)
{
	struct core *c = make();
	struct core_send v[8], x;

	feed(c, 1, 7);
	assert_int_equal(take(c, 1, T0, v), 1);
	core_tick(c, T0 + LEASE - 1);
	assert_false(core_next_expired(c, &x));
	core_tick(c, T0 + LEASE);
	assert_true(core_next_expired(c, &x));
	/* Its worker may still be in time for this. */
	assert_int_equal(core_lease(c, 1, 1, 0, 0, &x), CORE_LEASE_MINE);
	result(c, &x, CORE_LATER, T0 + LEASE);
	assert_int_equal(core_lease(c, 1, 1, 0, 0, &x), CORE_LEASE_LATE);
	(void)flush(c, T0 + LEASE);
	core_tick(c, T0 + LEASE + SEC);
	assert_int_equal(take(c, 1, T0 + LEASE + SEC, v + 1), 1);
	assert_int_equal(v[1].row.n, 1);
	assert_int_equal(core_lease(c, 1, 1, 0, 0, &x), CORE_LEASE_LOST);
	assert_int_equal(core_lease(c, 1, 1, 0, 1, &x), CORE_LEASE_MINE);
	result(c, &x, CORE_OK, T0 + LEASE + SEC);
	assert_int_equal(core_lease(c, 1, 1, 0, 1, &x), CORE_LEASE_NONE);
	core_free(c);
}

static void
late_but_alone(void **)
{
	struct core *c = make();
	struct core_send v[8], x;
	const struct core_changes *ch;

	feed(c, 1, 7);
	assert_int_equal(take(c, 1, T0, v), 1);
	core_tick(c, T0 + LEASE);
	assert_true(core_next_expired(c, &x));
	result(c, &x, CORE_LATER, T0 + LEASE);
	assert_int_equal(core_lease(c, 1, 1, 0, 0, &x), CORE_LEASE_LATE);
	core_late(
	    c, x.item, &(struct core_result){.verdict = CORE_OK}, T0 + LEASE);
	ch = core_flush(c, T0 + LEASE, true);
	assert_non_null(ch);
	assert_int_equal(ch->n_attempts, 2);
	assert_int_equal(ch->attempts[1].n, 2);
	assert_int_equal(ch->attempts[1].result.verdict, CORE_OK);
	core_free(c);
}

static void
extended(void **)
{
	struct core *c = make();
	struct core_send v[8], x;
	const struct core_changes *ch;

	feed(c, 1, 7);
	assert_int_equal(take(c, 1, T0, v), 1);
	core_extend(c, v[0].item, T0 + 2 * LEASE, T0 + SEC);
	ch = flush(c, T0 + SEC);
	assert_non_null(ch);
	core_tick(c, T0 + LEASE);
	assert_false(core_next_expired(c, &x));
	core_tick(c, T0 + 2 * LEASE);
	assert_true(core_next_expired(c, &x));
	core_free(c);
}

/* As after a crash: the row is all there is. */
static void
a_lease_that_was_stored(void **)
{
	struct core *c = make();
	struct core_row row = {.sub = 1,
	    .okey = 7,
	    .seq = 4,
	    .state = ROW_SENDING,
	    .tries = 1,
	    .n = 1,
	    .next_at = T0 + LEASE};
	struct core_send v[8], x;

	core_load_cursor(c, 10);
	core_load_row(c, &(struct core_row){.sub = 1, .okey = 7, .seq = 5}, T0);
	core_load_row(c, &row, T0);
	assert_int_equal(take(c, 8, T0, v), 0);
	assert_int_equal(core_lease(c, 1, 4, 0, 0, &x), CORE_LEASE_LOST);
	assert_int_equal(core_lease(c, 1, 4, 0, 1, &x), CORE_LEASE_MINE);
	result(c, &x, CORE_OK, T0);
	assert_int_equal(take(c, 8, T0, v), 1);
	assert_int_equal(v[0].row.seq, 5);
	core_free(c);
}

/* What nobody fetches is one reader, and nothing in memory. */
static void
backlog(uint64_t keys)
{
	struct core *c = make();
	int64_t now = T0 + DELIVER_WINDOW_US;
	const struct core_changes *ch;
	struct core_count n;

	for (int64_t i = 1; i <= 500; i++)
		feed(c, i, 1 + (uint64_t)i % keys);
	ch = core_flush(c, now, true);
	assert_non_null(ch);
	assert_int_equal(ch->n_puts, 0);
	assert_int_equal(ch->n_readers, 1);
	assert_true(ch->readers[0].pos == 0 && ch->readers[0].okey == 0);
	assert_int_equal(ch->cursor, 500);
	core_counts(c, &n);
	assert_true(n.items == 0 && n.readers == 1);
	core_free(c);
}

static void
a_backlog_is_a_reader(void **)
{
	backlog(50);
	backlog(1); /* more than a lane may hold */
}

static void
ended_with_leases(void **)
{
	struct core *c = make();
	struct core_send v[8], x;
	struct core_count n;

	feed(c, 1, 7);
	assert_int_equal(take(c, 1, T0, v), 1);
	core_sub_end(c, 1);
	assert_int_equal(core_lease(c, 1, 1, 0, 0, &x), CORE_LEASE_NONE);
	core_counts(c, &n);
	assert_true(n.items == 0 && n.leases == 0);
	core_tick(c, T0 + LEASE);
	assert_false(core_next_expired(c, &x));
	core_free(c);
}

/* Settled before a start, it is not read again when nobody fetches. */
static void
what_was_settled_is_not_read_again(void **)
{
	int64_t late = T0 + 2 * DELIVER_WINDOW_US;
	struct core *c = make();
	struct core_read page;

	core_load_settled(c, 1, 2, 0);
	for (int64_t i = 1; i <= 3; i++)
		feed(c, i, (uint64_t)i); /* dispatch is past it: forgotten */
	(void)flush(c, late);            /* what waits is left to a reader */
	core_allow(c, 1, 3);
	assert_true(core_next_read(c, late, &page));
	assert_int_equal(page.after, 2);
	core_read_done(c, page.reader, page.after);
	core_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_settled_is_not_read_again),
	    cmocka_unit_test(nothing_without_demand),
	    cmocka_unit_test(one_of_a_key),
	    cmocka_unit_test(the_end_of_a_lease),
	    cmocka_unit_test(late_but_alone),
	    cmocka_unit_test(extended),
	    cmocka_unit_test(a_lease_that_was_stored),
	    cmocka_unit_test(a_backlog_is_a_reader),
	    cmocka_unit_test(ended_with_leases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
