#include "ops/backup.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/log/log.h"
#include "base/put.h"
#include "event/append.h"
#include "ops/limits.h"
#include "sql.h"
#include "store/store.h"

#define LAST STR("backup_last")

enum backup_state { NONE, RUNNING, READY, FAILED };
static const char *const STATES[] = {"none", "running", "ready", "failed"};

struct backup {
	struct append *append;
	const char *data;
	struct append_job job;
	/* the commit thread's, while it runs */
	char path[PATH_MAX];
	struct db_copy *copy;
	int rc; /* of the last step */
	struct err err;
	/* all */
	_Atomic enum backup_state state;
	_Atomic int64_t pages, left;
	_Atomic bool ending, full;
};

struct backup *
backup_new(struct append *append, const char *data)
{
	struct backup *x = mem_get(sizeof(*x));

	x->append = append;
	x->data = data;
	return x;
}

/* A copy must not take the room that events need. */
static int
check_room(const char *data, struct err *e)
{
	char path[PATH_MAX];
	struct statvfs fs;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/hikyaku.db", data);
	if (stat(path, &st) < 0 || statvfs(data, &fs) < 0 ||
	    (int64_t)fs.f_bavail * (int64_t)fs.f_frsize >
		st.st_size + BACKUP_SPARE)
		return OK;
	return err_set(e, ERR_FULL,
	    "the disk of %.200s has no room for a copy of %lld MiB", data,
	    (long long)(st.st_size / (off_t)MIB));
}

int
backup_folder(const char *data, char *ret_path, size_t path_max, struct err *e)
{
	static const char *const LEFT[] = {"", "-wal", "-shm", "-journal"};
	char dir[PATH_MAX];
	int n = snprintf(dir, sizeof(dir), "%s/" BACKUP_FOLDER, data);

	if (n < 0 || (size_t)n >= sizeof(dir) || (size_t)n + 20 > path_max)
		return err_set(e, ERR_INVALID, "data folder: path too long");
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_set(e, ERR_IO, "%.200s: %m", dir);
	for (size_t i = COUNT_OF(LEFT); i-- > 0;) {
		(void)snprintf(
		    ret_path, path_max, "%s/hikyaku.db%s", dir, LEFT[i]);
		if (unlink(ret_path) < 0 && errno != ENOENT)
			return err_set(e, ERR_IO, "%.200s: %m", ret_path);
	}
	return check_room(data, e);
}

/* Its failure is the backup's, not the commit thread's. */
static int
step(struct db *db, void *ctx, struct err *)
{
	struct backup *x = ctx;
	struct db_copy_at at = {0};

	x->rc = x->copy ? OK : db_copy_begin(db, x->path, &x->copy, &x->err);
	if (x->rc == OK)
		x->rc = db_copy_step(x->copy, BACKUP_STEP, &at, &x->err);
	atomic_store(&x->pages, at.pages);
	atomic_store(&x->left, at.left);
	return OK;
}

static void
backup_over(struct backup *x, enum backup_state state)
{
	db_copy_end(x->copy);
	x->copy = NULL;
	if (state == FAILED) {
		(void)unlink(x->path);
		log_err(LOG_ERROR, "the backup was broken off", &x->err);
		atomic_store(&x->full, x->err.code == ERR_FULL);
	}
	atomic_store(&x->state, state);
}

/* On the commit thread: what waits behind the step comes before the next. */
static void
backup_stepped(struct append_job *job)
{
	struct backup *x = job->ctx;

	if (x->rc > 0 && atomic_load(&x->ending))
		x->rc = err_set(&x->err, ERR_AWAY, "the server stops");
	if (x->rc > 0)
		x->rc = append_post(x->append, job, &x->err) < 0 ? ERR_BUSY : 1;
	if (x->rc <= 0)
		backup_over(x, x->rc == 0 ? READY : FAILED);
}

int
backup_start(struct backup *x, struct err *e)
{
	enum backup_state was = atomic_load(&x->state);
	int rc;

	if (was == RUNNING ||
	    !atomic_compare_exchange_strong(&x->state, &was, RUNNING))
		return err_set(e, ERR_BUSY, "a backup is being made");
	atomic_store(&x->pages, 0);
	atomic_store(&x->left, 0);
	x->job = (struct append_job){
	    .fn = step, .bare = true, .ctx = x, .done = backup_stepped};
	rc = backup_folder(x->data, x->path, sizeof(x->path), e);
	if (rc == OK)
		rc = append_post(x->append, &x->job, e);
	if (rc < 0)
		atomic_store(&x->state, NONE);
	return rc;
}

void
backup_show(struct backup *x, struct buf *b)
{
	enum backup_state state = atomic_load(&x->state);

	put_z(b, "state", STATES[state]);
	put_int(b, "pages", atomic_load(&x->pages));
	put_int(b, "left", atomic_load(&x->left));
	if (state == FAILED)
		put_z(b, "error",
		    atomic_load(&x->full) ? "the disk is full"
					  : "the server's log says why");
}

void
backup_end(struct backup *x)
{
	if (x)
		atomic_store(&x->ending, true);
}

void
backup_free(struct backup *x)
{
	free(x);
}

/* What the store knows of it ------------------------------------------------ */

int
backup_kept(struct db *db, struct str note, struct str by, struct err *e)
{
	struct audit_row row = {.category = AUDIT_BACKUP_MADE,
	    .at_us = clock_now_us(),
	    .actor = by,
	    .target_type = STR("store"),
	    .trigger = note};

	TRY((int)sql_meta_put(db, e, .name = LAST, .value = note));
	return audit_put(db, &row, e);
}

int
backup_last(struct db *db, struct arena *a, struct str *ret, struct err *e)
{
	struct sql_meta_get_row row;
	int n = TRY(sql_meta_get_one(db, a, &row, e, .name = LAST));

	*ret = n > 0 ? row.value : (struct str){NULL, 0};
	return OK;
}
