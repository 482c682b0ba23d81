#include "http/client/oauth.h"

#include "base/test.h"
#include "http/client/client_test.h"

static struct guard *guard;
static struct script_server server;

/* What the token endpoint says; {n} is the number of the request. */
static _Atomic(const char *) status, reply;

static void
script(struct peer *p)
{
	while (read_request(p)) {
		char body[256];
		int n = atomic_load(&p->server->requests);

		(void)snprintf(p->server->seen, sizeof(p->server->seen),
		    "%.3000s%.*s", p->head, (int)p->body.n, p->body.p);
		(void)snprintf(body, sizeof(body), "%s", atomic_load(&reply));
		if (strchr(body, '#'))
			*strchr(body, '#') = (char)('0' + n % 10);
		if (!answer(p, atomic_load(&status), "", str_of(body)))
			return;
	}
}

struct asked {
	struct oauth_ask ask;
	int done;
	char token[64];
	struct err e;
};

static void
asked_done(struct oauth_ask *q, struct str token, const struct err *e)
{
	struct asked *a = (struct asked *)(void *)q;

	a->done++;
	a->e = *e;
	(void)snprintf(a->token, sizeof(a->token), "%.*s", STR_ARG(token));
}

static struct client *client;
static struct oauth *oauth;
static struct oauth_conf conf;
static char url[64];

static int
setup(void **)
{
	guard = test_guard("127.0.0.0/8", false);
	dns_start();
	server.script = script;
	script_start(&server);
	client = test_client(guard);
	oauth = oauth_new(client);
	(void)snprintf(
	    url, sizeof(url), "http://127.0.0.1:%d/token", server.port);
	conf = (struct oauth_conf){.token_url = str_of(url),
	    .client_id = STR("me"),
	    .client_secret = STR("a b:c"),
	    .scope = STR("read write"),
	    .connect_ms = 1000,
	    .total_ms = 3000};
	atomic_store(&status, "200 OK");
	atomic_store(&reply,
	    "{\"access_token\":\"t#\",\"token_type\":\"Bearer\",\"expires_in\":100}");
	return 0;
}

static int
teardown(void **)
{
	client_free(client);
	oauth_free(oauth);
	script_stop(&server);
	dns_stop();
	guard_free(guard);
	return 0;
}

static void
get(struct asked *a, int64_t now_ms)
{
	*a = (struct asked){.ask = {.done = asked_done}};
	oauth_get(oauth, &conf, now_ms, &a->ask);
}

static void
run(void)
{
	while (client_running(client) > 0)
		(void)client_wait(client, -1);
}

static int
requests(void)
{
	return atomic_load(&server.requests);
}

/* ---- tests ---- */

/* One fetch for all who ask, then from memory, then early again. */
static void
test_life(void **)
{
	static struct asked a[20], b;

	for (size_t i = 0; i < COUNT_OF(a); i++)
		get(&a[i], 1000);
	assert_int_equal(a[0].done, 0);
	oauth_drop(&a[3].ask);
	run();
	for (size_t i = 0; i < COUNT_OF(a); i++) {
		assert_int_equal(a[i].done, i != 3);
		assert_string_equal(a[i].token, i == 3 ? "" : "t1");
		assert_int_equal(a[i].e.code, OK);
	}
	assert_has(server.seen, "POST /token HTTP/1.1\r\n");
	/* "me:a%20b%3Ac" */
	assert_has(
	    server.seen, "\r\nAuthorization: Basic bWU6YSUyMGIlM0Fj\r\n");
	assert_has(server.seen,
	    "\r\n\r\ngrant_type=client_credentials&scope=read%20write");
	assert_null(strstr(server.seen, "secret"));
	/* 100 s, of which the last 20 are for renewing. */
	get(&b, 1000 + 79999);
	assert_string_equal(b.token, "t1");
	assert_int_equal(client_running(client), 0);
	get(&b, 1000 + 80000);
	assert_string_equal(b.token, "t1");
	get(&b, 1000 + 80001);
	assert_string_equal(b.token, "t1");
	assert_int_equal(client_running(client), 1);
	run();
	assert_int_equal(requests(), 2);
	get(&b, 1000 + 80002);
	assert_string_equal(b.token, "t2");
	/* Past its end it is waited for. */
	get(&b, 1000 + 300000);
	assert_int_equal(b.done, 0);
	run();
	assert_string_equal(b.token, "t3");
	assert_int_equal(requests(), 3);
}

/* Each of the four makes another token. */
static void
test_names(void **)
{
	struct asked a;

	get(&a, 0);
	run();
	assert_string_equal(a.token, "t1");
	conf.client_secret = STR("guessed");
	get(&a, 1);
	run();
	assert_string_equal(a.token, "t2");
	conf.scope = STR_EMPTY;
	get(&a, 1);
	run();
	assert_string_equal(a.token, "t3");
	assert_null(strstr(server.seen, "scope"));
	conf.client_id = STR("you");
	conf.secret_in_body = true;
	get(&a, 1);
	run();
	assert_string_equal(a.token, "t4");
	assert_has(server.seen, "&client_id=you&client_secret=guessed");
	assert_null(strstr(server.seen, "Authorization"));
	get(&a, 2);
	assert_string_equal(a.token, "t4");
	/* Not good any more, says the endpoint; of another it says nothing. */
	oauth_refused(oauth, &conf, STR("t3"));
	get(&a, 2);
	assert_string_equal(a.token, "t4");
	oauth_refused(oauth, &conf, STR("t4"));
	get(&a, 2);
	assert_int_equal(a.done, 0);
	run();
	assert_string_equal(a.token, "t5");
}

/* More tokens than are remembered: what ends first is fetched again. */
static void
test_many(void **)
{
	char scope[16];
	struct asked a;

	for (int i = 0; i < OAUTH_TOKENS_MAX + 5; i++) {
		(void)snprintf(scope, sizeof(scope), "s%d", i);
		conf.scope = str_of(scope);
		get(&a, i);
		run();
		assert_int_equal(a.e.code, OK);
	}
	assert_int_equal(requests(), OAUTH_TOKENS_MAX + 5);
	get(&a, OAUTH_TOKENS_MAX + 5);
	assert_int_equal(a.done, 1);
	conf.scope = STR("s0");
	get(&a, OAUTH_TOKENS_MAX + 5);
	assert_int_equal(a.done, 0);
	run();
	assert_int_equal(requests(), OAUTH_TOKENS_MAX + 6);
}

static void
test_failures(void **)
{
	static const struct {
		const char *status, *reply;
		enum err_code code;
		const char *why;
	} T[] = {
	    {"401 No", "{\"error\":\"invalid_client\"}", ERR_DENIED,
		"answered 401: invalid_client"},
	    {"400 No", "{\"error\":\"a\\nb\"}", ERR_DENIED, "answered 400"},
	    {"400 No", "<html>", ERR_DENIED, "answered 400"},
	    {"302 Elsewhere", "", ERR_DENIED, "answered 302"},
	    {"503 Later", "", ERR_AWAY, "answered 503"},
	    {"429 Slower", "", ERR_AWAY, "answered 429"},
	    {"200 OK", "", ERR_DENIED, "no JSON"},
	    {"200 OK", "[]", ERR_DENIED, "access_token"},
	    {"200 OK", "{\"access_token\":\"\"}", ERR_DENIED, "access_token"},
	    {"200 OK", "{\"access_token\":\"a b\"}", ERR_DENIED,
		"access_token"},
	    {"200 OK", "{\"access_token\":\"a\\r\\nb\"}", ERR_DENIED,
		"access_token"},
	    {"200 OK", "{\"access_token\":7}", ERR_DENIED, "access_token"},
	    {"200 OK", "{\"access_token\":\"a\",\"token_type\":\"mac\"}",
		ERR_DENIED, "token_type"},
	    {"200 OK", "{\"access_token\":\"a\",\"expires_in\":\"x\"}",
		ERR_DENIED, "expires_in"},
	    {"200 OK", "{\"access_token\":\"a\",\"expires_in\":-1}", ERR_DENIED,
		"expires_in"},
	    {"200 OK", "{\"access_token\":\"a\"}", OK, ""},
	};
	int64_t now = 1000;

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct asked a, b;
		int before = requests();

		atomic_store(&status, T[i].status);
		atomic_store(&reply, T[i].reply);
		get(&a, now);
		run();
		if (a.done != 1 || a.e.code != T[i].code ||
		    !strstr(a.e.text, T[i].why))
			fail_msg("row %zu: %d %s", i, a.e.code, a.e.text);
		assert_int_equal(a.token[0] == '\0', T[i].code != OK);
		/* Believed for a while. */
		get(&b, now + OAUTH_FAILED_MS - 1);
		assert_int_equal(b.done, 1);
		assert_int_equal(b.e.code, T[i].code);
		assert_int_equal(requests(), before + 1);
		now += OAUTH_FAILED_MS;
	}
}

/* The guard is asked for tokens too; the client's end ends who asks. */
static void
test_ends(void **)
{
	struct asked a, b;

	conf.token_url = STR("https://10.0.0.1/token");
	get(&a, 0);
	run();
	assert_int_equal(a.e.code, ERR_DENIED);
	assert_has(a.e.text, "10.0.0.0/8");
	conf.token_url = str_of(url);
	get(&b, 0);
	client_free(client);
	client = NULL;
	assert_int_equal(b.done, 1);
	assert_int_equal(b.e.code, ERR_AWAY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_life, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_names, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
