#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/test.h"
#include "fake.h"
#include "hikyaku.h"

#define EVENT "{\"eventType\":\"a.b\",\"payload\":{\"n\":1.50}}"
#define ID    "11111111-1111-4111-8111-11111111111a"
#define ONE   "202 {\"eventId\":\"" ID "\",\"seq\":7,\"duplicate\":false}"
#define BUSY  "503 {\"error\":{\"code\":\"UNAVAILABLE\",\"message\":\"later\"}}"

/* Sent until it is answered, with the same bytes each time. */
static void
test_publish(void **)
{
	static const char *const again[] = {"", BUSY,
	    "429 after=1 {\"error\":{\"code\":\"RATE_LIMITED\"}}",
	    "500 not JSON", ONE};
	static const struct {
		const char *answers[2];
		int code, status;
		unsigned tries;
		const char *name, *pointer, *text;
	} rows[] = {
	    {{ONE}, HK_OK, 0, 1, "", "", ""},
	    {{"422 {\"error\":{\"code\":\"INVALID_FIELD\",\"message\":\"no\","
	      "\"pointer\":\"/tenantId\"},\"traceId\":\"t1\"}"},
		HK_REFUSED, 422, 1, "INVALID_FIELD", "/tenantId", "no"},
	    {{"401 {\"error\":{\"code\":\"UNAUTHORIZED\",\"message\":\"who\"}}"},
		HK_DENIED, 401, 1, "UNAUTHORIZED", "", "who"},
	    {{"409 {}"}, HK_CONFLICT, 409, 1, "", "",
		"the server answered 409"},
	    {{"302 {}"}, HK_PROTOCOL, 302, 1, "", "",
		"the server answered 302"},
	    {{BUSY}, HK_BUSY, 503, 3, "UNAVAILABLE", "", "later"},
	    {{""}, HK_NETWORK, 0, 3, "", "", NULL},
	    {{"202 {}"}, HK_PROTOCOL, 0, 1, "", "", NULL},
	    {{"503 after=400 {}"}, HK_BUSY, 503, 1, "", "", NULL},
	};
	struct hk_receipt r;
	struct hk_error e;
	struct hk_client *c;
	struct fake f;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		fake_start(&f, rows[i].answers, 1);
		c = fake_client(&f, 3, NULL, NULL);
		assert_int_equal(
		    hk_publish(c, EVENT, strlen(EVENT), &r, &e), rows[i].code);
		assert_int_equal(r.tries, rows[i].tries);
		assert_int_equal(strlen(r.event_id), HK_ID_LEN);
		assert_int_equal(e.status, rows[i].status);
		assert_string_equal(e.name, rows[i].name);
		assert_string_equal(e.pointer, rows[i].pointer);
		if (rows[i].text)
			assert_string_equal(e.text, rows[i].text);
		hk_client_free(c);
		fake_stop(&f);
		assert_int_equal(f.n, rows[i].tries);
		assert_string_equal(f.asked[0].line, "POST /v1/events");
		assert_string_equal(f.asked[0].key, "Bearer hk_key");
		fake_done(&f);
	}
	fake_start(&f, again, COUNT_OF(again));
	c = fake_client(&f, 10, NULL, NULL);
	assert_int_equal(hk_publish(c, EVENT, strlen(EVENT), &r, &e), HK_OK);
	hk_client_free(c);
	fake_stop(&f);
	assert_int_equal(r.tries, 5);
	assert_int_equal(r.seq, 7);
	assert_int_equal(e.code, HK_OK);
	assert_string_equal(e.text, "");
	for (size_t i = 1; i < 5; i++)
		assert_string_equal(f.asked[i].body, f.asked[0].body);
	assert_non_null(strstr(f.asked[0].body, r.event_id));
	/* Retry-After was kept. */
	assert_true(f.asked[3].at_ms - f.asked[2].at_ms >= 1000);
	fake_done(&f);
}

static void
test_prepare(void **)
{
	static const struct {
		const char *json, *begins, *ends;
	} rows[] = {
	    {EVENT, "{\"eventId\":\"",
		",\"eventType\":\"a.b\",\"payload\":{"
		"\"n\":1.50}}"},
	    {"{}", "{\"eventId\":\"", "Z\"}"},
	    {" { \"eventId\":\"11111111-1111-4111-8111-11111111111A\" } ",
		"{\"occurredAt\":\"",
		"\", \"eventId\":\"11111111-1111-4111-8111-11111111111A\" }"},
	    {"{\"occurredAt\":\"x\"}", "{\"eventId\":\"",
		"\",\"occurredAt\":\"x\"}"},
	    {"{\"eventId\":\"" ID "\",\"occurredAt\":\"x\"}",
		"{\"eventId\":\"" ID, "\"occurredAt\":\"x\"}"},
	};
	static const char *const bad[] = {"", "[]", "{", "{\"eventId\":1}",
	    "{\"eventId\":\"x\"}", "{\"a\":1,\"a\":2}", "{} x"};
	char id[HK_ID_LEN + 1], other[HK_ID_LEN + 1], *text;
	struct hk_error e;
	size_t n;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(hk_event_prepare(rows[i].json,
				     strlen(rows[i].json), &text, &n, id, &e),
		    HK_OK);
		assert_int_equal(strlen(text), n);
		assert_true(str_starts(str_of(text), str_of(rows[i].begins)));
		assert_true(str_ends(str_of(text), str_of(rows[i].ends)));
		hk_memory_free(text);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_int_equal(
		    hk_event_prepare(bad[i], strlen(bad[i]), &text, &n, id, &e),
		    HK_INVALID);
		assert_true(e.text[0]);
	}
	assert_int_equal(hk_event_prepare("{}", 2, &text, &n, id, &e), HK_OK);
	hk_memory_free(text);
	assert_int_equal(
	    hk_event_prepare("{}", 2, &text, &n, other, &e), HK_OK);
	hk_memory_free(text);
	assert_string_not_equal(id, other);
	assert_int_equal(id[14], '7');
}

/* A child of fork() does not make its parent's ids. */
static void
test_fork(void **)
{
	char mine[HK_ID_LEN + 1], theirs[HK_ID_LEN + 1], *text;
	int fd[2], status = 0;
	size_t n;
	pid_t pid;

	assert_int_equal(hk_event_prepare("{}", 2, &text, &n, mine, NULL), 0);
	hk_memory_free(text);
	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (hk_event_prepare("{}", 2, &text, &n, mine, NULL) != HK_OK)
		_exit(1);
	hk_memory_free(text);
	if (pid == 0)
		_exit(write(fd[1], mine, sizeof(mine)) != sizeof(mine));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(fd[0], theirs, sizeof(theirs)), sizeof(theirs));
	/* The time may differ; what is by chance must. */
	assert_string_not_equal(mine + 20, theirs + 20);
	(void)close(fd[0]);
	(void)close(fd[1]);
}

static void
test_draft(void **)
{
	struct hk_draft d = {.event_id = ID,
	    .event_type = "a\"b",
	    .tenant_id = "t",
	    .service = "s",
	    .instance_id = "i",
	    .occurred_at = "x",
	    .key = "k",
	    .payload = "{\"n\":1}"};
	struct hk_error e;
	char *text;
	size_t n;

	assert_int_equal(hk_draft_json(&d, &text, &n, &e), HK_OK);
	assert_string_equal(text,
	    "{\"schemaVersion\":1,\"eventId\":\"" ID
	    "\",\"eventType\":\"a\\\"b\",\"tenantId\":\"t\",\"occurredAt\":\"x\","
	    "\"producer\":{\"service\":\"s\",\"instanceId\":\"i\"},"
	    "\"sequence\":{\"partitionKey\":\"k\"},\"payload\":{\"n\":1}}");
	hk_memory_free(text);
	/* A payload can't bring members along. */
	d.payload = "{},\"tenantId\":\"u\"";
	assert_int_equal(hk_draft_json(&d, &text, &n, &e), HK_INVALID);
	d.payload = "1";
	assert_int_equal(hk_draft_json(&d, &text, &n, &e), HK_INVALID);
	assert_string_equal(e.pointer, "/payload");
	d.payload = NULL;
	d.key = "\xff";
	assert_int_equal(hk_draft_json(&d, &text, &n, &e), HK_INVALID);
}

/* What done() was told. */
struct told {
	int code[64];
	long tag[64];
	int64_t seq[64];
	unsigned tries[64];
	size_t n;
};

static void
done(void *ctx, const struct hk_result *r)
{
	struct told *t = ctx;

	assert_true(t->n < 64);
	t->code[t->n] = r->code;
	t->tag[t->n] = *(const long *)r->tag;
	t->tries[t->n] = r->tries;
	t->seq[t->n++] = r->seq;
	assert_int_equal(strlen(r->event_id), HK_ID_LEN);
	assert_true(r->code == HK_OK ? !r->error : r->error->code == r->code);
}

/* One that never gives up, until there is nobody to add to. */
static void
add_again(void *ctx, const struct hk_result *r)
{
	struct hk_publisher **p = ctx;
	struct hk_error e;

	assert_int_equal(r->code, HK_STOPPED);
	assert_int_equal(
	    hk_publisher_add(*p, EVENT, strlen(EVENT), NULL, NULL, &e),
	    HK_FULL);
}

static void
test_free_ends(void **)
{
	static const char *const none[] = {""};
	struct hk_publisher *p = NULL;
	struct hk_publisher_opts o = {.done = add_again, .ctx = &p};
	struct hk_client *c;
	struct hk_error e;
	struct fake f;

	fake_start(&f, none, 1);
	c = fake_client(&f, 1, NULL, NULL);
	assert_int_equal(hk_publisher_new(c, &o, &p, &e), HK_OK);
	assert_int_equal(
	    hk_publisher_add(p, EVENT, strlen(EVENT), NULL, NULL, &e), HK_OK);
	hk_publisher_free(p);
	hk_client_free(c);
	fake_stop(&f);
	fake_done(&f);
}

static const long TAGS[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

static void
add(struct hk_publisher *p, size_t i)
{
	struct hk_error e;

	if (hk_publisher_add(p, EVENT, strlen(EVENT),
		(void *)(uintptr_t)&TAGS[i], NULL, &e) != HK_OK)
		fail_msg("%s", e.text);
}

#define OK_AT(n) "{\"status\":202,\"seq\":" #n ",\"duplicate\":false}"
#define WRONG                                                                  \
	"{\"status\":422,\"error\":{\"code\":\"INVALID_FIELD\",\"message\":"   \
	"\"no\",\"pointer\":\"/payload\"}}"

static void
test_batches(void **)
{
	static const char *const answers[] = {BUSY, "",
	    "200 {\"results\":[" OK_AT(1) "," WRONG "," OK_AT(3) "]}",
	    "200 {\"results\":[" OK_AT(4) "]}"};
	struct told t = {.n = 0};
	struct hk_publisher_opts o = {
	    .batch_max = 3, .queue_max = 4, .done = done, .ctx = &t};
	struct hk_publisher *p;
	struct hk_client *c;
	struct hk_error e;
	struct fake f;

	fake_start(&f, answers, COUNT_OF(answers));
	c = fake_client(&f, 5, NULL, NULL);
	assert_int_equal(hk_publisher_new(c, &o, &p, &e), HK_OK);
	assert_int_equal(hk_publisher_due_ms(p), -1);
	for (size_t i = 0; i < 4; i++)
		add(p, i);
	assert_int_equal(
	    hk_publisher_add(p, EVENT, strlen(EVENT), NULL, NULL, &e), HK_FULL);
	assert_int_equal(hk_publisher_due_ms(p), 0);
	assert_int_equal(hk_publisher_flush(p, 10000, &e), HK_OK);
	assert_int_equal(hk_publisher_waiting(p), 0);
	assert_int_equal(t.n, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(t.tag[i], i);
		assert_int_equal(t.code[i], i == 1 ? HK_REFUSED : HK_OK);
		/* libcurl itself repeats on a kept connection that closed. */
		assert_int_equal(t.tries[i], i < 3 ? 2 : 1);
		assert_int_equal(t.seq[i], i == 1 ? 0 : (int)i + 1);
	}
	hk_publisher_free(p);
	hk_client_free(c);
	fake_stop(&f);
	assert_string_equal(f.asked[0].body, f.asked[1].body);
	assert_string_equal(f.asked[0].body, f.asked[2].body);
	fake_done(&f);
}

/* A batch that is too much is halved, until the culprit stands alone. */
static void
test_halving(void **)
{
	static const char *const answers[] = {"413 {}", "413 {}", "413 {}",
	    "200 {\"results\":[" OK_AT(2) "]}",
	    "200 {\"results\":[" OK_AT(3) "," OK_AT(4) "]}"};
	struct told t = {.n = 0};
	struct hk_publisher_opts o = {.batch_max = 4, .done = done, .ctx = &t};
	struct hk_publisher *p;
	struct hk_client *c;
	struct hk_error e;
	struct fake f;

	fake_start(&f, answers, COUNT_OF(answers));
	c = fake_client(&f, 5, NULL, NULL);
	assert_int_equal(hk_publisher_new(c, &o, &p, &e), HK_OK);
	for (size_t i = 0; i < 4; i++)
		add(p, i);
	/* 4, 2, 1: the first is refused; then 1, then 2. */
	assert_int_equal(hk_publisher_flush(p, 20000, &e), HK_OK);
	assert_int_equal(t.n, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(t.tag[i], i);
		assert_int_equal(t.code[i], i == 0 ? HK_REFUSED : HK_OK);
		assert_int_equal(t.tries[i], 1);
	}
	hk_publisher_free(p);
	hk_client_free(c);
	fake_stop(&f);
	fake_done(&f);
}

/* Tries are used up, answers make no sense, and the end comes early. */
static void
test_batch_failures(void **)
{
	static const char *const odd[] = {"200 {\"results\":[]}"};
	static const char *const busy[] = {BUSY};
	static const struct {
		const char *const *answers;
		int code;
	} rows[] = {{odd, HK_PROTOCOL}, {busy, HK_BUSY}};
	struct hk_publisher *p;
	struct hk_client *c;
	struct hk_error e;
	struct fake f;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct told t = {.n = 0};
		struct hk_publisher_opts o = {
		    .linger_ms = 100000, .done = done, .ctx = &t};

		fake_start(&f, rows[i].answers, 1);
		c = fake_client(&f, 2, NULL, NULL);
		assert_int_equal(hk_publisher_new(c, &o, &p, &e), HK_OK);
		add(p, 0);
		/* It lingers: nothing is due. */
		assert_true(hk_publisher_due_ms(p) > 1000);
		assert_int_equal(hk_publisher_poll(p, &e), HK_OK);
		assert_int_equal(t.n, 0);
		assert_int_equal(hk_publisher_flush(p, 10000, &e), HK_OK);
		assert_int_equal(t.n, 1);
		assert_int_equal(t.code[0], rows[i].code);
		assert_int_equal(t.tries[0], 2);
		add(p, 1);
		hk_publisher_free(p);
		assert_int_equal(t.n, 2);
		assert_int_equal(t.code[1], HK_STOPPED);
		hk_client_free(c);
		fake_stop(&f);
		assert_int_equal(f.n, 2);
		fake_done(&f);
	}
}

static int
stop_at_three(void *ctx)
{
	return ++*(int *)ctx > 3;
}

static void
test_stop(void **)
{
	static const char *const busy[] = {"503 after=100 {}"};
	int asked = 0;
	struct hk_client_opts o = {.stop = stop_at_three, .ctx = &asked};
	struct hk_client *c;
	struct hk_receipt r;
	struct hk_error e;
	struct fake f;
	int64_t began = clock_mono_ms();

	fake_start(&f, busy, 1);
	assert_int_equal(hk_client_new(f.url, "k", &o, &c, &e), HK_OK);
	assert_int_equal(
	    hk_publish(c, EVENT, strlen(EVENT), &r, &e), HK_STOPPED);
	assert_true(clock_mono_ms() - began < 20000);
	hk_client_free(c);
	fake_stop(&f);
	fake_done(&f);
}

static void
test_client_arguments(void **)
{
	static const struct {
		const char *url, *key;
	} rows[] = {{"ftp://x", "k"}, {NULL, "k"}, {"http://x/?a", "k"},
	    {"http://x", NULL}, {"http://x", "a\r\nX: y"},
	    {"http://x", "\xc3"}};
	struct hk_client *c;
	struct hk_error e;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
		    hk_client_new(rows[i].url, rows[i].key, NULL, &c, &e),
		    HK_INVALID);
	assert_string_equal(hk_code_name(HK_BUSY), "HK_BUSY");
	assert_string_equal(hk_code_name(HK_PROTOCOL), "HK_PROTOCOL");
	assert_string_equal(hk_code_name(7), "HK_UNKNOWN");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_publish),
	    cmocka_unit_test(test_prepare),
	    cmocka_unit_test(test_fork),
	    cmocka_unit_test(test_draft),
	    cmocka_unit_test(test_batches),
	    cmocka_unit_test(test_free_ends),
	    cmocka_unit_test(test_halving),
	    cmocka_unit_test(test_batch_failures),
	    cmocka_unit_test(test_stop),
	    cmocka_unit_test(test_client_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
