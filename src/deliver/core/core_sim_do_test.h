/*
 * core_sim_do_test.h - what happens in the world of core_sim_test.h: sends and answers,
 * feeding, flushes, crashes, and what people do by hand.
 */
#pragma once

#include "deliver/core/core_sim_filter_test.h"
#include "deliver/core/limits.h"

static void
no_ev(void *ev)
{
	free(ev);
}

/* core_sim_pull_test.h */
static void hand_out(struct sim *s, const struct core_send *x);
static void pull_forget(struct sim *s);

/* Sends --------------------------------------------------------------------- */

static void
take_sends(struct sim *s, int most)
{
	struct core_send x;

	while (most-- > 0) {
		struct flight *f = &s->flights[s->n_flights];
		const struct sim_sub *sub;

		if (!core_next_send(s->core, s->now, &x)) {
			check_rest(s);
			return;
		}
		sub = &s->subs[x.row.sub];
		check_send(s, &x);
		s->sends++;
		if (filter_failed(s, &x))
			continue;
		if (x.pull) {
			hand_out(s, &x);
			continue;
		}
		*f = (struct flight){
		    .item = x.item,
		    .sub = x.row.sub,
		    .okey = x.row.okey,
		    .endpoint = x.item->sent_to->id,
		    .seq = x.row.seq,
		    .rep = x.row.rep,
		    .tries = x.row.tries,
		    .crashes = x.row.crashes,
		    .probe = x.probe,
		    .free = x.probe && !sub->o.breaker_first,
		    .breaker_fails = x.item->breaker_fails,
		    .breaker_us = x.item->breaker_us,
		    .at = s->now,
		    .ends =
			s->now + below(s, 50000) +
			(chance(s, s->eps[sub->o.endpoint].hang_pct) ? 15 * SEC
								     : 0),
		};
		if (++s->n_flights > SIM_SLOTS) {
			broke(s, "slots: %d in flight", s->n_flights);
			return;
		}
	}
}

/* The receiver said yes; once more than wanted is a repeat. */
static void
arrived(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	struct one *o = one(s, sub, seq, rep);

	o->ok = true;
	if (++o->oks > 1 + o->asked + o->credit)
		broke(s, "6: %u/%lld/%d again for no reason", sub,
		    (long long)seq, rep);
}

static struct core_result
outcome(struct sim *s, const struct flight *f)
{
	const struct sim_ep *ep = &s->eps[f->endpoint];
	struct core_result r = {.at = f->at, .took_us = s->now - f->at};

	r.rv = CORE_NO_RV;
	if (s->subs[f->sub].o.alone && f->rep == 0) {
		r.rec = rec_of(s, f->sub, f->seq);
		r.rv = rv_of(s, f->sub, f->seq);
	}
	if (f->rep == 0 && r.rec.a > 0 && !f->item->row.asked &&
	    r.rv < s->subs[f->sub].version[r.rec.a]) {
		r.verdict = CORE_DROP;
		return r;
	}
	if (f->crashes >= 3) {
		r.verdict = CORE_NEVER;
		r.reason = REASON_CRASH;
	} else if (!ep->down && !cursed(s, f->sub, f->seq) &&
		   !chance(s, ep->fail_pct)) {
		r.verdict = CORE_OK;
	} else if (chance(s, 5) && !ep->down) {
		r.verdict = CORE_DEAD;
		r.unasked = chance(s, 50);
		/* A health check's, where there is one. */
		r.holds = f->sub == 4;
	} else if (f->tries + 1 >= s->subs[f->sub].max_tries) {
		r.verdict = CORE_SPENT;
		r.reason = REASON_SPENT;
		r.sick = true;
		r.delay_us = 3 * SEC;
	} else {
		r.verdict = chance(s, 3) ? CORE_HOLD : CORE_LATER;
		r.sick = r.verdict == CORE_LATER;
		r.delay_us = below(s, 4) * SEC;
		if (chance(s, 2))
			r.endpoint_wait_us = SEC;
	}
	return r;
}

/* Of those who share it and have terms, the shortest; 0: nobody has. */
static int64_t
shortest_us(const struct sim *s, uint64_t endpoint)
{
	int64_t us = 0;

	for (uint32_t i = 1; i <= SUBS; i++) {
		const struct sim_sub *x = &s->subs[i];

		if (x->on && !x->ended && x->o.endpoint == endpoint &&
		    x->o.breaker_fails > 0 && (us == 0 || x->o.breaker_us < us))
			us = x->o.breaker_us;
	}
	return us;
}

/* The core knows of one where it failed last. */
static void
forget_failure(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	struct spot spot = {.seq = seq, .sub = sub, .rep = (uint32_t)rep};

	for (int i = 1; i <= SUBS; i++)
		for (int k = 0; k < s->eps[i].n_failed; k++)
			if (memcmp(&s->eps[i].failed[k], &spot, sizeof(spot)) ==
			    0)
				s->eps[i].failed[k].sub = 0;
}

/* The tries of one delivery count once. */
static void
note_failure(struct sim *s, const struct flight *f)
{
	struct sim_ep *ep = &s->eps[f->endpoint];
	struct spot spot = {
	    .seq = f->seq, .sub = f->sub, .rep = (uint32_t)f->rep};

	for (int i = 0; i < ep->n_failed; i++)
		if (memcmp(&ep->failed[i], &spot, sizeof(spot)) == 0)
			return;
	forget_failure(s, f->sub, f->seq, f->rep);
	ep->fails++;
	if (ep->n_failed < FAILED_MAX)
		ep->failed[ep->n_failed++] = spot;
}

/* What the model expects of the endpoint from now on. */
static void
note_endpoint(
    struct sim *s, const struct flight *f, const struct core_result *r)
{
	struct sim_ep *ep = &s->eps[f->endpoint];
	int64_t us = f->breaker_us;

	if (r->endpoint_wait_us > 0)
		ep->rest_until = s->now + r->endpoint_wait_us;
	if (r->verdict == CORE_HOLD || r->verdict == CORE_NEVER ||
	    r->verdict == CORE_DROP || r->unasked)
		return;
	if (!r->sick) {
		ep->fails = ep->n_failed = 0;
		ep->open = false;
		return;
	}
	note_failure(s, f);
	if (f->probe) {
		if (f->breaker_fails == 0)
			us = shortest_us(s, f->endpoint);
		ep->open = us > 0;
		ep->open_until = s->now + us;
	} else if (!ep->open && f->breaker_fails > 0 &&
		   ep->fails >= f->breaker_fails) {
		ep->open = true;
		ep->open_until = s->now + us;
	}
}

/* The core forgets an endpoint that nobody names, once nothing is under way. */
static void
forget_endpoint(struct sim *s, uint64_t id)
{
	struct sim_ep *ep = &s->eps[id];

	if (map_find(s->core->endpoints, KEY(id)))
		return;
	for (uint32_t i = 1; i <= SUBS; i++)
		if (s->subs[i].on && !s->subs[i].ended &&
		    s->subs[i].o.endpoint == id)
			broke(s, "breaker: endpoint %llu is forgotten",
			    (unsigned long long)id);
	ep->open = false;
	ep->fails = ep->n_failed = 0;
	ep->rest_until = 0;
}

static void
answer(struct sim *s, int i)
{
	struct flight f = s->flights[i];
	struct sim_sub *x = &s->subs[f.sub];
	struct one *o = one(s, f.sub, f.seq, f.rep);
	struct core_result r = outcome(s, &f);
	bool tried = r.verdict != CORE_HOLD && r.verdict != CORE_NEVER &&
		     r.verdict != CORE_DROP;

	s->flights[i] = s->flights[--s->n_flights];
	x->call_end[f.okey] = s->now;
	if (tried) {
		r.detail = malloc(8);
		o->n++;
		o->tries += !f.free;
		if (s->first_next == 0)
			s->first_next = s->now;
	}
	if (r.verdict == CORE_OK) {
		arrived(s, f.sub, f.seq, f.rep);
		o->known_ok = true;
		if (r.rec.a > 0 && r.rv > x->version[r.rec.a])
			x->version[r.rec.a] = r.rv;
	}
	if (r.verdict == CORE_DROP)
		o->dropped = true; /* stale */
	o->due = s->now + r.delay_us;
	if (r.verdict == CORE_DEAD || r.verdict == CORE_NEVER ||
	    (r.verdict == CORE_SPENT && !f.free)) {
		o->dead = true;
		if ((x->o.block || r.holds) && !x->ended) {
			o->held = true;
			x->held[f.rep][f.okey]++;
		}
	}
	note_endpoint(s, &f, &r);
	core_result(s->core, f.item, &r, s->now);
	forget_endpoint(s, f.endpoint);
}

static void
take_answers(struct sim *s)
{
	for (int i = 0; i < s->n_flights;)
		if (s->flights[i].ends <= s->now)
			answer(s, i);
		else
			i++;
}

/* Feeding ------------------------------------------------------------------- */

/* Now and then it stops in the middle of an entry. */
static void
dispatch(struct sim *s, int most)
{
	for (; most > 0 && s->dispatched < s->head; most--) {
		int64_t seq = s->dispatched + 1;

		s->fed_at[seq] = s->now;
		for (; s->feeding <= SUBS; s->feeding++) {
			const struct sim_sub *x = &s->subs[s->feeding];
			struct core_entry en;

			if (!x->on || x->ended || !wants(s, s->feeding, seq))
				continue;
			if (!s->healing && roll(s) % 50 == 0)
				return;
			en = entry(s, s->feeding, seq, 0, true);
			core_feed(s->core, &en, s->now);
		}
		s->feeding = 1;
		s->dispatched = seq;
	}
	core_upto(s->core, s->dispatched);
}

/* It may fail, or end before its end. */
static void
read_page(struct sim *s)
{
	int at = below(s, s->n_pages), n = 0, most;
	struct core_read p = s->pages[at];
	int64_t seq = p.after, upto = p.upto;

	s->pages[at] = s->pages[--s->n_pages];
	most = s->healing || chance(s, 60) ? p.most : below(s, p.most + 1);
	if (upto > p.after + 700)
		upto = p.after + 700; /* a scan has its bound too */
	while (++seq <= upto) {
		struct core_entry en;

		if (!wants(s, p.sub, seq) ||
		    (p.okey && p.okey != key_of(s, p.sub, seq)))
			continue;
		if (n++ >= most)
			break;
		en = entry(s, p.sub, seq, p.rep, false);
		if (!core_read_feed(s->core, p.reader, &en, s->now)) {
			free(en.ev);
			free(en.detail);
			break;
		}
	}
	core_read_done(s->core, p.reader, seq - 1);
}

static void
ask_page(struct sim *s)
{
	struct core_read *p = &s->pages[s->n_pages];
	struct sim_sub *x;

	if (s->n_pages == READS_MAX || !core_next_read(s->core, s->now, p))
		return;
	s->n_pages++;
	x = &s->subs[p->sub];
	if (p->rep > 0 && s->now < x->replay_next[p->rep])
		broke(s, "replay: %u reads too often", p->sub);
	x->replay_next[p->rep] = s->now + x->replay_every[p->rep];
}

/* Flush and crash ------------------------------------------------------------ */

static void
begin_flush(struct sim *s, bool hurry)
{
	note_drops(s);
	s->flushing = core_flush(s->core, s->now, hurry);
	if (s->flushing)
		s->drops_seen = s->deads_seen = 0;
	s->committed = false;
	for (uint64_t i = 1; i <= SUBS; i++)
		forget_endpoint(s, i);
	if (!s->flushing)
		return;
	s->first_now = s->first_next;
	s->first_next = 0;
}

static void
end_flush(struct sim *s)
{
	for (size_t i = 0; i < s->flushing->n_attempts; i++)
		free(s->flushing->attempts[i].result.detail);
	for (size_t i = 0; i < s->flushing->n_deads; i++)
		free(s->flushing->deads[i].detail);
	core_flushed(s->core, s->now);
	s->flushing = NULL;
	s->first_now = 0;
	if (s->cursor >= s->careful_upto)
		s->careful_upto = 0;
	if (!s->quiet && (chance(s, 10) || s->healing))
		check_store(s);
}

/* Who asked for something by hand waits until it is stored. */
static void
flush_all(struct sim *s)
{
	s->quiet = true; /* what was asked for is not stored yet */
	if (s->flushing) {
		if (!s->committed)
			commit(s);
		end_flush(s);
	}
	s->quiet = false;
	begin_flush(s, true);
	if (s->flushing) {
		commit(s);
		end_flush(s);
	}
}

/* What is not stored, nobody knows. */
static void
forget(struct sim *s, uint32_t sub, int64_t seq, int rep)
{
	struct one *x = one(s, sub, seq, rep);
	const struct core_row *row = x->row ? &s->rows[x->row - 1] : NULL;

	x->known_ok = false;
	x->dropped = x->stored_drop;
	x->held = row && row->state == ROW_HELD;
	x->dead = row ? x->held : x->stored_dead;
	x->tries = row ? row->tries : 0;
	x->n = row ? row->n : 0;
	x->crashes = row ? row->crashes : 0;
	x->due = row ? row->next_at : 0;
	x->locked_until = row && row->state == ROW_SENDING ? row->next_at : 0;
	if (x->held)
		s->subs[sub].held[rep][key_of(s, sub, seq)]++;
	if (x->stored_ok || x->stored_dead || x->stored_drop)
		core_load_settled(s->core, sub, seq, rep);
}

static void
load_endpoint(struct sim *s, uint64_t id)
{
	struct sim_ep *ep = &s->eps[id];
	const struct core_endpoint *row = &s->ep_rows[id];

	ep->open = row->open_until > 0;
	ep->open_until = row->open_until;
	ep->rest_until = row->not_before;
	ep->n_failed = 0;
	ep->fails = ep->open;
	forget_endpoint(s, id);
	if (row->endpoint)
		core_load_endpoint(s->core, row);
}

static void
start_core(struct sim *s)
{
	struct core_opts o = {
	    .slots = SIM_SLOTS, .free_ev = no_ev, .free_detail = free};

	s->core = core_new(&o);
	s->drops_seen = s->deads_seen = 0;
	for (uint32_t i = 1; i <= SUBS; i++) {
		struct sim_sub *x = &s->subs[i];

		memset(x->held, 0, sizeof(x->held));
		memset(x->sent, 0, sizeof(x->sent));
		memcpy(x->version, x->stored_version, sizeof(x->version));
		memset(x->replay_every, 0, sizeof(x->replay_every));
		memset(x->replay_next, 0, sizeof(x->replay_next));
		unsettled(s, i);
		if (x->o.held && x->hold_lost) {
			x->o.enabled = true;
			x->o.held = false;
		}
		if (x->on && !x->ended)
			core_sub(s->core, &x->o, s->now);
	}
	core_load_cursor(s->core, s->cursor);
	for (uint64_t i = 1; i <= SUBS; i++)
		load_endpoint(s, i);
	for (uint32_t sub = 1; sub <= SUBS; sub++)
		for (int rep = 0; rep < REPS; rep++)
			for (int64_t seq = 1; seq <= s->head; seq++)
				forget(s, sub, seq, rep);
	for (size_t i = 0, off = roll(s) % (s->n_rows + 1); i < s->n_rows; i++)
		core_load_row(s->core, &s->rows[(i + off) % s->n_rows], s->now);
	for (size_t i = 0; i < s->n_readers; i++)
		core_load_reader(s->core, &s->readers[i]);
	s->dispatched = s->cursor;
	s->feeding = 1;
	s->started_us = s->now;
	s->careful_upto = 0;
	if (s->crashes > 0 && s->cursor + 30 < s->head && chance(s, 30)) {
		s->careful_upto = s->cursor + 1 + below(s, 30);
		core_careful(s->core, s->careful_upto);
	}
}

static void
crash(struct sim *s)
{
	int credits = s->n_flights;

	/* What is under way may arrive all the same. */
	while (s->n_flights > 0) {
		struct flight f = s->flights[--s->n_flights];

		s->subs[f.sub].call_end[f.okey] = s->now;
		one(s, f.sub, f.seq, f.rep)->credit++;
		if (chance(s, 50) && !s->eps[f.endpoint].down &&
		    !cursed(s, f.sub, f.seq))
			arrived(s, f.sub, f.seq, f.rep);
	}
	if (s->flushing && !s->committed && chance(s, 50))
		commit(s); /* and the answer was lost */
	for (uint32_t sub = 1; sub <= SUBS; sub++)
		for (int64_t seq = 1; seq <= s->head; seq++)
			for (int rep = 0; rep < REPS; rep++) {
				struct one *o = one(s, sub, seq, rep);

				if (o->known_ok && !o->stored_ok) {
					o->credit++;
					credits++;
				}
			}
	if (credits > SIM_SLOTS + UNFLUSHED_MAX)
		broke(s, "6: a crash may repeat %d", credits);
	core_free(s->core);
	s->flushing = NULL;
	s->committed = false;
	s->n_pages = 0;
	s->first_next = s->first_now = 0;
	s->crashes++;
	pull_forget(s);
	start_core(s);
}

/* By hand -------------------------------------------------------------------- */

/* A dead letter goes back. */
static void
requeue(struct sim *s, uint32_t sub)
{
	struct core_row row = {.sub = sub, .n = ASKED_N, .asked = true};
	struct one *o = NULL;

	for (int i = 0; i < 50 && (!o || !o->stored_dead || !o->dead); i++) {
		row.seq = 1 + below(s, (int)s->head);
		o = one(s, sub, row.seq, 0);
	}
	if (!o->stored_dead || !o->dead)
		return;
	row.okey = key_of(s, sub, row.seq);
	row.skey = skey_of(s, sub, row.seq);
	row.unjudged = o->reason == REASON_FILTER ? REASON_FILTER : 0;
	s->subs[sub].held[0][row.okey] -= o->held;
	o->dead = o->stored_dead = o->held = false;
	o->tries = o->crashes = 0;
	o->due = s->now;
	o->asked++;
	forget_failure(s, sub, row.seq, 0);
	unsettled(s, sub);
	core_requeue(s->core, &row, s->now);
	flush_all(s);
}

static void
replay(struct sim *s, uint32_t sub)
{
	struct sim_sub *x = &s->subs[sub];
	int rep = 1 + below(s, REPS - 1);
	struct core_reader rd = {.sub = sub, .rep = rep};

	if (x->replay_until[rep] || s->dispatched < 10)
		return;
	rd.pos = below(s, (int)s->dispatched);
	rd.until = s->dispatched;
	if (rd.until - rd.pos > 400)
		rd.until = rd.pos + 400;
	x->replay_from[rep] = rd.pos;
	x->replay_until[rep] = rd.until;
	x->replay_every[rep] = chance(s, 50) ? SEC : 0;
	/* The core alone knows whether another one is over. */
	if (chance(s, 50) && !sub_find(s->core, sub)->excl) {
		rd.exclusive = true;
		x->excl = rep;
		x->waited = true;
		x->excl_low = rd.pos;
	}
	core_replay(s->core, &rd, x->replay_every[rep]);
	/* It is answered when it is stored. */
	reader_put(s, &rd);
}

/* Those that are held are given up. */
static void
skip_held(struct sim *s, uint32_t sub)
{
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct core_row *r = &s->rows[i];
		struct one *o = one(s, r->sub, r->seq, r->rep);

		if (r->sub != sub || !o->held || r->state != ROW_HELD)
			continue;
		o->held = false;
		s->subs[sub].held[r->rep][r->okey]--;
		core_skip(s->core, sub, r->seq, r->rep, s->now);
	}
}

/* "From now on": what was tried stays, all else counts as settled. */
static void
skip_all(struct sim *s, uint32_t sub)
{
	static bool fresh[EVENTS_MAX + 1];
	struct core_seen seen;

	core_sub_skip(s->core, sub, s->now);
	note_drops(s);
	for (int64_t seq = 1; seq <= s->dispatched; seq++) {
		struct one *o = one(s, sub, seq, 0);

		/* One may have arrived as the process died: nobody knows. */
		fresh[seq] = wants(s, sub, seq) && !o->dead && !o->skipped &&
			     !o->dropped && !o->stored_ok && !o->known_ok &&
			     !core_look(s->core, sub, seq, 0, &seen);
		if (!fresh[seq])
			continue;
		if (o->n > 0)
			broke(s, "tries: %u/%lld was tried and is skipped", sub,
			    (long long)seq);
		o->skipped = true;
	}
	if (chance(s, 80)) {
		flush_all(s);
		if (chance(s, 50))
			crash(s);
		return;
	}
	for (int64_t seq = 1; seq <= s->dispatched; seq++)
		if (fresh[seq])
			one(s, sub, seq, 0)->skipped = false;
	crash(s);
}

static void
end_sub(struct sim *s, uint32_t sub)
{
	s->subs[sub].ended = true;
	core_sub_end(s->core, sub);
	for (size_t i = s->n_rows; i-- > 0;)
		if (s->rows[i].sub == sub)
			row_drop(s, sub, s->rows[i].seq, s->rows[i].rep);
	for (size_t i = s->n_readers; i-- > 0;)
		if (s->readers[i].sub == sub)
			s->readers[i] = s->readers[--s->n_readers];
	forget_endpoint(s, s->subs[sub].o.endpoint);
}

static void
change(struct sim *s, uint32_t sub)
{
	struct sim_sub *x = &s->subs[sub];
	uint64_t old = x->o.endpoint;

	switch (below(s, 7)) {
	case 0:
		x->o.enabled = !x->o.enabled;
		x->o.held = false;
		break;
	case 5:
		hold_sub(s, sub);
		return;
	case 6:
		x->wrong = false; /* it is mended */
		break;
	case 1:
		x->o.concurrency = 1 + below(s, 20);
		break;
	case 2:
		if (x->o.breaker_fails > 0)
			x->o.endpoint = (uint64_t)(1 + below(s, SUBS - 2));
		break;
	case 3:
		if (sub != 2 && sub != 5)
			break;
		x->o.order = x->o.order == CORE_ORDER_KEY ? CORE_ORDER_NONE
							  : CORE_ORDER_KEY;
		x->ordered_from =
		    x->o.order == CORE_ORDER_KEY ? s->head : INT64_MAX;
		break;
	default:
		if (sub == 6)
			x->o.rate_us = below(s, 3) * 20000;
		memset(x->sent, 0, sizeof(x->sent));
		break;
	}
	core_sub(s->core, &x->o, s->now);
	forget_endpoint(s, old);
}

static void
by_hand(struct sim *s)
{
	uint32_t sub = 1 + (uint32_t)below(s, SUBS);
	struct sim_sub *x = &s->subs[sub];
	int what = below(s, 100);

	if (!x->on && s->feeding == 1) {
		x->on = true;
		x->from = s->dispatched;
		core_sub(s->core, &x->o, s->now);
	}
	if (!x->on || x->ended || s->head == 0)
		return;
	if (what < 40)
		change(s, sub);
	else if (what < 65)
		requeue(s, sub);
	else if (what < 80)
		replay(s, sub);
	else if (what < 90)
		skip_held(s, sub);
	else if (what < 99 && s->feeding == 1)
		skip_all(s, sub);
	else if (sub > 7 && sub != SUBS - 1)
		end_sub(s, sub);
}
