#include "loop/pool.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/test.h"

#define JOBS 5000

struct ctx {
	int runs;
};

static struct {
	atomic_int entered, left, runs;
	atomic_bool open; /* the gate that jobs wait at */
} world;

struct job {
	struct pool_job job;
	int runs;
};

static void *
enter(void *arg)
{
	assert_ptr_equal(arg, &world);
	world.entered++;
	return calloc(1, sizeof(struct ctx));
}

static void
leave(void *ctx)
{
	struct ctx *c = ctx;

	world.runs += c->runs;
	world.left++;
	free(c);
}

static void
run(struct pool_job *job, void *ctx)
{
	((struct job *)(void *)job)->runs++;
	((struct ctx *)ctx)->runs++;
}

static void
run_at_gate(struct pool_job *job, void *ctx)
{
	while (!world.open)
		usleep(100);
	run(job, ctx);
}

static int
reset(void **)
{
	world.entered = world.left = world.runs = 0;
	world.open = false;
	return 0;
}

static struct pool *
start(int threads, size_t queue_max)
{
	struct pool_opts o = {.name = "read",
	    .threads = threads,
	    .queue_max = queue_max,
	    .enter = enter,
	    .leave = leave,
	    .arg = &world};
	struct pool *p = NULL;
	struct err e;

	assert_int_equal(pool_start(&o, &p, &e), OK);
	return p;
}

static void
runs_each_once(void **)
{
	static struct job jobs[JOBS];
	struct pool *p = start(4, JOBS);

	for (size_t i = 0; i < JOBS; i++) {
		jobs[i].job.run = run;
		assert_true(pool_post(p, &jobs[i].job));
	}
	pool_stop(p); /* runs what is queued */
	for (size_t i = 0; i < JOBS; i++)
		assert_int_equal(jobs[i].runs, 1);
	assert_int_equal(world.runs, JOBS);
	assert_int_equal(world.entered, 4);
	assert_int_equal(world.left, 4);
}

static void
refuses_when_full(void **)
{
	static struct job jobs[6];
	struct pool *p = start(1, 3);
	int accepted = 0;

	for (size_t i = 0; i < COUNT_OF(jobs); i++) {
		jobs[i].job.run = run_at_gate;
		accepted += pool_post(p, &jobs[i].job);
	}
	/* Three wait; one more if the thread had already taken the first. */
	assert_true(accepted == 3 || accepted == 4);
	world.open = true;
	pool_stop(p);
	assert_int_equal(world.runs, accepted);
}

static void
starts_and_stops_empty(void **)
{
	struct pool_opts o = {.name = "bare", .threads = 2, .queue_max = 1};
	struct pool *p = NULL;
	struct err e;

	assert_int_equal(pool_start(&o, &p, &e), OK);
	pool_stop(p);
	pool_stop(NULL);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test_setup(runs_each_once, reset),
	    cmocka_unit_test_setup(refuses_when_full, reset),
	    cmocka_unit_test_setup(starts_and_stops_empty, reset),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
