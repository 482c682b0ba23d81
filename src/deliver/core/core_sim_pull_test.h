/*
 * core_sim_pull_test.h - workers of pull subscriptions in the world of core_sim_test.h.
 *
 * A worker's slip outlives the process: its answer comes before, at or after
 * the lease's end, after a crash, or never. While a lease is in force nobody
 * else gets the event or its key, and its answer is good; once somebody else
 * has it, it is not.
 */
#pragma once

#include "deliver/core/core_sim_do_test.h"

static void
slip_drop(struct sim *s, int i)
{
	s->slips[i] = s->slips[--s->n_slips];
}

static struct slip *
slip_find(struct sim *s, const struct core_send *x)
{
	for (int i = 0; i < s->n_slips; i++) {
		struct slip *p = &s->slips[i];

		if (p->sub == x->row.sub && p->seq == x->row.seq &&
		    p->rep == x->row.rep && p->n == x->row.n)
			return p;
	}
	return NULL;
}

/* Nothing was tried. */
static void
hold(struct sim *s, struct item *it)
{
	core_result(s->core, it,
	    &(struct core_result){
		.verdict = CORE_HOLD, .delay_us = below(s, 2) * SEC},
	    s->now);
}

static void
hand_out(struct sim *s, const struct core_send *x)
{
	one(s, x->row.sub, x->row.seq, x->row.rep)->offered = true;
	/* The worker has left, or has no room for it. */
	if (s->n_slips == SLIPS_MAX || (!s->healing && chance(s, 5))) {
		hold(s, x->item);
		return;
	}
	if (x->row.next_at <= x->at || x->row.next_at > s->now + LOCK_US)
		broke(s, "lease: %u/%lld until nowhere", x->row.sub,
		    (long long)x->row.seq);
	s->slips[s->n_slips++] = (struct slip){
	    .sub = x->row.sub,
	    .okey = x->row.okey,
	    .seq = x->row.seq,
	    .until = x->row.next_at,
	    .rep = x->row.rep,
	    .n = x->row.n,
	};
	core_handed(s->core, x->item, false);
}

/* What a result means for the model; f as in core_sim_do_test.h. */
static struct core_result
settle(struct sim *s, const struct core_send *x, enum core_verdict v)
{
	struct one *o = one(s, x->row.sub, x->row.seq, x->row.rep);
	struct sim_sub *sub = &s->subs[x->row.sub];
	struct core_result r = {.verdict = v, .at = x->at};

	if (v == CORE_LATER && x->row.tries + 1 >= sub->max_tries) {
		r.verdict = CORE_SPENT;
		r.reason = REASON_SPENT;
	}
	r.delay_us = below(s, 3) * SEC;
	o->n++;
	o->tries++;
	o->locked_until = 0;
	if (s->first_next == 0)
		s->first_next = s->now;
	if (v == CORE_OK) {
		arrived(s, x->row.sub, x->row.seq, x->row.rep);
		o->known_ok = true;
		s->acks++;
	}
	if (r.verdict == CORE_DEAD || r.verdict == CORE_SPENT)
		o->dead = true;
	return r;
}

static void
take_expired(struct sim *s)
{
	struct core_send x;

	while (core_next_expired(s->core, &x)) {
		struct slip *p = slip_find(s, &x);
		struct core_result r;

		if (s->now < x.row.next_at || (p && s->now < p->until))
			broke(s, "lease: %u/%lld ended too early", x.row.sub,
			    (long long)x.row.seq);
		if (p)
			p->over = true;
		r = settle(s, &x, CORE_LATER);
		core_result(s->core, x.item, &r, s->now);
	}
}

/* Another one was given it since. */
static bool
given_again(const struct sim *s, const struct slip *p)
{
	for (int i = 0; i < s->n_slips; i++) {
		const struct slip *q = &s->slips[i];

		if (q->sub == p->sub && q->seq == p->seq && q->rep == p->rep &&
		    q->n > p->n)
			return true;
	}
	return false;
}

static void
in_force(struct sim *s, int i, const struct core_send *x)
{
	struct slip *p = &s->slips[i];
	int what = s->healing && !cursed(s, p->sub, p->seq) ? 0 : below(s, 100);
	enum core_verdict v = what < 60   ? CORE_OK
			      : what < 80 ? CORE_LATER
					  : CORE_DEAD;
	struct core_result r;

	if (what >= 90)
		return; /* it works on */
	if (what >= 84) {
		p->until = s->now + LOCK_US;
		core_extend(s->core, x->item, p->until, s->now);
		flush_all(s);
		return;
	}
	if (v == CORE_OK && cursed(s, p->sub, p->seq))
		v = CORE_LATER;
	slip_drop(s, i);
	r = settle(s, x, v);
	core_result(s->core, x->item, &r, s->now);
}

/* One worker comes back with what it has. */
static void
answer_slip(struct sim *s, int i)
{
	struct slip p = s->slips[i];
	struct core_send x;
	enum core_lease l = core_lease(s->core, p.sub, p.seq, p.rep, p.n, &x);
	struct core_result r;

	if (s->subs[p.sub].ended) {
		slip_drop(s, i);
		return;
	}
	if (!p.over && l != CORE_LEASE_MINE)
		broke(s, "lease: %u/%lld is no longer its worker's", p.sub,
		    (long long)p.seq);
	if (given_again(s, &p) &&
	    (l == CORE_LEASE_MINE || l == CORE_LEASE_LATE))
		broke(
		    s, "lease: %u/%lld is good twice", p.sub, (long long)p.seq);
	if (l == CORE_LEASE_MINE) {
		in_force(s, i, &x);
		return;
	}
	slip_drop(s, i);
	if (l != CORE_LEASE_LATE || chance(s, 50))
		return;
	r = settle(s, &x, CORE_OK);
	core_late(s->core, x.item, &r, s->now);
}

/* What is under way to be stored, and what may start. */
static void
want(struct sim *s, uint32_t sub, int n)
{
	struct core_pulled now = {0};

	if (!s->subs[sub].on || s->subs[sub].ended)
		return;
	(void)core_pulled(s->core, sub, &now);
	core_allow(s->core, sub, n);
	s->subs[sub].allowed = n + (int64_t)now.starting;
}

static void
pull_step(struct sim *s)
{
	uint32_t sub = SUBS - 1 + (uint32_t)below(s, 2);
	int what = below(s, 10);

	if (what < 3)
		want(s, sub, below(s, 8));
	else if (what == 3)
		want(s, sub, 0);
	else if (what == 4 && s->subs[sub].on)
		core_rest(s->core, sub);
	else if (s->n_slips > 0)
		answer_slip(s, below(s, s->n_slips));
}

static void
pull_heal(struct sim *s)
{
	for (int i = s->n_slips; i-- > 0;)
		answer_slip(s, i);
	take_expired(s);
	want(s, SUBS - 1, 20);
	want(s, SUBS, 20);
}

/* The process died; the workers did not. A lease that ended is over. */
static void
pull_forget(struct sim *s)
{
	for (uint32_t i = SUBS - 1; i <= SUBS; i++)
		s->subs[i].allowed = 0;
	for (int i = s->n_slips; i-- > 0;)
		if (chance(s, 20) && s->slips[i].over)
			slip_drop(s, i);
}
