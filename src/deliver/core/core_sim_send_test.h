/*
 * core_sim_send_test.h - what must be true of each send in the world of core_sim_test.h.
 */
#pragma once

#include "deliver/core/core_sim_test.h"

/* Checks of a send ----------------------------------------------------------- */

/* It had its slot, and a row that says so, before it is sent now. */
static bool
locked(struct sim *s, const struct core_send *x)
{
	const struct one *o = one(s, x->row.sub, x->row.seq, x->row.rep);

	return s->subs[x->row.sub].o.lock_us > 0 ||
	       x->row.seq <= s->careful_upto ||
	       (o->row > 0 && s->rows[o->row - 1].state == ROW_SENDING);
}

/* Invariant 3. */
static void
check_order(struct sim *s, const struct core_send *x)
{
	struct sim_sub *sub = &s->subs[x->row.sub];
	int64_t *low = &sub->low[x->row.rep][x->row.okey];
	int64_t from = x->row.rep ? sub->replay_from[x->row.rep] : 0;
	/* It was under way already when an older one was requeued. */
	bool early = locked(s, x);

	note_drops(s);
	if (one(s, x->row.sub, x->row.seq, x->row.rep)->dropped)
		broke(s, "coalesce: %u/%lld was dropped and is sent",
		    x->row.sub, (long long)x->row.seq);
	for (int i = 0; i < s->n_flights; i++) {
		const struct flight *f = &s->flights[i];

		if (sub->o.alone && f->sub == x->row.sub &&
		    f->okey == x->row.okey && f->rep == 0 && x->row.rep == 0 &&
		    !x->row.asked && !f->item->row.asked)
			broke(s, "alone: two of a record at once");
	}
	for (int i = 0; i < s->n_flights; i++) {
		const struct flight *f = &s->flights[i];
		bool lane = x->row.okey && f->okey == x->row.okey &&
			    f->seq > sub->ordered_from &&
			    x->row.seq > sub->ordered_from;

		if (f->sub == x->row.sub && f->rep == x->row.rep &&
		    (f->seq == x->row.seq || lane))
			broke(s, "3: two in flight in a lane");
	}
	for (int i = 0; i < s->n_slips; i++) {
		const struct slip *p = &s->slips[i];

		if (!p->over && p->sub == x->row.sub && p->rep == x->row.rep &&
		    (p->seq == x->row.seq || (sub->o.order == CORE_ORDER_KEY &&
						 p->okey == x->row.okey)))
			broke(s, "3: two workers have %u/%lld and its key",
			    x->row.sub, (long long)x->row.seq);
	}
	if (sub->o.order != CORE_ORDER_KEY || x->row.seq <= sub->ordered_from)
		return;
	for (int64_t seq = 1;
	     seq < x->row.seq && sub->held[x->row.rep][x->row.okey]; seq++)
		if (one(s, x->row.sub, seq, x->row.rep)->held &&
		    key_of(s, x->row.sub, seq) == x->row.okey)
			broke(s, "held: %u/%lld is past %lld", x->row.sub,
			    (long long)x->row.seq, (long long)seq);
	from = from > sub->ordered_from ? from : sub->ordered_from;
	*low = *low > from ? *low : from;
	while (
	    *low + 1 < x->row.seq &&
	    (!wants(s, x->row.sub, *low + 1) ||
		key_of(s, x->row.sub, *low + 1) != x->row.okey ||
		settled(s, x->row.sub, *low + 1, x->row.rep) ||
		(early && one(s, x->row.sub, *low + 1, x->row.rep)->asked > 0)))
		++*low;
	if (*low + 1 < x->row.seq)
		broke(s, "3: %u/%lld (rep %d) before %lld", x->row.sub,
		    (long long)x->row.seq, x->row.rep, (long long)*low + 1);
}

/* While an exclusive replay runs nothing of its own may start. */
static void
check_exclusive(struct sim *s, const struct core_send *x)
{
	struct sim_sub *sub = &s->subs[x->row.sub];
	int64_t *low = &sub->excl_low;

	if (sub->excl == 0 || x->row.rep > 0 || locked(s, x))
		return;
	while (*low < sub->replay_until[sub->excl] &&
	       (!wants(s, x->row.sub, *low + 1) ||
		   (settled(s, x->row.sub, *low + 1, sub->excl) &&
		       !one(s, x->row.sub, *low + 1, sub->excl)->held)))
		++*low;
	if (*low < sub->replay_until[sub->excl])
		broke(s, "exclusive: %u/%lld is before %lld of replay %d",
		    x->row.sub, (long long)x->row.seq, (long long)*low + 1,
		    sub->excl);
	else
		sub->excl = 0;
}

static void
check_endpoint(struct sim *s, const struct core_send *x)
{
	struct sim_sub *sub = &s->subs[x->row.sub];
	const struct sim_ep *ep = &s->eps[sub->o.endpoint];
	/* No breaker holds what was tried, and no try of it is free. */
	bool again = sub->o.breaker_first && x->row.tries > 0;
	int64_t before = sub->sent[0];
	int sick = 0;

	for (int i = 0; i < s->n_flights; i++) {
		const struct flight *f = &s->flights[i];

		sick += s->eps[f->endpoint].fails > 0;
		if (ep->open && f->endpoint == sub->o.endpoint && f->probe &&
		    !again)
			broke(s, "breaker: two probes");
	}
	/* With a lock it has its slot, and is counted, since that was asked. */
	if (locked(s, x))
		return;
	sub->sent[0] = sub->sent[1];
	sub->sent[1] = s->now;
	if (ep->open && !again && (!x->probe || s->now < ep->open_until))
		broke(s, "breaker: %u/%lld was sent while it is open",
		    x->row.sub, (long long)x->row.seq);
	if (x->probe && (!ep->open || again))
		broke(s, "breaker: %u/%lld probes one that is closed",
		    x->row.sub, (long long)x->row.seq);
	if (ep->fails > 0 && sick >= SIM_SLOTS / 2)
		broke(s, "sick: they have %d slots", sick + 1);
	if (s->now < ep->rest_until)
		broke(s, "rest: endpoint %llu was not given its rest",
		    (unsigned long long)sub->o.endpoint);
	if (sub->o.rate_us > 0 && s->careful_upto == 0 &&
	    s->now - before < sub->o.rate_us)
		broke(s, "rate: three within one interval");
}

/* Whether a slot is free for one of it, as far as all others are concerned. */
static bool
has_slot(struct sim *s, uint32_t id)
{
	const struct sim_sub *x = &s->subs[id];
	const struct sim_ep *ep = &s->eps[x->o.endpoint];
	const struct sub *in = sub_find(s->core, id);
	const struct core *c = s->core;

	return in && in->o.enabled && !x->ended && !in->excl &&
	       in->rate.interval_us == 0 && in->in_flight < x->o.concurrency &&
	       c->in_flight < SIM_SLOTS && s->careful_upto == 0 &&
	       s->now >= ep->rest_until &&
	       (ep->fails == 0 || c->sick_in_flight < SIM_SLOTS / 2);
}

/* Nothing more goes now: then nothing is left that should. */
static void
check_rest(struct sim *s)
{
	const struct core *c = s->core;
	int64_t oldest = c->now.since ? c->now.since : c->next.since;

	if (core_unflushed(s->core) >= UNFLUSHED_MAX ||
	    core_drops(s->core) >= UNFLUSHED_MAX ||
	    (oldest > 0 && s->now - oldest >= UNFLUSHED_US))
		return;
	for (uint32_t id = 1; id <= SUBS - 2; id++) {
		const struct sub *in = sub_find(s->core, id);

		if (has_slot(s, id) && in->ready.n > 0 && !in->ep->open &&
		    in->ep->in_flight < s->subs[id].o.floor)
			broke(s, "floor: %u has %d calls, and some wait", id,
			    in->ep->in_flight);
	}
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct core_row *r = &s->rows[i];
		const struct sim_sub *x = &s->subs[r->sub];
		const struct one *o = one(s, r->sub, r->seq, r->rep);

		if (x->o.breaker_first && x->o.order == CORE_ORDER_NONE &&
		    o->tries > 0 && o->due < s->now && !o->known_ok &&
		    !o->dead && !o->skipped && has_slot(s, r->sub) &&
		    sub_find(s->core, r->sub)->in_flight == 0 &&
		    sub_find(s->core, r->sub)->ep->in_flight == 0)
			broke(s, "breaker: %u/%lld was tried and waits", r->sub,
			    (long long)r->seq);
	}
}

static void
check_spacing(struct sim *s, const struct core_send *x)
{
	struct sim_sub *sub = &s->subs[x->row.sub];

	if (sub->o.spacing_us == 0)
		return;
	for (int i = 0; i < s->n_flights; i++)
		if (s->flights[i].sub == x->row.sub &&
		    s->flights[i].okey == x->row.okey)
			broke(s, "spacing: two at once");
	if (s->now - sub->call_end[x->row.okey] < sub->o.spacing_us)
		broke(s, "spacing: %u/%lld came too soon", x->row.sub,
		    (long long)x->row.seq);
}

/* What must be stored before it goes, and what was. */
static void
check_rowed(struct sim *s, const struct core_send *x)
{
	struct sim_sub *sub = &s->subs[x->row.sub];
	struct one *o = one(s, x->row.sub, x->row.seq, x->row.rep);
	const struct core_row *row = o->row ? &s->rows[o->row - 1] : NULL;
	bool careful = x->row.seq <= s->careful_upto;

	if ((sub->o.lock_us > 0 && (!row || row->state != ROW_SENDING)) ||
	    s->now < o->locked_until)
		broke(s, "lock: %u/%lld was sent without", x->row.sub,
		    (long long)x->row.seq);
	if (row && sub->o.lock_us > 0 &&
	    row->next_at - s->now < sub->o.lock_us / 2)
		broke(s, "lock: %u/%lld has too little of it left", x->row.sub,
		    (long long)x->row.seq);
	o->locked_until = 0;
	if (careful && !x->pull && (!row || row->crashes != x->row.crashes + 1))
		broke(s, "careful: %u/%lld has no row", x->row.sub,
		    (long long)x->row.seq);
	if (s->careful_upto > 0 && s->n_flights > 0 && !x->pull)
		broke(s, "careful: two at once");
	if (x->row.crashes != o->crashes)
		broke(s, "careful: %d crashes of %u/%lld, not %d",
		    x->row.crashes, x->row.sub, (long long)x->row.seq,
		    o->crashes);
	if (x->row.tries != o->tries)
		broke(s, "tries: %d of %u/%lld, not %d", x->row.tries,
		    x->row.sub, (long long)x->row.seq, o->tries);
}

static void
check_send(struct sim *s, const struct core_send *x)
{
	int64_t oldest = s->first_now ? s->first_now : s->first_next;
	struct core_count n;

	core_counts(s->core, &n);
	if (n.unflushed > UNFLUSHED_MAX)
		broke(s, "6: %zu results unflushed", n.unflushed);
	if (oldest > 0 && s->now - oldest >= UNFLUSHED_US)
		broke(s, "6: a result is unflushed for too long");
	if (s->subs[x->row.sub].ended || !s->subs[x->row.sub].on)
		broke(s, "2: %u has ended", x->row.sub);
	if (one(s, x->row.sub, x->row.seq, x->row.rep)->skipped)
		broke(s, "2: %u/%lld was skipped and is sent", x->row.sub,
		    (long long)x->row.seq);
	check_order(s, x);
	check_exclusive(s, x);
	if (!x->pull)
		check_endpoint(s, x);
	else if (s->subs[x->row.sub].allowed-- <= 0)
		broke(s, "demand: nobody wanted %u/%lld", x->row.sub,
		    (long long)x->row.seq);
	check_spacing(s, x);
	check_rowed(s, x);
}
