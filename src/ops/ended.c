#include "ops/ended.h"

#include "audit/audit.h"
#include "contract/limits.h"
#include "ops/limits.h"
#include "sql.h"

int
ended_any(struct db *db, bool *ret, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(4 * KIB);
	struct sql_ended_next_row row;

	*ret = TRY(sql_ended_next_one(db, a, &row, e)) > 0;
	return OK;
}

static int
tell_audit(struct db *db, const struct sql_ended_next_row *s, int64_t now_us,
    const int64_t n[3], struct err *e)
{
	char id[UUID_LEN + 1];
	struct buf b CLEANUP(buf_done) = BUF(1 * KIB);
	struct audit_row row = {
	    .category = AUDIT_WEBHOOK_DELIVERY_DROPPED,
	    .at_us = now_us,
	    .target_type = STR("subscription"),
	    .object_name = s->name,
	    .has_result = true,
	    .error = STR("the subscription was deleted"),
	};

	uuid_format(uuid_of(s->uid), id);
	row.object_id = row.webhook_id = str_of(id);
	put_int(&b, "deliveries", n[0]);
	put_int(&b, "readers", n[1]);
	put_int(&b, "deadLetters", n[2]);
	row.details = buf_str(&b);
	return audit_put(db, &row, e);
}

int
ended_step(struct db *db, int64_t now_us, int64_t *ret_did, struct err *e)
{
	static int64_t (*const DROP[])(struct db *,
	    const struct sql_ended_delivery_args *,
	    struct err *) = {sql_ended_delivery_run, sql_ended_reader_run,
	    sql_ended_dead_run, sql_ended_stat_run, sql_ended_version_run};
	int64_t n[COUNT_OF(DROP)] = {0}, room = SUB_DROP_STEP;
	struct arena *a CLEANUP(arena_freep) = arena_new(4 * KIB);
	struct sql_ended_next_row s;

	*ret_did = TRY(sql_ended_next_one(db, a, &s, e));
	if (*ret_did == 0)
		return OK;
	for (size_t i = 0; room > 0 && i < COUNT_OF(DROP); i++) {
		n[i] = DROP[i](db,
		    &(struct sql_ended_delivery_args){
			.sub = s.id, .most = room},
		    e);
		if (n[i] < 0)
			return e->code;
		room -= n[i];
	}
	if (room > 0)
		TRY((int)sql_ended_done(db, e, .sub = s.id));
	return n[0] + n[1] + n[2] > 0 ? tell_audit(db, &s, now_us, n, e) : OK;
}
