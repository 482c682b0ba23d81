#include "base/arena.h"
#include "base/buf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/str.h"
#include "contract/verdict.h"
#include "deliver/engine/control.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/wish.h"

/*
 * A reader whose place in the log is gone: entries went by their age before it
 * came to them.
 *
 * WHY HERE. The log loses entries on the commit thread, readers move on the
 * deliver thread. Whoever moved a reader in the store alone would have its
 * position written back by the core; so nobody does. Fetch finds that the log
 * begins above a reader, its page tells so, and the deliver thread writes one
 * dead letter for the whole stretch with the flush that moves the reader. A
 * crash before that flush finds the same once more. One that stands still (its
 * subscription is disabled) jumps when it is read again.
 *
 * Rows are not touched either: their bodies were kept (event/retain.c), and
 * their next try finds the log without them and makes the dead letter.
 */

struct told {
	struct append_job job;
	struct entry entry;
	struct arena *arena;
};

static void
told_done(struct append_job *job)
{
	struct told *t = job->ctx;

	if (job->err.code < 0)
		log_err(LOG_WARN, "an alert could not be stored", &job->err);
	arena_free(t->arena);
	free(t);
}

/* An event for whoever watches; to lose one is no loss: the log line stays. */
static void
tell(struct deliver *d, struct uuid uid, const struct flush_range *g)
{
	struct told *t = calloc(1, sizeof(*t));
	struct buf b = BUF(1 * KIB);
	struct err e = {0};
	int rc = ERR_NOMEM;

	buf_addz(&b, "{\"subscriptionId\":\"");
	uuid_add(&b, uid);
	buf_fmt(&b,
	    "\",\"seqFrom\":%lld,\"seqTo\":%lld,\"reason\":\"EXPIRED\"}",
	    (long long)g->seq, (long long)g->seq_to);
	if (t)
		t->arena = arena_new(64 * KIB);
	if (t && t->arena)
		rc = control_event(t->arena, "ops.events.expired",
		    (struct uuid){{0}}, STR("subscription"), buf_str(&b), g->at,
		    &t->entry, &e);
	buf_done(&b);
	if (rc == OK) {
		t->job.entries = &t->entry;
		t->job.n = 1;
		t->job.ctx = t;
		t->job.done = told_done;
		rc = append_post(d->o.append, &t->job, &e);
	}
	if (rc < 0 && t) {
		arena_free(t->arena);
		free(t);
	}
}

void
lost_add(struct deliver *d, const struct page *p, int64_t now)
{
	struct flush_range g = {
	    .sub = p->read.sub,
	    .okey = p->read.okey,
	    .seq = p->read.after + 1,
	    .seq_to = p->lost_to,
	    .at = now,
	};
	struct log_line l;

	log_begin(&l, LOG_WARN, "events went before they were delivered");
	log_int(&l, "subscription", p->read.sub);
	log_int(&l, "rep", p->read.rep);
	log_int(&l, "seqFrom", g.seq);
	log_int(&l, "seqTo", g.seq_to);
	log_end(&l);
	metric_add(M_EVENTS_LOST, g.seq_to - g.seq + 1);
	if (p->read.rep > 0)
		return; /* a replay of what is gone: its answer says so */
	if (d->n_ranges == d->cap_ranges) {
		size_t cap = d->cap_ranges ? 2 * d->cap_ranges : 16;
		struct flush_range *v =
		    reallocarray(d->ranges, cap, sizeof(*v));

		if (!v) {
			(void)fputs(
			    "hikyaku: no memory for dead letters\n", stderr);
			abort();
		}
		d->ranges = v;
		d->cap_ranges = cap;
	}
	d->ranges[d->n_ranges++] = g;
	d->hurry = true;
	tell(d, p->wish->uid, &g);
}

/* What the next flush writes; as with decisions, the two lists take turns. */
void
lost_take(struct deliver *d)
{
	struct flush_range *v = d->ranges_now;
	size_t cap = d->cap_ranges_now;

	d->ranges_now = d->ranges;
	d->cap_ranges_now = d->cap_ranges;
	d->n_ranges_now = d->n_ranges;
	d->ranges = v;
	d->cap_ranges = cap;
	d->n_ranges = 0;
}
