#include "account/failures.h"

#include "account/limits.h"
#include "audit/audit.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/test.h"
#include "event/append.h"
#include "store/fixture_test.h"

#define WHOLE_DAY (24 * 3600 * US_PER_S)

struct world {
	struct fixture t;
	struct append *append;
	struct failures *f;
};

static void
begin(struct world *w, int64_t window_us)
{
	struct append_opts o = {0};
	struct err e;

	fixture_open(&w->t, STORE_SQLITE, NULL);
	o.store = w->t.store;
	assert_int_equal(append_start(&o, &w->append, &e), OK);
	w->f = failures_new(w->append, window_us);
	assert_non_null(w->f);
}

/* What is in the audit: rows, and the sum of their counts. */
struct found {
	struct arena *arena;
	size_t rows;
	int64_t sum, others;
	bool named;
};

static int
count_row(void *ctx, struct str row, struct err *e)
{
	struct found *n = ctx;
	const struct json *j, *way;
	struct json *doc;
	int64_t count = 0;

	(void)e;
	assert_int_equal(json_parse(n->arena, row, &doc, e), OK);
	j = json_get(doc, "details");
	j = j ? j : doc;
	assert_true(json_int(json_get(j, "count"), &count));
	way = json_get(j, "way");
	assert_true(json_is(way, JSON_STRING));
	if (str_eq(way->text, STR("others")))
		n->others += count;
	n->rows++;
	n->sum += count;
	n->named =
	    n->named || memmem(row.p, row.n, "user:anna", strlen("user:anna"));
	return OK;
}

/* Ends the commit thread, which has then written what it got. */
static struct found
finish(struct world *w)
{
	static const enum audit_category CATEGORY = AUDIT_LOGIN_FAILED;
	struct audit_query q = {.one = &CATEGORY, .limit = 1000};
	struct found n = {.arena = arena_new(MIB)};
	struct audit_at next;
	struct db *db = NULL;
	struct err e;

	append_stop(w->append);
	assert_int_equal(db_open(w->t.store, DB_READ, &db, &e), OK);
	if (audit_list(db, &q, count_row, &n, &next, &e) < 0)
		fail_msg("%s", e.text);
	db_close(db);
	failures_free(w->f);
	fixture_close(&w->t);
	arena_free(n.arena);
	return n;
}

static void
fail_from(struct world *w, const char *way, const char *whom, const char *peer)
{
	struct failure x = {
	    .way = way, .whom = str_of(whom), .peer = peer, .trace_id = "t"};

	failures_add(w->f, &x);
}

/* The same way, person and network are one row; each is counted. */
static void
test_summed_up(void **)
{
	int64_t before = metric_value(M_LOGIN_FAILED);
	struct world w = {0};
	struct found n;

	begin(&w, WHOLE_DAY);
	for (int i = 0; i < 5; i++)
		fail_from(&w, "password", "user:anna", "192.0.2.1");
	fail_from(&w, "password", "", "192.0.2.1");
	fail_from(&w, "password", "", "192.0.2.2");
	fail_from(&w, "key", "", "192.0.2.2");
	fail_from(&w, "key", "", "2001:db8::1");
	fail_from(&w, "key", "", "2001:db8::2"); /* the same /64 */
	failures_look(w.f, false);
	failures_look(w.f, true);
	n = finish(&w);
	assert_int_equal(n.rows, 5);
	assert_int_equal(n.sum, 10);
	assert_int_equal(n.others, 0);
	assert_true(n.named);
	assert_int_equal(metric_value(M_LOGIN_FAILED) - before, 10);
}

/* More than there is room for: few rows, and none is lost. */
static void
test_siege(void **)
{
	struct world w = {0};
	struct found n;
	char peer[32];

	begin(&w, WHOLE_DAY);
	for (int i = 0; i < LOGIN_NOTES_MAX + 1000; i++) {
		(void)snprintf(
		    peer, sizeof(peer), "10.0.%d.%d", i / 256 % 256, i % 256);
		fail_from(&w, "key", "", peer);
	}
	failures_look(w.f, true);
	n = finish(&w);
	assert_int_equal(n.rows, LOGIN_ROWS_MAX);
	assert_int_equal(n.sum, LOGIN_NOTES_MAX + 1000);
	assert_int_equal(
	    n.others, LOGIN_NOTES_MAX + 1000 - (LOGIN_ROWS_MAX - 1));
}

/* Nothing is written before its time is over, and nothing twice. */
static void
test_window(void **)
{
	struct world w = {0};
	struct found n;

	begin(&w, 1);
	failures_look(w.f, true);
	fail_from(&w, "key", "", "192.0.2.1");
	failures_look(w.f, false); /* the window begins */
	while (clock_mono_us() % 1000 != 0)
		;
	failures_look(w.f, false);
	failures_look(w.f, true);
	n = finish(&w);
	assert_int_equal(n.rows, 1);
	assert_int_equal(n.sum, 1);
}

static void
test_without(void **)
{
	int64_t before = metric_value(M_LOGIN_FAILED);
	struct world w = {.f = NULL};

	fail_from(&w, "key", "", "192.0.2.1");
	assert_int_equal(metric_value(M_LOGIN_FAILED), before + 1);
	failures_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_summed_up),
	    cmocka_unit_test(test_siege),
	    cmocka_unit_test(test_window),
	    cmocka_unit_test(test_without),
	};

	log_setup(LOG_ERROR, LOG_TEXT, 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
