/* A copy of a built-in preset under another name is the same preset. */
#include "base/test.h"
#include "contract/contract_test.h"

#define OTP_PART "\"otp\":{\"secret\":\"hush2\"}"
#define HUB_PART                                                               \
	",\"hub\":{\"tenant\":\"tenant1\",\"domain\":\"hub.example\","         \
	"\"sharedInternalKey\":\"hush1\",\"eventApiKey\":\"hush3\","           \
	"\"organizationId\":{\"pointer\":\"/payload/org\"},"                   \
	"\"servicePartition\":\"part\",\"sender\":\"pca-id\"," OTP_PART "}"

/* What a settings file may say, so that no number is the default one. */
static const char OTHER[] = "webhook.retry.default.count = 5\n"
			    "webhook.retry.max.count = 7\n"
			    "webhook.retry.backoff.base.ms = 500\n"
			    "webhook.retry.backoff.max.ms = 60000\n"
			    "webhook.http.connect.timeout = 3\n"
			    "webhook.http.read.timeout = 4\n"
			    "webhook.dispatcher.pool.size = 25\n"
			    "webhook.ordering.per.object = true\n"
			    "webhook.timeout.ms = 9000\n"
			    "webhook.max.retries = 5\n"
			    "webhook.max.payload.size = 1KiB\n";

/* The same presets, and a copy of each: "x" and its name. */
static void
put_copies(struct world *w)
{
	const struct preset *all[16], *p;
	size_t at = 0, n = 0;
	struct err e;

	while ((p = presets_each(w->presets, &at)))
		all[n++] = p;
	for (size_t i = 0; i < n; i++) {
		struct str name =
		    arena_fmt(w->arena, "x%.*s", STR_ARG(all[i]->name));

		assert_int_equal(
		    preset_parse(name, all[i]->json, &w->conf, &p, &e), OK);
		assert_int_equal(presets_put(w->presets, p, &e), OK);
	}
}

static int
setup_copies(void **state)
{
	int rc = setup(state);
	struct world *w = *state;
	struct err e;

	presets_free(w->presets);
	assert_int_equal(conf_read(&w->conf, "f", STR(OTHER), &e), OK);
	w->presets = presets_load(&w->conf);
	w->rules.presets = w->presets;
	put_copies(w);
	return rc;
}

static struct sub_conf *
sub_of(struct world *w, struct str preset, const char *prefix)
{
	bool hubs = str_eq(preset, STR("hub"));

	return sub(w, arena_fmt(w->arena, "{%s,\"preset\":\"%s%.*s\"%s%s}",
			  BASE, prefix, STR_ARG(preset), hubs ? HUB_PART : "",
			  !hubs ? ",\"secret\":\"" SECRET "\"" : "")
			  .p);
}

/* Whichever way it fails, it fails alike. */
static void
same_request(struct world *w, const struct sub_conf *a,
    const struct sub_conf *b, const char *what)
{
	struct request x, y;
	enum reason rx = REASON_NONE, ry = REASON_NONE;
	struct err e;
	int ax = request_make(w->arena, a, &w->ev, &w->at, &x, &rx, &e);
	int ay = request_make(w->arena, b, &w->ev, &w->at, &y, &ry, &e);

	if (ax != ay || rx != ry)
		fail_msg("%s: %d %d, %d %d", what, ax, ay, rx, ry);
	if (ax != OK)
		return;
	assert_string_equal(head(w, &x), head(w, &y));
	assert_string_equal(
	    arena_z(w->arena, x.body), arena_z(w->arena, y.body));
	assert_string_equal(
	    arena_z(w->arena, x.log_call), arena_z(w->arena, y.log_call));
	assert_int_equal(x.truncated, y.truncated);
}

static void
same_keys(struct world *w, const struct sub_conf *a, const struct sub_conf *b)
{
	struct str x, y;
	struct err e;
	int ax =
	    request_key(w->arena, a, &w->ev, &a->preset->order_key, &x, &e);
	int ay =
	    request_key(w->arena, b, &w->ev, &b->preset->order_key, &y, &e);

	assert_int_equal(ax, ay);
	if (ax == OK)
		assert_true(str_eq(x, y));
	ax = request_key(w->arena, a, &w->ev, &a->preset->spacing_key, &x, &e);
	ay = request_key(w->arena, b, &w->ev, &b->preset->spacing_key, &y, &e);
	assert_int_equal(ax, ay);
	if (ax == OK)
		assert_true(str_eq(x, y));
}

static void
same_verdicts(struct world *w, const struct preset *a, const struct preset *b)
{
	static const char *const bodies[] = {
	    "", "{}", "{\"error\":{\"code\":\"x\",\"message\":\"y\"}}"};

	for (int status = 100; status < 600; status++)
		for (size_t i = 0; i < COUNT_OF(bodies); i++) {
			struct outcome o = {.net = NET_ANSWER,
			    .status = status,
			    .body = str_of(bodies[i])};
			struct judgement x = verdict_of(
			    w->arena, a->verdicts, a->n_verdicts, &o);
			struct judgement y = verdict_of(
			    w->arena, b->verdicts, b->n_verdicts, &o);

			assert_int_equal(x.verdict, y.verdict);
			assert_int_equal(x.reason, y.reason);
		}
	for (enum outcome_net n = NET_TIMEOUT; n <= NET_TOO_LARGE; n++) {
		struct outcome o = {.net = n, .body = STR_EMPTY};

		assert_int_equal(
		    verdict_of(w->arena, a->verdicts, a->n_verdicts, &o)
			.verdict,
		    verdict_of(w->arena, b->verdicts, b->n_verdicts, &o)
			.verdict);
	}
}

static void
same_policy(const struct sub_conf *a, const struct sub_conf *b)
{
	struct sub_policy x, y;

	/* Padding too. */
	memset(&x, 0, sizeof(x));
	memset(&y, 0, sizeof(y));
	sub_policy(a, 10, &x);
	sub_policy(b, 10, &y);
	assert_memory_equal(&x.retry, &y.retry, sizeof(x.retry));
	assert_int_equal(x.connect_ms, y.connect_ms);
	assert_int_equal(x.total_ms, y.total_ms);
	assert_int_equal(x.concurrency, y.concurrency);
	assert_int_equal(x.rate_per_second, y.rate_per_second);
	assert_int_equal(x.ordered, y.ordered);
	assert_int_equal(x.breaker_failures, y.breaker_failures);
	assert_int_equal(x.breaker_first, y.breaker_first);
	assert_int_equal(x.concurrency_floor, y.concurrency_floor);
	assert_int_equal(x.breaker_open_ms, y.breaker_open_ms);
	assert_int_equal(x.spacing_ms, y.spacing_ms);
	assert_int_equal(x.lock_ms, y.lock_ms);
}

static void
same_members(const struct preset *a, const struct preset *b)
{
	assert_int_equal(a->secret, b->secret);
	assert_int_equal(a->uses_hub, b->uses_hub);
	assert_int_equal(a->retries_max, b->retries_max);
	assert_int_equal(a->body_max, b->body_max);
	assert_int_equal(a->gathers, b->gathers);
	assert_int_equal(a->keyed_by_event, b->keyed_by_event);
	assert_int_equal(a->managed.directed, b->managed.directed);
	assert_int_equal(a->keep_answers, b->keep_answers);
	assert_true(str_eq(a->managed.key_name, b->managed.key_name));
}

static void
test_copies(void **state)
{
	struct world *w = *state;
	const struct preset *p;
	size_t at = 0, n = 0;
	const struct {
		const char *type, *body;
	} events[] = {
	    {"cmis.updated", ENVELOPE},
	    {"cmis.child_created", ENVELOPE},
	    {"user.created", USER},
	    {"organization.created", USER},
	    /* What a frame has, and values to leave out. */
	    {"cmis.updated",
		arena_fmt(w->arena,
		    "{\"payload\":{\"event\":1,\"webhookConfig\":2,"
		    "\"truncated\":3,\"changes\":{\"a\":1,\"properties\":{"
		    "\"p\":{\"v\":%0900d},\"q\":2}},\"more\":true}}",
		    -1)
		    .p},
	};

	while ((p = presets_each(w->presets, &at))) {
		struct sub_conf *a, *b;

		if (!p->builtin)
			continue;
		a = sub_of(w, p->name, "");
		b = sub_of(w, p->name, "x");
		same_members(a->preset, b->preset);
		same_policy(a, b);
		same_verdicts(w, a->preset, b->preset);
		for (size_t i = 0; i < COUNT_OF(events); i++) {
			struct request_event was = w->ev;

			w->ev.type = str_of(events[i].type);
			w->ev.body = str_of(events[i].body);
			same_request(w, a, b, p->name.p);
			same_keys(w, a, b);
			w->ev = was;
		}
		sub_free(a);
		sub_free(b);
		n++;
	}
	assert_true(n >= 6);
}

/* Of a managed subscription the preset says more; of no other. */
static void
test_managed(void **state)
{
	static const struct sub_managed BY = {.by = {"somebody", 8},
	    .object_id = {"", 0},
	    .object_path = {"", 0},
	    .webhook_id = {"", 0}};
	struct world *w = *state;

	for (int i = 0; i < 2; i++) {
		struct sub_conf *s;

		w->rules.managed = i ? &BY : NULL;
		s = sub_of(w, STR("task"), "x");
		assert_int_equal(sub_managed_by(s).directed, i == 1);
		assert_true(s->preset->keep_answers);
		assert_true(str_eq(
		    sub_managed_by(s).key_name, i ? STR("taskId") : STR_EMPTY));
		sub_free(s);
	}
	w->rules.managed = NULL;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_copies),
	    cmocka_unit_test(test_managed),
	};

	return cmocka_run_group_tests(tests, setup_copies, teardown);
}
