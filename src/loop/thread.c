#include "loop/thread.h"

#include <pthread.h>
#include <signal.h>

#define STACK_BYTES ((size_t)256 << 10)

struct thread {
	pthread_t id;
	void (*run)(void *arg);
	void *arg;
	char name[16];
};

static void *
thread_main(void *arg)
{
	struct thread *t = arg;

	(void)pthread_setname_np(pthread_self(), t->name);
	t->run(t->arg);
	return NULL;
}

int
thread_start(const char *name, void (*run)(void *arg), void *arg,
    struct thread **ret, struct err *e)
{
	struct thread *t = mem_get(sizeof(*t));
	pthread_attr_t attr;
	sigset_t all;
	int rc;

	t->run = run;
	t->arg = arg;
	(void)snprintf(t->name, sizeof(t->name), "%s", name);
	rc = pthread_attr_init(&attr);
	assert(rc == 0);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void)sigfillset(&all);
	(void)pthread_attr_setsigmask_np(&attr, &all);
	rc = pthread_create(&t->id, &attr, thread_main, t);
	(void)pthread_attr_destroy(&attr);
	if (rc != 0) {
		free(t);
		return err_set(e, ERR_IO, "thread %s: %s", name, strerror(rc));
	}
	*ret = t;
	return OK;
}

void
thread_join(struct thread *t)
{
	if (!t)
		return;
	(void)pthread_join(t->id, NULL);
	free(t);
}
