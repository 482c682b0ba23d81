#include "deliver/engine/owner.h"

#include "base/log/log.h"
#include "deliver/engine/attempt.h"
#include "node/limits.h"
#include "node/node.h"
#include "sql.h"

bool
owner_may_send(const struct owner *o, int64_t now)
{
	return o->state == OWNER_YES &&
	       (!o->shared || now - o->renewed_us < LEASE_SEND_US);
}

/* Commit thread ------------------------------------------------------------ */

static int
take_groups(struct db *db, void *ctx, struct err *e)
{
	struct owner *o = ctx;
	int64_t now = deliver_now(o->d);
	struct sql_grp_lock_row lock;
	struct sql_grp_mine_row row;
	struct str id = node_id(o->node);

	TRY(sql_grp_lock_one(db, &lock, e)); /* one at a time */
	TRY(node_start(db, o->node, now, e));
	/* Without others, whoever had them is gone. */
	TRY((int)sql_grp_take(
	    db, e, .node = id, .now = o->shared ? now : INT64_MAX - 1));
	if (TRY(sql_grp_mine_one(db, &row, e, .node = id)) > 0) {
		if (row.n > 0)
			TRY((int)sql_dead_missed(db, e, .now = now));
		o->epoch = row.n > 0 ? row.epoch : 0;
		o->cursor = row.cursor;
		o->unclean = row.unclean;
	}
	return OK;
}

static int
renew_lease(struct db *db, void *ctx, struct err *e)
{
	const struct owner *o = ctx;

	TRY(node_renew(db, o->node, deliver_now(o->d), e));
	/* The lease is one thing, what it is for another: while this process
	 * stood still, somebody else may have taken the groups. */
	return node_fence(db, o->node, o->epoch, e);
}

static int
leave_groups(struct db *db, void *ctx, struct err *e)
{
	const struct owner *o = ctx;

	TRY((int)sql_grp_leave(
	    db, e, .node = node_id(o->node), .epoch = o->epoch));
	return node_end(db, o->node, e);
}

static void
job_done(struct append_job *job)
{
	struct owner *o = job->ctx;

	deliver_tell(o->d, &o->job.note);
}

/* Deliver thread ----------------------------------------------------------- */

static void
post_job(struct owner *o, int (*fn)(struct db *, void *, struct err *))
{
	struct err e;

	o->job.note.kind = NOTE_OWNED;
	o->job.job = (struct append_job){.fn = fn, .ctx = o, .done = job_done};
	o->job.posted_us = deliver_now(o->d);
	o->job.busy = append_post(o->append, &o->job.job, &e) == OK;
}

enum owner_news
owner_job_done(struct owner *o, int64_t now)
{
	bool taken = o->state == OWNER_TAKING;
	int rc = o->job.job.err.code;

	o->job.busy = false;
	o->try_us = now + LEASE_RENEW_US;
	if (rc == ERR_DENIED &&
	    (o->state == OWNER_LOADING || o->state == OWNER_YES)) {
		o->renewed_us = now - LEASE_SEND_US; /* no send starts */
		return OWNER_LOST;
	}
	/* Since then it holds, however long the answer took to get here. */
	if (rc == OK)
		o->renewed_us = o->job.posted_us;
	if (!taken)
		return OWNER_SAME;
	o->state = OWNER_NONE;
	if (rc < 0 || o->epoch == 0)
		return OWNER_SAME;
	o->state = OWNER_LOADING;
	log_fmt(LOG_INFO, "this node delivers", "epoch %lld, from %lld",
	    (long long)o->epoch, (long long)o->cursor);
	return OWNER_GOT;
}

void
owner_turn(struct owner *o, int64_t now)
{
	if (o->job.busy || now < o->try_us)
		return;
	o->try_us = now + LEASE_RENEW_US;
	if (o->state == OWNER_NONE) {
		post_job(o, take_groups);
		if (o->job.busy)
			o->state = OWNER_TAKING;
	} else if (o->shared) {
		post_job(o, renew_lease);
	}
}

void
owner_leave(struct owner *o)
{
	o->state = OWNER_LEAVING;
	post_job(o, leave_groups);
}
