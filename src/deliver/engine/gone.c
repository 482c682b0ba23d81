#include "deliver/engine/gone.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "deliver/engine/control.h"
#include "deliver/engine/wish.h"
#include "sql.h"

struct gone {
	struct sub_change change;
	struct arena *arena;
};

static void
gone_done(struct append_job *job)
{
	const struct sub_change *c = job->ctx;
	struct gone *g = c->arg;

	if (job->err.code < 0 && job->err.code != ERR_CONFLICT)
		log_err(LOG_ERROR, "a subscription could not be disabled",
		    &job->err);
	arena_free(g->arena);
	free(g);
}

/* Several may have been under way: one of them disables and tells of it. */
static int
still_enabled(struct db *db, struct sub_change *c, struct err *e)
{
	const struct gone *g = c->arg;
	struct sql_subs_one_row row;
	int rc = sql_subs_one_one(db, g->arena, &row, e, .id = c->id);

	if (rc < 0)
		return rc;
	return rc > 0 && row.enabled
		   ? OK
		   : err_set(e, ERR_CONFLICT, "it is disabled already");
}

void
gone_disable(
    struct append *append, const struct wish *w, bool tell, int64_t now)
{
	static const char WHY[] = "the receiver answered 410 Gone";
	struct gone *g = mem_get(sizeof(*g));
	struct sub_change *c = &g->change;
	struct arena *a = arena_new(64 * KIB);
	struct buf b = BUF(1 * KIB);
	char *id = arena_alloc(a, UUID_LEN + 1);
	struct err e = {0};
	int rc;

	uuid_format(w->uid, id);
	g->arena = a;
	*c = (struct sub_change){
	    .kind = SUB_SWITCH,
	    .id = w->core.id,
	    .why = STR(WHY),
	    .now_us = now,
	    .fill = still_enabled,
	    .job.done = gone_done,
	    .arg = g, /* gone_done() frees it */
	    .audit =
		{
		    .category = AUDIT_SUBSCRIPTION_DISABLED,
		    .at_us = now,
		    .target_type = STR("subscription"),
		    .webhook_id = str_of(id),
		    .has_result = true,
		    .status = 410,
		    .error = STR(WHY),
		},
	};
	buf_fmt(&b, "{\"subscriptionId\":\"%s\",\"reason\":\"%s\"}", id, WHY);
	rc = control_event(a, "ops.endpoint.disabled", (struct uuid){{0}},
	    STR("subscription"), buf_str(&b), now, &c->entries[1], &e);
	c->has_event = tell;
	if (rc == OK)
		rc = control_post(append, c, &e);
	buf_done(&b);
	if (rc < 0) {
		log_err(LOG_ERROR, "a subscription could not be disabled", &e);
		arena_free(a);
		free(g);
	}
}
