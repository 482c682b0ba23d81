#include "base/test.h"
#include "contract/contract_test.h"

#define AT(url, rest)                                                          \
	"{\"name\":\"n\",\"url\":\"" url                                       \
	"\",\"headers\":{\"X-Plain\":\"p\"}," rest "}"
#define BEARER "\"auth\":{\"type\":\"bearer\",\"token\":\"hush\"}"
#define COOKIE "\"headers\":{\"Cookie\":\"s=hush\"}"
#define OAUTH                                                                  \
	"\"auth\":{\"type\":\"oauth2\",\"tokenUrl\":\"https://t.example/a\","  \
	"\"clientId\":\"c\",\"clientSecret\":\"hush\"}"
#define H "https://h.example/x"

/* `at` NULL: it is taken. */
static const struct {
	const char *made, *patch, *at;
} ROWS[] = {
    /* the same server */
    {AT(H, BEARER), "{\"url\":\"https://h.example/y?a=b\"}", NULL},
    {AT(H, BEARER), "{\"url\":\"https://H.Example:443/x\"}", NULL},
    {AT(H, BEARER), "{\"url\":\"https://h.example\"}", NULL},
    {AT("https://h.example:443", BEARER), "{\"url\":\"" H "\"}", NULL},
    {AT(H, BEARER), "{\"name\":\"m\"}", NULL},
    /* another: host, port, scheme */
    {AT(H, BEARER), "{\"url\":\"https://evil.example/x\"}", "/auth/token"},
    {AT(H, BEARER), "{\"url\":\"https://h.example.evil.example\"}",
	"/auth/token"},
    {AT(H, BEARER), "{\"url\":\"https://h.example:8443/x\"}", "/auth/token"},
    {AT(H, BEARER), "{\"url\":\"http://h.example/x\"}", "/auth/token"},
    {AT(H, BEARER), "{\"url\":\"http://h.example:443/x\"}", "/auth/token"},
    {AT("https://[2001:db8::1]/", BEARER),
	"{\"url\":\"https://[2001:db8::2]/\"}", "/auth/token"},
    {AT("https://[2001:db8::1]/", BEARER),
	"{\"url\":\"https://[2001:db8::1]:443/\"}", NULL},
    /* the mask is no secret that was given */
    {AT(H, BEARER),
	"{\"url\":\"https://e/\",\"auth\":{\"token\":\"********\"}}",
	"/auth/token"},
    {AT(H, BEARER), "{\"url\":\"https://e/\",\"auth\":{\"type\":\"bearer\"}}",
	"/auth/token"},
    /* given again, the same or another, or taken away */
    {AT(H, BEARER), "{\"url\":\"https://e/\",\"auth\":{\"token\":\"hush\"}}",
	NULL},
    {AT(H, BEARER), "{\"url\":\"https://e/\",\"auth\":null}", NULL},
    {AT(H, BEARER),
	"{\"url\":\"https://e/\",\"auth\":{\"type\":\"basic\","
	"\"username\":\"u\",\"password\":\"new\"}}",
	NULL},
    /* each kind */
    {AT(H, "\"auth\":{\"type\":\"basic\",\"username\":\"u\","
	   "\"password\":\"hush\"}"),
	"{\"url\":\"https://e/\"}", "/auth/password"},
    {AT(H, "\"auth\":{\"type\":\"apikey\",\"header\":\"X-K\","
	   "\"value\":\"hush\"}"),
	"{\"url\":\"https://e/\"}", "/auth/value"},
    {AT(H, OAUTH), "{\"url\":\"https://e/\"}", "/auth/clientSecret"},
    {AT(H, OAUTH), "{\"auth\":{\"tokenUrl\":\"https://e/a\"}}",
	"/auth/clientSecret"},
    {AT(H, OAUTH), "{\"auth\":{\"tokenUrl\":\"https://t.example/b\"}}", NULL},
    {AT(H, OAUTH),
	"{\"auth\":{\"tokenUrl\":\"https://e/a\",\"clientSecret\":\"x\"}}",
	NULL},
    {"{\"name\":\"n\",\"url\":\"" H "\"," COOKIE "}",
	"{\"url\":\"https://e/\"}", "/headers/Cookie"},
    {"{\"name\":\"n\",\"url\":\"" H "\"," COOKIE "}",
	"{\"url\":\"https://e/\",\"headers\":{\"cookie\":\"********\"}}",
	"/headers/cookie"},
    {"{\"name\":\"n\",\"url\":\"" H "\"," COOKIE "}",
	"{\"url\":\"https://e/\",\"headers\":{\"Cookie\":null}}", NULL},
    {"{\"name\":\"n\",\"url\":\"" H "\",\"headers\":{\"X-Open\":\"o\"}}",
	"{\"url\":\"https://e/\"}", NULL},
    {"{\"name\":\"n\",\"url\":\"" H "\",\"headers\":{\"X-H\":{\"value\":"
     "\"hush\",\"secret\":true}}}",
	"{\"url\":\"https://e/\"}", "/headers/X-H"},
    /* the secret that signs is not sent */
    {"{\"name\":\"n\",\"url\":\"" H "\"}", "{\"url\":\"https://e/\"}", NULL},
};

static void
change(struct world *w, const char *made, const char *patch, const char *at)
{
	struct sub_conf *s = sub(w, made), *t = NULL;
	struct err e = {0};
	int rc = sub_read(str_of(patch), s, &w->rules, &t, &e);

	if (rc != (at ? ERR_INVALID : OK) || strcmp(e.at, at ? at : "") != 0 ||
	    (at && !strstr(e.text, "again")))
		fail_msg(
		    "%s to %s: %d at %s, %s", made, patch, rc, e.at, e.text);
	if (rc == OK)
		sub_free(t);
	sub_free(s);
}

static void
test_rows(void **state)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++)
		change(*state, ROWS[i].made, ROWS[i].patch, ROWS[i].at);
}

static void
test_hub(void **state)
{
	char made[1024], far[1024];

	(void)snprintf(made, sizeof(made), HUB, OTP);
	change(*state, made, "{\"url\":\"https://evil/\"}",
	    "/hub/sharedInternalKey");
	change(*state, made,
	    "{\"url\":\"https://evil/\",\"hub\":{\"sharedInternalKey\":\"a\"}}",
	    "/hub/eventApiKey");
	change(*state, made,
	    "{\"url\":\"https://evil/\",\"hub\":{\"sharedInternalKey\":\"a\","
	    "\"eventApiKey\":\"b\"}}",
	    NULL);
	/* The tenant is no part of this URL, and is of the next. */
	change(*state, made, "{\"hub\":{\"tenant\":\"other\"}}", NULL);
	(void)snprintf(far, sizeof(far),
	    "{\"name\":\"h\",\"preset\":\"hub\","
	    "\"url\":\"https://{tenant}.example/\",\"hub\":{\"tenant\":\"t\","
	    "\"domain\":\"d\",\"eventApiKey\":\"hush3\","
	    "\"organizationId\":\"o\",\"servicePartition\":\"p\","
	    "\"sender\":\"s\",\"otp\":null}}");
	change(*state, far, "{\"hub\":{\"tenant\":\"other\"}}",
	    "/hub/eventApiKey");
}

/* All that is missing is named at once. */
static void
test_all_named(void **state)
{
	struct world *w = *state;
	struct sub_conf *s = sub(w,
	    "{\"name\":\"n\",\"url\":\"" H "\"," BEARER ",\"headers\":"
	    "{\"Cookie\":\"c\",\"X-H\":{\"value\":\"hush\",\"secret\":true}}}");
	struct sub_conf *t = NULL;
	struct err e = {0};

	assert_int_equal(
	    sub_read(STR("{\"url\":\"https://e/\"}"), s, &w->rules, &t, &e),
	    ERR_INVALID);
	assert_non_null(
	    strstr(e.text, "/auth/token, /headers/Cookie, /headers/X-H"));
	sub_free(s);
}

/* Stored in the clear before it was a secret: read, and masked from then on. */
static void
test_old_cookie(void **state)
{
	struct world *w = *state;
	struct sub_conf *s = NULL;
	struct buf b = BUF(SUB_STORED_MAX);
	struct err e = {0};

	assert_int_equal(
	    sub_load(STR("{\"name\":\"n\",\"url\":\"" H "\",\"preset\":"
			 "\"standard\",\"secrets\":[],\"headers\":"
			 "{\"Cookie\":\"s=hush\",\"X-Plain\":\"p\"}}"),
		w->presets, NULL, &s, &e),
	    OK);
	assert_true(str_eq(s->headers[0].value, STR("s=hush")));
	sub_show(s, false, &b);
	assert_null(memmem(b.p, b.n, "hush", 4));
	assert_non_null(memmem(b.p, b.n, "\"p\"", 3));
	buf_done(&b);
	sub_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rows),
	    cmocka_unit_test(test_hub),
	    cmocka_unit_test(test_all_named),
	    cmocka_unit_test(test_old_cookie),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
