#include "source/hook.h"

#include "base/conf/conf.h"
#include "base/test.h"
#include "contract/preset.h"

#define NOW    (INT64_C(1614265330) * US_PER_S)
#define TENANT "0198c2f0-7d1e-7a3b-8c4d-5e6f70819203"
#define DEFAULTS                                                               \
	"\"defaults\":{\"tenantId\":\"" TENANT "\",\"eventType\":\"a.b\"}"
#define STANDARD                                                               \
	"{\"scheme\":\"standard\","                                            \
	"\"secret\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"," DEFAULTS "}"
#define GITHUB                                                                 \
	"{\"scheme\":\"github\",\"secret\":\"It's a Secret to Everybody\","    \
	"\"defaults\":{\"tenantId\":\"" TENANT "\"}}"
#define STRIPE                                                                 \
	"{\"scheme\":\"stripe\",\"secret\":\"whsec_stripe_test\","             \
	"\"defaults\":{\"tenantId\":\"" TENANT "\"}}"
#define BEARER "{\"scheme\":\"bearer\",\"secret\":\"token-12345\"," DEFAULTS "}"
#define TOKEN                                                                  \
	"{\"scheme\":\"bearer\",\"header\":\"X-Token\","                       \
	"\"secret\":\"token-12345\"," DEFAULTS "}"
#define BASIC                                                                  \
	"{\"scheme\":\"basic\",\"username\":\"Aladdin\","                      \
	"\"secret\":\"open sesame\"," DEFAULTS "}"
#define NONE "{\"scheme\":\"none\",\"unsafe\":true," DEFAULTS "}"

static struct arena *arena;
static struct presets *presets;
static struct hook_rules rules;
static struct err e;

static int
begin(void **)
{
	static struct conf conf;

	arena = arena_new(16 * MIB);
	presets = presets_load(&conf);
	rules.presets = presets;
	return arena ? 0 : -1;
}

static int
end(void **)
{
	presets_free(presets);
	arena_free(arena);
	return 0;
}

static struct hook *
hook(const char *json)
{
	struct hook *h = NULL;

	e = (struct err){0};
	if (hook_read(str_of(json), STR("src"), NULL, &rules, &h, &e) < 0)
		fail_msg("%s: %s: %s", json, e.at, e.text);
	return h;
}

/* Headers as lines, an empty one, the body. */
static struct hook_request
request(const char *text)
{
	struct hook_request q = {.now_us = NOW, .peer = STR("192.0.2.1")};

	assert_int_equal(receive_parse(arena, str_of(text), &q.in, &e), OK);
	return q;
}

/* The one of GitHub's documentation. */
#define GITHUB_MAC                                                             \
	"757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
/* The one of the Standard Webhooks libraries. */
#define ID   "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\n"
#define WHEN "webhook-timestamp: 1614265330\n"
#define MAC  "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
#define BODY "\n{\"test\": 2432232314}"
/* By Python's hmac. */
#define STRIPE_MAC                                                             \
	"50837474b9c7bb666798b772ac794c5ffe880a4d48ec793d658c6574ba7e46ce"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static void
test_verify(void **)
{
	static const struct {
		const char *conf, *request;
		enum receive_result want;
	} T[] = {
	    {GITHUB,
		"X-Hub-Signature-256: sha256=" GITHUB_MAC "\n\nHello, World!",
		RECEIVE_OK},
	    {GITHUB,
		"x-hub-signature-256: sha256=" GITHUB_MAC "\n\nHello, World?",
		RECEIVE_WRONG},
	    {GITHUB,
		"X-Hub-Signature-256: sha1=" GITHUB_MAC "\n\nHello, World!",
		RECEIVE_WRONG},
	    {GITHUB, "X-Hub-Signature-256: " GITHUB_MAC "\n\nHello, World!",
		RECEIVE_WRONG},
	    {GITHUB, "X-Hub-Signature-256: sha256=\n\nHello, World!",
		RECEIVE_WRONG},
	    {GITHUB, "X-Hub-Signature: sha256=" GITHUB_MAC "\n\nHello, World!",
		RECEIVE_UNSIGNED},
	    {STANDARD, ID WHEN "webhook-signature: " MAC "\n" BODY, RECEIVE_OK},
	    {STANDARD,
		ID WHEN "webhook-signature: v1,AAAA v2,x v1 " MAC "\n" BODY,
		RECEIVE_OK},
	    {STANDARD,
		"svix-id: msg_p5jXN8AQM9LWM0D4loKWxJek\n"
		"svix-timestamp: 1614265330\nsvix-signature: " MAC "\n" BODY,
		RECEIVE_OK},
	    {STANDARD,
		ID "webhook-timestamp: 1614265331\nwebhook-signature: " MAC
		   "\n" BODY,
		RECEIVE_WRONG},
	    {STANDARD,
		ID "webhook-timestamp: 1614264000\nwebhook-signature: " MAC
		   "\n" BODY,
		RECEIVE_TIME},
	    {STANDARD,
		ID "webhook-timestamp: soon\nwebhook-signature: " MAC "\n" BODY,
		RECEIVE_TIME},
	    {STANDARD, WHEN "webhook-signature: " MAC "\n" BODY,
		RECEIVE_NO_FIELD},
	    {STANDARD, ID WHEN BODY, RECEIVE_UNSIGNED},
	    {STANDARD, ID WHEN "webhook-signature: v0," MAC "\n" BODY,
		RECEIVE_WRONG},
	    /* Past the first few nobody looks. */
	    {STANDARD,
		ID WHEN "webhook-signature: v1,AAAA v1,AAAA v1,AAAA v1,AAAA "
			"v1,AAAA v1,AAAA v1,AAAA v1,AAAA " MAC "\n" BODY,
		RECEIVE_WRONG},
	    {STRIPE,
		"Stripe-Signature: t=1614265330,v1=" STRIPE_MAC
		"\n\n{\"id\":\"evt_1\"}",
		RECEIVE_OK},
	    {STRIPE,
		"Stripe-Signature: t=1614265330, v0=00,v1=" ZEROS
		", v1=" STRIPE_MAC "\n\n{\"id\":\"evt_1\"}",
		RECEIVE_OK},
	    {STRIPE,
		"Stripe-Signature: t=1614265330,v0=" STRIPE_MAC
		"\n\n{\"id\":\"evt_1\"}",
		RECEIVE_WRONG},
	    {STRIPE,
		"Stripe-Signature: v1=" STRIPE_MAC "\n\n{\"id\":\"evt_1\"}",
		RECEIVE_NO_FIELD},
	    {STRIPE,
		"Stripe-Signature: t=99999999999999999999,v1=" STRIPE_MAC
		"\n\n{\"id\":\"evt_1\"}",
		RECEIVE_TIME},
	    {STRIPE,
		"Stripe-Signature: t=1614264000,v1=" STRIPE_MAC
		"\n\n{\"id\":\"evt_1\"}",
		RECEIVE_TIME},
	    {STRIPE, "X: y\n\n{}", RECEIVE_UNSIGNED},
	    {BEARER, "Authorization: bearer token-12345\n\n", RECEIVE_OK},
	    {BEARER, "Authorization: Bearer token-12346\n\n", RECEIVE_WRONG},
	    {BEARER, "Authorization: Bearer token-1234\n\n", RECEIVE_WRONG},
	    {BEARER, "Authorization: token-12345\n\n", RECEIVE_UNSIGNED},
	    {BEARER, "X-Token: token-12345\n\n", RECEIVE_UNSIGNED},
	    {TOKEN, "x-token: token-12345\n\n", RECEIVE_OK},
	    {TOKEN, "x-token: Bearer token-12345\n\n", RECEIVE_WRONG},
	    {BASIC, "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\n\n",
		RECEIVE_OK},
	    {BASIC, "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ\n\n",
		RECEIVE_WRONG},
	    {BASIC, "Authorization: Basic QWxhZGRpbjo=\n\n", RECEIVE_WRONG},
	    {BASIC, "Authorization: Bearer QWxhZGRpbjo=\n\n", RECEIVE_UNSIGNED},
	    {NONE, "X: y\n\n", RECEIVE_OK},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct hook *h = hook(T[i].conf);
		struct hook_request q = request(T[i].request);
		enum receive_result got = RECEIVE_NO_SCHEME;

		assert_int_equal(hook_verify(h, &q, &got, &e), OK);
		if (got != T[i].want)
			fail_msg(
			    "%zu: %s: %s", i, T[i].request, receive_text(got));
		hook_free(h);
	}
}

static void
test_rotate(void **)
{
	struct hook *h = hook(GITHUB);
	struct hook_request q = request(
	    "X-Hub-Signature-256: sha256=" GITHUB_MAC "\n\nHello, World!");
	enum receive_result got = RECEIVE_NO_SCHEME;
	struct buf b = BUF(64 * KIB);
	struct hook *again = NULL;

	assert_int_equal(hook_rotate(h, STR("another one"), 60, NOW, &e), OK);
	assert_int_equal(h->n_secrets, 2);
	assert_int_equal(hook_verify(h, &q, &got, &e), OK);
	assert_int_equal(got, RECEIVE_OK);
	q.now_us += 61 * US_PER_S;
	assert_int_equal(hook_verify(h, &q, &got, &e), OK);
	assert_int_equal(got, RECEIVE_WRONG);
	/* What has ended goes with the next; one that is made is long. */
	assert_int_equal(
	    hook_rotate(h, STR_EMPTY, 60, NOW + 61 * US_PER_S, &e), OK);
	assert_int_equal(h->n_secrets, 2);
	assert_true(h->secrets[0].text.n == 64);
	assert_int_equal(
	    hook_rotate(h, STR("short"), 60, NOW, &e), ERR_INVALID);
	for (int i = 0; i < SUB_SECRETS_MAX - 2; i++)
		assert_int_equal(
		    hook_rotate(h, STR_EMPTY, 60, NOW + 61 * US_PER_S, &e), OK);
	assert_int_equal(
	    hook_rotate(h, STR_EMPTY, 60, NOW + 61 * US_PER_S, &e), ERR_LIMIT);
	assert_int_equal(h->n_secrets, SUB_SECRETS_MAX);
	/* Stored and read again. */
	hook_conf(h, &b);
	assert_null(memmem(b.p, b.n, "Everybody", 9));
	{
		struct buf s = BUF(64 * KIB);

		hook_secrets(h, &s);
		assert_int_equal(hook_load(STR("src"), buf_str(&b), buf_str(&s),
				     &rules, &again, &e),
		    OK);
		buf_done(&s);
	}
	assert_int_equal(again->n_secrets, SUB_SECRETS_MAX);
	for (size_t i = 0; i < SUB_SECRETS_MAX; i++) {
		assert_true(str_eq(again->secrets[i].text, h->secrets[i].text));
		assert_int_equal(
		    again->secrets[i].until_us, h->secrets[i].until_us);
	}
	buf_done(&b);
	hook_free(again);
	hook_free(h);
	h = hook(NONE);
	assert_int_equal(hook_rotate(h, STR_EMPTY, 60, NOW, &e), ERR_CONFLICT);
	hook_free(h);
}

static void
test_networks(void **)
{
	static const struct {
		const char *nets, *peer;
		bool want;
	} T[] = {
	    {"[]", "192.0.2.1", true},
	    {"[]", "unix", true},
	    {"[\"192.0.2.0/24\"]", "192.0.2.255", true},
	    {"[\"192.0.2.0/24\"]", "192.0.3.0", false},
	    {"[\"192.0.2.0/24\"]", "unix", false},
	    {"[\"192.0.2.0/24\"]", "2001:db8::1", false},
	    {"[\"192.0.2.128/25\"]", "192.0.2.127", false},
	    {"[\"192.0.2.7\"]", "192.0.2.7", true},
	    {"[\"192.0.2.7\"]", "192.0.2.6", false},
	    {"[\"0.0.0.0/0\"]", "10.1.2.3", true},
	    {"[\"0.0.0.0/0\"]", "::1", false},
	    {"[\"10.0.0.0/8\",\"2001:db8::/33\"]", "2001:db8:7fff::1", true},
	    {"[\"10.0.0.0/8\",\"2001:db8::/33\"]", "2001:db8:8000::1", false},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		char conf[512];
		struct hook *h;

		(void)snprintf(conf, sizeof(conf),
		    "{\"scheme\":\"none\",\"unsafe\":true,\"networks\":%s," DEFAULTS
		    "}",
		    T[i].nets);
		h = hook(conf);
		if (hook_peer_ok(h, str_of(T[i].peer)) != T[i].want)
			fail_msg("%s %s", T[i].nets, T[i].peer);
		hook_free(h);
	}
}

/* Without a template. "ID" stands for the id that was made. */
static void
test_events(void **)
{
	static const struct {
		const char *conf, *request;
		const char *text; /* NULL: `why`, or what is wrong */
		const char *why;
	} T[] = {
	    {GITHUB,
		"X-GitHub-Event: push\nX-GitHub-Delivery: d1\n\n"
		" {\"repository\":{\"full_name\":\"o/h\"} ,\"n\":1.50} ",
		"\"schemaVersion\":1,\"eventType\":\"github.push\","
		"\"tenantId\":\"" TENANT "\",\"producer\":{\"service\":\"src\","
		"\"instanceId\":\"in\"},\"sequence\":{\"partitionKey\":\"o/h\"},"
		"\"payload\":{\"repository\":{\"full_name\":\"o/h\"} ,"
		"\"n\":1.50}}",
		NULL},
	    {GITHUB,
		"X-GitHub-Event: push\nX-GitHub-Delivery: d1\n"
		"Content-Type: application/x-www-form-urlencoded\n\n"
		"payload=%7B%22a%22%3A1%7D",
		"\"schemaVersion\":1,\"eventType\":\"github.push\","
		"\"tenantId\":\"" TENANT "\",\"producer\":{\"service\":\"src\","
		"\"instanceId\":\"in\"},"
		"\"payload\":{\"a\":1}}",
		NULL},
	    {GITHUB, "X-GitHub-Event: ping\n\n{}", NULL, "a ping"},
	    {STRIPE,
		"X: y\n\n{\"id\":\"evt_1\",\"type\":\"a.b\",\"data\":"
		"{\"object\":{\"id\":7}}}",
		"\"schemaVersion\":1,\"eventType\":\"stripe.a.b\","
		"\"tenantId\":\"" TENANT "\",\"producer\":{\"service\":\"src\","
		"\"instanceId\":\"in\"},\"sequence\":{\"partitionKey\":\"7\"},"
		"\"payload\":{\"id\":\"evt_1\",\"type\":\"a.b\",\"data\":"
		"{\"object\":{\"id\":7}}}}",
		NULL},
	    /* What it lacks is seen by whoever reads the envelope. */
	    {STRIPE, "X: y\n\n{}",
		"\"schemaVersion\":1,"
		"\"tenantId\":\"" TENANT "\",\"producer\":{\"service\":\"src\","
		"\"instanceId\":\"in\"},"
		"\"payload\":{}}",
		NULL},
	    {NONE, "X: y\n\n[1]", NULL, "must be an object"},
	    {NONE, "X: y\n\n", NULL, "must be an object"},
	    {NONE, "X: y\n\n{", NULL, "at byte"},
	    {NONE, "X: y\n\n\xff", NULL, "at byte"},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct hook *h = hook(T[i].conf);
		struct hook_request q = request(T[i].request);
		const size_t head = sizeof("{\"eventId\":\"\",") - 1 + UUID_LEN;
		struct hook_made m;
		const char *why;

		assert_int_equal(hook_events(h, &q, NULL, arena, &m, &e), OK);
		why = m.n == 0 ? m.why : m.items[0].wrong.text;
		if (!T[i].text && !strstr(why, T[i].why))
			fail_msg("%zu: %s", i, why);
		if (T[i].text && (m.n != 1 || m.items[0].wrong.code != OK ||
				     !str_eq(str_from(m.items[0].text, head),
					 str_of(T[i].text))))
			fail_msg(
			    "%zu: %.*s %s", i, STR_ARG(m.items[0].text), why);
		hook_free(h);
	}
}

/* One request, one event: what makes two the same. */
static void
test_ids(void **)
{
	static const struct {
		const char *conf, *one, *two;
		bool same;
	} T[] = {
	    {GITHUB, "X-GitHub-Delivery: a\n\n{}", "X-GitHub-Delivery: a\n\n{}",
		true},
	    {GITHUB, "X-GitHub-Delivery: a\n\n{}", "X-GitHub-Delivery: b\n\n{}",
		false},
	    {STRIPE, "X: y\n\n{\"id\":\"a\",\"n\":1}",
		"X: y\n\n{\"id\":\"a\",\"n\":2}", true},
	    {STRIPE, "X: y\n\n{\"id\":\"a\"}", "X: y\n\n{\"id\":\"b\"}", false},
	    {STANDARD, ID "\n{}", ID "\n{}", true},
	    {STANDARD, "svix-id: a\n\n{}", "webhook-id: a\n\n{}", true},
	    {NONE, "X: y\n\n{}", "X: y\n\n{}", false},
	    {NONE, "X-Timestamp: 1\n\n{}", "X-Timestamp: 1\n\n{}", true},
	    {NONE, "X-Timestamp: 1\n\n{}", "X-Timestamp: 2\n\n{}", false},
	    {NONE, "X-Timestamp: 1\n\n{}", "X-Timestamp: 1\n\n{\"a\":1}",
		false},
	};

	for (size_t i = 0; i < COUNT_OF(T); i++) {
		struct hook *h = hook(T[i].conf);
		struct hook_request one = request(T[i].one);
		struct hook_request two = request(T[i].two);
		struct hook_made a, b;

		assert_int_equal(hook_events(h, &one, NULL, arena, &a, &e), OK);
		assert_int_equal(hook_events(h, &two, NULL, arena, &b, &e), OK);
		if ((memcmp(a.items[0].text.p, b.items[0].text.p, 48) == 0) !=
		    T[i].same)
			fail_msg("%zu: %.*s %.*s", i, STR_ARG(a.items[0].text),
			    STR_ARG(b.items[0].text));
		hook_free(h);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_verify),
	    cmocka_unit_test(test_rotate),
	    cmocka_unit_test(test_networks),
	    cmocka_unit_test(test_events),
	    cmocka_unit_test(test_ids),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
