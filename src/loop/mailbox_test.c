#include "loop/mailbox.h"

#include "base/test.h"
#include "loop/thread.h"

#define POSTERS 4
#define LETTERS 5000

struct letter {
	struct mail mail;
	int from, number;
};

struct poster {
	struct mailbox *box;
	struct letter letters[LETTERS];
	int from, refused;
};

static void
post_all(void *arg)
{
	struct poster *p = arg;

	for (int i = 0; i < LETTERS; i++) {
		p->letters[i].from = p->from;
		p->letters[i].number = i;
		if (!mailbox_post(p->box, &p->letters[i].mail))
			p->refused++;
	}
}

/* Many post, one takes: nothing lost, and in order for each poster. */
static void
keeps_each_posters_order(void **)
{
	static struct poster posters[POSTERS];
	struct thread *threads[POSTERS];
	int next[POSTERS] = {0}, total = 0;
	struct mailbox *box = mailbox_new();
	struct err e;

	for (int i = 0; i < POSTERS; i++) {
		posters[i] = (struct poster){.box = box, .from = i};
		assert_int_equal(thread_start("post", post_all, &posters[i],
				     &threads[i], &e),
		    OK);
	}
	while (total < POSTERS * LETTERS) {
		struct mail *m = mailbox_take(box, 10000);

		assert_non_null(m);
		for (; m; m = m->next, total++) {
			struct letter *l = MAIL_OF(m, struct letter, mail);

			assert_int_equal(l->number, next[l->from]++);
		}
	}
	for (int i = 0; i < POSTERS; i++) {
		thread_join(threads[i]);
		assert_int_equal(posters[i].refused, 0);
	}
	assert_null(mailbox_take(box, 0));
	mailbox_free(box);
}

/* While it is closed under their hands: accepted is taken, the rest refused. */
static void
closing_loses_nothing(void **)
{
	static struct poster p;
	struct mailbox *box = mailbox_new();
	struct thread *t;
	int taken = 0;
	struct mail *m;
	struct err e;

	p = (struct poster){.box = box};
	assert_int_equal(thread_start("post", post_all, &p, &t, &e), OK);
	while (taken < LETTERS / 10)
		for (m = mailbox_take(box, 10000); m; m = m->next)
			taken++;
	mailbox_close(box);
	assert_true(mailbox_closed(box));
	thread_join(t);
	for (m = mailbox_take(box, -1); m; m = m->next)
		taken++;
	assert_int_equal(taken + p.refused, LETTERS);
	assert_null(mailbox_take(box, -1));
	mailbox_free(box);
}

static void
waits_no_longer_than_told(void **)
{
	struct mailbox *box = mailbox_new();
	struct letter l = {.number = 1};
	int64_t began = clock_mono_us();

	assert_null(mailbox_take(box, 0));
	assert_null(mailbox_take(box, 30));
	assert_true(clock_mono_us() - began >= 30 * US_PER_MS);
	assert_false(mailbox_closed(box));
	assert_true(mailbox_post(box, &l.mail));
	assert_ptr_equal(mailbox_take(box, -1), &l.mail);
	mailbox_close(box);
	assert_false(mailbox_post(box, &l.mail));
	mailbox_free(box);
	mailbox_free(NULL);
}

static void
close_it(void *arg)
{
	mailbox_close(arg);
}

static void
closing_wakes_the_taker(void **)
{
	struct mailbox *box = mailbox_new();
	struct thread *t;
	struct err e;

	assert_int_equal(thread_start("close", close_it, box, &t, &e), OK);
	assert_null(mailbox_take(box, -1));
	thread_join(t);
	mailbox_free(box);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(keeps_each_posters_order),
	    cmocka_unit_test(closing_loses_nothing),
	    cmocka_unit_test(waits_no_longer_than_told),
	    cmocka_unit_test(closing_wakes_the_taker),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
