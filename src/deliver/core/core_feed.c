
#include "deliver/core/core_priv.h"
#include "deliver/core/limits.h"

/* From dispatch, and from the pages of readers. */

static bool
is_settled(struct core *c, uint32_t sub, int64_t seq, uint32_t rep)
{
	struct spot spot = {.seq = seq, .sub = sub, .rep = rep};

	return map_count(c->settled) > 0 && map_find(c->settled, KEY(spot));
}

/* Nothing to do with it: there already, settled, or left to a key's reader. */
static bool
refuse(struct core *c, struct sub *s, const struct core_entry *en,
    const struct reader *from, uint32_t rep)
{
	const struct lane *lane;

	if (item_find(c, en->sub, en->seq, rep) ||
	    is_settled(c, en->sub, en->seq, rep))
		return true;
	if (rep > 0 || (from && from->lane) || s->lane_readers == 0)
		return false;
	lane = lane_find(c, s, en->okey, rep);
	if (!lane || !lane->rd)
		return false;
	return en->seq > lane->rd->read_pos &&
	       (lane->rd->until == 0 || en->seq <= lane->rd->until);
}

/*
 * Whether one that nobody will send may go before its turn: not while an older
 * one of its key is to come, which it must not overtake when it is put back.
 */
static bool
may_die(const struct item *it)
{
	const struct lane *lane = it->lane;

	if (!lane)
		return true;
	return !it->sub->o.block && !item_behind_gap(it) &&
	       list_first(&lane->items) == &it->in_lane;
}

static void
core_feed_take(struct core *c, struct sub *s, const struct core_entry *en,
    struct reader *from, int64_t now)
{
	struct item *it = item_new(c, s,
	    &(struct core_row){
		.sub = en->sub,
		.rep = from ? (int)from->rep : 0,
		.okey = en->okey,
		.skey = en->skey,
		.seq = en->seq,
		.unjudged = en->reason,
		.rec = en->rec,
		.rv = en->rv,
	    },
	    en->ev, now);

	item_origin(c, it, from);
	if (en->reason && may_die(it)) {
		item_put_dead(c, it, en->reason, en->detail, now);
		item_settle(c, it);
		return;
	}
	if (en->detail) /* its turn makes another */
		c->o.free_detail(en->detail);
	if (!peers_fed(c, it, now))
		item_go(c, it);
}

/* Dead letters that were fed take memory until they are stored. */
static bool
too_many_dead(const struct core *c, const struct core_entry *en)
{
	return en->reason && c->next.v.n_deads >= UNFLUSHED_MAX;
}

static void
give_up(struct core *c, const struct core_entry *en)
{
	if (en->ev)
		c->o.free_ev(en->ev);
	if (en->detail)
		c->o.free_detail(en->detail);
}

/* A key that stands still gets little room, and least when others need it. */
static struct lane *
full_lane(struct core *c, struct sub *s, uint64_t okey, uint32_t rep)
{
	struct lane *lane = lane_find(c, s, okey, rep);
	size_t most = LANE_ITEMS_MAX;

	if (!lane)
		return NULL;
	if (lane_blocked(lane))
		most = s->items.n > SUB_ITEMS_MAX / 2 ? 1 : LANE_ITEMS_KEEP;
	return lane->items.n >= most ? lane : NULL;
}

void
core_feed(struct core *c, const struct core_entry *en, int64_t now)
{
	struct sub *s = sub_find(c, en->sub);
	struct lane *lane;
	bool full, idle;

	assert(en->seq > c->upto);
	c->started = true;
	if (!s || s->ended)
		goto away;
	s->fed = en->seq;
	if ((s->rd && (s->rd->until == 0 || en->seq <= s->rd->until)) ||
	    refuse(c, s, en, NULL, 0))
		goto away;
	full =
	    !s->o.enabled || s->excl || !sub_room(c, s) || too_many_dead(c, en);
	lane = full ? NULL : full_lane(c, s, en->okey, 0);
	/* Then its key is not slow: nobody fetches. */
	idle = lane && s->o.pull && s->demand <= 0;
	if (full || idle ||
	    (lane && !lane->rd && s->lane_readers >= SUB_LANES_MAX)) {
		sub_to_reader(c, s, en->seq - 1);
		if (idle)
			pull_rest(c, s);
	} else if (lane) {
		lane_to_reader(c, lane, en->seq - 1);
	} else {
		core_feed_take(c, s, en, NULL, now);
		return;
	}
away:
	give_up(c, en);
}

void
core_upto(struct core *c, int64_t seq)
{
	assert(seq >= c->upto);
	c->upto = seq;
	c->started = true;
	if (c->settled_upto == 0 || seq < c->settled_upto)
		return;
	/* Those who have readers forget with their last. */
	c->settled_upto = 0;
	list_each (struct sub, s, &c->settling, in_settling) {
		if (s->readers.n == 0)
			sub_forget_settled(c, s);
	}
}

bool
core_read_feed(
    struct core *c, void *reader, const struct core_entry *en, int64_t now)
{
	struct reader *rd = reader;
	struct sub *s = rd->sub;
	struct lane *lane;

	/* Its subscription is gone, or it was told to skip to now. */
	if (!s || rd->stale || en->seq <= rd->read_pos)
		goto away;
	if (refuse(c, s, en, rd, rd->rep)) {
		rd->read_pos = en->seq;
		reader_moved(c, rd);
		goto away;
	}
	if (!reader_room(c, rd) || too_many_dead(c, en))
		return false;
	lane = rd->lane ? NULL : full_lane(c, s, en->okey, rd->rep);
	if (lane) {
		if (rd->rep > 0 ||
		    (!lane->rd && s->lane_readers >= SUB_LANES_MAX)) {
			rd->stuck = true;
			return false;
		}
		rd->read_pos = en->seq;
		lane_to_reader(c, lane, en->seq - 1);
		goto away;
	}
	rd->read_pos = en->seq;
	core_feed_take(c, s, en, rd, now);
	return true;
away:
	give_up(c, en);
	return true;
}
