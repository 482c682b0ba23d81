#include "base/base.h"
#include "base/test.h"
#include "fake.h"
#include "hikyaku.h"

#define TENANT "11111111-1111-4111-8111-111111111111"
#define EVENT(n)                                                               \
	"{\"eventId\":\"aaaaaaaa-0000-4000-8000-00000000000" #n                \
	"\",\"tenantId\":\"" TENANT "\",\"eventType\":\"a.b\",\"sequence\":{"  \
	"\"partitionKey\":\"A:" TENANT                                         \
	":r\",\"recordVersion\":\"2026-01-10T12:00:00Z\"},\"payload\":{\"n\":" \
	"1.50},\"seq\":" #n ",\"cursor\":\"c" #n "\",\"deliveryId\":\"d" #n    \
	"\",\"attempt\":2}"
#define PAGE(list) "200 {\"data\":[" list "]}"
#define FINE       "200 {\"results\":[]}"

static void
test_consumer(void **)
{
	static const char *const answers[] = {"201 {}",
	    PAGE(EVENT(1) "," EVENT(2) "," EVENT(3) ",{\"seq\":4}," EVENT(5)),
	    "503 {}",
	    "200 {\"results\":[{\"cursor\":\"c1\",\"status\":\"acked\"},"
	    "{\"cursor\":\"c2\",\"status\":\"expired\"}]}",
	    FINE, FINE, PAGE("")};
	struct hk_consumer_opts o = {
	    .definition = "{\"types\":[\"a.b\"]}", .wait_s = 7, .max = 5};
	struct hk_consumer_counts n;
	const struct hk_event *ev = NULL;
	struct hk_consumer *c;
	struct hk_client *cl;
	struct hk_error e;
	struct fake f;

	fake_start(&f, answers, COUNT_OF(answers));
	cl = fake_client(&f, 3, NULL, NULL);
	assert_int_equal(hk_consumer_open(cl, "a/b", NULL, &c, &e), HK_INVALID);
	assert_int_equal(hk_consumer_open(cl, "..", NULL, &c, &e), HK_INVALID);
	assert_int_equal(hk_consumer_open(cl, "mine", &o, &c, &e), HK_OK);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(hk_consumer_next(c, &ev, &e), HK_OK);
		assert_int_equal(ev->seq, i);
		if (i < 3)
			assert_int_equal(hk_consumer_ack(c, ev, &e), HK_OK);
		else
			assert_int_equal(
			    hk_consumer_nack(c, ev, 250, &e), HK_OK);
	}
	assert_string_equal(
	    ev->event_id, "aaaaaaaa-0000-4000-8000-000000000003");
	assert_string_equal(ev->object_name, "A");
	assert_string_equal(ev->delivery_id, "d3");
	assert_int_equal(ev->attempt, 2);
	assert_int_equal(ev->record_version_us, INT64_C(1768046400000000));
	assert_memory_equal(ev->payload, "{\"n\":1.50}", ev->payload_n);
	/* One that is no event is told of, and passed by. */
	assert_int_equal(hk_consumer_next(c, &ev, &e), HK_INVALID);
	assert_int_equal(hk_consumer_next(c, &ev, &e), HK_OK);
	assert_int_equal(hk_consumer_dead(c, ev, "a \"b\"", &e), HK_OK);
	/* Before more is asked for, what was noted is said. */
	assert_int_equal(hk_consumer_next(c, &ev, &e), HK_EMPTY);
	hk_consumer_count(c, &n);
	assert_int_equal(n.events, 4);
	assert_int_equal(n.acked, 1);
	assert_int_equal(n.expired, 1);
	assert_int_equal(n.nacked, 2);
	hk_consumer_close(c);
	hk_client_free(cl);
	fake_stop(&f);
	assert_int_equal(f.n, 7);
	assert_string_equal(f.asked[0].line, "PUT /v1/consumers/mine");
	assert_string_equal(f.asked[0].body, "{\"types\":[\"a.b\"]}");
	assert_string_equal(
	    f.asked[1].line, "GET /v1/consumers/mine/events?max=5&wait=7");
	assert_string_equal(f.asked[3].line, "POST /v1/consumers/mine/ack");
	assert_string_equal(f.asked[3].body, "{\"cursors\":[\"c1\",\"c2\"]}");
	assert_string_equal(f.asked[4].line, "POST /v1/consumers/mine/nack");
	assert_string_equal(
	    f.asked[4].body, "{\"cursors\":[\"c3\"],\"delayMs\":250}");
	assert_string_equal(f.asked[5].body,
	    "{\"cursors\":[\"c5\"],\"dead\":true,\"reason\":\"a \\\"b\\\"\"}");
	fake_done(&f);
}

/* A consumer ends on the server; one that is not there is told of. */
static void
test_remove(void **)
{
	static const char *const answers[] = {"204 ", "404 {}"};
	struct hk_client *cl;
	struct hk_error e;
	struct fake f;

	fake_start(&f, answers, COUNT_OF(answers));
	cl = fake_client(&f, 1, NULL, NULL);
	assert_int_equal(hk_consumer_remove(cl, "a/b", &e), HK_INVALID);
	assert_int_equal(hk_consumer_remove(cl, "mine", &e), HK_OK);
	assert_int_equal(hk_consumer_remove(cl, "mine", &e), HK_ABSENT);
	hk_client_free(cl);
	fake_stop(&f);
	assert_int_equal(f.n, 2);
	assert_string_equal(f.asked[0].line, "DELETE /v1/consumers/mine");
	fake_done(&f);
}

/* What was acknowledged goes out at the end, and when enough are there. */
static void
test_ack_batches(void **)
{
	static const char *const answers[] = {
	    PAGE(EVENT(1) "," EVENT(2) "," EVENT(3)), FINE, FINE, FINE};
	struct hk_consumer_opts o = {.ack_max = 2, .no_wait = 1};
	const struct hk_event *ev;
	struct hk_consumer *c;
	struct hk_client *cl;
	struct hk_error e;
	struct fake f;

	fake_start(&f, answers, COUNT_OF(answers));
	cl = fake_client(&f, 3, NULL, NULL);
	assert_int_equal(hk_consumer_open(cl, "m", &o, &c, &e), HK_OK);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hk_consumer_next(c, &ev, &e), HK_OK);
		assert_int_equal(hk_consumer_ack(c, ev, &e), HK_OK);
	}
	assert_int_equal(hk_consumer_extend(c, ev, 30, &e), HK_OK);
	hk_consumer_close(c);
	hk_client_free(cl);
	fake_stop(&f);
	assert_int_equal(f.n, 4);
	assert_string_equal(
	    f.asked[0].line, "GET /v1/consumers/m/events?max=100&wait=0");
	assert_string_equal(f.asked[1].body, "{\"cursors\":[\"c1\",\"c2\"]}");
	assert_string_equal(
	    f.asked[2].body, "{\"cursors\":[\"c3\"],\"seconds\":30}");
	assert_string_equal(f.asked[3].body, "{\"cursors\":[\"c3\"]}");
	fake_done(&f);
}

/* A database that writes down what it is asked, and fails when told. */
struct book {
	struct hk_db db;
	struct buf log;
	const char *fails; /* a letter for each call in turn; '-' is fine */
	int code[16];      /* of the handler, by seq */
	enum hk_verdict verdict[16];
};

static int
note(struct hk_db *db, char what, struct hk_error *e)
{
	struct book *b = (struct book *)(void *)db;

	buf_addc(&b->log, what);
	if (b->fails && *b->fails && *b->fails++ == what)
		return hk_fail(e, HK_DB, "told to fail");
	return HK_OK;
}

static int
book_begin(struct hk_db *db, struct hk_error *e)
{
	return note(db, 'b', e);
}

static int
book_judge(struct hk_db *db, const struct hk_event *ev, enum hk_verdict *ret,
    struct hk_error *e)
{
	*ret = ((struct book *)(void *)db)->verdict[ev->seq];
	return note(db, 'j', e);
}

static int
book_commit(struct hk_db *db, struct hk_error *e)
{
	return note(db, 'c', e);
}

static void
book_rollback(struct hk_db *db)
{
	buf_addc(&((struct book *)(void *)db)->log, 'r');
}

static int
handle(
    void *ctx, struct hk_db *db, const struct hk_event *ev, struct hk_error *e)
{
	struct book *b = ctx;
	int code = b->code[ev->seq];

	assert_ptr_equal(db, &b->db);
	buf_addc(&b->log, 'h');
	return code == HK_OK ? HK_OK : hk_fail(e, code, "because");
}

static void
test_consume(void **)
{
	static const struct {
		const char *fails;
		int code[3];
		enum hk_verdict verdict[3];
		const char *log;
		const char *said[3]; /* bodies behind the page */
		int applied, seen, stale, failed, dead;
	} rows[] = {
	    {NULL, {0, 0, 0}, {0, 0, 0}, "bjhcbjhc",
		{"{\"cursors\":[\"c1\",\"c2\"]}"}, 2, 0, 0, 0, 0},
	    {NULL, {0, 0, 0}, {0, HK_SEEN, HK_STALE}, "bjcbjc",
		{"{\"cursors\":[\"c1\",\"c2\"]}"}, 0, 1, 1, 0, 0},
	    {NULL, {0, HK_RETRY, HK_DEAD}, {0, 0, 0}, "bjhrbjhr",
		{"{\"cursors\":[\"c1\"]}",
		    "{\"cursors\":[\"c2\"],\"dead\":true,\"reason\":"
		    "\"because\"}"},
		0, 0, 0, 1, 1},
	    /* Begin fails twice: it waits. */
	    {"bb", {0, 0, 0}, {0, 0, 0}, "brbrbjhcbjhc",
		{"{\"cursors\":[\"c1\",\"c2\"]}"}, 2, 0, 0, 0, 0},
	    /* A commit that fails is run again; the second is the store's. */
	    {"--c---", {0, 0, 0}, {0, 0, 0}, "bjhcrbjhcbjhc",
		{"{\"cursors\":[\"c1\",\"c2\"]}"}, 2, 0, 0, 0, 0},
	    /* One that never commits is given back. */
	    {"--c--c--c", {0, 0, 0}, {0, 0, 0}, "bjhcrbjhcrbjhcrbjhc",
		{"{\"cursors\":[\"c1\"]}", "{\"cursors\":[\"c2\"]}"}, 1, 0, 0,
		1, 0},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static const char *const answers[] = {
		    PAGE(EVENT(1) ",{}," EVENT(2)), FINE};
		struct book b = {.db = {NULL, book_begin, book_judge,
				     book_commit, book_rollback},
		    .log = BUF(1024),
		    .fails = rows[i].fails};
		struct hk_consumer_counts n;
		struct hk_consumer *c;
		struct hk_client *cl;
		struct hk_error e;
		struct fake f;

		for (int k = 0; k < 3; k++) {
			b.code[k] = rows[i].code[k];
			b.verdict[k] = rows[i].verdict[k];
		}
		/* What is no event is passed by, and counted. */
		fake_start(&f, answers, COUNT_OF(answers));
		cl = fake_client(&f, 3, NULL, NULL);
		assert_int_equal(hk_consumer_open(cl, "m", NULL, &c, &e), 0);
		if (hk_consume(c, &b.db, handle, &b, 0, &e) != HK_OK)
			fail_msg("row %zu: %s", i, e.text);
		buf_addc(&b.log, '\0');
		assert_string_equal(b.log.p, rows[i].log);
		hk_consumer_count(c, &n);
		assert_int_equal(n.applied, rows[i].applied);
		assert_int_equal(n.seen, rows[i].seen);
		assert_int_equal(n.stale, rows[i].stale);
		assert_int_equal(n.failed, rows[i].failed + 1);
		assert_int_equal(n.dead, rows[i].dead);
		hk_consumer_close(c);
		hk_client_free(cl);
		fake_stop(&f);
		for (size_t k = 0; k < 3 && rows[i].said[k]; k++)
			assert_string_equal(
			    f.asked[k + 1].body, rows[i].said[k]);
		fake_done(&f);
		buf_done(&b.log);
	}
}

static int
stop_later(void *ctx)
{
	return ++*(int *)ctx > 6;
}

/* It goes on until it is stopped, and then what is here is acknowledged. */
static void
test_consume_stops(void **)
{
	static const char *const answers[] = {PAGE(EVENT(1)), FINE, PAGE("")};
	struct book b = {
	    .db = {NULL, book_begin, book_judge, book_commit, book_rollback},
	    .log = BUF(1024)};
	struct hk_consumer *c;
	struct hk_client *cl;
	struct hk_error e;
	struct fake f;
	int asked = 0;

	fake_start(&f, answers, COUNT_OF(answers));
	cl = fake_client(&f, 3, stop_later, &asked);
	assert_int_equal(hk_consumer_open(cl, "m", NULL, &c, &e), HK_OK);
	assert_int_equal(hk_consume(c, &b.db, handle, &b, -1, &e), HK_STOPPED);
	hk_consumer_close(c);
	hk_client_free(cl);
	fake_stop(&f);
	assert_true(f.n >= 2);
	assert_string_equal(f.asked[1].body, "{\"cursors\":[\"c1\"]}");
	fake_done(&f);
	buf_done(&b.log);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_consumer),
	    cmocka_unit_test(test_remove),
	    cmocka_unit_test(test_ack_batches),
	    cmocka_unit_test(test_consume),
	    cmocka_unit_test(test_consume_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
