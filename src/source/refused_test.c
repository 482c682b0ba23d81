#include "source/refused.h"

#include <semaphore.h>

#include "audit/audit.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/test.h"
#include "event/mask.h"
#include "source/limits.h"
#include "sql.h"
#include "store/fixture_test.h"

static struct arena *arena;

static struct refused
some(struct str copy)
{
	return (struct refused){
	    .source = STR("outbox"),
	    .ref = STR("17"),
	    .pointer = STR("/tenantId"),
	    .reason = STR("tenantId must be a uuid"),
	    .copy = copy,
	};
}

static struct refused
there_and_back(struct str copy, const struct mask *mask)
{
	struct refused x = some(copy), y = {0};
	struct entry en;
	struct err e = {0};

	if (refused_entry(arena, &x, mask, 1, &en, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(refused_is(&en));
	assert_str(en.key, "outbox");
	if (refused_open(arena, en.body, &y, &e) < 0)
		fail_msg("%s", e.text);
	assert_str(y.source, "outbox");
	assert_str(y.ref, "17");
	assert_str(y.pointer, "/tenantId");
	assert_str(y.reason, "tenantId must be a uuid");
	return y;
}

static void
test_copies(void **)
{
	static const struct {
		const char *p;
		size_t n;
	} ROWS[] = {
	    {"", 0},
	    {"{\"a\":\"\\u0001 \\\" é\"}", 20},
	    {"no json\n\tat all", 15},
	    {"\xff\xfe\x00\x01 bytes", 10},
	    {"nul \0 inside", 12},
	};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct str in = {ROWS[i].p, ROWS[i].n};
		struct refused y = there_and_back(in, NULL);

		assert_true(str_eq(y.copy, in));
		assert_false(y.truncated);
	}
}

static void
test_large(void **)
{
	size_t n = REFUSED_COPY_MAX + 5;
	char *p = malloc(n);
	struct refused y;

	assert_non_null(p);
	memset(p, '"', n);
	/* The cut falls into a character of three bytes. */
	memcpy(p + REFUSED_COPY_MAX - 2, "\xe2\x82\xac", 3);
	y = there_and_back((struct str){p, n}, NULL);
	assert_true(y.truncated);
	assert_int_equal(y.copy.n, REFUSED_COPY_MAX - 2);
	assert_memory_equal(y.copy.p, p, y.copy.n);
	free(p);
}

static void
test_masked(void **)
{
	struct mask *mask = NULL;
	struct err e;
	struct refused y;

	assert_int_equal(
	    mask_parse(arena, STR("A:/payload/card"), &mask, &e), OK);
	y = there_and_back(
	    STR("{\"eventType\":\"A\",\"payload\":{\"card\":4711}}"), mask);
	assert_str(
	    y.copy, "{\"eventType\":\"A\",\"payload\":{\"card\":\"***\"}}");
	y = there_and_back(STR("{\"card\":4711"), mask);
	assert_str(y.copy, "{\"card\":4711");
}

/* The same thing is the same entry; another is another. */
static void
test_identity(void **)
{
	struct refused x = some(STR("{}")), ref = x, copy = x, source = x;
	struct entry a, b, c, d, f;
	struct err e;

	ref.ref = STR("18");
	copy.copy = STR("{ }");
	source.source = STR("hook");
	assert_int_equal(refused_entry(arena, &x, NULL, 1, &a, &e), OK);
	assert_int_equal(refused_entry(arena, &x, NULL, 2, &b, &e), OK);
	assert_int_equal(refused_entry(arena, &ref, NULL, 1, &c, &e), OK);
	assert_int_equal(refused_entry(arena, &copy, NULL, 1, &d, &e), OK);
	assert_int_equal(refused_entry(arena, &source, NULL, 1, &f, &e), OK);
	assert_true(uuid_eq(a.event_id, b.event_id));
	assert_memory_equal(a.hash, b.hash, ENTRY_HASH_LEN);
	assert_false(uuid_eq(a.event_id, c.event_id));
	assert_false(uuid_eq(a.event_id, d.event_id));
	assert_false(uuid_eq(a.event_id, f.event_id));
}

/* On a store ------------------------------------------------------------------ */

struct waited {
	struct refused_post post;
	sem_t over;
};

static void
done(struct refused_post *x)
{
	assert_int_equal(sem_post(x->arg), 0);
}

static void
post(struct append *a, const struct refused *x)
{
	struct waited w = {.post = {.now_us = clock_now_us(), .done = done}};
	struct err e = {0};

	w.post.arg = &w.over;
	assert_int_equal(sem_init(&w.over, 0, 0), 0);
	assert_int_equal(
	    refused_entry(arena, x, NULL, w.post.now_us, &w.post.entry, &e),
	    OK);
	assert_int_equal(refused_post(a, &w.post, &e), OK);
	assert_int_equal(sem_wait(&w.over), 0);
	assert_int_equal(sem_destroy(&w.over), 0);
	if (w.post.job.err.code < 0)
		fail_msg("%s", w.post.job.err.text);
}

static int
count_row(void *ctx, struct str row, struct err *)
{
	assert_non_null(memmem(row.p, row.n, "must be a uuid", 14));
	++*(int *)ctx;
	return OK;
}

static void
check_counts(struct fixture *t, int want_dead, int want_audit)
{
	const enum audit_category one = AUDIT_SOURCE_REFUSED;
	struct audit_query q = {.one = &one, .limit = 100};
	struct audit_at next;
	struct rows *rows = NULL;
	struct err e = {0};
	struct db *db = NULL;
	int dead = 0, audit = 0;

	assert_int_equal(db_open(t->store, DB_READ, &db, &e), OK);
	assert_int_equal(
	    sql_dead_page(db, &rows, &e, .state = 0, .lo = 0, .at = INT64_MAX,
		.sub = 0, .seq = 0, .rep = 0, .most = 100),
	    OK);
	while (rows_next(rows, &e) > 0) {
		assert_int_equal(rows_int(rows, 0), 0);
		dead++;
	}
	rows_close(rows);
	assert_int_equal(audit_list(db, &q, count_row, &audit, &next, &e), OK);
	db_close(db);
	assert_int_equal(dead, want_dead);
	assert_int_equal(audit, want_audit);
}

struct deciding {
	struct append_job job;
	sem_t over;
};

static int
decide_fn(struct db *db, void *, struct err *e)
{
	for (int64_t seq = 1; seq < 10; seq++)
		if (sql_dead_decide(db, e, .sub = 0, .seq = seq, .rep = 0,
			.state = 2, .at = 1, .who = STR("anna"),
			.note = STR_EMPTY) < 0)
			return e->code;
	return OK;
}

static void
decided(struct append_job *job)
{
	assert_int_equal(sem_post(job->ctx), 0);
}

static void
check_store(struct fixture *t)
{
	struct append_opts o = {.store = t->store};
	struct refused x = some(STR("{\"odd\":1}")), y = x;
	int64_t before = metric_value(M_SOURCE_REFUSED);
	struct deciding d = {.job = {.fn = decide_fn, .done = decided}};
	struct append *a = NULL;
	struct err e = {0};

	y.ref = STR("18");
	assert_int_equal(append_start(&o, &a, &e), OK);
	post(a, &x);
	check_counts(t, 1, 1);
	post(a, &x); /* again, as after a crash */
	check_counts(t, 1, 1);
	post(a, &y);
	check_counts(t, 2, 2);
	assert_int_equal(metric_value(M_SOURCE_REFUSED) - before, 2);
	/* One that was decided on does not come back. */
	d.job.ctx = &d.over;
	assert_int_equal(sem_init(&d.over, 0, 0), 0);
	assert_int_equal(append_post(a, &d.job, &e), OK);
	assert_int_equal(sem_wait(&d.over), 0);
	assert_int_equal(sem_destroy(&d.over), 0);
	check_counts(t, 0, 2);
	post(a, &x);
	check_counts(t, 0, 2);
	append_stop(a);
}

static void
test_store(void **)
{
	struct fixture t;

	fixture_open(&t, STORE_SQLITE, NULL);
	check_store(&t);
	fixture_close(&t);
	if (!fixture_postgres())
		return;
	fixture_open(&t, STORE_POSTGRES, NULL);
	check_store(&t);
	fixture_close(&t);
}

static int
begin(void **)
{
	arena = arena_new(64 * MIB);
	return arena ? 0 : -1;
}

static int
end(void **)
{
	arena_free(arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_copies, begin, end),
	    cmocka_unit_test_setup_teardown(test_large, begin, end),
	    cmocka_unit_test_setup_teardown(test_masked, begin, end),
	    cmocka_unit_test_setup_teardown(test_identity, begin, end),
	    cmocka_unit_test_setup_teardown(test_store, begin, end),
	};

	log_setup(LOG_ERROR, LOG_TEXT, 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
