#include "account/rates.h"

#include "account/limiter.h"
#include "account/limits.h"
#include "account/users.h"
#include "base/test.h"
#include "sql.h"
#include "store/fixture_test.h"

enum { NODES = 3, RATE = 120 };

static enum store_engine engine;
static struct err e;

struct world {
	struct fixture f;
	struct db *db;
	int64_t user;
	struct rates node[NODES];
};

static int
begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct user_new u = {.provider = STR("local"),
	    .subject = STR("anna"),
	    .email = STR_EMPTY,
	    .name = STR("anna")};

	fixture_open(&w->f, engine, NULL);
	assert_int_equal(db_open(w->f.store, DB_WRITE, &w->db, &e), OK);
	assert_int_equal(db_begin(w->db, &e), OK);
	assert_int_equal(users_add(w->db, &u, 1, &w->user, &e), OK);
	assert_int_equal(db_commit(w->db, &e), OK);
	for (int i = 0; i < NODES; i++)
		w->node[i].people = limiter_new(LIMITER_PEOPLE_MAX, 60);
	*state = w;
	return 0;
}

static int
end(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < NODES; i++)
		limiter_free(w->node[i].people);
	db_close(w->db);
	fixture_close(&w->f);
	free(w);
	return 0;
}

/* How many of RATE pass at this node now. */
static int
ask(struct world *w, int node, enum rates_kind kind)
{
	int n = 0;

	while (n < RATE &&
	       limiter_take(w->node[node].people, rates_id(w->user, kind), RATE,
		   1, clock_mono_us(), &e) == OK)
		n++;
	return n;
}

static void
look(struct world *w, int node)
{
	w->node[node].due_us = 0;
	rates_look(&w->node[node], w->db, clock_mono_us());
}

/* Who used up a bucket at one node has none at another that has asked once;
 * each node that does not know yet gives one more, and all is paid back. */
static void
test_nodes(void **state)
{
	struct world *w = *state;

	assert_int_equal(ask(w, 0, RATES_CALLS), RATE);
	look(w, 0);
	/* The second has heard of one call alone, and asks. */
	assert_int_equal(
	    limiter_take(w->node[1].people, rates_id(w->user, RATES_CALLS),
		RATE, 1, clock_mono_us(), &e),
	    OK);
	look(w, 1);
	assert_in_range(ask(w, 1, RATES_CALLS), 0, RATE / 10);
	look(w, 1);
	/* The third takes all before it asks: then nobody has any, for two
	 * minutes and not for one. */
	assert_in_range(ask(w, 2, RATES_CALLS), RATE - 1, RATE);
	look(w, 2);
	assert_int_equal(
	    limiter_take(w->node[2].people, rates_id(w->user, RATES_CALLS),
		RATE, 1, clock_mono_us(), &e),
	    ERR_BUSY);
	assert_in_range(e.retry_after_s, 30, 120);
	/* Feeds are counted apart. */
	assert_int_equal(ask(w, 2, RATES_FEEDS), RATE);
}

/* Nothing was taken: nothing is asked of the store. Who left is forgotten. */
static void
test_idle(void **state)
{
	struct world *w = *state;

	look(w, 0);
	assert_int_equal(ask(w, 0, RATES_CALLS), RATE);
	assert_int_equal(db_begin(w->db, &e), OK);
	assert_int_equal(users_remove(w->db, w->user, &e), OK);
	assert_int_equal(db_commit(w->db, &e), OK);
	look(w, 0);
	db_close(w->db);
	w->db = NULL; /* would crash */
	look(w, 0);
}

/* It is not asked more often than it should be. */
static void
test_pace(void **state)
{
	struct world *w = *state;
	int64_t id, us, now_us = clock_mono_us();
	size_t at = 0;

	rates_look(&w->node[0], w->db, now_us);
	assert_int_equal(ask(w, 0, RATES_CALLS), RATE);
	rates_look(&w->node[0], w->db, now_us + RATES_MS * US_PER_MS - 1);
	assert_true(limiter_untold(w->node[0].people, &at, &id, &us));
	assert_int_equal(id, rates_id(w->user, RATES_CALLS));
	assert_int_equal(us, 60 * US_PER_S);
	assert_false(limiter_untold(w->node[0].people, &at, &id, &us));
	assert_int_equal(at, 0);
}

#define WITH_STORE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WITH_STORE(test_nodes),
	    WITH_STORE(test_idle),
	    WITH_STORE(test_pace),
	};
	int failed = cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);

	if (fixture_postgres()) {
		engine = STORE_POSTGRES;
		failed +=
		    cmocka_run_group_tests_name("postgres", tests, NULL, NULL);
	}
	return failed;
}
