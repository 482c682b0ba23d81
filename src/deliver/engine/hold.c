#include "base/arena.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/map.h"
#include "base/str.h"
#include "deliver/engine/control.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/wish.h"
#include "match/jq/jq.h"

/*
 * Subscriptions that are held: their filter or template went wrong too often
 * (strikes.h). The core leaves all that comes to a reader from the moment the
 * deliver thread hears of it; the store hears of it by a change of the
 * subscription, with its place in the log, which is posted until it is in.
 * When somebody changed the subscription meanwhile that change counts: dispatch
 * comes to it, and the core goes on.
 *
 * LIFE. A hold is in d->holds from hold_apply() until its change is stored or
 * refused. All but hold_strike() and hold_tell() is the deliver thread's.
 */

struct hold {
	struct note note; /* NOTE_HELD */
	struct sub_change change;
	struct deliver *d;
	struct wish *wish; /* a reference */
	struct link in_holds;
	char uid[UUID_LEN + 1];
	int64_t again_us;
	bool busy; /* the commit thread has it */
};

enum reason
hold_strike(struct deliver *d, struct wish *w, const struct jq_said *said)
{
	enum reason r = said->verdict == JQ_OVERRAN ? REASON_FILTER_OVERRAN
						    : REASON_FILTER_FAILED;

	if (said->verdict != JQ_OVERRAN && said->verdict != JQ_ERROR)
		return REASON_NONE;
	metric_add(M_FILTER_ERRORS, 1);
	(void)wish_strike(w, r, deliver_now(d));
	return r;
}

bool
hold_knows(const struct deliver *d, const struct core_send *s)
{
	const struct letter *l = s->ev;
	const struct wish *w = deliver_wish(d, s->sub);

	if (!l || !s->unjudged)
		return l != NULL;
	return l->failed && w && l->judged_by == w->version;
}

void
hold_tell(struct deliver *d, struct wish *w)
{
	struct sub_note *n = calloc(1, sizeof(*n));

	if (!n) {
		(void)fputs("hikyaku: no memory for subscriptions\n", stderr);
		abort();
	}
	n->note.kind = NOTE_HOLD;
	n->wish = wish_ref(w);
	deliver_tell(d, &n->note);
}

static void
posted(struct append_job *job)
{
	const struct sub_change *c = job->ctx;
	struct hold *h = c->arg;

	deliver_tell(h->d, &h->note);
}

static void
post(struct hold *h, int64_t now)
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
	    .job.done = posted,
	    .audit =
		{
		    .category = AUDIT_SUBSCRIPTION_HELD,
		    .at_us = now,
		    .target_type = STR("subscription"),
		    .webhook_id = str_of(h->uid),
		    .error = str_of(why),
		},
	};
	h->busy = control_post(h->d->o.append, &h->change, &e) == OK;
	h->d->holds_busy += h->busy;
	h->again_us = now + FLUSH_AGAIN_US;
}

static void
drop(struct hold *h)
{
	list_remove(&h->d->holds, &h->in_holds);
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
hold_apply(struct deliver *d, struct wish *w, int64_t now)
{
	struct hold *h;

	/* It may have been changed since: that is another wish. */
	if (!wish_held(w) || w->core.held || w->hold_begun ||
	    deliver_wish(d, w->core.id) != w)
		return;
	core_hold(d->core, w->core.id);
	h = calloc(1, sizeof(*h));
	if (!h)
		return; /* what comes next for it begins this again */
	w->hold_begun = true;
	h->d = d;
	h->wish = wish_ref(w);
	uuid_format(w->uid, h->uid);
	list_add(&d->holds, &h->in_holds);
	log_held(h);
	post(h, now);
}

void
hold_turn(struct deliver *d, int64_t now)
{
	for (struct link *k = list_first(&d->holds); k;
	     k = list_next(&d->holds, k)) {
		struct hold *h = LINK_OF(k, struct hold, in_holds);

		if (!h->busy && now >= h->again_us)
			post(h, now);
	}
}

int64_t
hold_due(const struct deliver *d)
{
	int64_t due = INT64_MAX;

	for (struct link *k = list_first(&d->holds); k;
	     k = list_next(&d->holds, k)) {
		const struct hold *h = LINK_OF(k, struct hold, in_holds);

		if (!h->busy && h->again_us < due)
			due = h->again_us;
	}
	return due;
}

void
hold_posted(struct deliver *d, struct note *n, int64_t now)
{
	struct hold *h = (struct hold *)n;
	const struct err *e = &h->change.job.err;

	h->busy = false;
	d->holds_busy--;
	if (e->code == OK || e->code == ERR_CONFLICT || e->code == ERR_ABSENT) {
		drop(h);
		return;
	}
	log_err(
	    LOG_WARN, "that a subscription is held can't be written now", e);
	h->again_us = now + US_PER_S;
}

void
hold_done(struct deliver *d)
{
	struct link *k;

	while (d->holds.head.next && (k = list_first(&d->holds)))
		drop(LINK_OF(k, struct hold, in_holds));
}
