#include <assert.h>

#include "base/clock.h"
#include "base/str.h"
#include "sql.h"
#include "store/store.h"
#include "store/store_driver.h"

static const char MAKE_TABLE[] =
    "CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY,"
    " name TEXT NOT NULL, applied_at BIGINT NOT NULL)";

/* 0 for a store that was never migrated. */
static int
version(struct db *db, int *ret, struct err *e)
{
	struct sql_version_there_row there = {0};
	struct sql_version_get_row row = {0};
	int rc = sql_version_there_one(db, &there, e);

	if (rc > 0 && there.there)
		rc = sql_version_get_one(db, &row, e);
	*ret = (int)row.version;
	return rc < 0 ? rc : OK;
}

static int
apply(struct db *db, int at, struct err *e)
{
	const struct step_info *step = &STEPS[at];
	bool sqlite = db_engine(db) == STORE_SQLITE;
	int64_t n;
	int rc;

	rc = at == 0 ? db->driver->script(db, MAKE_TABLE, e) : OK;
	if (rc < 0)
		return rc;
	rc = db->driver->script(db, sqlite ? step->sqlite : step->postgres, e);
	if (rc < 0)
		return rc;
	n = sql_version_put(db, e, .version = at + 1,
	    .name = str_of(step->name), .applied_at = clock_now_us());
	return n < 0 ? (int)n : OK;
}

/* One step in a transaction of its own. *ret: 1 when there was one to do. */
static int
step(struct db *db, int *ret, struct err *e)
{
	int at, rc;

	rc = db->driver->begin_alone(db, e);
	if (rc < 0)
		return rc;
	db->in_tx = true;
	rc = version(db, &at, e);
	if (rc == OK && at > STEP_COUNT)
		rc = err_set(e, ERR_INVALID,
		    "the store is at version %d, this program knows %d: use a newer hikyaku",
		    at, STEP_COUNT);
	*ret = rc == OK && at < STEP_COUNT;
	if (*ret)
		rc = apply(db, at, e);
	if (rc == OK)
		return db_commit(db, e);
	db_rollback(db);
	return rc;
}

int
store_migrate(struct store *s, int *ret_steps, struct err *e)
{
	struct db *db;
	int done = 0, more = 1;
	int rc = store_connect(s, s->engine, DB_WRITE, &db, e);

	if (rc < 0)
		return rc;
	while (rc == OK && more) {
		rc = step(db, &more, e);
		done += rc == OK && more;
	}
	db_close(db);
	if (rc == OK)
		*ret_steps = done;
	return rc;
}

int
store_version(struct store *s, int *ret, struct err *e)
{
	struct db *db;
	int at = 0;
	int rc = store_connect(s, s->engine, DB_READ, &db, e);

	if (rc < 0)
		return rc;
	rc = version(db, &at, e);
	db_close(db);
	if (rc == OK)
		*ret = at;
	return rc;
}
