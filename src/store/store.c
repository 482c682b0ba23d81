#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <unistd.h>

#include "sql.h"
#include "store/limits.h"
#include "store/store_driver.h"

int
store_fail(struct err *e, enum err_code code, const char *fmt, ...)
{
	char text[sizeof(e->text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)err_set(e, code, "%s", text);
	e->inside = true;
	if (code == ERR_FULL)
		e->retry_after_s = STORE_FULL_RETRY_S;
	if (code == ERR_AWAY || code == ERR_BUSY || code == ERR_UNCERTAIN)
		e->retry_after_s = STORE_AWAY_RETRY_S;
	return code;
}

static void
check_driver(const struct store_driver *d)
{
	assert(d->open && d->close && d->db_open && d->db_close);
	assert(d->begin && d->begin_alone && d->commit && d->rollback);
	assert(d->checkpoint && d->script && d->exec && d->query);
	assert(d->next && d->col_int && d->col_str && d->col_null);
	assert(d->rows_close && (!d->shared || (d->tell && d->hear)));
}

static int
pick_engine(const char *url, const struct store_driver **ret, struct err *e)
{
	struct str s = str_of(url);

	if (s.n == 0)
		*ret = &SQLITE_DRIVER;
	else if (str_starts(s, STR("postgres://")) ||
		 str_starts(s, STR("postgresql://")))
		*ret = &POSTGRES_DRIVER;
	else
		return err_set(e, ERR_INVALID,
		    "the database url must begin with postgres://, or be empty for SQLite");
	return OK;
}

/* Whether the database can be written to, before anybody relies on it. */
static int
check_answers(struct store *s, struct err *e)
{
	struct db *db CLEANUP(db_closep) = NULL;

	TRY(store_connect(s, s->engine, DB_WRITE, &db, e));
	return db_ping(db, e);
}

int
store_there(const struct store_opts *o, struct err *e)
{
	bool sqlite = str_of(o->url).n == 0;
	char path[PATH_MAX];
	int n = snprintf(
	    path, sizeof(path), "%s%s", o->dir, sqlite ? "/" SQLITE_FILE : "");

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(e, ERR_INVALID, "data folder: path too long");
	if (access(path, F_OK) == 0)
		return OK;
	if (errno == ENOENT)
		return err_set(e, ERR_ABSENT, "there is no %s", path);
	return err_set(e, ERR_IO, "%s: %m", path);
}

static void
store_closep(struct store **s)
{
	store_close(*s);
}

int
store_open(const struct store_opts *o, struct store **ret, struct err *e)
{
	struct store *s CLEANUP(store_closep) = mem_get(sizeof(*s));

	TRY(pick_engine(o->url, &s->engine, e));
	check_driver(s->engine);
	s->driver = s->engine;
	TRY(s->engine->open(s, o, e));
	if (o->fault)
		TRY(store_fault_set(s, o->fault, e));
	TRY(check_answers(s, e));
	*ret = s;
	s = NULL;
	return OK;
}

void
store_close(struct store *s)
{
	if (!s)
		return;
	if (s->driver)
		s->engine->close(s);
	free(s);
}

enum store_engine
store_engine(const struct store *s)
{
	return s->engine->kind;
}

bool
store_shared(const struct store *s)
{
	return s->engine->shared;
}

const char *
store_name(const struct store *s)
{
	return s->name;
}

int
store_connect(struct store *s, const struct store_driver *driver,
    enum db_use use, struct db **ret, struct err *e)
{
	TRY(s->engine->db_open(s, use, ret, e));
	(*ret)->driver = driver;
	return OK;
}

int
db_open(struct store *s, enum db_use use, struct db **ret, struct err *e)
{
	return store_connect(s, s->driver, use, ret, e);
}

void
db_close(struct db *db)
{
	if (!db)
		return;
	assert(db->open_rows == 0);
	db_rollback(db);
	db->driver->db_close(db);
}

void
db_closep(struct db **db)
{
	db_close(*db);
}

enum store_engine
db_engine(const struct db *db)
{
	return db->store->engine->kind;
}

bool
db_has_wal(const struct db *db)
{
	return db_engine(db) == STORE_SQLITE;
}

bool
db_has_pieces(const struct db *db)
{
	return db_engine(db) == STORE_POSTGRES;
}

int64_t
db_wal_bytes(const struct db *db)
{
	return atomic_load_explicit(
	    &db->store->wal_bytes, memory_order_relaxed);
}

int64_t
db_wal_behind(const struct db *db)
{
	int64_t bytes = db_wal_bytes(db);
	int64_t copied =
	    atomic_load_explicit(&db->store->wal_copied, memory_order_relaxed);

	return copied < bytes ? bytes - copied : 0;
}

bool
db_wal_due(const struct db *db)
{
	return db_wal_bytes(db) > (int64_t)WAL_READY_BYTES &&
	       db_wal_behind(db) <= (int64_t)WAL_LITTLE_BYTES;
}

int
db_ping(struct db *db, struct err *e)
{
	struct sql_echo_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_echo(db, &rows, e, .i = NULL, .t = STR_EMPTY, .b = STR_EMPTY));
	TRY(sql_echo_next(rows, &row, e));
	return OK;
}

/* A doomed transaction takes no more calls. */
static int
refuse_doomed(const struct db *db, struct err *e)
{
	if (!db->in_tx || db->doom == OK)
		return OK;
	return store_fail(
	    e, db->doom, "an earlier step of the transaction has failed");
}

static void
doom(struct db *db, int64_t rc)
{
	if (rc < 0 && db->in_tx && db->doom == OK)
		db->doom = (enum err_code)rc;
}

static void
ended(struct db *db)
{
	db->in_tx = false;
	db->doom = OK;
}

int
db_begin(struct db *db, struct err *e)
{
	int rc;

	assert(!db->in_tx);
	rc = db->driver->begin(db, e);
	db->in_tx = rc == OK;
	db->again = false; /* a begin has had all the patience there is */
	return rc;
}

int
db_commit(struct db *db, struct err *e)
{
	int rc;

	assert(db->in_tx && db->open_rows == 0);
	rc = refuse_doomed(db, e);
	if (rc < 0)
		db->driver->rollback(db);
	else
		rc = db->driver->commit(db, e);
	ended(db);
	return rc;
}

void
db_rollback(struct db *db)
{
	if (db->in_tx)
		db->driver->rollback(db);
	ended(db);
}

static int
run_once(struct db *db, int (*fn)(struct db *db, void *ctx, struct err *e),
    void *ctx, struct err *e)
{
	int rc;

	TRY(db_begin(db, e));
	rc = fn(db, ctx, e);
	if (rc >= 0)
		return db_commit(db, e);
	db_rollback(db);
	return rc;
}

int
db_tx(struct db *db, int (*fn)(struct db *db, void *ctx, struct err *e),
    void *ctx, struct err *e)
{
	for (int run = 1;; run++) {
		int rc = run_once(db, fn, ctx, e);

		if (rc == OK || !db->again || run == STORE_TX_RUNS)
			return rc;
	}
}

int
db_tell(struct db *db, struct err *e)
{
	assert(!db->in_tx);
	return db->driver->tell(db, e);
}

int
db_hear(struct db *db, int fd, int64_t wait_ms, struct err *e)
{
	assert(!db->in_tx);
	return db->driver->hear(db, fd, wait_ms, e);
}

int
db_checkpoint(
    struct db *db, enum checkpoint how, int64_t *ret_wal_bytes, struct err *e)
{
	assert(!db->in_tx && db->open_rows == 0);
	return db->driver->checkpoint(db, how, ret_wal_bytes, e);
}

int
db_wal_restart(struct db *db, struct err *e)
{
	int64_t wal = db_wal_bytes(db);

	/* The writer stands meanwhile: better soon than with much to copy. */
	if (wal > (int64_t)WAL_RESTART_BYTES)
		return db_checkpoint(db, CHECKPOINT_WAIT, &wal, e);
	return db_wal_due(db) ? db_checkpoint(db, CHECKPOINT_RESTART, &wal, e)
			      : OK;
}

bool
store_commits(const struct db *db, int q)
{
	const char *sql =
	    db_engine(db) == STORE_SQLITE ? STMTS[q].sqlite : STMTS[q].postgres;

	if (db->in_tx || db->use == DB_READ)
		return false;
	return !str_starts(str_of(sql), STR("SELECT")) || strstr(sql, "hk_");
}

enum val_type
store_arg_type(enum store_engine engine, int q, int i)
{
	static const enum val_type MANY[] = {[VAL_INT] = VAL_INTS,
	    [VAL_TEXT] = VAL_TEXTS,
	    [VAL_BYTES] = VAL_BYTESS};
	enum val_type one = STMTS[q].args[i];

	return STMTS[q].many && engine == STORE_POSTGRES ? MANY[one] : one;
}

static void
check_args(const struct db *db, int q, const struct val *args, size_t n_args)
{
	assert(q >= 0 && q < STMT_COUNT);
	assert(n_args == (size_t)STMTS[q].n_args);
	assert(n_args <= STORE_ARGS_MAX);
	for (size_t i = 0; i < n_args; i++)
		assert(
		    args[i].type == VAL_NULL ||
		    args[i].type == store_arg_type(db_engine(db), q, (int)i));
}

int64_t
db_exec(
    struct db *db, int q, const struct val *args, size_t n_args, struct err *e)
{
	int64_t n = refuse_doomed(db, e);

	check_args(db, q, args, n_args);
	if (n == OK)
		n = db->driver->exec(db, q, args, n_args, e);
	doom(db, n);
	return n;
}

/* As many at once as the statement, or its next, takes. */
static int64_t
exec_each(struct db *db, int q, const void *v, size_t n,
    void (*fill)(const void *v, size_t i, struct val *to), struct err *e)
{
	size_t n_args = (size_t)STMTS[q].n_args, times = (size_t)STMTS[q].times;
	UNINIT struct val args[STORE_ARGS_MAX];
	int64_t rc = 0, sum = 0;

	for (size_t i = 0, k; i < n && rc >= 0; i += k, sum += rc) {
		k = n - i >= times ? times : 1;
		for (size_t row = 0; row < k; row++)
			fill(v, i + row, &args[row * n_args]);
		rc = db_exec(db, k > 1 ? q + 1 : q, args, k * n_args, e);
	}
	return rc < 0 ? rc : sum;
}

/* A column each: whole numbers, or texts. */
static int64_t
exec_arrays(struct db *db, int q, const void *v, size_t n,
    void (*fill)(const void *v, size_t i, struct val *to), struct err *e)
{
	size_t n_args = (size_t)STMTS[q].n_args;
	struct val one[STORE_ARGS_MAX], args[STORE_ARGS_MAX];
	int64_t *ints = mem_array(n * n_args, sizeof(*ints)), rc;
	struct str *strs = mem_array(n * n_args, sizeof(*strs));

	for (size_t i = 0; i < n; i++) {
		fill(v, i, one);
		for (size_t k = 0; k < n_args; k++)
			if (STMTS[q].args[k] == VAL_INT)
				ints[k * n + i] = one[k].i;
			else
				strs[k * n + i] = one[k].s;
	}
	for (size_t k = 0; k < n_args; k++) {
		args[k] = (struct val){
		    .type = store_arg_type(STORE_POSTGRES, q, (int)k), .n = n};
		if (STMTS[q].args[k] == VAL_INT)
			args[k].iv = &ints[k * n];
		else
			args[k].sv = &strs[k * n];
	}
	rc = db_exec(db, q, args, n_args, e);
	free(ints);
	free(strs);
	return rc;
}

int64_t
db_exec_many(struct db *db, int q, const void *v, size_t n,
    void (*fill)(const void *v, size_t i, struct val *to), struct err *e)
{
	if (n == 0)
		return 0;
	return db_engine(db) == STORE_POSTGRES
		   ? exec_arrays(db, q, v, n, fill, e)
		   : exec_each(db, q, v, n, fill, e);
}

int
db_query(struct db *db, int q, const struct val *args, size_t n_args,
    struct rows **ret, struct err *e)
{
	struct rows *r = NULL;
	int rc = refuse_doomed(db, e);

	check_args(db, q, args, n_args);
	if (rc == OK)
		rc = db->driver->query(db, q, args, n_args, &r, e);
	doom(db, rc);
	if (rc < 0)
		return rc;
	assert(r);
	r->db = db;
	db->open_rows++;
	*ret = r;
	return OK;
}

int
rows_next(struct rows *r, struct err *e)
{
	int rc = r->db->driver->next(r, e);

	doom(r->db, rc);
	return rc;
}

int64_t
rows_int(const struct rows *r, int col)
{
	return r->db->driver->col_int(r, col);
}

struct str
rows_str(const struct rows *r, int col)
{
	return r->db->driver->col_str(r, col);
}

bool
rows_null(const struct rows *r, int col)
{
	return r->db->driver->col_null(r, col);
}

void
rows_close(struct rows *r)
{
	if (!r)
		return;
	r->db->open_rows--;
	r->db->driver->rows_close(r);
}

void
rows_closep(struct rows **r)
{
	rows_close(*r);
}
