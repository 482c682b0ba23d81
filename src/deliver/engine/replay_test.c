#include "deliver/engine/replay.h"

#include "base/test.h"
#include "deliver/core/limits.h"
#include "deliver/limits.h"

/* A page and the time between two of them make the rate. */
static void
test_rate(void **)
{
	static const struct {
		int64_t rate;
		int chunk;
		int64_t interval_us;
	} ROWS[] = {
	    {0, READ_PAGE_MAX, 0},
	    {1, 1, 1000000},
	    {5, 1, 200000},
	    {10, 1, 100000},
	    {20, 2, 100000},
	    {1000, 100, 100000},
	    {2560, READ_PAGE_MAX, 100000},
	    {REPLAY_RATE_MAX, READ_PAGE_MAX, 2560},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		assert_int_equal(replay_chunk(ROWS[i].rate), ROWS[i].chunk);
		assert_int_equal(
		    replay_interval_us(ROWS[i].rate), ROWS[i].interval_us);
	}
}

static void
test_types(void **)
{
	static const struct {
		const char *types, *type;
		bool want;
	} ROWS[] = {
	    {NULL, "A", true},
	    {"[\"A\"]", "A", true},
	    {"[\"A\"]", "B", false},
	    {"[\"A\",\"fam.*\"]", "fam.x", true},
	    {"[\"A\",\"fam.*\"]", "fam.x.y", true},
	    {"[\"A\",\"fam.*\"]", "family", false},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str types = ROWS[i].types ? str_of(ROWS[i].types)
						 : (struct str){.p = NULL};
		struct replay *p = NULL;
		struct err e;

		assert_int_equal(
		    replay_new((struct replay_key){1, 2},
			&(struct replay_terms){.types = types}, &p, &e),
		    OK);
		if (replay_wants(p, str_of(ROWS[i].type), &(struct uuid){{0}},
			STR_EMPTY) != ROWS[i].want)
			fail_msg("row %zu", i);
		replay_unref(replay_ref(p));
		replay_unref(p);
	}
	replay_unref(replay_ref(NULL));
}

/* By key and tenant, too. */
static void
test_key_and_tenant(void **)
{
	const struct uuid mine = {{1}}, other = {{2}};
	struct replay *p = NULL;
	struct err e;

	assert_int_equal(replay_new((struct replay_key){1, 2},
			     &(struct replay_terms){.order_key = STR("k"),
				 .tenant = mine,
				 .types = STR("[\"A\"]")},
			     &p, &e),
	    OK);
	assert_true(replay_wants(p, STR("A"), &mine, STR("k")));
	assert_false(replay_wants(p, STR("B"), &mine, STR("k")));
	assert_false(replay_wants(p, STR("A"), &other, STR("k")));
	assert_false(replay_wants(p, STR("A"), &mine, STR("kk")));
	assert_false(replay_wants(p, STR("A"), &mine, STR_EMPTY));
	replay_unref(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rate),
	    cmocka_unit_test(test_types),
	    cmocka_unit_test(test_key_and_tenant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
