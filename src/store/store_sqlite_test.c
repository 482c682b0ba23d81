#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* these before */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/log/log.h"
#include "sql.h"
#include "store/fixture_test.h"
#include "store/limits.h"

static char body[64 * KIB];

static void
open_all(struct fixture *f, struct db **w, struct err *e)
{
	fixture_open(f, STORE_SQLITE, NULL);
	assert_int_equal(db_open(f->store, DB_WRITE, w, e), OK);
}

static int64_t
insert(struct db *db, int64_t seq, struct err *e)
{
	struct str b = {body, sizeof(body)};

	return sql_log_insert(db,
	    &(struct sql_log_insert_args){.seq = seq,
		.kind = 0,
		.tenant = STR_EMPTY,
		.event_id = STR("id"),
		.h = seq,
		.hash = STR("h"),
		.type = STR("t"),
		.pkey = STR("k"),
		.rv = NULL,
		.received_at = 0,
		.to_sub = NULL,
		.attrs = STR_EMPTY,
		.body = b},
	    1, e);
}

static int
insert_tx(struct db *db, void *ctx, struct err *e)
{
	int64_t n = insert(db, *(int64_t *)ctx, e);

	return n < 0 ? (int)n : OK;
}

static int64_t
last(struct db *db)
{
	struct rows *r;
	struct err e;
	int64_t seq;

	assert_int_equal(sql_log_last(db, &r, &e), OK);
	assert_int_equal(rows_next(r, &e), 1);
	seq = rows_int(r, 0);
	rows_close(r);
	return seq;
}

static int64_t
wal_file_bytes(const struct fixture *f)
{
	char path[96];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/hikyaku.db-wal", f->dir);
	return stat(path, &st) == 0 ? st.st_size : -1;
}

/* SQLite's own word on the whole file. */
static void
assert_sound(const struct fixture *f)
{
	char path[96];
	sqlite3 *h = NULL;
	sqlite3_stmt *st = NULL;

	(void)snprintf(path, sizeof(path), "%s/hikyaku.db", f->dir);
	assert_int_equal(sqlite3_open(path, &h), SQLITE_OK);
	assert_int_equal(
	    sqlite3_prepare_v2(h, "PRAGMA integrity_check", -1, &st, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(st, 0), "ok");
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(h);
}

static void
checkpoints(void **)
{
	struct fixture f;
	struct db *w, *r;
	struct rows *rows;
	struct err e;
	int64_t wal, grown;

	open_all(&f, &w, &e);
	assert_int_equal(db_open(f.store, DB_READ, &r, &e), OK);
	for (int64_t i = 1; i <= 32; i++)
		assert_int_equal(insert(w, i, &e), 1);
	/* Nothing was copied by SQLite itself, and the size is the file's. */
	assert_int_equal(db_wal_behind(w), db_wal_bytes(w));
	assert_int_equal(db_checkpoint(w, CHECKPOINT_COPY, &wal, &e), OK);
	assert_int_equal(db_wal_behind(w), 0);
	assert_true(wal > 32 * (int64_t)sizeof(body));
	assert_in_range(wal_file_bytes(&f), wal, wal + 32);
	grown = wal_file_bytes(&f);

	/* All of it was copied, so the next write begins at the front. */
	assert_int_equal(insert(w, 33, &e), 1);
	assert_int_equal(db_checkpoint(r, CHECKPOINT_COPY, &wal, &e), OK);
	assert_true(wal < grown / 8);
	assert_int_equal(wal_file_bytes(&f), grown);

	/* A reader is in the way: not done, and no failure. */
	assert_int_equal(db_begin(r, &e), OK);
	assert_int_equal(last(r), 33);
	assert_int_equal(insert(w, 34, &e), 1);
	assert_int_equal(db_checkpoint(w, CHECKPOINT_WAIT, &wal, &e), OK);
	assert_true(wal > 0);
	assert_in_range(db_wal_behind(w), 1, wal);
	assert_int_equal(db_commit(r, &e), OK);
	assert_int_equal(db_checkpoint(w, CHECKPOINT_WAIT, &wal, &e), OK);
	assert_int_equal(wal, 0);

	assert_int_equal(sql_log_get(r, &rows, &e, .seq = 34), OK);
	assert_int_equal(rows_next(rows, &e), 1);
	assert_int_equal(rows_str(rows, 5).n, sizeof(body));
	rows_close(rows);
	db_close(r);
	db_close(w);
	fixture_close(&f);
}

/* Soon when little is left to copy and nobody is in the way; late in any case. */
static void
restarts(void **)
{
	struct fixture f;
	struct db *w, *r;
	struct err e;
	int64_t wal, seq = 0;

	open_all(&f, &w, &e);
	assert_int_equal(db_open(f.store, DB_READ, &r, &e), OK);
	while (db_wal_bytes(w) <= (int64_t)WAL_READY_BYTES)
		assert_int_equal(insert(w, ++seq, &e), 1);
	assert_false(db_wal_due(w)); /* all of it is to be copied */
	wal = db_wal_bytes(w);
	assert_int_equal(db_wal_restart(w, &e), OK);
	assert_int_equal(db_wal_bytes(w), wal);

	assert_int_equal(db_begin(r, &e), OK);
	assert_int_equal(last(r), seq);
	assert_int_equal(db_checkpoint(w, CHECKPOINT_COPY, &wal, &e), OK);
	assert_true(db_wal_due(w));
	assert_int_equal(db_wal_restart(w, &e), OK); /* there is a reader */
	assert_true(db_wal_bytes(w) > (int64_t)WAL_READY_BYTES);
	assert_int_equal(db_commit(r, &e), OK);
	assert_int_equal(db_wal_restart(w, &e), OK);
	assert_int_equal(db_wal_bytes(w), 0);

	while (db_wal_bytes(w) <= (int64_t)WAL_RESTART_BYTES)
		assert_int_equal(insert(w, ++seq, &e), 1);
	assert_false(db_wal_due(w));
	assert_int_equal(db_wal_restart(w, &e), OK);
	assert_int_equal(db_wal_bytes(w), 0);
	assert_int_equal(insert(w, ++seq, &e), 1);
	assert_true(db_wal_bytes(w) <= 2 * (int64_t)sizeof(body));
	assert_int_equal(last(r), seq);
	db_close(r);
	db_close(w);
	fixture_close(&f);
}

/* What outgrows the cache is in the WAL before its commit, and changes there. */
static void
outgrows(void **)
{
	enum { ROWS = 200, TWICE = 2 };
	struct fixture f;
	struct db *w, *r;
	struct rows *rows;
	struct err e;

	open_all(&f, &w, &e);
	assert_int_equal(db_open(f.store, DB_READ, &r, &e), OK);
	for (int turn = 1; turn <= TWICE; turn++) {
		assert_int_equal(db_begin(w, &e), OK);
		for (int64_t i = 1; i <= ROWS; i++) {
			assert_int_equal(insert(w, i, &e), 1);
			if (i % 50 == 0)
				assert_int_equal(
				    sql_retain_log(
					w, &e, .upto = i - 25, .cut = 1) > 0,
				    true);
		}
		assert_int_equal(last(r), 0);
		if (turn < TWICE)
			db_rollback(w);
		else
			assert_int_equal(db_commit(w, &e), OK);
	}
	assert_int_equal(last(r), ROWS);
	for (int64_t i = ROWS - 24; i <= ROWS; i++) {
		assert_int_equal(sql_log_get(r, &rows, &e, .seq = i), OK);
		assert_int_equal(rows_next(rows, &e), 1);
		assert_int_equal(rows_str(rows, 5).n, sizeof(body));
		assert_memory_equal(rows_str(rows, 5).p, body, sizeof(body));
		rows_close(rows);
	}
	assert_sound(&f);
	db_close(r);
	db_close(w);
	fixture_close(&f);
}

/* Until no more goes in; then nothing of the failed one is there. */
static void
fill(struct db *w, struct err *e)
{
	int64_t seq = 0, alone;
	int rc;

	do {
		seq++;
		rc = db_tx(w, insert_tx, &seq, e);
	} while (rc == OK && seq < 4096);
	assert_int_equal(rc, ERR_FULL);
	assert_true(e->retry_after_s > 0);
	assert_int_equal(last(w), seq - 1);
	alone = insert(w, seq, e);
	assert_int_equal(alone, ERR_FULL);
	assert_int_equal(last(w), seq - 1);
}

/* A limit on the size of files stands for the full disk. */
static void
full(void **)
{
	struct rlimit old, low;
	struct fixture f;
	struct db *w;
	struct err e;
	int64_t seq, wal;

	open_all(&f, &w, &e);
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = (struct rlimit){.rlim_cur = 2 * MIB, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	fill(w, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	seq = last(w) + 1;
	assert_int_equal(db_tx(w, insert_tx, &seq, &e), OK);
	assert_int_equal(last(w), seq);
	assert_int_equal(db_checkpoint(w, CHECKPOINT_COPY, &wal, &e), OK);
	db_close(w);
	fixture_close(&f);
}

/* In a child with mounts of its own; 77 when that is not allowed. */
static void
on_small_disk(const char *dir)
{
	struct store_opts o = {.dir = dir};
	struct store *s;
	struct db *w, *r;
	struct err e;
	int64_t seq, wal;
	int steps;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("hk", dir, "tmpfs", 0, "size=3m") < 0)
		_exit(77);
	assert_int_equal(store_open(&o, &s, &e), OK);
	assert_int_equal(store_migrate(s, &steps, &e), OK);
	assert_int_equal(db_open(s, DB_WRITE, &w, &e), OK);
	fill(w, &e);
	/* The copy into the file needs room of its own. */
	assert_int_equal(db_checkpoint(w, CHECKPOINT_COPY, &wal, &e), ERR_FULL);
	seq = last(w);
	assert_int_equal(db_open(s, DB_READ, &r, &e), OK);
	assert_int_equal(last(r), seq);
	db_close(r);

	assert_int_equal(mount("hk", dir, "tmpfs", MS_REMOUNT, "size=16m"), 0);
	assert_int_equal(db_checkpoint(w, CHECKPOINT_WAIT, &wal, &e), OK);
	assert_int_equal(wal, 0);
	seq++;
	assert_int_equal(db_tx(w, insert_tx, &seq, &e), OK);
	assert_int_equal(last(w), seq);
	db_close(w);
	store_close(s);
	_exit(0);
}

static void
full_disk(void **)
{
	char dir[] = "/tmp/hk-test-XXXXXX";
	int status;
	pid_t pid;

	assert_non_null(mkdtemp(dir));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		on_small_disk(dir);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)rmdir(dir);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* libsqlite3 calls these instead of the system's. */
enum disk { WELL, SYNC_FAILS, WRITE_FAILS };
static enum disk disk = WELL;

int
fdatasync(int fd)
{
	if (disk != SYNC_FAILS)
		return fsync(fd);
	errno = EIO;
	return -1;
}

static ssize_t
bad_pwrite(int, const void *, size_t, off_t)
{
	errno = EIO;
	return -1;
}

/* A disk that fails at a commit ends the process, and says so. */
static void
failed_disk(void **)
{
	static const struct {
		enum disk disk;
		bool tx;
	} ROWS[] = {{SYNC_FAILS, true}, {SYNC_FAILS, false},
	    {WRITE_FAILS, true}, {WRITE_FAILS, false}};

	for (size_t i = 0; i < COUNT_OF(ROWS); i++) {
		sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
		char said[512] = "";
		struct fixture f;
		struct db *w;
		struct err e;
		int64_t seq = 1;
		int status, out[2];
		pid_t pid;

		fixture_open(&f, STORE_SQLITE, NULL);
		assert_int_equal(pipe(out), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			log_setup(LOG_INFO, LOG_JSON, out[1]);
			if (db_open(f.store, DB_WRITE, &w, &e) < 0)
				_exit(3);
			disk = ROWS[i].disk;
			if (disk == WRITE_FAILS)
				(void)vfs->xSetSystemCall(vfs, "pwrite64",
				    (sqlite3_syscall_ptr)bad_pwrite);
			if (ROWS[i].tx)
				(void)!db_tx(w, insert_tx, &seq, &e);
			else
				(void)!insert(w, seq, &e);
			_exit(2);
		}
		(void)close(out[1]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(read(out[0], said, sizeof(said) - 1) > 0);
		(void)close(out[0]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 1);
		assert_non_null(strstr(said, "the disk failed"));
		fixture_close(&f);
	}
}

static void
damaged(void **)
{
	struct fixture f;
	struct store_opts o;
	struct err e;
	char path[96];
	int fd;

	fixture_make(&f, STORE_SQLITE);
	o = fixture_opts(&f, NULL);
	(void)snprintf(path, sizeof(path), "%s/hikyaku.db", f.dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, body, sizeof(body)), sizeof(body));
	(void)close(fd);
	assert_int_equal(store_open(&o, &f.store, &e), ERR_STORE);
	assert_non_null(strstr(e.text, "hikyaku.db"));
	assert_non_null(strstr(e.text, "backup"));
	fixture_close(&f);
}

static void
no_folder(void **)
{
	struct store_opts o = {.dir = "/tmp/hk-test-none/none"};
	struct store *s;
	struct err e;

	assert_int_equal(store_open(&o, &s, &e), ERR_STORE);
	assert_non_null(strstr(e.text, o.dir));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(checkpoints),
	    cmocka_unit_test(restarts),
	    cmocka_unit_test(outgrows),
	    cmocka_unit_test(full),
	    cmocka_unit_test(full_disk),
	    cmocka_unit_test(failed_disk),
	    cmocka_unit_test(damaged),
	    cmocka_unit_test(no_folder),
	};

	memset(body, 'b', sizeof(body));
	return cmocka_run_group_tests_name("sqlite", tests, NULL, NULL);
}
