/*
 * server_test.h - a small server with routes of every kind, and a client made of
 * raw sockets that can be as rude as a stranger. For the tests of src/http:
 * they bring cmocka.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/test.h"
#include "http/server/query.h"
#include "http/server/req.h"
#include "http/server/server.h"
#include "loop/thread.h"

#define MAYBE __attribute__((unused)) static

/* What the tests count. */
struct seen {
	atomic_int answered, worked, done, streams;
	atomic_int last_status;
	atomic_bool stopping;
};
MAYBE struct seen seen;
MAYBE struct pool *workers;

MAYBE void
nap_ms(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	(void)nanosleep(&ts, NULL);
}

/* Waits up to 5 s for a counter to be at least n. */
MAYBE bool
comes_to(atomic_int *v, int n)
{
	for (int i = 0; i < 1000 && atomic_load(v) < n; i++)
		nap_ms(5);
	return atomic_load(v) >= n;
}

/* ---- handlers ---- */

MAYBE int
run_hello(struct req *r, struct db *, struct err *)
{
	buf_addz(&r->out, "{\"hello\":\"world\"}");
	return OK;
}

MAYBE int
run_item(struct req *r, struct db *, struct err *)
{
	buf_addz(&r->out, "{\"id\":");
	buf_json(&r->out, r->params[0]);
	buf_addz(&r->out, ",\"part\":");
	buf_json(&r->out, r->params[1]);
	buf_addc(&r->out, '}');
	return OK;
}

MAYBE int
run_special(struct req *r, struct db *, struct err *)
{
	r->content_type = "text/plain";
	req_add_header(r, "X-Extra", "once");
	req_add_header(r, "X-Extra", "twice");
	buf_addz(&r->out, "special");
	return OK;
}

MAYBE int
run_echo(struct req *r, struct db *, struct err *)
{
	r->content_type = "application/octet-stream";
	r->status = 201;
	buf_add(&r->out, r->body);
	(void)atomic_fetch_add(&seen.worked, 1);
	return OK;
}

MAYBE int
run_big(struct req *r, struct db *, struct err *e)
{
	struct form f = {r->query, r->n_query};
	int64_t n;

	TRY(form_int(&f, "n", 1, 1000000, 1000, &n, e));
	buf_addc(&r->out, '[');
	for (int64_t i = 0; i < n; i++)
		buf_fmt(
		    &r->out, "%s{\"number\":%lld}", i ? "," : "", (long long)i);
	buf_addc(&r->out, ']');
	return OK;
}

MAYBE int
run_who(struct req *r, struct db *, struct err *)
{
	buf_addz(&r->out, "{\"name\":");
	buf_json(&r->out, str_of(r->who.name));
	buf_addz(&r->out, ",\"peer\":");
	buf_json(&r->out, str_of(r->peer));
	buf_addc(&r->out, '}');
	return OK;
}

MAYBE int
run_fail(struct req *r, struct db *, struct err *e)
{
	int64_t code = 0;

	(void)str_int(r->params[0], &code);
	e->retry_after_s = 0;
	(void)err_at(e, (enum err_code) - code, "/field", "secret reason");
	if (code == -ERR_AWAY)
		e->retry_after_s = 9;
	return -(int)code;
}

MAYBE void
wake_job(struct pool_job *job, void *)
{
	struct req *r = MAIL_OF(job, struct req, job);

	req_wake(r);
}

MAYBE void
count_done(struct req *)
{
	(void)atomic_fetch_add(&seen.done, 1);
}

/* Waits three times, woken by a worker each time. */
MAYBE int
then_wait(struct req *r, struct err *e)
{
	int *left = r->ctx;

	if (--*left == 0) {
		buf_addz(&r->out, "{\"waited\":3}");
		return OK;
	}
	if (!pool_post(workers, &r->job))
		return err_set(e, ERR_AWAY, "no worker");
	return REQ_WAIT;
}

MAYBE int
run_wait(struct req *r, struct db *, struct err *e)
{
	static _Thread_local int left[64], at;

	r->ctx = &left[at++ % 64];
	*(int *)r->ctx = 3;
	r->then = then_wait;
	r->done = count_done;
	r->job.run = wake_job;
	if (!pool_post(workers, &r->job))
		return err_set(e, ERR_AWAY, "no worker");
	return REQ_WAIT;
}

/* ON_READ that goes on on the http thread. */
MAYBE int
then_read(struct req *r, struct err *)
{
	buf_addz(&r->out, "{\"then\":true}");
	return OK;
}

MAYBE int
run_read(struct req *r, struct db *, struct err *e)
{
	struct str v;

	if (req_query(r, "fail", &v))
		return err_set(e, ERR_STORE, "SQL: table secret is gone");
	if (req_query(r, "slow", &v))
		nap_ms(100);
	if (req_query(r, "then", &v)) {
		r->then = then_read;
		return REQ_WAIT;
	}
	buf_addz(&r->out, "{\"read\":true}");
	(void)atomic_fetch_add(&seen.worked, 1);
	return OK;
}

/* Three parts, each after a wake by a worker. */
MAYBE enum stream_next
pull_three(struct req *r, struct buf *b)
{
	int *at = r->ctx;

	if (++*at > 3)
		return STREAM_END;
	buf_fmt(b, "data: %d\n\n", *at);
	return pool_post(workers, &r->job) ? STREAM_WAIT : STREAM_END;
}

MAYBE int
run_stream(struct req *r, struct db *, struct err *)
{
	static _Thread_local int at[64], next;

	r->ctx = &at[next++ % 64];
	*(int *)r->ctx = 0;
	r->job.run = wake_job;
	req_stream(r, "text/event-stream", pull_three, count_done);
	return OK;
}

/* Says one word, then waits for ever; a thread keeps waking it. */
MAYBE struct waker *_Atomic held_waker;

MAYBE enum stream_next
pull_forever(struct req *r, struct buf *b)
{
	if (!r->ctx) {
		r->ctx = r;
		buf_addz(b, "begin\n");
		(void)atomic_fetch_add(&seen.streams, 1);
	}
	return STREAM_WAIT;
}

MAYBE int
run_forever(struct req *r, struct db *, struct err *)
{
	waker_free(atomic_exchange(&held_waker, req_waker(r)));
	req_stream(r, "text/plain", pull_forever, count_done);
	return OK;
}

/* More than a socket's buffer. */
MAYBE enum stream_next
pull_flood(struct req *, struct buf *b)
{
	static const char LINE[] = "0123456789abcdef0123456789abcdef\n";

	for (int i = 0; i < 1000; i++)
		buf_addz(b, LINE);
	return STREAM_MORE;
}

MAYBE int
run_flood(struct req *r, struct db *, struct err *)
{
	req_stream(r, "text/plain", pull_flood, count_done);
	return OK;
}

#define JSON_TYPE "application/json"
/* What routes want and callers have: here the test's own. */
enum { MAY_PUBLISH = 1, MAY_READ = 2, MAY_ANY = 4, MAY_SCRAPE = 8 };

MAYBE const struct route ROUTES[] = {
    {GET, "/", SCOPE_OPEN, ON_HTTP, run_hello, "", .summary = "The root"},
    {GET, "/hello", SCOPE_OPEN, ON_HTTP, run_hello, "", .summary = "Hello"},
    {GET, "/items/{id}", SCOPE_OPEN, ON_HTTP, run_item, "",
	.summary = "An item"},
    {DELETE, "/items/{id}", SCOPE_OPEN, ON_HTTP, run_item, "",
	.summary = "Gone"},
    {GET, "/items/special", SCOPE_OPEN, ON_HTTP, run_special, "",
	.summary = "Special"},
    {GET, "/items/{id}/parts/{part}", SCOPE_OPEN, ON_HTTP, run_item, "",
	.summary = "P"},
    {POST, "/echo", SCOPE_OPEN, ON_HTTP, run_echo, JSON_TYPE ", text/plain",
	.summary = "Echo", .pushed = true},
    {POST, "/form", SCOPE_OPEN, ON_HTTP, run_echo, "*/*", .summary = "Form"},
    {POST, "/write", SCOPE_OPEN, ON_WRITE, run_echo, "*/*", .summary = "Write",
	.pushed = true},
    {POST, "/private", MAY_PUBLISH, ON_HTTP, run_echo, JSON_TYPE,
	.summary = "Private"},
    {GET, "/big", SCOPE_OPEN, ON_HTTP, run_big, "", .summary = "Big"},
    {GET, "/secret", MAY_READ, ON_HTTP, run_who, "", .summary = "S"},
    {GET, "/any", MAY_ANY, ON_HTTP, run_who, "", .summary = "Any"},
    {GET, "/local", MAY_SCRAPE, ON_HTTP, run_who, "", .summary = "Local"},
    {GET, "/fail/{code}", SCOPE_OPEN, ON_HTTP, run_fail, "", .summary = "Fail"},
    {GET, "/wait", SCOPE_OPEN, ON_HTTP, run_wait, "", .summary = "Wait"},
    {GET, "/read", SCOPE_OPEN, ON_READ, run_read, "", .summary = "Read"},
    {GET, "/stream", SCOPE_OPEN, ON_HTTP, run_stream, "", .summary = "Stream"},
    {GET, "/forever", SCOPE_OPEN, ON_HTTP, run_forever, "",
	.summary = "Forever"},
    {GET, "/flood", SCOPE_OPEN, ON_HTTP, run_flood, "", .summary = "Flood"},
};

/* ---- hooks ---- */

MAYBE int
hook_who(void *, struct req *r, struct err *e)
{
	struct str a = req_header(r, "authorization");

	if (r->route->scope == MAY_SCRAPE)
		return OK;
	if (str_eq(a, STR("Bearer wait")) && !r->ctx) {
		r->ctx = r;
		r->job.run = wake_job;
		return pool_post(workers, &r->job)
			   ? REQ_WAIT
			   : err_set(e, ERR_AWAY, "no worker");
	}
	r->ctx = NULL;
	if (str_eq(a, STR("Bearer busy"))) {
		(void)err_set(e, ERR_BUSY, "slow down");
		e->retry_after_s = 7;
		return ERR_BUSY;
	}
	if (!str_starts(a, STR("Bearer ")))
		return err_set(e, ERR_UNKNOWN, "no credentials");
	r->who.kind = WHO_KEY;
	for (size_t i = 0; i < a.n; i++)
		r->who.id = (r->who.id * 31 + a.p[i]) % 1000003;
	(void)snprintf(
	    r->who.name, sizeof(r->who.name), "%.*s", STR_ARG(str_from(a, 7)));
	if (str_eq(a, STR("Bearer admin")))
		r->who.scopes = MAY_READ | MAY_PUBLISH;
	if (str_eq(a, STR("Bearer read")) || str_eq(a, STR("Bearer wait")))
		r->who.scopes = MAY_READ;
	if (str_starts(a, STR("Bearer publish")))
		r->who.scopes = MAY_PUBLISH;
	return (r->who.scopes | MAY_ANY) & r->route->scope
		   ? OK
		   : err_set(e, ERR_DENIED, "this needs another scope");
}

MAYBE void
work_job(struct pool_job *job, void *)
{
	struct req *r = MAIL_OF(job, struct req, job);

	r->rc = r->route->run(r, NULL, &r->err);
	req_wake(r);
}

MAYBE bool
hook_work(void *, struct req *r)
{
	struct str v;

	if (req_query(r, "full", &v))
		return false;
	r->job.run = work_job;
	return pool_post(workers, &r->job);
}

MAYBE void
hook_answered(void *, const struct req *r, int status, int64_t took_us)
{
	assert_true(took_us >= 0 && r->trace_id[0] != '\0');
	atomic_store(&seen.last_status, status);
	(void)atomic_fetch_add(&seen.answered, 1);
}

MAYBE bool
hook_stopping(void *)
{
	return atomic_load(&seen.stopping);
}

MAYBE struct server_opts
test_opts(void)
{
	return (struct server_opts){
	    .listen = "127.0.0.1:0",
	    .threads = 2,
	    .body_max = 100 * 1000,
	    .idle_timeout_s = 5,
	    .request_timeout_s = 5,
	    .connections_max = 200,
	    .routes = ROUTES,
	    .n_routes = COUNT_OF(ROUTES),
	    .hooks = {.who = hook_who,
		.work = hook_work,
		.answered = hook_answered,
		.stopping = hook_stopping},
	};
}

MAYBE struct server *
test_start(const struct server_opts *o)
{
	struct pool_opts po = {
	    .name = "worker", .threads = 2, .queue_max = 10000};
	struct server *s = NULL;
	struct err e = {0};

	atomic_store(&seen.stopping, false);
	if (pool_start(&po, &workers, &e) < 0 || server_start(o, &s, &e) < 0)
		fail_msg("start: %s", e.text);
	return s;
}

MAYBE void
test_stop(struct server *s)
{
	server_stop(s);
	pool_stop(workers);
	waker_free(atomic_exchange(&held_waker, NULL));
}

/* ---- client ---- */

MAYBE int
dial(int port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval tv = {.tv_sec = 10};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

MAYBE bool
put(int fd, struct str s)
{
	while (s.n > 0) {
		ssize_t n = send(fd, s.p, s.n, MSG_NOSIGNAL);

		if (n < 0)
			return false;
		s = str_from(s, (size_t)n);
	}
	return true;
}

MAYBE bool
putz(int fd, const char *z)
{
	return put(fd, str_of(z));
}

struct answer {
	int status; /* 0: closed without one */
	struct buf raw;
	struct str head, body;
	bool chunked, close;
};

MAYBE void
answer_done(struct answer *a)
{
	buf_done(&a->raw);
}

/* The value of a header, empty when absent. */
MAYBE struct str
header(const struct answer *a, const char *name)
{
	struct str rest = a->head;

	while (rest.n > 0) {
		struct str value = str_cut(&rest, '\n');
		struct str k = str_cut(&value, ':');

		if (str_eq_nocase(k, str_of(name)))
			return str_trim(value);
	}
	return STR_EMPTY;
}

MAYBE bool
more(int fd, struct buf *b)
{
	char *p = buf_room(b, 65536);
	ssize_t n = p ? recv(fd, p, 65536, 0) : -1;

	if (n <= 0)
		return false;
	b->n += (size_t)n;
	return true;
}

/* All chunks joined in place; false when they are not all there. */
MAYBE bool
unchunk(struct str s, char *to, size_t *ret_n)
{
	size_t n = 0;

	for (;;) {
		char *end;
		unsigned long size;
		const char *nl = s.n ? memchr(s.p, '\n', s.n) : NULL;

		if (!nl)
			return false;
		size = strtoul(s.p, &end, 16);
		s = str_from(s, (size_t)(nl - s.p) + 1);
		if (s.n < size + 2)
			return false;
		if (size == 0)
			break;
		memmove(to + n, s.p, size);
		n += size;
		s = str_from(s, size + 2);
	}
	*ret_n = n;
	return true;
}

/* Reads one answer. `left` keeps what belongs to the next one. */
MAYBE struct answer
get(int fd, struct buf *left, bool head_only)
{
	struct answer a = {.raw = BUF(64 * MIB)};
	const char *end = NULL;
	int64_t length = -1;
	size_t n = 0;

	if (left) {
		buf_add(&a.raw, buf_str(left));
		buf_clear(left);
	}
	for (;;) {
		end = a.raw.n ? memmem(a.raw.p, a.raw.n, "\r\n\r\n", 4) : NULL;
		if (end || !more(fd, &a.raw))
			break;
	}
	if (!end)
		return a;
	n = (size_t)(end - a.raw.p) + 4;
	a.head = (struct str){a.raw.p, n};
	if (str_starts(a.head, STR("HTTP/1.")))
		a.status = (int)strtol(a.raw.p + 9, NULL, 10);
	a.chunked =
	    str_eq_nocase(header(&a, "transfer-encoding"), STR("chunked"));
	a.close = str_eq_nocase(header(&a, "connection"), STR("close"));
	(void)str_int(header(&a, "content-length"), &length);
	if (head_only || a.status == 204 || a.status == 304)
		length = 0;
	if (a.chunked) {
		size_t got = 0;

		while (!memmem(a.raw.p + n - 2, a.raw.n - n + 2,
			   "\r\n0\r\n\r\n", 7) &&
		       more(fd, &a.raw))
			continue;
		a.head.p = a.raw.p;
		if (!unchunk((struct str){a.raw.p + n, a.raw.n - n},
			a.raw.p + n, &got))
			a.status = 0;
		a.body = (struct str){a.raw.p + n, got};
		return a;
	}
	while ((length < 0 || a.raw.n - n < (size_t)length) && more(fd, &a.raw))
		continue;
	a.head.p = a.raw.p;
	if (length < 0)
		length = (int64_t)(a.raw.n - n);
	if (a.raw.n - n < (size_t)length) {
		a.status = 0;
		return a;
	}
	a.body = (struct str){a.raw.p + n, (size_t)length};
	if (left)
		buf_add(left, str_from((struct str){a.raw.p, a.raw.n},
				  n + (size_t)length));
	return a;
}

/* One request on a connection of its own. */
MAYBE struct answer
ask(int port, const char *request)
{
	int fd = dial(port);
	struct answer a;

	assert_true(fd >= 0);
	(void)putz(fd, request);
	a = get(fd, NULL, strncmp(request, "HEAD", 4) == 0);
	(void)close(fd);
	return a;
}

/* True when the other side closes within ms. */
MAYBE bool
closes(int fd, int ms)
{
	struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	char c;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	for (;;) {
		ssize_t n = recv(fd, &c, 1, 0);

		if (n > 0)
			continue;
		return n == 0 || errno == ECONNRESET;
	}
}

MAYBE bool
contains(struct str s, const char *part)
{
	return memmem(s.p, s.n, part, strlen(part)) != NULL;
}

#define H " HTTP/1.1\r\nHost: t\r\n"
