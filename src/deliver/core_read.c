#include <assert.h>

#include "deliver/core_priv.h"

/* A page that ends so near to dispatch is the last: it gets an end (a gap). */
#define NEAR_SEQS 1024

/* Everything up to here was fed to it: by dispatch or by its reader. */
int64_t
sub_front(const struct core *c, const struct sub *s)
{
	return reader_gap(s->rd, INT64_MAX) ? s->rd->read_pos : c->upto;
}

/* How far it may read now. A key follows what feeds its subscription. */
static int64_t
limit(const struct core *c, const struct reader *rd)
{
	if (rd->until > 0)
		return rd->until;
	return rd->lane ? sub_front(c, rd->sub) : c->upto;
}

bool
reader_unread(const struct core *c, const struct reader *rd)
{
	return rd->read_pos < limit(c, rd);
}

/* Entries of rd's part of the log that are still to come before seq. */
bool
reader_gap(const struct reader *rd, int64_t seq)
{
	return rd && seq > rd->read_pos &&
	       (rd->until == 0 || rd->read_pos < rd->until);
}

struct reader *
reader_new(struct core *c, struct sub *s, struct lane *lane, uint32_t rep)
{
	struct reader *rd = core_alloc(sizeof(*rd));

	rd->sub = s;
	rd->lane = lane;
	rd->rep = rep;
	rd->timer.kind = TIMER_READER;
	rd->read_pos = -1;
	list_init(&rd->items);
	list_add(&c->readers, &rd->in_all);
	if (rep > 0) {
		list_add(&s->replays, &rd->in_replays);
	} else if (lane) {
		assert(!lane->rd);
		lane->rd = rd;
		s->lane_readers++;
	} else {
		assert(!s->rd);
		s->rd = rd;
	}
	return rd;
}

/* Its row in the store is the caller's matter. */
void
reader_free(struct core *c, struct reader *rd)
{
	struct sub *s = rd->sub;
	struct link *k;

	while ((k = list_first(&rd->items)))
		item_no_origin(c, ITEM_OF(k, in_origin));
	timer_off(c, &rd->timer);
	list_remove(&c->want, &rd->in_want);
	list_remove(&c->readers, &rd->in_all);
	list_remove(&s->replays, &rd->in_replays);
	if (rd->lane && rd->lane->rd == rd) {
		rd->lane->rd = NULL;
		s->lane_readers--;
		lane_drop_idle(c, rd->lane);
	}
	if (s->rd == rd)
		s->rd = NULL;
	rd->sub = NULL;
	rd->lane = NULL;
	if (!rd->reading) /* else core_read_done() frees it */
		free(rd);
}

bool
lane_blocked(const struct lane *lane)
{
	struct link *k = list_first(&lane->items);
	const struct item *it;

	if (!k)
		return false;
	it = ITEM_OF(k, in_lane);
	return it->state == IT_RETRY || it->state == IT_HELD;
}

/* What waits behind a gap must not keep the gap open. */
static bool
page_room(const struct core *c, const struct reader *rd)
{
	const struct sub *s = rd->sub;
	bool gap = rd->until > 0 && rd->rep == 0;

	return sub_room(c, s) ||
	       (gap && s->items.n < SUB_ITEMS_MAX + READ_PAGE_MAX);
}

/* Whether there is room, and anybody who could use what is read. */
static bool
wants_page(const struct core *c, const struct reader *rd)
{
	const struct sub *s = rd->sub;
	struct link *head = list_first(&rd->items);

	if (!s->o.enabled || s->ended || rd->reading || !reader_unread(c, rd))
		return false;
	if (s->ep->open && s->items.n > 0)
		return false;
	if (rd->lane)
		return !lane_blocked(rd->lane) &&
		       (rd->until > 0 ||
			   rd->lane->items.n < LANE_ITEMS_KEEP / 2);
	/* Too far ahead of what it waits for: recovery has its bound. */
	if (head && rd->read_pos - ITEM_OF(head, in_origin)->spot.seq >
			2 * DELIVER_WINDOW_SEQS)
		return false;
	return page_room(c, rd) && s->ready.n < READ_PAGE_MAX / 2;
}

/* What became possible: another page, meeting dispatch. */
void
reader_check(struct core *c, struct reader *rd)
{
	/* In the middle of an entry nobody knows where dispatch is. */
	if (c->feeding && !BUG(10)) {
		c->recheck = true;
		return;
	}
	if (rd->until == 0 && rd->sub->o.enabled && !rd->reading &&
	    !reader_unread(c, rd))
		rd->until = rd->read_pos;
	if (link_on(&rd->in_want) || rd->timer.node.at || !wants_page(c, rd))
		return;
	list_add(&c->want, &rd->in_want);
}

void
sub_check_readers(struct core *c, struct sub *s)
{
	if (s->rd)
		reader_check(c, s->rd);
	for (struct link *k = list_first(&s->replays); k;
	     k = list_next(&s->replays, k))
		reader_check(c, LINK_OF(k, struct reader, in_replays));
}

/* What dispatch fed behind a gap was never sent: it is read again later. */
static void
drop_behind(struct core *c, struct sub *s, int64_t pos)
{
	struct link *k, *next;

	for (k = list_first(&s->items); k; k = next) {
		struct item *it = ITEM_OF(k, in_sub);

		next = list_next(&s->items, k);
		if (it->spot.rep == 0 && !it->row && it->state == IT_WAIT &&
		    it->spot.seq > pos)
			item_free(c, it);
	}
}

/*
 * From read_pos on it reads the log. What it has in memory without a row is
 * covered by its reader from now on. With a gap, what is behind it goes.
 */
void
sub_to_reader(struct core *c, struct sub *s, int64_t read_pos)
{
	struct reader *rd = s->rd ? s->rd : reader_new(c, s, NULL, 0);
	struct link *k;

	if (rd->until > 0 && rd->read_pos < rd->until)
		drop_behind(c, s, rd->until);
	else if (rd->until > 0 || rd->read_pos < 0)
		rd->read_pos = read_pos;
	rd->until = 0;
	for (k = list_first(&s->items); k; k = list_next(&s->items, k)) {
		struct item *it = ITEM_OF(k, in_sub);

		if (link_on(&it->in_origin) && !it->origin)
			item_origin(c, it, rd);
	}
	reader_check(c, rd);
}

/*
 * The same for one key, which keeps only its oldest in memory: nothing behind
 * them was tried, since a lane goes in order. All of the key up to fed_pos was
 * fed. A page that is under way may now be one from too far on: it is ignored.
 */
void
lane_to_reader(struct core *c, struct lane *lane, int64_t fed_pos)
{
	struct reader *rd = lane->rd;
	bool open = rd && rd->until == 0;
	bool gap = rd && !open && rd->read_pos < rd->until;
	size_t keep = lane_blocked(lane) ? 1 : LANE_ITEMS_KEEP, i = 0;
	int64_t pos = gap ? rd->read_pos : -1;
	struct link *k, *next;

	if (!rd)
		rd = reader_new(c, lane->sub, lane, 0);
	for (k = list_first(&lane->items); k; k = next, i++) {
		struct item *it = ITEM_OF(k, in_lane);

		next = list_next(&lane->items, k);
		if (it->row || it->state != IT_WAIT ||
		    (gap ? it->spot.seq <= pos : i < keep)) {
			if (link_on(&it->in_origin))
				item_origin(c, it, rd);
			continue;
		}
		if (pos < 0)
			pos = it->spot.seq - 1;
		item_free(c, it);
	}
	if (pos < 0)
		pos = open ? rd->read_pos : fed_pos;
	if (rd->reading && pos < rd->read_pos)
		rd->stale = true;
	rd->read_pos = pos;
	rd->until = 0;
	reader_check(c, rd);
}

/* Feeding ----------------------------------------------------------------- */

static bool
is_settled(struct core *c, uint32_t sub, int64_t seq, uint32_t rep)
{
	struct spot spot = {.seq = seq, .sub = sub, .rep = rep};

	return map_count(c->settled) > 0 && !BUG(8) &&
	       map_find(c->settled, key_str(&spot, sizeof(spot)));
}

/* Nothing to do with it: there already, settled, or left to a key's reader. */
static bool
refuse(struct core *c, struct sub *s, const struct core_entry *en,
    const struct reader *from, uint32_t rep)
{
	struct lane_key key = {.okey = en->okey, .sub = s->o.id, .rep = rep};
	const struct lane *lane;

	if (item_find(c, en->sub, en->seq, rep) ||
	    is_settled(c, en->sub, en->seq, rep))
		return true;
	if (s->o.order != CORE_ORDER_KEY || rep > 0 || (from && from->lane))
		return false;
	lane = map_find(c->lanes, key_str(&key, sizeof(key)));
	if (!lane || !lane->rd)
		return false;
	return en->seq > lane->rd->read_pos &&
	       (lane->rd->until == 0 || en->seq <= lane->rd->until);
}

static void
take(struct core *c, struct sub *s, const struct core_entry *en,
    struct reader *from, int64_t now)
{
	struct item *it = item_new(c, s, from ? from->rep : 0, en, now);

	item_origin(c, it, from);
	if (it->lane)
		lane_ready(c, it->lane);
	else
		item_ready(c, it);
}

/* A key that stands still gets little room, and least when others need it. */
static struct lane *
full_lane(struct core *c, struct sub *s, uint64_t okey, uint32_t rep)
{
	struct lane_key key = {.okey = okey, .sub = s->o.id, .rep = rep};
	struct lane *lane;
	size_t most = LANE_ITEMS_MAX;

	if (s->o.order != CORE_ORDER_KEY)
		return NULL;
	lane = map_find(c->lanes, key_str(&key, sizeof(key)));
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

	assert(en->seq > c->upto || c->upto == 0 || en->seq > c->cursor);
	c->feeding = true;
	if (!s || s->ended || refuse(c, s, en, NULL, 0) ||
	    (s->rd && (s->rd->until == 0 || en->seq <= s->rd->until)))
		goto away;
	if (!s->o.enabled || !sub_room(c, s)) {
		sub_to_reader(c, s, en->seq - 1);
		goto away;
	}
	lane = full_lane(c, s, en->okey, 0);
	if (lane && s->lane_readers >= SUB_LANES_MAX && !lane->rd) {
		sub_to_reader(c, s, en->seq - 1);
		goto away;
	}
	if (lane) {
		lane_to_reader(c, lane, en->seq - 1);
		goto away;
	}
	take(c, s, en, NULL, now);
	c->feeding = false;
	return;
away:
	c->feeding = false;
	if (en->ev)
		c->o.free_ev(en->ev);
}

void
core_upto(struct core *c, int64_t seq)
{
	assert(seq >= c->upto);
	c->upto = seq;
	if (map_count(c->settled) > 0 && seq > c->settled_upto &&
	    c->readers.n == 0) {
		size_t at = 0;
		void *p;

		while ((p = map_each(c->settled, &at)))
			free(p);
		map_free(c->settled);
		c->settled = map_new(SIZE_MAX / 2);
		if (!c->settled)
			(void)core_alloc(SIZE_MAX / 2);
	}
}

bool
core_next_read(struct core *c, int64_t now, struct core_read *ret)
{
	struct link *k;

	if (c->recheck) {
		c->recheck = false;
		for (k = list_first(&c->readers); k;
		     k = list_next(&c->readers, k))
			reader_check(c, LINK_OF(k, struct reader, in_all));
	}
	while (c->reads < READS_MAX && (k = list_first(&c->want))) {
		struct reader *rd = LINK_OF(k, struct reader, in_want);
		int64_t upto;

		list_remove(&c->want, k);
		if (!wants_page(c, rd))
			continue;
		if (now < rd->next_read) {
			timer_set(c, &rd->timer, rd->next_read);
			continue;
		}
		upto = limit(c, rd);
		if (rd->until == 0 && upto - rd->read_pos <= NEAR_SEQS)
			rd->until = upto;
		rd->next_read = now + rd->interval_us;
		rd->reading = true;
		c->reads++;
		*ret = (struct core_read){
		    .reader = rd,
		    .sub = rd->sub->o.id,
		    .okey = rd->lane ? rd->lane->key.okey : 0,
		    .rep = (int)rd->rep,
		    .after = rd->read_pos,
		    .upto = upto,
		    .most = rd->lane ? LANE_ITEMS_KEEP : READ_PAGE_MAX,
		};
		return true;
	}
	return false;
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
		goto away;
	}
	if (!page_room(c, rd))
		return false;
	lane = rd->lane ? NULL : full_lane(c, s, en->okey, rd->rep);
	if (lane) {
		if (rd->rep > 0 ||
		    (!lane->rd && s->lane_readers >= SUB_LANES_MAX))
			return false;
		rd->read_pos = en->seq;
		lane_to_reader(c, lane, en->seq - 1);
		goto away;
	}
	rd->read_pos = en->seq;
	take(c, s, en, rd, now);
	return true;
away:
	if (en->ev)
		c->o.free_ev(en->ev);
	return true;
}

/* The gap is closed: what waited behind it may go. */
static void
past_gap(struct core *c, struct reader *rd)
{
	struct sub *s = rd->sub;

	if (rd->lane) {
		lane_ready(c, rd->lane);
		return;
	}
	for (struct link *k = list_first(&s->items); k;
	     k = list_next(&s->items, k)) {
		struct item *it = ITEM_OF(k, in_sub);

		if (it->lane)
			lane_ready(c, it->lane);
		else
			item_ready(c, it);
	}
}

void
core_read_done(struct core *c, void *reader, int64_t upto, int64_t now)
{
	struct reader *rd = reader;

	(void)now;
	c->reads--;
	rd->reading = false;
	if (!rd->sub) {
		free(rd);
		return;
	}
	if (upto > rd->read_pos && !rd->stale)
		rd->read_pos = upto;
	rd->stale = false;
	if (rd->until > 0 && rd->read_pos >= rd->until && rd->rep == 0)
		past_gap(c, rd);
	reader_check(c, rd);
	/* Keys that follow this one have more to read now. */
	if (!rd->lane && rd->sub->lane_readers > 0)
		for (struct link *k = list_first(&c->readers); k;
		     k = list_next(&c->readers, k)) {
			struct reader *other =
			    LINK_OF(k, struct reader, in_all);

			if (other->sub == rd->sub)
				reader_check(c, other);
		}
}
