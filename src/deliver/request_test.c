#include "deliver/request.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "base/test.h"

#define NOW     (INT64_C(1700000000) * US_PER_S + 123456)
#define ID      "0190b8a0-1111-4111-8111-111111111111"
#define EVENT   "0190b8a0-0000-7000-8000-00000000000a"
#define TENANT  "0190b8a0-0000-7000-8000-00000000000b"
#define CORR    "0190b8a0-0000-7000-8000-00000000000c"
#define SECRET  "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define PAYLOAD "{\"n\":1.50,\"s\":\"é\"}"
#define ENVELOPE                                                               \
	"{\"eventId\":\"" EVENT "\",\"correlationId\":\"" CORR "\","           \
	"\"producer\":{\"service\":\"core app\",\"instanceId\":\"i\"},"        \
	"\"payload\": " PAYLOAD " }"
#define BASE "\"name\":\"n\",\"url\":\"https://h.example/x\""
#define HUB                                                                    \
	"{\"name\":\"h\",\"preset\":\"hub\",\"url\":\"https://alb/r/\","       \
	"\"hub\":{\"tenant\":\"tenant1\",\"domain\":\"hub.example\","          \
	"\"sharedInternalKey\":\"hush1\",\"eventApiKey\":\"hush3\","           \
	"\"organizationId\":{\"pointer\":\"/payload/org\"},"                   \
	"\"servicePartition\":\"part\",\"sender\":\"pca-id\"%s}}"
#define OTP  ",\"otp\":{\"secret\":\"hush2\"}"
#define USER "{\"payload\":{\"user\":{\"accountId\":\"acc 1\"},\"org\":7}}"

struct world {
	struct conf conf;
	struct presets *presets;
	struct arena *arena;
	struct sub_rules rules;
	struct request_event ev;
	struct request_attempt at;
};

static struct uuid
uuid(const char *z)
{
	struct uuid u;

	assert_true(uuid_parse(str_of(z), &u));
	return u;
}

static int
setup(void **state)
{
	static struct world w;
	struct err e;

	assert_int_equal(conf_init(&w.conf, &e), OK);
	assert_int_equal(presets_load(&w.conf, &w.presets, &e), OK);
	w.arena = arena_new(64 * MIB);
	w.rules = (struct sub_rules){
	    .presets = w.presets, .conf = &w.conf, .now_us = NOW};
	w.ev = (struct request_event){.event_id = uuid(EVENT),
	    .tenant = uuid(TENANT),
	    .type = STR("cmis.updated"),
	    .key = STR("ké 1"),
	    .occurred_us = NOW - 1123456,
	    .seq = 42,
	    .body = STR(ENVELOPE)};
	w.at = (struct request_attempt){.delivery_id = uuid(ID),
	    .subscription_id = uuid(TENANT),
	    .number = 1,
	    .now_us = NOW};
	*state = &w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	presets_free(w->presets);
	arena_free(w->arena);
	conf_done(&w->conf);
	return 0;
}

static struct sub_conf *
sub(struct world *w, const char *json)
{
	struct sub_conf *s = NULL;
	struct err e;

	if (sub_read(str_of(json), NULL, &w->rules, &s, &e) != OK)
		fail_msg("%s: %s %s", json, e.at, e.text);
	return s;
}

static struct sub_conf *
hub(struct world *w, const char *more)
{
	char json[1024];

	(void)snprintf(json, sizeof(json), HUB, more);
	return sub(w, json);
}

/* The whole head as text, nothing masked. */
static const char *
head(struct world *w, const struct request *r)
{
	struct buf b = BUF(64 * KIB);
	const char *z;

	buf_fmt(&b, "%.*s %.*s\n", STR_ARG(r->method), STR_ARG(r->url));
	for (size_t i = 0; i < r->n; i++)
		buf_fmt(&b, "%.*s%s: %.*s\n", STR_ARG(r->headers[i].name),
		    r->headers[i].secret ? "*" : "",
		    STR_ARG(r->headers[i].value));
	z = arena_z(w->arena, buf_str(&b));
	buf_done(&b);
	return z;
}

static struct request
make(struct world *w, const struct sub_conf *s)
{
	struct request r;
	enum reason reason = REASON_NONE;
	struct err e;

	if (request_make(w->arena, s, &w->ev, &w->at, &r, &reason, &e) != OK)
		fail_msg("%s: %s", reason_name(reason), e.text);
	return r;
}

/* Head and body of each preset, to the letter. */
static void
test_presets(void **state)
{
	static const struct {
		const char *sub, *head, *body;
	} rows[] = {
	    {"{" BASE ",\"secret\":\"" SECRET "\"}",
		"POST https://h.example/x\n"
		"Content-Type: application/json\n"
		"User-Agent: Hikyaku\n"
		"webhook-id: " ID "\n"
		"webhook-timestamp: 1700000000\n"
		"webhook-signature*: "
		"v1,CJi4u54qTGIoPQsjUWYIFO3IwgX16Vj9w4fz30BlcaM=\n",
		ENVELOPE},
	    {"{" BASE ",\"preset\":\"cloudevents\",\"secret\":\"" SECRET "\"}",
		"POST https://h.example/x\n"
		"Content-Type: application/cloudevents+json; charset=utf-8\n"
		"User-Agent: Hikyaku\n"
		"webhook-id: " ID "\n"
		"webhook-timestamp: 1700000000\n"
		"webhook-signature*: "
		"v1,ZAsCLP/0AkfHmAPdA8RNPr4kwx7+JPRqfuaAWLXbZlQ=\n",
		"{\"specversion\":\"1.0\",\"id\":\"" EVENT
		"\",\"source\":\"/core%20app\",\"type\":\"cmis.updated\","
		"\"subject\":\"ké 1\",\"time\":\"2023-11-14T22:13:19.000Z\","
		"\"datacontenttype\":\"application/json\",\"tenantid\":\"" TENANT
		"\",\"correlationid\":\"" CORR "\",\"data\":" PAYLOAD "}"},
	    {"{" BASE ",\"preset\":\"cloudevents-binary\",\"secret\":\"" SECRET
	     "\"}",
		"POST https://h.example/x\n"
		"Content-Type: application/json\n"
		"User-Agent: Hikyaku\n"
		"ce-specversion: 1.0\n"
		"ce-id: " EVENT "\n"
		"ce-source: /core%20app\n"
		"ce-type: cmis.updated\n"
		"ce-subject: k%C3%A9%201\n"
		"ce-time: 2023-11-14T22:13:19.000Z\n"
		"ce-tenantid: " TENANT "\n"
		"ce-correlationid: " CORR "\n"
		"webhook-id: " ID "\n"
		"webhook-timestamp: 1700000000\n"
		"webhook-signature*: "
		"v1,8SvhysAxJpj8hA/Zb6uhuV/4v2OtRzRvKXcxxMIyi2g=\n",
		PAYLOAD},
	    /* Seed 000, 3.1 to 3.3 */
	    {"{" BASE ",\"preset\":\"repository\",\"secret\":\"any text\","
	     "\"headers\":{\"X-Custom-Header\":\"value1\"}}",
		"POST https://h.example/x\n"
		"Content-Type: application/json\n"
		"User-Agent: Hikyaku\n"
		"X-NemakiWare-Event: UPDATED\n"
		"X-NemakiWare-Delivery: " ID "\n"
		"X-NemakiWare-Timestamp: 2023-11-14T22:13:20.123Z\n"
		"webhook-id: " ID "\n"
		"webhook-timestamp: 1700000000\n"
		"X-NemakiWare-Signature*: sha256="
		"52e95a9d68f0a639e38669819c3b74f2"
		"df0f1a55104fba593c214659baea8cb1\n"
		"webhook-signature*: "
		"v1,yeCbQCJwRJIvs1+MbMqzEn1t2fKrknwuFX/2D4z7WsU=\n"
		"X-Custom-Header: value1\n",
		"{\"event\":{\"type\":\"UPDATED\","
		"\"timestamp\":\"2023-11-14T22:13:19.000Z\",\"deliveryId\":\"" ID
		"\"},\"n\":1.50,\"s\":\"é\",\"webhookConfig\":"
		"{\"webhookId\":\"webhook-1\",\"sourceObjectId\":\"obj\","
		"\"sourceObjectPath\":\"/Sites\"}}"},
	    /* Without a secret there is no signature. */
	    {"{" BASE ",\"preset\":\"repository\"}",
		"POST https://h.example/x\n"
		"Content-Type: application/json\n"
		"User-Agent: Hikyaku\n"
		"X-NemakiWare-Event: UPDATED\n"
		"X-NemakiWare-Delivery: " ID "\n"
		"X-NemakiWare-Timestamp: 2023-11-14T22:13:20.123Z\n"
		"webhook-id: " ID "\n"
		"webhook-timestamp: 1700000000\n",
		NULL},
	    /* Seed 004 */
	    {"{" BASE ",\"preset\":\"task\",\"secret\":\"any text\"}",
		"POST https://h.example/x\n"
		"Content-Type: application/json\n"
		"X-Webhook-Event: cmis.updated\n"
		"X-Webhook-Id: " ID "\n"
		"X-Timestamp: 1700000000123\n"
		"User-Agent: InvoiceExtraction-Webhook/1.0\n"
		"X-Signature*: 1ac82df111867de60d218af6be914af2"
		"cf39bad38ef4b6054b3c6a4d5a12c25f\n",
		PAYLOAD},
	};
	struct world *w = *state;
	struct sub_managed m = {
	    STR("repository"), STR("obj"), STR("/Sites"), STR("webhook-1")};

	w->rules.managed = &m;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sub_conf *s = sub(w, rows[i].sub);
		struct request r = make(w, s);

		assert_string_equal(head(w, &r), rows[i].head);
		if (rows[i].body)
			assert_string_equal(
			    arena_z(w->arena, r.body), rows[i].body);
		assert_int_equal(r.log_call.n, 0);
		sub_free(s);
	}
	w->rules.managed = NULL;
}

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
	struct str line, trace;
	static char big[40 * 1024];
	struct err e;

	w.ev.body = STR(USER);
	assert_int_equal(
	    request_log_error(w.arena, s, &w.ev, &w.at, &o, &line, &trace, &e),
	    OK);
	assert_str(line,
	    "Error PCA Hub Webhook (tenantname:tenant1, accountid:acc 1, "
	    "res:{\"trace\":\"t-1\",\\r\\n\"x\":\"\\x1b\"}\\xff)");
	assert_int_equal(trace.n, 0); /* that was no JSON */
	o.body = STR("{\"trace\":\"t-1\"}");
	assert_int_equal(
	    request_log_error(w.arena, s, &w.ev, &w.at, &o, &line, &trace, &e),
	    OK);
	assert_str(trace, "t-1");
	memset(big, 'x', sizeof(big));
	o.body = (struct str){big, sizeof(big)};
	assert_int_equal(
	    request_log_error(w.arena, s, &w.ev, &w.at, &o, &line, &trace, &e),
	    OK);
	assert_in_range(
	    line.n, REQUEST_LOG_BODY_MAX, REQUEST_LOG_BODY_MAX + 100);
	sub_free(s);
	s = sub(&w, "{" BASE "}");
	assert_int_equal(
	    request_log_error(w.arena, s, &w.ev, &w.at, &o, &line, &trace, &e),
	    OK);
	assert_int_equal(line.n, 0);
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

	assert_int_equal(request_order_key(w.arena, s, &w.ev, &key, &e), OK);
	assert_str(key, "ké 1");
	assert_int_equal(request_spacing_key(w.arena, s, &w.ev, &key, &e), OK);
	assert_int_equal(key.n, 0);
	sub_free(s);
	s = hub(&w, "");
	w.ev.body = STR(USER);
	assert_int_equal(request_order_key(w.arena, s, &w.ev, &key, &e), OK);
	assert_str(key, "tenant1/acc 1");
	assert_int_equal(request_spacing_key(w.arena, s, &w.ev, &key, &e), OK);
	assert_str(key, "tenant1/acc 1");
	/* Without an account the event's own key. */
	w.ev.body = STR("{\"payload\":{}}");
	assert_int_equal(request_order_key(w.arena, s, &w.ev, &key, &e), OK);
	assert_str(key, "tenant1/ké 1");
	sub_free(s);
}

/* Each secret that is good signs, the newest first. */
static void
test_rotation(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s = sub(&w, "{" BASE ",\"secret\":\"" SECRET "\"}");
	struct request r;
	struct err e;
	const char *text;

	assert_int_equal(sub_rotate(s, 60, NOW, &e), OK);
	r = make(&w, s);
	text = strstr(head(&w, &r), "webhook-signature*: v1,");
	assert_non_null(text);
	assert_non_null(strstr(
	    text, "= v1,CJi4u54qTGIoPQsjUWYIFO3IwgX16Vj9w4fz30BlcaM=\n"));
	w.at.now_us = NOW + 60 * US_PER_S;
	r = make(&w, s);
	assert_null(
	    strchr(strstr(head(&w, &r), "webhook-signature*: v1,") + 21, ' '));
	sub_free(s);
}

static void
test_ed25519(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s =
	    sub(&w, "{" BASE ",\"secret\":\"whsk_"
		    "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=\"}");
	struct request r = make(&w, s);
	struct buf b = BUF(64 * KIB);

	assert_non_null(strstr(head(&w, &r), "webhook-signature*: v1a,"));
	assert_null(strstr(head(&w, &r), "v1,"));
	sub_show(s, false, &b);
	buf_addc(&b, '\0');
	assert_non_null(
	    strstr(b.p, "\"publicKey\":\"whpk_"
			"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\""));
	buf_done(&b);
	sub_free(s);
}

static void
test_auth(void **state)
{
	static const struct {
		const char *auth, *want;
	} rows[] = {
	    {"{\"type\":\"none\"}", NULL},
	    {"{\"type\":\"basic\",\"username\":\"Aladdin\","
	     "\"password\":\"open sesame\"}",
		"Authorization*: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\n"},
	    {"{\"type\":\"bearer\",\"token\":\"t0k\"}",
		"Authorization*: Bearer t0k\n"},
	    {"{\"type\":\"apikey\",\"header\":\"X-API-Key\","
	     "\"value\":\"v\"}",
		"X-API-Key*: v\n"},
	    {"{\"type\":\"oauth2\",\"tokenUrl\":\"https://t/x\","
	     "\"clientId\":\"c\",\"clientSecret\":\"s\"}",
		"Authorization*: Bearer from-endpoint\n"},
	};
	struct world w = *(struct world *)*state;
	enum reason reason = REASON_NONE;
	struct sub_conf *s;
	struct request r;
	struct err e;

	w.at.access_token = STR("from-endpoint");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char json[512];

		(void)snprintf(
		    json, sizeof(json), "{" BASE ",\"auth\":%s}", rows[i].auth);
		s = sub(&w, json);
		r = make(&w, s);
		if (rows[i].want)
			assert_non_null(strstr(head(&w, &r), rows[i].want));
		else
			assert_null(strstr(head(&w, &r), "Authorization"));
		sub_free(s);
	}
	s = sub(&w, "{" BASE ",\"auth\":{\"type\":\"oauth2\","
		    "\"tokenUrl\":\"https://t/x\",\"clientId\":\"c\","
		    "\"clientSecret\":\"s\"}}");
	w.at.access_token = STR_EMPTY;
	assert_int_equal(
	    request_make(w.arena, s, &w.ev, &w.at, &r, &reason, &e),
	    ERR_INVALID);
	assert_int_equal(reason, REASON_AUTH);
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
	    "\"servicePartition\":\"p\",\"sender\":\"s\"}}");
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

static void
test_template_and_own_headers(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s =
	    sub(&w, "{" BASE ",\"headers\":{\"content-type\":\"text/plain\","
		    "\"User-Agent\":\"me\",\"X-S\":{\"value\":\"v\","
		    "\"secret\":true}}}");
	struct request r;

	w.ev.rendered = STR("hello");
	r = make(&w, s);
	assert_str(r.body, "hello");
	assert_non_null(strstr(
	    head(&w, &r), "\nContent-Type: text/plain\nUser-Agent: me\n"));
	assert_non_null(strstr(head(&w, &r), "\nX-S*: v\n"));
	sub_free(s);
}

/* Over webhook.max.payload.size: property values go, names stay. */
static void
test_truncated(void **state)
{
	struct world w = *(struct world *)*state;
	struct sub_conf *s = sub(&w, "{" BASE ",\"preset\":\"repository\"}");
	struct buf b = BUF(8 * MIB);
	enum reason reason = REASON_NONE;
	struct request r;
	struct err e;

	buf_addz(&b, "{\"payload\":{\"object\":{\"id\":\"o\"},\"changes\":"
		     "{\"properties\":{\"cmis:name\":{\"oldValue\":\"");
	for (int i = 0; i < 1048576; i++)
		buf_addc(&b, 'x');
	buf_addz(&b, "\"}},\"contentStream\":{\"length\":1}},\"actor\":{}}}");
	w.ev.body = buf_str(&b);
	r = make(&w, s);
	assert_true(r.truncated);
	assert_non_null(strstr(arena_z(w.arena, r.body),
	    "},\"object\":{\"id\":\"o\"},\"changes\":{\"properties\":"
	    "{\"cmis:name\":{}},\"contentStream\":{\"length\":1}},"
	    "\"actor\":{},\"truncated\":true,\"webhookConfig\":null}"));
	/* So many names that they go too. */
	buf_clear(&b);
	buf_addz(&b, "{\"payload\":{\"changes\":{\"properties\":{\"n\":1");
	for (int i = 0; i < 100000; i++)
		buf_fmt(&b, ",\"name%d\":1", i);
	buf_addz(&b, "}}}}");
	w.ev.body = buf_str(&b);
	r = make(&w, s);
	assert_non_null(strstr(arena_z(w.arena, r.body),
	    "},\"changes\":{\"properties\":{}},\"truncated\":true,"));
	/* What is large elsewhere can't be sent. */
	buf_clear(&b);
	buf_addz(&b, "{\"payload\":{\"x\":\"");
	for (int i = 0; i < 1048576; i++)
		buf_addc(&b, 'x');
	buf_addz(&b, "\"}}");
	w.ev.body = buf_str(&b);
	assert_int_equal(
	    request_make(w.arena, s, &w.ev, &w.at, &r, &reason, &e),
	    ERR_INVALID);
	assert_int_equal(reason, REASON_TOO_LARGE);
	buf_done(&b);
	sub_free(s);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_presets),
	    cmocka_unit_test(test_W1_W2_W3_hub),
	    cmocka_unit_test(test_W4_interim),
	    cmocka_unit_test(test_W3_families),
	    cmocka_unit_test(test_W5_W6_preflight),
	    cmocka_unit_test(test_W16_log),
	    cmocka_unit_test(test_W17_keys),
	    cmocka_unit_test(test_rotation),
	    cmocka_unit_test(test_ed25519),
	    cmocka_unit_test(test_auth),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_template_and_own_headers),
	    cmocka_unit_test(test_truncated),
	    cmocka_unit_test(test_head),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
