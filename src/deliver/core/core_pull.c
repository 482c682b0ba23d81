
#include "deliver/core/core_priv.h"

/* Counting ------------------------------------------------------------------ */

static void
lease(struct core *c, struct item *it)
{
	it->handed = true;
	c->leases++;
	timer_set(c, &it->timer, it->row.next_at);
}

void
pull_land(struct core *c, struct item *it)
{
	struct endpoint *ep = it->sent_to;

	item_landed(it);
	if (it->handed) {
		c->leases--;
	} else {
		c->starting--;
		it->sub->starting--;
	}
	it->handed = false;
	timer_off(c, &it->timer);
	list_remove(&c->expired, &it->in_expired);
	it->sent_to = NULL;
	endpoint_drop_idle(c, ep);
}

/* After a start: some worker has it, and its answer may come. */
void
pull_load(struct core *c, struct item *it)
{
	struct sub *s = it->sub;

	it->state = IT_FLIGHT;
	it->flew_at = it->row.next_at - s->o.lock_us;
	item_flies(it);
	if (it->lane) /* a later one may have been loaded before it */
		list_each (struct item, x, &it->lane->items, in_lane)
			item_unready(x);
	lease(c, it);
}

/* On demand ------------------------------------------------------------------ */

void
core_allow(struct core *c, uint32_t id, int n)
{
	struct sub *s = sub_find(c, id);
	bool began;

	if (!s || s->ended)
		return;
	assert(s->o.pull);
	began = s->demand <= 0 && n > 0;
	s->demand = n > 0 ? n : 0;
	sub_ready(c, s);
	if (!began)
		return;
	sub_readers_later(c, s);
}

/*
 * What is behind all that was ever sent is forgotten and read again one day:
 * nothing of it can have been settled without the store knowing.
 */
void
pull_rest(struct core *c, struct sub *s)
{
	struct reader *rd = s->rd;
	int64_t pos = INT64_MAX;

	if (!rd || rd->until > 0)
		return;
	list_each (struct item, it, &s->items, in_sub) {
		if (it->has_row || it->state != IT_WAIT || it->row.n > 0 ||
		    it->origin != rd || it->spot.seq <= s->flown)
			continue;
		if (it->spot.seq <= pos)
			pos = it->spot.seq - 1;
		item_free(c, it);
	}
	if (pos >= rd->read_pos)
		return;
	if (rd->reading)
		rd->stale = true;
	rd->read_pos = pos;
	reader_moved(c, rd);
	reader_later(c, rd);
}

void
core_rest(struct core *c, uint32_t id)
{
	struct sub *s = sub_find(c, id);

	if (!s || s->ended || s->demand > 0)
		return;
	pull_rest(c, s);
}

/* Leases ---------------------------------------------------------------------- */

void
core_handed(struct core *c, struct item *it, bool mark)
{
	assert(it->state == IT_FLIGHT && !it->handed);
	c->starting--;
	it->sub->starting--;
	it->mark = mark;
	lease(c, it);
	/* Its body is not kept for so long: a retry reads it again. */
	item_no_ev(c, it);
}

bool
core_next_expired(struct core *c, struct core_send *ret)
{
	struct item *it = list_take(&c->expired, struct item, in_expired);

	if (it)
		item_tell(it, ret);
	return it;
}

enum core_lease
core_lease(const struct core *c, uint32_t sub, int64_t seq, int rep, int n,
    struct core_send *ret)
{
	struct item *it = item_find(c, sub, seq, (uint32_t)rep);

	if (!it || it->orphan)
		return CORE_LEASE_NONE;
	item_tell(it, ret);
	if (it->state == IT_FLIGHT && it->row.n == n)
		return CORE_LEASE_MINE;
	if (it->state == IT_HELD)
		return CORE_LEASE_DEAD;
	if ((it->state == IT_WAIT || it->state == IT_RETRY) &&
	    it->row.n == n + 1)
		return CORE_LEASE_LATE;
	return CORE_LEASE_LOST;
}

void
core_late(
    struct core *c, struct item *it, const struct core_result *r, int64_t now)
{
	struct sub *s = it->sub;

	assert(it->state == IT_WAIT || it->state == IT_RETRY);
	it->row.n++;
	it->row.tries++;
	it->row.last_status = r->status;
	it->row.last_reason = r->reason;
	item_put_attempt(c, it, r, now);
	item_settle(c, it);
	sub_ready(c, s);
	sub_check_readers(c, s);
}

void
core_extend(struct core *c, struct item *it, int64_t until, int64_t now)
{
	assert(it->state == IT_FLIGHT);
	if (!it->handed)
		return;
	it->row.next_at = until;
	timer_set(c, &it->timer, until);
	list_remove(&c->expired, &it->in_expired);
	item_row(c, it);
	core_touched(c, now);
}

bool
core_pulled(const struct core *c, uint32_t id, struct core_pulled *ret)
{
	const struct sub *s = sub_find(c, id);

	if (!s || s->ended)
		return false;
	*ret = (struct core_pulled){
	    .starting = (size_t)s->starting,
	    .leases = (size_t)(s->in_flight - s->starting),
	};
	if (s->starting > 0)
		return true;
	if (s->in_flight >= s->o.concurrency || !s->o.enabled) {
		ret->idle = true;
		return true;
	}
	ret->idle = s->ready.n + s->again.n == 0;
	list_each (const struct reader, rd, &s->readers, in_sub)
		if (rd->reading || link_on(&rd->in_want) ||
		    link_on(&rd->in_check))
			ret->idle = false;
	return true;
}

int64_t
core_lag(const struct core *c)
{
	int64_t most = 0;

	list_each (const struct sub, s, &c->pulls, in_pulls) {
		int64_t lag = s->rd ? c->upto - reader_pos(s->rd) : 0;

		most = lag > most ? lag : most;
	}
	return most;
}
