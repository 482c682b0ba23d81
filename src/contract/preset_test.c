#include "contract/preset.h"

#include "base/conf/conf.h"
#include "base/test.h"

#define OK_ROW "\"verdicts\":[{\"status\":\"200\",\"verdict\":\"success\"}]"

static int
setup(void **state)
{
	static struct conf conf;
	struct err e;

	assert_int_equal(conf_init(&conf, &e), OK);
	*state = &conf;
	return 0;
}

static int
teardown(void **state)
{
	conf_done(*state);
	return 0;
}

/* "Presets at a glance" of the specification. */
static void
test_at_a_glance(void **state)
{
	static const struct {
		const char *name;
		int64_t connect_ms, total_ms, concurrency, floor, rate,
		    spacing_ms, lock_ms;
		unsigned retries, breaker;
		bool ordered, heed, uses_hub;
		enum preset_secret secret;
	} rows[] = {
	    {"standard", 10000, 15000, 16, 1, 0, 0, 0, 10, 5, false, true,
		false, PRESET_SECRET_STANDARD},
	    {"cloudevents", 10000, 15000, 16, 1, 0, 0, 0, 10, 5, false, true,
		false, PRESET_SECRET_STANDARD},
	    {"cloudevents-binary", 10000, 15000, 16, 1, 0, 0, 0, 10, 5, false,
		true, false, PRESET_SECRET_STANDARD},
	    {"repository", 10000, 40000, 10, 10, 10, 0, 0, 3, 5, false, true,
		false, PRESET_SECRET_OPTIONAL},
	    {"task", 10000, 30000, 16, 8, 0, 0, 0, 3, 0, false, false, false,
		PRESET_SECRET_TEXT},
	    {"hub", 5000, 60000, 16, 8, 0, 2000, 180000, 5, 0, true, false,
		true, PRESET_SECRET_NONE},
	};
	struct presets *ps = presets_load(*state);
	size_t at = 0, n = 0;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct preset *p = presets_find(ps, str_of(rows[i].name));

		assert_non_null(p);
		assert_true(p->builtin);
		assert_int_equal(p->connect_ms, rows[i].connect_ms);
		assert_int_equal(p->total_ms, rows[i].total_ms);
		assert_int_equal(p->concurrency, rows[i].concurrency);
		assert_int_equal(p->concurrency_floor, rows[i].floor);
		assert_int_equal(p->rate_per_second, rows[i].rate);
		assert_int_equal(p->spacing_ms, rows[i].spacing_ms);
		assert_int_equal(p->lock_ms, rows[i].lock_ms);
		assert_int_equal(p->retry.retries, rows[i].retries);
		assert_int_equal(p->breaker_failures, rows[i].breaker);
		if (p->breaker_failures)
			assert_int_equal(p->breaker_open_ms, 300000);
		/* Seed 000, 2.6.3. */
		assert_int_equal(
		    p->breaker_first, str_eq(p->name, STR("repository")));
		assert_int_equal(p->ordered, rows[i].ordered);
		assert_int_equal(p->retry.heed, rows[i].heed);
		assert_int_equal(p->uses_hub, rows[i].uses_hub);
		assert_int_equal(p->secret, rows[i].secret);
		assert_int_equal(p->preflight.on, rows[i].uses_hub);
	}
	while (presets_each(ps, &at))
		n++;
	assert_true(n >= COUNT_OF(rows));
	assert_null(presets_find(ps, STR("none")));
	presets_free(ps);
}

static void
test_settings_give_numbers(void **)
{
	static const char TEXT[] = "webhook.retry.default.count = 20\n"
				   "webhook.retry.max.count = 7\n"
				   "webhook.retry.backoff.base.ms = 500\n"
				   "webhook.retry.backoff.max.ms = 60000\n"
				   "webhook.http.connect.timeout = 3\n"
				   "webhook.http.read.timeout = 4\n"
				   "webhook.dispatcher.pool.size = 25\n"
				   "webhook.ordering.per.object = true\n"
				   "webhook.timeout.ms = 9000\n"
				   "webhook.max.retries = 5\n";
	struct conf conf;
	struct presets *ps;
	const struct preset *p;
	struct err e;
	int64_t ms;

	assert_int_equal(conf_init(&conf, &e), OK);
	assert_int_equal(conf_read(&conf, "f", STR(TEXT), &e), OK);
	ps = presets_load(&conf);
	p = presets_find(ps, STR("repository"));
	assert_int_equal(p->retry.retries, 7);
	assert_int_equal(p->retries_max, 7);
	assert_int_equal(p->connect_ms, 3000);
	assert_int_equal(p->total_ms, 7000);
	assert_int_equal(p->concurrency, 25);
	assert_true(p->ordered);
	assert_int_equal(retry_next(&p->retry, 1, -1, 0, 1, &ms), RETRY_LATER);
	assert_int_equal(ms, 1000);
	assert_int_equal(retry_next(&p->retry, 7, -1, 0, 1, &ms), RETRY_LATER);
	assert_int_equal(ms, 60000);
	p = presets_find(ps, STR("task"));
	assert_int_equal(p->total_ms, 9000);
	assert_int_equal(p->connect_ms, 9000);
	assert_int_equal(retry_next(&p->retry, 5, -1, 0, 1, &ms), RETRY_LATER);
	assert_int_equal(ms, 1800000);
	assert_int_equal(retry_next(&p->retry, 6, -1, 0, 1, &ms), RETRY_STOP);
	/* The others are as they were. */
	assert_int_equal(presets_find(ps, STR("standard"))->retry.retries, 10);
	presets_free(ps);
	conf_done(&conf);
}

static void
test_refused(void **state)
{
	static const struct {
		const char *json, *at, *why;
	} rows[] = {
	    {"{}", "/verdicts", "is required"},
	    {"{" OK_ROW ",\"retires\":1}", "/retires", "not a known field"},
	    {"{" OK_ROW ",\"body\":\"{bdy}\"}", "/body", "unknown variable"},
	    {"{" OK_ROW ",\"body\":\"{eventld}\"}", "/body",
		"did you mean {eventId}?"},
	    {"{" OK_ROW ",\"body\":\"{id\"}", "/body", "closing brace"},
	    {"{" OK_ROW
	     ",\"headers\":[{\"name\":\"X-A\",\"value\":\"a\\r\\nB: c\"}]}",
		"/headers/0/value", "control characters"},
	    {"{" OK_ROW ",\"headers\":[{\"name\":\"X A\",\"value\":\"a\"}]}",
		"/headers/0/name", "header's name"},
	    {"{" OK_ROW ",\"headers\":[{\"name\":\"HOST\",\"value\":\"a\"}]}",
		"/headers/0/name", "host"},
	    {"{" OK_ROW ",\"headers\":[{\"name\":\"X\",\"value\":\"{otp}\"}]}",
		"/headers/0/value", "marked secret only"},
	    {"{" OK_ROW ",\"headers\":[{\"name\":\"X\",\"value\":\"{body}\"}]}",
		"/headers/0/value", "no place here"},
	    {"{" OK_ROW
	     ",\"headers\":[{\"name\":\"X\",\"value\":\"v\",\"when\":\"x\"}]}",
		"/headers/0/when", "name of a variable"},
	    {"{" OK_ROW ",\"headers\":[{\"name\":\"X\"}]}", "/headers/0/value",
		"is required"},
	    {"{" OK_ROW ",\"signatures\":[{\"header\":\"S\","
	     "\"content\":\"{id}\"}]}",
		"/signatures/0/content", "must have {body}"},
	    {"{" OK_ROW ",\"signatures\":[{\"header\":\"S\","
	     "\"algorithm\":\"md5\",\"content\":\"{body}\"}]}",
		"/signatures/0/algorithm", "one of hmac-sha256, ed25519"},
	    {"{" OK_ROW ",\"signatures\":[{\"header\":\"S\","
	     "\"algorithm\":\"ed25519\",\"content\":\"{body}\"}]}",
		"/signatures/0/key", "decoded"},
	    {"{" OK_ROW ",\"secret\":\"text\"}", "/secret", "none exactly"},
	    {"{\"verdicts\":[{\"status\":\"99\",\"verdict\":\"dead\"}]}",
		"/verdicts/0/status", "a status or a range"},
	    {"{\"verdicts\":[{\"status\":\"300-200\",\"verdict\":\"dead\"}]}",
		"/verdicts/0/status", "a status or a range"},
	    {"{\"verdicts\":[{\"network\":[\"x\"],\"verdict\":\"dead\"}]}",
		"/verdicts/0/network", "timeout"},
	    {"{\"verdicts\":[{\"verdict\":\"dead\"}]}", "/verdicts/0",
		"a status or a network"},
	    {"{\"verdicts\":[{\"status\":\"200\"}]}", "/verdicts/0/verdict",
		"is required"},
	    {"{" OK_ROW ",\"retry\":{\"delaysMs\":[1,-1]}}", "/retry/delaysMs",
		"whole number"},
	    {"{" OK_ROW ",\"retry\":{\"jitterMs\":[5,1,1]}}", "/retry/jitterMs",
		"must run from"},
	    {"{" OK_ROW ",\"retry\":{\"jitterMs\":[1,5,0]}}", "/retry/jitterMs",
		"a step above 0"},
	    {"{" OK_ROW ",\"retry\":{\"jitterMs\":[1,5]}}", "/retry/jitterMs",
		"[from, to, step]"},
	    {"{" OK_ROW ",\"retry\":{\"jitterPercent\":101}}",
		"/retry/jitterPercent", "from 0 to 100"},
	    {"{" OK_ROW ",\"retry\":{\"count\":65}}", "/retry/count",
		"from 0 to 64"},
	    {"{" OK_ROW ",\"retry\":{\"baseMs\":0}}", "/retry/baseMs",
		"from 1 to"},
	    {"{" OK_ROW ",\"retry\":{\"baseMs\":9,\"maxMs\":5}}",
		"/retry/maxMs", "at least baseMs"},
	    {"{" OK_ROW ",\"timeout\":{\"connectMs\":9,\"totalMs\":5}}",
		"/timeout/connectMs", "totalMs"},
	    {"{" OK_ROW ",\"lockMs\":29999}", "/lockMs", "twice"},
	    {"{" OK_ROW ",\"spacing\":{\"ms\":5}}", "/spacing/key",
		"is required"},
	    {"{" OK_ROW ",\"preflight\":{\"url\":\"https://h\"}}",
		"/preflight/equals", "must be a number"},
	    {"{" OK_ROW ",\"preflight\":{\"url\":\"https://h\","
	     "\"equals\":{}}}",
		"/preflight/equals", "must be a number"},
	    {"{" OK_ROW ",\"concurrency\":0}", "/concurrency", "from 1"},
	    {"{" OK_ROW ",\"concurrencyFloor\":0}", "/concurrencyFloor",
		"from 1"},
	    {"{" OK_ROW ",\"breaker\":{\"holds\":\"none\"}}", "/breaker/holds",
		"all, first"},
	    {"{" OK_ROW ",\"order\":\"both\"}", "/order", "one of none, key"},
	    {"{" OK_ROW ",\"frame\":[1]}", "/frame", "must be a string"},
	    {"{" OK_ROW ",\"gathers\":\"all\"}", "/gathers",
		"one of mode, child"},
	    {"{" OK_ROW ",\"settings\":\"mine\"}", "/settings",
		"one of none, dispatcher, callback"},
	    {"{" OK_ROW ",\"managed\":{\"keyName\":\"a b\"}}",
		"/managed/keyName", "must be a name"},
	    {"{" OK_ROW ",\"truncatePointer\":\"x\"}", "/truncatePointer",
		"JSON pointer"},
	    {"[]", "", "must be an object"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct preset *p = NULL;
		struct err e = {.code = OK};
		int rc = preset_parse(
		    STR("mine"), str_of(rows[i].json), *state, &p, &e);

		if (rc != ERR_INVALID || strcmp(e.at, rows[i].at) != 0 ||
		    !strstr(e.text, rows[i].why))
			fail_msg(
			    "%s: %d %s %s", rows[i].json, rc, e.at, e.text);
		assert_null(p);
	}
}

static void
test_names_refused(void **state)
{
	static const char *const rows[] = {"", "A", "1a", "a b", "-a",
	    "a123456789012345678901234567890123456789012345678901234567890123"};
	struct err e;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct preset *p;

		assert_int_equal(preset_parse(str_of(rows[i]),
				     STR("{" OK_ROW "}"), *state, &p, &e),
		    ERR_INVALID);
	}
}

/* A user's own stands beside the built-in ones and can be replaced. */
static void
test_own(void **state)
{
	struct presets *ps = presets_load(*state);
	const struct preset *p, *kept;
	struct err e;

	assert_int_equal(
	    preset_parse(STR("mine"), STR("{" OK_ROW ",\"concurrency\":3}"),
		*state, &p, &e),
	    OK);
	assert_int_equal(presets_put(ps, p, &e), OK);
	kept = preset_ref(presets_find(ps, STR("mine")));
	assert_int_equal(
	    preset_parse(STR("mine"), STR("{" OK_ROW ",\"concurrency\":4}"),
		*state, &p, &e),
	    OK);
	assert_int_equal(presets_put(ps, p, &e), OK);
	assert_int_equal(kept->concurrency, 3);
	assert_int_equal(presets_find(ps, STR("mine"))->concurrency, 4);
	assert_str(kept->json, "{" OK_ROW ",\"concurrency\":3}");
	preset_unref(kept);
	assert_int_equal(
	    preset_parse(STR("hub"), STR("{" OK_ROW "}"), *state, &p, &e), OK);
	assert_int_equal(presets_put(ps, p, &e), ERR_CONFLICT);
	preset_unref(p);
	presets_free(ps);
}

/* A built-in's text, given as one's own, is the same preset. */
static void
test_same_parser(void **state)
{
	struct presets *ps = presets_load(*state);
	size_t at = 0;
	const struct preset *p, *mine;
	struct err e;

	while ((p = presets_each(ps, &at))) {
		assert_int_equal(
		    preset_parse(STR("mine"), p->json, *state, &mine, &e), OK);
		assert_int_equal(mine->n_headers, p->n_headers);
		assert_int_equal(mine->n_verdicts, p->n_verdicts);
		assert_int_equal(mine->n_signatures, p->n_signatures);
		assert_int_equal(mine->total_ms, p->total_ms);
		assert_memory_equal(&mine->retry, &p->retry, sizeof(p->retry));
		preset_unref(mine);
	}
	presets_free(ps);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_at_a_glance),
	    cmocka_unit_test(test_settings_give_numbers),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_names_refused),
	    cmocka_unit_test(test_own),
	    cmocka_unit_test(test_same_parser),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
