#include <stdatomic.h>

#include "base/log/log.h"
#include "event/append.h"
#include "ops/reseal.h"

struct resealer {
	struct append *append;
	struct keyring *keyring;
	const struct conf *conf;
	struct append_job job;
	struct reseal at, next; /* the commit thread's, while it runs */
	_Atomic bool running, failed, ending;
	_Atomic int64_t seen, changed, broken;
};

struct resealer *
resealer_new(struct append *append, struct keyring *k, const struct conf *conf)
{
	struct resealer *x = mem_get(sizeof(*x));

	x->append = append;
	x->keyring = k;
	x->conf = conf;
	return x;
}

static int
step(struct db *db, void *ctx, struct err *e)
{
	struct resealer *x = ctx;

	x->next = x->at; /* it may run twice */
	return reseal_step(db, x->keyring, x->conf, &x->next, e);
}

static void
over(struct resealer *x, const struct err *e)
{
	if (e)
		log_err(LOG_ERROR, "sealing anew was broken off", e);
	else if (x->at.done)
		log_fmt(LOG_INFO, "all secrets are sealed with the active key",
		    "%lld changed, %lld broken", (long long)x->at.changed,
		    (long long)x->at.broken);
	atomic_store(&x->failed, e != NULL);
	atomic_store(&x->running, false);
}

/* On the commit thread: what waits behind the step comes before the next. */
static void
stepped(struct append_job *job)
{
	struct resealer *x = job->ctx;
	struct err e = job->err;

	if (e.code < 0) {
		over(x, &e);
		return;
	}
	x->at = x->next;
	atomic_store(&x->seen, x->at.seen);
	atomic_store(&x->changed, x->at.changed);
	atomic_store(&x->broken, x->at.broken);
	if (x->at.done || atomic_load(&x->ending))
		over(x, NULL);
	else if (append_post(x->append, job, &e) < 0)
		over(x, &e);
}

int
resealer_start(struct resealer *x, struct err *e)
{
	bool idle = false;
	int rc;

	if (!atomic_compare_exchange_strong(&x->running, &idle, true))
		return OK;
	x->at = (struct reseal){0};
	x->job = (struct append_job){.fn = step, .ctx = x, .done = stepped};
	atomic_store(&x->failed, false);
	rc = append_post(x->append, &x->job, e);
	if (rc < 0)
		atomic_store(&x->running, false);
	return rc;
}

void
resealer_state(struct resealer *x, struct reseal_state *ret)
{
	*ret = (struct reseal_state){
	    .running = atomic_load(&x->running),
	    .failed = atomic_load(&x->failed),
	    .seen = atomic_load(&x->seen),
	    .changed = atomic_load(&x->changed),
	    .broken = atomic_load(&x->broken),
	};
}

void
resealer_end(struct resealer *x)
{
	if (x)
		atomic_store(&x->ending, true);
}

void
resealer_free(struct resealer *x)
{
	free(x);
}
