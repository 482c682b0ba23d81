
#include "deliver/core/core_priv.h"
#include "deliver/core/limits.h"

static void
endpoint_dirty(struct core *c, struct endpoint *ep)
{
	ep->dirty = true;
	list_add_once(&c->dirty_eps, &ep->in_dirty);
}

static void
open_breaker(struct core *c, struct endpoint *ep, int64_t us, int64_t now)
{
	ep->open = true;
	ep->open_until = now + us;
	endpoint_dirty(c, ep);
}

static void
close_breaker(struct core *c, struct endpoint *ep)
{
	ep->open = false;
	ep->open_until = 0;
	timer_off(c, &ep->timer);
	endpoint_dirty(c, ep);
	list_each (struct sub, s, &ep->members, in_members)
		sub_readers_later(c, s);
}

/* A failed probe of one without terms: the shortest of those who have any. */
static int64_t
probe_again_us(const struct endpoint *ep, const struct item *it)
{
	int64_t us = 0;

	if (it->breaker_fails > 0)
		return it->breaker_us;
	list_each (const struct sub, s, &ep->members, in_members)
		if (s->o.breaker_fails > 0 && (us == 0 || s->o.breaker_us < us))
			us = s->o.breaker_us;
	return us;
}

/* One that fails may be the event's fault; several in a row are its own. */
static void
count_failure(struct endpoint *ep, struct item *it)
{
	if (it->fail_run == ep->run)
		return;
	it->fail_run = ep->run;
	if (ep->fails++ > 0)
		ep->cap = ep->cap > 1 ? ep->cap / 2 : 1;
	else if (ep->cap > CONCURRENCY_FIRST)
		ep->cap--;
}

static void
endpoint_failed(
    struct core *c, struct endpoint *ep, struct item *it, int64_t now)
{
	int64_t again_us;

	count_failure(ep, it);
	if (it->probe && (again_us = probe_again_us(ep, it)) > 0)
		open_breaker(c, ep, again_us, now);
	else if (it->probe) /* nobody wants it any more */
		close_breaker(c, ep);
	else if (it->breaker_fails > 0 && !ep->open &&
		 ep->fails >= it->breaker_fails)
		open_breaker(c, ep, it->breaker_us, now);
}

/* It answered, be it with a refusal: whoever waited for that may go on. */
static void
endpoint_fine(struct core *c, struct endpoint *ep, bool ok, int64_t now)
{
	ep->fails = 0;
	ep->run = ++c->runs;
	if (ok && ep->cap < ep->cap_max)
		ep->cap++;
	if (ep->not_before > 0 && now >= ep->not_before) {
		ep->not_before = 0;
		endpoint_dirty(c, ep);
	}
	if (ep->open)
		close_breaker(c, ep);
}

/* What is in flight to it is counted as what the endpoint is now. */
static void
count_sick(struct core *c, struct endpoint *ep)
{
	struct endpoint *next;

	if (ep->sick != (ep->fails > 0)) {
		ep->sick = ep->fails > 0;
		c->sick_in_flight += ep->sick ? ep->in_flight : -ep->in_flight;
	}
	if (!ep->sick)
		list_remove(&c->sick, &ep->in_sick);
	while (c->sick_in_flight < core_sick_slots(c) &&
	       (next = list_take(&c->sick, struct endpoint, in_sick)))
		endpoint_run(c, next);
}

static bool
was_tried(const struct core_result *r)
{
	return r->verdict != CORE_HOLD && r->verdict != CORE_NEVER &&
	       r->verdict != CORE_DROP;
}

void
item_landed(struct item *it)
{
	it->sent_to->in_flight--;
	it->sub->in_flight--;
	if (it->lane)
		it->lane->flying--;
	if (it->peers)
		it->peers->flying--;
}

/* Back on the ground: its slot is free, and others may use it. */
static void
land(struct core *c, struct item *it, const struct core_result *r, int64_t now)
{
	struct endpoint *ep = it->sent_to;
	bool tried = was_tried(r);

	if (it->sub->o.pull) {
		pull_land(c, it);
		return;
	}
	if (r->verdict == CORE_DROP)
		send_unused(c, it);
	item_landed(it);
	c->in_flight--;
	if (ep->sick)
		c->sick_in_flight--;
	space_end(
	    c, it, r->verdict == CORE_DROP ? now : now + it->sub->o.spacing_us);
	if (r->sick)
		endpoint_failed(c, ep, it, now);
	else if (tried && !r->unasked)
		endpoint_fine(c, ep, r->verdict == CORE_OK, now);
	if (r->endpoint_wait_us > 0 &&
	    now + r->endpoint_wait_us > ep->not_before) {
		ep->not_before = now + r->endpoint_wait_us;
		endpoint_dirty(c, ep);
	}
	count_sick(c, ep);
	if (it->counted)
		it->row.crashes--;
	it->probe = it->free = it->counted = false;
	it->sent_to = NULL;
	endpoint_run(c, ep);
	endpoint_drop_idle(c, ep);
}

/* True: its subscription ended before it was sent, and so does it. */
bool
item_orphaned(struct core *c, struct item *it, int64_t now)
{
	static const struct core_result NOTHING = {.verdict = CORE_HOLD};

	if (!it->orphan)
		return false;
	land(c, it, &NOTHING, now);
	item_free(c, it);
	return true;
}

/* It waits in a row until its time has come. */
static void
later(struct core *c, struct item *it, int64_t due)
{
	it->state = IT_RETRY;
	it->row.next_at = due;
	timer_set(c, &it->timer, due);
	item_row(c, it);
	item_no_ev(c, it);
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

	if (it->spot.rep == 0) {
		/* Its key may have a reader of when there was an order. */
		const struct lane *lane = lane_find(c, s, it->row.okey, 0);

		return it->spot.seq > sub_front(c, s) ||
		       (lane && reader_gap(lane->rd, it->spot.seq));
	}
	list_each (const struct reader, rd, &s->replays, in_replays) {
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

	if (it->has_row)
		item_put_del(c, it);
	if (it->spot.rep == 0 && it->spot.seq > it->sub->flown)
		it->sub->flown = it->spot.seq; /* or was dropped */
	/* One may be settled before an older one: coalesced, or a row of when
	 * there was no order. */
	if (lane && it->spot.seq > lane->past)
		lane->past = it->spot.seq;
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
	item_put_dead(c, it, r->dead_reason ? r->dead_reason : r->reason,
	    r->verdict == CORE_NEVER ? r->detail : NULL, now);
	if ((!it->sub->o.block && !r->holds) || !it->lane) {
		item_settle(c, it);
		return;
	}
	it->state = IT_HELD;
	item_row(c, it);
	item_no_ev(c, it);
}

void
core_result(
    struct core *c, struct item *it, const struct core_result *r, int64_t now)
{
	struct sub *s = it->sub;
	struct lane *waits;
	struct peers *peers;
	bool free_try = it->free, orphan = it->orphan;
	bool tried = was_tried(r);

	assert(it->state == IT_FLIGHT);
	land(c, it, r, now);
	if (tried) {
		it->row.n++;
		it->row.last_status = r->status;
		it->row.last_reason = r->reason;
		item_put_attempt(c, it, r, now);
	} else if (r->verdict == CORE_DROP) {
		it->row.n++;
		item_put_attempt(c, it, r, now);
	} else if (r->detail && (orphan || r->verdict == CORE_HOLD)) {
		c->o.free_detail(r->detail);
	}
	if (orphan) {
		item_free(c, it);
		return;
	}
	waits = it->lane && it->lane->items.n > 1 ? it->lane : NULL;
	peers = it->peers && it->peers->items.n > 1 ? it->peers : NULL;
	if (tried && !free_try)
		it->row.tries++;
	switch (r->verdict) {
	case CORE_OK:
	case CORE_DROP:
		item_settle(c, it);
		break;
	case CORE_SPENT:
	case CORE_LATER:
		if (free_try || r->verdict == CORE_LATER)
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
	if (waits)
		lane_ready(c, waits); /* for one that was requeued before it */
	if (peers)
		peers_ready(c, peers);
	sub_ready(c, s);
	sub_check_readers(c, s);
}

/* Timers ------------------------------------------------------------------- */

static void
item_due(struct core *c, struct item *it)
{
	if (it->state == IT_FLIGHT) { /* a lease */
		list_add(&c->expired, &it->in_expired);
		return;
	}
	if (it->state == IT_RETRY)
		it->state = IT_WAIT;
	item_go(c, it);
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
