/* The chain on both engines: rows as they are told, edits, retention, lists. */
#include "audit/audit.h"

#include <pthread.h>
#include <sqlite3.h>

#include "audit/limits.h"
#include "base/test.h"
#include "store/fixture_test.h"
#include "store/limits.h"

#define NOW (INT64_C(1700000000) * US_PER_S)

struct world {
	struct fixture f;
	struct db *db;
	struct arena *a;
	struct err e;
};

static int
begin_on(void **state, enum store_engine engine)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	fixture_open(&w->f, engine, NULL);
	assert_int_equal(db_open(w->f.store, DB_WRITE, &w->db, &w->e), OK);
	w->a = arena_new(16 * MIB);
	assert_non_null(w->a);
	*state = w;
	return 0;
}

static int
begin_sqlite(void **state)
{
	return begin_on(state, STORE_SQLITE);
}

static int
begin_postgres(void **state)
{
	return begin_on(state, STORE_POSTGRES);
}

static int
end(void **state)
{
	struct world *w = *state;

	db_close(w->db);
	arena_free(w->a);
	fixture_close(&w->f);
	free(w);
	return 0;
}

/* Behind the program's back. */
static void
edit(struct world *w, const char *sql)
{
	char text[512];
	sqlite3 *db = NULL;
	char *said = NULL;

	if (w->f.schema[0]) {
		(void)snprintf(text, sizeof(text),
		    "SET search_path = \"%s\"; %s", w->f.schema, sql);
		(void)fixture_admin(text);
		return;
	}
	(void)snprintf(text, sizeof(text), "%s/hikyaku.db", w->f.dir);
	assert_int_equal(sqlite3_open(text, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &said) != SQLITE_OK)
		fail_msg("%s", said);
	(void)sqlite3_close(db);
}

static void
put(struct world *w, const struct audit_row *rows, size_t n)
{
	assert_int_equal(db_begin(w->db, &w->e), OK);
	if (audit_put_many(w->db, rows, n, &w->e) < 0)
		fail_msg("%s", w->e.text);
	assert_int_equal(db_commit(w->db, &w->e), OK);
}

/* n rows, a minute apart, of two categories in turn. */
static void
fill(struct world *w, int n, size_t each)
{
	static struct audit_row rows[AUDIT_MANY_MAX];
	int done = 0;

	while (done < n) {
		size_t k = 0;

		for (; k < each && done < n; k++, done++)
			rows[k] = (struct audit_row){
			    .category = done % 2 ? AUDIT_KEY_REVOKED
						 : AUDIT_KEY_CREATED,
			    .at_us = NOW + done * 60 * US_PER_S,
			    .actor = STR("user:anna"),
			};
		put(w, rows, k);
	}
}

static struct audit_walk
walk(struct world *w)
{
	struct audit_walk x = {0};

	while (!x.done && !x.broken)
		assert_int_equal(audit_walk(w->db, &x, &w->e), OK);
	return x;
}

static void
retain(struct world *w, int64_t cut_us, int64_t want)
{
	int64_t n = 0;
	bool old = false;

	assert_int_equal(audit_old(w->db, cut_us, &old, &w->e), OK);
	assert_int_equal(old, want > 0);
	assert_int_equal(db_begin(w->db, &w->e), OK);
	assert_int_equal(audit_retain(w->db, cut_us, &n, &w->e), OK);
	assert_int_equal(db_commit(w->db, &w->e), OK);
	assert_int_equal(n, want);
}

struct seen {
	struct world *w;
	int n;
	struct str first, last;
	int enough; /* rows after which it has enough; 0: never */
};

static int
see(void *ctx, struct str row, struct err *)
{
	struct seen *s = ctx;

	if (s->enough && s->n == s->enough)
		return AUDIT_ENOUGH;
	s->last = arena_dup(s->w->a, row);
	if (s->n++ == 0)
		s->first = s->last;
	return OK;
}

/* Every part of seed 6.6.2, and nothing secret. */
static void
test_row(void **state)
{
	static const struct str names[] = {STR("Content-Type"), STR("X-A")};
	struct world *w = *state;
	struct seen s = {.w = w};
	struct audit_at next;
	struct audit_query q = {.limit = 10};
	struct json *j = NULL;
	char *id;
	struct audit_row row = {
	    .category = AUDIT_WEBHOOK_DELIVERY_SUCCESS,
	    .at_us = NOW,
	    .triggered_by = STR("user1"),
	    .repository = STR("bedroom"),
	    .object_id = STR("doc"),
	    .object_name = STR("r\xff.pdf"),
	    .object_path = STR("/Sites/r.pdf"),
	    .webhook_id = STR("webhook-1"),
	    .url = STR("https://me:pw@example.com/hook?token=abc"),
	    .event_type = STR("UPDATED"),
	    .delivery_id = STR("d-1"),
	    .has_result = true,
	    .success = true,
	    .status = 200,
	    .attempts = 1,
	    .ms = 150,
	    .payload_bytes = 2048,
	    .header_names = names,
	    .n_header_names = 2,
	    .trigger = STR("{\"changeType\":\"UPDATED\"}"),
	};

	put(w, &row, 1);
	assert_int_equal(audit_list(w->db, &q, see, &s, &next, &w->e), OK);
	assert_int_equal(s.n, 1);
	assert_int_equal(next.n, 0);
	assert_int_equal(json_parse(w->a, s.first, &j, &w->e), OK);
	assert_int_equal(json_get(j, "id")->text.n, 36);
	/* The id is another each time. */
	id = strstr(arena_z(w->a, s.first), "\",\"timestamp");
	assert_non_null(id);
	assert_string_equal(id,
	    "\",\"timestamp\":\"2023-11-14T22:13:20.000Z\","
	    "\"category\":\"WEBHOOK_DELIVERY_SUCCESS\","
	    "\"repositoryId\":\"bedroom\","
	    "\"actor\":{\"type\":\"SYSTEM\",\"triggeredBy\":\"user1\"},"
	    "\"target\":{\"objectId\":\"doc\",\"objectName\":\"r?.pdf\","
	    "\"objectPath\":\"/Sites/r.pdf\"},"
	    "\"webhook\":{\"webhookId\":\"webhook-1\","
	    "\"url\":\"https://********@example.com/hook?********\","
	    "\"eventType\":\"UPDATED\",\"deliveryId\":\"d-1\"},"
	    "\"result\":{\"success\":true,\"statusCode\":200,"
	    "\"responseTime\":150,\"attemptCount\":1},"
	    "\"details\":{\"payloadSize\":2048,"
	    "\"requestHeaders\":[\"Content-Type\",\"X-A\"],"
	    "\"triggerEvent\":{\"changeType\":\"UPDATED\"}}}");
}

/* The largest of everything is told, cut; nothing is refused. */
static void
test_large(void **state)
{
	struct world *w = *state;
	size_t n = 20000;
	char *ctl = malloc(n), *wide = malloc(n), *url = malloc(n);
	struct seen s = {.w = w};
	struct audit_query q = {.limit = 10};
	struct audit_at next;
	struct json *j = NULL;
	struct audit_row row;

	assert_true(ctl && wide && url);
	memset(ctl, 1, n);
	for (size_t i = 0; i < n; i++)
		wide[i] = "\xe3\x81\x82"[i % 3];
	memset(url, 'a', n);
	memcpy(url, "http://", 7);
	row = (struct audit_row){.category = AUDIT_KEY_CREATED,
	    .at_us = NOW,
	    .actor = {wide, n},
	    .object_id = {ctl, n},
	    .object_name = {ctl, n},
	    .object_path = {ctl, n},
	    .url = {url, n},
	    .webhook_id = {ctl, n},
	    .has_result = true,
	    .error = {ctl, n},
	    .details = {wide, n}};
	put(w, &row, 1);
	assert_int_equal(audit_list(w->db, &q, see, &s, &next, &w->e), OK);
	assert_int_equal(json_parse(w->a, s.first, &j, &w->e), OK);
	assert_true(json_is(json_at(j, STR("/details/truncated")), JSON_TRUE));
	assert_int_equal(
	    json_at(j, STR("/actor/name"))->text.n, AUDIT_TEXT_MAX / 3 * 3);
	assert_true(walk(w).done);
	free(ctl);
	free(wide);
	free(url);
}

static void
test_chain(void **state)
{
	struct world *w = *state;
	struct audit_walk x = walk(w);

	assert_true(x.done && !x.broken);
	assert_int_equal(x.rows, 0);
	fill(w, 1500, 700);
	fill(w, 3, 1);
	x = walk(w);
	assert_true(x.done && !x.broken);
	assert_int_equal(x.rows, 1503);
	assert_int_equal(x.head, 1503);
}

/* A transaction that fails leaves no row and no number. */
static void
test_rolled_back(void **state)
{
	struct world *w = *state;
	struct audit_row row = {.category = AUDIT_KEY_CREATED, .at_us = NOW};
	struct audit_walk x;

	fill(w, 2, 2);
	assert_int_equal(db_begin(w->db, &w->e), OK);
	assert_int_equal(audit_put(w->db, &row, &w->e), OK);
	db_rollback(w->db);
	fill(w, 2, 2);
	x = walk(w);
	assert_true(x.done && !x.broken);
	assert_int_equal(x.rows, 4);
}

static void
test_edits(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *sql, *undo;
		int64_t n;
		const char *why;
	} rows[] = {
	    {"UPDATE audit SET row = replace(row, 'anna', 'bert') WHERE n = 7",
		"UPDATE audit SET row = replace(row, 'bert', 'anna') WHERE n = 7",
		7, "not what was written"},
	    {"UPDATE audit SET at = at + 1 WHERE n = 1",
		"UPDATE audit SET at = at - 1 WHERE n = 1", 1,
		"not what was written"},
	    {"UPDATE audit SET category = 'KEY_REVOKEd' WHERE n = 10",
		"UPDATE audit SET category = 'KEY_REVOKED' WHERE n = 10", 10,
		"not what was written"},
	    {"UPDATE audit_head SET n = 9", "UPDATE audit_head SET n = 10", 9,
		"head"},
	    {"UPDATE audit_head SET n = 11", "UPDATE audit_head SET n = 10", 11,
		"missing"},
	    {"UPDATE audit SET n = -5 WHERE n = 5",
		"UPDATE audit SET n = 5 WHERE n = -5", 5, "missing"},
	    {"UPDATE audit SET n = -1 WHERE n = 1",
		"UPDATE audit SET n = 1 WHERE n = -1", 1, "missing"},
	    {"DELETE FROM audit WHERE n = 10", "", 10, "missing"},
	};

	fill(w, 10, 10);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct audit_walk x;

		assert_true(walk(w).done);
		edit(w, rows[i].sql);
		x = walk(w);
		if (!x.broken || x.broken_n != rows[i].n ||
		    !strstr(x.why, rows[i].why))
			fail_msg("%s: %d %lld %s", rows[i].sql, x.broken,
			    (long long)x.broken_n, x.why);
		edit(w, rows[i].undo[0] ? rows[i].undo : "SELECT 1");
	}
}

/* What is left after retention is still a chain, to the last row. */
static void
test_retention(void **state)
{
	struct world *w = *state;
	struct audit_walk x;

	fill(w, 1200, AUDIT_MANY_MAX);
	retain(w, NOW, 0);
	retain(w, NOW + 700 * 60 * US_PER_S, RETAIN_STEP);
	x = walk(w);
	assert_true(x.done && !x.broken);
	assert_int_equal(x.rows, 700);
	retain(w, NOW + 700 * 60 * US_PER_S, 200);
	retain(w, NOW + 700 * 60 * US_PER_S, 0);
	/* A walk that retention overtakes goes on behind it. */
	x = (struct audit_walk){.begun = true, .n = 3};
	while (!x.done && !x.broken)
		assert_int_equal(audit_walk(w->db, &x, &w->e), OK);
	assert_true(!x.broken && x.rows == 500);
	retain(w, INT64_MAX, RETAIN_STEP);
	fill(w, 1, 1);
	x = walk(w);
	assert_true(x.done && !x.broken);
	assert_int_equal(x.rows, 1);
	assert_int_equal(x.head, 1201);
}

static void
test_list(void **state)
{
	struct world *w = *state;
	enum audit_category one = AUDIT_KEY_REVOKED;
	static const struct {
		int64_t from_min, to_min; /* -1: none */
		bool one;
		size_t limit;
		int enough, pages, rows;
	} cases[] = {
	    {-1, -1, false, 50, 0, 1, 20},
	    {-1, -1, false, 20, 0, 1, 20},
	    {-1, -1, false, 19, 0, 2, 20},
	    {-1, -1, false, 6, 0, 4, 20},
	    {-1, -1, false, 50, 6, 4, 20},
	    {-1, -1, true, 3, 0, 4, 10},
	    {5, 8, false, 50, 0, 1, 3},
	    {5, 8, true, 50, 0, 1, 2},
	    {5, -1, false, 4, 0, 4, 15},
	    {-1, 5, false, 4, 0, 2, 5},
	    {8, 5, false, 50, 0, 1, 0},
	};

	fill(w, 20, 20);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct audit_query q = {
		    .limit = cases[i].limit, .one = cases[i].one ? &one : NULL};
		int rows = 0, pages = 0;
		struct str last = STR("~");

		if (cases[i].from_min >= 0)
			q.from_us = NOW + cases[i].from_min * 60 * US_PER_S;
		if (cases[i].to_min >= 0)
			q.to_us = NOW + cases[i].to_min * 60 * US_PER_S;
		do {
			struct seen s = {.w = w, .enough = cases[i].enough};
			struct json *j = NULL;

			assert_int_equal(
			    audit_list(w->db, &q, see, &s, &q.after, &w->e),
			    OK);
			rows += s.n;
			pages++;
			if (s.n == 0)
				break;
			assert_int_equal(
			    json_parse(w->a, s.first, &j, &w->e), OK);
			assert_true(
			    str_cmp(json_get(j, "timestamp")->text, last) < 0);
			assert_int_equal(
			    json_parse(w->a, s.last, &j, &w->e), OK);
			last = json_get(j, "timestamp")->text;
		} while (q.after.n);
		if (rows != cases[i].rows || pages != cases[i].pages)
			fail_msg(
			    "case %zu: %d rows on %d pages", i, rows, pages);
	}
}

struct writer {
	struct world *w;
	int failures;
};

static int
put_three(struct db *db, void *, struct err *e)
{
	struct audit_row rows[3] = {
	    {.at_us = NOW}, {.at_us = NOW}, {.at_us = NOW}};

	return audit_put_many(db, rows, COUNT_OF(rows), e);
}

static void *
write_many(void *arg)
{
	struct writer *x = arg;
	struct db *db = NULL;
	struct err e;

	if (db_open(x->w->f.store, DB_WRITE, &db, &e) < 0)
		x->failures++;
	for (int i = 0; db && i < 40; i++)
		if (db_tx(db, put_three, NULL, &e) < 0)
			x->failures++;
	db_close(db);
	return NULL;
}

/* Two nodes at once: one chain. */
static void
test_two_writers(void **state)
{
	struct world *w = *state;
	struct writer x[2] = {{.w = w}, {.w = w}};
	pthread_t t[2];
	struct audit_walk walked;

	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    pthread_create(&t[i], NULL, write_many, &x[i]), 0);
	for (int i = 0; i < 2; i++) {
		(void)pthread_join(t[i], NULL);
		assert_int_equal(x[i].failures, 0);
	}
	walked = walk(w);
	assert_true(walked.done && !walked.broken);
	assert_int_equal(walked.rows, 240);
}

static void
test_names(void **)
{
	enum audit_category c = AUDIT_COUNT;

	assert_true(audit_category_of(STR("KEY_CREATED"), &c));
	assert_int_equal(c, AUDIT_KEY_CREATED);
	assert_false(audit_category_of(STR("key_created"), &c));
	assert_false(audit_category_of(STR_EMPTY, &c));
	assert_string_equal(audit_name(AUDIT_WEBHOOK_DELIVERY_SUCCESS),
	    "WEBHOOK_DELIVERY_SUCCESS");
}

int
main(void)
{
#define BOTH(T)                                                                \
	T(test_row), T(test_large), T(test_chain), T(test_rolled_back),        \
	    T(test_edits), T(test_retention), T(test_list),                    \
	    T(test_two_writers), T(test_names)
#define ON_SQLITE(f)   cmocka_unit_test_setup_teardown(f, begin_sqlite, end)
#define ON_POSTGRES(f) cmocka_unit_test_setup_teardown(f, begin_postgres, end)
	const struct CMUnitTest sqlite[] = {BOTH(ON_SQLITE)};
	const struct CMUnitTest postgres[] = {BOTH(ON_POSTGRES)};
	int failed = cmocka_run_group_tests(sqlite, NULL, NULL);

	if (fixture_postgres())
		failed += cmocka_run_group_tests(postgres, NULL, NULL);
	return failed;
}
