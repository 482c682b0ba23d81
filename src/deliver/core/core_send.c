
#include "deliver/core/core_priv.h"
#include "deliver/core/limits.h"

/* Who may send ------------------------------------------------------------- */

void
endpoint_run(struct core *c, struct endpoint *ep)
{
	if (ep->ready.n + ep->again.n > 0 && !link_on(&ep->in_run) &&
	    !link_on(&ep->in_sick))
		list_add(ep->pull ? &c->pull_run : &c->run, &ep->in_run);
}

void
sub_ready(struct core *c, struct sub *s)
{
	if (s->ready.n + s->again.n == 0 || !s->o.enabled || s->ended ||
	    s->timer.node.at)
		return;
	if (s->o.pull && s->demand <= 0)
		return;
	if (s->in_flight < s->o.concurrency) {
		list_add_once(&s->ep->ready, &s->in_ep);
		if (s->again.n > 0)
			list_add_once(&s->ep->again, &s->in_again);
	}
	endpoint_run(c, s->ep);
}

/* Rows are older than whatever is still to be read. */
bool
item_behind_gap(const struct item *it)
{
	if (it->has_row || it->spot.rep > 0)
		return false;
	return reader_gap(it->sub->rd, it->spot.seq) ||
	       (it->lane && reader_gap(it->lane->rd, it->spot.seq));
}

void
item_ready(struct core *c, struct item *it)
{
	if (it->state != IT_WAIT || link_on(&it->in_ready) ||
	    it->timer.node.at || item_behind_gap(it) || peers_busy(it) ||
	    (it->spot.rep == 0 && it->sub->excl))
		return;
	it->again = it->sub->o.breaker_first && it->row.tries > 0;
	list_add(it->again ? &it->sub->again : &it->sub->ready, &it->in_ready);
	sub_ready(c, it->sub);
}

void
item_unready(struct item *it)
{
	list_remove(
	    it->again ? &it->sub->again : &it->sub->ready, &it->in_ready);
}

/* The oldest of a lane goes, when nothing of it is in flight. */
void
lane_ready(struct core *c, struct lane *lane)
{
	struct item *first = list_head(&lane->items, struct item, in_lane);

	if (!first || lane->flying > 0)
		return;
	/* One that was requeued may have come in front of one that is ready. */
	list_each (struct item, it, &lane->items, in_lane) {
		if (it == first)
			continue;
		if (!link_on(&it->in_ready))
			break;
		item_unready(it);
	}
	item_ready(c, first);
}

void
item_go(struct core *c, struct item *it)
{
	if (it->lane)
		lane_ready(c, it->lane);
	else
		item_ready(c, it);
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

static struct space *
space_of(const struct core *c, const struct item *it)
{
	return it->row.skey ? map_find(c->spaces, KEY(it->row.skey)) : NULL;
}

/* A call of the same spacing key is under way or has just ended. */
static bool
spaced_out(struct core *c, struct item *it, int64_t now)
{
	const struct sub *s = it->sub;
	struct space *sp;

	if (!it->row.skey || s->o.spacing_us == 0)
		return false;
	if (now - s->spaced_from < s->o.spacing_us) {
		timer_set(c, &it->timer, s->spaced_from + s->o.spacing_us);
		return true;
	}
	sp = space_of(c, it);
	if (!sp || (!sp->busy && now >= sp->not_before))
		return false;
	/* While it is busy nobody knows until when: its end tells. */
	timer_set(
	    c, &it->timer, sp->busy ? now + s->o.spacing_us : sp->not_before);
	return true;
}

/* Forgets those whose time is over, so that the table stays small. */
static void
space_sweep(struct core *c, int64_t now)
{
	list_each (struct space, sp, &c->space_list, in_spaces) {
		if (sp->not_before > now)
			break;
		list_remove(&c->space_list, &sp->in_spaces);
		(void)map_take(c->spaces, KEY(sp->key));
		free(sp);
	}
}

static void
space_begin(struct core *c, const struct item *it, int64_t now)
{
	struct space *sp;
	struct err e;

	if (!it->row.skey)
		return;
	space_sweep(c, now);
	sp = space_of(c, it);
	if (!sp) {
		sp = mem_get(sizeof(*sp));
		sp->key = it->row.skey;
		if (map_put(c->spaces, KEY(sp->key), sp, NULL, &e) < 0) {
			free(sp); /* SPACING_KEYS_MAX of them at once */
			return;
		}
	}
	sp->busy = true;
	list_remove(&c->space_list, &sp->in_spaces);
}

/* Not called after all: nobody has to wait for it. */
void
send_unused(struct core *c, struct item *it)
{
	struct sub *s = it->sub;
	struct endpoint *ep = it->sent_to;

	s->rate.next -= s->rate.interval_us;
	ep->rate.next -= ep->rate.interval_us;
	timer_off(c, &s->timer);
	timer_off(c, &ep->timer);
}

void
space_end(struct core *c, const struct item *it, int64_t not_before)
{
	struct space *sp = space_of(c, it);

	if (!sp || !sp->busy)
		return;
	sp->busy = false;
	sp->not_before = not_before;
	list_add(&c->space_list, &sp->in_spaces);
}

static bool
too_much_unflushed(const struct core *c, int64_t now)
{
	int64_t oldest = c->now.since ? c->now.since : c->next.since;

	return core_unflushed(c) >= UNFLUSHED_MAX ||
	       core_drops(c) >= UNFLUSHED_MAX ||
	       (oldest > 0 && now - oldest >= UNFLUSHED_US);
}

int
core_sick_slots(const struct core *c)
{
	return c->o.slots > 1 ? c->o.slots / 2 : 1;
}

/* Its breaker holds what it holds: there is no room for a probe either. */
static bool
endpoint_shut(const struct endpoint *ep, int64_t now)
{
	return ep->open && (ep->in_flight > 0 || now < ep->open_until);
}

/* What holds the endpoint as a whole. A timer or an event runs it again. */
static bool
endpoint_held(struct core *c, struct endpoint *ep, int64_t now)
{
	if (endpoint_shut(ep, now)) {
		if (now < ep->open_until)
			timer_set(c, &ep->timer, ep->open_until);
		if (ep->again.n == 0)
			return true;
	}
	if (now < ep->not_before) {
		timer_set(c, &ep->timer, ep->not_before);
		return true;
	}
	if (ep->in_flight >= ep->cap && ep->in_flight >= ep->floor)
		return true;
	/* The sick share half of the slots at most. */
	if (ep->sick && c->sick_in_flight >= core_sick_slots(c)) {
		list_add(&c->sick, &ep->in_sick);
		return true;
	}
	return rate_wait(c, &ep->rate, &ep->timer, now);
}

void
item_flies(struct item *it)
{
	it->sent_to = it->sub->ep;
	it->sent_to->in_flight++;
	it->sub->in_flight++;
	if (it->lane)
		it->lane->flying++;
	peers_fly(it);
}

static void
fly(struct core *c, struct item *it, int64_t now)
{
	struct sub *s = it->sub;
	struct endpoint *ep = s->ep;

	item_flies(it);
	if (s->o.pull) {
		s->demand--;
		s->starting++;
		c->starting++;
		if (it->spot.rep == 0 && it->spot.seq > s->flown)
			s->flown = it->spot.seq;
		it->flew_at = now;
		return;
	}
	it->breaker_fails = s->o.breaker_fails;
	it->breaker_us = s->o.breaker_us;
	c->in_flight++;
	if (ep->sick)
		c->sick_in_flight++;
	it->probe = ep->open && !it->again;
	it->free = it->probe && !s->o.breaker_first;
	rate_used(&ep->rate, now);
	rate_used(&s->rate, now);
	space_begin(c, it, now);
}

/* The next of a subscription that may go; NULL: none of it now. `shut`: that
 * may go though the breaker is open. */
static struct item *
pick(struct core *c, struct sub *s, bool shut, int64_t now)
{
	struct item *it;

	if (!s->o.enabled || s->ended || s->in_flight >= s->o.concurrency ||
	    (s->o.pull && s->demand <= 0) ||
	    rate_wait(c, &s->rate, &s->timer, now))
		return NULL;
	while ((it = list_take(&s->again, struct item, in_ready)) ||
	       (!shut && (it = list_take(&s->ready, struct item, in_ready))))
		if (!peers_turn(c, it, now) && !spaced_out(c, it, now))
			return it;
	return NULL;
}

static bool
needs_lock(const struct core *c, const struct item *it)
{
	return it->sub->o.lock_us > 0 || it->spot.seq <= c->careful_upto;
}

/* Its row is written with the next flush, and then it goes. */
static void
lock(struct core *c, struct item *it, int64_t now)
{
	it->state = IT_LOCK;
	it->row.next_at = now + it->sub->o.lock_us;
	item_row(c, it);
	list_add(&c->locking, &it->in_ready);
}

/* The store took so long that the call might outlast it. */
static bool
lock_is_old(const struct item *it, int64_t now)
{
	int64_t us = it->sub->o.lock_us;

	return us > 0 && it->row.next_at - now < us / 2;
}

/* The one that flies now; NULL: none, or its lock comes first. */
static struct item *
endpoint_next(struct core *c, struct endpoint *ep, int64_t now)
{
	bool shut = endpoint_shut(ep, now);
	struct sub *s;

	while ((s = shut ? list_take(&ep->again, struct sub, in_again)
			 : list_take(&ep->ready, struct sub, in_ep))) {
		struct item *it = pick(c, s, shut, now);

		if (!it)
			continue;
		fly(c, it, now);
		sub_ready(c, s); /* its others, after those of the others */
		endpoint_run(c, ep);
		if (!needs_lock(c, it)) {
			it->state = IT_FLIGHT;
			return it;
		}
		if (it->spot.seq <= c->careful_upto && !s->o.pull) {
			it->row.crashes++;
			it->counted = true;
		}
		lock(c, it, now);
		return NULL;
	}
	return NULL;
}

void
item_tell(struct item *it, struct core_send *ret)
{
	*ret = (struct core_send){
	    .item = it,
	    .row = it->row,
	    .probe = it->probe,
	    .ev = it->ev,
	    .pull = it->sub->o.pull,
	    .mark = it->mark,
	    .at = it->flew_at,
	};
	ret->row.crashes -= it->counted;
}

void
core_judged(struct item *it)
{
	it->row.unjudged = 0;
}

static struct item *
next_send(struct core *c, int64_t now)
{
	struct endpoint *ep;
	struct item *it;

	if (too_much_unflushed(c, now))
		return NULL;
	/* Their rows are stored and their slots taken: they go first. */
	while ((it = list_take(&c->locked, struct item, in_ready))) {
		if (item_orphaned(c, it, now))
			continue;
		if (!lock_is_old(it, now)) {
			it->state = IT_FLIGHT;
			return it;
		}
		lock(c, it, now);
	}
	while ((ep = list_take(&c->pull_run, struct endpoint, in_run)))
		if ((it = endpoint_next(c, ep, now)))
			return it;
	while (c->in_flight < c->o.slots &&
	       (c->careful_upto == 0 || c->in_flight == 0) &&
	       (ep = list_take(&c->run, struct endpoint, in_run)))
		if (!endpoint_held(c, ep, now) &&
		    (it = endpoint_next(c, ep, now)))
			return it;
	return NULL;
}

bool
core_next_send(struct core *c, int64_t now, struct core_send *ret)
{
	struct item *it = next_send(c, now);

	if (it)
		item_tell(it, ret);
	return it;
}
