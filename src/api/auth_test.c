/* Who calls, over the real server: see world.h. */
#include "account/auth.h"

/* The world is made of assertions: they come first. */
/* clang-format off */
#include "base/test.h"
#include "account/world.h"
/* clang-format on */

static int
hello(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	(void)e;
	buf_addz(&r->out, "{}");
	return OK;
}

static const struct route ROUTES[] = {
    {GET, "/open", SCOPE_OPEN, ON_HTTP, hello, "", ""},
    {GET, "/any", SCOPE_ANY, ON_HTTP, hello, "", ""},
    {GET, "/read", SCOPE_READ, ON_HTTP, hello, "", ""},
};

static int
begin(void **state)
{
	(void)state;
	world_begin(ROUTES, COUNT_OF(ROUTES));
	return 0;
}

static int
end(void **state)
{
	(void)state;
	world_end();
	return 0;
}

static void
test_who(void **state)
{
	static const struct {
		const char *who, *path;
		int want;
	} rows[] = {
	    {NULL, "/open", 200},
	    {NULL, "/read", 401},
	    {NULL, "/any", 401},
	    {ADMIN, "/any", 200},
	    {ADMIN, "/read", 200},
	    {"admin:admin secreT", "/read", 401},
	    {"nobody:admin secret", "/read", 401},
	    {":", "/read", 401},
	    {"hk_short", "/read", 401},
	    {"hk_0123456789012345678901234567890123456789012", "/read", 401},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int again = 0; again < 2; again++)
			if (status(rows[i].who, "GET", rows[i].path, NULL) !=
			    rows[i].want)
				fail_msg("row %zu", i);
}

/* Guessing locks the guesser; who is logged in at the same address stays. */
static void
test_lock(void **state)
{
	struct answer a = {0};

	(void)state;
	assert_int_equal(status(ADMIN, "GET", "/read", NULL), 200);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
		    status("admin:bad guess", "GET", "/read", NULL), 401);
	a = ask("admin:bad guess", "GET", "/read", NULL);
	assert_int_equal(a.status, 429);
	assert_in_range(a.retry_after_s, 1, 5);
	for (int i = 0; i < 8; i++)
		assert_int_equal(status(ADMIN, "GET", "/read", NULL), 200);
	assert_int_equal(status("ann:bad guess", "GET", "/read", NULL), 401);
}

/* However many guess names at once, each is told, and nobody waits behind
 * more than AUTH_CHECKS_EACH of one network. */
static void
test_crowd(void **state)
{
	enum { CROWD = 3 * AUTH_CHECKS_EACH };
	int said[2] = {0, 0}, running = 1; /* 401, 429 */
	CURLM *m = curl_multi_init();
	struct buf out = BUF(MIB);
	CURL *each[CROWD];
	char url[64], who[32];

	(void)state;
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/read",
	    server_port(w.server));
	for (int i = 0; i < CROWD; i++) {
		(void)snprintf(who, sizeof(who), "name%d:bad guess", i);
		each[i] = curl_easy_init();
		curl_easy_setopt(each[i], CURLOPT_URL, url);
		curl_easy_setopt(each[i], CURLOPT_NOPROXY, "*");
		curl_easy_setopt(each[i], CURLOPT_USERPWD, who);
		curl_easy_setopt(each[i], CURLOPT_WRITEFUNCTION, take);
		curl_easy_setopt(each[i], CURLOPT_WRITEDATA, &out);
		curl_multi_add_handle(m, each[i]);
	}
	while (running) {
		assert_int_equal(curl_multi_perform(m, &running), CURLM_OK);
		(void)curl_multi_poll(m, NULL, 0, 100, NULL);
	}
	for (int i = 0; i < CROWD; i++) {
		long status = 0;

		curl_easy_getinfo(each[i], CURLINFO_RESPONSE_CODE, &status);
		assert_true(status == 401 || status == 429);
		said[status == 429]++;
		curl_multi_remove_handle(m, each[i]);
		curl_easy_cleanup(each[i]);
	}
	curl_multi_cleanup(m);
	buf_done(&out);
	assert_true(said[0] >= AUTH_CHECKS_EACH);
	assert_true(said[1] >= 1);
	assert_int_equal(ask(ADMIN, "GET", "/read", NULL).status, 200);
}

#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    WITH_SERVER(test_who),
	    WITH_SERVER(test_lock),
	    WITH_SERVER(test_crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
