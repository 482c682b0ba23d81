#include "contract/sub.h"

#include "base/conf/conf.h"
#include "base/test.h"

#define NOW  (INT64_C(1700000000) * US_PER_S)
#define BASE "\"name\":\"n\",\"url\":\"https://h.example/x\""
#define HUB                                                                    \
	"\"name\":\"hub\",\"preset\":\"hub\",\"url\":\"https://alb.example/r\""
#define HUB_BODY                                                               \
	"\"tenant\":\"tenant1\",\"domain\":\"hub.example\","                   \
	"\"eventApiKey\":\"api\",\"organizationId\":\"o\","                    \
	"\"servicePartition\":\"p\",\"sender\":\"pca-id\""

struct world {
	struct conf conf;
	struct presets *presets;
	struct arena *arena;
	struct sub_rules rules;
};

/* A seal that can be seen through. */
static int
seal(const struct sub_seal *, struct arena *a, struct str plain,
    struct str *ret, struct err *)
{
	*ret = arena_fmt(a, "sealed(%.*s)", STR_ARG(plain));
	return OK;
}

static int
unseal(const struct sub_seal *, struct arena *a, struct str sealed,
    struct str *ret, struct err *e)
{
	if (!str_starts(sealed, STR("sealed(")) || !str_ends(sealed, STR(")")))
		return err_set(e, ERR_INVALID, "tampered with");
	*ret = arena_dup(a, (struct str){sealed.p + 7, sealed.n - 8});
	return OK;
}

static const struct sub_seal SEAL = {.seal = seal, .unseal = unseal};

static int
setup(void **state)
{
	static struct world w;
	struct err e;

	assert_int_equal(conf_init(&w.conf, &e), OK);
	w.presets = presets_load(&w.conf);
	w.arena = arena_new(16 * MIB);
	w.rules = (struct sub_rules){
	    .presets = w.presets, .conf = &w.conf, .now_us = NOW};
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
must(struct world *w, const char *json, const struct sub_conf *old)
{
	struct sub_conf *s = NULL;
	struct err e;

	if (sub_read(str_of(json), old, &w->rules, &s, &e) != OK)
		fail_msg("%s: %s %s", json, e.at, e.text);
	return s;
}

static const char *
shown(struct world *w, const struct sub_conf *s, bool once)
{
	struct buf b = BUF(SUB_STORED_MAX);
	const char *text;

	sub_show(s, once, &b);
	assert_false(b.failed);
	text = arena_z(w->arena, buf_str(&b));
	buf_done(&b);
	return text;
}

static struct str
stored(struct world *w, const struct sub_conf *s)
{
	struct str ret;
	struct err e;

	assert_int_equal(sub_store(s, &SEAL, w->arena, &ret, &e), OK);
	return ret;
}

static void
test_defaults(void **state)
{
	struct world *w = *state;
	struct sub_conf *s = must(w, "{" BASE "}", NULL);
	struct sub_policy y;
	const char *text;

	assert_str(s->preset->name, "standard");
	assert_true(s->enabled);
	assert_int_equal(s->n_types, 0);
	assert_int_equal(s->auth.type, AUTH_NONE);
	assert_int_equal(s->n_secrets, 1);
	assert_true(str_starts(s->secrets[0].text, STR("whsec_")));
	assert_non_null(s->secrets[0].decode_signer);
	assert_int_equal(s->batch.window_s, 5);
	assert_int_equal(s->batch.max_size, 100);
	sub_policy(s, 1, &y);
	assert_int_equal(y.total_ms, 15000);
	assert_int_equal(y.concurrency, 16);
	assert_int_equal(y.retry.retries, 10);
	assert_int_equal(y.breaker_failures, 5);
	assert_false(y.ordered);
	/* The secret is shown once. */
	text = shown(w, s, true);
	assert_non_null(strstr(text, "\"secret\":\"whsec_"));
	text = shown(w, s, false);
	assert_non_null(strstr(text, "\"secret\":\"********\""));
	assert_null(strstr(text, "whsec_"));
	assert_non_null(strstr(text, "\"timeoutMs\":15000"));
	assert_non_null(strstr(text, "\"order\":\"none\""));
	sub_free(s);
}

#define ALL                                                                      \
	"{\"name\":\"orders\",\"url\":\"https://{tenant}.example.com/hook\","    \
	"\"enabled\":false,\"types\":[\"RecordUpdated\",\"feed.item.*\"],"       \
	"\"tenants\":[\"0190b8a0-0000-7000-8000-000000000001\"],"                \
	"\"filter\":\".payload.amount\\n> 100\",\"template\":\"{id:.eventId}\"," \
	"\"preset\":\"standard\","                                               \
	"\"secret\":\"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\","     \
	"\"headers\":{\"X-Env\":\"prod\",\"Authorization\":\"hush1\","           \
	"\"X-Key\":{\"value\":\"hush2\",\"secret\":true}},"                      \
	"\"auth\":{\"type\":\"apikey\",\"header\":\"X-Api\","                    \
	"\"value\":\"hush3\"},"                                                  \
	"\"order\":\"key\",\"onDead\":\"block\",\"dropStale\":true,"             \
	"\"coalesce\":true,\"deadlineSeconds\":60,"                              \
	"\"retry\":{\"delaysMs\":[1000,2000],\"jitterMs\":5},"                   \
	"\"timeoutMs\":1234,\"concurrency\":3,\"ratePerSecond\":7,"              \
	"\"batch\":{\"mode\":\"batched\",\"windowSeconds\":9,\"maxSize\":11}}"

/* Stored and loaded it is the same, and no secret stands in the clear. */
static void
test_stored(void **state)
{
	struct world *w = *state;
	struct sub_conf *s = must(w, ALL, NULL), *t = NULL;
	struct str one = stored(w, s);
	const char *z = arena_z(w->arena, one);
	struct sub_policy y;
	struct json *doc;
	struct err e;
	int64_t ms;

	assert_non_null(strstr(z, "\"sealed(hush1)\""));
	assert_non_null(strstr(z, "\"sealed(hush2)\""));
	assert_non_null(strstr(z, "\"sealed(hush3)\""));
	assert_non_null(strstr(z, "\"sealed(whsec_AAEC"));
	assert_null(strstr(z, "\"hush"));
	assert_null(strstr(z, "\"whsec"));
	assert_int_equal(json_parse(w->arena, one, &doc, &e), OK);

	assert_int_equal(sub_load(one, w->presets, &SEAL, &t, &e), OK);
	assert_true(str_eq(one, stored(w, t)));
	assert_str(t->name, "orders");
	assert_false(t->enabled);
	assert_int_equal(t->n_types, 2);
	assert_str(t->types[1], "feed.item.*");
	assert_int_equal(t->tenants.n, 1);
	assert_str(t->filter, ".payload.amount\n> 100");
	assert_str(t->template, "{id:.eventId}");
	assert_int_equal(t->n_headers, 3);
	assert_str(t->headers[2].value, "hush2");
	assert_true(t->headers[1].secret && t->headers[2].secret);
	assert_false(t->headers[0].secret);
	assert_str(t->auth.value, "hush3");
	assert_true(t->has_order && t->ordered && t->block);
	assert_true(t->drop_stale && t->coalesce);
	assert_int_equal(t->deadline_s, 60);
	assert_int_equal(t->batch.mode, BATCH_BATCHED);
	sub_policy(t, 1, &y);
	assert_int_equal(y.total_ms, 1234);
	assert_int_equal(y.connect_ms, 1234);
	assert_int_equal(y.concurrency, 3);
	assert_int_equal(y.rate_per_second, 7);
	assert_int_equal(
	    retry_next(&y.retry, 2, -1, UINT32_MAX, 1, &ms), RETRY_LATER);
	assert_int_equal(ms, 2005);
	assert_int_equal(retry_next(&y.retry, 3, -1, 0, 1, &ms), RETRY_STOP);
	sub_free(s);
	sub_free(t);
}

/* What is shown can be sent back: nothing changes, nothing is lost. */
static void
test_shown_and_sent_back(void **state)
{
	struct world *w = *state;
	struct sub_conf *s = must(w, ALL, NULL), *t;
	const char *text = shown(w, s, false);
	struct str doc =
	    arena_fmt(w->arena, "{\"id\":\"x\",\"createdAt\":\"y\",%s}", text);

	assert_null(strstr(text, "hush"));
	assert_null(strstr(text, "whsec"));
	assert_non_null(strstr(text, "\"X-Env\":\"prod\""));
	assert_non_null(
	    strstr(text, "\"X-Key\":{\"value\":\"********\",\"secret\":true}"));
	t = must(w, arena_z(w->arena, doc), s);
	assert_true(str_eq(stored(w, s), stored(w, t)));
	sub_free(s);
	sub_free(t);
}

static void
test_patch(void **state)
{
	static const struct {
		const char *patch, *want;
	} rows[] = {
	    {"{}", "\"name\":\"orders\""},
	    {"{\"name\":\"x\"}", "\"name\":\"x\""},
	    {"{\"types\":null}", "\"types\":null"},
	    {"{\"types\":[\"a\"]}", "\"types\":[\"a\"]"},
	    {"{\"headers\":{\"X-Env\":null}}", "\"headers\":{\"X-Key\""},
	    {"{\"headers\":{\"X-New\":\"1\"}}", "\"X-New\":\"1\""},
	    {"{\"headers\":{\"x-env\":\"test\"}}", "\"x-env\":\"test\""},
	    {"{\"headers\":{\"X-Key\":\"other\"}}",
		"\"X-Key\":{\"value\":\"********\",\"secret\":true}"},
	    {"{\"headers\":{\"X-Key\":{\"value\":\"open\",\"secret\":false}}}",
		"\"X-Key\":\"open\""},
	    {"{\"headers\":null}", "\"headers\":{}"},
	    {"{\"auth\":null}", "\"auth\":{\"type\":\"none\"}"},
	    {"{\"auth\":{\"header\":\"X-Other\"}}",
		"\"auth\":{\"type\":\"apikey\",\"header\":\"X-Other\","
		"\"value\":\"********\"}"},
	    {"{\"order\":null}", "\"order\":\"none\""},
	    {"{\"retry\":null}", "\"retry\":null"},
	    {"{\"retry\":{\"count\":2}}", "\"retry\":{\"count\":2}"},
	    {"{\"timeoutMs\":null}", "\"timeoutMs\":15000"},
	    {"{\"batch\":{\"maxSize\":1}}",
		"\"batch\":{\"mode\":\"batched\",\"windowSeconds\":9,"
		"\"maxSize\":1}"},
	    {"{\"batch\":null}", "\"mode\":\"immediate\""},
	    {"{\"enabled\":null}", "\"enabled\":true"},
	    {"{\"filter\":null}", "\"filter\":null"},
	    {"{\"url\":\"https://{tenant}.example.com/z\"}",
		"\"url\":\"https://{tenant}.example.com/z\""},
	};
	struct world *w = *state;
	struct sub_conf *s = must(w, ALL, NULL);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sub_conf *t = must(w, rows[i].patch, s);
		const char *text = shown(w, t, false);

		if (!strstr(text, rows[i].want))
			fail_msg("%s: %s", rows[i].patch, text);
		sub_free(t);
	}
	sub_free(s);
}

static void
test_refused(void **state)
{
	static const struct {
		const char *json, *at, *why;
	} rows[] = {
	    {"{\"url\":\"https://h\"}", "/name", "is required"},
	    {"{\"name\":\"n\"}", "/url", "is required"},
	    {"{" BASE ",\"colour\":1}", "/colour", "not a known field"},
	    {"{" BASE ",\"id\":\"1\"}", "/id", "not a known field"},
	    {"{" BASE ",\"secrets\":[]}", "/secrets", "not a known field"},
	    {"{" BASE ",\"managed\":{}}", "/managed", "not a known field"},
	    {"{" BASE ",\"name\":1}", "", "duplicate key"},
	    {"{\"name\":7,\"url\":\"https://h\"}", "/name", "must be a string"},
	    {"{\"name\":\"\",\"url\":\"https://h\"}", "/name", "1 to 200"},
	    {"{\"name\":\"n\",\"url\":\"ftp://h\"}", "/url", "http://"},
	    {"{\"name\":\"n\",\"url\":\"https://\"}", "/url", "a host"},
	    {"{\"name\":\"n\",\"url\":\"https:///x\"}", "/url", "a host"},
	    {"{\"name\":\"n\",\"url\":\"https://a b\"}", "/url", "blanks"},
	    {"{\"name\":\"n\",\"url\":\"https://u:p@h\"}", "/url", "auth"},
	    {"{\"name\":\"n\",\"url\":\"https://h/{key}\"}", "/url",
		"{tenant} and no other"},
	    {"{" BASE ",\"types\":[]}", "/types", "leave it out for all"},
	    {"{" BASE ",\"types\":[\"a\",\"b*\"]}", "/types/1",
		"letters, digits"},
	    {"{" BASE ",\"types\":[1]}", "/types/0", "must be a string"},
	    {"{" BASE ",\"tenants\":[\"t t\"]}", "/tenants/0", "UUID"},
	    {"{" BASE ",\"preset\":\"nope\"}", "/preset", "not known"},
	    {"{" BASE ",\"secret\":\"short\"}", "/secret", "whsec_"},
	    {"{" BASE ",\"secret\":\"********\"}", "/secret", "the mask"},
	    {"{" BASE ",\"secret\":\"whpk_"
	     "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\"}",
		"/secret", "public key"},
	    {"{" BASE ",\"headers\":{\"Host\":\"x\"}}", "/headers/Host",
		"HTTP's own"},
	    {"{" BASE ",\"headers\":{\"content-LENGTH\":\"1\"}}",
		"/headers/content-LENGTH", "HTTP's own"},
	    {"{" BASE ",\"headers\":{\"Webhook-Signature\":\"x\"}}",
		"/headers/Webhook-Signature", "standard's own"},
	    {"{" BASE ",\"headers\":{\"webhook-id\":\"x\"}}",
		"/headers/webhook-id", "standard's own"},
	    {"{" BASE ",\"headers\":{\"X-A\":\"a\\r\\nX-B: c\"}}",
		"/headers/X-A", "control"},
	    {"{" BASE ",\"headers\":{\"X-A\":{\"value\":\"a\\nb\","
	     "\"secret\":true}}}",
		"/headers/X-A/value", "control"},
	    {"{" BASE ",\"headers\":{\"X A\":\"a\"}}", "/headers/X A",
		"header's name"},
	    {"{" BASE ",\"headers\":{\"X-A\":{\"secret\":true}}}",
		"/headers/X-A/value", "is required"},
	    {"{" BASE ",\"headers\":{\"X-A\":{\"value\":\"********\","
	     "\"secret\":true}}}",
		"/headers/X-A/value", "the mask"},
	    {"{" BASE ",\"auth\":{}}", "/auth/type", "is required"},
	    {"{" BASE ",\"auth\":{\"type\":\"digest\"}}", "/auth/type",
		"one of none, basic"},
	    {"{" BASE ",\"auth\":{\"type\":\"basic\",\"username\":\"u\"}}",
		"/auth/password", "is required"},
	    {"{" BASE ",\"auth\":{\"type\":\"basic\",\"username\":\"u:v\","
	     "\"password\":\"p\"}}",
		"/auth/username", "colon"},
	    {"{" BASE ",\"auth\":{\"type\":\"bearer\",\"password\":\"p\"}}",
		"/auth/password", "not a known field"},
	    {"{" BASE ",\"auth\":{\"type\":\"bearer\",\"token\":\"a\\nb\"}}",
		"/auth/token", "control"},
	    {"{" BASE ",\"auth\":{\"type\":\"bearer\",\"token\":\"t\"},"
	     "\"headers\":{\"authorization\":\"x\"}}",
		"/headers/authorization", "beside this auth"},
	    {"{" BASE ",\"auth\":{\"type\":\"apikey\",\"header\":\"Host\","
	     "\"value\":\"v\"}}",
		"/auth/header", "HTTP's own"},
	    {"{" BASE ",\"auth\":{\"type\":\"oauth2\",\"tokenUrl\":\"x\","
	     "\"clientId\":\"c\",\"clientSecret\":\"s\"}}",
		"/auth/tokenUrl", "http://"},
	    {"{" BASE ",\"auth\":{\"type\":\"mtls\",\"certificate\":\"x\","
	     "\"key\":\"y\"}}",
		"/auth/certificate", "PEM"},
	    {"{" BASE ",\"order\":\"both\"}", "/order", "none, key"},
	    {"{" BASE ",\"onDead\":1}", "/onDead", "continue, block"},
	    {"{" BASE ",\"dropStale\":0}", "/dropStale", "true or false"},
	    {"{" BASE ",\"deadlineSeconds\":0}", "/deadlineSeconds", "from 1"},
	    {"{" BASE ",\"retry\":{}}", "/retry", "either"},
	    {"{" BASE ",\"retry\":{\"delaysMs\":[1.5]}}", "/retry/delaysMs",
		"whole number"},
	    {"{" BASE ",\"retry\":{\"delay\":[1]}}", "/retry/delay",
		"not a known field"},
	    {"{" BASE ",\"preset\":\"repository\",\"retry\":{\"count\":11}}",
		"/retry/count", "from 0 to 10"},
	    {"{" BASE ",\"preset\":\"repository\",\"retry\":{\"delaysMs\":"
	     "[1,2,3,4,5,6,7,8,9,10,11]}}",
		"/retry/delaysMs", "at most 10"},
	    {"{" BASE ",\"timeoutMs\":300001}", "/timeoutMs", "300000"},
	    {"{" BASE ",\"concurrency\":0}", "/concurrency", "from 1"},
	    {"{" BASE ",\"ratePerSecond\":0}", "/ratePerSecond", "from 1"},
	    {"{" BASE ",\"batch\":{\"mode\":\"x\"}}", "/batch/mode",
		"immediate, batched, summary"},
	    {"{" BASE ",\"hub\":{}}", "/hub", "no meaning"},
	    {"{" HUB "}", "/hub", "is required"},
	    {"{" HUB ",\"secret\":\"s\",\"hub\":{" HUB_BODY "}}", "/secret",
		"signs nothing"},
	    {"{" HUB ",\"hub\":{\"tenant\":\"t\"}}", "/hub/eventApiKey",
		"is required"},
	    {"{" HUB ",\"hub\":{" HUB_BODY ",\"otp\":{\"secret\":\"s\"}}}",
		"/hub/sharedInternalKey", "is required"},
	    {"{" HUB ",\"hub\":{" HUB_BODY "}}", "/hub/otp", "null"},
	    {"{" HUB ",\"hub\":{" HUB_BODY
	     ",\"otp\":{\"secret\":\"s1\",\"secretEncoding\":\"base32\"}}}",
		"/hub/otp/secret", "base32"},
	    {"{" HUB ",\"hub\":{" HUB_BODY
	     ",\"otp\":{\"secret\":\"s\",\"secretEncoding\":\"octal\"}}}",
		"/hub/otp/secretEncoding", "text, base32, hex, base64"},
	    {"{" HUB ",\"hub\":{" HUB_BODY ",\"otp\":{}}}", "/hub/otp/secret",
		"must be"},
	    {"{" HUB ",\"hub\":{" HUB_BODY
	     ",\"otp\":{\"secret\":\"s\",\"digits\":11}}}",
		"/hub/otp/digits", "4 to 10"},
	    {"{" HUB ",\"hub\":{" HUB_BODY
	     ",\"otp\":{\"secret\":\"s\",\"template\":\"x\"}}}",
		"/hub/otp/template", "once"},
	    {"{" HUB ",\"hub\":{" HUB_BODY ",\"colour\":1}}", "/hub/colour",
		"not a known field"},
	    {"{" HUB ",\"hub\":{" HUB_BODY ",\"accountPointer\":\"a\"}}",
		"/hub/accountPointer", "JSON pointer"},
	    {"{" HUB ",\"headers\":{\"X-PCA-TENANT\":\"x\"},\"hub\":{" HUB_BODY
	     "}}",
		"/headers/X-PCA-TENANT", "hub's own"},
	    {"[]", "", "must be an object"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sub_conf *s = NULL;
		struct err e = {.code = OK};
		int rc =
		    sub_read(str_of(rows[i].json), NULL, &w->rules, &s, &e);

		if (rc >= 0 || strcmp(e.at, rows[i].at) != 0 ||
		    !strstr(e.text, rows[i].why))
			fail_msg("%s: %d at \"%s\": %s", rows[i].json, rc, e.at,
			    e.text);
		assert_null(s);
	}
}

static void
test_limits(void **state)
{
	struct world *w = *state;
	struct buf b = BUF(MIB);
	struct sub_conf *s = NULL;
	struct err e;

	buf_addz(&b, "{" BASE ",\"headers\":{");
	for (int i = 0; i <= SUB_HEADERS_MAX; i++)
		buf_fmt(&b, "%s\"X-%d\":\"v\"", i ? "," : "", i);
	buf_addz(&b, "}}");
	assert_int_equal(
	    sub_read(buf_str(&b), NULL, &w->rules, &s, &e), ERR_INVALID);
	assert_string_equal(e.at, "/headers/X-64");
	buf_clear(&b);
	buf_addz(&b, "{\"name\":\"n\",\"url\":\"https://h/");
	for (int i = 0; i < SUB_URL_MAX; i++)
		buf_addc(&b, 'x');
	buf_addz(&b, "\"}");
	assert_int_equal(
	    sub_read(buf_str(&b), NULL, &w->rules, &s, &e), ERR_INVALID);
	assert_string_equal(e.at, "/url");
	buf_clear(&b);
	buf_addz(&b, "{\"name\":\"");
	while (b.n <= SUB_STORED_MAX)
		buf_addz(&b, "xxxxxxxxxxxxxxxx");
	assert_int_equal(
	    sub_read(buf_str(&b), NULL, &w->rules, &s, &e), ERR_LIMIT);
	buf_done(&b);
}

/* Defaults of `hub` come from the settings; what is secret stays so. */
/* After a change of settings. */
static void
reload(struct world *w)
{
	presets_free(w->presets);
	w->presets = presets_load(&w->conf);
	w->rules.presets = w->presets;
}

static void
test_hub(void **state)
{
	struct world *w = *state;
	struct sub_conf *s, *t = NULL;
	const char *text;
	struct str one;
	struct err e;

	assert_int_equal(conf_set(&w->conf, STR("webhooks.endpoint.root"),
			     STR("https://alb.example/root"), CONF_FLAG, &e),
	    OK);
	reload(w);
	s = must(w,
	    "{\"name\":\"h\",\"preset\":\"hub\",\"hub\":{"
	    "\"tenant\":\"t1\",\"domain\":\"hub.example\","
	    "\"eventApiKey\":\"api\",\"servicePartition\":\"p\","
	    "\"sender\":\"pca-id\",\"sharedInternalKey\":\"hush\","
	    "\"organizationId\":{\"pointer\":\"/payload/org\"},"
	    "\"otp\":{\"secret\":\"hush2\",\"salt\":\"hush3\","
	    "\"saltMode\":\"key-after\",\"algorithm\":\"sha256\"}}}",
	    NULL);
	assert_str(s->url, "https://alb.example/root");
	assert_str(s->hub.user_path, "/user-events");
	assert_str(s->hub.organization_path, "/organization-events");
	assert_str(s->hub.account_pointer, "/user/accountId");
	assert_false(s->hub.organization_events);
	assert_int_equal(s->hub.preflight_fail, PREFLIGHT_DEAD);
	assert_int_equal(s->hub.otp.otp.digits, 8);
	assert_int_equal(s->hub.otp.otp.step_s, 30);
	assert_int_equal(s->n_secrets, 0);
	text = shown(w, s, true);
	assert_null(strstr(text, "hush"));
	assert_non_null(
	    strstr(text, "\"organizationId\":{\"pointer\":\"/payload/org\"}"));
	one = stored(w, s);
	assert_null(strstr(arena_z(w->arena, one), "\"hush"));
	assert_null(strstr(arena_z(w->arena, one), "\"api\""));
	assert_int_equal(sub_load(one, w->presets, &SEAL, &t, &e), OK);
	assert_str(t->hub.otp.otp.salt, "hush3");
	assert_str(t->hub.shared_internal_key, "hush");
	assert_true(str_eq(one, stored(w, t)));
	sub_free(t);
	/* Interim mode by a patch; the rest stays. */
	t = must(w, "{\"hub\":{\"otp\":null}}", s);
	assert_false(t->hub.has_otp);
	assert_str(t->hub.event_api_key, "api");
	sub_free(t);
	/* Another preset has no use for it. */
	t = must(w, "{\"preset\":\"standard\"}", s);
	assert_false(t->hub.there);
	assert_int_equal(t->n_secrets, 1);
	sub_free(t);
	sub_free(s);
	assert_int_equal(conf_set(&w->conf, STR("webhooks.endpoint.root"),
			     STR(""), CONF_FLAG, &e),
	    OK);
	reload(w);
}

static void
setting(struct world *w, const char *name, const char *value)
{
	struct err e;

	assert_int_equal(
	    conf_set(&w->conf, str_of(name), str_of(value), CONF_FLAG, &e), OK);
	reload(w);
}

static struct sub_conf *
loaded(struct world *w, struct str text)
{
	struct sub_conf *s = NULL;
	struct err e;

	assert_int_equal(sub_load(text, w->presets, &SEAL, &s, &e), OK);
	return s;
}

/* What a subscription did not set has the setting's value, as it is now. */
static void
test_settings_change(void **state)
{
	struct world *w = *state;
	struct sub_conf *s, *t;
	struct str text;

	setting(w, "webhooks.endpoint.root", "https://one.example/r");
	s = must(w,
	    "{\"name\":\"h\",\"preset\":\"hub\",\"hub\":{" HUB_BODY
	    ",\"organizationPath\":\"\",\"otp\":null}}",
	    NULL);
	text = stored(w, s);
	setting(w, "webhooks.endpoint.root", "https://two.example/r");
	setting(w, "webhooks.user.path", "/u2");
	setting(w, "webhooks.organization.path", "/o2");
	t = loaded(w, text);
	assert_str(t->url, "https://two.example/r");
	assert_str(t->hub.user_path, "/u2");
	assert_str(t->hub.organization_path, "");
	assert_non_null(strstr(shown(w, t, false), "\"userPath\":\"/u2\""));
	sub_free(s);
	/* As it is shown, written back: still not its own. */
	s = must(w,
	    "{\"url\":\"https://two.example/r\",\"hub\":{\"userPath\":\"/u2\"}}",
	    t);
	assert_true(str_eq(stored(w, s), stored(w, t)));
	sub_free(s);
	/* Its own stays; null gives it back. */
	s = must(w,
	    "{\"url\":\"https://two.example/x\",\"hub\":{\"userPath\":\"/mine\"}}",
	    t);
	text = stored(w, s);
	sub_free(t);
	setting(w, "webhooks.endpoint.root", "https://three.example/r");
	t = loaded(w, text);
	assert_str(t->url, "https://two.example/x");
	assert_str(t->hub.user_path, "/mine");
	sub_free(s);
	s = must(w, "{\"hub\":{\"userPath\":null}}", t);
	assert_str(s->hub.user_path, "/u2");
	sub_free(s);
	sub_free(t);
	setting(w, "webhooks.endpoint.root", "");
	setting(w, "webhooks.user.path", "/user-events");
	setting(w, "webhooks.organization.path", "/organization-events");
}

static void
test_secrets_by_preset(void **state)
{
	struct world *w = *state;
	struct sub_conf *s = must(w, "{" BASE ",\"preset\":\"task\"}", NULL);

	assert_int_equal(s->secrets[0].text.n, 64);
	sub_free(s);
	s = must(w, "{" BASE ",\"preset\":\"repository\"}", NULL);
	assert_int_equal(s->n_secrets, 0);
	assert_non_null(strstr(shown(w, s, true), "\"secret\":null"));
	sub_free(s);
	s = must(w,
	    "{" BASE ",\"preset\":\"repository\",\"secret\":\"any text\"}",
	    NULL);
	assert_int_equal(s->n_secrets, 1);
	sub_free(s);
}

static void
test_rotate(void **state)
{
	struct world *w = *state;
	struct sub_conf *s = must(w, "{" BASE "}", NULL), *t;
	struct str first = s->secrets[0].text;
	struct err e;

	assert_int_equal(
	    sub_rotate(s, SUB_OVERLAP_MAX_S + 1, NOW, &e), ERR_INVALID);
	assert_string_equal(e.at, "/overlapSeconds");
	assert_int_equal(sub_rotate(s, 100, NOW, &e), OK);
	assert_int_equal(s->n_secrets, 2);
	assert_false(str_eq(s->secrets[0].text, first));
	assert_true(str_eq(s->secrets[1].text, first));
	assert_int_equal(s->secrets[1].until_us, NOW + 100 * US_PER_S);
	assert_int_equal(s->secrets[0].until_us, 0);
	/* Through the store and a change, both stay. */
	t = must(w, "{\"name\":\"other\"}", s);
	assert_int_equal(t->n_secrets, 2);
	assert_int_equal(t->secrets[1].until_us, NOW + 100 * US_PER_S);
	sub_free(t);
	/* What has ended goes. */
	assert_int_equal(sub_rotate(s, 100, NOW + 100 * US_PER_S, &e), OK);
	assert_int_equal(s->n_secrets, 2);
	/* Without overlap the old one ends at once. */
	assert_int_equal(sub_rotate(s, 0, NOW + 300 * US_PER_S, &e), OK);
	assert_int_equal(s->n_secrets, 1);
	for (int i = 1; i < SUB_SECRETS_MAX; i++)
		assert_int_equal(
		    sub_rotate(s, 1000, NOW + 400 * US_PER_S, &e), OK);
	assert_int_equal(
	    sub_rotate(s, 1000, NOW + 400 * US_PER_S, &e), ERR_LIMIT);
	assert_int_equal(s->n_secrets, SUB_SECRETS_MAX);
	/* A secret that is given replaces all. */
	t = must(w,
	    "{\"secret\":\"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	    "\"}",
	    s);
	assert_int_equal(t->n_secrets, 1);
	sub_free(t);
	sub_free(s);
	s = must(w, "{" BASE ",\"preset\":\"repository\"}", NULL);
	assert_int_equal(sub_rotate(s, 0, NOW, &e), ERR_CONFLICT);
	sub_free(s);
}

static int
no_url(void *, struct str, const char *at, struct err *e)
{
	return json_wrong(e, at, "is refused");
}

static void
test_rules_are_asked(void **state)
{
	struct world *w = *state;
	struct sub_rules rules = w->rules;
	struct sub_conf *s = NULL;
	struct err e;

	rules.url_check = no_url;
	assert_int_equal(
	    sub_read(STR("{" BASE "}"), NULL, &rules, &s, &e), ERR_INVALID);
	assert_string_equal(e.at, "/url");
	rules.url_check = NULL;
	rules.program_check = no_url;
	assert_int_equal(
	    sub_read(STR("{" BASE ",\"filter\":\".\"}"), NULL, &rules, &s, &e),
	    ERR_INVALID);
	assert_string_equal(e.at, "/filter");
	assert_int_equal(sub_read(STR("{" BASE ",\"template\":\".\"}"), NULL,
			     &rules, &s, &e),
	    ERR_INVALID);
	assert_string_equal(e.at, "/template");
	assert_int_equal(sub_read(STR("{" BASE "}"), NULL, &rules, &s, &e), OK);
	sub_free(s);
}

static void
test_managed(void **state)
{
	struct world *w = *state;
	struct sub_managed m = {
	    STR("repository"), STR("obj"), STR("/a"), STR("webhook-1"), 0};
	struct sub_rules rules = w->rules;
	struct sub_conf *s = NULL, *t = NULL;
	struct err e;

	rules.managed = &m;
	assert_int_equal(sub_read(STR("{" BASE ",\"preset\":\"repository\"}"),
			     NULL, &rules, &s, &e),
	    OK);
	assert_non_null(
	    strstr(shown(w, s, false), "\"managedBy\":\"repository\""));
	assert_int_equal(sub_load(stored(w, s), w->presets, &SEAL, &t, &e), OK);
	assert_str(t->managed.webhook_id, "webhook-1");
	sub_free(t);
	sub_free(s);
}

/* Without its secrets, for whoever only looks at it. */
static void
test_load_closed(void **state)
{
	static const char *const ROWS[] = {
	    ALL,
	    "{" HUB ",\"hub\":{" HUB_BODY ",\"sharedInternalKey\":\"k\","
	    "\"otp\":{\"secret\":\"s\","
	    "\"salt\":\"t\",\"saltMode\":\"key-before\"}}}",
	};
	struct world *w = *state;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct sub_conf *s = must(w, ROWS[i], NULL), *t = NULL;
		struct err e = {0};

		if (sub_load(stored(w, s), w->presets, NULL, &t, &e) < 0)
			fail_msg("%zu: %s", i, e.text);
		assert_true(str_eq(t->url, s->url));
		assert_non_null(strstr(shown(w, t, false), "\"publicKey\""));
		sub_free(t);
		sub_free(s);
	}
}

/* A seal that was tampered with, or a preset that is gone. */
static void
test_load_fails(void **state)
{
	struct world *w = *state;
	struct sub_conf *s = NULL;
	struct err e;

	assert_int_equal(
	    sub_load(STR("{" BASE ",\"secrets\":[{\"text\":\"x\"}]}"),
		w->presets, &SEAL, &s, &e),
	    ERR_INVALID);
	assert_int_equal(sub_load(STR("{" BASE ",\"preset\":\"gone\"}"),
			     w->presets, &SEAL, &s, &e),
	    ERR_ABSENT);
	assert_null(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_stored),
	    cmocka_unit_test(test_load_closed),
	    cmocka_unit_test(test_shown_and_sent_back),
	    cmocka_unit_test(test_patch),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_hub),
	    cmocka_unit_test(test_settings_change),
	    cmocka_unit_test(test_secrets_by_preset),
	    cmocka_unit_test(test_rotate),
	    cmocka_unit_test(test_rules_are_asked),
	    cmocka_unit_test(test_managed),
	    cmocka_unit_test(test_load_fails),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
