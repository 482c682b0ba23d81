
#include "http/server/conn.h"

/*
 *   AWAKE ──wake──▶ WOKEN      the http thread works; the wake is remembered
 *     │ ▲             │
 *     │ └──sleep──────┘        and taken instead of sleeping
 *   sleep
 *     ▼
 *   ASLEEP ──wake──▶ AWAKE     who made this step, and only he, resumes
 *
 *   any ──▶ OVER               the request ended
 *
 * A connection that is suspended can't go away, and only the one who took it
 * from ASLEEP resumes it: so nobody ever resumes what is freed.
 */
enum { AWAKE, WOKEN, ASLEEP, OVER };

struct waker {
	atomic_int state;
	atomic_int refs;
	struct conn *c;
};

struct waker *
waker_new(struct conn *c)
{
	struct waker *w = mem_get(sizeof(*w));

	atomic_init(&w->state, AWAKE);
	atomic_init(&w->refs, 1);
	w->c = c;
	return w;
}

void
waker_free(struct waker *w)
{
	if (w && atomic_fetch_sub(&w->refs, 1) == 1)
		free(w);
}

void
waker_over(struct waker *w)
{
	int was = atomic_exchange(&w->state, OVER);

	assert(was != ASLEEP);
}

/* True when it was asleep: then it is the caller's to resume. */
static bool
rouse(struct waker *w)
{
	int state = atomic_load(&w->state);

	while (state == AWAKE || state == ASLEEP)
		if (atomic_compare_exchange_weak(
			&w->state, &state, state == ASLEEP ? AWAKE : WOKEN))
			return state == ASLEEP;
	return false;
}

void
waker_wake(struct waker *w)
{
	struct server *s;

	if (!rouse(w))
		return;
	/* From the resume on the request may end, the server stop: it waits
	 * until nobody is in here. */
	s = w->c->s;
	(void)atomic_fetch_add(&s->waking, 1);
	MHD_resume_connection(w->c->mc);
	(void)atomic_fetch_sub(&s->waking, 1);
}

void
req_wake(struct req *r)
{
	waker_wake(r->conn->waker);
}

bool
waker_sleep(struct waker *w)
{
	int woken = WOKEN, awake = AWAKE;

	if (atomic_compare_exchange_strong(&w->state, &woken, AWAKE))
		return false;
	MHD_suspend_connection(w->c->mc);
	if (!atomic_compare_exchange_strong(&w->state, &awake, ASLEEP)) {
		/* Woken between the two looks. */
		atomic_store(&w->state, AWAKE);
		MHD_resume_connection(w->c->mc);
	}
	return true;
}

struct waker *
req_waker(struct req *r)
{
	struct waker *w = r->conn->waker;

	(void)atomic_fetch_add(&w->refs, 1);
	return w;
}
