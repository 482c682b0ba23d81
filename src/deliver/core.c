#include "deliver/core.h"

#include <assert.h>
#include <stdio.h>

#include "deliver/core_priv.h"

/* Every structure here has a bound, and together they are small: a machine
 * without this memory can't go on, and a new start loses nothing. */
void *
core_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p) {
		(void)fputs("hikyaku: no memory for deliveries\n", stderr);
		abort();
	}
	return p;
}

void *
core_more(void *v, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? 2 * *cap : 64;
	void *p;

	if (n < *cap)
		return v;
	p = reallocarray(v, more, size);
	if (!p) {
		(void)fputs("hikyaku: no memory for results\n", stderr);
		abort();
	}
	*cap = more;
	return p;
}

static void
must_put(struct map *m, struct str key, void *value)
{
	struct err e;

	if (map_put(m, key, value, NULL, &e) < 0)
		(void)core_alloc(SIZE_MAX / 2); /* says so and ends */
}

struct core *
core_new(const struct core_opts *o)
{
	struct core *c = core_alloc(sizeof(*c));
	struct list *lists[] = {&c->space_list, &c->live, &c->dirty,
	    &c->dirty_eps, &c->readers, &c->want, &c->run, &c->sick, &c->locked,
	    &c->locking, &c->lock_now};

	c->o = *o;
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		list_init(lists[i]);
	c->subs = map_new(SIZE_MAX / 2);
	c->endpoints = map_new(SIZE_MAX / 2);
	c->items = map_new(SIZE_MAX / 2);
	c->lanes = map_new(SIZE_MAX / 2);
	c->spaces = map_new(SPACING_KEYS_MAX);
	c->settled = map_new(SIZE_MAX / 2);
	if (!c->subs || !c->endpoints || !c->items || !c->lanes || !c->spaces ||
	    !c->settled)
		(void)core_alloc(SIZE_MAX / 2);
	c->next.cursor = c->now.cursor = -1;
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
free_changes(struct core_changes *ch)
{
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
	struct link *k;

	if (!c)
		return;
	while ((it = map_each(c->items, &at)))
		if (it->ev)
			c->o.free_ev(it->ev);
	while ((k = list_first(&c->readers))) {
		struct reader *rd = LINK_OF(k, struct reader, in_all);

		list_remove(&c->readers, k);
		free(rd);
	}
	free_all(c->items);
	free_all(c->lanes);
	free_all(c->subs);
	free_all(c->endpoints);
	free_all(c->spaces);
	free_all(c->settled);
	heap_done(&c->timers);
	free_changes(&c->next);
	free_changes(&c->now);
	free(c);
}

void
timer_set(struct core *c, struct timer *t, int64_t due)
{
	struct err e;

	if (t->node.at) {
		heap_move(&c->timers, &t->node, due);
		return;
	}
	t->node.due = due;
	if (heap_add(&c->timers, &t->node, &e) < 0)
		(void)core_alloc(SIZE_MAX / 2);
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
	return map_find(c->subs, key_str(&id, sizeof(id)));
}

struct endpoint *
endpoint_get(struct core *c, uint64_t id)
{
	struct endpoint *ep = map_find(c->endpoints, key_str(&id, sizeof(id)));

	if (ep)
		return ep;
	ep = core_alloc(sizeof(*ep));
	ep->id = id;
	ep->cap = CONCURRENCY_FIRST;
	ep->timer.kind = TIMER_ENDPOINT;
	list_init(&ep->ready);
	must_put(c->endpoints, key_str(&ep->id, sizeof(ep->id)), ep);
	return ep;
}

/* An endpoint that nobody names any more and nothing is in flight to. */
void
endpoint_drop_idle(struct core *c, struct endpoint *ep)
{
	if (ep->subs > 0 || ep->in_flight > 0 || ep->dirty)
		return;
	timer_off(c, &ep->timer);
	list_remove(&c->run, &ep->in_run);
	list_remove(&c->sick, &ep->in_sick);
	(void)map_take(c->endpoints, key_str(&ep->id, sizeof(ep->id)));
	free(ep);
}

static void
leave_endpoint(struct core *c, struct sub *s)
{
	struct endpoint *ep = s->ep;

	if (!ep)
		return;
	list_remove(&ep->ready, &s->in_ep);
	ep->subs--;
	s->ep = NULL;
	endpoint_drop_idle(c, ep);
}

static void
join_endpoint(struct core *c, struct sub *s)
{
	struct endpoint *ep = endpoint_get(c, s->o.endpoint);

	if (s->ep != ep) {
		leave_endpoint(c, s);
		s->ep = ep;
		ep->subs++;
	}
	if (s->o.concurrency > ep->cap_max)
		ep->cap_max = s->o.concurrency;
	if (s->o.url_rate_us > 0)
		ep->rate.interval_us = s->o.url_rate_us;
}

void
core_sub(struct core *c, const struct core_sub *o, int64_t now)
{
	struct sub *s = sub_find(c, o->id);

	assert(o->concurrency > 0);
	(void)now;
	if (!s) {
		s = core_alloc(sizeof(*s));
		s->o.id = o->id;
		s->timer.kind = TIMER_SUB;
		list_init(&s->items);
		list_init(&s->ready);
		list_init(&s->replays);
		must_put(c->subs, key_str(&s->o.id, sizeof(s->o.id)), s);
	}
	s->o = *o;
	s->rate.interval_us = o->rate_us;
	join_endpoint(c, s);
	sub_ready(c, s);
	c->recheck = true;
}

/* Frees what waits; what is in flight goes on without a subscription. */
static void
drop_items(struct core *c, struct sub *s)
{
	struct link *k, *next;

	for (k = list_first(&s->items); k; k = next) {
		struct item *it = ITEM_OF(k, in_sub);

		next = list_next(&s->items, k);
		if (it->state != IT_FLIGHT && it->state != IT_LOCK) {
			item_free(c, it);
			continue;
		}
		it->orphan = true;
		list_remove(&c->dirty, &it->in_dirty);
	}
}

static void
drop_readers(struct core *c, struct sub *s)
{
	struct link *k, *next;

	for (k = list_first(&c->readers); k; k = next) {
		struct reader *rd = LINK_OF(k, struct reader, in_all);

		next = list_next(&c->readers, k);
		if (rd->sub == s)
			reader_free(c, rd);
	}
}

static void
sub_free_idle(struct core *c, struct sub *s)
{
	if (!s->ended || s->items.n > 0 || s->rd || s->replays.n > 0 ||
	    s->lane_readers > 0)
		return;
	timer_off(c, &s->timer);
	leave_endpoint(c, s);
	(void)map_take(c->subs, key_str(&s->o.id, sizeof(s->o.id)));
	free(s);
}

void
core_sub_end(struct core *c, uint32_t id)
{
	struct sub *s = sub_find(c, id);

	if (!s)
		return;
	s->ended = true;
	drop_items(c, s);
	drop_readers(c, s);
	sub_free_idle(c, s);
}

void
core_sub_skip(struct core *c, uint32_t id, int64_t now)
{
	struct sub *s = sub_find(c, id);
	struct link *k, *next;

	(void)now;
	if (!s)
		return;
	for (k = list_first(&s->items); k; k = next) {
		struct item *it = ITEM_OF(k, in_sub);

		next = list_next(&s->items, k);
		if (it->state != IT_WAIT || it->spot.rep > 0 || it->tries > 0)
			continue;
		if (it->row)
			put_del(c, it);
		item_free(c, it);
	}
	for (k = list_first(&c->readers); k; k = next) {
		struct reader *rd = LINK_OF(k, struct reader, in_all);

		next = list_next(&c->readers, k);
		if (rd->sub != s || rd->rep > 0)
			continue;
		/* A page under way finds its reader closed, nothing to feed. */
		rd->until = rd->read_pos = c->upto;
		reader_check(c, rd);
	}
	sub_ready(c, s);
}

/* Items ------------------------------------------------------------------- */

struct item *
item_find(const struct core *c, uint32_t sub, int64_t seq, uint32_t rep)
{
	struct spot spot = {.seq = seq, .sub = sub, .rep = rep};

	return map_find(c->items, key_str(&spot, sizeof(spot)));
}

bool
sub_room(const struct core *c, const struct sub *s)
{
	return s->items.n < SUB_ITEMS_MAX &&
	       (map_count(c->items) < CORE_ITEMS_MAX ||
		   s->items.n < SUB_ITEMS_LEAST);
}

struct lane *
lane_get(struct core *c, struct sub *s, uint64_t okey, uint32_t rep)
{
	struct lane_key key = {.okey = okey, .sub = s->o.id, .rep = rep};
	struct lane *lane = map_find(c->lanes, key_str(&key, sizeof(key)));

	if (lane)
		return lane;
	lane = core_alloc(sizeof(*lane));
	lane->key = key;
	lane->sub = s;
	list_init(&lane->items);
	must_put(c->lanes, key_str(&lane->key, sizeof(lane->key)), lane);
	return lane;
}

void
lane_drop_idle(struct core *c, struct lane *lane)
{
	if (lane->items.n > 0 || lane->rd)
		return;
	(void)map_take(c->lanes, key_str(&lane->key, sizeof(lane->key)));
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
}

void
item_no_origin(struct core *c, struct item *it)
{
	list_remove(it->origin ? &it->origin->items : &c->live, &it->in_origin);
	it->origin = NULL;
}

struct item *
item_new(struct core *c, struct sub *s, uint32_t rep,
    const struct core_entry *en, int64_t now)
{
	struct item *it = core_alloc(sizeof(*it));

	it->spot = (struct spot){.seq = en->seq, .sub = s->o.id, .rep = rep};
	it->sub = s;
	it->okey = en->okey;
	it->skey = en->skey;
	it->ev = en->ev;
	it->fed_at = now;
	it->timer.kind = TIMER_ITEM;
	must_put(c->items, key_str(&it->spot, sizeof(it->spot)), it);
	list_add(&s->items, &it->in_sub);
	if (s->o.order == CORE_ORDER_KEY) {
		it->lane = lane_get(c, s, en->okey, rep);
		add_sorted(&it->lane->items, &it->in_lane,
		    offsetof(struct item, in_lane));
	}
	return it;
}

/* Its row is written with the next flush. */
void
item_row(struct core *c, struct item *it)
{
	if (!it->row) {
		it->row = true;
		it->sub->rows++;
		c->rows++;
		if (it->lane)
			it->lane->rows++;
	}
	if (!link_on(&it->in_dirty))
		list_add(&c->dirty, &it->in_dirty);
}

/* Gone from memory; its row, if any, is the caller's to delete. */
void
item_free(struct core *c, struct item *it)
{
	struct sub *s = it->sub;
	struct lane *lane = it->lane;

	if (it->row) {
		s->rows--;
		c->rows--;
		if (lane)
			lane->rows--;
	}
	if (link_on(&it->in_origin))
		item_no_origin(c, it);
	timer_off(c, &it->timer);
	list_remove(&c->dirty, &it->in_dirty);
	list_remove(&s->ready, &it->in_ready);
	list_remove(&s->items, &it->in_sub);
	if (lane) {
		list_remove(&lane->items, &it->in_lane);
		lane_drop_idle(c, lane);
	}
	(void)map_take(c->items, key_str(&it->spot, sizeof(it->spot)));
	if (it->ev)
		c->o.free_ev(it->ev);
	free(it);
	sub_free_idle(c, s);
}

void
core_counts(const struct core *c, struct core_count *ret)
{
	*ret = (struct core_count){
	    .items = map_count(c->items),
	    .rows = c->rows,
	    .readers = c->readers.n,
	    .in_flight = (size_t)c->in_flight,
	    .unflushed = unflushed(c),
	    .lanes = map_count(c->lanes),
	    .cursor = c->cursor,
	    .upto = c->upto,
	};
}
