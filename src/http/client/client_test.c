#include "http/client/client.h"

#include "base/test.h"
#include "http/client/client_priv.h"
#include "http/client/client_test.h"

static struct guard *guard;
static struct script_server server;

/* ---- what the server does, by path ---- */

static void
drip(struct peer *p)
{
	(void)peer_putz(p, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
	while (peer_putz(p, "x"))
		(void)poll(NULL, 0, 50);
}

static void
huge(struct peer *p)
{
	static const char ROOM[65536];

	(void)peer_putz(
	    p, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
	while (peer_put(p, ROOM, sizeof(ROOM)))
		continue;
}

static void
head_flood(struct peer *p)
{
	bool more = peer_putz(p, "HTTP/1.1 200 OK\r\n");

	while (more)
		more = peer_putz(
		    p, "X-More: 0123456789012345678901234567890123456789\r\n");
}

static void
echo(struct peer *p)
{
	struct buf b = BUF(MIB);

	buf_addz(&b, p->head);
	buf_add(&b, buf_str(&p->body));
	(void)answer(p, "200 OK", "Content-Type: text/plain\r\n", buf_str(&b));
	buf_done(&b);
}

static void
script(struct peer *p)
{
	static const struct {
		const char *path, *raw;
	} RAW[] = {
	    {"/early-head", "HTTP/1.1 200 OK\r\nContent-Le"},
	    {"/early-body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"},
	    {"/nothing", ""},
	    {"/garbage", "220 smtp.example.com ESMTP\r\n"},
	    {"/chunked",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"},
	    {"/bad-chunk",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc"},
	    {"/until-close", "HTTP/1.0 200 OK\r\n\r\nall of it"},
	    {"/continue",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\nX-A: b\r\nContent-Length: 0\r\n\r\n"},
	};

	while (read_request(p)) {
		for (size_t i = 0; i < COUNT_OF(RAW); i++) {
			if (strcmp(p->path, RAW[i].path) == 0) {
				(void)peer_putz(p, RAW[i].raw);
				return;
			}
		}
		if (strcmp(p->path, "/drip") == 0)
			drip(p);
		else if (strcmp(p->path, "/huge") == 0)
			huge(p);
		else if (strcmp(p->path, "/flood") == 0)
			head_flood(p);
		else if (strcmp(p->path, "/silent") == 0)
			(void)peer_more(p);
		else if (strcmp(p->path, "/302") == 0)
			(void)answer(p, "302 Found",
			    "Location: /200\r\nSet-Cookie: a=b\r\n",
			    STR("moved"));
		else if (strcmp(p->path, "/503") == 0)
			(void)answer(
			    p, "503 Later", "Retry-After: 7\r\n", STR("later"));
		else if (strcmp(p->path, "/gzip") == 0)
			(void)answer(p, "200 OK", "Content-Encoding: gzip\r\n",
			    STR("not decoded"));
		else
			echo(p);
	}
}

static int
setup(void **)
{
	guard = test_guard("127.0.0.0/8,::1/128", false);
	dns_start();
	server.script = script;
	script_start(&server);
	return 0;
}

static int
teardown(void **)
{
	script_stop(&server);
	dns_stop();
	guard_free(guard);
	return 0;
}

static void
url_to(struct trial *t, enum method m, const char *host, const char *path)
{
	char url[256];

	(void)snprintf(
	    url, sizeof(url), "http://%s:%d%s", host, server.port, path);
	trial_init(t, m, url);
}

/* ---- tests ---- */

static void
test_answers(void **)
{
	static const struct {
		const char *path;
		enum client_result result;
		int status;
		const char *body;
	} T[] = {
	    {"/200", CLIENT_ANSWERED, 200, "POST /200 HTTP/1.1\r\n"},
	    {"/302", CLIENT_ANSWERED, 302, "moved"},
	    {"/503", CLIENT_ANSWERED, 503, "later"},
	    {"/gzip", CLIENT_ANSWERED, 200, "not decoded"},
	    {"/chunked", CLIENT_ANSWERED, 200, "abc"},
	    {"/until-close", CLIENT_ANSWERED, 200, "all of it"},
	    {"/continue", CLIENT_ANSWERED, 201, ""},
	    {"/early-head", CLIENT_BROKEN, 200, ""},
	    {"/early-body", CLIENT_BROKEN, 200, "abc"},
	    {"/bad-chunk", CLIENT_BROKEN, 200, ""},
	    {"/nothing", CLIENT_BROKEN, 0, ""},
	    {"/garbage", CLIENT_BROKEN, 0, ""},
	    {"/flood", CLIENT_TOO_LARGE, 200, ""},
	    {"/drip", CLIENT_TIMEOUT, 200, "x"},
	    {"/silent", CLIENT_TIMEOUT, 0, ""},
	    {"/a/../b/./c?d=e", CLIENT_ANSWERED, 200, "POST /a/../b/./c?d=e "},
	};
	struct client *c = test_client(guard);

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct trial t;

		url_to(&t, POST, "127.0.0.1", T[i].path);
		t.send.body = STR("{}");
		if (T[i].result == CLIENT_TIMEOUT)
			t.send.total_ms = 300;
		trial_run(c, &t);
		if (t.got.result != T[i].result || t.got.status != T[i].status)
			fail_msg("%s: %d %d %s", T[i].path, (int)t.got.result,
			    t.got.status, t.error);
		assert_has(t.body, T[i].body);
		assert_int_equal(
		    t.error[0] == '\0', t.got.result == CLIENT_ANSWERED);
		assert_true(t.got.took_us > 0);
		assert_int_equal(
		    t.got.retry_after_ms, T[i].status == 503 ? 7000 : -1);
	}
	assert_int_equal(client_running(c), 0);
	client_free(c);
}

/* ---- refused before anything is sent ---- */

static void
test_refused(void **)
{
	static const struct {
		const char *url, *why;
	} URLS[] = {
	    {"http://8.8.8.8/", "https"},
	    {"https://10.0.0.1/", "10.0.0.0/8"},
	    {"https://0xa.1/", "10.0.0.0/8"},
	    {"https://user@127.0.0.1/", "user name"},
	    {"https://127.0.0.1/ x", "blank"},
	    {"file:///etc/passwd", "must begin with"},
	};
	static const struct {
		struct client_header h;
		const char *why;
	} HEADERS[] = {
	    {{STR("X"), STR("a\r\nY: b")}, "line break"},
	    {{STR("X"), STR("a\nb")}, "line break"},
	    {{STR("X"), STR("a\0b")}, "NUL"},
	    {{STR("X\r\nY"), STR("a")}, "name"},
	    {{STR("X Y"), STR("a")}, "name"},
	    {{STR("X:"), STR("a")}, "name"},
	    {{STR(""), STR("a")}, "name"},
	    {{STR("Host"), STR("a")}, "host"},
	    {{STR("content-LENGTH"), STR("1")}, "content-length"},
	    {{STR("Transfer-Encoding"), STR("chunked")}, "transfer"},
	};
	struct client *c = test_client(guard);
	int before = atomic_load(&server.requests);
	struct trial t;

	for (size_t i = 0; i < COUNT_OF(URLS); i++) {
		trial_init(&t, POST, URLS[i].url);
		trial_run(c, &t);
		assert_int_equal(t.got.result, CLIENT_REFUSED);
		assert_int_equal(t.got.status, 0);
		assert_has(t.error, URLS[i].why);
	}
	for (size_t i = 0; i < COUNT_OF(HEADERS); i++) {
		url_to(&t, POST, "127.0.0.1", "/200");
		t.send.headers = &HEADERS[i].h;
		t.send.n_headers = 1;
		trial_run(c, &t);
		assert_int_equal(t.got.result, CLIENT_REFUSED);
		assert_has(t.error, HEADERS[i].why);
	}
	assert_int_equal(atomic_load(&server.requests), before);
	client_free(c);
}

/* Whatever libcurl takes a host for, its socket is judged: here it is given
 * spellings that our own parser would never let through to it. */
static void
test_last_line(void **)
{
	static const char *const HOSTS[] = {"127.0.0.1", "2130706433", "0x7f.1",
	    "0177.0.0.01", "127.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"};
	struct guard *strict = test_guard("10.0.0.0/8", true);
	struct client *c = test_client(strict);
	int before = atomic_load(&server.connections);

	for (size_t i = 0; i < COUNT_OF(HOSTS); i++) {
		struct client_xfer *x;
		struct trial t;

		url_to(&t, GET, HOSTS[i], "/200");
		x = xfer_new(c, &t.send);
		(void)curl_easy_setopt(x->easy, CURLOPT_URL, t.url);
		xfer_ended(x, curl_easy_perform(x->easy));
		assert_int_equal(x->result, CLIENT_REFUSED);
		assert_has(x->error, "not public");
		xfer_free(x);
	}
	assert_int_equal(atomic_load(&server.connections), before);
	client_free(c);
	guard_free(strict);
}

/* ---- what is sent ---- */

static void
test_methods(void **)
{
	static const struct {
		enum method method;
		const char *body, *has, *lacks;
	} T[] = {
	    {POST, "abc", "POST /x HTTP/1.1\r\n", "chunked"},
	    {POST, "abc", "Content-Length: 3\r\n", "Expect"},
	    {POST, "abc", "\r\n\r\nabc", "Content-Type"},
	    {GET, "", "GET /x HTTP/1.1\r\n", "Content-Length"},
	    {POST, "", "Content-Length: 0\r\n", "Content-Type"},
	    {PUT, "abc", "PUT /x HTTP/1.1\r\n", "Expect"},
	    {PATCH, "abc", "PATCH /x HTTP/1.1\r\n", "Expect"},
	    {DELETE, "", "DELETE /x HTTP/1.1\r\n", "Content-Length"},
	    {DELETE, "abc", "DELETE /x HTTP/1.1\r\n", "Expect"},
	    {GET, "", "GET /x HTTP/1.1\r\n", "Accept-Encoding"},
	    {POST, "abc", "POST /x HTTP/1.1\r\n", "Cookie"},
	};
	struct client *c = test_client(guard);
	int before = atomic_load(&server.connections);

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct trial t;

		url_to(&t, T[i].method, "127.0.0.1", "/x");
		t.send.body = str_of(T[i].body);
		trial_run(c, &t);
		assert_int_equal(t.got.status, 200);
		assert_has(t.body, T[i].has);
		if (strstr(t.body, T[i].lacks))
			fail_msg("%s in %s", T[i].lacks, t.body);
		/* A cookie that is offered is not taken. */
		url_to(&t, POST, "127.0.0.1", "/302");
		trial_run(c, &t);
		assert_int_equal(t.got.status, 302);
	}
	/* All of them over one connection. */
	assert_int_equal(atomic_load(&server.connections), before + 1);
	client_free(c);
}

static void
test_headers(void **)
{
	static const struct client_header H[] = {
	    {STR("Content-Type"), STR("application/json")},
	    {STR("X-Empty"), STR("")},
	    {STR("X-Twice"), STR("one")},
	    {STR("X-Twice"), STR("two")},
	    {STR("Accept"), STR("text/plain")},
	};
	static struct client_header many[CLIENT_HEADERS_MAX + 1];
	struct client *c = test_client(guard);
	struct trial t;

	url_to(&t, POST, "127.0.0.1", "/x");
	t.send.headers = H;
	t.send.n_headers = COUNT_OF(H);
	t.send.user_agent = "hikyaku/test";
	t.send.body = STR("{}");
	trial_run(c, &t);
	assert_has(t.body, "\r\nContent-Type: application/json\r\n");
	assert_has(t.body, "\r\nX-Empty:\r\n");
	assert_has(t.body, "\r\nX-Twice: one\r\nX-Twice: two\r\n");
	assert_has(t.body, "\r\nAccept: text/plain\r\n");
	assert_has(t.body, "\r\nUser-Agent: hikyaku/test\r\n");
	assert_null(strstr(t.body, "*/*"));
	for (size_t i = 0; i < COUNT_OF(many); i++)
		many[i] = (struct client_header){STR("X"), STR("y")};
	t.send.headers = many;
	t.send.n_headers = CLIENT_HEADERS_MAX;
	trial_run(c, &t);
	assert_int_equal(t.got.status, 200);
	t.send.n_headers++;
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_REFUSED);
	/* A handle that was used for this sends nothing of it again. */
	url_to(&t, POST, "127.0.0.1", "/x");
	trial_run(c, &t);
	assert_null(strstr(t.body, "User-Agent"));
	assert_null(strstr(t.body, "X: y"));
	client_free(c);
}

static void
test_bounds(void **)
{
	struct client *c = test_client(guard);
	struct trial t;
	int64_t began;

	/* More than is kept, less than is read: the connection survives. */
	url_to(&t, POST, "127.0.0.1", "/x");
	t.send.keep_max = 4;
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_ANSWERED);
	assert_true(t.got.body_cut);
	assert_string_equal(t.body, "POST");
	t.send.keep_max = 0;
	trial_run(c, &t);
	assert_true(t.got.body_cut);
	assert_string_equal(t.body, "");
	/* More than is read: the status stands, the rest is cut off. */
	url_to(&t, POST, "127.0.0.1", "/huge");
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_ANSWERED);
	assert_int_equal(t.got.status, 200);
	assert_true(t.got.body_cut);
	assert_int_equal(t.got.body.n, 4096);
	/* The head that is shown is cut. */
	url_to(&t, POST, "127.0.0.1", "/flood");
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_TOO_LARGE);
	assert_int_equal(t.got.head.n, CLIENT_HEAD_KEEP);
	assert_has(t.head, "HTTP/1.1 200 OK\r\nX-More: ");
	began = clock_mono_ms();
	url_to(&t, POST, "127.0.0.1", "/drip");
	t.send.total_ms = 400;
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_TIMEOUT);
	assert_in_range(clock_mono_ms() - began, 390, 3000);
	client_free(c);
}

/* Nobody listens there. */
static void
test_connect_refused(void **)
{
	struct client *c = test_client(guard);
	struct trial t;

	trial_init(&t, POST, "http://127.0.0.1:1/");
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_CONNECT);
	assert_true(t.error[0]);
	client_free(c);
}

/* ---- many at once, and their ends ---- */

static void
test_many(void **)
{
	static struct trial t[40];
	struct client *c = test_client(guard);
	int ended = 0;

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		url_to(&t[i], POST, i % 2 ? "127.0.0.1" : "localhost",
		    i % 4 == 3 ? "/silent" : "/x");
		if (i % 4 == 3)
			t[i].send.total_ms = 1000;
		client_start(c, &t[i].send);
	}
	assert_int_equal(client_running(c), COUNT_OF(t));
	for (size_t i = 3; i < COUNT_OF(t); i += 8)
		client_cancel(c, &t[i].send);
	while (client_running(c) > 0)
		ended += client_wait(c, -1);
	assert_int_equal(ended, COUNT_OF(t));
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		assert_int_equal(t[i].done, 1);
		assert_int_equal(t[i].got.result, i % 8 == 3 ? CLIENT_CANCELLED
						  : i % 4 == 3
						      ? CLIENT_TIMEOUT
						      : CLIENT_ANSWERED);
	}
	client_free(c);
}

static void
test_cancel(void **)
{
	struct client *c = test_client(guard);
	struct trial t, u, v;

	atomic_store(&dns.answer, NULL);
	/* While it runs, while its name is resolved, after it was refused. */
	url_to(&t, POST, "127.0.0.1", "/silent");
	client_start(c, &t.send);
	(void)client_wait(c, 50);
	client_cancel(c, &t.send);
	trial_init(&u, POST, "https://nowhere.invalid/");
	client_start(c, &u.send);
	client_cancel(c, &u.send);
	trial_init(&v, POST, "https://10.0.0.1/");
	client_start(c, &v.send);
	client_cancel(c, &v.send);
	assert_int_equal(t.done + u.done + v.done, 0);
	assert_int_equal(client_wait(c, -1), 3);
	assert_int_equal(t.got.result, CLIENT_CANCELLED);
	assert_int_equal(u.got.result, CLIENT_CANCELLED);
	assert_int_equal(v.got.result, CLIENT_CANCELLED);
	/* And all that is left, when the client goes. */
	url_to(&t, POST, "127.0.0.1", "/silent");
	client_start(c, &t.send);
	trial_init(&u, POST, "https://nowhere.invalid/");
	client_start(c, &u.send);
	(void)client_wait(c, 20);
	client_free(c);
	assert_int_equal(t.got.result, CLIENT_CANCELLED);
	assert_int_equal(u.done, 1);
}

/* From inside of done(): the same send again, and another cancelled. */
static struct {
	struct client *c;
	struct trial other;
	int rounds;
} again;

static void
start_again(struct client_send *s, const struct client_answer *a)
{
	assert_int_equal(a->status, 200);
	if (again.rounds++ < 3)
		client_start(again.c, s);
	else
		client_cancel(again.c, &again.other.send);
}

static void
test_again(void **)
{
	struct trial t;

	again.c = test_client(guard);
	url_to(&again.other, POST, "127.0.0.1", "/silent");
	client_start(again.c, &again.other.send);
	url_to(&t, POST, "127.0.0.1", "/x");
	t.send.done = start_again;
	client_start(again.c, &t.send);
	while (client_running(again.c) > 0)
		(void)client_wait(again.c, -1);
	assert_int_equal(again.rounds, 4);
	assert_int_equal(again.other.got.result, CLIENT_CANCELLED);
	client_free(again.c);
}

static void *
wake_soon(void *arg)
{
	(void)poll(NULL, 0, 50);
	client_wake(arg);
	return NULL;
}

static void
test_wake(void **)
{
	struct client *c = test_client(guard);
	int64_t began = clock_mono_ms();
	pthread_t t;

	assert_int_equal(client_wait(c, 0), 0);
	assert_int_equal(client_wait(c, 30), 0);
	assert_true(clock_mono_ms() - began >= 29);
	assert_int_equal(pthread_create(&t, NULL, wake_soon, c), 0);
	assert_int_equal(client_wait(c, -1), 0);
	(void)pthread_join(t, NULL);
	/* A wake before the wait counts. */
	client_wake(c);
	assert_int_equal(client_wait(c, -1), 0);
	client_free(c);
}

/* ---- Retry-After ---- */

static void
test_retry_after(void **)
{
	/* 1994-11-06T08:49:37Z */
	static const int64_t NOW = INT64_C(784111777) * US_PER_S;
	static const struct {
		const char *value;
		int64_t ms;
	} T[] = {
	    {"0", 0},
	    {"120", 120000},
	    {" 7 ", 7000},
	    {"99999999999", CLIENT_RETRY_MAX_S * 1000},
	    {"999999999999999999999999", -1},
	    {"Sun, 06 Nov 1994 08:49:37 GMT", 0},
	    {"Sun, 06 Nov 1994 08:50:37 GMT", 60000},
	    {"Sun, 06 Nov 1994 08:40:00 GMT", 0},
	    {"Sunday, 06-Nov-94 08:50:37 GMT", 60000},
	    {"Sun Nov  6 08:50:37 1994", 60000},
	    {"Fri, 31 Dec 2100 23:59:59 GMT", CLIENT_RETRY_MAX_S * 1000},
	    {"", -1},
	    {"-1", -1},
	    {"+1", -1},
	    {"1.5", -1},
	    {"soon", -1},
	    {"Sun, 99 Nov 1994 08:49:37 GMT", -1},
	    {"a very long value that is certainly no date and no number at all",
		-1},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		int64_t ms = client_retry_after_ms(str_of(T[i].value), NOW);

		if (ms != T[i].ms)
			fail_msg("%s: %lld", T[i].value, (long long)ms);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_answers),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_last_line),
	    cmocka_unit_test(test_methods),
	    cmocka_unit_test(test_headers),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_connect_refused),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_cancel),
	    cmocka_unit_test(test_again),
	    cmocka_unit_test(test_wake),
	    cmocka_unit_test(test_retry_after),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
