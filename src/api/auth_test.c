/* Who calls, over the real server: account/auth.h by way of api.h. */
#include "account/auth.h"

/* The world is made of assertions: they come first. */
/* clang-format off */
#include "base/test.h"
#include "api/world_test.h"
/* clang-format on */

#define LOOK "/v1/event-types" /* what the scope read is enough for */

static void
test_who(void **)
{
	static const struct {
		const char *who, *path;
		int want;
	} rows[] = {
	    {NULL, "/healthz", 200},
	    {NULL, LOOK, 401},
	    {NULL, "/v1/whoami", 401},
	    {ADMIN, "/v1/whoami", 200},
	    {ADMIN, LOOK, 200},
	    {"admin:admin secreT", LOOK, 401},
	    {"nobody:admin secret", LOOK, 401},
	    {":", LOOK, 401},
	    {"hk_short", LOOK, 401},
	    {"hk_0123456789012345678901234567890123456789012", LOOK, 401},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int again = 0; again < 2; again++)
			if (status(rows[i].who, "GET", rows[i].path, NULL) !=
			    rows[i].want)
				fail_msg("row %zu", i);
}

/* Guessing locks the guesser; who is logged in at the same address stays. */
static void
test_lock(void **)
{
	struct answer a = {0};

	assert_int_equal(status(ADMIN, "GET", LOOK, NULL), 200);
	for (int i = 0; i < 3; i++)
		assert_int_equal(
		    status("admin:bad guess", "GET", LOOK, NULL), 401);
	a = ask("admin:bad guess", "GET", LOOK, NULL);
	assert_int_equal(a.status, 429);
	assert_in_range(a.retry_after_s, 1, 5);
	for (int i = 0; i < 8; i++)
		assert_int_equal(status(ADMIN, "GET", LOOK, NULL), 200);
	assert_int_equal(status("ann:bad guess", "GET", LOOK, NULL), 401);
}

/* However many guess names at once, each is told, and nobody waits behind
 * more than AUTH_CHECKS_EACH of one network. */
static void
test_crowd(void **)
{
	enum { CROWD = 3 * AUTH_CHECKS_EACH };
	int said[2] = {0, 0}, running = 1; /* 401, 429 */
	CURLM *m = curl_multi_init();
	struct buf out = BUF(MIB);
	CURL *each[CROWD];
	char url[64], who[32];

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%d" LOOK,
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
	assert_int_equal(ask(ADMIN, "GET", LOOK, NULL).status, 200);
}

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
