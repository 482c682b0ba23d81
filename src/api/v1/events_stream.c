#include "account/auth.h"
#include "api/api.h"
#include "api/handlers.h"
#include "api/v1/log_page.h"
#include "event/cursor.h"
#include "event/envelope.h"
#include "event/tail.h"
#include "http/server/limits.h"
#include "loop/pool.h"

/*
 * GET /v1/events/stream: the log as server-sent events.
 *
 *   pull ── something is ready ──▶ send it
 *     ├── the log has more ──▶ a read thread fills `ready` ──▶ wake
 *     └── nothing newer ──▶ the tail waits for it, or for a heartbeat ──▶ wake
 *
 * A client may leave at any moment, also while a read thread or the tail works
 * for it. So the stream is not the request's: it has two owners at most, the
 * request and the one errand under way, and goes with the last of them.
 *
 * A right that was taken away must end a stream too. So one ends when any key
 * or account was changed on this node, when its key expires, and after LIFE_MS
 * in any case; a client whose right still holds comes back with Last-Event-ID and misses nothing.
 */

#define HEARTBEAT_MS     15000
#define LIFE_MS          300000
#define TROUBLE_MS       1000 /* before reading again after a failure */
#define BUSY_MS          100  /* when all read threads are taken */
#define STREAM_ARENA_MAX (64 * KIB)
#define PIECE_BYTES      (HTTP_STREAM_MAX / 4)

struct stream {
	_Atomic int owners;
	_Atomic bool away; /* an errand is under way: hands off the rest */
	struct api *api;
	struct waker *waker;
	struct arena *arena; /* the filter's words and the tenants */
	struct principal who;
	struct log_filter filter;
	struct pool_job job;
	struct tail_waiter waiter;
	struct buf ready;
	size_t sent;         /* of it */
	int64_t beat_ms;     /* when silence must be broken */
	bool failed;         /* the last read did */
	int64_t end_ms;      /* when the client must come again, with its key */
	bool by_cookie;      /* how its owner is known */
	uint64_t generation; /* of what auth knew at the beginning */
};

static void
stream_drop(struct stream *s)
{
	if (atomic_fetch_sub(&s->owners, 1) > 1)
		return;
	waker_free(s->waker);
	buf_done(&s->ready);
	arena_free(s->arena);
	free(s);
}

static void
leave(struct stream *s)
{
	(void)atomic_fetch_add(&s->owners, 1);
	atomic_store(&s->away, true);
}

/* Nobody took the errand. The request is still an owner. */
static void
stay(struct stream *s)
{
	atomic_store(&s->away, false);
	(void)atomic_fetch_sub(&s->owners, 1);
}

static void
back(struct stream *s)
{
	atomic_store(&s->away, false);
	waker_wake(s->waker);
	stream_drop(s);
}

/* A line break in JSON is a blank, so each line becomes a data field. */
static void
events_stream_show(
    struct buf *b, struct str body, int64_t seq, int64_t received_us, size_t)
{
	struct buf text CLEANUP(buf_done) = BUF(PAGE_BYTES);
	char cursor[CURSOR_LEN + 1];
	struct str rest;

	envelope_show(&text, body, seq, received_us);
	cursor_format(seq, cursor);
	buf_addz(b, "id: ");
	buf_addz(b, cursor);
	buf_addc(b, '\n');
	for (rest = buf_str(&text); rest.n > 0;) {
		size_t n = 0;

		while (n < rest.n && rest.p[n] != '\n' && rest.p[n] != '\r')
			n++;
		buf_addz(b, "data: ");
		buf_add(b, (struct str){rest.p, n});
		buf_addc(b, '\n');
		if (n + 1 < rest.n && rest.p[n] == '\r' &&
		    rest.p[n + 1] == '\n')
			n++;
		rest = str_from(rest, n + 1);
	}
	buf_addc(b, '\n');
	b->failed = b->failed || text.failed;
}

static void
read_some(struct pool_job *job, void *db)
{
	struct stream *s = MAIL_OF(job, struct stream, job);
	struct log_view v = {
	    s->api->keyring, &s->who, &s->filter, events_stream_show};
	struct log_page page = {0};
	struct err e = {0};
	int rc = db ? log_page_read(db, &v, &s->ready, &page, &e) : ERR_AWAY;

	s->failed = rc < 0;
	if (rc == OK)
		s->filter.after = page.next;
	else
		buf_clear(&s->ready);
	back(s);
}

static void
woken(struct tail_waiter *w)
{
	back(MAIL_OF(w, struct stream, waiter));
}

static enum stream_next
sleep_until(struct stream *s, int64_t until_ms, int64_t after)
{
	s->waiter = (struct tail_waiter){
	    .after = after, .until_ms = until_ms, .wake = woken};
	leave(s);
	if (tail_wait(s->api->tail, &s->waiter))
		return STREAM_WAIT;
	stay(s);
	return STREAM_END;
}

static enum stream_next
fetch(struct stream *s, int64_t now)
{
	leave(s);
	s->job.run = read_some;
	if (pool_post(s->api->read, &s->job))
		return STREAM_WAIT;
	stay(s);
	return sleep_until(s, now + BUSY_MS, INT64_MAX);
}

static void
send_some(struct stream *s, struct buf *b)
{
	struct str rest = str_from(buf_str(&s->ready), s->sent);

	if (rest.n > PIECE_BYTES)
		rest.n = PIECE_BYTES;
	buf_add(b, rest);
	s->sent += rest.n;
	if (s->sent < s->ready.n)
		return;
	buf_clear(&s->ready);
	s->sent = 0;
}

static enum stream_next
pull(struct req *r, struct buf *b)
{
	struct stream *s = r->ctx;
	int64_t now = clock_mono_ms();

	if (atomic_load(&s->away))
		return STREAM_WAIT;
	if (atomic_load(&s->api->stopping) || s->ready.failed ||
	    auth_generation(s->by_cookie) != s->generation || now >= s->end_ms)
		return STREAM_END;
	if (s->ready.n > 0 || now >= s->beat_ms) {
		if (s->ready.n > 0)
			send_some(s, b);
		else
			buf_addz(b, ":\n\n");
		s->beat_ms = now + HEARTBEAT_MS;
		return STREAM_MORE;
	}
	if (s->failed) {
		s->failed = false;
		return sleep_until(s, now + TROUBLE_MS, INT64_MAX);
	}
	if (s->filter.after >= tail_last_seq(s->api->tail))
		return sleep_until(s,
		    s->beat_ms < s->end_ms ? s->beat_ms : s->end_ms,
		    s->filter.after);
	return fetch(s, now);
}

static void
over(struct req *r)
{
	struct stream *s = r->ctx;

	api_uncount_stream(r);
	stream_drop(s);
}

/* Nothing of the request may be needed when it is over. */
static void
keep_filter(struct stream *s, const struct principal *who)
{
	struct log_filter *f = &s->filter;
	struct str *texts[] = {&f->type, &f->prefix, &f->key};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (texts[i]->p)
			*texts[i] = arena_dup(s->arena, *texts[i]);
	s->who = *who;
	if (who->tenants) {
		struct uuid *v = arena_array(
		    s->arena, who->n_tenants, sizeof(*who->tenants));

		memcpy(v, who->tenants, who->n_tenants * sizeof(*v));
		s->who.tenants = v;
		if (f->tenant.p)
			f->tenant = arena_dup(s->arena, f->tenant);
	}
}

static struct stream *
stream_new(struct req *r)
{
	struct stream *s = mem_get(sizeof(*s));

	s->api = r->app;
	s->ready = BUF(4 * PAGE_BYTES);
	s->arena = arena_new(STREAM_ARENA_MAX);
	atomic_store(&s->owners, 1);
	return s;
}

struct query {
	struct log_words words;
	struct str after;
};

const struct member STREAM_QUERY[] = {
    {"after", MEMBER_STRING, offsetof(struct query, after), 0, API_CURSOR_MAX},
    LOG_WORDS(struct query),
    {.name = NULL},
};

static int
events_stream_begin(struct stream *s, struct req *r, struct err *e)
{
	struct query q = {.after = {.p = NULL}};
	struct str last = req_header(r, "Last-Event-ID");

	TRY(api_query(r, STREAM_QUERY, &q, e));
	TRY(log_filter_read(r, &q.words, &s->filter, e));
	s->filter.after = tail_last_seq(s->api->tail);
	s->filter.limit = PAGE_DEFAULT;
	if (last.n > 0)
		TRY(log_cursor_read(
		    last, "Last-Event-ID", &s->filter.after, e));
	else if (q.after.p)
		TRY(log_cursor_read(q.after, "after", &s->filter.after, e));
	keep_filter(s, &r->who);
	return api_count_stream(r, e);
}

static int64_t
life_ms(const struct principal *who)
{
	int64_t left_ms = (who->expires_us - clock_now_us()) / US_PER_MS;

	return who->expires_us && left_ms < LIFE_MS ? left_ms : LIFE_MS;
}

int
api_events_stream(struct req *r, struct db *, struct err *e)
{
	struct stream *s = stream_new(r);
	int rc;

	rc = events_stream_begin(s, r, e);
	if (rc < 0) {
		stream_drop(s);
		return rc;
	}
	s->waker = req_waker(r);
	s->beat_ms = clock_mono_ms() + HEARTBEAT_MS;
	s->end_ms = clock_mono_ms() + life_ms(&r->who);
	s->by_cookie = r->who.by_cookie;
	s->generation = auth_generation(s->by_cookie);
	buf_addz(&s->ready, ":\n\n"); /* the headers go out now, not later */
	r->ctx = s;
	req_add_header(r, "Cache-Control", "no-store");
	req_stream(r, "text/event-stream", pull, over);
	return OK;
}
