#include "ops/restored.h"

#include "audit/audit.h"
#include "sql.h"
#include "store/store.h"

#define RESTORED STR("restored")

int
restored_mark(struct db *db, struct str note, struct err *e)
{
	return (int)sql_meta_put(db, e, .name = RESTORED, .value = note) < 0
		   ? e->code
		   : OK;
}

int
restored_look(struct db *db, struct arena *a, struct str *ret, struct err *e)
{
	struct sql_meta_get_row row;
	int n = TRY(sql_meta_get_one(db, a, &row, e, .name = RESTORED));

	*ret = n > 0 ? row.value : (struct str){NULL, 0};
	return OK;
}

int
restored_resume(struct db *db, struct str by, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(16 * KIB);
	struct audit_row row = {.category = AUDIT_DELIVERIES_RESUMED,
	    .at_us = clock_now_us(),
	    .actor = by,
	    .target_type = STR("store")};

	TRY(restored_look(db, a, &row.trigger, e));
	if (!row.trigger.p)
		return err_set(e, ERR_ABSENT,
		    "nothing is held: this store was not restored, or leave was given");
	TRY((int)sql_meta_delete(db, e, .name = RESTORED));
	return audit_put(db, &row, e);
}
