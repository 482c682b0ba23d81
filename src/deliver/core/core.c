#include "deliver/core/core.h"

#include "deliver/core/core_priv.h"
#include "deliver/core/limits.h"

struct core *
core_new(const struct core_opts *o)
{
	struct core *c = mem_get(sizeof(*c));
	struct list *lists[] = {&c->space_list, &c->live, &c->dirty,
	    &c->dirty_eps, &c->run, &c->sick, &c->locked, &c->settling,
	    &c->readers, &c->closing, &c->want, &c->check, &c->starving,
	    &c->moved, &c->urgent, &c->lagging, &c->locking, &c->lock_now,
	    &c->pull_run, &c->expired, &c->pulls};

	c->o = *o;
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		list_init(lists[i]);
	c->subs = map_new(SIZE_MAX / 2);
	c->endpoints = map_new(SIZE_MAX / 2);
	c->items = map_new(SIZE_MAX / 2);
	c->lanes = map_new(SIZE_MAX / 2);
	c->spaces = map_new(SPACING_KEYS_MAX);
	c->settled = map_new(SIZE_MAX / 2);
	c->peers = map_new(SIZE_MAX / 2);
	c->next.v.cursor = c->now.v.cursor = -1;
	return c;
}

static void
free_all(struct map *m)
{
	size_t at = 0;
	void *p;

	while ((p = map_each(m, &at)))
		free(p);
	map_free(m);
}

static void
free_changes(const struct core *c, struct core_changes *ch)
{
	for (size_t i = 0; i < ch->n_attempts; i++)
		if (ch->attempts[i].result.detail)
			c->o.free_detail(ch->attempts[i].result.detail);
	for (size_t i = 0; i < ch->n_deads; i++)
		if (ch->deads[i].detail)
			c->o.free_detail(ch->deads[i].detail);
	free(ch->attempts);
	free(ch->dels);
	free(ch->puts);
	free(ch->deads);
	free(ch->readers);
	free(ch->endpoints);
}

void
core_free(struct core *c)
{
	size_t at = 0;
	struct item *it;

	if (!c)
		return;
	while ((it = map_each(c->items, &at)))
		item_no_ev(c, it);
	list_each (struct reader, rd, &c->readers, in_all)
		free(rd);
	list_each (struct reader, rd, &c->closing, in_all)
		free(rd);
	free_all(c->items);
	free_all(c->lanes);
	free_all(c->subs);
	free_all(c->endpoints);
	free_all(c->spaces);
	free_all(c->settled);
	free_all(c->peers);
	heap_done(&c->timers);
	free_changes(c, &c->next.v);
	free_changes(c, &c->now.v);
	free(c);
}

void
timer_set(struct core *c, struct timer *t, int64_t due)
{
	if (t->node.at) {
		heap_move(&c->timers, &t->node, due);
		return;
	}
	t->node.due = due;
	heap_add(&c->timers, &t->node);
}

void
timer_off(struct core *c, struct timer *t)
{
	heap_remove(&c->timers, &t->node);
}

/* Subscriptions and endpoints --------------------------------------------- */

struct sub *
sub_find(const struct core *c, uint32_t id)
{
	return map_find(c->subs, KEY(id));
}

struct endpoint *
endpoint_get(struct core *c, uint64_t id)
{
	struct endpoint *ep = map_find(c->endpoints, KEY(id));

	if (ep)
		return ep;
	ep = mem_get(sizeof(*ep));
	ep->id = id;
	ep->cap = CONCURRENCY_FIRST;
	ep->timer.kind = TIMER_ENDPOINT;
	ep->run = ++c->runs;
	list_init(&ep->ready);
	list_init(&ep->again);
	list_init(&ep->members);
	map_set(c->endpoints, KEY(ep->id), ep);
	return ep;
}

/* An endpoint that nobody names any more and nothing is in flight to. */
void
endpoint_drop_idle(struct core *c, struct endpoint *ep)
{
	if (ep->members.n > 0 || ep->in_flight > 0 || ep->dirty)
		return;
	timer_off(c, &ep->timer);
	list_remove(ep->pull ? &c->pull_run : &c->run, &ep->in_run);
	list_remove(&c->sick, &ep->in_sick);
	(void)map_take(c->endpoints, KEY(ep->id));
	free(ep);
}

/* The widest and the slowest of those who share it. */
static void
endpoint_widen(struct endpoint *ep, const struct core_sub *o)
{
	if (o->concurrency > ep->cap_max)
		ep->cap_max = o->concurrency;
	if (o->floor > ep->floor)
		ep->floor = o->floor;
	if (o->url_rate_us > ep->rate.interval_us)
		ep->rate.interval_us = o->url_rate_us;
}

static void
endpoint_terms(struct endpoint *ep)
{
	ep->cap_max = ep->floor = 1;
	ep->rate.interval_us = 0;
	list_each (const struct sub, s, &ep->members, in_members)
		endpoint_widen(ep, &s->o);
	if (ep->cap > ep->cap_max)
		ep->cap = ep->cap_max;
}

static void
leave_endpoint(struct core *c, struct sub *s)
{
	struct endpoint *ep = s->ep;

	if (!ep)
		return;
	list_remove(&ep->ready, &s->in_ep);
	list_remove(&ep->again, &s->in_again);
	list_remove(&ep->members, &s->in_members);
	s->ep = NULL;
	if (s->o.concurrency >= ep->cap_max || s->o.floor >= ep->floor ||
	    s->o.url_rate_us > 0)
		endpoint_terms(ep);
	endpoint_drop_idle(c, ep);
}

static void
join_endpoint(struct core *c, struct sub *s, const struct core_sub *o)
{
	struct endpoint *ep = endpoint_get(c, o->endpoint);

	if (s->ep != ep) {
		leave_endpoint(c, s);
		s->ep = ep;
		ep->pull = o->pull;
		list_add(&ep->members, &s->in_members);
	} else if (o->concurrency < s->o.concurrency || o->floor < s->o.floor ||
		   o->url_rate_us < s->o.url_rate_us) {
		s->o = *o;
		endpoint_terms(ep);
	}
	endpoint_widen(ep, o);
}

static struct sub *
sub_new(struct core *c, const struct core_sub *o, int64_t now)
{
	struct sub *s = mem_get(sizeof(*s));

	s->o = *o;
	s->timer.kind = TIMER_SUB;
	list_init(&s->items);
	list_init(&s->ready);
	list_init(&s->again);
	list_init(&s->readers);
	list_init(&s->replays);
	list_init(&s->starved);
	list_init(&s->settled);
	if (!c->started)
		s->spaced_from = now;
	if (o->pull)
		list_add(&c->pulls, &s->in_pulls);
	map_set(c->subs, KEY(s->o.id), s);
	return s;
}

void
core_sub(struct core *c, const struct core_sub *o, int64_t now)
{
	struct sub *s = sub_find(c, o->id);

	assert(o->concurrency > 0);
	if (!s)
		s = sub_new(c, o, now);
	if (s->ended)
		return;
	join_endpoint(c, s, o);
	/* A wait for the old rate would be one without reason. */
	if (o->rate_us != s->rate.interval_us) {
		s->rate = (struct rate){.interval_us = o->rate_us};
		timer_off(c, &s->timer);
	}
	s->o = *o;
	sub_ready(c, s);
	sub_readers_later(c, s);
}

/* Frees what waits; what is in flight goes on without a subscription. */
static void
drop_items(struct core *c, struct sub *s)
{
	list_each (struct item, it, &s->items, in_sub) {
		bool lease = s->o.pull && it->state == IT_FLIGHT;

		if (lease)
			pull_land(c, it);
		if (lease || (it->state != IT_FLIGHT && it->state != IT_LOCK)) {
			item_free(c, it);
			continue;
		}
		it->orphan = true;
		list_remove(&c->dirty, &it->in_dirty);
		item_no_origin(c, it);
	}
}

static void
sub_free_idle(struct core *c, struct sub *s)
{
	if (!s->ended || s->items.n > 0)
		return;
	assert(s->readers.n == 0);
	timer_off(c, &s->timer);
	leave_endpoint(c, s);
	sub_forget_settled(c, s);
	list_remove(&c->pulls, &s->in_pulls);
	(void)map_take(c->subs, KEY(s->o.id));
	free(s);
}

void
core_sub_end(struct core *c, uint32_t id)
{
	struct sub *s = sub_find(c, id);

	if (!s || s->ended)
		return;
	drop_items(c, s);
	list_each (struct reader, rd, &s->readers, in_sub)
		reader_free(c, rd);
	s->ended = true;
	sub_free_idle(c, s);
}

void
core_hold(struct core *c, uint32_t id)
{
	struct sub *s = sub_find(c, id);

	if (!s || s->ended || !s->o.enabled)
		return;
	s->o.enabled = false;
	s->o.held = true;
	sub_to_reader(c, s, sub_front(c, s));
}

/*
 * What was never tried goes, and readers with it. One reader stays in the store
 * that says so, until the cursor has come past all that was skipped; what is in
 * flight needs a row then.
 */
void
core_sub_skip(struct core *c, uint32_t id, int64_t now)
{
	struct sub *s = sub_find(c, id);
	int64_t upto;

	if (!s || s->ended)
		return;
	upto = s->fed > c->upto ? s->fed : c->upto;
	list_each (struct item, it, &s->items, in_sub) {
		bool waits = it->state == IT_WAIT || it->state == IT_RETRY;

		if (it->spot.rep > 0)
			continue;
		if (!waits || it->row.n > 0) {
			if (!it->has_row)
				item_row(c, it);
			continue;
		}
		if (it->has_row)
			item_put_del(c, it);
		item_free(c, it);
	}
	if (!s->rd)
		(void)reader_new(c, s, NULL, 0);
	list_each (struct reader, rd, &s->readers, in_sub) {
		if (rd->rep > 0)
			continue;
		/* A page under way finds nothing that it may feed. */
		if (rd->read_pos < upto)
			rd->read_pos = upto;
		rd->until = rd->read_pos;
		rd->hold = rd->lane ? 0 : rd->until;
		reader_moved(c, rd);
		if (rd->lane)
			lane_ready(c, rd->lane);
	}
	core_touched(c, now);
	sub_ready(c, s);
	sub_check_readers(c, s);
}

/* Items ------------------------------------------------------------------- */

struct item *
item_find(const struct core *c, uint32_t sub, int64_t seq, uint32_t rep)
{
	struct spot spot = {.seq = seq, .sub = sub, .rep = rep};

	return map_find(c->items, KEY(spot));
}

/* What waits for an exclusive replay must not take the replay's room. */
size_t
sub_used(const struct sub *s)
{
	return s->items.n - (s->excl ? s->own : 0);
}

bool
sub_room(const struct core *c, const struct sub *s)
{
	return sub_used(s) < SUB_ITEMS_MAX &&
	       (map_count(c->items) < CORE_ITEMS_MAX ||
		   sub_used(s) < SUB_ITEMS_LEAST);
}

struct lane *
lane_find(
    const struct core *c, const struct sub *s, uint64_t okey, uint32_t rep)
{
	struct lane_key key = {.okey = okey, .sub = s->o.id, .rep = rep};

	return okey && s->lanes > 0 ? map_find(c->lanes, KEY(key)) : NULL;
}

struct lane *
lane_get(struct core *c, struct sub *s, uint64_t okey, uint32_t rep)
{
	struct lane *lane = lane_find(c, s, okey, rep);

	if (lane)
		return lane;
	lane = mem_get(sizeof(*lane));
	lane->key = (struct lane_key){.okey = okey, .sub = s->o.id, .rep = rep};
	lane->sub = s;
	list_init(&lane->items);
	map_set(c->lanes, KEY(lane->key), lane);
	s->lanes++;
	return lane;
}

void
lane_drop_idle(struct core *c, struct lane *lane)
{
	if (lane->items.n > 0 || lane->rd)
		return;
	(void)map_take(c->lanes, KEY(lane->key));
	lane->sub->lanes--;
	free(lane);
}

/* By seq; nearly always at the end. */
static void
add_sorted(struct list *l, struct link *k, size_t offset)
{
	struct link *at = l->head.prev;
	int64_t seq = ((struct item *)(void *)((char *)k - offset))->spot.seq;

	while (at != &l->head &&
	       ((struct item *)(void *)((char *)at - offset))->spot.seq > seq)
		at = at->prev;
	list_add_after(l, at, k);
}

/* Uncovered by a row, it holds back rd's position, or the cursor. */
void
item_origin(struct core *c, struct item *it, struct reader *rd)
{
	item_no_origin(c, it);
	it->origin = rd;
	add_sorted(rd ? &rd->items : &c->live, &it->in_origin,
	    offsetof(struct item, in_origin));
	if (rd)
		reader_moved(c, rd);
}

void
item_no_origin(struct core *c, struct item *it)
{
	struct reader *rd = it->origin;

	if (!link_on(&it->in_origin))
		return;
	list_remove(rd ? &rd->items : &c->live, &it->in_origin);
	it->origin = NULL;
	if (rd)
		reader_moved(c, rd);
}

struct item *
item_new(struct core *c, struct sub *s, const struct core_row *row, void *ev,
    int64_t now)
{
	struct item *it = mem_get(sizeof(*it));
	uint32_t rep = (uint32_t)row->rep;

	it->spot = (struct spot){.seq = row->seq, .sub = s->o.id, .rep = rep};
	it->row = *row;
	it->sub = s;
	it->ev = ev;
	it->fed_at = now;
	it->timer.kind = TIMER_ITEM;
	map_set(c->items, KEY(it->spot), it);
	list_add(&s->items, &it->in_sub);
	s->own += rep == 0;
	s->excl_items += s->excl && s->excl->rep == rep;
	/* What a lane holds ends in it, whatever the order is by now. */
	it->lane = s->o.order == CORE_ORDER_KEY && row->okey
		       ? lane_get(c, s, row->okey, rep)
		       : lane_find(c, s, row->okey, rep);
	if (it->lane) {
		add_sorted(&it->lane->items, &it->in_lane,
		    offsetof(struct item, in_lane));
	}
	peers_join(c, it);
	return it;
}

void
item_has_row(struct core *c, struct item *it)
{
	if (it->has_row)
		return;
	it->has_row = true;
	it->sub->rows++;
	c->rows++;
	if (it->lane)
		it->lane->rows++;
}

/* Its row is written with the next flush. */
void
item_row(struct core *c, struct item *it)
{
	item_has_row(c, it);
	list_add_once(&c->dirty, &it->in_dirty);
}

/* Its body is read again when it is needed. */
void
item_no_ev(struct core *c, struct item *it)
{
	if (it->ev)
		c->o.free_ev(it->ev);
	it->ev = NULL;
}

/* Gone from memory; its row, if any, is the caller's to delete. */
void
item_free(struct core *c, struct item *it)
{
	struct sub *s = it->sub;
	struct lane *lane = it->lane;

	if (it->has_row) {
		s->rows--;
		c->rows--;
		if (lane)
			lane->rows--;
	}
	item_no_origin(c, it);
	timer_off(c, &it->timer);
	list_remove(&c->dirty, &it->in_dirty);
	list_remove(&c->expired, &it->in_expired);
	item_unready(it);
	list_remove(&s->items, &it->in_sub);
	peers_leave(c, it);
	s->own -= it->spot.rep == 0;
	if (s->excl && s->excl->rep == it->spot.rep && --s->excl_items == 0)
		reader_moved(c, s->excl);
	if (lane) {
		list_remove(&lane->items, &it->in_lane);
		lane_drop_idle(c, lane);
	}
	(void)map_take(c->items, KEY(it->spot));
	item_no_ev(c, it);
	free(it);
	if (s->starved.n > 0 && sub_used(s) < SUB_ITEMS_MAX / 8 * 7 &&
	    sub_room(c, s))
		sub_feed_starved(c, s);
	sub_free_idle(c, s);
}

/* Dispatch and all of its readers are past these. */
void
sub_forget_settled(struct core *c, struct sub *s)
{
	list_each (struct settled, st, &s->settled, in_sub) {
		(void)map_take(c->settled, KEY(st->spot));
		free(st);
	}
	list_init(&s->settled);
	list_remove(&c->settling, &s->in_settling);
	s->settled_upto = 0;
}

void
core_counts(const struct core *c, struct core_count *ret)
{
	*ret = (struct core_count){
	    .items = map_count(c->items),
	    .rows = c->rows,
	    .readers = c->readers.n,
	    .in_flight = (size_t)c->in_flight,
	    .leases = (size_t)c->leases,
	    .starting = (size_t)c->starting,
	    .unflushed = core_unflushed(c),
	    .drops = core_drops(c),
	    .lanes = map_count(c->lanes),
	    .cursor = c->cursor,
	    .upto = c->upto,
	};
}
