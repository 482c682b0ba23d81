#include "ops/ended.h"

#include "audit/audit.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/put.h"
#include "base/str.h"
#include "base/uuid.h"
#include "contract/limits.h"
#include "ops/limits.h"
#include "sql.h"

struct ended {
	int64_t id;
	struct uuid uid;
	char name[SUB_NAME_MAX];
	size_t n_name;
};

/* 1: there is one. */
static int
next(struct db *db, struct ended *ret, struct err *e)
{
	struct sql_ended_next_row row;
	struct rows *rows = NULL;
	int rc = sql_ended_next(db, &rows, e);

	if (rc == OK)
		rc = sql_ended_next_next(rows, &row, e);
	if (rc > 0) {
		ret->id = row.id;
		ret->uid = uuid_of(row.uid);
		ret->n_name =
		    row.name.n < SUB_NAME_MAX ? row.name.n : SUB_NAME_MAX;
		memcpy(ret->name, row.name.p, ret->n_name);
	}
	rows_close(rows);
	return rc;
}

int
ended_any(struct db *db, bool *ret, struct err *e)
{
	struct ended s;
	int rc = next(db, &s, e);

	if (rc < 0)
		return rc;
	*ret = rc > 0;
	return OK;
}

static int
tell_audit(struct db *db, const struct ended *s, int64_t now_us,
    const int64_t n[3], struct err *e)
{
	char id[UUID_LEN + 1];
	struct buf b = BUF(1 * KIB);
	struct audit_row row = {
	    .category = AUDIT_WEBHOOK_DELIVERY_DROPPED,
	    .at_us = now_us,
	    .target_type = STR("subscription"),
	    .object_name = {s->name, s->n_name},
	    .has_result = true,
	    .error = STR("the subscription was deleted"),
	};
	int rc;

	uuid_format(s->uid, id);
	row.object_id = row.webhook_id = str_of(id);
	put_int(&b, "deliveries", n[0]);
	put_int(&b, "readers", n[1]);
	put_int(&b, "deadLetters", n[2]);
	row.details = buf_str(&b);
	rc = audit_put(db, &row, e);
	buf_done(&b);
	return rc;
}

int
ended_step(struct db *db, int64_t now_us, int64_t *ret_did, struct err *e)
{
	static int64_t (*const DROP[])(struct db *,
	    const struct sql_ended_delivery_args *,
	    struct err *) = {sql_ended_delivery_run, sql_ended_reader_run,
	    sql_ended_dead_run, sql_ended_stat_run, sql_ended_version_run};
	int64_t n[COUNT_OF(DROP)] = {0}, room = SUB_DROP_STEP;
	struct ended s = {.id = 0};
	int rc = next(db, &s, e);

	if (rc <= 0) {
		*ret_did = 0;
		return rc;
	}
	for (size_t i = 0; room > 0 && i < COUNT_OF(DROP); i++) {
		n[i] = DROP[i](db,
		    &(struct sql_ended_delivery_args){
			.sub = s.id, .most = room},
		    e);
		if (n[i] < 0)
			return e->code;
		room -= n[i];
	}
	if (room > 0 && sql_ended_done(db, e, .sub = s.id) < 0)
		return e->code;
	*ret_did = 1;
	return n[0] + n[1] + n[2] > 0 ? tell_audit(db, &s, now_us, n, e) : OK;
}
