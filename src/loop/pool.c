#include "loop/pool.h"

#include <pthread.h>

#include "loop/thread.h"

#define THREADS_MAX 16

struct pool {
	struct pool_opts o;
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct pool_job *first, **last;
	size_t queued;
	bool closed;
	int started;
	struct thread *threads[THREADS_MAX];
};

/* The oldest job; NULL once the pool is closed and empty. */
static struct pool_job *
pool_take(struct pool *p)
{
	struct pool_job *job;

	(void)pthread_mutex_lock(&p->lock);
	while (!p->first && !p->closed)
		(void)pthread_cond_wait(&p->some, &p->lock);
	job = p->first;
	if (job) {
		p->first = job->next;
		if (!p->first)
			p->last = &p->first;
		p->queued--;
	}
	(void)pthread_mutex_unlock(&p->lock);
	return job;
}

static void
pool_run(void *arg)
{
	struct pool *p = arg;
	void *ctx = p->o.enter ? p->o.enter(p->o.arg) : NULL;
	struct pool_job *job;

	while ((job = pool_take(p)))
		job->run(job, ctx);
	if (p->o.leave)
		p->o.leave(ctx);
}

int
pool_start(const struct pool_opts *o, struct pool **ret, struct err *e)
{
	struct pool *p = mem_get(sizeof(*p));
	int rc = OK;

	assert(o->threads >= 1 && o->threads <= THREADS_MAX);
	p->o = *o;
	p->last = &p->first;
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_cond_init(&p->some, NULL);
	while (rc == OK && p->started < o->threads) {
		rc = thread_start(
		    o->name, pool_run, p, &p->threads[p->started], e);
		p->started += rc == OK;
	}
	if (rc < 0) {
		pool_stop(p);
		return rc;
	}
	*ret = p;
	return OK;
}

bool
pool_post(struct pool *p, struct pool_job *job)
{
	bool ok;

	job->next = NULL;
	(void)pthread_mutex_lock(&p->lock);
	ok = !p->closed && p->queued < p->o.queue_max;
	if (ok) {
		*p->last = job;
		p->last = &job->next;
		p->queued++;
	}
	(void)pthread_mutex_unlock(&p->lock);
	if (ok)
		(void)pthread_cond_signal(&p->some);
	return ok;
}

void
pool_stop(struct pool *p)
{
	if (!p)
		return;
	(void)pthread_mutex_lock(&p->lock);
	p->closed = true;
	(void)pthread_mutex_unlock(&p->lock);
	(void)pthread_cond_broadcast(&p->some);
	for (int i = 0; i < p->started; i++)
		thread_join(p->threads[i]);
	assert(!p->first);
	(void)pthread_cond_destroy(&p->some);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}
