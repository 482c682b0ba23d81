#include "base/test.h"
#include "contract/limits.h"
#include "hikyaku.h"
#include "seal/sign.h"

#define NOW   INT64_C(1700000000)
#define BODY  "{\"n\":1.50,\"s\":\"\xc3\xa9\"}"
#define WHSEC "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define WHSK  "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
#define WHPK  "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

/* hex or base64 of a signature over parts, for the rows. */
static const char *
made(const char *secret, bool text, const char *prefix, const char *message,
    bool hex)
{
	static char out[4][512];
	static int turn;
	char *ret = out[turn++ % 4];
	struct str parts[] = {str_of(message)};
	unsigned char bytes[SIGN_MAX];
	struct signer *s = NULL;
	struct err e;
	int n = 0;

	assert_int_equal(signer_new(str_of(secret),
			     text ? SECRET_TEXT : SECRET_EITHER, "", &s, &e),
	    OK);
	n = signer_sign(s, parts, 1, bytes, &e);
	assert_true(n > 0);
	(void)snprintf(ret, 512, "%s", prefix);
	for (int i = 0; hex && i < n; i++)
		(void)snprintf(ret + strlen(ret), 3, "%02x", bytes[i]);
	if (!hex) {
		static const char A[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl"
					"mnopqrstuvwxyz0123456789+/";
		size_t at = strlen(ret);

		for (int i = 0; i < n; i += 3) {
			unsigned v =
			    (unsigned)bytes[i] << 16 |
			    (i + 1 < n ? (unsigned)bytes[i + 1] << 8 : 0) |
			    (i + 2 < n ? bytes[i + 2] : 0);

			ret[at++] = A[v >> 18];
			ret[at++] = A[v >> 12 & 63];
			ret[at++] = i + 1 < n ? A[v >> 6 & 63] : '=';
			ret[at++] = i + 2 < n ? A[v & 63] : '=';
		}
		ret[at] = '\0';
	}
	signer_free(s);
	return ret;
}

static int
check(enum hk_scheme scheme, const char *secret, const struct hk_header *h,
    size_t n, const char *body, int64_t now_s, const struct hk_verify_opts *o)
{
	const char *secrets[] = {WHSEC, secret};
	bool both = scheme != HK_HUB && scheme != HK_STANDARD;
	struct hk_request r = {h, n, body, strlen(body)};
	struct hk_error e;
	int rc = hk_verify(scheme, both ? secrets : secrets + 1, both ? 2 : 1,
	    &r, now_s, o, &e);

	assert_int_equal(e.code, rc);
	assert_true(rc == HK_OK || e.text[0]);
	return rc;
}

/* Good as it is; not with another body, another secret, or at another time. */
static void
round_trip(enum hk_scheme scheme, const char *secret, const char *other,
    const struct hk_header *h, size_t n, bool timed)
{
	const int64_t far = RECEIVE_TOLERANCE_S + 1;

	assert_int_equal(check(scheme, secret, h, n, BODY, NOW, NULL), HK_OK);
	assert_int_equal(
	    check(scheme, secret, h, n, BODY " ", NOW, NULL), HK_WRONG);
	assert_int_equal(check(scheme, other, h, n, BODY, NOW, NULL), HK_WRONG);
	assert_int_equal(check(scheme, secret, h, n, BODY, NOW + far, NULL),
	    timed ? HK_TIME : HK_OK);
	assert_int_equal(check(scheme, secret, h, n, BODY, NOW - far, NULL),
	    timed ? HK_TIME : HK_OK);
	assert_int_equal(
	    check(scheme, secret, h, 0, BODY, NOW, NULL), HK_UNSIGNED);
}

static void
test_standard(void **)
{
	static const enum hk_scheme schemes[] = {
	    HK_STANDARD, HK_CLOUDEVENTS, HK_CLOUDEVENTS_BINARY};
	const char *message = "msg_1.1700000000." BODY;
	struct hk_header hmac[] = {
	    {"webhook-signature",
		made(WHSEC, false, "v1,AAAA v1,", message, false)},
	    {"Webhook-Id", "msg_1"}, {"WEBHOOK-TIMESTAMP", "1700000000"}};
	struct hk_header ed[] = {
	    {"webhook-signature", made(WHSK, false, "v1a,", message, false)},
	    {"webhook-id", "msg_1"}, {"webhook-timestamp", "1700000000"}};

	round_trip(HK_STANDARD, WHSEC,
	    "whsec_AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", hmac, 3,
	    true);
	for (size_t i = 0; i < COUNT_OF(schemes); i++) {
		assert_int_equal(
		    check(schemes[i], WHPK, ed, 3, BODY, NOW, NULL), HK_OK);
		assert_int_equal(
		    check(schemes[i], WHPK, ed, 2, BODY, NOW, NULL), HK_FIELD);
		ed[0].value = made(WHSK, false, "v1a,", "msg_2.1." BODY, false);
		assert_int_equal(
		    check(schemes[i], WHPK, ed, 3, BODY, NOW, NULL), HK_WRONG);
		ed[0].value = made(WHSK, false, "v1a,", message, false);
	}
}

static void
test_text_schemes(void **)
{
	struct hk_header repository[] = {{"X-NemakiWare-Signature",
	    made("plain", true, "sha256=", BODY, true)}};
	struct hk_header task[] = {
	    {"X-Signature",
		made("plain", true, "", "1700000000000." BODY, true)},
	    {"X-Timestamp", "1700000000000"}};
	struct hk_header github[] = {{"X-Hub-Signature-256",
	    made("plain", true, "sha256=", BODY, true)}};
	struct hk_header both[3];

	round_trip(HK_REPOSITORY, "plain", "other", repository, 1, false);
	round_trip(HK_TASK, "plain", "other", task, 2, true);
	round_trip(HK_GITHUB, "plain", "other", github, 1, false);
	assert_int_equal(
	    check(HK_TASK, "plain", task, 1, BODY, NOW, NULL), HK_FIELD);
	/* What covers no time proves none. */
	{
		struct hk_verify_opts o = {.need_time = 1};

		assert_int_equal(
		    check(HK_REPOSITORY, "plain", repository, 1, BODY, NOW, &o),
		    HK_UNSIGNED);
		assert_int_equal(
		    check(HK_GITHUB, "plain", github, 1, BODY, NOW, &o),
		    HK_UNSIGNED);
		both[0] = repository[0];
		both[1] = (struct hk_header){"webhook-signature",
		    made("plain", true, "v1,", "m.1700000000." BODY, false)};
		both[2] = (struct hk_header){"webhook-id", "m"};
		assert_int_equal(
		    check(HK_REPOSITORY, "plain", both, 3, BODY, NOW, &o),
		    HK_FIELD);
	}
}

/* GitHub's own example, from its documentation. */
static void
test_github_vector(void **)
{
	struct hk_header h[] = {{"X-Hub-Signature-256",
	    "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b0"
	    "43e17"}};

	assert_int_equal(check(HK_GITHUB, "It's a Secret to Everybody", h, 1,
			     "Hello, World!", NOW, NULL),
	    HK_OK);
}

static void
test_stripe(void **)
{
	static const char *const forms[] = {"t=1700000000,v1=%s",
	    "t=1700000000, v1=%s ,v0=6ffbb5", "v1=00,t=1700000000,v1=%s"};
	/* A real one looks like ours and is none. */
	const char *secret = "whsec_test_secret";
	const char *sum = made(secret, true, "", "1700000000." BODY, true);
	char value[512];
	struct hk_header h[] = {
	    {"Stripe-Time", "1"}, {"Stripe-Signature", value}};

	for (size_t i = 0; i < COUNT_OF(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(value, sizeof(value), forms[i], sum);
#pragma GCC diagnostic pop
		round_trip(HK_STRIPE, secret, "whsec_other", h, 2, true);
	}
	(void)snprintf(value, sizeof(value), "v1=%s", sum);
	assert_int_equal(
	    check(HK_STRIPE, secret, h, 2, BODY, NOW, NULL), HK_FIELD);
	(void)snprintf(value, sizeof(value), "t=1700000000,v0=%s", sum);
	assert_int_equal(
	    check(HK_STRIPE, secret, h, 2, BODY, NOW, NULL), HK_UNSIGNED);
	(void)snprintf(value, sizeof(value), "t=x,v1=%s", sum);
	assert_int_equal(
	    check(HK_STRIPE, secret, h, 2, BODY, NOW, NULL), HK_TIME);
}

static void
test_hub(void **)
{
	struct hk_otp o = {.secret = "plain", .secret_n = 5};
	struct hk_otp_memory *used = hk_otp_memory_new(2);
	struct hk_verify_opts opts = {.used = used};
	char code[HK_OTP_MAX + 1], value[256];
	struct hk_header h[] = {{"Authorization", code}};
	struct hk_error e;

	assert_non_null(used);
	assert_int_equal(hk_otp_make(&o, NOW, code, &e), HK_OK);
	assert_int_equal(strlen(code), 8);
	assert_int_equal(check(HK_HUB, "plain", h, 1, BODY, NOW, NULL), HK_OK);
	assert_int_equal(
	    check(HK_HUB, "plain", h, 1, BODY, NOW + 30, NULL), HK_OK);
	assert_int_equal(
	    check(HK_HUB, "plain", h, 1, BODY, NOW + 61, NULL), HK_WRONG);
	assert_int_equal(
	    check(HK_HUB, "other", h, 1, BODY, NOW, NULL), HK_WRONG);
	assert_int_equal(
	    check(HK_HUB, "plain", h, 0, BODY, NOW, NULL), HK_UNSIGNED);
	/* Good once; the memory holds two, and forgets what is over. */
	assert_int_equal(check(HK_HUB, "plain", h, 1, BODY, NOW, &opts), HK_OK);
	assert_int_equal(
	    check(HK_HUB, "plain", h, 1, BODY, NOW + 29, &opts), HK_REPLAYED);
	for (int64_t t = 1; t <= 3; t++) {
		assert_int_equal(
		    hk_otp_make(&o, NOW + 30 * t, code, &e), HK_OK);
		assert_int_equal(
		    check(HK_HUB, "plain", h, 1, BODY, NOW + 30 * t, &opts),
		    t == 2 ? HK_FULL : HK_OK);
	}
	/* In the middle of a template. */
	opts = (struct hk_verify_opts){.otp_template = "Bearer {otp};"};
	assert_int_equal(hk_otp_make(&o, NOW, code, &e), HK_OK);
	h[0].value = value;
	(void)snprintf(value, sizeof(value), "Bearer %s;", code);
	assert_int_equal(check(HK_HUB, "plain", h, 1, BODY, NOW, &opts), HK_OK);
	(void)snprintf(value, sizeof(value), "Bearer %s", code);
	assert_int_equal(
	    check(HK_HUB, "plain", h, 1, BODY, NOW, &opts), HK_WRONG);
	hk_otp_memory_free(used);
}

/* RFC 6238, appendix B. */
static void
test_otp_vectors(void **)
{
	static const struct {
		enum hk_otp_hash hash;
		const char *secret;
		int64_t at;
		const char *code;
	} rows[] = {
	    {HK_OTP_SHA1, "12345678901234567890", 59, "94287082"},
	    {HK_OTP_SHA1, "12345678901234567890", 1111111109, "07081804"},
	    {HK_OTP_SHA256, "12345678901234567890123456789012", 59, "46119246"},
	    {HK_OTP_SHA512,
		"1234567890123456789012345678901234567890123456789012345678901"
		"234",
		59, "90693936"},
	    {HK_OTP_SHA1, "12345678901234567890", 20000000000, "65353130"},
	};
	char code[HK_OTP_MAX + 1];

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct hk_otp o = {.secret = rows[i].secret,
		    .secret_n = strlen(rows[i].secret),
		    .hash = rows[i].hash};

		assert_int_equal(hk_otp_make(&o, rows[i].at, code, NULL), 0);
		assert_string_equal(code, rows[i].code);
	}
}

static void
test_bad_arguments(void **)
{
	static const struct {
		enum hk_scheme scheme;
		const char *secret;
		struct hk_verify_opts o;
	} rows[] = {
	    {HK_STANDARD, "plain", {0}},
	    {HK_STANDARD, "", {0}},
	    {HK_STANDARD, "whsec_AAAA", {0}},
	    {HK_HUB, "plain", {.otp_template = "x"}},
	    {HK_STANDARD, WHSEC, {.tolerance_s = INT64_MAX}},
	    {(enum hk_scheme)99, WHSEC, {0}},
	};
	const struct hk_otp bad = {.digits = 99};
	struct hk_verify_opts o = {.otp = &bad};
	const char *secret = "plain";
	struct hk_verifier *v;
	struct hk_error e;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *one = rows[i].secret;

		assert_int_equal(hk_verifier_new(rows[i].scheme, &one, 1,
				     &rows[i].o, &v, &e),
		    HK_INVALID);
		assert_true(e.text[0]);
		assert_null(strstr(e.text, "whsec_AAAA"));
	}
	assert_int_equal(
	    hk_verifier_new(HK_HUB, &secret, 1, &o, &v, &e), HK_INVALID);
	assert_int_equal(
	    hk_verifier_new(HK_TASK, &secret, 0, NULL, &v, NULL), HK_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_standard),
	    cmocka_unit_test(test_text_schemes),
	    cmocka_unit_test(test_github_vector),
	    cmocka_unit_test(test_stripe),
	    cmocka_unit_test(test_hub),
	    cmocka_unit_test(test_otp_vectors),
	    cmocka_unit_test(test_bad_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
