#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "store/store_sqlite_priv.h"

#define ROOM_BLOCKS 64 /* fewer free ones than that: the disk is full */

static bool
is_sync(int rc)
{
	return rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC;
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
	if ((rc & 0xff) != SQLITE_IOERR || is_sync(rc))
		return false;
	why = rc == SQLITE_IOERR_WRITE ? write_errno(d->h, when) : 0;
	if (why == ENOSPC || why == EDQUOT || why == EFBIG)
		return true;
	return statvfs(f->path, &fs) == 0 && fs.f_bavail < ROOM_BLOCKS;
}

static _Noreturn void
die(sqlite3 *h, const char *doing)
{
	log_release();
	log_fmt(LOG_ERROR,
	    "the disk failed under the database: stopping, so that the next start reads what is really there",
	    "%s: %s (%d)", doing, sqlite3_errmsg(h),
	    sqlite3_extended_errcode(h));
	_exit(1);
}

static int
fail_constraint(sqlite3 *h, int rc, const char *doing, struct err *e)
{
	bool there = rc == SQLITE_CONSTRAINT_UNIQUE ||
		     rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
		     rc == SQLITE_CONSTRAINT_ROWID;

	return err_set(e, there ? ERR_CONFLICT : ERR_STORE, "%s: %s", doing,
	    sqlite3_errmsg(h));
}

int
sqlite_fail(struct sqlite_db *d, int rc, const char *doing, enum moment when,
    struct err *e)
{
	const struct file *f = d->base.store->self;
	const char *text = sqlite3_errmsg(d->h);

	if (no_room(d, rc, when))
		return store_fail(
		    e, ERR_FULL, "%s: the disk of %s is full", doing, f->path);
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		d->base.again = true;
		return store_fail(e, ERR_BUSY, "%s: %s", doing, text);
	case SQLITE_CONSTRAINT:
		return fail_constraint(d->h, rc, doing, e);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return err_set(e, ERR_STORE,
		    "%s is damaged, or no database of ours (%s): restore it from a backup",
		    f->path, text);
	case SQLITE_IOERR:
		if (when != AT_STEP || is_sync(rc))
			die(d->h, doing);
		return err_set(e, ERR_STORE, "%s: %s (%d)", doing, text, rc);
	case SQLITE_NOMEM:
		mem_out(0);
	default:
		return err_set(e, ERR_STORE, "%s: %s", doing, text);
	}
}
