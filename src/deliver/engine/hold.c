#include "deliver/engine/hold.h"

#include "base/log/log.h"
#include "base/log/metric.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/control.h"
#include "deliver/engine/flush.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/wish.h"
#include "match/jq/jq.h"

struct hold {
	struct note note; /* NOTE_HELD */
	struct sub_change change;
	struct holds *all;
	struct wish *wish; /* a reference */
	struct link in_holds;
	char uid[UUID_LEN + 1];
	int64_t again_us;
	bool busy; /* the commit thread has it */
};

enum reason
hold_strike(struct wish *w, const struct jq_said *said, int64_t now)
{
	enum reason r = said->verdict == JQ_OVERRAN ? REASON_FILTER_OVERRAN
						    : REASON_FILTER_FAILED;

	if (said->verdict != JQ_OVERRAN && said->verdict != JQ_ERROR)
		return REASON_NONE;
	metric_add(M_FILTER_ERRORS, 1);
	(void)wish_strike(w, r, now);
	return r;
}

static void
hold_stored(struct append_job *job)
{
	const struct sub_change *c = job->ctx;
	struct hold *h = c->arg;

	deliver_tell(h->all->d, &h->note);
}

static void
post_hold(struct hold *h, int64_t now)
{
	const char *why =
	    strikes_text((enum reason)atomic_load(&h->wish->strikes.held));
	struct err e;

	h->note.kind = NOTE_HELD;
	h->change = (struct sub_change){
	    .kind = SUB_HOLD,
	    .id = h->wish->core.id,
	    .version = h->wish->version,
	    .held = str_of(why),
	    .now_us = now,
	    .arg = h,
	    .job.done = hold_stored,
	    .audit =
		{
		    .category = AUDIT_SUBSCRIPTION_HELD,
		    .at_us = now,
		    .target_type = STR("subscription"),
		    .webhook_id = str_of(h->uid),
		    .error = str_of(why),
		},
	};
	h->busy = control_post(h->all->append, &h->change, &e) == OK;
	h->all->busy += h->busy;
	h->again_us = now + FLUSH_AGAIN_US;
}

static void
drop_hold(struct hold *h)
{
	list_remove(&h->all->list, &h->in_holds);
	wish_unref(h->wish);
	free(h);
}

static void
log_held(const struct hold *h)
{
	struct log_line l;

	log_begin(&l, LOG_WARN, "a subscription is held");
	log_str(&l, "subscriptionId", str_of(h->uid));
	log_str(&l, "reason",
	    str_of(strikes_text(
		(enum reason)atomic_load(&h->wish->strikes.held))));
	log_end(&l);
}

void
hold_apply(struct holds *all, struct core *core, struct wish *w, int64_t now)
{
	struct hold *h;

	/* It may have been changed since: that is another wish. */
	if (!wish_held(w) || w->core.held || w->hold_begun ||
	    deliver_wish(all->d, w->core.id) != w)
		return;
	core_hold(core, w->core.id);
	h = mem_get(sizeof(*h));
	w->hold_begun = true;
	h->all = all;
	h->wish = wish_ref(w);
	uuid_format(w->uid, h->uid);
	list_add(&all->list, &h->in_holds);
	log_held(h);
	post_hold(h, now);
}

void
hold_turn(struct holds *all, int64_t now)
{
	list_each (struct hold, h, &all->list, in_holds)
		if (!h->busy && now >= h->again_us)
			post_hold(h, now);
}

int64_t
hold_due(const struct holds *all)
{
	int64_t due = INT64_MAX;

	list_each (const struct hold, h, &all->list, in_holds)
		if (!h->busy && h->again_us < due)
			due = h->again_us;
	return due;
}

void
hold_posted(struct holds *all, struct note *n, int64_t now)
{
	struct hold *h = (struct hold *)n;
	const struct err *e = &h->change.job.err;

	h->busy = false;
	all->busy--;
	if (e->code == OK || e->code == ERR_CONFLICT || e->code == ERR_ABSENT) {
		drop_hold(h);
		return;
	}
	log_err(
	    LOG_WARN, "that a subscription is held can't be written now", e);
	h->again_us = now + US_PER_S;
}

void
hold_done(struct holds *all)
{
	list_each (struct hold, h, &all->list, in_holds)
		drop_hold(h);
}
