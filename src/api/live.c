#include "api/live.h"

#include "account/auth.h"
#include "api/api.h"
#include "http/server/limits.h"

#define HEARTBEAT_MS     15000
#define TROUBLE_MS       1000 /* before reading again after a failure */
#define BUSY_MS          100  /* when all read threads are taken */
#define STREAM_ARENA_MAX (64 * KIB)
#define PIECE_BYTES      (HTTP_STREAM_MAX / 4)

void
live_drop(struct live *l)
{
	if (atomic_fetch_sub(&l->owners, 1) > 1)
		return;
	waker_free(l->waker);
	buf_done(&l->ready);
	arena_free(l->arena);
	free(l);
}

static void
leave(struct live *l)
{
	(void)atomic_fetch_add(&l->owners, 1);
	atomic_store(&l->away, true);
}

/* Nobody took the errand. The request is still an owner. */
static void
stay(struct live *l)
{
	atomic_store(&l->away, false);
	(void)atomic_fetch_sub(&l->owners, 1);
}

static void
back(struct live *l)
{
	atomic_store(&l->away, false);
	waker_wake(l->waker);
	live_drop(l);
}

static void
read_some(struct pool_job *job, void *db)
{
	struct live *l = MAIL_OF(job, struct live, job);
	struct err e = {0};
	int rc = db ? l->kind->read(l, db, &e) : ERR_AWAY;

	l->failed = rc < 0;
	if (rc < 0)
		buf_clear(&l->ready);
	back(l);
}

static void
woken(struct tail_waiter *w)
{
	back(MAIL_OF(w, struct live, waiter));
}

static enum stream_next
sleep_by(struct live *l, const struct tail_waiter *w)
{
	l->waiter = *w;
	l->waiter.wake = woken;
	leave(l);
	if (tail_wait(l->api->tail, &l->waiter))
		return STREAM_WAIT;
	stay(l);
	return STREAM_END;
}

static enum stream_next
sleep_until(struct live *l, int64_t until_ms)
{
	return sleep_by(
	    l, &(struct tail_waiter){.after = INT64_MAX, .until_ms = until_ms});
}

static enum stream_next
fetch(struct live *l, int64_t now)
{
	leave(l);
	l->look_ms = now + l->kind->pause_ms;
	l->job.run = read_some;
	if (pool_post(l->api->read, &l->job))
		return STREAM_WAIT;
	stay(l);
	return sleep_until(l, now + BUSY_MS);
}

static void
send_some(struct live *l, struct buf *b)
{
	struct str rest = str_from(buf_str(&l->ready), l->sent);

	if (rest.n > PIECE_BYTES)
		rest.n = PIECE_BYTES;
	buf_add(b, rest);
	l->sent += rest.n;
	if (l->sent < l->ready.n)
		return;
	buf_clear(&l->ready);
	l->sent = 0;
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static enum stream_next
pull(struct req *r, struct buf *b)
{
	struct live *l = r->ctx;
	int64_t now = clock_mono_ms();
	struct tail_waiter w = {.after = INT64_MAX};

	if (atomic_load(&l->away))
		return STREAM_WAIT;
	if (atomic_load(&l->api->stopping) || l->ready.failed ||
	    auth_generation(l->by_cookie) != l->generation || now >= l->end_ms)
		return STREAM_END;
	if (l->ready.n > 0 || now >= l->beat_ms) {
		if (l->ready.n > 0)
			send_some(l, b);
		else
			buf_addz(b, ":\n\n");
		l->beat_ms = now + HEARTBEAT_MS;
		return STREAM_MORE;
	}
	if (l->failed) {
		l->failed = false;
		return sleep_until(l, now + TROUBLE_MS);
	}
	w.until_ms =
	    least(least(l->beat_ms, l->end_ms), now + l->kind->check_ms);
	if (l->kind->rests(l, &w))
		return sleep_by(l, &w);
	return now < l->look_ms ? sleep_until(l, l->look_ms) : fetch(l, now);
}

static void
over(struct req *r)
{
	struct live *l = r->ctx;

	api_uncount_stream(r);
	live_drop(l);
}

static int64_t
life_ms(const struct live *l)
{
	const struct principal *who = &l->who;
	int64_t left_ms = (who->expires_us - clock_now_us()) / US_PER_MS;

	return who->expires_us && left_ms < l->kind->life_ms ? left_ms
							     : l->kind->life_ms;
}

struct live *
live_new(struct req *r, const struct live_kind *kind, size_t state_bytes)
{
	struct live *l = mem_get(sizeof(*l));

	l->kind = kind;
	l->api = r->app;
	l->who = r->who;
	l->who.tenants = NULL;
	l->who.n_tenants = 0;
	l->ready = BUF(4 * PAGE_BYTES);
	l->arena = arena_new(STREAM_ARENA_MAX);
	l->state = arena_alloc(l->arena, state_bytes);
	atomic_store(&l->owners, 1);
	return l;
}

int
live_begin(struct req *r, struct live *l, struct err *e)
{
	int rc = api_count_stream(r, e);

	if (rc < 0) {
		live_drop(l);
		return rc;
	}
	l->waker = req_waker(r);
	l->beat_ms = clock_mono_ms() + HEARTBEAT_MS;
	l->end_ms = clock_mono_ms() + life_ms(l);
	l->by_cookie = r->who.by_cookie;
	l->generation = auth_generation(l->by_cookie);
	buf_addz(&l->ready, ":\n\n"); /* the headers go out now, not later */
	r->ctx = l;
	req_add_header(r, "Cache-Control", "no-store");
	req_stream(r, "text/event-stream", pull, over);
	return OK;
}
