/* The preset hub, W1 to W17 of spec "Calling a protected internal webhook". */
#include "base/test.h"
#include "contract/contract_test.h"
#include "contract/request.h"

/* W1, W2, W3: with the one-time code. W15: the line. */
static void
test_W1_W2_W3_hub(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s = hub(&w, OTP);
	struct request r;

	w.ev.type = STR("user.email-verified");
	w.ev.body = STR(USER);
	r = make(&w, s);
	assert_string_equal(head(&w, &r),
	    "POST https://alb/r/user-events\n"
	    "Content-Type: application/json\n"
	    "Authorization*: 75038591\n"
	    "X-PCA-SHARED-INTERNAL-KEY*: hush1\n"
	    "X-PCA-ISSUER: https://tenant1.hub.example/auth\n"
	    "X-PCA-TENANT: tenant1\n"
	    "X-PCA-Event-APIKey*: hush3\n"
	    "X-PCA-organization-id: 7\n"
	    "X-PCA-service-partition: part\n"
	    "X-PCA-Event-Type: user.email-verified\n"
	    "X-PCA-Event-Sender: pca-id\n");
	assert_str(r.body, "{\"user\":{\"accountId\":\"acc 1\"},\"org\":7}");
	assert_str(r.log_call,
	    "Call PCA Hub Webhook (tenantname:tenant1, accountid:acc 1)");
	sub_free(s);
}

/* W4: the W2 headers and X-PCA-TENANT only. */
static void
test_W4_interim(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s = hub(&w, ",\"otp\":null");
	struct request r;

	w.ev.type = STR("user.created");
	w.ev.body = STR(USER);
	r = make(&w, s);
	assert_string_equal(head(&w, &r), "POST https://alb/r/user-events\n"
					  "Content-Type: application/json\n"
					  "X-PCA-TENANT: tenant1\n"
					  "X-PCA-Event-APIKey*: hush3\n"
					  "X-PCA-organization-id: 7\n"
					  "X-PCA-service-partition: part\n"
					  "X-PCA-Event-Type: user.created\n"
					  "X-PCA-Event-Sender: pca-id\n");
	sub_free(s);
}

/* W3: organisation events go nowhere unless enabled. */
static void
test_W3_families(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *off = hub(&w, "");
	struct sub_conf *on = hub(&w, ",\"organizationEvents\":true");
	struct request r;
	enum reason reason = REASON_NONE;
	struct err e;

	assert_true(request_wanted(off, STR("user.created")));
	assert_false(request_wanted(off, STR("organization.created")));
	assert_false(request_wanted(off, STR("users.created")));
	assert_false(request_wanted(off, STR("user")));
	assert_true(request_wanted(on, STR("organization.created")));
	w.ev.body = STR(USER);
	w.ev.type = STR("organization.created");
	assert_int_equal(
	    request_make(w.arena, off, &w.ev, &w.at, &r, &reason, &e),
	    ERR_INVALID);
	assert_int_equal(reason, REASON_FILTER);
	r = make(&w, on);
	assert_str(r.url, "https://alb/r/organization-events");
	sub_free(off);
	sub_free(on);
}

/* W5, W6: the health check, and what its answers mean. */
static void
test_W5_W6_preflight(void **state)
{
	static const struct {
		struct outcome o;
		bool good;
	} rows[] = {
	    {{.status = 200, .body = {"{\"Status\":2}", 12}}, true},
	    {{.status = 200, .body = {"{\"Status\":2.0}", 14}}, true},
	    {{.status = 200, .body = {"{\"Status\":\"2\"}", 14}}, false},
	    {{.status = 200, .body = {"{\"Status\":1}", 12}}, false},
	    {{.status = 200, .body = {"{\"status\":2}", 12}}, false},
	    {{.status = 200, .body = {"2", 1}}, false},
	    {{.status = 200, .body = {"", 0}}, false},
	    {{.status = 201, .body = {"{\"Status\":2}", 12}}, false},
	    {{.status = 503, .body = {"{\"Status\":2}", 12}}, false},
	    {{.net = NET_TIMEOUT}, false},
	    {{.net = NET_DNS}, false},
	};
	static const struct {
		const char *more;
		enum verdict want;
	} fails[] = {
	    {"", VERDICT_DEAD},
	    {",\"preflightFail\":\"retry\"", VERDICT_RETRY},
	    {",\"preflightFail\":\"hold\"", VERDICT_HOLD},
	};
	struct world w = *(struct world *)*state;
	struct sub_conf *s;
	struct request r;
	struct err e;

	w.ev.body = STR(USER);
	for (size_t f = 0; f < COUNT_OF(fails); f++) {
		s = hub(&w, fails[f].more);
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			struct judgement j =
			    preflight_judge(w.arena, s, &rows[i].o);

			assert_int_equal(j.verdict,
			    rows[i].good ? VERDICT_OK : fails[f].want);
			assert_int_equal(j.reason,
			    rows[i].good ? REASON_NONE : REASON_PREFLIGHT);
		}
		assert_int_equal(preflight_make(w.arena, s, &w.ev, &w.at, &r,
				     &(enum reason){REASON_NONE}, &e),
		    1);
		assert_string_equal(head(&w, &r),
		    "GET https://tenant1.hub.example/g/api/pca119\n"
		    "Accept: application/json\n");
		assert_int_equal(r.body.n, 0);
		sub_free(s);
	}
	s = hub(&w, ",\"healthUrl\":\"http://127.0.0.1:1/{tenant}\"");
	assert_int_equal(preflight_make(w.arena, s, &w.ev, &w.at, &r,
			     &(enum reason){REASON_NONE}, &e),
	    1);
	assert_str(r.url, "http://127.0.0.1:1/tenant1");
	sub_free(s);
	s = sub(&w, "{" BASE "}");
	assert_int_equal(preflight_make(w.arena, s, &w.ev, &w.at, &r,
			     &(enum reason){REASON_NONE}, &e),
	    0);
	sub_free(s);
}

/* W15, W16: what is logged after a failure. */
static void
test_W16_log(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s = hub(&w, "");
	struct outcome o = {.status = 500,
	    .body = STR("{\"trace\":\"t-1\",\r\n\"x\":\"\x1b\"}\xff")};
	struct request_error said;
	static char big[40 * 1024];
	struct err e;

	w.ev.body = STR(USER);
	assert_int_equal(
	    request_log_error(w.arena, s, &w.ev, &w.at, &o, &said, &e), OK);
	assert_str(said.line,
	    "Error PCA Hub Webhook (tenantname:tenant1, accountid:acc 1, "
	    "res:{\"trace\":\"t-1\",\\r\\n\"x\":\"\\x1b\"}\\xff)");
	assert_int_equal(said.trace.n, 0); /* that was no JSON */
	o.body = STR("{\"trace\":\"t-1\"}");
	assert_int_equal(
	    request_log_error(w.arena, s, &w.ev, &w.at, &o, &said, &e), OK);
	assert_str(said.trace, "t-1");
	memset(big, 'x', sizeof(big));
	o.body = (struct str){big, sizeof(big)};
	assert_int_equal(
	    request_log_error(w.arena, s, &w.ev, &w.at, &o, &said, &e), OK);
	assert_in_range(
	    said.line.n, REQUEST_LOG_BODY_MAX, REQUEST_LOG_BODY_MAX + 100);
	sub_free(s);
	s = sub(&w, "{" BASE "}");
	assert_int_equal(
	    request_log_error(w.arena, s, &w.ev, &w.at, &o, &said, &e), OK);
	assert_int_equal(said.line.n, 0);
	sub_free(s);
}

/* Order and spacing: the key, or tenant and account (W17). */
static void
test_W17_keys(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s = sub(&w, "{" BASE "}");
	struct str key;
	struct err e;

	assert_int_equal(
	    request_key(w.arena, s, &w.ev, &s->preset->order_key, &key, &e),
	    OK);
	assert_str(key, "ké 1");
	assert_int_equal(
	    request_key(w.arena, s, &w.ev, &s->preset->spacing_key, &key, &e),
	    OK);
	assert_int_equal(key.n, 0);
	sub_free(s);
	s = hub(&w, "");
	w.ev.body = STR(USER);
	assert_int_equal(
	    request_key(w.arena, s, &w.ev, &s->preset->order_key, &key, &e),
	    OK);
	assert_str(key, "tenant1/acc 1");
	assert_int_equal(
	    request_key(w.arena, s, &w.ev, &s->preset->spacing_key, &key, &e),
	    OK);
	assert_str(key, "tenant1/acc 1");
	/* Without an account the event's own key. */
	w.ev.body = STR("{\"payload\":{}}");
	assert_int_equal(
	    request_key(w.arena, s, &w.ev, &s->preset->order_key, &key, &e),
	    OK);
	assert_str(key, "tenant1/ké 1");
	sub_free(s);
}

/* {tenant} in a host is one DNS label; what can't be sent says why. */
static void
test_refused(void **state)
{
	static const struct {
		const char *more, *body;
		enum reason want;
	} rows[] = {
	    {"", "{\"payload\":{\"org\":7}}", REASON_NONE},
	    {"", "{\"payload\":{}}", REASON_RENDER},
	    {"", "{\"payload\":{\"org\":\"a\\r\\nX: y\"}}", REASON_RENDER},
	    {"", "{\"payload\":{\"org\":{}}}", REASON_RENDER},
	    {"", "{", REASON_RENDER},
	    {"", "{}", REASON_RENDER},
	};
	static const struct {
		const char *tenant;
		bool good;
	} hosts[] = {
	    {"t1", true},
	    {"T-9", true},
	    {"a.b", false},
	    {"evil.example/", false},
	    {"a@b", false},
	    {"", false},
	    {"-a", false},
	    {"a b", false},
	    {"é", false},
	    {"a:80", false},
	};
	struct world w = *(struct world *)*state;
	struct sub_conf *s = hub(&w, "");
	struct request r;
	struct err e;
	char body[256];

	w.ev.type = STR("user.created");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		enum reason reason = REASON_NONE;
		int rc;

		w.ev.body = str_of(rows[i].body);
		rc = request_make(w.arena, s, &w.ev, &w.at, &r, &reason, &e);
		assert_int_equal(reason, rows[i].want);
		assert_int_equal(rc, rows[i].want ? ERR_INVALID : OK);
	}
	sub_free(s);
	s = sub(&w,
	    "{\"name\":\"h\",\"preset\":\"hub\","
	    "\"url\":\"https://{tenant}.example/r\","
	    "\"hub\":{\"tenant\":{\"pointer\":\"/payload/t\"},"
	    "\"domain\":\"d\",\"eventApiKey\":\"k\",\"organizationId\":\"o\","
	    "\"servicePartition\":\"p\",\"sender\":\"s\",\"otp\":null}}");
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		enum reason reason = REASON_NONE;
		int rc;

		(void)snprintf(body, sizeof(body),
		    "{\"payload\":{\"t\":\"%s\"}}", hosts[i].tenant);
		w.ev.body = str_of(body);
		rc = request_make(w.arena, s, &w.ev, &w.at, &r, &reason, &e);
		assert_int_equal(rc, hosts[i].good ? OK : ERR_INVALID);
		if (!hosts[i].good)
			assert_int_equal(reason, REASON_RENDER);
		rc = preflight_make(w.arena, s, &w.ev, &w.at, &r, &reason, &e);
		assert_int_equal(rc, hosts[i].good ? 1 : ERR_INVALID);
	}
	sub_free(s);
}

/* A value from an event is one segment of the path, and leads nowhere else. */
static void
test_dots(void **state)
{
	static const struct {
		const char *path, *tenant;
		const char *url; /* NULL: refused */
	} rows[] = {
	    {"/r/{tenant}/x", "a", "https://h.example/r/a/x"},
	    {"/r/{tenant}/x", ".", NULL},
	    {"/r/{tenant}/x", "..", NULL},
	    {"/r/{tenant}", "..", NULL},
	    {"/r/.{tenant}/x", ".", NULL},
	    {"/r/%2E{tenant}/x", ".", NULL},
	    {"/r/{tenant}{tenant}", ".", NULL},
	    {"/r/{tenant}{tenant}", "..", "https://h.example/r/...."},
	    {"/r/{tenant}/x", "...", "https://h.example/r/.../x"},
	    {"/r/{tenant}/x", "%2e%2e", "https://h.example/r/%252e%252e/x"},
	    {"/r/{tenant}/x", "../..", "https://h.example/r/..%2F../x"},
	    {"/r/{tenant}/x", "a/../b", "https://h.example/r/a%2F..%2Fb/x"},
	    {"/r/{tenant}/x", "?q#f", "https://h.example/r/%3Fq%23f/x"},
	    {"/r/{tenant}/x", "..\\\\", "https://h.example/r/..%5C/x"},
	    {"/r?q={tenant}/../", "..", "https://h.example/r?q=../../"},
	};
	struct world w = *(struct world *)*state;
	char text[512];

	w.ev.type = STR("user.created");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		enum reason reason = REASON_NONE;
		struct sub_conf *s;
		struct request r;
		struct err e;
		int rc;

		(void)snprintf(text, sizeof(text),
		    "{\"name\":\"h\",\"preset\":\"hub\","
		    "\"url\":\"https://h.example%s\","
		    "\"hub\":{\"tenant\":{\"pointer\":\"/payload/t\"},"
		    "\"domain\":\"d\",\"eventApiKey\":\"k\","
		    "\"organizationId\":\"o\",\"servicePartition\":\"p\","
		    "\"sender\":\"s\",\"otp\":null}}",
		    rows[i].path);
		s = sub(&w, text);
		(void)snprintf(text, sizeof(text),
		    "{\"payload\":{\"t\":\"%s\"}}", rows[i].tenant);
		w.ev.body = str_of(text);
		rc = request_make(w.arena, s, &w.ev, &w.at, &r, &reason, &e);
		if (!rows[i].url != (rc == ERR_INVALID) ||
		    (!rows[i].url && reason != REASON_RENDER))
			fail_msg("row %zu: %d", i, rc);
		if (rows[i].url && !str_starts(r.url, str_of(rows[i].url)))
			fail_msg("row %zu: %.*s", i, STR_ARG(r.url));
		sub_free(s);
	}
}

/* What is kept of a request has no secret in it. */
static void
test_head(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s = hub(&w, OTP);
	struct buf b = BUF(64 * KIB);
	struct request r;

	w.ev.type = STR("user.x");
	w.ev.body = STR(USER);
	r = make(&w, s);
	request_head(&r, &b);
	buf_addc(&b, '\0');
	assert_null(strstr(b.p, "hush"));
	assert_null(strstr(b.p, "75038591"));
	assert_non_null(strstr(b.p, "Authorization: ********\n"));
	assert_non_null(strstr(b.p, "X-PCA-TENANT: tenant1\n"));
	assert_non_null(strstr(b.p, "X-PCA-organization-id: ********\n"));
	sub_free(s);

	s = sub(&w, "{\"name\":\"n\",\"url\":\"https://h/x?token=hush\"}");
	r = make(&w, s);
	buf_clear(&b);
	request_head(&r, &b);
	buf_addc(&b, '\0');
	assert_non_null(strstr(b.p, "POST https://h/x?********\n"));
	assert_non_null(strstr(b.p, "webhook-signature: ********\n"));
	assert_non_null(strstr(b.p, "webhook-id: " ID "\n"));
	for (size_t i = r.n; i < REQUEST_HEADERS_MAX; i++)
		r.headers[i] = (struct request_header){
		    STR("X-Long-Header-Name"), STR("v"), false};
	r.n = REQUEST_HEADERS_MAX;
	buf_clear(&b);
	request_head(&r, &b);
	assert_in_range(b.n, REQUEST_HEAD_MAX - 64, REQUEST_HEAD_MAX);
	assert_int_equal(b.p[b.n - 1], '\n');
	buf_done(&b);
	sub_free(s);
}

/* W14, time.scale: HTTP stays below half of the lock, however scaled. */
static void
test_W14_policy_scaled(void **state)
{
	static const struct {
		int64_t scale, total_ms, lock_ms, spacing_ms;
	} rows[] = {
	    {1, 60000, 180000, 2000},
	    {2, 44999, 90000, 1000},
	    {100, 899, 1800, 20},
	    {1000000, 1, 1, 1},
	};
	struct sub_policy y;
	struct world *w = *state;
	struct sub_conf *s = hub(w, "");

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		sub_policy(s, rows[i].scale, &y);
		assert_int_equal(y.total_ms, rows[i].total_ms);
		assert_int_equal(y.lock_ms, rows[i].lock_ms);
		assert_int_equal(y.spacing_ms, rows[i].spacing_ms);
		assert_true(y.connect_ms <= y.total_ms);
		assert_true(y.ordered);
	}
	sub_free(s);
	/* With waits of one's own the preset still says what counts. */
	s = sub(
	    w, "{" BASE ",\"preset\":\"task\",\"retry\":{\"delaysMs\":[5]}}");
	sub_policy(s, 1, &y);
	assert_false(y.retry.heed);
	sub_free(s);
	s = sub(w, "{" BASE "}");
	for (int64_t scale = 1; scale <= 1000; scale *= 10) {
		sub_policy(s, scale, &y);
		assert_int_equal(y.total_ms, 15000);
		assert_int_equal(y.breaker_open_ms, 300000 / scale);
	}
	sub_free(s);
}

/* An event of ours goes its way, whatever the pointers want. */
static void
test_send(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s = hub(&w, OTP);
	enum reason reason = REASON_NONE;
	struct request r;
	struct err e;

	w.ev.type = request_test_type(w.arena, s);
	assert_str(w.ev.type, "user.test");
	w.ev.body = STR("{\"payload\":{}}");
	assert_int_equal(
	    request_make(w.arena, s, &w.ev, &w.at, &r, &reason, &e),
	    ERR_INVALID);
	w.at.made = true;
	r = make(&w, s);
	assert_str(r.url, "https://alb/r/user-events");
	assert_non_null(strstr(head(&w, &r), "X-PCA-organization-id: test\n"));
	sub_free(s);
	s = sub(&w, "{" BASE "}");
	assert_str(request_test_type(w.arena, s), "TEST");
	sub_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_W1_W2_W3_hub),
	    cmocka_unit_test(test_W4_interim),
	    cmocka_unit_test(test_W3_families),
	    cmocka_unit_test(test_W5_W6_preflight),
	    cmocka_unit_test(test_W16_log),
	    cmocka_unit_test(test_W17_keys),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_dots),
	    cmocka_unit_test(test_head),
	    cmocka_unit_test(test_W14_policy_scaled),
	    cmocka_unit_test(test_send),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
