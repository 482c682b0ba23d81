#include "store/sqlite/copy.h"

#include <sched.h>

#include "store/limits.h"
#include "store/store.h"

/* The system's methods of a file, but for one. */
struct polite {
	sqlite3_io_methods methods; /* first: the file points to it */
	const sqlite3_io_methods *system;
	const struct db *db;
};

static int
write_politely(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	const struct polite *p = (const void *)f->pMethods;
	int rc = p->system->xWrite(f, from, n, at);

	if (db_wal_behind(p->db) <= (int64_t)WAL_POLITE_BYTES)
		(void)sched_yield();
	return rc;
}

int
copy_wal(sqlite3 *h, const struct db *db, int *ret_frames, int *ret_copied)
{
	struct polite p = {.db = db};
	sqlite3_file *f = NULL;
	int rc = sqlite3_file_control(h, NULL, SQLITE_FCNTL_FILE_POINTER, &f);

	if (rc != SQLITE_OK || !f || !f->pMethods)
		return rc;
	p.system = f->pMethods;
	p.methods = *p.system;
	p.methods.xWrite = write_politely;
	f->pMethods = &p.methods;
	rc = sqlite3_wal_checkpoint_v2(
	    h, NULL, SQLITE_CHECKPOINT_PASSIVE, ret_frames, ret_copied);
	f->pMethods = p.system;
	return rc == SQLITE_OK ? p.system->xSync(f, SQLITE_SYNC_NORMAL) : rc;
}
