#include "http/client.h"

#include "base/test.h"
#include "http/client_testing.h"
#include "http/resolve.h"

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
setup(void **state)
{
	(void)state;
	guard = test_guard("127.0.0.0/8,::1/128", false);
	server.script = script;
	script_start(&server);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	script_stop(&server);
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
test_answers(void **state)
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
	struct client *c = test_client(guard, NULL);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct trial t;

		url_to(&t, POST, "127.0.0.1", T[i].path);
		t.send.body = STR("{}");
		if (T[i].result == CLIENT_TIMEOUT)
			t.send.total_ms = 300;
		trial_run(c, &t);
		if (t.got.result != T[i].result || t.got.status != T[i].status)
			fail_msg("%s: %s %d %s", T[i].path,
			    client_result_name(t.got.result), t.got.status,
			    t.error);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
