/*
 * store_sqlite.c - the data in one file, <dir>/hikyaku.db.
 *
 * WAL, so that readers never wait for the writer. SQLite's own checkpoints are
 * off: they would run inside a commit, at its worst moment; the owner of a db
 * runs them through db_checkpoint().
 *
 * Statements are prepared at first use and kept. A call is bind, step, reset:
 * no memory is allocated and nothing is copied, so what was bound must live
 * until the rows are closed.
 *
 * ERRORS. SQLite takes back what a failed statement or commit did, except that
 * nobody knows what the disk holds after a failed fsync: then the process ends
 * and the next start reads what is really there. A write refused because the
 * disk is full is no such thing: the frames before it have no commit mark.
 */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "sql.h"
#include "store/limits.h"
#include "store/store_driver.h"
#include "store/store_sqlite_priv.h"

#define FRAME_HEAD  24 /* bytes before each page in the WAL */
/* Of a new file; one that is there keeps its own. A page takes some eight
 * events, and half as many pages as by default go through WAL and checkpoint;
 * larger ones cost more where one row of one is changed. */
#define PAGE_PRAGMA "PRAGMA page_size=8192"
#define SQL_WAL     "PRAGMA journal_mode=WAL"

static const char *const CONTROL[] = {
    "BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"};

static_assert(WAL_RESTART_BYTES == 67108864, "as in OPTIONS");
/* The writer keeps the inner pages of its tables in memory. */
static const char *const OPTIONS[] = {
    [DB_READ] = "PRAGMA cache_size=-1024; PRAGMA query_only=ON",
    [DB_JOBS] = "PRAGMA cache_size=-256; PRAGMA query_only=ON",
    [DB_WRITE] = "PRAGMA cache_size=-2048; PRAGMA journal_size_limit=67108864",
};

static struct sqlite_db *
of(struct db *db)
{
	return (struct sqlite_db *)db;
}

static void
configure(void)
{
	/* One thread to a connection, and nobody asks for memory figures. */
	(void)sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	(void)sqlite3_initialize();
}

static int
sqlite_open(struct store *s, const struct store_opts *o, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct str sync = str_of(o->sqlite_sync ? o->sqlite_sync : "full");
	struct file *f = mem_get(sizeof(*f));
	int n;

	s->self = f;
	(void)pthread_once(&once, configure);
	f->sync_full = str_eq(sync, STR("full"));
	if (!f->sync_full && !str_eq(sync, STR("normal")))
		return err_set(
		    e, ERR_INVALID, "SQLite's sync must be full or normal");
	n = snprintf(f->path, sizeof(f->path), "%s/" SQLITE_FILE, o->dir);
	if (n < 0 || (size_t)n >= sizeof(f->path))
		return err_set(e, ERR_INVALID, "data folder: path too long");
	(void)snprintf(s->name, sizeof(s->name), "sqlite %.400s", f->path);
	return OK;
}

static void
sqlite_close(struct store *s)
{
	free(s->self);
}

/* What a pragma answers; a code of SQLite's, SQLITE_ROW when it does. */
static int
pragma(struct sqlite_db *d, const char *sql, char ret[8])
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(d->h, sql, -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		(void)snprintf(
		    ret, 8, "%s", (const char *)sqlite3_column_text(st, 0));
	(void)sqlite3_finalize(st);
	return rc;
}

/*
 * WAL is not a given: some file systems of networks can't share memory. Two
 * who turn a new file to it at once get in each other's way, and SQLite does
 * not wait there by itself, for fear of a deadlock; so we do.
 */
static int
use_wal(struct sqlite_db *d, struct err *e)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	int64_t until = clock_mono_ms() + STORE_BUSY_MS;
	char mode[8];
	int rc = pragma(d, SQL_WAL, mode);

	while ((rc & 0xff) == SQLITE_BUSY && clock_mono_ms() < until) {
		(void)nanosleep(&pause, NULL);
		rc = pragma(d, SQL_WAL, mode);
	}
	if (rc != SQLITE_ROW)
		return sqlite_fail(d, rc, "open", AT_STEP, e);
	return strcmp(mode, "wal") == 0
		   ? OK
		   : err_set(e, ERR_STORE,
			 "the file system of the data folder can't do a write-ahead log");
}

/* After each commit: how many frames the WAL holds. */
static void
note(_Atomic int64_t *bytes, const struct sqlite_db *d, int frames)
{
	atomic_store_explicit(
	    bytes, (int64_t)frames * d->frame_bytes, memory_order_relaxed);
}

static int
note_wal(void *ctx, sqlite3 *h, const char *name, int frames)
{
	struct sqlite_db *d = ctx;

	(void)h;
	(void)name;
	/* Fewer than before: it began at the front again. */
	if ((int64_t)frames * d->frame_bytes < db_wal_bytes(&d->base))
		note(&d->base.store->wal_copied, d, 0);
	note(&d->base.store->wal_bytes, d, frames);
	return SQLITE_OK;
}

static int
set_up(struct sqlite_db *d, struct err *e)
{
	const struct file *f = d->base.store->self;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	int64_t bytes = 0;
	char page[8];
	int rc;

	if (d->base.use == DB_WRITE)
		flags |= SQLITE_OPEN_CREATE;
	rc = sqlite3_open_v2(f->path, &d->h, flags, NULL);
	if (!d->h)
		mem_out(sizeof(*d));
	(void)sqlite3_extended_result_codes(d->h, 1);
	(void)sqlite3_busy_timeout(d->h, STORE_BUSY_MS);
	if (rc != SQLITE_OK)
		return err_set(
		    e, ERR_STORE, "%s: %s", f->path, sqlite3_errmsg(d->h));
	(void)sqlite3_exec(d->h, PAGE_PRAGMA, NULL, NULL, NULL);
	rc = use_wal(d, e);
	if (rc < 0)
		return rc;
	rc = sqlite3_exec(d->h,
	    f->sync_full ? "PRAGMA synchronous=FULL"
			 : "PRAGMA synchronous=NORMAL",
	    NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(d->h,
		    "PRAGMA foreign_keys=ON; PRAGMA wal_autocheckpoint=0;"
		    "PRAGMA mmap_size=0; PRAGMA secure_delete=FAST",
		    NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(d->h, OPTIONS[d->base.use], NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = pragma(d, "PRAGMA page_size", page);
	if (rc == SQLITE_ROW && str_int(str_of(page), &bytes))
		rc = SQLITE_OK;
	d->frame_bytes = (int)bytes + FRAME_HEAD;
	/* After the pragmas: autocheckpoint is a hook too. */
	(void)sqlite3_wal_hook(d->h, note_wal, d);
	return rc == SQLITE_OK ? OK : sqlite_fail(d, rc, "open", AT_STEP, e);
}

static void
sqlite_db_close(struct db *db)
{
	struct sqlite_db *d = of(db);

	for (size_t i = 0; i < COUNT_OF(d->stmts); i++)
		(void)sqlite3_finalize(d->stmts[i].st);
	for (size_t i = 0; i < COUNT_OF(d->control); i++)
		(void)sqlite3_finalize(d->control[i]);
	(void)sqlite3_close(d->h);
	free(d);
}

static int
sqlite_db_open(struct store *s, enum db_use use, struct db **ret, struct err *e)
{
	struct sqlite_db *d = mem_get(sizeof(*d));
	int rc;

	d->base = (struct db){.store = s, .use = use, .up = true};
	rc = set_up(d, e);
	if (rc < 0) {
		sqlite_db_close(&d->base);
		return rc;
	}
	*ret = &d->base;
	return OK;
}

static int
store_sqlite_prepare(struct sqlite_db *d, const char *sql, const char *name,
    sqlite3_stmt **ret, struct err *e)
{
	int rc;

	if (*ret)
		return OK;
	rc = sqlite3_prepare_v3(
	    d->h, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
	return rc == SQLITE_OK ? OK : sqlite_fail(d, rc, name, AT_STEP, e);
}

static int
control(struct sqlite_db *d, enum control c, struct err *e)
{
	int rc =
	    store_sqlite_prepare(d, CONTROL[c], CONTROL[c], &d->control[c], e);

	if (rc < 0)
		return rc;
	(void)sqlite3_step(d->control[c]);
	rc = sqlite3_reset(d->control[c]);
	return rc == SQLITE_OK ? OK
			       : sqlite_fail(d, rc, CONTROL[c],
				     c == COMMIT ? AT_COMMIT : AT_STEP, e);
}

static int
sqlite_begin(struct db *db, struct err *e)
{
	return control(
	    of(db), db->use == DB_WRITE ? BEGIN_WRITE : BEGIN_READ, e);
}

static int
sqlite_begin_alone(struct db *db, struct err *e)
{
	int rc;

	(void)sqlite3_busy_timeout(of(db)->h, STORE_MIGRATE_MS);
	rc = control(of(db), BEGIN_WRITE, e);
	(void)sqlite3_busy_timeout(of(db)->h, STORE_BUSY_MS);
	return rc;
}

static void
sqlite_rollback(struct db *db)
{
	struct err e;

	/* A full disk has rolled back by itself. */
	if (!sqlite3_get_autocommit(of(db)->h) &&
	    control(of(db), ROLLBACK, &e) < 0)
		log_err(LOG_ERROR, "rollback failed", &e);
}

static int
sqlite_commit(struct db *db, struct err *e)
{
	int rc = control(of(db), COMMIT, e);

	if (rc < 0)
		sqlite_rollback(db);
	return rc;
}

/* In small steps: SQLite's own grow, and the writer stands meanwhile. */
static int
wait_a_bit(void *ctx, int tries)
{
	enum { STEP_US = 500 };
	const struct timespec step = {.tv_nsec = STEP_US * 1000L};

	(void)ctx;
	(void)nanosleep(&step, NULL);
	return tries < STORE_RESTART_MS * 1000 / STEP_US;
}

/*
 * SQLite syncs the database when it has copied the last frame, which under load
 * is in a restart, while the writer stands: little is left to do then when what
 * was copied before is on the disk already.
 */
static int
copy_wal(sqlite3 *h, int *ret_frames, int *ret_copied)
{
	sqlite3_file *f = NULL;
	int rc = sqlite3_wal_checkpoint_v2(
	    h, NULL, SQLITE_CHECKPOINT_PASSIVE, ret_frames, ret_copied);

	if (rc == SQLITE_OK)
		rc = sqlite3_file_control(
		    h, NULL, SQLITE_FCNTL_FILE_POINTER, &f);
	return rc == SQLITE_OK && f->pMethods
		   ? f->pMethods->xSync(f, SQLITE_SYNC_NORMAL)
		   : rc;
}

static int
sqlite_checkpoint(
    struct db *db, enum checkpoint how, int64_t *ret_wal_bytes, struct err *e)
{
	struct sqlite_db *d = of(db);
	int frames = 0, copied = 0, rc;

	(void)sqlite3_busy_handler(
	    d->h, how == CHECKPOINT_WAIT ? wait_a_bit : NULL, NULL);
	rc = how == CHECKPOINT_COPY
		 ? copy_wal(d->h, &frames, &copied)
		 : sqlite3_wal_checkpoint_v2(
		       d->h, NULL, SQLITE_CHECKPOINT_RESTART, &frames, &copied);
	(void)sqlite3_busy_timeout(d->h, STORE_BUSY_MS);
	/* Busy: somebody was in the way, the next one will do more. */
	if (rc != SQLITE_OK && rc != SQLITE_BUSY)
		return sqlite_fail(d, rc, "checkpoint", AT_CHECKPOINT, e);
	/* The next write begins at the front: what is there counts no more. */
	if (rc == SQLITE_OK && how != CHECKPOINT_COPY)
		frames = copied = 0;
	/* Negative when another checkpoint was under way. A copy knows of no
	 * commit since it began. */
	if (copied >= 0)
		note(&db->store->wal_copied, d, copied);
	if (frames >= 0 && how != CHECKPOINT_COPY)
		note(&db->store->wal_bytes, d, frames);
	*ret_wal_bytes = frames > 0 ? (int64_t)frames * d->frame_bytes : 0;
	return OK;
}

static int
sqlite_script(struct db *db, const char *sql, struct err *e)
{
	struct sqlite_db *d = of(db);
	int rc = sqlite3_exec(d->h, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? OK
			       : sqlite_fail(d, rc, "migration", AT_STEP, e);
}

static int
bind_one(sqlite3_stmt *st, int at, const struct val *v)
{
	switch (v->type) {
	case VAL_NULL:
		return sqlite3_bind_null(st, at);
	case VAL_INT:
		return sqlite3_bind_int64(st, at, v->i);
	case VAL_TEXT:
		return sqlite3_bind_text64(
		    st, at, v->s.p, v->s.n, SQLITE_STATIC, SQLITE_UTF8);
	case VAL_BYTES:
		return sqlite3_bind_blob64(
		    st, at, v->s.p, v->s.n, SQLITE_STATIC);
	case VAL_INTS:
	case VAL_TEXTS:
	case VAL_BYTESS:
		break;
	}
	assert(v->type < VAL_INTS); /* arrays are PostgreSQL's */
	return SQLITE_MISUSE;
}

/* Prepares the statement and gives it its arguments. */
static int
ready(struct sqlite_db *d, int q, const struct val *args, size_t n_args,
    struct err *e)
{
	struct sqlite_rows *r = &d->stmts[q];
	int rc;

	assert(STMTS[q].sqlite && !r->open);
	rc = store_sqlite_prepare(d, STMTS[q].sqlite, STMTS[q].name, &r->st, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n_args; i++) {
		rc = bind_one(r->st, (int)i + 1, &args[i]);
		if (rc != SQLITE_OK)
			return sqlite_fail(d, rc, STMTS[q].name, AT_STEP, e);
	}
	r->db = d;
	return OK;
}

static int
sqlite_check(struct db *db, int q, struct err *e)
{
	struct sqlite_db *d = of(db);
	sqlite3_stmt **st = &d->stmts[q].st;
	int rc = store_sqlite_prepare(d, STMTS[q].sqlite, STMTS[q].name, st, e);

	if (rc < 0)
		return rc;
	if (sqlite3_column_count(*st) != STMTS[q].n_cols)
		return err_set(e, ERR_INVALID,
		    "%s: %d columns, but rows: has %d", STMTS[q].name,
		    sqlite3_column_count(*st), STMTS[q].n_cols);
	return OK;
}

static int64_t
sqlite_exec(
    struct db *db, int q, const struct val *args, size_t n_args, struct err *e)
{
	struct sqlite_db *d = of(db);
	struct sqlite_rows *r = &d->stmts[q];
	int rc = ready(d, q, args, n_args, e);

	if (rc < 0)
		return rc;
	do
		rc = sqlite3_step(r->st);
	while (rc == SQLITE_ROW);
	rc = sqlite3_reset(r->st);
	if (rc != SQLITE_OK)
		return sqlite_fail(
		    d, rc, STMTS[q].name, db->in_tx ? AT_STEP : AT_COMMIT, e);
	return sqlite3_changes64(d->h);
}

static int
sqlite_query(struct db *db, int q, const struct val *args, size_t n_args,
    struct rows **ret, struct err *e)
{
	struct sqlite_rows *r = &of(db)->stmts[q];
	int rc = ready(of(db), q, args, n_args, e);

	if (rc < 0)
		return rc;
	/* Its commit would be in rows_close(), which can't say that it failed. */
	assert(db->in_tx || sqlite3_stmt_readonly(r->st));
	r->open = true;
	*ret = &r->base;
	return OK;
}

static const struct sqlite_rows *
rows_of(const struct rows *r)
{
	return (const struct sqlite_rows *)r;
}

static int
sqlite_next(struct rows *rows, struct err *e)
{
	struct sqlite_rows *r = (struct sqlite_rows *)rows;
	int rc = sqlite3_step(r->st);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	return sqlite_fail(r->db, rc, STMTS[r - r->db->stmts].name, AT_STEP, e);
}

static int64_t
sqlite_int(const struct rows *r, int col)
{
	return sqlite3_column_int64(rows_of(r)->st, col);
}

static bool
sqlite_null(const struct rows *r, int col)
{
	return sqlite3_column_type(rows_of(r)->st, col) == SQLITE_NULL;
}

static struct str
sqlite_str(const struct rows *r, int col)
{
	sqlite3_stmt *st = rows_of(r)->st;
	const char *p;

	if (sqlite_null(r, col))
		return (struct str){.p = NULL};
	p = sqlite3_column_blob(st, col);
	/* An empty blob is given as NULL. */
	return p ? (struct str){p, (size_t)sqlite3_column_bytes(st, col)}
		 : STR_EMPTY;
}

static void
sqlite_rows_close(struct rows *rows)
{
	struct sqlite_rows *r = (struct sqlite_rows *)rows;

	(void)sqlite3_reset(r->st); /* its failure was told by rows_next() */
	r->open = false;
}

const struct store_driver SQLITE_DRIVER = {
    .kind = STORE_SQLITE,
    .open = sqlite_open,
    .close = sqlite_close,
    .db_open = sqlite_db_open,
    .db_close = sqlite_db_close,
    .begin = sqlite_begin,
    .begin_alone = sqlite_begin_alone,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .checkpoint = sqlite_checkpoint,
    .script = sqlite_script,
    .check = sqlite_check,
    .exec = sqlite_exec,
    .query = sqlite_query,
    .next = sqlite_next,
    .col_int = sqlite_int,
    .col_str = sqlite_str,
    .col_null = sqlite_null,
    .rows_close = sqlite_rows_close,
};
