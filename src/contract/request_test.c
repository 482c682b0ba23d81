#include "contract/request.h"

#include "base/test.h"
#include "contract/contract_test.h"

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
		"v1,SQxTGmfKRbVwu03gNoQ+W8g1nh2ysPG0tMFa7UswWC8=\n",
		"{\"specversion\":\"1.0\",\"id\":\"" EVENT
		"\",\"source\":\"/core%20app\",\"type\":\"cmis.updated\","
		"\"subject\":\"ké 1\",\"time\":\"2023-11-14T22:13:19.000Z\","
		"\"datacontenttype\":\"application/json\",\"tenantid\":\"" TENANT
		"\",\"correlationid\":\"" CORR
		"\",\"schemaversion\":null,\"instanceid\":\"i\","
		"\"recordversion\":null,\"data\":" PAYLOAD "}"},
	    {"{" BASE ",\"preset\":\"cloudevents-binary\",\"secret\":\"" SECRET
	     "\"}",
		"POST https://h.example/x\n"
		"Content-Type: application/json\n"
		"User-Agent: Hikyaku\n"
		"ce-specversion: 1.0\n"
		"ce-id: " EVENT "\n"
		"ce-source: /core%2520app\n"
		"ce-type: cmis.updated\n"
		"ce-subject: k%C3%A9%201\n"
		"ce-time: 2023-11-14T22:13:19.000Z\n"
		"ce-tenantid: " TENANT "\n"
		"ce-correlationid: " CORR "\n"
		"ce-instanceid: i\n"
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
	    STR("repository"), STR("obj"), STR("/Sites"), STR("webhook-1"), 0};

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

/* The time is the event's own; of one that has none, when it came. */
static void
test_occurred(void **state)
{
	static const struct {
		const char *body, *want;
	} rows[] = {
	    {"{\"occurredAt\":\"2021-02-03T04:05:06.789Z\",\"payload\":{}}",
		"2021-02-03T04:05:06.789Z"},
	    {"{\"payload\":{}}", "2023-11-14T22:13:19.000Z"},
	};
	static const char *const PRESETS[] = {
	    "repository", "cloudevents", "cloudevents-binary"};
	struct world w = *(struct world *)*state;
	char json[256];

	for (size_t p = 0; p < COUNT_OF(PRESETS); p++)
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			struct sub_conf *s;
			struct request r;

			(void)snprintf(json, sizeof(json),
			    "{" BASE ",\"preset\":\"%s\"}", PRESETS[p]);
			s = sub(&w, json);
			w.ev.body = str_of(rows[i].body);
			r = make(&w, s);
			assert_true(
			    strstr(head(&w, &r), rows[i].want) ||
			    strstr(arena_z(w.arena, r.body), rows[i].want));
			sub_free(s);
		}
}

/* As a sink whose workers fetch would say it. */
static int
takes_consumer(void *, const struct sub_conf *s, struct err *)
{
	return s->managed.ack_wait_s > 0;
}

/* A pull consumer: no URL that is called, no secret, a lease. */
static void
test_consumer(void **state)
{
	struct world *w = *state;
	struct sub_managed m = {STR("consumer"), STR(""), STR(""), STR(""), 30};
	struct sub_rules rules = w->rules;
	struct sub_conf *s = NULL, *t = NULL;
	struct str stored = STR_EMPTY;
	struct arena *a = arena_new(MIB);
	struct err e;

	rules.managed = &m;
	rules.sink_check = takes_consumer;
	assert_int_equal(
	    sub_read(STR("{\"name\":\"c\",\"url\":\"consumer:c\"}"), NULL,
		&rules, &s, &e),
	    OK);
	assert_int_equal(s->n_secrets, 0);
	assert_int_equal(sub_store(s, NULL, a, &stored, &e), OK);
	assert_int_equal(sub_load(stored, rules.presets, NULL, &t, &e), OK);
	assert_int_equal(t->managed.ack_wait_s, 30);
	assert_true(str_eq(t->managed.by, STR("consumer")));
	sub_free(t);
	sub_free(s);
	arena_free(a);
	rules.managed = NULL;
	assert_int_equal(
	    sub_read(STR("{\"name\":\"c\",\"url\":\"consumer:c\"}"), NULL,
		&rules, &s, &e),
	    ERR_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_presets),
	    cmocka_unit_test(test_rotation),
	    cmocka_unit_test(test_ed25519),
	    cmocka_unit_test(test_auth),
	    cmocka_unit_test(test_template_and_own_headers),
	    cmocka_unit_test(test_truncated),
	    cmocka_unit_test(test_occurred),
	    cmocka_unit_test(test_consumer),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
