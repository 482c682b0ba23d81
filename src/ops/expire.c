#include "ops/expire.h"

#include "audit/audit.h"
#include "base/log/log.h"
#include "contract/limits.h"
#include "deliver/engine/control.h"
#include "ops/limits.h"
#include "sql.h"

struct expiry {
	struct sub_change change;
	char id[UUID_LEN + 1];
	char name[SUB_NAME_MAX * 4]; /* characters */
};

/* Whether the stored form says that it is over. */
static bool
is_over(struct str conf, int64_t now_us)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(8 * SUB_STORED_MAX);
	const struct json *at;
	struct json *j = NULL;
	struct err e;
	int64_t end_us = 0;

	return json_parse(a, conf, &j, &e) == OK &&
	       (at = json_at(j, STR("/managed/expiresAt"))) &&
	       json_is(at, JSON_STRING) &&
	       time_parse(at->text, &end_us, NULL) && end_us <= now_us;
}

static void
expired(struct append_job *job)
{
	const struct sub_change *c = job->ctx;

	/* Its time was moved, or another node was faster. */
	if (job->err.code < 0 && job->err.code != ERR_CONFLICT &&
	    job->err.code != ERR_ABSENT)
		log_err(
		    LOG_WARN, "a consumer whose time is over stays", &job->err);
	free(c->arg);
}

static int
still_over(struct db *db, struct sub_change *c, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(2 * SUB_STORED_MAX);
	struct sql_consumer_conf_row row;

	if (TRY(sql_consumer_conf_one(db, a, &row, e, .id = c->id)) > 0 &&
	    is_over(row.conf, c->now_us))
		return OK;
	return err_set(e, ERR_CONFLICT, "its time was moved");
}

static void
end_one(struct append *append, const struct sql_consumers_expiring_row *row,
    int64_t now_us)
{
	struct expiry *x = mem_get(sizeof(*x));
	struct sub_change *c = &x->change;
	struct err e = {0};

	(void)snprintf(x->name, sizeof(x->name), "%.*s", STR_ARG(row->name));
	uuid_format(uuid_of(row->uid), x->id);
	*c = (struct sub_change){
	    .kind = SUB_FINISH,
	    .id = row->id,
	    .now_us = now_us,
	    .fill = still_over,
	    .job = {.ctx = c, .done = expired},
	    .arg = x, /* expired() frees it */
	    .audit =
		{
		    .category = AUDIT_SUBSCRIPTION_DELETED,
		    .at_us = now_us,
		    .target_type = STR("subscription"),
		    .object_id = str_of(x->id),
		    .object_name = str_of(x->name),
		    .webhook_id = str_of(x->id),
		},
	};
	if (control_post(append, c, &e) < 0) {
		c->job.err = e;
		expired(&c->job);
	}
}

int
expire_look(struct append *append, struct db *db, int64_t now_us, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_consumers_expiring_row row;

	TRY(sql_consumers_expiring(db, &rows, e, .most = EXPIRE_STEP));
	while (TRY(sql_consumers_expiring_next(rows, &row, e)) > 0)
		if (is_over(row.conf, now_us))
			end_one(append, &row, now_us);
	return OK;
}
