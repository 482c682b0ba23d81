/*
 * store_sqlite_priv.h - a connection to SQLite, and what its failures mean.
 */
#ifndef STORE_STORE_SQLITE_PRIV_H
#define STORE_STORE_SQLITE_PRIV_H

#include <limits.h>
#include <sqlite3.h>

#include "sql.h"
#include "store/store_driver.h"

enum control {
	BEGIN_READ,
	BEGIN_WRITE,
	COMMIT,
	ROLLBACK,
	SQLITE_CONTROL_COUNT
};

/* When a call failed: only at a step is it sure that nothing was kept. */
enum moment { AT_STEP, AT_COMMIT, AT_CHECKPOINT };

struct file {
	char path[PATH_MAX];
	bool sync_full;
};

struct sqlite_rows {
	struct rows base;
	struct sqlite_db *db;
	sqlite3_stmt *st; /* NULL: not prepared yet */
	bool open;
};

struct sqlite_db {
	struct db base;
	sqlite3 *h;
	int frame_bytes; /* of a page in the WAL */
	sqlite3_stmt *control[SQLITE_CONTROL_COUNT];
	struct sqlite_rows stmts[STMT_COUNT];
};

/* rc is of SQLite: what it means, in *e. Ends the process when nobody knows
 * what the disk holds. */
int sqlite_fail(struct sqlite_db *d, int rc, const char *doing,
    enum moment when, struct err *e);

#endif
