/* Seed 000, 10.2.1: what a batch holds and where it ends. */
#include "deliver/batch/batch_window.h"

#include "base/test.h"
#include "deliver/limits.h"

#define T0 (INT64_C(1769524195) * US_PER_S) /* 2026-01-27T14:29:55Z */

static const struct batch_window_opts BATCHED = {
    .len_us = 5 * US_PER_S, .max_size = 100};
static const struct batch_window_opts SUMMARY = {
    .summary = true, .len_us = 60 * US_PER_S, .max_size = 100};

static struct batch_event
child(struct arena *a, const char *type, const char *folder, int n, int64_t at)
{
	struct batch_event ev = {
	    .seq = n,
	    .at_us = T0 + at * US_PER_MS,
	    .type = str_of(type),
	    .body = arena_fmt(a,
		"{\"payload\":{\"repository\":{\"id\":\"bedroom\"},"
		"\"object\":{\"id\":\"doc-%d\",\"name\":\"file%d.pdf\"},"
		"\"parentFolder\":{\"id\":\"%s\",\"path\":\"/Sites\"}}}",
		n, n, folder),
	};
	struct err e;

	assert_int_equal(batch_event_read(a, &ev, &e), OK);
	return ev;
}

static struct str
made(struct arena *a, const struct batch_window *w, size_t i,
    struct batch_made *m)
{
	struct buf b = BUF(2 * MIB);
	struct str s;
	struct json *tree;
	struct err e;

	batch_window_make(w, i, m, &b);
	assert_false(b.failed);
	s = arena_dup(a, buf_str(&b));
	assert_int_equal(json_parse(a, s, &tree, &e), OK);
	buf_done(&b);
	return s;
}

/* The payload example of 10.2.1, members and batchInfo to the letter. */
static void
test_child_batch(void **)
{
	struct arena *a = arena_new(8 * MIB);
	struct batch_window *w = batch_window_new(&BATCHED);
	struct batch_event ev[] = {
	    child(a, "cmis.child_created", "folder-uuid", 1, 0),
	    child(a, "cmis.child_created", "folder-uuid", 2, 1000),
	    child(a, "cmis.child_deleted", "other", 3, 1500),
	    child(a, "cmis.child_updated", "folder-uuid", 4, 4999),
	    child(a, "cmis.child_updated", "folder-uuid", 5, 5000),
	};
	struct batch_made m;

	assert_int_equal(batch_window_due(w), INT64_MAX);
	for (size_t i = 0; i < 4; i++)
		assert_true(batch_window_take(w, &ev[i]));
	assert_false(batch_window_take(w, &ev[4]));
	assert_int_equal(batch_window_due(w), T0 + 5 * US_PER_S);
	assert_int_equal(w->first, 1);
	assert_int_equal(w->last, 4);
	assert_int_equal(w->n_groups, 2);
	assert_str(made(a, w, 0, &m),
	    "{\"repository\":{\"id\":\"bedroom\"},"
	    "\"parentFolder\":{\"id\":\"folder-uuid\",\"path\":\"/Sites\"},"
	    "\"changes\":["
	    "{\"type\":\"CHILD_CREATED\",\"objectId\":\"doc-1\",\"name\":\"file1.pdf\"},"
	    "{\"type\":\"CHILD_CREATED\",\"objectId\":\"doc-2\",\"name\":\"file2.pdf\"},"
	    "{\"type\":\"CHILD_UPDATED\",\"objectId\":\"doc-4\",\"name\":\"file4.pdf\"}],"
	    "\"batchInfo\":{\"windowStart\":\"2026-01-27T14:29:55.000Z\","
	    "\"windowEnd\":\"2026-01-27T14:30:00.000Z\",\"eventCount\":3}}");
	assert_string_equal(m.type, "cmis.child_batch");
	assert_str(m.key, "folder-uuid");
	assert_true(str_ends(made(a, w, 1, &m), STR("\"eventCount\":1}}")));
	batch_window_free(w);
	arena_free(a);
}

/* One that is full ends at once; what comes is the next one's. */
static void
test_full(void **)
{
	struct arena *a = arena_new(8 * MIB);
	struct batch_window *w = batch_window_new(&BATCHED);
	struct batch_event ev;

	for (int i = 1; i <= 100; i++) {
		ev = child(a, "cmis.child_created", "f", i, 0);
		assert_int_equal(batch_window_due(w) == 0, false);
		assert_true(batch_window_take(w, &ev));
	}
	assert_int_equal(batch_window_due(w), 0);
	ev = child(a, "cmis.child_created", "other", 101, 0);
	assert_false(batch_window_take(w, &ev));
	assert_int_equal(w->last, 100);
	batch_window_free(w);
	arena_free(a);
}

static void
test_summary(void **)
{
	struct arena *a = arena_new(64 * MIB);
	struct batch_window *w = batch_window_new(&SUMMARY);
	struct batch_event ev;
	struct batch_made m;

	for (int i = 1; i <= 3000; i++) {
		ev = child(a,
		    i % 3 ? "cmis.child_created" : "cmis.child_deleted", "f", i,
		    i);
		assert_true(batch_window_take(w, &ev));
	}
	assert_int_equal(w->bytes, 0);
	assert_str(made(a, w, 0, &m),
	    "{\"repository\":{\"id\":\"bedroom\"},"
	    "\"parentFolder\":{\"id\":\"f\",\"path\":\"/Sites\"},"
	    "\"counts\":{\"CHILD_CREATED\":2000,\"CHILD_DELETED\":1000},"
	    "\"batchInfo\":{\"windowStart\":\"2026-01-27T14:29:55.001Z\","
	    "\"windowEnd\":\"2026-01-27T14:30:55.001Z\",\"eventCount\":3000}}");
	assert_string_equal(m.type, "cmis.child_summary");
	batch_window_free(w);
	arena_free(a);
}

/* All other events: the envelopes as they are. */
static void
test_plain(void **)
{
	struct arena *a = arena_new(8 * MIB);
	struct batch_window *w = batch_window_new(&BATCHED);
	struct batch_window *s = batch_window_new(&SUMMARY);
	struct batch_event ev = {
	    .seq = 7,
	    .at_us = T0,
	    .type = STR("order.paid"),
	    .body =
		STR("{\"eventType\":\"order.paid\",\"payload\":{\"n\":0.10}}"),
	};
	struct batch_made m;
	struct err e;

	assert_int_equal(batch_event_read(a, &ev, &e), OK);
	assert_true(batch_window_take(w, &ev));
	assert_true(batch_window_take(w, &ev));
	assert_str(made(a, w, 0, &m),
	    "{\"events\":["
	    "{\"eventType\":\"order.paid\",\"payload\":{\"n\":0.10}},"
	    "{\"eventType\":\"order.paid\",\"payload\":{\"n\":0.10}}],"
	    "\"batchInfo\":{\"windowStart\":\"2026-01-27T14:29:55.000Z\","
	    "\"windowEnd\":\"2026-01-27T14:30:00.000Z\",\"eventCount\":2}}");
	assert_string_equal(m.type, "hikyaku.batch");
	assert_str(m.key, "hikyaku.batch");
	assert_true(batch_window_take(s, &ev));
	assert_str(made(a, s, 0, &m),
	    "{\"counts\":{\"order.paid\":1},"
	    "\"batchInfo\":{\"windowStart\":\"2026-01-27T14:29:55.000Z\","
	    "\"windowEnd\":\"2026-01-27T14:30:55.000Z\",\"eventCount\":1}}");
	batch_window_free(w);
	batch_window_free(s);
	arena_free(a);
}

/* Bounds end a window, and never make one that nobody can read. */
static void
test_bounds(void **)
{
	struct arena *a = arena_new(64 * MIB);
	struct batch_window *w = batch_window_new(&BATCHED);
	char *big = malloc(BATCH_MEMBER_MAX + 1);
	char deep[2 * JSON_DEPTH_MAX + 1];
	struct batch_event ev = {.seq = 1, .at_us = T0, .type = STR("a.b")};
	struct batch_made m;
	struct err e;
	int n = 0;

	assert_non_null(big);
	memset(big, 'x', BATCH_MEMBER_MAX + 1);
	big[0] = big[BATCH_MEMBER_MAX - 1] = '"';
	ev.body = (struct str){big, BATCH_MEMBER_MAX};
	ev.child = CHILD_TYPES;
	while (batch_window_take(w, &ev))
		n++;
	assert_int_equal(n, 7);
	assert_int_equal(batch_window_due(w), 0);
	(void)made(a, w, 0, &m);
	batch_window_free(w);
	/* Too long, too deep: named only. */
	w = batch_window_new(&BATCHED);
	big[BATCH_MEMBER_MAX - 1] = 'x';
	big[BATCH_MEMBER_MAX] = '"';
	ev.body.n++;
	assert_true(batch_window_take(w, &ev));
	memset(deep, '[', JSON_DEPTH_MAX);
	memset(deep + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	ev.body = (struct str){deep, (size_t)2 * JSON_DEPTH_MAX};
	assert_true(batch_window_take(w, &ev));
	assert_true(made(a, w, 0, &m).n < 1000);
	batch_window_free(w);
	/* More folders than a commit takes. */
	w = batch_window_new(&BATCHED);
	for (int i = 0; i < BATCH_GROUPS_MAX; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "f%d", i);
		ev = child(a, "cmis.child_created", id, i + 1, 0);
		assert_true(batch_window_take(w, &ev));
	}
	ev = child(a, "cmis.child_created", "more", 100, 0);
	assert_false(batch_window_take(w, &ev));
	assert_int_equal(w->n_groups, BATCH_GROUPS_MAX);
	assert_int_equal(batch_window_due(w), 0);
	(void)e;
	batch_window_free(w);
	free(big);
	arena_free(a);
}

/* Where the folder and the object stand. */
static void
test_places(void **)
{
	static const struct {
		const char *body, *folder, *object;
	} rows[] = {
	    {"{\"payload\":{\"parentFolder\":{\"id\":\"a\"},\"object\":{\"id\":\"o\"}}}",
		"a", "o"},
	    {"{\"payload\":{\"parentFolder\":{\"objectId\":\"a\"},\"object\":{\"objectId\":\"o\"}}}",
		"a", "o"},
	    {"{\"payload\":{\"parentFolder\":7}}", "", ""},
	    {"{\"payload\":{}}", "", ""},
	    {"{}", "", ""},
	};
	struct arena *a = arena_new(1 * MIB);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct batch_event ev = {
		    .type = STR("cmis.child_created"),
		    .body = str_of(rows[i].body),
		};
		struct err e;

		assert_int_equal(batch_event_read(a, &ev, &e), OK);
		assert_true(str_eq(ev.folder.id, str_of(rows[i].folder)));
		assert_true(str_eq(ev.object, str_of(rows[i].object)));
	}
	arena_free(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_child_batch),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_summary),
	    cmocka_unit_test(test_plain),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
