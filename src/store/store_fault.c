#include <unistd.h>

#include "store/store_driver.h"

#define CRASHED 137 /* as if by SIGKILL */

static const char *const POINTS[] = {
    [FAULT_NONE] = "",
    [FAULT_BEGIN] = "begin",
    [FAULT_EXEC] = "exec",
    [FAULT_QUERY] = "query",
    [FAULT_COMMIT_BEFORE] = "commit-before",
    [FAULT_COMMIT_AFTER] = "commit-after",
    [FAULT_FULL] = "full",
    [FAULT_BUSY] = "busy",
    [FAULT_AWAY] = "away",
    [FAULT_CRASH_BEFORE] = "crash-before-commit",
    [FAULT_CRASH_AFTER] = "crash-after-commit",
};

static bool
hit(struct db *db, enum fault_point point)
{
	struct store *s = db->store;

	return s->fault == point && atomic_fetch_sub(&s->fault_in, 1) == 1;
}

/* What may go wrong with any call before it is begun. */
static int
entered(struct db *db, enum fault_point point, struct err *e)
{
	if (hit(db, FAULT_AWAY))
		return store_fail(e, ERR_AWAY, "fault: the database is away");
	if (hit(db, point))
		return err_set(e, ERR_STORE, "fault: the call failed");
	return OK;
}

static int
before_commit(struct db *db, struct err *e)
{
	if (hit(db, FAULT_CRASH_BEFORE))
		_exit(CRASHED);
	if (hit(db, FAULT_COMMIT_BEFORE))
		return err_set(e, ERR_STORE, "fault: the commit failed");
	if (hit(db, FAULT_FULL))
		return store_fail(e, ERR_FULL, "fault: the disk is full");
	if (hit(db, FAULT_BUSY)) {
		db->again = true;
		return store_fail(e, ERR_BUSY, "fault: the database is busy");
	}
	return OK;
}

static int
after_commit(struct db *db, struct err *e)
{
	if (hit(db, FAULT_CRASH_AFTER))
		_exit(CRASHED);
	if (hit(db, FAULT_COMMIT_AFTER))
		return store_fail(
		    e, ERR_UNCERTAIN, "fault: the commit's answer was lost");
	return OK;
}

static int
fake_begin(struct db *db, struct err *e)
{
	TRY(entered(db, FAULT_BEGIN, e));
	return db->store->engine->begin(db, e);
}

static int
fake_commit(struct db *db, struct err *e)
{
	int rc = entered(db, FAULT_NONE, e);

	if (rc == OK)
		rc = before_commit(db, e);
	if (rc < 0) {
		db->store->engine->rollback(db);
		return rc;
	}
	TRY(db->store->engine->commit(db, e));
	return after_commit(db, e);
}

static int64_t
fake_exec(
    struct db *db, int q, const struct val *args, size_t n_args, struct err *e)
{
	bool commits = store_commits(db, q);
	int64_t n;

	TRY(entered(db, FAULT_EXEC, e));
	if (commits)
		TRY(before_commit(db, e));
	n = db->store->engine->exec(db, q, args, n_args, e);
	if (n >= 0 && commits)
		TRY(after_commit(db, e));
	return n;
}

static int
fake_query(struct db *db, int q, const struct val *args, size_t n_args,
    struct rows **ret, struct err *e)
{
	bool commits = store_commits(db, q);
	int rc = OK;

	TRY(entered(db, FAULT_QUERY, e));
	if (commits)
		TRY(before_commit(db, e));
	TRY(db->store->engine->query(db, q, args, n_args, ret, e));
	if (commits)
		rc = after_commit(db, e);
	if (rc < 0)
		db->store->engine->rows_close(*ret);
	return rc;
}

static int
unknown(struct err *e)
{
	char names[192] = "";
	size_t n = 0;

	for (size_t i = 1; i < COUNT_OF(POINTS); i++)
		n += (size_t)snprintf(
		    names + n, sizeof(names) - n, " %s", POINTS[i]);
	return err_set(
	    e, ERR_INVALID, "a fault is name:nth, nth from 1; names:%s", names);
}

int
store_fault_set(struct store *s, const char *spec, struct err *e)
{
	struct str nth = str_of(spec);
	struct str name = str_cut(&nth, ':');
	size_t point = 1;
	int64_t in;

	while (point < COUNT_OF(POINTS) && !str_eq(name, str_of(POINTS[point])))
		point++;
	if (point == COUNT_OF(POINTS) || !str_int(nth, &in) || in < 1 ||
	    in > INT32_MAX)
		return unknown(e);
	s->fault = (enum fault_point)point;
	atomic_store(&s->fault_in, (int)in);
	s->faulty = *s->engine;
	s->faulty.begin = fake_begin;
	s->faulty.commit = fake_commit;
	s->faulty.exec = fake_exec;
	s->faulty.query = fake_query;
	s->driver = &s->faulty;
	return OK;
}
