#include "contract/receive.h"

#include "base/test.h"
#include "contract/contract_test.h"

/* A made request as it would come over the wire. */
static struct str
wire(struct world *w, const struct request *r)
{
	struct buf b = BUF(256 * KIB);
	struct str text;

	buf_addz(&b, "POST /x HTTP/1.1\r\nHost: h\r\n");
	for (size_t i = 0; i < r->n; i++)
		buf_fmt(&b, "%.*s: %.*s\r\n", STR_ARG(r->headers[i].name),
		    STR_ARG(r->headers[i].value));
	buf_fmt(&b, "Content-Length: %zu\r\n\r\n", r->body.n);
	buf_add(&b, r->body);
	text = arena_dup(w->arena, buf_str(&b));
	buf_done(&b);
	return text;
}

static enum receive_result
check(struct world *w, const char *preset, struct str secret, struct str text,
    int64_t now_us)
{
	struct str secrets[] = {
	    STR("whsec_////////////////////////////////////////////"), secret};
	enum receive_result result = RECEIVE_OK;
	struct received got;
	struct err e;

	assert_int_equal(receive_parse(w->arena, text, &got, &e), OK);
	if (receive_verify(presets_find(w->presets, str_of(preset)), secrets, 2,
		&got, (struct receive_time){now_us, RECEIVE_TOLERANCE_S},
		&result, &e) != OK)
		fail_msg("%s", e.text);
	return result;
}

/* What each preset makes is verified, and nothing else. */
static void
test_round_trip(void **state)
{
	static const struct {
		const char *preset, *secret;

	} rows[] = {
	    {"standard", SECRET},
	    {
		"standard",
		"whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=",
	    },
	    {"cloudevents", SECRET},
	    {"cloudevents-binary", SECRET},
	    {"repository", "any text"},
	    {"repository", SECRET},
	    {"task", "any text"},
	};
	const int64_t far = (RECEIVE_TOLERANCE_S + 1) * US_PER_S;
	struct world *w = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char json[512];
		struct sub_conf *s;
		struct request r;
		struct str secret = str_of(rows[i].secret), text;
		char *bytes;

		(void)snprintf(json, sizeof(json),
		    "{" BASE ",\"preset\":\"%s\",\"secret\":\"%s\"}",
		    rows[i].preset, rows[i].secret);
		s = sub(w, json);
		r = make(w, s);
		text = wire(w, &r);
		assert_int_equal(
		    check(w, rows[i].preset, secret, text, NOW), RECEIVE_OK);
		assert_int_equal(
		    check(w, rows[i].preset, secret, text, NOW + far),
		    RECEIVE_TIME);
		assert_int_equal(
		    check(w, rows[i].preset, secret, text, NOW - far),
		    RECEIVE_TIME);
		assert_int_equal(
		    check(w, rows[i].preset,
			STR("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
			text, NOW),
		    RECEIVE_WRONG);
		/* One bit of the body. */
		bytes = (char *)(uintptr_t)text.p;
		bytes[text.n - 2] ^= 1;
		assert_int_equal(
		    check(w, rows[i].preset, secret, text, NOW), RECEIVE_WRONG);
		bytes[text.n - 2] ^= 1;
		/* Without what proves it. */
		for (size_t k = 0; k < r.n; k++)
			if (r.headers[k].secret)
				r.headers[k].name = STR("X-Other");
		assert_int_equal(
		    check(w, rows[i].preset, secret, wire(w, &r), NOW),
		    RECEIVE_UNSIGNED);
		sub_free(s);
	}
}

/* The public key is all a receiver needs. */
static void
test_public_key(void **state)
{
	struct world *w = *state;
	struct sub_conf *s =
	    sub(w, "{" BASE ",\"secret\":\"whsk_"
		   "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\"}");
	struct request r = make(w, s);

	assert_int_equal(
	    check(w, "standard",
		STR("whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="),
		wire(w, &r), NOW),
	    RECEIVE_OK);
	sub_free(s);
}

/* The example of Standard Webhooks' own libraries. */
static void
test_standard_webhooks(void **state)
{
	static const struct {
		const char *text;
		enum receive_result want;
	} rows[] = {
	    {"webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\n"
	     "webhook-timestamp: 1614265330\n"
	     "webhook-signature: "
	     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\n\n"
	     "{\"test\": 2432232314}",
		RECEIVE_OK},
	    {"Webhook-Id: msg_p5jXN8AQM9LWM0D4loKWxJek\r\n"
	     "WEBHOOK-TIMESTAMP: 1614265330\r\n"
	     "webhook-signature: v2,x v1,AAAA "
	     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= v1,zzz\r\n\r\n"
	     "{\"test\": 2432232314}",
		RECEIVE_OK},
	    {"webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\n"
	     "webhook-timestamp: 1614265330\n"
	     "webhook-signature: "
	     "v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\n\n"
	     "{\"test\": 2432232314}",
		RECEIVE_WRONG},
	    {"webhook-timestamp: 1614265330\n"
	     "webhook-signature: "
	     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\n\n"
	     "{\"test\": 2432232314}",
		RECEIVE_NO_FIELD},
	    {"webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\n"
	     "webhook-timestamp: 16142653x0\n"
	     "webhook-signature: "
	     "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\n\n"
	     "{\"test\": 2432232314}",
		RECEIVE_TIME},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
		    check(*state, "standard",
			STR("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
			str_of(rows[i].text), INT64_C(1614265330) * US_PER_S),
		    rows[i].want);
}

static void
test_parse(void **state)
{
	struct world *w = *state;
	struct received r;
	struct err e;

	assert_int_equal(
	    receive_parse(w->arena,
		STR("POST /a HTTP/1.1\r\nA:  b \r\ncontent-length: 2\r\n\r\n"
		    "xyz\n"),
		&r, &e),
	    OK);
	assert_str(r.line, "POST /a HTTP/1.1");
	assert_str(receive_header(&r, "a"), "b");
	assert_int_equal(receive_header(&r, "none").n, 0);
	assert_str(r.body, "xy");
	assert_int_equal(receive_parse(w->arena, STR("\n{}"), &r, &e), OK);
	assert_int_equal(r.n, 0);
	assert_str(r.body, "{}");
	assert_int_equal(
	    receive_parse(w->arena, STR("no header\n\n"), &r, &e), ERR_SYNTAX);
}

static void
test_refused(void **state)
{
	struct world *w = *state;
	struct str secret = STR("short");
	enum receive_result result = RECEIVE_OK;
	struct received r = {.n = 0};
	struct err e;

	assert_int_equal(
	    receive_verify(presets_find(w->presets, STR("hub")), NULL, 0, &r,
		(struct receive_time){NOW, 300}, &result, &e),
	    OK);
	assert_int_equal(result, RECEIVE_NO_SCHEME);
	assert_int_equal(
	    receive_verify(presets_find(w->presets, STR("standard")), &secret,
		1, &r, (struct receive_time){NOW, 300}, &result, &e),
	    ERR_INVALID);
	assert_int_equal(
	    receive_verify(presets_find(w->presets, STR("standard")), NULL, 0,
		&r, (struct receive_time){NOW, 300}, &result, &e),
	    ERR_INVALID);
	for (int i = 0; i <= RECEIVE_WRONG; i++)
		assert_true(strlen(receive_text((enum receive_result)i)) > 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_public_key),
	    cmocka_unit_test(test_standard_webhooks),
	    cmocka_unit_test(test_parse),
	    cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
