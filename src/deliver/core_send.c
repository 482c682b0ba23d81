#include <assert.h>

#include "deliver/core_priv.h"

/* Who may send ------------------------------------------------------------- */

void
endpoint_run(struct core *c, struct endpoint *ep)
{
	if (ep->ready.n > 0 && !link_on(&ep->in_run) && !link_on(&ep->in_sick))
		list_add(&c->run, &ep->in_run);
}

void
sub_ready(struct core *c, struct sub *s)
{
	if (s->ready.n == 0 || !s->o.enabled || s->ended || s->timer.node.at)
		return;
	if (!link_on(&s->in_ep) && s->in_flight < s->o.concurrency)
		list_add(&s->ep->ready, &s->in_ep);
	endpoint_run(c, s->ep);
}

/* Rows are older than whatever is still to be read. */
bool
behind_gap(const struct item *it)
{
	if (it->row || it->spot.rep > 0 || BUG(4))
		return false;
	return reader_gap(it->sub->rd, it->spot.seq) ||
	       (it->lane && reader_gap(it->lane->rd, it->spot.seq));
}

void
item_ready(struct core *c, struct item *it)
{
	if (it->state != IT_WAIT || link_on(&it->in_ready) ||
	    it->timer.node.at || behind_gap(it))
		return;
	list_add(&it->sub->ready, &it->in_ready);
	sub_ready(c, it->sub);
}

/* The oldest of a lane goes, when nothing of it is in flight. */
void
lane_ready(struct core *c, struct lane *lane)
{
	struct link *k = list_first(&lane->items);
	struct item *first;

	if (!k)
		return;
	first = ITEM_OF(k, in_lane);
	if (lane->flying > 0 && !BUG(3))
		return;
	/* One that was requeued may have come in front of one that is ready. */
	for (k = list_next(&lane->items, k); k;
	     k = list_next(&lane->items, k)) {
		struct item *it = ITEM_OF(k, in_lane);

		if (!link_on(&it->in_ready))
			break;
		list_remove(&it->sub->ready, &it->in_ready);
	}
	item_ready(c, first);
}

static bool
rate_wait(struct core *c, struct rate *r, struct timer *t, int64_t now)
{
	if (r->interval_us == 0 || now >= r->next)
		return false;
	timer_set(c, t, r->next);
	return true;
}

static void
rate_used(struct rate *r, int64_t now)
{
	if (r->interval_us > 0)
		r->next = (r->next > now - r->interval_us ? r->next : now) +
			  r->interval_us;
}

/* A call of the same spacing key is under way or has just ended. */
static bool
spaced_out(struct core *c, struct item *it, int64_t now)
{
	struct space *sp;

	if (!it->skey)
		return false;
	sp = map_find(c->spaces, key_str(&it->skey, sizeof(it->skey)));
	if (!sp || (!sp->busy && now >= sp->not_before))
		return false;
	/* While it is busy nobody knows until when: its end tells. */
	timer_set(c, &it->timer,
	    sp->busy ? now + it->sub->o.spacing_us : sp->not_before);
	return true;
}

/* Forgets those whose time is over, so that the table stays small. */
static void
space_sweep(struct core *c, int64_t now)
{
	struct link *k;

	while ((k = list_first(&c->space_list))) {
		struct space *sp = LINK_OF(k, struct space, in_spaces);

		if (sp->busy || sp->not_before > now)
			break;
		list_remove(&c->space_list, k);
		(void)map_take(c->spaces, key_str(&sp->key, sizeof(sp->key)));
		free(sp);
	}
}

static void
space_begin(struct core *c, const struct item *it, int64_t now)
{
	struct space *sp;
	struct err e;

	if (!it->skey)
		return;
	space_sweep(c, now);
	sp = map_find(c->spaces, key_str(&it->skey, sizeof(it->skey)));
	if (!sp) {
		sp = core_alloc(sizeof(*sp));
		sp->key = it->skey;
		if (map_put(c->spaces, key_str(&sp->key, sizeof(sp->key)), sp,
			NULL, &e) < 0) {
			free(sp); /* SPACING_KEYS_MAX of them at once */
			return;
		}
		list_add(&c->space_list, &sp->in_spaces);
	}
	sp->busy = true;
}

static void
space_end(struct core *c, const struct item *it, int64_t now)
{
	struct space *sp;

	if (!it->skey)
		return;
	sp = map_find(c->spaces, key_str(&it->skey, sizeof(it->skey)));
	if (!sp)
		return;
	sp->busy = false;
	sp->not_before = now + it->sub->o.spacing_us;
	list_remove(&c->space_list, &sp->in_spaces);
	list_add(&c->space_list, &sp->in_spaces);
}

static bool
too_much_unflushed(const struct core *c, int64_t now)
{
	int64_t oldest = c->flushing && c->first_now_at ? c->first_now_at
							: c->first_result_at;

	return (unflushed(c) >= UNFLUSHED_MAX && !BUG(7)) ||
	       (oldest > 0 && now - oldest >= UNFLUSHED_US);
}

/* What holds the endpoint as a whole. A timer or an event runs it again. */
static bool
endpoint_held(struct core *c, struct endpoint *ep, int64_t now)
{
	if (ep->open) {
		if (ep->probing)
			return true;
		if (now < ep->open_until) {
			timer_set(c, &ep->timer, ep->open_until);
			return true;
		}
	}
	if (now < ep->not_before) {
		timer_set(c, &ep->timer, ep->not_before);
		return true;
	}
	if (ep->in_flight >= (ep->open ? 1 : ep->cap))
		return true;
	/* The sick share half of the slots at most. */
	if (ep->sick && c->sick_in_flight >= c->o.slots / 2) {
		list_add(&c->sick, &ep->in_sick);
		return true;
	}
	return rate_wait(c, &ep->rate, &ep->timer, now);
}

static void
fly(struct core *c, struct item *it, int64_t now)
{
	struct endpoint *ep = it->sub->ep;

	it->sent_to = ep;
	it->breaker = it->sub->o.breaker;
	ep->in_flight++;
	it->sub->in_flight++;
	c->in_flight++;
	if (it->lane)
		it->lane->flying++;
	if (ep->sick)
		c->sick_in_flight++;
	if (ep->open) {
		it->probe = true;
		ep->probing = true;
	}
	rate_used(&ep->rate, now);
	rate_used(&it->sub->rate, now);
	space_begin(c, it, now);
}

/* The next of a subscription that may go; NULL: none of it now. */
static struct item *
pick(struct core *c, struct sub *s, int64_t now)
{
	struct link *k;

	if (!s->o.enabled || s->ended || s->in_flight >= s->o.concurrency ||
	    rate_wait(c, &s->rate, &s->timer, now))
		return NULL;
	while ((k = list_first(&s->ready))) {
		struct item *it = ITEM_OF(k, in_ready);

		list_remove(&s->ready, k);
		if (!spaced_out(c, it, now))
			return it;
	}
	return NULL;
}

static bool
needs_lock(const struct core *c, const struct item *it)
{
	return (it->sub->o.lock_us > 0 && !BUG(9)) ||
	       it->spot.seq <= c->careful_upto;
}

/* True: *ret_it flies now. False: the endpoint can do nothing more. */
static bool
endpoint_next(
    struct core *c, struct endpoint *ep, int64_t now, struct item **ret_it)
{
	struct link *k;

	while ((k = list_first(&ep->ready))) {
		struct sub *s = LINK_OF(k, struct sub, in_ep);
		struct item *it;

		list_remove(&ep->ready, k);
		it = pick(c, s, now);
		if (!it)
			continue;
		fly(c, it, now);
		sub_ready(c, s); /* its others, after those of the others */
		if (!needs_lock(c, it)) {
			it->state = IT_FLIGHT;
			*ret_it = it;
			return true;
		}
		it->state = IT_LOCK;
		it->due = now + s->o.lock_us;
		if (it->spot.seq <= c->careful_upto)
			it->crashes++;
		item_row(c, it);
		list_add(&c->locking, &it->in_ready);
		if (endpoint_held(c, ep, now))
			return false;
	}
	return false;
}

static void
tell_send(struct item *it, struct core_send *ret)
{
	*ret = (struct core_send){
	    .item = it,
	    .sub = it->spot.sub,
	    .seq = it->spot.seq,
	    .rep = (int)it->spot.rep,
	    .okey = it->okey,
	    .tries = it->tries,
	    .n = it->n,
	    .crashes = it->crashes,
	    .probe = it->probe,
	    .ev = it->ev,
	};
}

bool
core_next_send(struct core *c, int64_t now, struct core_send *ret)
{
	struct link *k;
	struct item *it;

	/* Their rows are stored and their slots taken: they go first. */
	if ((k = list_first(&c->locked))) {
		it = ITEM_OF(k, in_ready);
		list_remove(&c->locked, k);
		it->state = IT_FLIGHT;
		tell_send(it, ret);
		return true;
	}
	while ((k = list_first(&c->run))) {
		struct endpoint *ep = LINK_OF(k, struct endpoint, in_run);

		if (too_much_unflushed(c, now) || c->in_flight >= c->o.slots ||
		    (c->careful_upto > 0 && c->in_flight > 0))
			return false;
		list_remove(&c->run, k);
		if (endpoint_held(c, ep, now) ||
		    !endpoint_next(c, ep, now, &it))
			continue;
		endpoint_run(c, ep);
		tell_send(it, ret);
		return true;
	}
	return false;
}

/* Results ------------------------------------------------------------------ */

void
endpoint_dirty(struct core *c, struct endpoint *ep)
{
	ep->dirty = true;
	if (!link_on(&ep->in_dirty))
		list_add(&c->dirty_eps, &ep->in_dirty);
}

static void
note_key(struct endpoint *ep, uint64_t key)
{
	if (ep->seen_key && ep->seen_key != key)
		ep->seen_keys = true;
	ep->seen_key = key;
}

static void
open_breaker(struct core *c, struct endpoint *ep, int64_t now)
{
	ep->open = true;
	ep->open_until = now + c->o.breaker_us;
	endpoint_dirty(c, ep);
}

static void
endpoint_failed(
    struct core *c, struct endpoint *ep, const struct item *it, int64_t now)
{
	uint64_t key = it->lane ? it->okey : (uint64_t)it->spot.seq;

	ep->cap = ep->cap > 1 ? ep->cap / 2 : 1;
	if (!it->breaker)
		return;
	note_key(ep, key);
	if (ep->fails++ > 0 && ep->fail_key != key)
		ep->fail_keys = true;
	ep->fail_key = key;
	if (it->probe || (!ep->open && ep->fails >= BREAKER_FAILURES &&
			     (ep->fail_keys || !ep->seen_keys)))
		open_breaker(c, ep, now);
}

static void
endpoint_fine(struct core *c, struct endpoint *ep, const struct item *it)
{
	note_key(ep, it->lane ? it->okey : (uint64_t)it->spot.seq);
	ep->fails = 0;
	ep->fail_keys = false;
	if (ep->cap < ep->cap_max)
		ep->cap++;
	if (ep->open || ep->not_before) {
		ep->open = false;
		ep->open_until = ep->not_before = 0;
		timer_off(c, &ep->timer);
		endpoint_dirty(c, ep);
		c->recheck = true; /* who had nothing to read for */
	}
}

/* Back on the ground: its slot is free, and others may use it. */
void
item_land(
    struct core *c, struct item *it, const struct core_result *r, int64_t now)
{
	struct endpoint *ep = it->sent_to;
	struct link *k;

	ep->in_flight--;
	it->sub->in_flight--;
	c->in_flight--;
	if (it->lane)
		it->lane->flying--;
	if (ep->sick)
		c->sick_in_flight--;
	if (it->probe)
		ep->probing = false;
	space_end(c, it, now);
	if (r->verdict == CORE_OK)
		endpoint_fine(c, ep, it);
	else if (r->sick)
		endpoint_failed(c, ep, it, now);
	if (r->endpoint_wait_us > 0 &&
	    now + r->endpoint_wait_us > ep->not_before) {
		ep->not_before = now + r->endpoint_wait_us;
		endpoint_dirty(c, ep);
	}
	/* What is in flight to it is counted as what the endpoint is now. */
	if (ep->sick != (ep->fails > 0)) {
		ep->sick = ep->fails > 0;
		c->sick_in_flight += ep->sick ? ep->in_flight : -ep->in_flight;
	}
	while (
	    c->sick_in_flight < c->o.slots / 2 && (k = list_first(&c->sick))) {
		list_remove(&c->sick, k);
		endpoint_run(c, LINK_OF(k, struct endpoint, in_sick));
	}
	it->probe = false;
	it->sent_to = NULL;
	endpoint_run(c, ep);
	endpoint_drop_idle(c, ep);
}

/* It waits in a row until its time has come. */
static void
later(struct core *c, struct item *it, int64_t due)
{
	it->state = IT_RETRY;
	it->due = due;
	timer_set(c, &it->timer, due);
	item_row(c, it);
	if (it->ev) {
		c->o.free_ev(it->ev);
		it->ev = NULL;
	}
	if (it->lane && it->spot.rep == 0 && it->lane->items.n > 1 &&
	    it->sub->items.n > SUB_ITEMS_MAX / 2 &&
	    (it->lane->rd || it->sub->lane_readers < SUB_LANES_MAX))
		lane_to_reader(c, it->lane, sub_front(c, it->sub));
}

/* After a start: dispatch or a reader has not come past it yet, but will. */
static bool
ahead(const struct core *c, const struct item *it)
{
	struct sub *s = it->sub;

	if (it->spot.rep == 0)
		return it->spot.seq > sub_front(c, s) ||
		       (it->lane && reader_gap(it->lane->rd, it->spot.seq));
	for (struct link *k = list_first(&s->replays); k;
	     k = list_next(&s->replays, k)) {
		const struct reader *rd = LINK_OF(k, struct reader, in_replays);

		if (rd->rep == it->spot.rep)
			return it->spot.seq > rd->read_pos;
	}
	return false;
}

void
item_settle(struct core *c, struct item *it)
{
	struct lane *lane = it->lane;
	bool more = lane && lane->items.n > 1;
	struct reader *rd = lane ? lane->rd : NULL;

	if (it->row)
		put_del(c, it);
	if (ahead(c, it))
		core_load_settled(
		    c, it->spot.sub, it->spot.seq, (int)it->spot.rep);
	item_free(c, it); /* and an idle lane */
	if (more)
		lane_ready(c, lane);
	if (rd)
		reader_check(c, rd);
}

static void
dead(struct core *c, struct item *it, const struct core_result *r, int64_t now)
{
	put_dead(c, it, r->dead_reason ? r->dead_reason : r->reason, now);
	if (!it->sub->o.block || !it->lane) {
		item_settle(c, it);
		return;
	}
	it->state = IT_HELD;
	item_row(c, it);
	if (it->ev) {
		c->o.free_ev(it->ev);
		it->ev = NULL;
	}
}

void
core_result(
    struct core *c, struct item *it, const struct core_result *r, int64_t now)
{
	struct sub *s = it->sub;
	bool probe = it->probe, orphan = it->orphan;
	bool tried = r->verdict != CORE_HOLD && r->verdict != CORE_NEVER;

	assert(it->state == IT_FLIGHT);
	item_land(c, it, r, now);
	if (tried) {
		it->n++;
		it->last_status = r->status;
		it->last_reason = r->reason;
		put_attempt(c, it, r, now);
	}
	if (orphan) {
		item_free(c, it);
		return;
	}
	if (tried && !probe)
		it->tries++;
	switch (r->verdict) {
	case CORE_OK:
		item_settle(c, it);
		break;
	case CORE_SPENT:
	case CORE_LATER:
		if (probe || r->verdict == CORE_LATER)
			later(c, it, now + r->delay_us);
		else
			dead(c, it, r, now);
		break;
	case CORE_HOLD:
		later(c, it, now + r->delay_us);
		break;
	case CORE_DEAD:
	case CORE_NEVER:
		dead(c, it, r, now);
		break;
	}
	sub_ready(c, s);
	sub_check_readers(c, s);
}

/* Timers ------------------------------------------------------------------- */

static void
item_due(struct core *c, struct item *it)
{
	if (it->state == IT_RETRY)
		it->state = IT_WAIT;
	if (it->lane)
		lane_ready(c, it->lane);
	else
		item_ready(c, it);
}

void
core_tick(struct core *c, int64_t now)
{
	struct heap_node *node;

	while ((node = heap_first(&c->timers)) && node->due <= now) {
		struct timer *t = LINK_OF(node, struct timer, node);

		heap_remove(&c->timers, node);
		switch (t->kind) {
		case TIMER_ITEM:
			item_due(c, LINK_OF(t, struct item, timer));
			break;
		case TIMER_ENDPOINT:
			endpoint_run(c, LINK_OF(t, struct endpoint, timer));
			break;
		case TIMER_SUB:
			sub_ready(c, LINK_OF(t, struct sub, timer));
			break;
		case TIMER_READER:
			reader_check(c, LINK_OF(t, struct reader, timer));
			break;
		}
	}
}
