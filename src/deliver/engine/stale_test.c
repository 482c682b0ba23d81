/* stale.h: what is stale, and what stays in memory. */
#include "deliver/engine/stale.h"

#include "base/test.h"
#include "deliver/limits.h"

static const struct core_rec REC = {1, 2}, OTHER = {1, 3}, NONE = {0, 0};

static enum stale_look
look(struct stale *t, const struct core_rec *rec, int64_t rv)
{
	struct core_send s = {.row.sub = 7};

	return stale_look(t, &s, rec, rv);
}

static void
hand(struct stale *t, const struct core_rec *rec, int64_t rv,
    struct core_attempt *ret)
{
	struct core_result r = {.verdict = CORE_OK};

	stale_handed(t, 7, rec, rv, &r);
	*ret = (struct core_attempt){.sub = 7,
	    .result.verdict = CORE_OK,
	    .result.rec = r.rec,
	    .result.rv = r.rv};
}

static void
older_is_stale(void **)
{
	static const struct {
		int64_t last, rv;
		enum stale_look want;
	} rows[] = {
	    {CORE_NO_RV, 5, STALE_SEND}, {5, 4, STALE_DROP}, {5, 5, STALE_SEND},
	    {5, 6, STALE_SEND}, {5, CORE_NO_RV, STALE_SEND},
	    {-5, -6, STALE_DROP}, /* before 1970 */
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stale *t = stale_new();

		assert_non_null(t);
		if (rows[i].rv != CORE_NO_RV)
			assert_int_equal(look(t, &REC, rows[i].rv), STALE_ASK);
		stale_learn(t, 7, &REC, rows[i].last);
		assert_int_equal(look(t, &REC, rows[i].rv), rows[i].want);
		stale_free(t);
	}
}

static void
who_is_not_asked(void **)
{
	struct stale *t = stale_new();
	struct core_send replay = {.row.sub = 7, .row.rep = 1};
	struct core_send asked = {.row.sub = 7, .row.asked = true};
	struct core_send other = {.row.sub = 8};

	stale_learn(t, 7, &REC, 9);
	assert_int_equal(look(t, &REC, 1), STALE_DROP);
	assert_int_equal(stale_look(t, &replay, &REC, 1), STALE_SEND);
	assert_int_equal(stale_look(t, &asked, &REC, 1), STALE_SEND);
	assert_int_equal(stale_look(t, &other, &REC, 1), STALE_ASK);
	assert_int_equal(look(t, &OTHER, 1), STALE_ASK);
	assert_int_equal(look(t, &NONE, 1), STALE_SEND);
	stale_free(t);
}

static void
what_was_handed_over_counts(void **)
{
	struct stale *t = stale_new();
	struct core_attempt a;

	/* By a replay, say: the store may know of a newer one. */
	hand(t, &REC, 5, &a);
	assert_true(
	    a.result.rv == 5 && a.result.rec.a == 1 && a.result.rec.b == 2);
	assert_int_equal(look(t, &REC, 4), STALE_ASK);
	stale_learn(t, 7, &REC, 8);
	assert_int_equal(look(t, &REC, 7), STALE_DROP);
	hand(t, &REC, 3, &a); /* one that a person asked for */
	assert_int_equal(look(t, &REC, 7), STALE_DROP);
	hand(t, &REC, 9, &a);
	assert_int_equal(look(t, &REC, 8), STALE_DROP);
	/* The store is read again, before it was written. */
	stale_learn(t, 7, &REC, 8);
	assert_int_equal(look(t, &REC, 8), STALE_DROP);
	hand(t, &REC, CORE_NO_RV, &a);
	assert_true(a.result.rec.a == 0 && a.result.rec.b == 0);
	stale_forget_all(t);
	assert_int_equal(look(t, &REC, 8), STALE_ASK);
	stale_free(t);
}

static void
unwritten_ones_stay(void **)
{
	struct stale *t = stale_new();
	struct core_attempt a;

	stale_learn(t, 7, &REC, CORE_NO_RV);
	hand(t, &REC, 5, &a);
	for (uint64_t i = 0; i < 2 * VERSIONS_MAX; i++)
		stale_learn(t, 7, &(struct core_rec){i + 10, 1}, 1);
	assert_int_equal(look(t, &REC, 4), STALE_DROP);
	/* The others went, oldest first. */
	assert_int_equal(look(t, &(struct core_rec){10, 1}, 1), STALE_ASK);
	assert_int_equal(
	    look(t, &(struct core_rec){9 + 2 * VERSIONS_MAX, 1}, 0),
	    STALE_DROP);
	stale_written(t, &a);
	for (uint64_t i = 0; i < 2 * VERSIONS_MAX; i++)
		stale_learn(t, 7, &(struct core_rec){i + 10, 2}, 1);
	assert_int_equal(look(t, &REC, 4), STALE_ASK);
	stale_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(older_is_stale),
	    cmocka_unit_test(who_is_not_asked),
	    cmocka_unit_test(what_was_handed_over_counts),
	    cmocka_unit_test(unwritten_ones_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
