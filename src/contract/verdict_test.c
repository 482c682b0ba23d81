#include "contract/verdict.h"

#include "base/conf/conf.h"
#include "base/test.h"
#include "contract/limits.h"
#include "contract/preset.h"

#define FORM                                                                   \
	"{\"status\":400,\"code\":\"c\",\"message\":\"m\",\"domain\":\"d\",\"trace\":\"t\"}"

struct world {
	struct conf conf;
	struct presets *presets;
	struct arena *arena;
};

static int
setup(void **state)
{
	static struct world w;
	struct err e;

	assert_int_equal(conf_init(&w.conf, &e), OK);
	w.presets = presets_load(&w.conf);
	w.arena = arena_new(4 * MIB);
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

static struct judgement
judge(struct world *w, const char *preset, const struct outcome *o)
{
	const struct preset *p = presets_find(w->presets, str_of(preset));

	return verdict_of(w->arena, p->verdicts, p->n_verdicts, o);
}

/* What each status means, as runs: everything from here to the next row. */
static void
check_statuses(struct world *w, const char *preset, const char *body,
    const int *from, const enum verdict *want)
{
	size_t row = 0;

	for (int status = 100; status < 600; status++) {
		struct outcome o = {.status = status, .body = str_of(body)};
		struct judgement j;

		while (from[row + 1] && status >= from[row + 1])
			row++;
		j = judge(w, preset, &o);
		if (j.verdict != want[row])
			fail_msg("%s %d: %d", preset, status, (int)j.verdict);
		assert_int_equal(j.reason, want[row] == VERDICT_OK ? REASON_NONE
					   : want[row] == VERDICT_GONE
					       ? REASON_GONE
					       : REASON_HTTP_STATUS);
	}
}

/* Seed 000, 2.6.3, and 410. */
static void
test_2xx_presets(void **state)
{
	static const char *const presets[] = {
	    "standard", "repository", "cloudevents", "cloudevents-binary"};
	static const int from[] = {
	    100, 200, 300, 408, 409, 410, 411, 429, 430, 500, 0};
	static const enum verdict want[] = {VERDICT_DEAD, VERDICT_OK,
	    VERDICT_DEAD, VERDICT_RETRY, VERDICT_DEAD, VERDICT_GONE,
	    VERDICT_DEAD, VERDICT_RETRY, VERDICT_DEAD, VERDICT_RETRY};

	for (size_t i = 0; i < COUNT_OF(presets); i++)
		check_statuses(*state, presets[i], "", from, want);
}

/* Seed 004: every other answer is tried again. */
static void
test_task(void **state)
{
	static const int from[] = {100, 200, 300, 0};
	static const enum verdict want[] = {
	    VERDICT_RETRY, VERDICT_OK, VERDICT_RETRY};

	check_statuses(*state, "task", "", from, want);
	check_statuses(*state, "task", FORM, from, want);
}

/* W9: 500. W10: 409. W11: what is not the standard form. Success: 200. */
static void
test_W9_W10_W11_hub(void **state)
{
	static const int plain[] = {100, 200, 201, 0};
	static const enum verdict plain_want[] = {
	    VERDICT_RETRY, VERDICT_OK, VERDICT_RETRY};
	static const int form[] = {100, 200, 201, 409, 410, 500, 501, 0};
	static const enum verdict form_want[] = {VERDICT_DEAD, VERDICT_OK,
	    VERDICT_DEAD, VERDICT_RETRY, VERDICT_DEAD, VERDICT_RETRY,
	    VERDICT_DEAD};

	check_statuses(*state, "hub", "<html>", plain, plain_want);
	check_statuses(*state, "hub", "", plain, plain_want);
	check_statuses(*state, "hub", FORM, form, form_want);
}

static void
test_W11_standard_form(void **state)
{
	static const struct {
		const char *body;
		bool is;
	} rows[] = {
	    {FORM, true},
	    {" " FORM "\n", true},
	    {"{\"extra\":[1],\"status\":-1.5,\"code\":\"\",\"message\":\"\","
	     "\"domain\":\"\",\"trace\":\"\"}",
		true},
	    {"{\"status\":\"400\",\"code\":\"c\",\"message\":\"m\","
	     "\"domain\":\"d\",\"trace\":\"t\"}",
		false},
	    {"{\"status\":400,\"code\":1,\"message\":\"m\",\"domain\":\"d\","
	     "\"trace\":\"t\"}",
		false},
	    {"{\"status\":400,\"code\":\"c\",\"message\":null,"
	     "\"domain\":\"d\",\"trace\":\"t\"}",
		false},
	    {"{\"status\":400,\"code\":\"c\",\"message\":\"m\","
	     "\"domain\":\"d\"}",
		false},
	    {"{\"Status\":400,\"code\":\"c\",\"message\":\"m\","
	     "\"domain\":\"d\",\"trace\":\"t\"}",
		false},
	    {"[" FORM "]", false},
	    {FORM "x", false},
	    {"null", false},
	    {"", false},
	};
	struct world *w = *state;
	static char big[VERDICT_BODY_MAX + 2];

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
		    verdict_standard_error(w->arena, str_of(rows[i].body)),
		    rows[i].is);
	/* At most 64 KiB. */
	memset(big, ' ', sizeof(big));
	memcpy(big, FORM, sizeof(FORM) - 1);
	assert_true(verdict_standard_error(
	    w->arena, (struct str){big, VERDICT_BODY_MAX}));
	assert_false(verdict_standard_error(
	    w->arena, (struct str){big, VERDICT_BODY_MAX + 1}));
	/* What was cut off is not it, whatever it began with. */
	assert_int_equal(judge(w, "hub",
			     &(struct outcome){
				 .status = 404, .body = STR(FORM), .cut = true})
			     .verdict,
	    VERDICT_RETRY);
}

static void
test_network(void **state)
{
	static const struct {
		enum outcome_net net;
		enum reason reason;
		enum verdict standard, repository, task, hub;
	} rows[] = {
	    {NET_TIMEOUT, REASON_TIMEOUT, VERDICT_RETRY, VERDICT_RETRY,
		VERDICT_RETRY, VERDICT_RETRY},
	    {NET_NETWORK, REASON_NETWORK, VERDICT_RETRY, VERDICT_RETRY,
		VERDICT_RETRY, VERDICT_RETRY},
	    {NET_DNS, REASON_DNS, VERDICT_RETRY, VERDICT_RETRY, VERDICT_RETRY,
		VERDICT_RETRY},
	    {NET_TLS, REASON_TLS, VERDICT_RETRY, VERDICT_RETRY, VERDICT_RETRY,
		VERDICT_RETRY},
	    {NET_REFUSED, REASON_REFUSED, VERDICT_DEAD, VERDICT_DEAD,
		VERDICT_DEAD, VERDICT_DEAD},
	    {NET_TOO_LARGE, REASON_TOO_LARGE, VERDICT_DEAD, VERDICT_DEAD,
		VERDICT_RETRY, VERDICT_RETRY},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct outcome o = {.net = rows[i].net};
		struct judgement j = judge(*state, "standard", &o);

		assert_int_equal(j.verdict, rows[i].standard);
		assert_int_equal(j.reason, rows[i].reason);
		assert_int_equal(judge(*state, "repository", &o).verdict,
		    rows[i].repository);
		assert_int_equal(
		    judge(*state, "task", &o).verdict, rows[i].task);
		assert_int_equal(judge(*state, "hub", &o).verdict, rows[i].hub);
	}
}

/* Names are the API's and numbers the store's: they never change. */
static void
test_names(void **)
{
	static const struct {
		enum reason reason;
		int number;
		const char *name;
	} rows[] = {
	    {REASON_NONE, 0, "NONE"},
	    {REASON_HTTP_STATUS, 1, "HTTP_STATUS"},
	    {REASON_TIMEOUT, 2, "TIMEOUT"},
	    {REASON_NETWORK, 3, "NETWORK"},
	    {REASON_DNS, 4, "DNS"},
	    {REASON_TLS, 5, "TLS"},
	    {REASON_REFUSED, 6, "REFUSED"},
	    {REASON_TOO_LARGE, 7, "TOO_LARGE"},
	    {REASON_PREFLIGHT, 8, "PREFLIGHT"},
	    {REASON_EXHAUSTED, 9, "EXHAUSTED"},
	    {REASON_DEADLINE, 10, "DEADLINE"},
	    {REASON_GONE, 11, "GONE"},
	    {REASON_FILTER, 12, "FILTER"},
	    {REASON_RENDER, 13, "RENDER"},
	    {REASON_WORKER_CRASH, 14, "WORKER_CRASH"},
	    {REASON_EXPIRED, 15, "EXPIRED"},
	    {REASON_SCHEMA, 16, "SCHEMA"},
	    {REASON_AUTH, 17, "AUTH"},
	    {REASON_SKIPPED, 18, "SKIPPED"},
	    {REASON_SEALED, 19, "SEALED"},
	    {REASON_FILTER_FAILED, 24, "FILTER_FAILED"},
	    {REASON_FILTER_OVERRAN, 25, "FILTER_OVERRAN"},
	    {REASON_TEMPLATE_FAILED, 26, "TEMPLATE_FAILED"},
	    {REASON_TEMPLATE_OVERRAN, 27, "TEMPLATE_OVERRAN"},
	    {REASON_FILTERED, 28, "FILTERED"},
	};
	enum reason r;
	enum outcome_net n;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(rows[i].reason, rows[i].number);
		assert_string_equal(reason_name(rows[i].reason), rows[i].name);
		assert_true(reason_find(str_of(rows[i].name), &r));
		assert_int_equal(r, rows[i].reason);
		assert_true(strlen(reason_text(r)) > 3);
		assert_int_equal(
		    reason_unjudged((int)r), rows[i].number / 2 == 12);
	}
	assert_false(reason_find(STR("timeout"), &r));
	assert_string_equal(reason_name((enum reason)99), "UNKNOWN");
	assert_true(outcome_net_find(STR("tooLarge"), &n));
	assert_int_equal(n, NET_TOO_LARGE);
	assert_false(outcome_net_find(STR("TIMEOUT"), &n));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_2xx_presets),
	    cmocka_unit_test(test_task),
	    cmocka_unit_test(test_W9_W10_W11_hub),
	    cmocka_unit_test(test_W11_standard_form),
	    cmocka_unit_test(test_network),
	    cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
