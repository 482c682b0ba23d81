/* Slow, vanishing and endless clients; many at once; drain and stop. */
#include "base/test.h"
#include "http/server/limits.h"
#include "http/server/server_test.h"

static struct server *
start(int request_timeout_s, int idle_timeout_s)
{
	struct server_opts o = test_opts();

	o.request_timeout_s = request_timeout_s;
	o.idle_timeout_s = idle_timeout_s;
	return test_start(&o);
}

/* Sends a byte every 50 ms; how long until the server hangs up, at most 6 s. */
static int64_t
drip(int fd, const char *text)
{
	int64_t from = clock_mono_ms();

	for (size_t i = 0; clock_mono_ms() - from < 6000; i++) {
		if (!put(fd, (struct str){text + i % strlen(text), 1}) ||
		    closes(fd, 50))
			break;
	}
	return clock_mono_ms() - from;
}

static void
test_drip(void **)
{
	static const struct {
		const char *first, *then;
	} T[] = {
	    {"", "G"},
	    {"GET /hello HTTP/1.1\r\n", "X: 1234567\r\n"},
	    {"GET /hello" H "\r\n", "G"}, /* the second request of a pair */
	    {"POST /echo" H "Content-Type: text/plain\r\n"
	     "Content-Length: 1000\r\n\r\n",
		"x"},
	    {"POST /echo" H "Content-Type: text/plain\r\n"
	     "Transfer-Encoding: chunked\r\n\r\n",
		"1\r\nx\r\n"},
	    {"POST /private" H "Content-Length: 1000\r\n\r\n", "x"},
	};
	struct server *s = start(1, 5);
	int port = server_port(s);

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		int fd = dial(port);
		int64_t took;

		(void)putz(fd, T[i].first);
		took = drip(fd, T[i].then);
		(void)close(fd);
		if (took < 900 || took > 4500)
			fail_msg(
			    "row %zu: cut after %lld ms", i, (long long)took);
	}
	test_stop(s);
}

/* Who is idle, or lets a request lie, is cut by the idle time. */
static void
test_idle(void **)
{
	static const char *const T[] = {"", "GET /hello" H "\r\n"};
	struct server *s = start(5, 1);
	int fds[COUNT_OF(T)];

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		fds[i] = dial(server_port(s));
		(void)putz(fds[i], T[i]);
	}
	for (size_t i = 0; i < COUNT_OF(T); i++) {
		assert_true(closes(fds[i], 6000));
		(void)close(fds[i]);
	}
	test_stop(s);
}

/* Requests that take longer than both times are not cut: they are ours. */
static void
test_busy_is_not_cut(void **)
{
	struct server *s = start(1, 1);
	int fd = dial(server_port(s));

	atomic_store(&seen.streams, 0);
	(void)putz(fd, "GET /forever" H "\r\n");
	assert_true(comes_to(&seen.streams, 1));
	assert_false(closes(fd, 2500));
	(void)close(fd);
	test_stop(s);
}

/* A reader that never reads is cut, and its stream ends. */
static void
test_slow_reader(void **)
{
	struct server *s = start(5, 1);
	int fd = dial(server_port(s));
	int done = atomic_load(&seen.done);

	(void)putz(fd, "GET /flood" H "\r\n");
	assert_true(comes_to(&seen.done, done + 1));
	(void)close(fd);
	test_stop(s);
}

/* A client that leaves a stream that sleeps ends it, once. */
static void
test_client_gone(void **)
{
	struct server *s = start(5, 5);
	int done = atomic_load(&seen.done);

	for (int i = 1; i <= 3; i++) {
		int fd = dial(server_port(s));

		atomic_store(&seen.streams, 0);
		(void)putz(fd, "GET /forever" H "\r\n");
		assert_true(comes_to(&seen.streams, 1));
		(void)close(fd);
		assert_true(comes_to(&seen.done, done + i));
	}
	nap_ms(100);
	assert_int_equal(atomic_load(&seen.done), done + 3);
	/* The last one's waker is still held: it does no harm. */
	waker_wake(atomic_load(&held_waker));
	test_stop(s);
}

/* ---- wakes from other threads, at every moment ---- */

static atomic_bool waking;

static void
keep_waking(void *)
{
	while (atomic_load(&waking)) {
		struct waker *w = atomic_exchange(&held_waker, NULL);

		if (!w)
			continue;
		for (int i = 0; i < 20; i++)
			waker_wake(w);
		waker_free(w);
	}
}

static void
test_wake_storm(void **)
{
	struct server *s = start(5, 5);
	struct thread *t = NULL;
	struct err e = {0};
	int done = atomic_load(&seen.done);

	atomic_store(&waking, true);
	assert_int_equal(thread_start("storm", keep_waking, NULL, &t, &e), OK);
	for (int i = 0; i < 50; i++) {
		int fd = dial(server_port(s));
		struct answer a;

		(void)putz(fd, "GET /stream" H "\r\n");
		a = get(fd, NULL, false);
		assert_int_equal(a.status, 200);
		answer_done(&a);
		(void)putz(fd, "GET /forever" H "\r\n");
		nap_ms(i % 3);
		(void)close(fd);
	}
	assert_true(comes_to(&seen.done, done + 100));
	atomic_store(&waking, false);
	thread_join(t);
	assert_int_equal(atomic_load(&seen.done), done + 100);
	test_stop(s);
}

/* ---- many woken at once ---- */

#define TOGETHER 24
static struct mailbox *gathered;

struct one {
	struct mail mail;
	struct req *r;
};

static int
then_together(struct req *r, struct err *)
{
	buf_addz(&r->out, "{\"together\":true}");
	return OK;
}

static int
run_together(struct req *r, struct db *, struct err *e)
{
	struct one *one = arena_alloc(r->arena, sizeof(*one));

	assert_non_null(one);
	one->r = r;
	r->then = then_together;
	r->done = count_done;
	if (mailbox_post(gathered, &one->mail))
		return REQ_WAIT;
	return err_set(e, ERR_AWAY, "it is over");
}

/* As the commit thread does: all that wait, in one go. */
static void
wake_together(void *)
{
	const struct timespec moment = {.tv_nsec = 20000000};

	for (;;) {
		struct mail *m;

		(void)nanosleep(&moment, NULL); /* so that there are many */
		m = mailbox_take(gathered, -1);
		if (!m)
			return;
		while (m) {
			struct mail *next = m->next;

			req_wake(MAIL_OF(m, struct one, mail)->r);
			m = next;
		}
	}
}

/* Each is answered, on whatever thread it is, and whoever else has left. */
static void
test_wake_together(void **)
{
	static const struct route WAITS[] = {{GET, "/together", SCOPE_OPEN,
	    ON_HTTP, run_together, "", .summary = "Waits for others"}};
	struct server_opts o = test_opts();
	struct thread *t = NULL;
	struct err e = {0};
	struct server *s;
	int done = atomic_load(&seen.done), fds[TOGETHER];

	o.routes = WAITS;
	o.n_routes = COUNT_OF(WAITS);
	s = test_start(&o);
	gathered = mailbox_new();
	assert_non_null(gathered);
	assert_int_equal(
	    thread_start("together", wake_together, NULL, &t, &e), OK);
	for (int i = 0; i < TOGETHER; i++)
		fds[i] = dial(server_port(s));
	for (int round = 1; round <= 20; round++) {
		for (int i = 0; i < TOGETHER; i++)
			(void)putz(fds[i], "GET /together" H "\r\n");
		for (int i = 0; i < TOGETHER; i++) {
			struct answer a;

			if ((i + round) % 8 == 0) {
				(void)close(fds[i]);
				fds[i] = dial(server_port(s));
				continue;
			}
			a = get(fds[i], NULL, false);
			assert_int_equal(a.status, 200);
			answer_done(&a);
		}
		assert_true(comes_to(&seen.done, done + round * TOGETHER));
	}
	for (int i = 0; i < TOGETHER; i++)
		(void)close(fds[i]);
	mailbox_close(gathered);
	thread_join(t);
	test_stop(s);
	mailbox_free(gathered);
}

/* ---- bounds ---- */

static bool
more_than_head(int fd)
{
	char c;

	return recv(fd, &c, 1, 0) == 1;
}

/* A body of n MiB of which half came, and no more will; its connection. */
static int
withhold(const struct server *s, const char *who, int n)
{
	static char block[MIB];
	int fd = dial(server_port(s));
	char head[256];

	(void)snprintf(head, sizeof(head),
	    "POST %s" H "%sContent-Type: application/json\r\n"
	    "Content-Length: %zu\r\n\r\n",
	    who[0] ? "/private" : "/echo", who, (size_t)n * MIB);
	(void)putz(fd, head);
	for (int k = 0; k < n / 2; k++)
		(void)put(fd, (struct str){block, sizeof(block)});
	return fd;
}

static int
small_body(const struct server *s, const char *who)
{
	char head[256];
	struct answer a;
	int status;

	(void)snprintf(head, sizeof(head),
	    "POST %s" H "%sContent-Type: application/json\r\n"
	    "Content-Length: 2\r\n\r\nxx",
	    who[0] ? "/private" : "/echo", who);
	a = ask(server_port(s), head);
	status = a.status;
	if (status != 201)
		assert_int_equal(
		    str_eq(header(&a, "retry-after"), STR("1")), 1);
	answer_done(&a);
	return status;
}

#define AS(key) "Authorization: Bearer " key "\r\n"

/* Nobody, however much he sends, takes the others' memory. */
static void
test_body_budget(void **)
{
	struct server_opts o = test_opts();
	struct server *s;
	int fds[4], status = 0;

	o.body_max = 40 * MIB;
	s = test_start(&o);
	/* Room is made for all of what is said, once enough of it came. */
	fds[0] = withhold(s, "", 8);
	nap_ms(200);
	assert_int_equal(small_body(s, ""), 429);
	assert_int_equal(small_body(s, AS("admin")), 201);
	fds[1] = withhold(s, AS("admin"), 24);
	fds[2] = withhold(s, AS("publish"), 16);
	nap_ms(300);
	assert_int_equal(small_body(s, AS("admin")), 429);
	assert_int_equal(small_body(s, AS("publish")), 429);
	fds[3] = withhold(s, AS("publish"), 16);
	assert_int_equal(small_body(s, AS("publish2")), 201);
	(void)close(fds[0]);
	(void)close(fds[1]);
	(void)close(fds[2]);
	(void)close(fds[3]);
	for (int i = 0; i < 100 && status != 201; i++) {
		nap_ms(20);
		status = small_body(s, "");
	}
	assert_int_equal(status, 201);
	assert_int_equal(small_body(s, AS("publish")), 201);
	test_stop(s);
}

/* On a route that is open to anybody a body is a form. */
static void
test_open_body(void **)
{
	static char block[HTTP_OPEN_BODY + 1];
	struct server_opts o = test_opts();
	struct server *s = test_start(&o);

	memset(block, 'x', sizeof(block));
	for (size_t over = 0; over < 2; over++) {
		int fd = dial(server_port(s));
		char head[128];
		struct answer a;

		(void)snprintf(head, sizeof(head),
		    "POST /form" H "Content-Length: %zu\r\n\r\n",
		    HTTP_OPEN_BODY + over);
		(void)putz(fd, head);
		(void)put(fd, (struct str){block, HTTP_OPEN_BODY + over});
		a = get(fd, NULL, false);
		assert_int_equal(a.status, over ? 413 : 201);
		answer_done(&a);
		(void)close(fd);
	}
	test_stop(s);
}

/* Past the limit a connection waits outside until another one leaves. */
static void
test_connection_limit(void **)
{
	struct server_opts o = test_opts();
	struct server *s;
	struct answer a;
	int fds[10], fd;

	o.connections_max = 10;
	s = test_start(&o);
	for (int i = 0; i < 10; i++) {
		fds[i] = dial(server_port(s));
		(void)putz(fds[i], "GET /forever" H "\r\n");
		assert_true(more_than_head(fds[i]));
	}
	fd = dial(server_port(s));
	(void)putz(fd, "GET /hello" H "\r\n");
	assert_false(closes(fd, 600));
	(void)close(fds[0]);
	a = get(fd, NULL, false);
	assert_int_equal(a.status, 200);
	answer_done(&a);
	(void)close(fd);
	for (int i = 1; i < 10; i++) {
		assert_false(closes(fds[i], 10));
		(void)close(fds[i]);
	}
	test_stop(s);
}

/* Those who never end a request keep nobody out, and whoever was known before
 * is not cut for them. */
static void
test_unfinished_make_room(void **)
{
	static const char *const BEGUN[] = {"", "GET /hello HT", "GET /hello" H,
	    "POST /echo" H "Content-Type: text/plain\r\n"
	    "Content-Length: 9\r\n\r\nx"};
	struct server_opts o = test_opts();
	struct server *s;
	struct answer a;
	int fds[100], known;

	o.connections_max = 20;
	s = test_start(&o);
	known = dial(server_port(s));
	(void)putz(known, "GET /any" H AS("read") "\r\n");
	a = get(known, NULL, false);
	assert_int_equal(a.status, 200);
	answer_done(&a);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = dial(server_port(s));
		(void)putz(fds[i], BEGUN[i % COUNT_OF(BEGUN)]);
		if (i % 10 == 9) {
			a = ask(server_port(s), "GET /hello" H "\r\n");
			assert_int_equal(a.status, 200);
			answer_done(&a);
		}
	}
	assert_true(closes(fds[0], 1000));
	(void)putz(known, "GET /any" H AS("read") "\r\n");
	a = get(known, NULL, false);
	assert_int_equal(a.status, 200);
	answer_done(&a);
	(void)close(known);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		(void)close(fds[i]);
	test_stop(s);
}

/* Unless one says nothing: those that are idle make room. */
static void
test_idle_make_room(void **)
{
	struct server_opts o = test_opts();
	struct server *s;
	struct answer a;
	int fds[30];

	o.connections_max = 10;
	o.idle_timeout_s = 60;
	s = test_start(&o);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = dial(server_port(s));
		(void)putz(fds[i], "GET /hello" H "\r\n");
		a = get(fds[i], NULL, false);
		assert_int_equal(a.status, 200);
		answer_done(&a);
	}
	assert_true(closes(fds[0], 1000));
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		(void)close(fds[i]);
	test_stop(s);
}

/* ---- drain ---- */

#define CLIENTS 8

struct client {
	struct thread *t;
	int port;
	int got; /* answers 201 */
};

static void
hammer(void *arg)
{
	struct client *c = arg;

	for (;;) {
		int fd = dial(c->port);
		bool open = fd >= 0;

		if (!open)
			return; /* nobody listens any more */
		while (open) {
			struct answer a;

			(void)putz(
			    fd, "POST /write" H "Content-Length: 2\r\n\r\nok");
			a = get(fd, NULL, false);
			c->got += a.status == 201;
			open = a.status == 201 && !a.close;
			answer_done(&a);
		}
		(void)close(fd);
	}
}

/* What was worked on was answered: neither more nor less. */
static void
test_drain_under_load(void **)
{
	for (int round = 0; round < 5; round++) {
		struct server *s = start(5, 5);
		struct client c[CLIENTS];
		struct err e = {0};
		int got = 0;

		atomic_store(&seen.worked, 0);
		for (int i = 0; i < CLIENTS; i++) {
			c[i] = (struct client){.port = server_port(s)};
			assert_int_equal(
			    thread_start("client", hammer, &c[i], &c[i].t, &e),
			    OK);
		}
		assert_true(comes_to(&seen.worked, 200));
		assert_true(server_drain(s, 5000));
		for (int i = 0; i < CLIENTS; i++) {
			thread_join(c[i].t);
			got += c[i].got;
		}
		assert_int_equal(got, atomic_load(&seen.worked));
		test_stop(s);
	}
}

static void
test_drain_waits_and_streams(void **)
{
	struct server *s = start(5, 60);
	int port = server_port(s);
	int idle = dial(port), stream = dial(port), slow = dial(port);
	struct answer a;

	atomic_store(&seen.streams, 0);
	(void)putz(idle, "GET /hello" H "\r\n");
	a = get(idle, NULL, false);
	assert_false(a.close);
	answer_done(&a);
	(void)putz(stream, "GET /forever" H "\r\n");
	assert_true(comes_to(&seen.streams, 1));
	(void)putz(slow, "GET /read?slow" H "\r\n");
	nap_ms(30);
	assert_true(server_drain(s, 3000));
	a = get(slow, NULL, false);
	assert_int_equal(a.status, 200);
	assert_true(a.close);
	answer_done(&a);
	/* The stream has its last chunk, not just an end. */
	a = get(stream, NULL, false);
	assert_int_equal(a.status, 200);
	assert_true(str_eq(a.body, STR("begin\n")));
	answer_done(&a);
	assert_true(closes(idle, 1000));
	assert_int_equal(dial(port), -1);
	(void)close(idle);
	(void)close(stream);
	(void)close(slow);
	test_stop(s);
}

/* A drain that can't end says so, and stop copes with what is left. */
static void
test_drain_times_out(void **)
{
	struct server *s = start(60, 60);
	int fd = dial(server_port(s)), stream = dial(server_port(s));

	atomic_store(&seen.streams, 0);
	(void)putz(stream, "GET /forever" H "\r\n");
	assert_true(comes_to(&seen.streams, 1));
	(void)putz(fd, "POST /echo" H "Content-Type: text/plain\r\n"
		       "Content-Length: 10\r\n\r\nabc");
	nap_ms(400);
	assert_false(server_drain(s, 300));
	test_stop(s);
	assert_true(closes(fd, 1000));
	(void)close(fd);
	(void)close(stream);
}

static void
test_stop_without_drain(void **)
{
	struct server *s = start(60, 60);
	int fd = dial(server_port(s)), slow = dial(server_port(s));

	atomic_store(&seen.streams, 0);
	(void)putz(fd, "GET /forever" H "\r\n");
	assert_true(comes_to(&seen.streams, 1));
	(void)putz(slow, "GET /read?slow" H "\r\n");
	nap_ms(30);
	test_stop(s);
	(void)close(fd);
	(void)close(slow);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_drip),
	    cmocka_unit_test(test_idle),
	    cmocka_unit_test(test_busy_is_not_cut),
	    cmocka_unit_test(test_slow_reader),
	    cmocka_unit_test(test_client_gone),
	    cmocka_unit_test(test_wake_storm),
	    cmocka_unit_test(test_wake_together),
	    cmocka_unit_test(test_body_budget),
	    cmocka_unit_test(test_open_body),
	    cmocka_unit_test(test_connection_limit),
	    cmocka_unit_test(test_unfinished_make_room),
	    cmocka_unit_test(test_idle_make_room),
	    cmocka_unit_test(test_drain_under_load),
	    cmocka_unit_test(test_drain_waits_and_streams),
	    cmocka_unit_test(test_drain_times_out),
	    cmocka_unit_test(test_stop_without_drain),
	};

	log_setup(LOG_WARN, LOG_TEXT, STDERR_FILENO);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
