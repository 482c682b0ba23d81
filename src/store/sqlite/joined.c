#include "store/sqlite/joined.h"

#include <sqlite3.h>

#include "base/base.h"
#include "store/limits.h"

/* The system's own file lies behind it, in the same piece of memory. */
struct joined {
	sqlite3_file base;
	sqlite3_file *real;
	char *kept;
	int n;            /* bytes that are kept … */
	sqlite3_int64 at; /* … and where they go */
};

static sqlite3_vfs *system_vfs;

static struct joined *
of(sqlite3_file *f)
{
	return (struct joined *)f;
}

/* What fails is not tried again: SQLite takes the transaction back. */
static int
flush(struct joined *j)
{
	int n = j->n;

	j->n = 0;
	return n > 0 ? j->real->pMethods->xWrite(j->real, j->kept, n, j->at)
		     : SQLITE_OK;
}

static int
joined_close(sqlite3_file *f)
{
	struct joined *j = of(f);
	int rc = flush(j), rc_close = j->real->pMethods->xClose(j->real);

	free(j->kept);
	j->kept = NULL;
	return rc != SQLITE_OK ? rc : rc_close;
}

static int
joined_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	struct joined *j = of(f);
	int rc = flush(j);

	return rc != SQLITE_OK ? rc
			       : j->real->pMethods->xRead(j->real, to, n, at);
}

static int
joined_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	struct joined *j = of(f);
	int rc = SQLITE_OK;

	if (j->n > 0 && (at != j->at + j->n || n > (int)WAL_JOIN_BYTES - j->n))
		rc = flush(j);
	if (rc != SQLITE_OK)
		return rc;
	if (!j->kept && n < (int)WAL_JOIN_BYTES)
		j->kept = malloc(WAL_JOIN_BYTES);
	if (!j->kept || n > (int)WAL_JOIN_BYTES)
		return j->real->pMethods->xWrite(j->real, from, n, at);
	if (j->n == 0)
		j->at = at;
	memcpy(j->kept + j->n, from, (size_t)n);
	j->n += n;
	return SQLITE_OK;
}

static int
joined_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	struct joined *j = of(f);
	int rc = flush(j);

	return rc != SQLITE_OK ? rc
			       : j->real->pMethods->xTruncate(j->real, size);
}

static int
joined_sync(sqlite3_file *f, int flags)
{
	struct joined *j = of(f);
	int rc = flush(j);

	return rc != SQLITE_OK ? rc : j->real->pMethods->xSync(j->real, flags);
}

static int
joined_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	struct joined *j = of(f);
	int rc = flush(j);

	return rc != SQLITE_OK ? rc
			       : j->real->pMethods->xFileSize(j->real, ret);
}

static int
joined_lock(sqlite3_file *f, int how)
{
	return of(f)->real->pMethods->xLock(of(f)->real, how);
}

static int
joined_unlock(sqlite3_file *f, int how)
{
	return of(f)->real->pMethods->xUnlock(of(f)->real, how);
}

static int
joined_locked(sqlite3_file *f, int *ret)
{
	return of(f)->real->pMethods->xCheckReservedLock(of(f)->real, ret);
}

static int
joined_control(sqlite3_file *f, int op, void *arg)
{
	return of(f)->real->pMethods->xFileControl(of(f)->real, op, arg);
}

static int
joined_sector(sqlite3_file *f)
{
	return of(f)->real->pMethods->xSectorSize(of(f)->real);
}

static int
joined_device(sqlite3_file *f)
{
	return of(f)->real->pMethods->xDeviceCharacteristics(of(f)->real);
}

/* Of a WAL nothing newer is asked: its shared memory is the database's. */
static const sqlite3_io_methods METHODS = {
    .iVersion = 1,
    .xClose = joined_close,
    .xRead = joined_read,
    .xWrite = joined_write,
    .xTruncate = joined_truncate,
    .xSync = joined_sync,
    .xFileSize = joined_size,
    .xLock = joined_lock,
    .xUnlock = joined_unlock,
    .xCheckReservedLock = joined_locked,
    .xFileControl = joined_control,
    .xSectorSize = joined_sector,
    .xDeviceCharacteristics = joined_device,
};

static int
joined_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
    int *ret_flags)
{
	struct joined *j = of(f);
	int rc;

	(void)vfs;
	if (!(flags & SQLITE_OPEN_WAL))
		return system_vfs->xOpen(system_vfs, name, f, flags, ret_flags);
	*j = (struct joined){.real = (sqlite3_file *)(void *)(j + 1)};
	rc = system_vfs->xOpen(system_vfs, name, j->real, flags, ret_flags);
	/* A file with methods is closed, also when it could not be opened. */
	if (j->real->pMethods)
		j->base.pMethods = &METHODS;
	return rc;
}

const char *
joined_vfs(void)
{
	static sqlite3_vfs vfs;

	system_vfs = sqlite3_vfs_find(NULL);
	if (!system_vfs)
		return NULL;
	vfs = *system_vfs;
	vfs.pNext = NULL;
	vfs.zName = "hikyaku";
	vfs.szOsFile += (int)sizeof(struct joined);
	vfs.xOpen = joined_open;
	return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK ? vfs.zName : NULL;
}
