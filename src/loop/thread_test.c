#include "loop/thread.h"

#include <pthread.h>
#include <signal.h>

#include "base/test.h"

struct seen {
	char name[16];
	sigset_t mask;
	int runs;
};

static void
look(void *arg)
{
	struct seen *s = arg;

	(void)pthread_getname_np(pthread_self(), s->name, sizeof(s->name));
	(void)pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
	s->runs++;
}

static void
runs_named_with_signals_blocked(void **)
{
	struct seen s = {.runs = 0};
	struct thread *t = NULL;
	sigset_t mine;
	struct err e;

	assert_int_equal(
	    thread_start("a-name-that-is-long", look, &s, &t, &e), OK);
	thread_join(t);
	assert_int_equal(s.runs, 1);
	assert_string_equal(s.name, "a-name-that-is-");
	assert_true(sigismember(&s.mask, SIGTERM));
	assert_true(sigismember(&s.mask, SIGINT));
	assert_true(sigismember(&s.mask, SIGPIPE));
	(void)pthread_sigmask(SIG_SETMASK, NULL, &mine);
	assert_false(sigismember(&mine, SIGTERM));
	thread_join(NULL);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
	    cmocka_unit_test(runs_named_with_signals_blocked),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
