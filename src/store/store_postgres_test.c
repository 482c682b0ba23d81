/* What only PostgreSQL has; most of it needs HK_TEST_PG (tools/pgtemp). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* these before */
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>

#include "sql.h"
#include "store/fixture_test.h"
#include "store/limits.h"
#include "store/pgparam.h"
#include "store/store_driver.h"

struct bench {
	struct fixture f;
	struct db *w, *r;
};

static void
start(struct bench *b)
{
	struct err e = {.text = ""};

	if (!fixture_postgres())
		skip();
	fixture_open(&b->f, STORE_POSTGRES, NULL);
	if (db_open(b->f.store, DB_WRITE, &b->w, &e) < 0 ||
	    db_open(b->f.store, DB_READ, &b->r, &e) < 0)
		fail_msg("%s", e.text);
}

static void
stop(struct bench *b)
{
	db_close(b->w);
	db_close(b->r);
	fixture_close(&b->f);
}

/* Behind the store's back, in the test's own schema. */
static void
admin(const struct bench *b, const char *sql)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "SET search_path = \"%s\"; %s",
	    b->f.schema, sql);
	(void)fixture_admin(text);
}

/* Does something to all that serve this test's connections. */
static long
backends(const struct bench *b, const char *what)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
	    "SELECT %s FROM pg_stat_activity WHERE application_name = '%s'",
	    what, b->f.schema);
	return fixture_admin(text);
}

static void
kill_all(const struct bench *b)
{
	(void)backends(b, "pg_terminate_backend(pid, 5000)");
}

static bool
has(struct db *db, struct str name)
{
	struct err e = {.text = ""};
	struct rows *r;
	int n;

	if (sql_meta_get(db, &r, &e, .name = name) < 0)
		fail_msg("%s", e.text);
	n = rows_next(r, &e);
	rows_close(r);
	return n == 1;
}

static void
binary_arrays(void **)
{
	static const int64_t INTS[] = {1, -2};
	static const struct str STRS[] = {{"ab", 2}, {NULL, 0}, {"", 0}};
	static const char WANT_INTS[] =
	    "\0\0\0\1\0\0\0\0\0\0\0\x14\0\0\0\2\0\0\0\1"
	    "\0\0\0\x8\0\0\0\0\0\0\0\1\0\0\0\x8\xff\xff\xff\xff\xff\xff\xff\xfe";
	static const char WANT_STRS[] =
	    "\0\0\0\1\0\0\0\1\0\0\0\x19\0\0\0\3\0\0\0\1"
	    "\0\0\0\2ab\xff\xff\xff\xff\0\0\0\0";
	static const char WANT_NONE[] = "\0\0\0\0\0\0\0\0\0\0\0\x11";
	const struct val args[] = {
	    {.type = VAL_INTS, .iv = INTS, .n = 2},
	    {.type = VAL_INT, .i = 258},
	    {.type = VAL_TEXTS, .sv = STRS, .n = 3},
	    {.type = VAL_BYTESS, .sv = STRS, .n = 0},
	    {.type = VAL_NULL},
	};
	const struct str want[] = {STR(WANT_INTS), STR("\0\0\0\0\0\0\1\2"),
	    STR(WANT_STRS), STR(WANT_NONE)};
	struct pgparam p = {.arrays.p = NULL};
	struct err e;

	assert_int_equal(pgparam_set(&p, args, COUNT_OF(args), &e), OK);
	for (size_t i = 0; i < COUNT_OF(want); i++) {
		assert_int_equal(p.lengths[i], want[i].n);
		assert_memory_equal(p.values[i], want[i].p, want[i].n);
	}
	assert_null(p.values[4]);
	pgparam_done(&p);
}

static void
bounded_arrays(void **)
{
	static char large[20 * MIB];
	const struct str strs[] = {{large, sizeof(large)}, {large, 1}};
	const struct str more[] = {
	    {large, sizeof(large)}, {large, sizeof(large)}};
	const struct val fits = {.type = VAL_TEXTS, .sv = strs, .n = 2};
	const struct val over = {.type = VAL_TEXTS, .sv = more, .n = 2};
	struct pgparam p = {.arrays.p = NULL};
	struct err e;

	assert_int_equal(pgparam_set(&p, &over, 1, &e), ERR_LIMIT);
	assert_int_equal(pgparam_set(&p, &fits, 1, &e), OK);
	pgparam_sent(&p);
	assert_int_equal(p.arrays.cap, 0);
}

static void
nobody_there(void **)
{
	struct store_opts o = {.dir = "/tmp",
	    .url = "postgres://u:geheim@/x?host=/tmp/hk-test-none"};
	int64_t began = clock_mono_ms();
	struct store *s;
	struct err e;

	assert_int_equal(store_open(&o, &s, &e), ERR_AWAY);
	assert_true(e.retry_after_s > 0);
	assert_null(strstr(e.text, "geheim"));
	assert_true(clock_mono_ms() - began < 1000);
}

static void
name(void **)
{
	struct bench b;

	start(&b);
	assert_non_null(strstr(store_name(b.f.store), "postgres "));
	assert_non_null(strstr(store_name(b.f.store), "/hikyaku"));
	stop(&b);
}

static void
lost_while_idle(void **)
{
	struct bench b;
	struct err e;

	start(&b);
	assert_int_equal(
	    sql_meta_put(b.w, &e, .name = STR("a"), .value = STR("1")), 1);
	assert_true(has(b.r, STR("a")));
	kill_all(&b);
	/* Seen before anything was sent: neither away nor uncertain. */
	assert_int_equal(
	    sql_meta_put(b.w, &e, .name = STR("b"), .value = STR("1")), 1);
	assert_true(has(b.r, STR("b")));
	stop(&b);
}

struct loser {
	const struct bench *b;
	int runs;
};

static int
lose_once(struct db *db, void *ctx, struct err *e)
{
	struct loser *l = ctx;

	if (sql_meta_put(db, e, .name = STR("a"), .value = STR("1")) < 0)
		return e->code;
	if (l->runs++ == 0)
		kill_all(l->b);
	/* Must not reconnect and go on outside of the transaction. */
	if (sql_meta_put(db, e, .name = STR("b"), .value = STR("1")) < 0)
		return e->code;
	return OK;
}

static void
lost_in_transaction(void **)
{
	struct bench b;
	struct loser l = {.b = &b};
	struct err e;

	start(&b);
	assert_int_equal(db_begin(b.w, &e), OK);
	assert_int_equal(
	    sql_meta_put(b.w, &e, .name = STR("x"), .value = STR("1")), 1);
	kill_all(&b);
	assert_int_equal(
	    sql_meta_put(b.w, &e, .name = STR("y"), .value = STR("1")),
	    ERR_AWAY);
	assert_false(b.w->up);
	assert_int_equal(
	    sql_meta_put(b.w, &e, .name = STR("y"), .value = STR("1")),
	    ERR_AWAY);
	assert_int_equal(db_commit(b.w, &e), ERR_AWAY);
	assert_false(has(b.r, STR("x")));
	assert_false(has(b.r, STR("y")));

	assert_int_equal(db_tx(b.w, lose_once, &l, &e), OK);
	assert_int_equal(l.runs, 2);
	assert_true(has(b.r, STR("a")) && has(b.r, STR("b")));
	stop(&b);
}

static void *
kill_soon(void *arg)
{
	(void)usleep(300 * 1000);
	kill_all(arg);
	return NULL;
}

static int64_t
put_tx(struct db *db, struct err *e)
{
	int64_t n = db_begin(db, e);

	if (n == OK)
		n = sql_meta_put(db, e, .name = STR("a"), .value = STR("1"));
	return n < 0 ? n : db_commit(db, e);
}

/* A commit that takes its time and whose connection goes meanwhile. */
static void
lost_at_commit(void **)
{
	struct bench b;
	struct err e;

	start(&b);
	admin(&b, "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
		  " 'BEGIN PERFORM pg_sleep(2); RETURN NULL; END';"
		  "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON meta"
		  " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
		  " EXECUTE FUNCTION slow()");
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		int64_t rc;

		assert_int_equal(pthread_create(&t, NULL, kill_soon, &b), 0);
		rc = i == 0 ? put_tx(b.w, &e)
			    : sql_meta_put(
				  b.w, &e, .name = STR("a"), .value = STR("1"));
		(void)pthread_join(t, NULL);
		assert_int_equal(rc, ERR_UNCERTAIN);
		assert_int_equal(db_ping(b.w, &e), OK);
	}
	stop(&b);
}

/* A server that is there and says nothing. */
static void
stopped(void **)
{
	struct bench b;
	struct err e;
	int64_t began, took;
	pid_t pid;

	start(&b);
	assert_int_equal(
	    sql_meta_put(b.w, &e, .name = STR("a"), .value = STR("1")), 1);
	db_close(b.r);
	b.r = NULL;
	pid = (pid_t)backends(&b, "pid");
	assert_true(pid > 0);
	if (kill(pid, SIGSTOP) < 0) {
		stop(&b);
		skip(); /* it is on another machine, or not ours */
	}
	began = clock_mono_ms();
	assert_int_equal(
	    sql_meta_put(b.w, &e, .name = STR("a"), .value = STR("2")),
	    ERR_UNCERTAIN);
	took = clock_mono_ms() - began;
	assert_in_range(took, STORE_WAIT_MS, STORE_WAIT_MS + 2000);
	assert_false(b.w->up);
	(void)kill(pid, SIGCONT);
	assert_int_equal(db_ping(b.w, &e), OK);
	assert_true(b.w->up);
	stop(&b);
}

static void
states(void **)
{
	static const struct {
		const char *sqlstate;
		int want;
	} ROWS[] = {
	    {"23505", ERR_CONFLICT},
	    {"23503", ERR_STORE},
	    {"40001", ERR_BUSY},
	    {"40P01", ERR_BUSY},
	    {"53100", ERR_FULL},
	    {"53300", ERR_AWAY},
	    {"57P03", ERR_AWAY},
	    {"57014", ERR_AWAY},
	    {"22012", ERR_STORE},
	};
	struct bench b;
	struct err e;

	start(&b);
	admin(&b,
	    "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
	    " 'BEGIN RAISE EXCEPTION ''told to'' USING ERRCODE = NEW.value;"
	    " END';"
	    "CREATE TRIGGER fail BEFORE INSERT ON meta FOR EACH ROW"
	    " EXECUTE FUNCTION fail()");
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		assert_int_equal(sql_meta_put(b.w, &e, .name = STR("a"),
				     .value = str_of(ROWS[i].sqlstate)),
		    ROWS[i].want);
		assert_non_null(strstr(e.text, "told to"));
		assert_true(b.w->up);
	}
	stop(&b);
}

#define BATCH 1024

struct batch {
	int64_t to_subs[BATCH], kinds[BATCH], hs[BATCH];
	struct str tenants[BATCH], ids[BATCH], hashes[BATCH], types[BATCH],
	    pkeys[BATCH], rvs[BATCH], attrss[BATCH], bodies[BATCH];
	uint64_t id[BATCH];
	int64_t seq[BATCH];
	bool old[BATCH];
};

/* n ids from `from` on; two ids share a hash, to be told apart in the log. */
static void
append(struct db *db, struct batch *b, uint64_t from, size_t n)
{
	struct err e = {.text = ""};
	struct rows *r;
	size_t got = 0;

	for (size_t i = 0; i < n; i++) {
		struct str id = {(char *)&b->id[i], sizeof(b->id[i])};

		b->id[i] = from + i;
		b->kinds[i] = 0;
		b->to_subs[i] = 0;
		b->hs[i] = (int64_t)((from + i) / 2 * 0x9e3779b97f4a7c15u);
		b->tenants[i] = STR_EMPTY;
		b->ids[i] = b->hashes[i] = id;
		b->types[i] = STR("a.b.c");
		b->pkeys[i] = STR("key");
		b->rvs[i] = i % 2 ? STR("17") : (struct str){NULL, 0};
		b->attrss[i] = i % 2 ? STR("{}") : (struct str){NULL, 0};
		b->bodies[i] = STR("{\"a\":\"\0 body\"}");
	}
	if (sql_log_append(db, &r, &e, .kinds = b->kinds, .tenants = b->tenants,
		.event_ids = b->ids, .hs = b->hs, .hashes = b->hashes,
		.types = b->types, .pkeys = b->pkeys, .rvs = b->rvs,
		.now = 60000000, .to_subs = b->to_subs, .attrss = b->attrss,
		.bodies = b->bodies, .n_each = n) < 0)
		fail_msg("%s", e.text);
	while (rows_next(r, &e) == 1) {
		struct sql_log_append_row row;

		sql_log_append_get(r, &row);
		assert_in_range(row.ord, 1, n);
		b->seq[row.ord - 1] = row.seq;
		b->old[row.ord - 1] = row.old_hash.p;
		if (row.old_hash.p)
			assert_true(
			    str_eq(row.old_hash, b->hashes[row.ord - 1]));
		got++;
	}
	rows_close(r);
	assert_int_equal(got, n);
}

static void
append_to_log(void **)
{
	static struct batch a;
	struct bench b;
	struct rows *r;
	struct err e;

	start(&b);
	append(b.w, &a, 0, 0);
	append(b.w, &a, 100, 10);
	for (size_t i = 0; i < 10; i++) {
		assert_int_equal(a.seq[i], i + 1);
		assert_false(a.old[i]);
	}
	/* Five known, five new; 110 has the hash of none, 111 that of 110. */
	append(b.w, &a, 105, 10);
	for (size_t i = 0; i < 10; i++) {
		assert_int_equal(a.seq[i], i + 6);
		assert_int_equal(a.old[i], i < 5);
	}
	assert_int_equal(sql_log_get(b.r, &r, &e, .seq = 2), OK);
	assert_int_equal(rows_next(r, &e), 1);
	assert_true(str_eq(rows_str(r, 5), STR("{\"a\":\"\0 body\"}")));
	rows_close(r);
	assert_int_equal(sql_mark_first_from(b.r, &r, &e, .minute = 0), OK);
	assert_int_equal(rows_next(r, &e), 1);
	assert_int_equal(rows_int(r, 0), 1);
	assert_int_equal(rows_int(r, 1), 1);
	rows_close(r);
	stop(&b);
}

/* The plan of an empty log must do for a large one: same connection. */
static void
append_stays_fast(void **)
{
	static struct batch a;
	struct bench b;
	int64_t began, best = INT64_MAX;

	start(&b);
	for (uint64_t i = 0; i < 8; i++)
		append(b.w, &a, 1 + i, 1);
	began = clock_mono_ms();
	for (uint64_t i = 1; i <= 50; i++)
		append(b.w, &a, i * BATCH, BATCH);
	assert_true(clock_mono_ms() - began < 10 * 1000); /* 1 s; 30 s if not */
	for (uint64_t i = 0; i < 10; i++) {
		began = clock_mono_us();
		append(b.w, &a, i % 2 ? BATCH : 900000 + i * 64, 64);
		if (clock_mono_us() - began < best)
			best = clock_mono_us() - began;
	}
	assert_true(best < 20 * US_PER_MS);
	stop(&b);
}

static void
pieces(void **)
{
	static const struct {
		int64_t upto;
		int made;
	} ROWS[] = {{1, 0}, {(1 << 23) - 1, 0}, {1 << 23, 1}, {1 << 23, 0},
	    {INT64_C(1) << 26, 3}};
	struct bench b;
	struct rows *r;
	struct err e = {.text = ""};

	start(&b);
	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		if (sql_pieces_make(b.w, &r, &e, .upto = ROWS[i].upto) < 0)
			fail_msg("%s", e.text);
		assert_int_equal(rows_next(r, &e), 1);
		assert_int_equal(rows_int(r, 0), ROWS[i].made);
		rows_close(r);
	}
	stop(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(binary_arrays),
	    cmocka_unit_test(bounded_arrays),
	    cmocka_unit_test(nobody_there),
	    cmocka_unit_test(name),
	    cmocka_unit_test(lost_while_idle),
	    cmocka_unit_test(lost_in_transaction),
	    cmocka_unit_test(lost_at_commit),
	    cmocka_unit_test(stopped),
	    cmocka_unit_test(states),
	    cmocka_unit_test(append_to_log),
	    cmocka_unit_test(append_stays_fast),
	    cmocka_unit_test(pieces),
	};

	return cmocka_run_group_tests_name("postgres", tests, NULL, NULL);
}
