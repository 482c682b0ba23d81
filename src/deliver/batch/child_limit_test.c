/* Seed 000, 10.2.2 and 10.2.3, with the numbers that stand there. */
#include "deliver/batch/child_limit.h"

#include "base/test.h"
#include "deliver/limits.h"

#define MS     INT64_C(1000)
#define MINUTE (60 * US_PER_S)
#define T0     (INT64_C(1800000000) * US_PER_S)

static const struct child_limit_opts SEED = {
    .per_minute = 60,
    .per_second = 50,
    .threshold = 500,
    .queue_max = CHILD_QUEUE_MAX,
    .minute_us = CHILD_MINUTE_MS * MS,
    .second_us = US_PER_S,
    .open_us = CHILD_OPEN_MS * MS,
};

static void
take(struct child_limit *l, int folder, enum child_type type, int64_t seq,
    int64_t at)
{
	char id[32];
	struct child_folder f = {
	    .parent = STR("{\"id\":\"x\"}"), .repository = STR("{}")};

	(void)snprintf(id, sizeof(id), "folder-%d", folder);
	f.id = str_of(id);
	child_limit_take(l, &f, type, seq, at);
}

struct seen {
	int64_t sent, summaries, summed, dropped_queue, dropped_breaker;
	int64_t times[20000];
	int folder[20000];
	int64_t last_us; /* of a send */
};

static void
collect(struct child_limit *l, int64_t now, struct seen *s)
{
	struct child_drops d;
	struct child_out out;
	int64_t folder;

	while (child_limit_next(l, now, &out)) {
		if (out.kind == CHILD_OUT_SUMMARY) {
			s->summaries++;
			for (int i = 0; i < CHILD_TYPES; i++)
				s->summed += out.counts[i];
			continue;
		}
		assert_true(str_int(str_from(out.folder.id, 7), &folder));
		s->folder[s->sent] = (int)folder;
		s->times[s->sent++] = now;
		s->last_us = now;
	}
	d = child_limit_drops(l);
	for (size_t i = 0; i < d.n; i++)
		if (d.v[i].why == CHILD_DROP_QUEUE)
			s->dropped_queue++;
		else
			s->dropped_breaker++;
	assert_true(d.n <= CHILD_DROPS_MAX);
	s->dropped_breaker += d.more; /* the queue drops one at a time */
	child_limit_drops_done(l);
}

/* No span of that length has more than `most` sends (of that folder). */
static void
assert_rate(const struct seen *s, int folder, int64_t span, int64_t most)
{
	for (int64_t i = 0; i < s->sent; i++) {
		int64_t n = 0;

		for (int64_t j = i; j < s->sent; j++) {
			if (s->times[j] - s->times[i] >= span)
				break;
			n += folder < 0 || s->folder[j] == folder;
		}
		assert_true(n <= most);
	}
}

/* The scenarios: so many files in each of so many folders, within a span. */
static void
test_scenarios(void **)
{
	static const struct {
		const char *name;
		int folders, files;
		int64_t span_ms;
		int64_t sent, summaries, summed, queue, breaker;
	} rows[] = {
	    {"one file", 1, 1, 1, 1, 0, 0, 0, 0},
	    {"60 in a folder: all, 50 of them in the first second", 1, 60, 100,
		60, 0, 0, 0, 0},
	    {"61 in a folder: the last a minute later", 1, 61, 100, 61, 0, 0, 0,
		0},
	    {"500 within a minute: slow, but all of them", 1, 500, 59000, 500,
		0, 0, 0, 0},
	    {"501 within a minute: the breaker; what was sent stays sent", 1,
		501, 59000, 60, 1, 441, 0, 441},
	    {"501 in more than a minute: none is lost", 1, 501, 70000, 501, 0,
		0, 0, 0},
	    {"a folder with 1000 files is deleted: the breaker", 1, 1000, 100,
		50, 1, 950, 0, 950},
	    {"10000 files at once: the breaker, too", 1, 10000, 1000, 50, 1,
		9950, 0, 9950},
	    {"an ACL down 20 folders of 40: wait, and all go", 20, 40, 100, 800,
		0, 0, 0, 0},
	    {"an ACL down 40 folders of 40: the queue is full", 40, 40, 100,
		1050, 0, 0, 550, 0},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct child_limit *l = child_limit_new(&SEED);
		struct seen *s = calloc(1, sizeof(*s));
		int64_t n = (int64_t)rows[i].folders * rows[i].files;
		int64_t taken = 0, now = T0, due = T0;

		assert_non_null(s);
		for (int64_t ms = 0; ms < 20 * 60 * 1000; ms++) {
			now = T0 + ms * MS;
			while (taken < n && taken * rows[i].span_ms <= ms * n) {
				take(l, (int)(taken % rows[i].folders),
				    CHILD_CREATED, taken + 1, now);
				taken++;
				due = now;
				if (taken % 50 == 0)
					collect(l, now, s);
			}
			if (now < due)
				continue;
			collect(l, now, s);
			due = child_limit_due(l, now);
			assert_true(due > now);
		}
		if (s->sent != rows[i].sent || s->summed != rows[i].summed)
			print_error("%s: sent %lld, summed %lld\n",
			    rows[i].name, (long long)s->sent,
			    (long long)s->summed);
		assert_int_equal(s->sent, rows[i].sent);
		assert_int_equal(s->summaries, rows[i].summaries);
		assert_int_equal(s->summed, rows[i].summed);
		assert_int_equal(s->dropped_queue, rows[i].queue);
		assert_int_equal(s->dropped_breaker, rows[i].breaker);
		assert_rate(s, -1, US_PER_S, 50);
		assert_rate(s, 0, MINUTE, 60);
		assert_true(child_limit_idle(l));
		child_limit_free(l);
		free(s);
	}
}

/* While it is open nothing of that folder goes; 5 minutes, then one summary. */
static void
test_open_and_closed_again(void **)
{
	struct child_limit *l = child_limit_new(&SEED);
	struct child_out out;
	int64_t seq = 0;
	int singles = 0;

	for (int i = 0; i < 501; i++)
		take(l, 1, CHILD_DELETED, ++seq, T0);
	assert_false(child_limit_next(l, T0, &out)); /* nothing waits */
	assert_int_equal(child_limit_drops(l).n, CHILD_DROPS_MAX);
	assert_int_equal(child_limit_drops(l).more, 401);
	assert_int_equal(child_limit_drops(l).more_last, 501);
	child_limit_drops_done(l);
	take(l, 2, CHILD_CREATED, ++seq, T0); /* another folder */
	assert_true(child_limit_next(l, T0, &out));
	assert_int_equal(out.kind, CHILD_OUT_EVENT);
	assert_int_equal(out.seq, 502);
	assert_false(child_limit_next(l, T0, &out));
	take(l, 1, CHILD_CREATED, ++seq, T0 + 4 * MINUTE);
	assert_int_equal(child_limit_due(l, T0 + 4 * MINUTE), T0 + 5 * MINUTE);
	assert_false(child_limit_next(l, T0 + 5 * MINUTE - 1, &out));
	assert_true(child_limit_next(l, T0 + 5 * MINUTE, &out));
	assert_int_equal(out.kind, CHILD_OUT_SUMMARY);
	assert_int_equal(out.counts[CHILD_DELETED], 501);
	assert_int_equal(out.counts[CHILD_CREATED], 1);
	assert_int_equal(out.since_us, T0);
	assert_int_equal(out.until_us, T0 + 5 * MINUTE);
	assert_str(out.folder.id, "folder-1");
	assert_false(child_limit_next(l, T0 + 5 * MINUTE, &out));
	assert_true(child_limit_idle(l));
	/* CLOSED: singles again. */
	take(l, 1, CHILD_UPDATED, ++seq, T0 + 5 * MINUTE + 1);
	while (child_limit_next(l, T0 + 5 * MINUTE + 1, &out))
		singles += out.kind == CHILD_OUT_EVENT;
	assert_int_equal(singles, 1);
	child_limit_free(l);
}

/* A folder that may not send does not hold up another; each keeps its order. */
static void
test_order(void **)
{
	struct child_limit *l = child_limit_new(&SEED);
	int64_t last[2] = {0, 0}, seq = 0, now = T0;
	struct child_out out;
	int sent[2] = {0, 0};

	for (int i = 0; i < 200; i++)
		take(l, 0, CHILD_CREATED, ++seq, T0);
	for (int i = 0; i < 30; i++)
		take(l, 1, CHILD_CREATED, ++seq, T0);
	for (; now < T0 + 30 * US_PER_S; now += US_PER_S)
		while (child_limit_next(l, now, &out)) {
			int f = out.folder.id.p[7] - '0';

			assert_true(out.seq > last[f]);
			last[f] = out.seq;
			sent[f]++;
		}
	assert_int_equal(sent[0], 60);
	assert_int_equal(sent[1], 30);
	child_limit_free(l);
}

/* What is saved and loaded goes on as the other would. */
static void
test_saved(void **)
{
	struct child_limit *a = child_limit_new(&SEED);
	struct child_limit *b = child_limit_new(&SEED);
	struct arena *arena = arena_new(16 * MIB);
	struct buf text = BUF(CHILD_STATE_MAX), again = BUF(CHILD_STATE_MAX);
	struct child_out x, y;
	int64_t seq = 0, now = T0;
	struct err e;

	for (int i = 0; i < 501; i++)
		take(a, 1, CHILD_CREATED, ++seq, T0);
	for (int i = 0; i < 90; i++)
		take(a, 2 + i % 3, CHILD_UPDATED, ++seq, T0 + i);
	child_limit_save(a, &text);
	assert_false(text.failed);
	assert_int_equal(child_limit_load(b, arena, buf_str(&text), &e), OK);
	child_limit_save(b, &again);
	assert_int_equal(text.n, again.n);
	assert_memory_equal(text.p, again.p, text.n);
	for (; now < T0 + 6 * MINUTE; now += 100 * MS)
		while (child_limit_next(a, now, &x)) {
			assert_true(child_limit_next(b, now, &y));
			assert_int_equal(x.kind, y.kind);
			assert_int_equal(x.seq, y.seq);
			assert_memory_equal(
			    x.counts, y.counts, sizeof(x.counts));
		}
	assert_false(child_limit_next(b, now, &y));
	assert_true(child_limit_idle(b));
	buf_done(&text);
	buf_done(&again);
	arena_free(arena);
	child_limit_free(a);
	child_limit_free(b);
}

static void
test_bad_state(void **)
{
	static const char *const rows[] = {
	    "",
	    "{}",
	    "{\"folders\":[],\"queue\":[[0,0,1,1]]}",
	    "{\"folders\":[{}],\"queue\":[]}",
	    "{\"folders\":[],\"queue\":[1]}",
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct child_limit *l = child_limit_new(&SEED);
		struct arena *a = arena_new(1 * MIB);
		struct err e;

		assert_int_equal(
		    child_limit_load(l, a, str_of(rows[i]), &e), ERR_INVALID);
		arena_free(a);
		child_limit_free(l);
	}
}

/* Memory stays bounded, however many folders there are. */
static void
test_many_folders(void **)
{
	struct child_limit *l = child_limit_new(&SEED);
	struct child_out out;
	struct buf b = BUF(CHILD_STATE_MAX);
	int n = 0;

	for (int i = 0; i < 3 * CHILD_FOLDERS_MAX; i++)
		take(l, i, CHILD_CREATED, i + 1, T0);
	child_limit_save(l, &b);
	assert_false(b.failed);
	for (int s = 0; s < 20; s++)
		while (child_limit_next(l, T0 + s * US_PER_S, &out))
			n++;
	assert_int_equal(n, CHILD_QUEUE_MAX);
	assert_true(child_limit_idle(l));
	buf_done(&b);
	child_limit_free(l);
}

static void
test_types(void **)
{
	static const struct {
		const char *type;
		enum child_type want;
	} rows[] = {
	    {"cmis.child_created", CHILD_CREATED},
	    {"cmis.child_updated", CHILD_UPDATED},
	    {"cmis.child_deleted", CHILD_DELETED},
	    {"cmis.child_batch", CHILD_TYPES},
	    {"cmis.child_summary", CHILD_TYPES},
	    {"cmis.created", CHILD_TYPES},
	    {"", CHILD_TYPES},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(
		    child_type_of(str_of(rows[i].type)), rows[i].want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_scenarios),
	    cmocka_unit_test(test_open_and_closed_again),
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_saved),
	    cmocka_unit_test(test_bad_state),
	    cmocka_unit_test(test_many_folders),
	    cmocka_unit_test(test_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
