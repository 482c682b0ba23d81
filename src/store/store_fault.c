#include <unistd.h>

#include "base/str.h"
#include "store/store_driver.h"

#define CRASHED 137 /* as if by SIGKILL */

static const struct {
	const char *name;
	enum fault_point point;
} POINTS[] = {
    {"begin", FAULT_BEGIN},
    {"exec", FAULT_EXEC},
    {"query", FAULT_QUERY},
    {"commit-before", FAULT_COMMIT_BEFORE},
    {"commit-after", FAULT_COMMIT_AFTER},
    {"full", FAULT_FULL},
    {"busy", FAULT_BUSY},
    {"away", FAULT_AWAY},
    {"crash-before-commit", FAULT_CRASH_BEFORE},
    {"crash-after-commit", FAULT_CRASH_AFTER},
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
	int rc = entered(db, FAULT_BEGIN, e);

	return rc < 0 ? rc : db->store->engine->begin(db, e);
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
	rc = db->store->engine->commit(db, e);
	return rc < 0 ? rc : after_commit(db, e);
}

static int64_t
fake_exec(
    struct db *db, int q, const struct val *args, size_t n_args, struct err *e)
{
	bool commits = store_commits(db, q);
	int rc = entered(db, FAULT_EXEC, e);
	int64_t n;

	if (rc == OK && commits)
		rc = before_commit(db, e);
	if (rc < 0)
		return rc;
	n = db->store->engine->exec(db, q, args, n_args, e);
	if (n >= 0 && commits)
		rc = after_commit(db, e);
	return rc < 0 ? rc : n;
}

static int
fake_query(struct db *db, int q, const struct val *args, size_t n_args,
    struct rows **ret, struct err *e)
{
	bool commits = store_commits(db, q);
	int rc = entered(db, FAULT_QUERY, e);

	if (rc == OK && commits)
		rc = before_commit(db, e);
	if (rc == OK)
		rc = db->store->engine->query(db, q, args, n_args, ret, e);
	if (rc < 0 || !commits)
		return rc;
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

	for (size_t i = 0; i < COUNT_OF(POINTS); i++)
		n += (size_t)snprintf(
		    names + n, sizeof(names) - n, " %s", POINTS[i].name);
	return err_set(
	    e, ERR_INVALID, "a fault is name:nth, nth from 1; names:%s", names);
}

int
store_fault_set(struct store *s, const char *spec, struct err *e)
{
	struct str nth = str_of(spec);
	struct str name = str_cut(&nth, ':');
	enum fault_point point = FAULT_NONE;
	int64_t in;

	for (size_t i = 0; i < COUNT_OF(POINTS); i++)
		if (str_eq(name, str_of(POINTS[i].name)))
			point = POINTS[i].point;
	if (point == FAULT_NONE || !str_int(nth, &in) || in < 1 ||
	    in > INT32_MAX)
		return unknown(e);
	s->fault = point;
	atomic_store(&s->fault_in, (int)in);
	s->faulty = *s->engine;
	s->faulty.begin = fake_begin;
	s->faulty.commit = fake_commit;
	s->faulty.exec = fake_exec;
	s->faulty.query = fake_query;
	s->driver = &s->faulty;
	return OK;
}
