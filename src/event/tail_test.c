#include "event/tail.h"

#include "base/clock.h"
#include "base/test.h"
#include "store/fixture.h"

struct sleeper {
	struct tail_waiter waiter;
	struct mailbox *box;
	struct mail mail;
};

static void
wake(struct tail_waiter *w)
{
	struct sleeper *s = MAIL_OF(w, struct sleeper, waiter);

	assert_true(mailbox_post(s->box, &s->mail));
}

static void
lie_down(struct sleeper *s, struct tail *t, int64_t after, int64_t ms)
{
	*s = (struct sleeper){
	    .box = mailbox_new(),
	    .waiter = {.after = after,
		.until_ms = clock_mono_ms() + ms,
		.wake = wake},
	};
	assert_true(tail_wait(t, &s->waiter));
}

static bool
woken(struct sleeper *s, int within_ms)
{
	return mailbox_take(s->box, within_ms) != NULL;
}

static void
test_news(void **state)
{
	struct fixture f;
	struct sleeper near, far, late;
	struct tail *t = NULL;
	struct err e = {0};

	(void)state;
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
	mailbox_free(near.box);
	lie_down(&near, t, 3, 60000); /* what is there already */
	assert_true(woken(&near, 5000));
	mailbox_free(near.box);
	mailbox_free(far.box);
	mailbox_free(late.box);
	tail_stop(t);
	fixture_close(&f);
}

static void
test_end(void **state)
{
	struct fixture f;
	struct sleeper a, b;
	struct tail *t = NULL;
	struct err e = {0};

	(void)state;
	fixture_open(&f, STORE_SQLITE, NULL);
	assert_int_equal(tail_start(f.store, &t, &e), OK);
	lie_down(&a, t, 1, 60000);
	tail_hurry(t);
	assert_true(woken(&a, 5000));
	lie_down(&b, t, 1, 60000); /* also those who come later */
	assert_true(woken(&b, 5000));
	mailbox_free(a.box);
	mailbox_free(b.box);
	tail_stop(t);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_news),
	    cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
