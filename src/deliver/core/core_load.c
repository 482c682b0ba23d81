
#include "deliver/core/core_priv.h"
#include "deliver/core/limits.h"

void
core_load_cursor(struct core *c, int64_t cursor)
{
	c->cursor = c->upto = cursor;
}

void
core_load_endpoint(struct core *c, const struct core_endpoint *o)
{
	struct endpoint *ep = map_find(c->endpoints, KEY(o->endpoint));

	if (!ep)
		return;
	ep->open = o->open_until > 0;
	ep->open_until = o->open_until;
	ep->not_before = o->not_before;
	ep->sick = ep->open;
	ep->fails = ep->open ? 1 : 0;
	ep->cap = ep->open ? 1 : CONCURRENCY_FIRST;
}

static struct item *
row_item(struct core *c, struct sub *s, const struct core_row *row, int64_t now)
{
	struct core_row own = *row;
	struct item *it;

	if (row->asked)
		own.rec = (struct core_rec){0, 0};
	it = item_new(c, s, &own, NULL, now);
	/* It may be settled without being sent in this life: see pull_rest(). */
	if (row->rep == 0 && row->seq > s->flown)
		s->flown = row->seq;
	item_has_row(c, it);
	return it;
}

void
core_load_row(struct core *c, const struct core_row *row, int64_t now)
{
	struct sub *s = sub_find(c, row->sub);
	struct item *it;

	if (!s || item_find(c, row->sub, row->seq, (uint32_t)row->rep))
		return;
	it = row_item(c, s, row, now);
	if (s->o.pull && row->state == ROW_SENDING) {
		pull_load(c, it);
		return;
	}
	/* Of a lock only its end is known: the call may be under way still. */
	if (row->state == ROW_HELD) {
		it->state = IT_HELD;
	} else if (row->state != ROW_PARKED && row->next_at > now) {
		it->state = IT_RETRY;
		timer_set(c, &it->timer, row->next_at);
	}
	/* Rows come in any order: this one may be before one that is ready. */
	item_go(c, it);
}

/* It is stored as it is. */
static struct reader *
load_reader(struct core *c, struct sub *s, struct lane *lane,
    const struct core_reader *o)
{
	/* One that waits for a replay may have got a reader already. */
	struct reader *rd = o->rep == 0 && !lane && s->rd
				? s->rd
				: reader_new(c, s, lane, (uint32_t)o->rep);

	rd->read_pos = rd->stored_pos = o->pos;
	rd->until = rd->stored_until = o->until;
	rd->stored = true;
	if (o->exclusive)
		sub_waits_for(c, s, rd);
	reader_moved(c, rd);
	reader_later(c, rd);
	return rd;
}

void
core_load_reader(struct core *c, const struct core_reader *o)
{
	struct sub *s = sub_find(c, o->sub);
	struct lane *lane;
	struct reader *rd;

	if (!s)
		return;
	lane = o->okey ? lane_get(c, s, o->okey, (uint32_t)o->rep) : NULL;
	rd = load_reader(c, s, lane, o);
	if (s->excl && s->rd == rd) /* dispatch leaves all to it */
		sub_to_reader(c, s, rd->read_pos);
	/* What was skipped must not come again: see core_sub_skip(). */
	rd->hold = rd->rep == 0 && !lane ? o->pos : 0;
}

void
core_load_settled(struct core *c, uint32_t sub, int64_t seq, int rep)
{
	struct spot spot = {.seq = seq, .sub = sub, .rep = (uint32_t)rep};
	struct sub *s = sub_find(c, sub);
	struct settled *st;

	if (!s || map_find(c->settled, KEY(spot)))
		return;
	st = mem_get(sizeof(*st));
	st->spot = spot;
	map_set(c->settled, KEY(st->spot), st);
	list_add(&s->settled, &st->in_sub);
	list_add_once(&c->settling, &s->in_settling);
	if (seq > s->settled_upto)
		s->settled_upto = seq;
	/* It is forgotten when dispatch is past it: see pull_rest(). */
	if (rep == 0 && seq > s->flown)
		s->flown = seq;
	if (seq > c->settled_upto)
		c->settled_upto = seq;
}

void
core_careful(struct core *c, int64_t upto)
{
	c->careful_upto = upto;
}

void
core_requeue(struct core *c, const struct core_row *row, int64_t now)
{
	struct sub *s = sub_find(c, row->sub);
	struct item *it;

	if (!s || s->ended)
		return;
	it = item_find(c, row->sub, row->seq, (uint32_t)row->rep);
	if (!it) {
		it = row_item(c, s, row, now);
		it->row.tries = 0;
		it->row.crashes = 0;
	} else if (it->state == IT_RETRY || it->state == IT_HELD ||
		   it->state == IT_WAIT) {
		item_unready(it);
		it->row.tries = it->row.crashes = 0;
		it->fail_run = 0;
		it->state = IT_WAIT;
		timer_off(c, &it->timer);
	} else {
		return; /* it is under way */
	}
	if (row->asked) {
		it->row.asked = true;
		peers_leave(c, it);
	}
	it->row.next_at = now;
	item_row(c, it);
	core_touched(c, now);
	item_go(c, it);
}

void
core_skip(struct core *c, uint32_t sub, int64_t seq, int rep, int64_t now)
{
	struct item *it = item_find(c, sub, seq, (uint32_t)rep);
	struct sub *s;

	if (!it || it->state != IT_HELD)
		return;
	s = it->sub;
	core_touched(c, now);
	item_settle(c, it);
	sub_check_readers(c, s);
}

void
core_replay(struct core *c, const struct core_reader *o, int64_t interval_us)
{
	struct sub *s = sub_find(c, o->sub);

	if (!s || s->ended)
		return;
	assert(o->rep > 0 && o->until > 0);
	load_reader(c, s, NULL, o)->interval_us = interval_us;
}

static const char *
why(const struct item *it, int64_t *ret_due)
{
	const struct sub *s = it->sub;

	switch (it->state) {
	case IT_FLIGHT:
		if (!s->o.pull)
			return "it is being sent";
		*ret_due = it->row.next_at;
		return "a worker has it, until its lease ends";
	case IT_LOCK:
		return "its lock is being written";
	case IT_HELD:
		return "it failed for good, and holds the later ones of its key";
	case IT_RETRY:
		*ret_due = it->row.next_at;
		return "it waits for its next attempt";
	case IT_WAIT:
		break;
	}
	if (s->o.held)
		return "its subscription is held";
	if (!s->o.enabled)
		return "its subscription is disabled";
	if (s->excl && it->spot.rep == 0)
		return "an exclusive replay of its subscription goes first";
	if (peers_busy(it))
		return "another one of its record is being sent";
	if (it->lane && list_first(&it->lane->items) != &it->in_lane)
		return "an earlier one of its key is not delivered yet";
	if (s->o.pull)
		return "it waits for a worker to fetch it";
	if (s->ep->open && !it->again) {
		*ret_due = s->ep->open_until;
		return "the breaker of its endpoint is open";
	}
	if (s->ep->not_before > 0) {
		*ret_due = s->ep->not_before;
		return "its endpoint asked for a rest";
	}
	if (s->timer.node.at) {
		*ret_due = s->timer.node.due;
		return "its subscription's rate allows no more now";
	}
	if (s->ep->rate.interval_us > 0 && s->ep->timer.node.at) {
		*ret_due = s->ep->timer.node.due;
		return "its endpoint's rate allows no more now";
	}
	return "it waits for its turn";
}

int64_t
core_front(const struct core *c, uint32_t sub)
{
	const struct sub *s = sub_find(c, sub);

	return s ? sub_front(c, s) : c->upto;
}

bool
core_look(const struct core *c, uint32_t sub, int64_t seq, int rep,
    struct core_seen *ret)
{
	const struct item *it = item_find(c, sub, seq, (uint32_t)rep);

	if (!it)
		return false;
	*ret = (struct core_seen){
	    .row = item_as_row(it),
	    .in_flight = it->state == IT_FLIGHT || it->state == IT_LOCK,
	};
	if (ret->in_flight)
		ret->row.state = ROW_PARKED;
	ret->why = why(it, &ret->due);
	return true;
}
