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
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log/log.h"
#include "sql.h"
#include "store/limits.h"
#include "store/store_driver.h"

#define ROOM_BLOCKS 64 /* fewer free ones than that: the disk is full */
#define FRAME_HEAD  24 /* bytes before each page in the WAL */

/* When a call failed: only at a step is it sure that nothing was kept. */
enum moment { AT_STEP, AT_COMMIT, AT_CHECKPOINT };

struct file {
	char path[PATH_MAX];
	bool sync_full;
};

struct sqlite_rows {
	struct rows base;
	sqlite3_stmt *st; /* NULL: not prepared yet */
	bool open;
};

struct sqlite_db {
	struct db base;
	sqlite3 *h;
	int frame_bytes; /* of a page in the WAL */
	struct sqlite_rows stmts[STMT_COUNT];
};

#define ALL                                                                    \
	"PRAGMA foreign_keys=ON; PRAGMA wal_autocheckpoint=0;"                 \
	"PRAGMA mmap_size=0; PRAGMA secure_delete=FAST;"
static_assert(WAL_RESTART_BYTES == 67108864, "as in OPTIONS");
/* The writer keeps the inner pages of its tables in memory. */
static const char *const OPTIONS[] = {
    [DB_READ] = ALL "PRAGMA cache_size=-1024; PRAGMA query_only=ON",
    [DB_JOBS] = ALL "PRAGMA cache_size=-256; PRAGMA query_only=ON",
    [DB_WRITE] =
	ALL "PRAGMA cache_size=-2048; PRAGMA journal_size_limit=67108864",
};

static struct sqlite_db *
of(struct db *db)
{
	return (struct sqlite_db *)db;
}

sqlite3 *
store_sqlite_of(struct db *db)
{
	return of(db)->h;
}

/* The system's word on the last failed write to one of the two files. */
static int
write_errno(sqlite3 *h, enum moment when)
{
	int op = when == AT_CHECKPOINT ? SQLITE_FCNTL_FILE_POINTER
				       : SQLITE_FCNTL_JOURNAL_POINTER;
	sqlite3_file *f = NULL;
	int why = 0;

	/* SQLite's own errno is what the rollback has left of it. */
	if (sqlite3_file_control(h, NULL, op, &f) == SQLITE_OK && f &&
	    f->pMethods)
		(void)f->pMethods->xFileControl(
		    f, SQLITE_FCNTL_LAST_ERRNO, &why);
	return why;
}

/*
 * A quota and a limit on the size of a file are a full disk too, and memory
 * shared by readers that can't grow is one when there is no room.
 */
static bool
no_room(struct sqlite_db *d, int rc, enum moment when)
{
	const struct file *f = d->base.store->self;
	struct statvfs fs;
	int why;

	if ((rc & 0xff) == SQLITE_FULL)
		return true;
	if ((rc & 0xff) != SQLITE_IOERR || rc == SQLITE_IOERR_FSYNC ||
	    rc == SQLITE_IOERR_DIR_FSYNC)
		return false;
	why = rc == SQLITE_IOERR_WRITE ? write_errno(d->h, when) : 0;
	if (why == ENOSPC || why == EDQUOT || why == EFBIG)
		return true;
	return statvfs(f->path, &fs) == 0 && fs.f_bavail < ROOM_BLOCKS;
}

/* rc is of SQLite: OK, or what it means. Ends the process when nobody knows
 * what the disk holds. */
static int
good(struct sqlite_db *d, int rc, const char *doing, enum moment when,
    struct err *e)
{
	const struct file *f = d->base.store->self;
	const char *text;

	if (rc == SQLITE_OK)
		return OK;
	text = sqlite3_errmsg(d->h);
	if (no_room(d, rc, when))
		return store_fail(
		    e, ERR_FULL, "%s: the disk of %s is full", doing, f->path);
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		d->base.again = true;
		return store_fail(e, ERR_BUSY, "%s: %s", doing, text);
	case SQLITE_CONSTRAINT:
		return err_set(e,
		    rc == SQLITE_CONSTRAINT_UNIQUE ||
			    rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
			    rc == SQLITE_CONSTRAINT_ROWID
			? ERR_CONFLICT
			: ERR_STORE,
		    "%s: %s", doing, text);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(e, ERR_STORE,
		    "%s is damaged, or no database of ours (%s): restore it from a backup",
		    f->path, text);
	case SQLITE_IOERR:
		if (when == AT_STEP && rc != SQLITE_IOERR_FSYNC &&
		    rc != SQLITE_IOERR_DIR_FSYNC)
			return err_set(
			    e, ERR_STORE, "%s: %s (%d)", doing, text, rc);
		log_release();
		log_fmt(LOG_ERROR,
		    "the disk failed under the database: stopping, so that the next start reads what is really there",
		    "%s: %s (%d)", doing, text, sqlite3_extended_errcode(d->h));
		_exit(1);
	case SQLITE_NOMEM:
		mem_out(0);
	default:
		return err_set(e, ERR_STORE, "%s: %s", doing, text);
	}
}

/* Statements without arguments and rows. */
static int
run(struct db *db, const char *sql, const char *doing, enum moment when,
    struct err *e)
{
	return good(of(db), sqlite3_exec(of(db)->h, sql, NULL, NULL, NULL),
	    doing, when, e);
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
	const char *sync = o->sqlite_sync ? o->sqlite_sync : "full";
	struct file *f = mem_get(sizeof(*f));
	int n;

	s->self = f;
	(void)pthread_once(&once, configure);
	f->sync_full = strcmp(sync, "full") == 0;
	if (!f->sync_full && strcmp(sync, "normal") != 0)
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
	int64_t until = clock_mono_ms() + STORE_BUSY_MS;
	char mode[8];
	int rc;

	while (
	    (rc = pragma(d, "PRAGMA journal_mode=WAL", mode)) != SQLITE_ROW) {
		if ((rc & 0xff) != SQLITE_BUSY || clock_mono_ms() >= until)
			return good(d, rc, "open", AT_STEP, e);
		clock_sleep_us(5000);
	}
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
note_wal(void *ctx, sqlite3 *, const char *, int frames)
{
	struct sqlite_db *d = ctx;

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
	/* Of a new file; one that is there keeps its own. A page takes eight
	 * events or so, and half as many as by default go through WAL and
	 * checkpoint; larger ones cost more where one row of one is changed. */
	(void)sqlite3_exec(d->h, "PRAGMA page_size=8192", NULL, NULL, NULL);
	TRY(use_wal(d, e));
	TRY(run(&d->base,
	    f->sync_full ? "PRAGMA synchronous=FULL"
			 : "PRAGMA synchronous=NORMAL",
	    "open", AT_STEP, e));
	TRY(run(&d->base, OPTIONS[d->base.use], "open", AT_STEP, e));
	rc = pragma(d, "PRAGMA page_size", page);
	if (rc != SQLITE_ROW || !str_int(str_of(page), &bytes))
		return good(d, rc, "open", AT_STEP, e);
	d->frame_bytes = (int)bytes + FRAME_HEAD;
	/* After the pragmas: autocheckpoint is a hook too. */
	(void)sqlite3_wal_hook(d->h, note_wal, d);
	return OK;
}

static void
sqlite_db_close(struct db *db)
{
	struct sqlite_db *d = of(db);

	for (size_t i = 0; i < COUNT_OF(d->stmts); i++)
		(void)sqlite3_finalize(d->stmts[i].st);
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
	if (rc < 0)
		sqlite_db_close(&d->base);
	else
		*ret = &d->base;
	return rc;
}

static int
store_sqlite_prepare(struct sqlite_db *d, int q, struct err *e)
{
	sqlite3_stmt **st = &d->stmts[q].st;

	if (*st)
		return OK;
	return good(d,
	    sqlite3_prepare_v3(
		d->h, STMTS[q].sqlite, -1, SQLITE_PREPARE_PERSISTENT, st, NULL),
	    STMTS[q].name, AT_STEP, e);
}

static int
sqlite_begin(struct db *db, struct err *e)
{
	const char *sql = db->use == DB_WRITE ? "BEGIN IMMEDIATE" : "BEGIN";

	return run(db, sql, sql, AT_STEP, e);
}

static int
sqlite_begin_alone(struct db *db, struct err *e)
{
	int rc;

	(void)sqlite3_busy_timeout(of(db)->h, STORE_MIGRATE_MS);
	rc = sqlite_begin(db, e);
	(void)sqlite3_busy_timeout(of(db)->h, STORE_BUSY_MS);
	return rc;
}

static void
sqlite_rollback(struct db *db)
{
	struct err e;

	/* A full disk has rolled back by itself. */
	if (!sqlite3_get_autocommit(of(db)->h) &&
	    run(db, "ROLLBACK", "ROLLBACK", AT_STEP, &e) < 0)
		log_err(LOG_ERROR, "rollback failed", &e);
}

static int
sqlite_commit(struct db *db, struct err *e)
{
	int rc = run(db, "COMMIT", "COMMIT", AT_COMMIT, e);

	if (rc < 0)
		sqlite_rollback(db);
	return rc;
}

/* In small steps: SQLite's own grow, and the writer stands meanwhile. */
static int
wait_a_bit(void *, int tries)
{
	enum { STEP_US = 500 };

	clock_sleep_us(STEP_US);
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
		return good(d, rc, "checkpoint", AT_CHECKPOINT, e);
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
	return run(db, sql, "migration", AT_STEP, e);
}

static int
bind_one(sqlite3_stmt *st, int at, const struct val *v)
{
	if (v->type == VAL_NULL)
		return sqlite3_bind_null(st, at);
	if (v->type == VAL_INT)
		return sqlite3_bind_int64(st, at, v->i);
	if (v->type == VAL_TEXT)
		return sqlite3_bind_text64(
		    st, at, v->s.p, v->s.n, SQLITE_STATIC, SQLITE_UTF8);
	assert(v->type == VAL_BYTES); /* arrays are PostgreSQL's */
	return sqlite3_bind_blob64(st, at, v->s.p, v->s.n, SQLITE_STATIC);
}

/* Prepares the statement and gives it its arguments. */
static int
ready(struct sqlite_db *d, int q, const struct val *args, size_t n_args,
    struct err *e)
{
	assert(STMTS[q].sqlite && !d->stmts[q].open);
	TRY(store_sqlite_prepare(d, q, e));
	for (size_t i = 0; i < n_args; i++)
		TRY(good(d, bind_one(d->stmts[q].st, (int)i + 1, &args[i]),
		    STMTS[q].name, AT_STEP, e));
	return OK;
}

static int64_t
sqlite_exec(
    struct db *db, int q, const struct val *args, size_t n_args, struct err *e)
{
	struct sqlite_db *d = of(db);

	TRY(ready(d, q, args, n_args, e));
	while (sqlite3_step(d->stmts[q].st) == SQLITE_ROW)
		;
	TRY(good(d, sqlite3_reset(d->stmts[q].st), STMTS[q].name,
	    db->in_tx ? AT_STEP : AT_COMMIT, e));
	return sqlite3_changes64(d->h);
}

static int
sqlite_query(struct db *db, int q, const struct val *args, size_t n_args,
    struct rows **ret, struct err *e)
{
	struct sqlite_rows *r = &of(db)->stmts[q];

	TRY(ready(of(db), q, args, n_args, e));
	/* Its commit would be in rows_close(), which can't say that it failed. */
	assert(db->in_tx || sqlite3_stmt_readonly(r->st));
	r->open = true;
	*ret = &r->base;
	return OK;
}

static sqlite3_stmt *
st_of(const struct rows *r)
{
	return ((const struct sqlite_rows *)r)->st;
}

static int
sqlite_next(struct rows *rows, struct err *e)
{
	const struct sqlite_rows *r = (struct sqlite_rows *)rows;
	struct sqlite_db *d = of(rows->db);
	int rc = sqlite3_step(r->st);

	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return rc == SQLITE_ROW;
	return good(d, rc, STMTS[r - d->stmts].name, AT_STEP, e);
}

static int64_t
sqlite_int(const struct rows *r, int col)
{
	return sqlite3_column_int64(st_of(r), col);
}

static bool
sqlite_null(const struct rows *r, int col)
{
	return sqlite3_column_type(st_of(r), col) == SQLITE_NULL;
}

static struct str
sqlite_str(const struct rows *r, int col)
{
	sqlite3_stmt *st = st_of(r);
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
    .exec = sqlite_exec,
    .query = sqlite_query,
    .next = sqlite_next,
    .col_int = sqlite_int,
    .col_str = sqlite_str,
    .col_null = sqlite_null,
    .rows_close = sqlite_rows_close,
};
