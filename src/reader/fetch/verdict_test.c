#include "reader/fetch/verdict.h"

#include "base/test.h"

#define NOW INT64_C(1800000000000000)
#define MIN (60 * US_PER_S)

/* outcome, status, retry-after s, max-age s; errors, parse errors, interval,
 * → stopped, errors, parse errors, minutes. */
static const struct row {
	enum fetch_outcome outcome;
	int status, retry_s, age_s;
	int errors, parse, interval;
	bool stop;
	int errors_after, parse_after, minutes;
	const char *says;
} ROWS[] = {
    /* 8: the interval of whoever subscribes, within 30 min and 12 h */
    {FETCH_UPDATED, 200, -1, -1, 0, 0, 60, false, 0, 0, 60, "every 60"},
    {FETCH_SAME, 200, -1, -1, 3, 2, 30, false, 0, 0, 30, "every 30"},
    {FETCH_NOT_MODIFIED, 304, -1, -1, 9, 9, 720, false, 0, 0, 720, ""},
    {FETCH_UPDATED, 200, -1, -1, 0, 0, 1, false, 0, 0, 30, ""},
    {FETCH_UPDATED, 200, -1, -1, 0, 0, 9999, false, 0, 0, 720, ""},
    /* max-age makes it later, never earlier, never past 12 h */
    {FETCH_UPDATED, 200, -1, 7200, 0, 0, 60, false, 0, 0, 120, "max-age"},
    {FETCH_UPDATED, 200, -1, 60, 0, 0, 60, false, 0, 0, 60, "every"},
    {FETCH_NOT_MODIFIED, 304, -1, 999999, 0, 0, 60, false, 0, 0, 720, ""},
    {FETCH_UPDATED, 200, -1, 3601, 0, 0, 60, false, 0, 0, 61, "max-age"},
    /* 9.1, 9.2: stopped at once */
    {FETCH_HTTP_ERROR, 404, -1, -1, 0, 0, 60, true, 1, 0, 0, "404"},
    {FETCH_HTTP_ERROR, 410, -1, -1, 0, 0, 60, true, 1, 0, 0, "410"},
    {FETCH_HTTP_ERROR, 401, -1, -1, 4, 0, 60, true, 5, 0, 0, "401"},
    {FETCH_HTTP_ERROR, 403, 60, -1, 0, 0, 60, true, 1, 0, 0, "403"},
    /* 9.3: the tenth body in a row that is no feed */
    {FETCH_UNREADABLE, 200, -1, -1, 0, 0, 60, false, 1, 1, 30, "1 times"},
    {FETCH_UNREADABLE, 200, -1, -1, 8, 8, 60, false, 9, 9, 720, ""},
    {FETCH_UNREADABLE, 200, -1, -1, 9, 9, 60, true, 10, 10, 0, "10 times"},
    /* something else in between breaks the row */
    {FETCH_TIMEOUT, 0, -1, -1, 9, 9, 60, false, 10, 0, 720, ""},
    /* 9.4: 30 min, doubled, to 12 h */
    {FETCH_HTTP_ERROR, 500, -1, -1, 0, 0, 60, false, 1, 0, 30, ""},
    {FETCH_HTTP_ERROR, 503, -1, -1, 1, 0, 60, false, 2, 0, 60, ""},
    {FETCH_HTTP_ERROR, 502, -1, -1, 2, 0, 60, false, 3, 0, 120, ""},
    {FETCH_HTTP_ERROR, 504, -1, -1, 3, 0, 60, false, 4, 0, 240, ""},
    {FETCH_HTTP_ERROR, 429, -1, -1, 4, 0, 60, false, 5, 0, 480, ""},
    {FETCH_HTTP_ERROR, 500, -1, -1, 5, 0, 60, false, 6, 0, 720, ""},
    {FETCH_HTTP_ERROR, 500, -1, -1, 6, 0, 60, false, 7, 0, 720, ""},
    {FETCH_HTTP_ERROR, 500, -1, -1, 4000, 0, 60, false, 4001, 0, 720, ""},
    {FETCH_HTTP_ERROR, 418, -1, -1, 0, 0, 60, false, 1, 0, 30, ""},
    {FETCH_UNREACHABLE, 0, -1, -1, 0, 0, 60, false, 1, 0, 30, ""},
    {FETCH_TOO_LARGE, 200, -1, -1, 0, 0, 60, false, 1, 0, 30, ""},
    {FETCH_REDIRECTS, 302, -1, -1, 1, 0, 60, false, 2, 0, 60, ""},
    {FETCH_REFUSED, 0, -1, -1, 0, 0, 60, false, 1, 0, 30, ""},
    {FETCH_CRASHED, 0, -1, -1, 0, 0, 60, false, 1, 0, 30, "failed 1 times"},
    {FETCH_CRASHED, 0, -1, -1, 20, 3, 60, false, 21, 0, 720, ""},
    /* Retry-After within 30 min and 12 h, and not below the back-off */
    {FETCH_HTTP_ERROR, 429, 7200, -1, 0, 0, 60, false, 1, 0, 120,
	"Retry-After"},
    {FETCH_HTTP_ERROR, 503, 10, -1, 0, 0, 60, false, 1, 0, 30, "failed"},
    {FETCH_HTTP_ERROR, 503, 86400, -1, 0, 0, 60, false, 1, 0, 720, ""},
    {FETCH_HTTP_ERROR, 503, 3600, -1, 4, 0, 60, false, 5, 0, 480, "failed"},
};

/* A hub that sends us news: seldom, whoever wishes what; errors as ever. */
static void
test_hub(void **)
{
	struct fetch_seen s = {.outcome = FETCH_SAME,
	    .status = 200,
	    .retry_after_ms = -1,
	    .max_age_s = -1,
	    .error = STR("something")};
	struct fetch_before b = {.interval_min = 30, .hub = true};
	struct fetch_verdict v;

	verdict_fetch(&s, &b, NOW, 1, 0, &v);
	assert_int_equal(v.next_us - NOW, 720 * MIN);
	assert_non_null(strstr(v.why, "hub"));
	s.outcome = FETCH_TIMEOUT;
	verdict_fetch(&s, &b, NOW, 1, 0, &v);
	assert_int_equal(v.next_us - NOW, 30 * MIN);
}

static void
test_table(void **)
{
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		const struct row *r = &ROWS[i];
		struct fetch_seen s = {.outcome = r->outcome,
		    .status = r->status,
		    .retry_after_ms = r->retry_s < 0 ? -1 : r->retry_s * 1000,
		    .max_age_s = r->age_s,
		    .error = STR("something")};
		struct fetch_before b = {.errors = r->errors,
		    .parse_errors = r->parse,
		    .interval_min = r->interval};
		struct fetch_verdict v;

		verdict_fetch(&s, &b, NOW, 1, 0, &v);
		if (v.stop != r->stop || v.errors != r->errors_after ||
		    v.parse_errors != r->parse_after ||
		    (!r->stop && v.next_us != NOW + r->minutes * MIN) ||
		    !strstr(v.why, r->says))
			fail_msg("row %zu: stop %d errors %lld parse %lld "
				 "minutes %lld why %s",
			    i, v.stop, (long long)v.errors,
			    (long long)v.parse_errors,
			    (long long)((v.next_us - NOW) / MIN), v.why);
		assert_int_equal(v.good, v.message[0] == '\0');
	}
}

static void
test_jitter_and_scale(void **)
{
	struct fetch_seen s = {.outcome = FETCH_UPDATED,
	    .status = 200,
	    .retry_after_ms = -1,
	    .max_age_s = -1};
	struct fetch_before b = {.interval_min = 60};
	struct fetch_verdict v;

	verdict_fetch(&s, &b, NOW, 1, 32768, &v);
	assert_int_equal(v.next_us, NOW + 60 * MIN + 90 * US_PER_S);
	verdict_fetch(&s, &b, NOW, 1, 65535, &v);
	assert_true(v.next_us < NOW + 63 * MIN);
	verdict_fetch(&s, &b, NOW, 3600, 0, &v);
	assert_int_equal(v.next_us, NOW + US_PER_S);
}

static void
test_max_age(void **)
{
	static const struct {
		const char *text;
		int64_t age;
	} AGES[] = {
	    {"", -1},
	    {"max-age=300", 300},
	    {"public, Max-Age = 300 , must-revalidate", 300},
	    {"max-age=\"60\"", 60},
	    {"no-cache", 0},
	    {"max-age=900, no-store", 0},
	    {"s-maxage=900", -1},
	    {"max-age=-5", -1},
	    {"max-age=99999999999999999999999", -1},
	    {"max-age", -1},
	    {",,=,", -1},
	};

	for (size_t i = 0; i < COUNT_OF(AGES); i++)
		assert_int_equal(
		    verdict_max_age(str_of(AGES[i].text)), AGES[i].age);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table),
	    cmocka_unit_test(test_hub),
	    cmocka_unit_test(test_jitter_and_scale),
	    cmocka_unit_test(test_max_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
