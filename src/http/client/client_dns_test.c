#include "base/test.h"
#include "http/client/client_test.h"

static struct guard *guard;
static struct script_server server;

/* Says what it was asked. */
static void
script(struct peer *p)
{
	while (read_request(p))
		(void)answer(p, "200 OK", "", str_of(p->head));
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
url_to(struct trial *t, const char *host)
{
	char url[256];

	(void)snprintf(url, sizeof(url), "http://%s:%d/x", host, server.port);
	trial_init(t, POST, url);
}

struct glance {
	struct client_look look;
	int done;
	struct err err;
};

static void
glanced(struct client_look *l, const struct err *e)
{
	struct glance *g = LINK_OF(l, struct glance, look);

	g->done++;
	g->err = e ? *e : (struct err){.code = OK};
}

/* ---- tests ---- */

static void
test_names(void **)
{
	static const struct {
		const char *answers;
		const char *scheme;
		enum guard_use use;
		enum client_result result;
		const char *error;
	} T[] = {
	    {"127.0.0.1", "http", GUARD_WEBHOOK, CLIENT_ANSWERED, ""},
	    {"127.0.0.1", "http", GUARD_READER, CLIENT_ANSWERED, ""},
	    {"127.0.0.1,127.0.0.2", "http", GUARD_WEBHOOK, CLIENT_ANSWERED, ""},
	    {"", "http", GUARD_WEBHOOK, CLIENT_DNS, "resolved"},
	    /* any of many */
	    {"10.0.0.1", "http", GUARD_WEBHOOK, CLIENT_REFUSED,
		"leads to an address that is not public"},
	    {"127.0.0.1,10.0.0.1", "http", GUARD_READER, CLIENT_REFUSED,
		"leads to an address that is not public"},
	    {"10.0.0.1,127.0.0.1", "http", GUARD_READER, CLIENT_REFUSED,
		"leads to an address that is not public"},
	    {"127.0.0.1,fd00::1", "http", GUARD_READER, CLIENT_REFUSED,
		"leads to an address that is not public"},
	    {"127.0.0.1,::ffff:169.254.169.254", "http", GUARD_READER,
		CLIENT_REFUSED, "leads to an address that is not public"},
	    {"127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1,127.0.0.1,"
	     "127.0.0.1,127.0.0.1,127.0.0.1,10.9.9.9",
		"http", GUARD_READER, CLIENT_REFUSED,
		"leads to an address that is not public"},
	    /* a webhook's http ends at the networks that are open */
	    {"8.8.8.8", "http", GUARD_WEBHOOK, CLIENT_REFUSED,
		"must use https"},
	    {"127.0.0.1,8.8.8.8", "http", GUARD_WEBHOOK, CLIENT_REFUSED,
		"must use https"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct client *c = test_client(guard);
		struct trial t;
		char url[128];

		atomic_store(&dns.answer, T[i].answers);
		atomic_store(&dns.asked, 0);
		(void)snprintf(url, sizeof(url), "%s://hook.example:%d/200",
		    T[i].scheme, server.port);
		trial_init(&t, POST, url);
		t.send.use = T[i].use;
		trial_run(c, &t);
		if (t.got.result != T[i].result)
			fail_msg(
			    "row %zu: %d %s", i, (int)t.got.result, t.error);
		assert_has(t.error, T[i].error);
		/* What a name leads to is not the caller's to know. */
		assert_null(strstr(t.error, "10."));
		assert_null(strstr(t.error, "fd00"));
		assert_null(strstr(t.error, "169.254"));
		assert_null(strstr(t.error, "8.8"));
		if (t.got.result == CLIENT_ANSWERED)
			assert_has(t.body, "\r\nHost: hook.example:");
		/* The same when it is saved, but for a name without address. */
		struct glance g = {
		    .look = {
			.url = str_of(url), .use = T[i].use, .done = glanced}};
		client_look(c, &g.look);
		assert_int_equal(g.done, 1);
		assert_int_equal(g.err.code,
		    T[i].result == CLIENT_REFUSED ? ERR_DENIED : OK);
		assert_has(g.err.text, g.err.code == OK ? "" : T[i].error);
		assert_int_equal(atomic_load(&dns.asked), 1);
		client_free(c);
	}
}

/* Nobody waits for a look for longer than the time-out, and none is lost. */
static void
test_looks(void **)
{
	struct client *c = test_client(guard);
	struct glance g[4] = {
	    {.look.url = STR("https://slow.example/x")},
	    {.look.url = STR("https://10.0.0.1/x")},
	    {.look.url = STR("https://127.0.0.1/x")},
	    {.look.url = STR("https://never.example/x")},
	};
	int64_t began = clock_mono_ms();

	atomic_store(&dns.answer, NULL);
	for (size_t i = 0; i < COUNT_OF(g); i++) {
		g[i].look.done = glanced;
		if (i < 3)
			client_look(c, &g[i].look);
	}
	assert_int_equal(g[1].err.code, ERR_DENIED);
	assert_int_equal(g[2].done, 1);
	assert_int_equal(g[2].err.code, OK);
	while (!g[0].done)
		(void)client_wait(c, 50);
	assert_int_equal(g[0].err.code, OK);
	assert_true(clock_mono_ms() - began >= 990);
	client_look(c, &g[3].look);
	assert_int_equal(g[3].done, 0);
	client_free(c);
	assert_int_equal(g[3].done, 1);
	assert_int_equal(g[3].err.code, ERR_AWAY);
}

/* The name turns to a private address between two attempts, and the second is
 * refused although the connection of the first is still open. */
static void
test_rebinding(void **)
{
	struct client *c = test_client(guard);
	struct trial t;
	int before = atomic_load(&server.requests);

	atomic_store(&dns.answer, "127.0.0.1");
	atomic_store(&dns.asked, 0);
	url_to(&t, "rebind.example");
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_ANSWERED);
	/* Within the least time the answer is kept. */
	atomic_store(&dns.answer, "10.0.0.1");
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_ANSWERED);
	assert_int_equal(atomic_load(&dns.asked), 1);
	(void)poll(NULL, 0, RESOLVE_LEAST_MS + 50);
	trial_run(c, &t);
	assert_int_equal(atomic_load(&dns.asked), 2);
	assert_int_equal(t.got.result, CLIENT_REFUSED);
	assert_has(t.error, "not public");
	assert_int_equal(atomic_load(&server.requests), before + 2);
	atomic_store(&dns.answer, "127.0.0.1");
	(void)poll(NULL, 0, RESOLVE_LEAST_MS + 50);
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_ANSWERED);
	client_free(c);
}

/* A name server that says nothing; who asks for the same shares the wait, and
 * total_ms counts while waiting. */
static void
test_dns_silent(void **)
{
	struct client *c = test_client(guard);
	struct trial t[3];
	int64_t began = clock_mono_ms();

	atomic_store(&dns.answer, NULL);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		url_to(&t[i], "silent.example");
		if (i == 1)
			t[i].send.total_ms = 200;
		client_start(c, &t[i].send);
	}
	assert_int_equal(client_wait(c, -1), 1);
	assert_int_equal(t[1].done, 1);
	assert_true(clock_mono_ms() - began >= 190);
	while (client_running(c) > 0)
		(void)client_wait(c, -1);
	assert_true(clock_mono_ms() - began >= 990);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		assert_int_equal(t[i].got.result, CLIENT_DNS);
		assert_true(t[i].error[0]);
	}
	/* A failure is kept for the least time, and then asked about again. */
	atomic_store(&dns.answer, "127.0.0.1");
	(void)client_wait(c, RESOLVE_LEAST_MS + 200);
	trial_run(c, &t[0]);
	assert_int_equal(t[0].got.result, CLIENT_ANSWERED);
	client_free(c);
}

/* More names than are remembered: the oldest is asked for again. */
static void
test_many_names(void **)
{
	struct client *c = test_client(guard);
	struct trial t;

	atomic_store(&dns.answer, "10.0.0.1");
	atomic_store(&dns.asked, 0);
	for (int i = 0; i < RESOLVE_CACHE_MAX + 10; i++) {
		char url[64];

		(void)snprintf(url, sizeof(url), "https://n%d.example/", i);
		trial_init(&t, POST, url);
		trial_run(c, &t);
		assert_int_equal(t.got.result, CLIENT_REFUSED);
	}
	assert_int_equal(atomic_load(&dns.asked), RESOLVE_CACHE_MAX + 10);
	trial_init(&t, POST, "https://n0.example/");
	trial_run(c, &t);
	assert_int_equal(atomic_load(&dns.asked), RESOLVE_CACHE_MAX + 11);
	client_free(c);
}

/* /etc/hosts. */
static void
test_hosts_file(void **)
{
	struct client *c = test_client(guard);
	struct trial t;

	url_to(&t, "localhost");
	trial_run(c, &t);
	if (t.got.result != CLIENT_ANSWERED)
		fail_msg("%s", t.error);
	url_to(&t, "LocalHost.");
	trial_run(c, &t);
	assert_int_equal(t.got.result, CLIENT_ANSWERED);
	client_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_rebinding),
	    cmocka_unit_test(test_dns_silent),
	    cmocka_unit_test(test_many_names),
	    cmocka_unit_test(test_hosts_file),
	    cmocka_unit_test(test_looks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
