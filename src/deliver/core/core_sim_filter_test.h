/*
 * core_sim_filter_test.h - filters in the world of core_sim_test.h: they fail over some
 * entries until they are mended, and their subscriptions are held now and then.
 * What nobody judged must not be sent, and what a filter failed over must end
 * as a dead letter, whatever happens.
 */
#pragma once

#include "deliver/core/core_sim_send_test.h"

static bool
fails(const struct sim *s, uint32_t sub, int64_t seq)
{
	return s->subs[sub].wrong && mix(13, (uint64_t)seq) % 7 == 0;
}

/* Dispatch asks no filter of who stands still; a reader's page always does. */
static struct core_entry
entry(struct sim *s, uint32_t sub, int64_t seq, int rep, bool live)
{
	bool there = item_find(s->core, sub, seq, (uint32_t)rep);
	bool asked = !live || s->subs[sub].o.enabled;
	struct core_entry en = {.seq = seq,
	    .sub = sub,
	    .okey = key_of(s, sub, seq),
	    .skey = skey_of(s, sub, seq),
	    .rec = rec_of(s, sub, seq),
	    .rv = rv_of(s, sub, seq),
	    .ev = malloc(8)};

	if (asked && fails(s, sub, seq)) {
		en.reason = REASON_FILTER;
		en.detail = malloc(8);
	}
	if (!there && !settled(s, sub, seq, rep))
		one(s, sub, seq, rep)->judged = asked && !en.reason;
	return en;
}

/* True: its filter was asked again, and failed again. */
static bool
filter_failed(struct sim *s, const struct core_send *x)
{
	struct core_result r = {.verdict = CORE_NEVER, .reason = REASON_FILTER};
	struct sim_sub *sub = &s->subs[x->row.sub];
	struct one *o = one(s, x->row.sub, x->row.seq, x->row.rep);

	if (x->row.unjudged == 0) {
		if (!o->judged)
			broke(s, "filter: nobody judged %u/%lld", x->row.sub,
			    (long long)x->row.seq);
		return false;
	}
	o->judged = !fails(s, x->row.sub, x->row.seq);
	if (o->judged) {
		core_judged(x->item);
		return false;
	}
	o->dead = true;
	if (sub->o.block) {
		o->held = true;
		sub->held[x->row.rep][x->row.okey]++;
	}
	sub->call_end[x->row.okey] = s->now;
	r.detail = malloc(8);
	core_result(s->core, x->item, &r, s->now);
	return true;
}

/* That it is so is stored a moment later, or a crash comes first. */
static void
hold_sub(struct sim *s, uint32_t sub)
{
	struct sim_sub *x = &s->subs[sub];

	if (!x->o.enabled)
		return;
	core_hold(s->core, sub);
	x->o.enabled = false;
	x->o.held = true;
	x->hold_lost = chance(s, 50);
}
