#include <assert.h>

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
 *
 * MANY AT ONCE. A resume is a system call, and a commit has dozens of callers:
 * made by the commit thread they would delay the next commit, and the http
 * thread, awake with the first, would be in their way. With req_wake_hold() the
 * thread keeps whom it wakes, and req_wake_release() resumes the first alone;
 * that one's http thread resumes the others (waker_pass()) before all else. Only
 * those of one http thread are kept together, and no streams: these go on when
 * their client reads, which nobody else must wait for.
 */
enum { AWAKE, WOKEN, ASLEEP, OVER };

struct waker {
	atomic_int state;
	atomic_int refs;
	struct conn *c;
	const char *thread; /* that it sleeps on: its `here` */
	struct waker *rest; /* whom its http thread resumes after it */
};

static _Thread_local const char here;
static _Thread_local struct {
	bool on;
	struct waker *first, **last;
} held;

struct waker *
waker_new(struct conn *c)
{
	struct waker *w = calloc(1, sizeof(*w));

	if (w) {
		atomic_init(&w->state, AWAKE);
		atomic_init(&w->refs, 1);
		w->c = c;
	}
	return w;
}

void
waker_free(struct waker *w)
{
	if (w && atomic_fetch_sub(&w->refs, 1) == 1)
		free(w);
}

bool
waker_shared(const struct waker *w)
{
	return atomic_load(&w->refs) > 1;
}

void
waker_over(struct waker *w)
{
	int was = atomic_exchange(&w->state, OVER);

	assert(was != ASLEEP);
	(void)was;
}

void
waker_reuse(struct waker *w)
{
	atomic_store(&w->state, AWAKE);
}

static void
resume(struct waker *w)
{
	struct server *s = w->c->s;
	struct MHD_Connection *mc = w->c->mc;

	/* From the resume on the request may end, the server stop: it waits
	 * until nobody is in here. */
	(void)atomic_fetch_add(&s->waking, 1);
	MHD_resume_connection(mc);
	(void)atomic_fetch_sub(&s->waking, 1);
}

/* True when it was asleep: then it is the caller's to resume. */
static bool
rouse(struct waker *w)
{
	int state = atomic_load(&w->state);

	for (;;) {
		switch (state) {
		case AWAKE:
			if (atomic_compare_exchange_weak(
				&w->state, &state, WOKEN))
				return false;
			break;
		case ASLEEP:
			if (atomic_compare_exchange_weak(
				&w->state, &state, AWAKE))
				return true;
			break;
		default:
			return false;
		}
	}
}

void
waker_wake(struct waker *w)
{
	if (rouse(w))
		resume(w);
}

void
req_wake(struct req *r)
{
	struct waker *w = r->conn->waker;

	if (!rouse(w))
		return;
	if (!held.on || w->c->stream.pull ||
	    (held.first && held.first->thread != w->thread)) {
		resume(w);
		return;
	}
	w->rest = NULL;
	*held.last = w;
	held.last = &w->rest;
}

void
req_wake_hold(void)
{
	assert(!held.on);
	held.on = true;
	held.first = NULL;
	held.last = &held.first;
}

void
req_wake_release(void)
{
	held.on = false;
	if (held.first)
		resume(held.first);
}

void
waker_pass(struct waker *w)
{
	struct waker *next = w->rest;

	w->rest = NULL;
	while (next) {
		struct waker *now = next;

		next = now->rest;
		now->rest = NULL;
		resume(now);
	}
}

bool
waker_sleep(struct waker *w)
{
	int woken = WOKEN, awake = AWAKE;

	if (atomic_compare_exchange_strong(&w->state, &woken, AWAKE))
		return false;
	w->thread = &here;
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
