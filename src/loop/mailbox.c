#include "loop/mailbox.h"

#include <errno.h>
#include <pthread.h>

struct mailbox {
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct mail *first, **last;
	bool closed, asleep;
};

struct mailbox *
mailbox_new(void)
{
	struct mailbox *box = mem_get(sizeof(*box));
	pthread_condattr_t attr;
	int rc;

	rc = pthread_mutex_init(&box->lock, NULL);
	rc |= pthread_condattr_init(&attr);
	rc |= pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	rc |= pthread_cond_init(&box->some, &attr);
	assert(rc == 0);
	(void)pthread_condattr_destroy(&attr);
	box->last = &box->first;
	return box;
}

void
mailbox_free(struct mailbox *box)
{
	if (!box)
		return;
	assert(!box->first);
	(void)pthread_cond_destroy(&box->some);
	(void)pthread_mutex_destroy(&box->lock);
	free(box);
}

static void
mailbox_enter(struct mailbox *box)
{
	int rc = pthread_mutex_lock(&box->lock);

	assert(rc == 0);
}

static void
mailbox_leave(struct mailbox *box)
{
	(void)pthread_mutex_unlock(&box->lock);
}

bool
mailbox_post(struct mailbox *box, struct mail *m)
{
	bool wake, ok;

	m->next = NULL;
	mailbox_enter(box);
	ok = !box->closed;
	if (ok) {
		*box->last = m;
		box->last = &m->next;
	}
	/* A taker at work looks again by itself: no system call for it. */
	wake = ok && box->asleep;
	box->asleep = box->asleep && !wake;
	mailbox_leave(box);
	if (wake)
		(void)pthread_cond_signal(&box->some);
	return ok;
}

struct mail *
mailbox_take(struct mailbox *box, int timeout_ms)
{
	int64_t until = clock_mono_us() + timeout_ms * US_PER_MS;
	struct timespec ts = {
	    .tv_sec = until / US_PER_S, .tv_nsec = until % US_PER_S * 1000};
	struct mail *m;
	int rc = 0;

	mailbox_enter(box);
	while (
	    !box->first && !box->closed && timeout_ms != 0 && rc != ETIMEDOUT) {
		box->asleep = true;
		rc = timeout_ms < 0
			 ? pthread_cond_wait(&box->some, &box->lock)
			 : pthread_cond_timedwait(&box->some, &box->lock, &ts);
	}
	box->asleep = false;
	m = box->first;
	box->first = NULL;
	box->last = &box->first;
	mailbox_leave(box);
	return m;
}

bool
mailbox_closed(struct mailbox *box)
{
	bool closed;

	mailbox_enter(box);
	closed = box->closed;
	mailbox_leave(box);
	return closed;
}

void
mailbox_close(struct mailbox *box)
{
	mailbox_enter(box);
	box->closed = true;
	mailbox_leave(box);
	(void)pthread_cond_broadcast(&box->some);
}
