
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

	TRY(sql_version_there_one(db, &there, e));
	if (there.there)
		TRY(sql_version_get_one(db, &row, e));
	*ret = (int)row.version;
	return OK;
}

static int
apply(struct db *db, int at, struct err *e)
{
	const struct step_info *step = &STEPS[at];
	bool sqlite = db_engine(db) == STORE_SQLITE;

	if (at == 0)
		TRY(db->driver->script(db, MAKE_TABLE, e));
	TRY(db->driver->script(db, sqlite ? step->sqlite : step->postgres, e));
	return sql_version_put(db, e, .version = at + 1,
		   .name = str_of(step->name), .applied_at = clock_now_us()) < 0
		   ? (int)e->code
		   : OK;
}

/* One step, inside its transaction. 1: there was one to do. */
static int
step(struct db *db, struct err *e)
{
	int at;

	TRY(version(db, &at, e));
	if (at > STEP_COUNT)
		return err_set(e, ERR_INVALID,
		    "the store is at version %d, this program knows %d: use a newer hikyaku",
		    at, STEP_COUNT);
	if (at < STEP_COUNT)
		TRY(apply(db, at, e));
	return at < STEP_COUNT;
}

int
store_migrate(struct store *s, int *ret_steps, struct err *e)
{
	struct db *db CLEANUP(db_closep) = NULL;
	int done = 0, more;

	TRY(store_connect(s, s->engine, DB_WRITE, &db, e));
	do {
		TRY(db->driver->begin_alone(db, e));
		db->in_tx = true;
		more = TRY(step(db, e)); /* db_close() rolls back */
		TRY(db_commit(db, e));
		done += more;
	} while (more);
	*ret_steps = done;
	return OK;
}

int
store_version(struct store *s, int *ret, struct err *e)
{
	struct db *db CLEANUP(db_closep) = NULL;

	TRY(store_connect(s, s->engine, DB_READ, &db, e));
	return version(db, ret, e);
}
