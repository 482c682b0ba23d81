/*
 * One suite over every engine: SQLite, SQLite behind the fake, and PostgreSQL
 * when HK_TEST_PG is set. What only one engine has is tested beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* these before */
#include <cmocka.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "sql.h"
#include "store/fixture_test.h"
#include "store/pgparam.h"
#include "store/store_driver.h"

struct engine {
	const char *name;
	enum store_engine kind;
	const char *fault; /* far away: only that calls go through the fake */
};
static struct engine ENGINES[] = {
    {"sqlite", STORE_SQLITE, NULL},
    {"fake", STORE_SQLITE, "exec:1000000"},
    {"postgres", STORE_POSTGRES, NULL},
};

struct bench {
	struct fixture f;
	struct db *w, *r;
};

static void
start(struct bench *b, const struct engine *on, const char *fault)
{
	struct err e = {.text = ""};

	fixture_open(&b->f, on->kind, fault ? fault : on->fault);
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

/* The value of a name of meta as a number; -1 when there is none. */
static int64_t
value(struct db *db, struct str name)
{
	struct err e = {.text = ""};
	struct rows *r;
	int64_t v = -1;

	if (sql_meta_get(db, &r, &e, .name = name) < 0)
		fail_msg("%s", e.text);
	if (rows_next(r, &e) == 1)
		assert_true(str_int(rows_str(r, 0), &v));
	rows_close(r);
	return v;
}

static int64_t
put(struct db *db, struct str name, int64_t v, struct err *e)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%lld", (long long)v);

	return sql_meta_put(
	    db, e, .name = name, .value = (struct str){text, (size_t)n});
}

static void
round_trip(void **state)
{
	static char large[MIB];
	static const int64_t INTS[] = {
	    0, 1, -1, INT32_MAX, INT64_C(1) << 40, INT64_MIN, INT64_MAX};
	const struct str none = {.p = NULL};
	const struct {
		struct str text, bytes;
	} ROWS[] = {
	    {STR("plain"), STR("plain")},
	    {STR_EMPTY, STR_EMPTY},
	    {none, none},
	    {STR("飛脚 \xf0\x9f\x8f\x83"), STR("\xff\xfe")},
	    {STR("1"), STR("a\0b\0\0")},
	    {{large, sizeof(large)}, {large, sizeof(large)}},
	};
	struct bench b;
	struct rows *r;
	struct err e = {.text = ""};

	start(&b, *state, NULL);
	memset(large, 'x', sizeof(large));
	for (size_t i = 0; i < COUNT_OF(ROWS) * COUNT_OF(INTS); i++) {
		const int64_t *n = &INTS[i % COUNT_OF(INTS)];
		struct str t = ROWS[i % COUNT_OF(ROWS)].text;
		struct str y = ROWS[i % COUNT_OF(ROWS)].bytes;
		struct sql_echo_row row;

		if (i % 5 == 0)
			n = NULL;
		assert_int_equal(
		    sql_echo(b.r, &r, &e, .i = n, .t = t, .b = y), OK);
		assert_int_equal(rows_next(r, &e), 1);
		sql_echo_get(r, &row);
		assert_int_equal(row.i, n ? *n : 0);
		assert_int_equal(row.i_null, !n);
		assert_true(str_eq(row.t, t) && !row.t.p == !t.p);
		assert_true(str_eq(row.b, y) && !row.b.p == !y.p);
		assert_int_equal(rows_null(r, 1), !t.p);
		assert_int_equal(rows_next(r, &e), 0);
		rows_close(r);
	}
	stop(&b);
}

static void
transactions(void **state)
{
	struct bench b;
	struct err e;

	start(&b, *state, NULL);
	assert_int_equal(db_begin(b.w, &e), OK);
	assert_int_equal(put(b.w, STR("a"), 1, &e), 1);
	assert_int_equal(value(b.w, STR("a")), 1);
	assert_int_equal(value(b.r, STR("a")), -1);
	db_rollback(b.w);
	assert_int_equal(value(b.w, STR("a")), -1);
	db_rollback(b.w); /* nothing to do, and no harm */

	assert_int_equal(db_begin(b.w, &e), OK);
	assert_int_equal(put(b.w, STR("a"), 2, &e), 1);
	assert_int_equal(db_commit(b.w, &e), OK);
	assert_int_equal(value(b.r, STR("a")), 2);

	assert_int_equal(put(b.w, STR("a"), 3, &e), 1); /* by itself */
	assert_int_equal(value(b.r, STR("a")), 3);

	/* A reader's transaction is one moment. */
	assert_int_equal(db_begin(b.r, &e), OK);
	assert_int_equal(value(b.r, STR("a")), 3);
	assert_int_equal(put(b.w, STR("a"), 4, &e), 1);
	assert_int_equal(value(b.r, STR("a")), 3);
	assert_int_equal(db_commit(b.r, &e), OK);
	assert_int_equal(value(b.r, STR("a")), 4);
	stop(&b);
}

static void
reader_can_not_write(void **state)
{
	struct bench b;
	struct err e;

	start(&b, *state, NULL);
	assert_true(put(b.r, STR("a"), 1, &e) < 0);
	assert_int_equal(value(b.w, STR("a")), -1);
	stop(&b);
}

struct work {
	int runs, rc;
};

static int
work(struct db *db, void *ctx, struct err *e)
{
	struct work *w = ctx;

	w->runs++;
	if (put(db, STR("a"), 1, e) < 0)
		return e->code;
	return w->rc < 0 ? err_set(e, (enum err_code)w->rc, "ours") : OK;
}

static void
failing_function(void **state)
{
	struct work w = {.rc = ERR_DENIED};
	struct bench b;
	struct err e;

	start(&b, *state, NULL);
	assert_int_equal(db_tx(b.w, work, &w, &e), ERR_DENIED);
	assert_string_equal(e.text, "ours");
	assert_int_equal(w.runs, 1);
	assert_int_equal(value(b.r, STR("a")), -1);
	w.rc = OK;
	assert_int_equal(db_tx(b.w, work, &w, &e), OK);
	assert_int_equal(value(b.r, STR("a")), 1);
	stop(&b);
}

static int
swallow(struct db *db, void *, struct err *e)
{
	assert_int_equal(put(db, STR("a"), 1, e), 1);
	assert_int_equal(sql_version_put(db, e, .version = 1, .name = STR("x"),
			     .applied_at = 0),
	    ERR_CONFLICT);
	/* Doomed: nothing more is taken, on either engine. */
	assert_int_equal(put(db, STR("b"), 1, e), ERR_CONFLICT);
	return OK;
}

static void
conflict(void **state)
{
	struct bench b;
	struct err e;

	start(&b, *state, NULL);
	assert_int_equal(sql_version_put(b.w, &e, .version = 1,
			     .name = STR("x"), .applied_at = 0),
	    ERR_CONFLICT);
	assert_int_equal(db_tx(b.w, swallow, NULL, &e), ERR_CONFLICT);
	assert_int_equal(value(b.w, STR("a")), -1);
	assert_int_equal(value(b.w, STR("b")), -1);
	assert_int_equal(put(b.w, STR("a"), 2, &e), 1); /* usable again */
	stop(&b);
}

static void
rows_side_by_side(void **state)
{
	struct bench b;
	struct rows *a, *c;
	struct err e;

	start(&b, *state, NULL);
	assert_int_equal(put(b.w, STR("a"), 7, &e), 1);
	assert_int_equal(sql_meta_get(b.r, &a, &e, .name = STR("a")), OK);
	assert_int_equal(rows_next(a, &e), 1);
	assert_int_equal(sql_log_last(b.r, &c, &e), OK);
	assert_int_equal(rows_next(c, &e), 1);
	assert_int_equal(rows_int(c, 0), 0);
	assert_true(str_eq(rows_str(a, 0), STR("7")));
	rows_close(c);
	assert_int_equal(rows_next(a, &e), 0);
	rows_close(a);
	rows_close(NULL);
	assert_int_equal(db_ping(b.r, &e), OK);
	assert_true(b.r->up);
	stop(&b);
}

/* Prepares a statement by itself; its columns are those of STMTS[q]. */
static void
sqlite_shape(sqlite3 *h, const struct stmt_info *s)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(h, s->sqlite, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", s->name, sqlite3_errmsg(h));
	if (sqlite3_column_count(st) != s->n_cols)
		fail_msg("%s: %d columns, but rows: has %d", s->name,
		    sqlite3_column_count(st), s->n_cols);
	(void)sqlite3_finalize(st);
}

static bool
fits(Oid type, enum val_type as)
{
	switch (type) {
	case 16: /* bool */
	case 20: /* int8 */
	case 21: /* int2 */
	case 23: /* int4 */
		return as == VAL_INT;
	case 19:   /* name */
	case 25:   /* text */
	case 1043: /* varchar */
		return as == VAL_TEXT;
	case 17: /* bytea */
		return as == VAL_BYTES;
	default:
		return false;
	}
}

static void
postgres_shape(PGconn *pg, int q)
{
	const struct stmt_info *s = &STMTS[q];
	Oid types[STORE_ARGS_MAX];
	PGresult *res;

	for (int i = 0; i < s->n_args; i++)
		types[i] = pgparam_type(store_arg_type(STORE_POSTGRES, q, i));
	res = PQprepare(pg, s->name, s->postgres, s->n_args, types);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", s->name, PQerrorMessage(pg));
	PQclear(res);
	res = PQdescribePrepared(pg, s->name);
	assert_int_equal(PQresultStatus(res), PGRES_COMMAND_OK);
	if (PQnfields(res) != s->n_cols)
		fail_msg("%s: %d columns, but rows: has %d", s->name,
		    PQnfields(res), s->n_cols);
	for (int i = 0; i < s->n_cols; i++)
		if (!fits(PQftype(res, i), s->cols[i]))
			fail_msg("%s: column %s has type %u, not that of rows:",
			    s->name, PQfname(res, i), PQftype(res, i));
	PQclear(res);
}

static void
every_statement(void **state)
{
	struct bench b;
	char file[128];
	sqlite3 *h = NULL;
	PGconn *pg = NULL;

	start(&b, *state, NULL);
	if (db_engine(b.w) == STORE_SQLITE) {
		(void)snprintf(
		    file, sizeof(file), "%s/%s", b.f.dir, SQLITE_FILE);
		assert_int_equal(sqlite3_open(file, &h), SQLITE_OK);
	} else {
		pg = PQconnectdb(b.f.url);
		assert_int_equal(PQstatus(pg), CONNECTION_OK);
	}
	for (int q = 0; q < STMT_COUNT; q++)
		if (h && STMTS[q].sqlite)
			sqlite_shape(h, &STMTS[q]);
		else if (pg && STMTS[q].postgres)
			postgres_shape(pg, q);
	(void)sqlite3_close(h);
	PQfinish(pg);
	stop(&b);
}

static void
versions(void **state)
{
	const struct engine *on = *state;
	struct store_opts o;
	struct fixture f;
	struct db *db;
	struct err e = {.text = ""};
	int n = -1;

	fixture_make(&f, on->kind);
	o = fixture_opts(&f, on->fault);
	assert_int_equal(store_open(&o, &f.store, &e), OK);
	assert_int_equal(store_version(f.store, &n, &e), OK);
	assert_int_equal(n, 0);
	assert_int_equal(store_migrate(f.store, &n, &e), OK);
	assert_int_equal(n, STEP_COUNT);
	assert_int_equal(store_migrate(f.store, &n, &e), OK);
	assert_int_equal(n, 0);
	assert_int_equal(store_version(f.store, &n, &e), OK);
	assert_int_equal(n, STEP_COUNT);

	assert_int_equal(db_open(f.store, DB_WRITE, &db, &e), OK);
	assert_int_equal(sql_version_put(db, &e, .version = STEP_COUNT + 1,
			     .name = STR("x"), .applied_at = 0),
	    1);
	db_close(db);
	assert_int_equal(store_migrate(f.store, &n, &e), ERR_INVALID);
	assert_non_null(strstr(e.text, "newer"));
	assert_int_equal(n, STEP_COUNT);
	fixture_close(&f);
}

struct mover {
	struct store_opts opts;
	int steps, rc;
	struct err e;
};

static void *
move(void *arg)
{
	struct mover *m = arg;
	struct store *s;

	m->rc = store_open(&m->opts, &s, &m->e);
	if (m->rc < 0)
		return NULL;
	m->rc = store_migrate(s, &m->steps, &m->e);
	store_close(s);
	return NULL;
}

static void
two_migrate(void **state)
{
	const struct engine *on = *state;
	struct mover m[2] = {{.steps = 0}, {.steps = 0}};
	struct fixture f;
	pthread_t t[2];

	fixture_make(&f, on->kind);
	for (size_t i = 0; i < 2; i++) {
		m[i].opts = fixture_opts(&f, on->fault);
		assert_int_equal(pthread_create(&t[i], NULL, move, &m[i]), 0);
	}
	for (size_t i = 0; i < 2; i++)
		(void)pthread_join(t[i], NULL);
	for (size_t i = 0; i < 2; i++)
		if (m[i].rc < 0)
			fail_msg("%s", m[i].e.text);
	assert_int_equal(m[0].steps + m[1].steps, STEP_COUNT);
	fixture_close(&f);
}

/* Each fault: by a transaction and by a statement that commits by itself. */
static void
faults(void **state)
{
	static const struct {
		const char *spec;
		int tx, alone;         /* code */
		int64_t a_tx, a_alone; /* what is there then */
		int runs;
	} ROWS[] = {
	    {"begin:1", ERR_STORE, OK, -1, 1, 0},
	    {"exec:1", ERR_STORE, ERR_STORE, -1, -1, 1},
	    {"exec:2", OK, OK, 1, 1, 1},
	    {"query:1", OK, OK, 1, 1, 1},
	    {"commit-before:1", ERR_STORE, ERR_STORE, -1, -1, 1},
	    {"commit-before:2", OK, OK, 1, 1, 1},
	    {"commit-after:1", ERR_UNCERTAIN, ERR_UNCERTAIN, 1, 1, 1},
	    {"full:1", ERR_FULL, ERR_FULL, -1, -1, 1},
	    {"busy:1", OK, ERR_BUSY, 1, -1, 2},
	    {"away:1", ERR_AWAY, ERR_AWAY, -1, -1, 0},
	    {"away:2", ERR_AWAY, OK, -1, 1, 1},
	    {"away:3", ERR_AWAY, OK, -1, 1, 1},
	};
	struct bench b;
	struct err e;

	for (size_t i = 0; i < 2 * COUNT_OF(ROWS); i++) {
		struct work w = {.rc = OK};
		struct db *plain;
		bool tx = i % 2;
		int want = tx ? ROWS[i / 2].tx : ROWS[i / 2].alone;
		int rc;

		start(&b, *state, ROWS[i / 2].spec);
		rc = tx ? db_tx(b.w, work, &w, &e)
			: (int)put(b.w, STR("a"), 1, &e);
		assert_int_equal(rc < 0 ? rc : OK, want);
		if (want == ERR_FULL || want == ERR_AWAY)
			assert_true(e.retry_after_s > 0);
		if (tx)
			assert_int_equal(w.runs, ROWS[i / 2].runs);
		assert_int_equal(store_connect(b.f.store, b.f.store->engine,
				     DB_READ, &plain, &e),
		    OK);
		assert_int_equal(value(plain, STR("a")),
		    tx ? ROWS[i / 2].a_tx : ROWS[i / 2].a_alone);
		db_close(plain);
		stop(&b);
	}
}

static void
crash_points(void **state)
{
	static const struct {
		const char *spec;
		bool tx;
		int64_t a;
	} ROWS[] = {
	    {"crash-before-commit:1", true, -1},
	    {"crash-after-commit:1", true, 1},
	    {"crash-before-commit:1", false, -1},
	    {"crash-after-commit:1", false, 1},
	};
	const struct engine *on = *state;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		struct bench b;
		struct store_opts o;
		struct err e;
		int status;
		pid_t pid;

		start(&b, on, NULL);
		o = fixture_opts(&b.f, ROWS[i].spec);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			struct work w = {.rc = OK};
			struct store *s;
			struct db *db;

			if (store_open(&o, &s, &e) < 0 ||
			    db_open(s, DB_WRITE, &db, &e) < 0)
				_exit(1);
			if (ROWS[i].tx)
				(void)!db_tx(db, work, &w, &e);
			else
				(void)!put(db, STR("a"), 1, &e);
			_exit(2);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 137);
		assert_int_equal(value(b.r, STR("a")), ROWS[i].a);
		stop(&b);
	}
}

#define WRITES 200

static void *
write_on(void *arg)
{
	struct bench *b = arg;
	struct err e;

	for (int64_t i = 0; i < WRITES; i++) {
		if (db_begin(b->w, &e) < 0 || put(b->w, STR("a"), i, &e) < 0 ||
		    put(b->w, STR("b"), i, &e) < 0 || db_commit(b->w, &e) < 0)
			return NULL;
	}
	return b;
}

/* What a reader sees only grows, and a commit is seen whole. */
static void
reader_beside_writer(void **state)
{
	struct bench b;
	pthread_t t;
	void *ok = NULL;
	int64_t last = -1;
	struct err e;

	start(&b, *state, NULL);
	assert_int_equal(pthread_create(&t, NULL, write_on, &b), 0);
	while (last < WRITES - 1) {
		int64_t v;

		assert_int_equal(db_begin(b.r, &e), OK);
		v = value(b.r, STR("a"));
		assert_true(v >= last);
		assert_int_equal(value(b.r, STR("b")), v);
		assert_int_equal(db_commit(b.r, &e), OK);
		last = v;
	}
	(void)pthread_join(t, &ok);
	assert_non_null(ok);
	stop(&b);
}

static void
refused_options(void **)
{
	static const struct {
		struct store_opts o;
		const char *word;
	} ROWS[] = {
	    {{.dir = "/tmp", .url = "mysql://x/y"}, "postgres://"},
	    {{.dir = "/tmp", .url = "postgres://u:geheim@[::/x"}, "url"},
	    {{.dir = "/tmp", .sqlite_sync = "off"}, "full or normal"},
	    {{.dir = "/tmp", .fault = "nope:1"}, "crash-after-commit"},
	    {{.dir = "/tmp", .fault = "exec:0"}, "nth"},
	    {{.dir = "/tmp", .fault = "exec"}, "nth"},
	};
	struct store *s = NULL;
	struct err e;

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		assert_int_equal(store_open(&ROWS[i].o, &s, &e), ERR_INVALID);
		assert_non_null(strstr(e.text, ROWS[i].word));
		assert_null(strstr(e.text, "geheim"));
		assert_null(s);
	}
}

/* Looking makes nothing. */
static void
there(void **state)
{
	const struct engine *on = *state;
	struct fixture f;
	struct store_opts o;
	struct err e;

	fixture_make(&f, on->kind);
	o = fixture_opts(&f, NULL);
	assert_int_equal(
	    store_there(&o, &e), on->kind == STORE_SQLITE ? ERR_ABSENT : OK);
	assert_int_equal(store_open(&o, &f.store, &e), OK);
	assert_int_equal(store_there(&o, &e), OK);
	o.dir = "/tmp/hk-nobody-made-this";
	assert_int_equal(store_there(&o, &e), ERR_ABSENT);
	assert_int_equal(access(o.dir, F_OK), -1);
	fixture_close(&f);
}

static const struct {
	const char *name;
	CMUnitTestFunction run;
} SUITE[] = {
    {"there", there},
    {"round trip", round_trip},
    {"transactions", transactions},
    {"a reader can't write", reader_can_not_write},
    {"a failing function", failing_function},
    {"conflict", conflict},
    {"rows side by side", rows_side_by_side},
    {"every statement", every_statement},
    {"versions", versions},
    {"two migrate at once", two_migrate},
    {"faults", faults},
    {"crash points", crash_points},
    {"reader beside writer", reader_beside_writer},
};

int
main(void)
{
	static char names[COUNT_OF(ENGINES)][COUNT_OF(SUITE)][64];
	struct CMUnitTest tests[COUNT_OF(ENGINES) * COUNT_OF(SUITE) + 1];
	size_t n = 0;

	memset(tests, 0, sizeof(tests));
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(refused_options);
	for (size_t i = 0; i < COUNT_OF(ENGINES); i++) {
		if (ENGINES[i].kind == STORE_POSTGRES && !fixture_postgres())
			continue;
		for (size_t k = 0; k < COUNT_OF(SUITE); k++) {
			(void)snprintf(names[i][k], sizeof(names[i][k]),
			    "%s: %s", ENGINES[i].name, SUITE[k].name);
			tests[n++] = (struct CMUnitTest){.name = names[i][k],
			    .test_func = SUITE[k].run,
			    .initial_state = &ENGINES[i]};
		}
	}
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
