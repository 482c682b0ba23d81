#include "contract/retry.h"

#include "base/conf/conf.h"
#include "base/test.h"
#include "contract/preset.h"

#define S INT64_C(1000)

struct world {
	struct conf conf;
	struct presets *presets;
};

static int
setup(void **state)
{
	static struct world w;
	struct err e;

	assert_int_equal(conf_init(&w.conf, &e), OK);
	w.presets = presets_load(&w.conf);
	*state = &w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	presets_free(w->presets);
	conf_done(&w->conf);
	return 0;
}

static const struct retry_schedule *
schedule(void **state, const char *name)
{
	struct world *w = *state;
	const struct preset *p = presets_find(w->presets, str_of(name));

	assert_non_null(p);
	return &p->retry;
}

/* Every preset's waits, with the least and the most that jitter makes. */
static void
test_true_numbers(void **state)
{
	static const struct {
		const char *preset;
		unsigned n;
		int64_t least[10], most[10];
	} rows[] = {
	    {"standard", 10,
		{2 * S, 4 * S, 8 * S, 16 * S, 32 * S, 64 * S, 128 * S, 256 * S,
		    512 * S, 1024 * S},
		{2400, 4800, 9600, 19200, 38400, 76800, 153600, 307200, 614400,
		    1228800}},
	    {"repository", 3, {2 * S, 4 * S, 8 * S}, {2 * S, 4 * S, 8 * S}},
	    {"task", 3, {60 * S, 300 * S, 1800 * S},
		{60 * S, 300 * S, 1800 * S}},
	    /* W7: each + 1..10 s */
	    {"hub", 5, {11 * S, 301 * S, 601 * S, 1801 * S, 6001 * S},
		{20 * S, 310 * S, 610 * S, 1810 * S, 6010 * S}},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct retry_schedule *r =
		    schedule(state, rows[i].preset);
		int64_t ms = -1;

		for (unsigned t = 1; t <= rows[i].n; t++) {
			assert_int_equal(
			    retry_next(r, t, -1, 0, 1, &ms), RETRY_LATER);
			assert_int_equal(ms, rows[i].least[t - 1]);
			assert_int_equal(
			    retry_next(r, t, -1, UINT32_MAX, 1, &ms),
			    RETRY_LATER);
			assert_int_equal(ms, rows[i].most[t - 1]);
		}
		ms = -1;
		for (unsigned t = rows[i].n + 1; t < rows[i].n + 9; t++)
			assert_int_equal(
			    retry_next(r, t, -1, 0, 1, &ms), RETRY_STOP);
		assert_int_equal(ms, -1);
	}
}

/* W7: whole seconds, each of 1..10 as likely. */
static void
test_w7_jitter(void **state)
{
	const struct retry_schedule *r = schedule(state, "hub");
	unsigned seen[11] = {0};

	for (uint32_t i = 0; i < 100000; i++) {
		int64_t ms;

		assert_int_equal(
		    retry_next(r, 1, -1, i * 42949U, 1, &ms), RETRY_LATER);
		assert_int_equal(ms % S, 0);
		assert_in_range(ms, 11 * S, 20 * S);
		seen[ms / S - 10]++;
	}
	for (int i = 1; i <= 10; i++)
		assert_in_range(seen[i], 9900, 10100);
}

static void
test_doubling_stops_at_most(void **state)
{
	struct retry_schedule r = *schedule(state, "repository");
	int64_t ms;

	r.retries = 64;
	for (unsigned t = 1; t <= 64; t++) {
		assert_int_equal(retry_next(&r, t, -1, 0, 1, &ms), RETRY_LATER);
		assert_int_equal(ms, t < 9 ? (1 << t) * S : 300 * S);
	}
}

static void
test_retry_after(void **state)
{
	static const struct {
		const char *preset;
		int64_t asked, want;
	} rows[] = {
	    {"standard", -1, 2 * S},
	    {"standard", 1 * S, 2 * S},
	    {"standard", 30 * S, 30 * S},
	    {"standard", 7200 * S, 3600 * S}, /* never beyond the maximum */
	    {"repository", 7200 * S, 300 * S},
	    {"task", 7200 * S, 60 * S}, /* the list is the law */
	    {"hub", 7200 * S, 11 * S},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t ms;

		assert_int_equal(retry_next(schedule(state, rows[i].preset), 1,
				     rows[i].asked, 0, 1, &ms),
		    RETRY_LATER);
		assert_int_equal(ms, rows[i].want);
	}
}

/* time.scale divides waits, jitter and Retry-After; none becomes 0. */
static void
test_scale(void **state)
{
	const struct retry_schedule *r = schedule(state, "hub");
	int64_t ms;

	assert_int_equal(
	    retry_next(r, 5, -1, UINT32_MAX, 1000, &ms), RETRY_LATER);
	assert_int_equal(ms, 6010);
	r = schedule(state, "standard");
	assert_int_equal(retry_next(r, 1, 30 * S, 0, 100, &ms), RETRY_LATER);
	assert_int_equal(ms, 300);
	assert_int_equal(retry_next(r, 1, -1, 0, 1000000, &ms), RETRY_LATER);
	assert_int_equal(ms, 1);
	assert_int_equal(retry_scaled(0, 7), 0);
	assert_int_equal(retry_scaled(180 * S, 7), 25715);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_true_numbers),
	    cmocka_unit_test(test_w7_jitter),
	    cmocka_unit_test(test_doubling_stops_at_most),
	    cmocka_unit_test(test_retry_after),
	    cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
