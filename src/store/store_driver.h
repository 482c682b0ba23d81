/*
 * store_driver.h - what an engine must do, for those who write one.
 *
 * An engine is a table of functions; store.c checks that it is complete and
 * calls it. store.c keeps what is the same for all: whether a transaction is
 * open or doomed, how many rows are open, when a transaction runs again. So an
 * engine may assume that begin comes outside of a transaction, that nothing
 * but rollback comes after a failure inside of one, and that arguments have
 * the number and the types of their statement.
 *
 * LIFE. An engine's own db and rows have struct db and struct rows as their
 * first member. db_open sets all of struct db but `driver`, query sets nothing
 * of struct rows: store.c does.
 *
 * FAULTS. store_fault.c copies the table of the engine that is in use and puts
 * its own functions over some of it: it works on every engine, since it makes
 * no objects of its own. Migrations go around it, so that how many of them
 * there are does not change which call a fault hits.
 *
 * INVARIANTS
 *   1. A failed commit leaves the db rolled back and usable.
 *   2. Whoever fails sets *e, with retry_after_s where the code asks for it.
 *   3. db->again is set by a failure that a second run may cure, and by no
 *      other; nothing was changed then.
 */
#pragma once

#include <stdatomic.h>

#include "store/store_val.h"

struct store_driver {
	enum store_engine kind;
	bool shared; /* several processes may write at once */
	/* Sets s->self and s->name; connects to nothing. */
	int (*open)(struct store *s, const struct store_opts *o, struct err *e);
	void (*close)(struct store *s); /* also after a failed open */
	/* A database that is away is no failure: the next call tries again. */
	int (*db_open)(
	    struct store *s, enum db_use use, struct db **ret, struct err *e);
	void (*db_close)(struct db *db);

	int (*begin)(struct db *db, struct err *e);
	/* For migrations: waits until no other process has such a one. */
	int (*begin_alone)(struct db *db, struct err *e);
	int (*commit)(struct db *db, struct err *e);
	void (*rollback)(struct db *db);
	int (*checkpoint)(struct db *db, enum checkpoint how,
	    int64_t *ret_wal_bytes, struct err *e);

	/* Only when `shared`. */
	int (*tell)(struct db *db, struct err *e);
	int (*hear)(struct db *db, int fd, int64_t wait_ms, struct err *e);

	/* Several statements without arguments, inside begin_alone. */
	int (*script)(struct db *db, const char *sql, struct err *e);
	int64_t (*exec)(struct db *db, int q, const struct val *args,
	    size_t n_args, struct err *e);
	int (*query)(struct db *db, int q, const struct val *args,
	    size_t n_args, struct rows **ret, struct err *e);

	int (*next)(struct rows *r, struct err *e);
	int64_t (*col_int)(const struct rows *r, int col);
	struct str (*col_str)(const struct rows *r, int col);
	bool (*col_null)(const struct rows *r, int col);
	void (*rows_close)(struct rows *r);
};

#define SQLITE_FILE "hikyaku.db" /* in the data folder */

struct sqlite3;
struct sqlite3 *store_sqlite_of(struct db *db); /* for store_copy.c */

extern const struct store_driver SQLITE_DRIVER;
extern const struct store_driver POSTGRES_DRIVER;

enum fault_point {
	FAULT_NONE,
	FAULT_BEGIN,
	FAULT_EXEC,
	FAULT_QUERY,
	FAULT_COMMIT_BEFORE,
	FAULT_COMMIT_AFTER,
	FAULT_FULL,
	FAULT_BUSY,
	FAULT_AWAY,
	FAULT_CRASH_BEFORE,
	FAULT_CRASH_AFTER,
};

struct store {
	const struct store_driver *engine; /* SQLite's or PostgreSQL's */
	const struct store_driver *driver; /* it, or &faulty */
	struct store_driver faulty;
	enum fault_point fault;
	atomic_int fault_in; /* calls until it hits */
	/* SQLite, in bytes: of the WAL at the last commit or checkpoint, and of
	 * it what was copied by the last checkpoint. */
	_Atomic int64_t wal_bytes, wal_copied;
	void *self; /* the engine's own */
	char name[512];
};

struct db {
	struct store *store;
	const struct store_driver *driver;
	enum db_use use;
	enum err_code doom; /* why the open transaction can't be committed */
	int open_rows;
	bool up; /* as far as the last call could tell */
	bool in_tx, again;
};

struct rows {
	struct db *db;
};

/* err_set, and when to come back for the codes where that is of use. */
int store_fail(struct err *e, enum err_code code, const char *fmt, ...)
    PRINTF(3, 4);

/* As db_open, with faults or, for the engine's driver, without. */
int store_connect(struct store *s, const struct store_driver *driver,
    enum db_use use, struct db **ret, struct err *e) MUST_CHECK;

/* What the engine gets as argument i: PostgreSQL an array, of many rows. */
enum val_type store_arg_type(enum store_engine engine, int q, int i);

/*
 * Whether this call is a commit by itself. A SELECT changes something only by
 * a function of ours, and their names begin with hk_.
 */
bool store_commits(const struct db *db, int q);

/*
 * Arms one fault, "name:nth": the nth call that passes the point, over all
 * threads, fails; once. ERR_INVALID names the points. Before any db is open.
 *
 *   begin exec query   ERR_STORE, nothing was done
 *   commit-before      ERR_STORE, nothing was changed
 *   commit-after       committed, but the answer is ERR_UNCERTAIN
 *   full, busy         as commit-before with ERR_FULL; with ERR_BUSY, curable
 *   away               ERR_AWAY from begin, exec, query or commit
 *   crash-before-commit, crash-after-commit   the process ends, status 137
 *
 * An exec or query that is a commit by itself passes the commit's points too.
 */
int store_fault_set(
    struct store *s, const char *spec, struct err *e) MUST_CHECK;
