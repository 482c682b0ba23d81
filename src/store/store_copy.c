/* Copying a database while it is written to, and looking whether it is sound. */
#include <sqlite3.h>

#include "store/store_driver.h"

struct db_copy {
	sqlite3_backup *run;
	sqlite3 *to;
	char *path;
};

static int
copy_failed(const struct db_copy *c, int rc, struct err *e)
{
	if ((rc & 0xff) == SQLITE_FULL)
		return store_fail(
		    e, ERR_FULL, "the disk of %.200s is full", c->path);
	return err_set(
	    e, ERR_STORE, "copying to %.200s: %s", c->path, sqlite3_errstr(rc));
}

void
db_copy_end(struct db_copy *c)
{
	if (!c)
		return;
	(void)sqlite3_backup_finish(c->run);
	(void)sqlite3_close(c->to);
	free(c->path);
	free(c);
}

int
db_copy_begin(
    struct db *db, const char *path, struct db_copy **ret, struct err *e)
{
	/* Of a copy that is broken off nothing is needed: it is made anew. */
	static const char FAST[] =
	    "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; PRAGMA cache_size=-1024";
	struct db_copy *c;
	int rc;

	if (db_engine(db) != STORE_SQLITE)
		return err_set(e, ERR_INVALID,
		    "the data is in PostgreSQL, whose own tools copy it: pg_dump, pg_basebackup");
	c = mem_get(sizeof(*c));
	c->path = mem_z(str_of(path));
	rc = sqlite3_open_v2(path, &c->to,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	    NULL);
	if (!c->to)
		mem_out(sizeof(*c));
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(c->to, FAST, NULL, NULL, NULL);
	if (rc == SQLITE_OK) {
		c->run = sqlite3_backup_init(
		    c->to, "main", store_sqlite_of(db), "main");
		rc = sqlite3_errcode(c->to);
	}
	if (rc == SQLITE_OK) {
		*ret = c;
		return OK;
	}
	rc = copy_failed(c, rc, e);
	db_copy_end(c);
	return rc;
}

int
db_copy_step(
    struct db_copy *c, int pages, struct db_copy_at *ret, struct err *e)
{
	int rc = sqlite3_backup_step(c->run, pages);

	ret->pages = sqlite3_backup_pagecount(c->run);
	ret->left = sqlite3_backup_remaining(c->run);
	if (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
		return 1;
	return rc == SQLITE_DONE ? 0 : copy_failed(c, rc, e);
}

int
db_sound(struct db *db, struct err *e)
{
	sqlite3_stmt *st = NULL;
	const char *said = "no answer";
	int rc;

	if (db_engine(db) != STORE_SQLITE)
		return OK;
	rc = sqlite3_prepare_v2(
	    store_sqlite_of(db), "PRAGMA quick_check(1)", -1, &st, NULL);
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		said = (const char *)sqlite3_column_text(st, 0);
	rc = strcmp(said, "ok") == 0
		 ? OK
		 : err_set(
		       e, ERR_STORE, "the database is damaged: %.300s", said);
	(void)sqlite3_finalize(st);
	return rc;
}
