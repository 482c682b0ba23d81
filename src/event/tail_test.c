#include "event/tail.h"

#include <semaphore.h>

#include "base/test.h"
#include "store/fixture_test.h"

struct sleeper {
	struct tail_waiter waiter;
	sem_t up;
};

static void
wake(struct tail_waiter *w)
{
	struct sleeper *s = MAIL_OF(w, struct sleeper, waiter);

	assert_int_equal(sem_post(&s->up), 0);
}

static void
lie_down(struct sleeper *s, struct tail *t, int64_t after, int64_t ms)
{
	*s = (struct sleeper){
	    .waiter = {.after = after,
		.until_ms = clock_mono_ms() + ms,
		.wake = wake},
	};
	assert_int_equal(sem_init(&s->up, 0, 0), 0);
	assert_true(tail_wait(t, &s->waiter));
}

static bool
woken(struct sleeper *s, int within_ms)
{
	int64_t until = clock_now_us() + within_ms * US_PER_MS;
	struct timespec ts = {
	    .tv_sec = until / US_PER_S, .tv_nsec = until % US_PER_S * 1000};

	return sem_timedwait(&s->up, &ts) == 0;
}

static void
test_news(void **)
{
	struct fixture f;
	struct sleeper near, far, late;
	struct tail *t = NULL;
	struct err e = {0};

	fixture_open(&f, STORE_SQLITE, NULL);
	assert_int_equal(tail_start(f.store, &t, &e), OK);
	lie_down(&near, t, 5, 60000);
	lie_down(&far, t, 9, 60000);
	lie_down(&late, t, 100, 30); /* its time passes first */
	tail_committed(t, 6);
	assert_true(woken(&near, 5000));
	assert_true(woken(&late, 5000));
	assert_false(woken(&far, 50));
	tail_committed(t, 10);
	assert_true(woken(&far, 5000));
	assert_int_equal(tail_last_seq(t), 10);
	lie_down(&near, t, 3, 60000); /* what is there already */
	assert_true(woken(&near, 5000));
	tail_stop(t);
	fixture_close(&f);
}

static void
test_changes(void **)
{
	struct fixture f;
	struct sleeper log, watch;
	struct tail *t = NULL;
	struct err e = {0};

	fixture_open(&f, STORE_SQLITE, NULL);
	assert_int_equal(tail_start(f.store, &t, &e), OK);
	lie_down(&log, t, 5, 60000);
	watch = (struct sleeper){.waiter = {.after = INT64_MAX,
				     .until_ms = clock_mono_ms() + 60000,
				     .for_changes = true,
				     .changes = tail_changes(t),
				     .wake = wake}};
	assert_int_equal(sem_init(&watch.up, 0, 0), 0);
	assert_true(tail_wait(t, &watch.waiter));
	tail_committed(t, 3);
	assert_false(woken(&watch, 50)); /* an event is none */
	tail_changed(t);
	assert_true(woken(&watch, 5000));
	assert_false(woken(&log, 50));            /* and the other way round */
	assert_true(tail_wait(t, &watch.waiter)); /* one that was missed */
	assert_true(woken(&watch, 5000));
	tail_stop(t);
	fixture_close(&f);
}

static void
test_end(void **)
{
	struct fixture f;
	struct sleeper a, b;
	struct tail *t = NULL;
	struct err e = {0};

	fixture_open(&f, STORE_SQLITE, NULL);
	assert_int_equal(tail_start(f.store, &t, &e), OK);
	lie_down(&a, t, 1, 60000);
	tail_hurry(t);
	assert_true(woken(&a, 5000));
	lie_down(&b, t, 1, 60000); /* also those who come later */
	assert_true(woken(&b, 5000));
	tail_stop(t);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_news),
	    cmocka_unit_test(test_changes),
	    cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
