/*
 * store.h - one SQL text over two engines, for callers.
 *
 * A store is where the data lives: a SQLite file in the data folder, or a
 * PostgreSQL database. A db is one connection to it. Statements are named in
 * sql/<room>.sql; tools/sqlgen.py makes one typed wrapper for each (gen/sql.h)
 * and those are what rooms call. SQL is never built at run time.
 *
 * LIFE. The store is opened once and outlives all threads. A db belongs to one
 * thread at a time. Rows belong to their db: one open rows per db and
 * statement; rows_close() before the next call with the same statement and
 * before commit. What rows_str() returns is valid until the next rows_next().
 * Text and bytes given to db_query() must live until rows_close(). A statement
 * that changes data and answers rows needs a transaction (on SQLite its commit
 * would be in rows_close(), which can't fail).
 *
 * WHO WRITES. Exactly one DB_WRITE db is used by the commit thread of a node
 * (event/append.h); everything that changes data goes through it. All other
 * dbs are DB_READ. The command line opens the store itself only when it gets
 * its lock, and then is the one writer.
 *
 * PROMISES
 *   1. Ids grow in commit order (see event/append.h for how).
 *   2. A function given to db_tx() may run twice: it must have no effect but
 *      on the db and on what it writes anew each time.
 *   3. ERR_UNCERTAIN: a commit was sent and its answer never came. Everything
 *      else that fails has changed nothing.
 *   4. Busy and reconnect are ours: a call on a lost connection tries to open
 *      it again (at once, then at most every 250 ms) and otherwise returns
 *      ERR_AWAY quickly, never blocking for long.
 *   5. ERR_FULL: the disk is full and nothing has changed. A failed fsync on
 *      SQLite ends the process with a clear last line, since a second fsync
 *      may lie.
 *   6. A call that fails inside a transaction dooms it: what follows is
 *      refused with the same code, and db_commit() rolls back and says so.
 */
#pragma once

#include "base/base.h"

struct store;
struct db;
struct rows;

enum store_engine { STORE_SQLITE, STORE_POSTGRES };
/* DB_JOBS: checkpoints on SQLite, dropping pieces on PostgreSQL. */
enum db_use { DB_READ, DB_WRITE, DB_JOBS };

struct store_opts {
	const char *dir;         /* data folder: hikyaku.db lives there */
	const char *url;         /* postgres://…, or NULL or "" for SQLite */
	const char *sqlite_sync; /* "full" (default when NULL) or "normal" */
	const char *fault;       /* --fault name:nth, or NULL */
};

/*
 * ERR_ABSENT when nobody made a store there yet: no database, for PostgreSQL
 * no folder. store_open() would make one, also of a mistyped folder.
 */
int store_there(const struct store_opts *o, struct err *e) MUST_CHECK;
/* Opens, checks that it answers. Does not migrate. */
int store_open(
    const struct store_opts *o, struct store **ret, struct err *e) MUST_CHECK;
void store_close(struct store *s); /* NULL is fine; all dbs are closed */
enum store_engine store_engine(const struct store *s);
bool store_shared(const struct store *s); /* other processes may write too */
const char *store_name(const struct store *s); /* for people, no password */

/*
 * Brings the schema to this version, one transaction a step, in order. Two
 * processes that do so at once wait for each other. ERR_INVALID when the
 * store is newer than the program. *ret_steps: how many were applied.
 */
int store_migrate(struct store *s, int *ret_steps, struct err *e) MUST_CHECK;
int store_version(struct store *s, int *ret, struct err *e) MUST_CHECK;

int db_open(struct store *s, enum db_use use, struct db **ret,
    struct err *e) MUST_CHECK;
void db_close(struct db *db);
void db_closep(struct db **db); /* for CLEANUP */
enum store_engine db_engine(const struct db *db);
/* Somebody has to copy its log into the file: db_checkpoint(). */
bool db_has_wal(const struct db *db);
/* The events stand in tables that go as a whole when they are old. */
bool db_has_pieces(const struct db *db);
/* Asks the database: 0 when it answers. */
int db_ping(struct db *db, struct err *e) MUST_CHECK;

/*
 * Between the processes of a shared store: tells the others that there is
 * something new, outside of any transaction; and waits until one of them did
 * (1), `fd` can be read, or the time has passed (0). Nothing rests on it: what
 * is told while a connection is lost is not heard.
 */
int db_tell(struct db *db, struct err *e) MUST_CHECK;
int db_hear(struct db *db, int fd, int64_t wait_ms, struct err *e) MUST_CHECK;

/* begin, fn, commit; rolled back when fn fails, with fn's code. */
int db_tx(struct db *db, int (*fn)(struct db *db, void *ctx, struct err *e),
    void *ctx, struct err *e) MUST_CHECK;
int db_begin(struct db *db, struct err *e) MUST_CHECK;
int db_commit(struct db *db, struct err *e) MUST_CHECK;
void db_rollback(struct db *db);

/*
 * SQLite's WAL, by the owner of the db; nothing on PostgreSQL. Copies what is in
 * it; a restart starts the file anew, when nobody is in the way or after having
 * waited for those. Bytes of the WAL in *ret_wal_bytes.
 */
enum checkpoint { CHECKPOINT_COPY, CHECKPOINT_RESTART, CHECKPOINT_WAIT };
int db_checkpoint(struct db *db, enum checkpoint how, int64_t *ret_wal_bytes,
    struct err *e) MUST_CHECK;

/* How far the WAL has grown, by anybody's commits; 0 on PostgreSQL. */
int64_t db_wal_bytes(const struct db *db);
/* How much of that no checkpoint has copied yet. */
int64_t db_wal_behind(const struct db *db);
/* It is time for the writer to restart it: others leave it alone. */
bool db_wal_due(const struct db *db);
/* By the writer, between its commits: restarts it when it is time. Others copy
 * what is in it, but under steady load it would grow for ever without this. */
int db_wal_restart(struct db *db, struct err *e) MUST_CHECK;

/*
 * A copy of the whole database in a new file; SQLite's (ERR_INVALID elsewhere).
 * Made by the db that writes, a few pages at a time between its transactions:
 * what it commits meanwhile goes into the copy too. So no step is long, none
 * holds the WAL, and the copy is what was committed when the last one ended.
 * It ends before the db does. Nothing is synced: that is for whoever keeps it.
 */
struct db_copy;
struct db_copy_at {
	int64_t pages, left;
};
int db_copy_begin(struct db *db, const char *path, struct db_copy **ret,
    struct err *e) MUST_CHECK;
/* 1: there is more; 0: the copy is whole. */
int db_copy_step(struct db_copy *c, int pages, struct db_copy_at *ret,
    struct err *e) MUST_CHECK;
void db_copy_end(struct db_copy *c); /* NULL is fine */
/* Whether the file is sound, by reading all of it; nothing on PostgreSQL. */
int db_sound(struct db *db, struct err *e) MUST_CHECK;

/* Of a statement's own functions (gen/sql.h); its rows are read by theirs. */
int rows_next(struct rows *r, struct err *e) MUST_CHECK; /* 1, 0, or < 0 */
int64_t rows_int(const struct rows *r, int col);         /* 0 when null */
struct str rows_str(const struct rows *r, int col);      /* .p NULL: null */
bool rows_null(const struct rows *r, int col);
void rows_close(struct rows *r);   /* NULL is fine */
void rows_closep(struct rows **r); /* for CLEANUP */

/* For clang-tidy, which can't look into sql.c, a query is seen to fail or to be
 * OK; for the compiler it is as it is. */
#ifdef __clang_analyzer__
static inline int
store_ok(int rc)
{
	return rc < 0 ? rc : OK;
}
#define SQL_OK(rc) store_ok(rc)
#else
#define SQL_OK(rc) (rc)
#endif
