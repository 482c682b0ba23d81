/* task.h, notice.h, target.h, history.h: seed 004's words, on both engines. */
#include "task/task.h"

#include "base/test.h"
#include "deliver/engine/deliver.h"
#include "event/append.h"
#include "sql.h"
#include "store/fixture_test.h"
#include "task/config.h"
#include "task/history.h"
#include "task/limits.h"
#include "task/notice.h"
#include "task/target.h"

#define NOW  (INT64_C(1700000000) * US_PER_S + 123456)
#define TASK "0190b8a0-0000-7000-8000-00000000000a"

static struct arena *arena;

static int
setup(void **)
{
	arena = arena_new(16 * MIB);
	return arena ? 0 : -1;
}

static int
teardown(void **)
{
	arena_free(arena);
	return 0;
}

static struct task
task(enum task_status s)
{
	struct task t = {.status = s, .owner = 7, .changed_us = NOW};

	assert_true(uuid_parse(STR(TASK), &t.uid));
	return t;
}

/* 5.3: which status is how far, and which event it is. */
static void
test_statuses(void **)
{
	static const struct {
		enum task_status s;
		const char *name, *word, *event;
		int progress;
		bool ended;
	} rows[] = {
	    {TASK_QUEUED, "QUEUED", "queued", "invoice.queued", 0, false},
	    {TASK_PROCESSING, "PROCESSING", "processing", "invoice.processing",
		50, false},
	    {TASK_COMPLETED, "COMPLETED", "completed", "invoice.completed", 100,
		true},
	    {TASK_FAILED, "FAILED", "failed", "invoice.failed", 100, true},
	    {TASK_REVIEW_REQUIRED, "REVIEW_REQUIRED", "review_required",
		"invoice.review_required", 80, false},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct task_words *is = &TASK_WORDS[rows[i].s];

		assert_string_equal(is->name, rows[i].name);
		assert_string_equal(is->word, rows[i].word);
		assert_int_equal(is->progress, rows[i].progress);
		assert_int_equal(is->ended, rows[i].ended);
		if (rows[i].event)
			assert_string_equal(is->event, rows[i].event);
		else
			assert_null(is->event);
	}
}

/* 5.1: the bytes that JSON.stringify would make. */
static void
test_bodies(void **)
{
#define HEAD(word)                                                             \
	"{\"event\":\"invoice." word "\",\"taskId\":\"" TASK                   \
	"\",\"status\":\"" word                                                \
	"\",\"timestamp\":\"2023-11-14T22:13:20.123Z\""                        \
	",\"data\":{\"taskId\":\"" TASK "\",\"status\":\"" word                \
	"\",\"progress\":"
#define URL "\"resultUrl\":\"/api/v1/invoices/" TASK "/result\"}}}"
	struct task bare = task(TASK_PROCESSING), done = task(TASK_COMPLETED),
		    full = done, failed = task(TASK_FAILED), said = failed,
		    review = task(TASK_REVIEW_REQUIRED), why = review;
	const struct {
		const struct task *t;
		const char *want;
	} rows[] = {
	    {&bare, HEAD("processing") "50}}"},
	    {&done,
		HEAD("completed") "100,\"result\":{\"confidenceScore\":0," URL},
	    {&full,
		HEAD("completed") "100,\"result\":{\"confidenceScore\":0.920,"
				  "\"forwarderId\":\"f-1\",\"forwarderName\":"
				  "\"貨\\\"\"," URL},
	    {&failed,
		HEAD("failed") "100,\"error\":{\"code\":\"PROCESSING_FAILED\","
			       "\"message\":\"An error occurred during "
			       "processing\",\"retryable\":false}}}"},
	    {&said,
		HEAD("failed") "100,\"error\":{\"code\":\"OCR\",\"message\":"
			       "\"no\",\"retryable\":true}}}"},
	    {&review,
		HEAD("review_required") "80,\"reviewInfo\":{\"reason\":\"Low "
					"confidence score requires manual "
					"review\",\"escalatedAt\":\"2023-11-"
					"14T22:13:20.123Z\"}}}"},
	    {&why,
		HEAD("review_required") "80,\"reviewInfo\":{\"reason\":\"odd\","
					"\"escalatedAt\":\"2023-11-14T22:13:"
					"20.123Z\"}}}"},
	};

	full.confidence = STR("0.920");
	full.forwarder_id = STR("f-1");
	full.forwarder_name = STR("貨\"");
	said.error_code = STR("OCR");
	said.error_message = STR("no");
	said.error_retryable = true;
	why.reason = STR("odd");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buf b = BUF(4 * KIB);

		notice_body(rows[i].t, NOW, &b);
		assert_string_equal(arena_z(arena, buf_str(&b)), rows[i].want);
		buf_done(&b);
	}
#undef HEAD
#undef URL
}

static void
test_changes(void **)
{
	static const struct {
		const char *json;
		int rc;
		const char *at;
	} rows[] = {
	    {"{\"status\":\"PROCESSING\"}", OK, ""},
	    {"{\"status\":\"COMPLETED\",\"result\":{\"confidenceScore\":1}}",
		OK, ""},
	    {"{\"status\":\"FAILED\",\"errorRetryable\":null}", OK, ""},
	    {"{\"status\":\"PROCESSING\",\"errorCode\":null}", OK, ""},
	    {"{}", ERR_INVALID, "/status"},
	    {"{\"status\":\"DONE\"}", ERR_INVALID, "/status"},
	    {"{\"status\":\"FAILED\",\"result\":{}}", ERR_INVALID, "/result"},
	    {"{\"status\":\"COMPLETED\",\"escalationReason\":\"x\"}",
		ERR_INVALID, "/escalationReason"},
	    {"{\"status\":\"COMPLETED\",\"result\":[]}", ERR_INVALID,
		"/result"},
	    {"{\"status\":\"COMPLETED\",\"confidenceScore\":"
	     "0.12345678901234567890123456789012}",
		ERR_INVALID, "/confidenceScore"},
	    {"{\"status\":\"COMPLETED\",\"confidenceScore\":1.01}", ERR_INVALID,
		"/confidenceScore"},
	    {"{\"status\":\"COMPLETED\",\"confidenceScore\":-0.1}", ERR_INVALID,
		"/confidenceScore"},
	    {"{\"status\":\"COMPLETED\",\"confidenceScore\":\"1\"}",
		ERR_INVALID, "/confidenceScore"},
	    {"{\"status\":\"FAILED\",\"errorCode\":\"\"}", ERR_INVALID,
		"/errorCode"},
	    {"{\"status\":\"FAILED\",\"errorCode\":\"a\\u0000b\"}", ERR_INVALID,
		"/errorCode"},
	    {"{\"status\":\"FAILED\",\"x\":1}", ERR_INVALID, "/x"},
	    {"[]", ERR_INVALID, ""},
	    {"{", ERR_SYNTAX, ""},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct task_change ch;
		struct err e = {0};

		if (task_read_change(arena, str_of(rows[i].json), &ch, &e) !=
		    rows[i].rc)
			fail_msg("%s: %s %s", rows[i].json, e.at, e.text);
		assert_string_equal(e.at, rows[i].at);
	}
}

/* As JSON.stringify() of a receiver would write it again. */
static void
test_shortest(void **)
{
	static const struct {
		const char *given, *want;
	} rows[] = {
	    {"1.0", "1"},
	    {"1", "1"},
	    {"0.0", "0"},
	    {"-0", "0"},
	    {"0.950", "0.95"},
	    {"9.5e-1", "0.95"},
	    {"0.1", "0.1"},
	    {"0.30000000000000004", "0.30000000000000004"},
	    {"0.000001", "0.000001"},
	    {"0.0000001", "1e-7"},
	    {"0.00000012500", "1.25e-7"},
	    {"0.3333333333333333333", "0.3333333333333333"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct task_change ch;
		struct err e = {0};
		struct str body = arena_fmt(arena,
		    "{\"status\":\"COMPLETED\",\"confidenceScore\":%s}",
		    rows[i].given);

		assert_int_equal(task_read_change(arena, body, &ch, &e), OK);
		if (!str_eq(ch.confidence, str_of(rows[i].want)))
			fail_msg(
			    "%s: %.*s", rows[i].given, STR_ARG(ch.confidence));
	}
}

/* A status only goes on. */
static void
test_forward(void **)
{
	static const int RANK[TASK_STATUSES] = {0, 1, 3, 3, 2};

	for (int from = 0; from < TASK_STATUSES; from++)
		for (int to = 0; to < TASK_STATUSES; to++) {
			struct task was = task((enum task_status)from), is;
			struct task_change ch = {
			    .status = (enum task_status)to};
			struct err e;

			if (from != to)
				assert_int_equal(
				    task_next(&was, &ch, NOW, &is, &e),
				    RANK[from] < RANK[to] ? OK : ERR_CONFLICT);
		}
}

/* The result says it when nobody else does. */
static void
test_result_says(void **)
{
	struct task_change ch;
	struct err e;

	assert_int_equal(
	    task_read_change(arena,
		STR("{\"status\":\"COMPLETED\",\"forwarderId\":\"mine\","
		    "\"result\":{\"confidenceScore\":0.5,\"forwarderId\":"
		    "\"f\",\"forwarderName\":\"n\"}}"),
		&ch, &e),
	    OK);
	assert_true(str_eq(ch.confidence, STR("0.5")));
	assert_true(str_eq(ch.forwarder_id, STR("mine")));
	assert_true(str_eq(ch.forwarder_name, STR("n")));
}

static void
test_success_rate(void **)
{
	static const struct {
		struct history_count c;
		const char *want;
	} rows[] = {
	    {{0, 0, 0, 0}, "\"pending\":0,\"successRate\":0}"},
	    {{3, 2, 1, 0}, "\"pending\":0,\"successRate\":66.67}"},
	    {{6, 1, 5, 0}, "\"pending\":0,\"successRate\":16.67}"},
	    {{9, 8, 0, 1}, "\"pending\":1,\"successRate\":100}"},
	    {{2, 1, 1, 0}, "\"pending\":0,\"successRate\":50}"},
	    {{8, 1, 7, 0}, "\"pending\":0,\"successRate\":12.5}"},
	    {{1000, 1, 999, 0}, "\"pending\":0,\"successRate\":0.1}"},
	    {{10000, 1, 9999, 0}, "\"pending\":0,\"successRate\":0.01}"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buf b = BUF(KIB);

		history_count_show(&rows[i].c, &b);
		if (!str_ends(buf_str(&b), str_of(rows[i].want)))
			fail_msg("%.*s", STR_ARG(buf_str(&b)));
		buf_done(&b);
	}
}

static void
test_configs(void **)
{
	static const struct {
		const char *json;
		int rc;
		const char *at;
	} rows[] = {
	    {"{\"url\":\"https://h/\",\"events\":[\"invoice.failed\"]}", OK,
		""},
	    {"{\"events\":[\"invoice.failed\"]}", ERR_INVALID, "/url"},
	    {"{\"url\":\"https://h/\"}", ERR_INVALID, "/events"},
	    {"{\"url\":\"https://h/\",\"events\":[\"invoice.failed\",7]}",
		ERR_INVALID, "/events/1"},
	    {"{\"url\":\"https://h/\",\"events\":[\"invoice.failed\"],"
	     "\"maxRetries\":1.5}",
		ERR_INVALID, "/maxRetries"},
	};
	struct config c, d;
	struct str sub;
	struct err e;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		e = (struct err){0};
		if (config_read(arena, str_of(rows[i].json), NULL, STR("s"), &c,
			&sub, &e) != rows[i].rc)
			fail_msg("%s: %s %s", rows[i].json, e.at, e.text);
		assert_string_equal(e.at, rows[i].at);
	}
	assert_int_equal(config_read(arena, str_of(rows[0].json), NULL,
			     STR("s"), &c, &sub, &e),
	    OK);
	assert_true(
	    str_ends(sub, STR("\"retry\":{\"count\":3},\"secret\":\"s\"}")));
	/* A change leaves alone what it does not name. */
	assert_int_equal(config_read(arena, STR("{\"retryEnabled\":false}"), &c,
			     STR("s"), &d, &sub, &e),
	    OK);
	assert_true(str_ends(sub, STR("\"retry\":{\"count\":0}}")));
	assert_int_equal(d.max_retries, 3);
	assert_int_equal(d.events, 1 << TASK_FAILED);
}

/* The store ------------------------------------------------------------------------ */

struct ctx {
	struct task t;
	int64_t id;
};

static void
step(struct db *db, struct task *t, const struct task_change *ch, int64_t now)
{
	struct task is;
	struct err e;

	assert_int_equal(task_next(t, ch, now, &is, &e), OK);
	assert_int_equal(task_put(db, t, &is, ch->result, &e), OK);
	*t = is;
}

static int
walk(struct db *db, void *arg, struct err *e)
{
	static const int64_t SUBS[] = {11, 12};
	struct ctx *x = arg;
	struct task_change ch = {.status = TASK_PROCESSING};
	struct task was;

	assert_int_equal(task_add(db, &x->t, NOW, e), OK);
	assert_int_equal(task_get(db, x->t.uid, arena, &x->t, e), OK);
	assert_int_equal(x->t.status, TASK_QUEUED);
	step(db, &x->t, &ch, NOW + 1);
	assert_int_equal(history_add(db, &x->t, 5, SUBS, 2, NOW, e), OK);
	ch.status = TASK_COMPLETED;
	ch.result = STR("{\"a\":1}");
	step(db, &x->t, &ch, NOW + 2);
	ch.status = TASK_FAILED;
	assert_int_equal(task_next(&x->t, &ch, NOW + 3, &was, e), ERR_CONFLICT);
	/* Somebody else was faster. */
	was = x->t;
	was.changed_us--;
	assert_int_equal(task_put(db, &was, &x->t, STR_EMPTY, e), ERR_CONFLICT);
	return OK;
}

static void
count(struct db *db, int64_t total, int64_t delivered, int64_t failed)
{
	struct history_count c;
	struct err e;

	assert_int_equal(history_count(db, 7, &c, &e), OK);
	assert_int_equal(c.total, total);
	assert_int_equal(c.delivered, delivered);
	assert_int_equal(c.failed, failed);
	assert_int_equal(c.pending, total - delivered - failed);
}

struct moves {
	const struct flush_settled *v;
	size_t n;
};

static int
settle(struct db *db, void *arg, struct err *e)
{
	const struct moves *m = arg;

	return history_settled(db, m->v, m->n, e);
}

static void
move(struct db *db, uint32_t sub, enum settled how)
{
	struct flush_settled v = {.sub = sub, .seq = 5, .how = how};
	struct moves m = {&v, 1};
	struct err e;

	assert_int_equal(db_tx(db, settle, &m, &e), OK);
}

static int
expire(struct db *db, void *arg, struct err *e)
{
	const int64_t *now = arg;
	int64_t removed = 0;

	return task_expire(db, *now, &removed, e);
}

/* Callbacks that nobody needs ------------------------------------------------------- */

static int
add_callback(struct db *db, void *arg, struct err *e)
{
	const struct task *t = arg;
	struct sql_sub_insert_row row;
	struct uuid uid = uuid_v4();

	assert_int_equal(
	    sql_sub_insert_one(db, &row, e, .uid = uuid_str(&uid),
		.name = STR("s"), .url = t->callback_url, .preset = STR("task"),
		.conf = STR("{}"), .enabled = 1, .managed_by = STR("task"),
		.owner = &t->owner, .tenants = {.p = NULL}, .now = NOW),
	    1);
	assert_int_equal(
	    target_callback_add(db, t->owner, t->callback_url, uid, e), OK);
	return task_add(db, t, NOW, e);
}

/* Whether the callback of the task is idle; the same before it is ended. */
static bool
idle(struct db *db, const struct task *t, int64_t cut)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int64_t sub = 0;
	bool found;
	struct err e;

	assert_int_equal(
	    target_callback_find(db, t->owner, t->callback_url, &sub, &e), OK);
	assert_int_equal(
	    sql_task_callback_idle(db, &rows, &e, .cut = cut, .most = 10), OK);
	found = rows_next(rows, &e) > 0;
	rows_close(rows);
	rows = NULL;
	if (!found) /* the statement that ends it says the same */
		assert_int_equal(
		    sql_task_callback_del(db, &e, .owner = t->owner,
			.url = t->callback_url, .sub = sub, .cut = cut),
		    0);
	return found;
}

static int
let_rest(struct db *db, void *arg, struct err *e)
{
	struct task *t = arg;
	struct task_change ch = {.status = TASK_PROCESSING};
	struct flush_settled v = {.seq = 5, .how = SETTLED_OK};
	int64_t sub = 0;

	assert_int_equal(task_get(db, t->uid, arena, t, e), OK);
	assert_int_equal(
	    target_callback_find(db, t->owner, t->callback_url, &sub, e), OK);
	assert_false(idle(db, t, NOW + 10)); /* the task is not done */
	step(db, t, &ch, NOW + 1);
	assert_false(idle(db, t, NOW + 10));
	ch.status = TASK_COMPLETED;
	step(db, t, &ch, NOW + 2);
	assert_false(idle(db, t, NOW + 2)); /* not long enough */
	assert_true(idle(db, t, NOW + 3));
	assert_int_equal(history_add(db, t, 5, &sub, 1, NOW, e), OK);
	assert_false(idle(db, t, NOW + 3)); /* under way */
	v.sub = (uint32_t)sub;
	assert_int_equal(history_settled(db, &v, 1, e), OK);
	assert_true(idle(db, t, NOW + 3));
	assert_int_equal(sql_sub_switch(db, e, .id = sub, .enabled = 0,
			     .why = STR("x"), .now = NOW),
	    1);
	assert_false(idle(db, t, NOW + 3)); /* switched off: it stays so */
	assert_int_equal(sql_sub_switch(db, e, .id = sub, .enabled = 1,
			     .why = STR(""), .now = NOW),
	    1);
	assert_int_equal(
	    sql_task_callback_del(db, e, .owner = t->owner,
		.url = t->callback_url, .sub = sub + 1, .cut = NOW + 3),
	    0); /* another's by now */
	assert_int_equal(
	    sql_task_callback_del(db, e, .owner = t->owner,
		.url = t->callback_url, .sub = sub, .cut = NOW + 3),
	    1);
	return OK;
}

static void
callbacks(enum store_engine engine)
{
	struct fixture f;
	struct task t = task(TASK_QUEUED);
	struct db *db;
	struct err e;

	t.callback_url = STR("https://a.example/cb");
	fixture_open(&f, engine, NULL);
	assert_int_equal(db_open(f.store, DB_WRITE, &db, &e), OK);
	assert_int_equal(db_tx(db, add_callback, &t, &e), OK);
	assert_int_equal(db_tx(db, let_rest, &t, &e), OK);
	db_close(db);
	fixture_close(&f);
}

static void
store(enum store_engine engine)
{
	struct fixture f;
	struct ctx x = {.t = task(TASK_QUEUED)};
	int64_t month = TASK_RESULT_DAYS * US_PER_DAY, now;
	struct notice *list = NULL;
	struct str result;
	struct db *db;
	struct err e;
	size_t n = 0;

	fixture_open(&f, engine, NULL);
	assert_int_equal(db_open(f.store, DB_WRITE, &db, &e), OK);
	assert_int_equal(db_tx(db, walk, &x, &e), OK);
	assert_int_equal(x.t.expires_us, NOW + 2 + month);
	assert_int_equal(task_result(db, &x.t, arena, &result, &e), OK);
	assert_true(str_eq(result, STR("{\"a\":1}")));
	count(db, 2, 0, 0);
	move(db, 11, SETTLED_OK);
	move(db, 11, SETTLED_OK); /* again is nothing new */
	move(db, 12, SETTLED_DEAD);
	move(db, 99, SETTLED_OK); /* nobody's */
	count(db, 2, 1, 1);
	move(db, 12, SETTLED_AGAIN);
	count(db, 2, 1, 0);
	assert_int_equal(history_list(db, &x.t, arena, &list, &n, &e), OK);
	assert_int_equal(n, 2);
	assert_int_equal(list[0].sub, 12);
	assert_int_equal(list[0].status, NOTICE_PENDING);
	assert_int_equal(list[1].status, NOTICE_DELIVERED);
	notice_look(&list[0],
	    &(struct deliver_look){.known = true, .seen.in_flight = true});
	assert_int_equal(list[0].status, NOTICE_SENDING);
	assert_int_equal(list[0].attempts, 1);
	for (int k = 0; k < 2; k++) {
		now = NOW + 2 + month + k;
		assert_int_equal(db_tx(db, expire, &now, &e), OK);
		assert_int_equal(task_result(db, &x.t, arena, &result, &e), OK);
		assert_int_equal(result.p == NULL, k == 1);
	}
	db_close(db);
	fixture_close(&f);
}

static void
test_sqlite(void **)
{
	store(STORE_SQLITE);
	callbacks(STORE_SQLITE);
}

static void
test_postgres(void **)
{
	if (!fixture_postgres())
		skip();
	store(STORE_POSTGRES);
	callbacks(STORE_POSTGRES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_statuses),
	    cmocka_unit_test(test_bodies),
	    cmocka_unit_test(test_changes),
	    cmocka_unit_test(test_result_says),
	    cmocka_unit_test(test_shortest),
	    cmocka_unit_test(test_forward),
	    cmocka_unit_test(test_success_rate),
	    cmocka_unit_test(test_configs),
	    cmocka_unit_test(test_sqlite),
	    cmocka_unit_test(test_postgres),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
