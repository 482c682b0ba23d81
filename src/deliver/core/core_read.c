
#include "deliver/core/core_priv.h"
#include "deliver/core/limits.h"

/* Everything up to here was fed to it: by dispatch or by its reader. */
int64_t
sub_front(const struct core *c, const struct sub *s)
{
	int64_t live = s->fed > c->upto ? s->fed : c->upto;

	if (reader_gap(s->rd, INT64_MAX))
		return s->rd->read_pos;
	/* After a start dispatch begins before what was read. */
	return s->rd && s->rd->read_pos > live ? s->rd->read_pos : live;
}

/*
 * How far it may read now. A key follows what feeds its subscription. What was
 * left to a reader before dispatch said that it is past the entry, counts.
 */
static int64_t
limit(const struct core *c, const struct reader *rd)
{
	const struct sub *s = rd->sub;

	if (rd->until > 0)
		return rd->until;
	if (rd->lane)
		return sub_front(c, s);
	return s->fed > c->upto ? s->fed : c->upto;
}

/*
 * Whether it may be given an end. While its subscription has a gap, what a key
 * left to its reader is both before and behind it: only then nothing is missed
 * when the gap is closed.
 */
static bool
may_end(const struct reader *rd)
{
	const struct reader *all = rd->sub->rd;

	return rd->until == 0 && (!rd->lane || !all || all->until == 0 ||
				     all->read_pos >= all->until);
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
	struct reader *rd = mem_get(sizeof(*rd));

	rd->sub = s;
	rd->lane = lane;
	rd->rep = rep;
	rd->timer.kind = TIMER_READER;
	rd->read_pos = -1;
	list_init(&rd->items);
	list_add(&c->readers, &rd->in_all);
	list_add(&s->readers, &rd->in_sub);
	reader_moved(c, rd);
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

/* What its items waited for is over. */
static void
sub_go_on(struct core *c, struct sub *s)
{
	list_each (struct item, it, &s->items, in_sub)
		item_go(c, it);
}

/*
 * Nothing of its own starts before that replay is over. What it has stays
 * where it is, and dispatch leaves all else to its reader.
 */
void
sub_waits_for(struct core *c, struct sub *s, struct reader *rd)
{
	if (s->excl)
		return;
	rd->exclusive = true;
	s->excl = rd;
	s->excl_items = 0;
	list_each (struct item, it, &s->items, in_sub) {
		s->excl_items += it->spot.rep == rd->rep;
		/* One with a lock is under way, and in another list. */
		if (it->spot.rep == 0 && it->state == IT_WAIT)
			item_unready(it);
	}
	sub_to_reader(c, s, sub_front(c, s));
}

/* Its row in the store is the caller's matter. */
void
reader_free(struct core *c, struct reader *rd)
{
	struct sub *s = rd->sub;

	list_each (struct item, it, &rd->items, in_origin)
		item_no_origin(c, it);
	timer_off(c, &rd->timer);
	list_remove(&c->want, &rd->in_want);
	list_remove(&c->check, &rd->in_check);
	list_remove(&s->starved, &rd->in_starved);
	if (s->starved.n == 0)
		list_remove(&c->starving, &s->in_starving);
	list_remove(&c->moved, &rd->in_moved);
	list_remove(&c->urgent, &rd->in_urgent);
	list_remove(&c->lagging, &rd->in_lagging);
	list_remove(&c->readers, &rd->in_all);
	list_remove(&s->readers, &rd->in_sub);
	list_remove(&s->replays, &rd->in_replays);
	if (rd->lane && rd->lane->rd == rd) {
		rd->lane->rd = NULL;
		s->lane_readers--;
		lane_drop_idle(c, rd->lane);
		if (s->rd)
			reader_later(c, s->rd); /* for one of so many keys */
	}
	if (s->rd == rd)
		s->rd = NULL;
	if (s->excl == rd) {
		s->excl = NULL;
		sub_go_on(c, s);
		sub_readers_later(c, s);
	}
	if (s->readers.n == 0 && s->settled_upto <= c->upto)
		sub_forget_settled(c, s);
	rd->sub = NULL;
	rd->lane = NULL;
	if (rd->reading)
		list_add(&c->closing, &rd->in_all); /* core_read_done() frees */
	else
		free(rd);
}

/* Nothing is left of it: not to read, not to settle. */
bool
reader_read_out(const struct reader *rd)
{
	return rd->until > 0 && rd->read_pos >= rd->until && rd->items.n == 0 &&
	       !rd->reading && (!rd->exclusive || rd->sub->excl_items == 0);
}

/* Its position, its end or what holds it back changed. */
void
reader_moved(struct core *c, struct reader *rd)
{
	int64_t pos = reader_pos(rd);

	if (!rd->stored || rd->until != rd->stored_until ||
	    pos < rd->stored_pos || reader_read_out(rd)) {
		list_add_once(&c->urgent, &rd->in_urgent);
	} else if (pos != rd->stored_pos && !link_on(&rd->in_moved)) {
		list_add(&c->moved, &rd->in_moved);
	}
	if (rd->read_pos - pos > DELIVER_WINDOW_SEQS &&
	    !link_on(&rd->in_lagging))
		list_add(&c->lagging, &rd->in_lagging);
}

/* What it waits for may be there: core_next_read() looks. */
void
reader_later(struct core *c, struct reader *rd)
{
	rd->stuck = false;
	list_add_once(&c->check, &rd->in_check);
}

void
sub_readers_later(struct core *c, struct sub *s)
{
	list_each (struct reader, rd, &s->readers, in_sub)
		reader_later(c, rd);
}

bool
lane_blocked(const struct lane *lane)
{
	const struct item *it = list_head(&lane->items, struct item, in_lane);

	return it && (it->state == IT_RETRY || it->state == IT_HELD);
}

/* What waits behind a gap must not keep the gap open: it goes. */
bool
reader_room(struct core *c, struct reader *rd)
{
	struct sub *s = rd->sub;

	if (sub_room(c, s))
		return true;
	if (s->rd && s->rd->until > 0 && s->rd->read_pos < s->rd->until)
		sub_to_reader(c, s, s->rd->read_pos);
	if (sub_room(c, s))
		return true;
	list_add_once(&s->starved, &rd->in_starved);
	list_add_once(&c->starving, &s->in_starving);
	return false;
}

void
sub_feed_starved(struct core *c, struct sub *s)
{
	struct reader *rd;

	while ((rd = list_take(&s->starved, struct reader, in_starved)))
		reader_later(c, rd);
	list_remove(&c->starving, &s->in_starving);
}

/* Whether anybody could use what is read. */
static bool
wants_page(const struct core *c, const struct reader *rd)
{
	const struct sub *s = rd->sub;
	const struct item *head = list_head(&rd->items, struct item, in_origin);

	if (!s->o.enabled || s->ended || rd->reading || rd->stuck ||
	    !reader_unread(c, rd) || (s->o.pull && s->demand <= 0) ||
	    (s->excl && rd->rep == 0))
		return false;
	if (s->ep->open && sub_used(s) > 0)
		return false;
	if (rd->lane)
		return !lane_blocked(rd->lane) &&
		       (rd->until > 0 ||
			   rd->lane->items.n < LANE_ITEMS_KEEP / 2);
	/* Too far ahead of what it waits for: recovery has its bound. */
	if (head && rd->read_pos - head->spot.seq > 2 * DELIVER_WINDOW_SEQS)
		return false;
	return s->ready.n + s->again.n < READ_PAGE_MAX / 2;
}

/* What became possible: another page, meeting dispatch. */
void
reader_check(struct core *c, struct reader *rd)
{
	if (may_end(rd) && rd->sub->o.enabled && !rd->sub->excl &&
	    !rd->reading && !reader_unread(c, rd)) {
		rd->until = rd->read_pos;
		reader_moved(c, rd);
	}
	if (link_on(&rd->in_want) || rd->timer.node.at || !wants_page(c, rd))
		return;
	list_add(&c->want, &rd->in_want);
}

static void
reader_retry(struct core *c, struct reader *rd)
{
	rd->stuck = false;
	reader_check(c, rd);
}

void
sub_check_readers(struct core *c, struct sub *s)
{
	if (s->rd)
		reader_retry(c, s->rd);
	list_each (struct reader, rd, &s->replays, in_replays)
		reader_retry(c, rd);
}

/* What dispatch fed behind a gap was never sent: it is read again later. */
static void
drop_behind(struct core *c, struct sub *s, int64_t pos)
{
	list_each (struct item, it, &s->items, in_sub) {
		if (it->spot.rep == 0 && !it->has_row && it->state == IT_WAIT &&
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

	if (rd->until > 0 && rd->read_pos < rd->until)
		drop_behind(c, s, rd->until);
	else if (rd->until > 0 || rd->read_pos < 0)
		rd->read_pos = read_pos;
	rd->until = 0;
	list_each (struct item, it, &s->items, in_sub)
		if (link_on(&it->in_origin) && !it->origin)
			item_origin(c, it, rd);
	reader_moved(c, rd);
	reader_later(c, rd);
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

	if (!rd)
		rd = reader_new(c, lane->sub, lane, 0);
	list_each (struct item, it, &lane->items, in_lane) {
		bool kept = gap ? it->spot.seq <= pos : i < keep;

		i++;
		if (kept || it->has_row || it->state != IT_WAIT ||
		    it->spot.seq <= lane->past) {
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
	/* What is kept may be behind a gap of the whole subscription. */
	if (pos > fed_pos)
		pos = fed_pos;
	if (rd->reading && pos < rd->read_pos)
		rd->stale = true;
	rd->read_pos = pos;
	rd->until = 0;
	reader_moved(c, rd);
	reader_later(c, rd);
}

/* Pages -------------------------------------------------------------------- */

static void
check_waiting(struct core *c)
{
	struct reader *rd;

	if (map_count(c->items) < CORE_ITEMS_MAX / 8 * 7)
		list_each (struct sub, s, &c->starving, in_starving) {
			if (sub_used(s) < SUB_ITEMS_MAX / 8 * 7)
				sub_feed_starved(c, s);
		}
	while ((rd = list_take(&c->check, struct reader, in_check)))
		reader_check(c, rd);
}

bool
core_next_read(struct core *c, int64_t now, struct core_read *ret)
{
	struct reader *rd;

	check_waiting(c);
	while (c->reads < READS_MAX &&
	       (rd = list_take(&c->want, struct reader, in_want))) {
		int64_t upto;

		if (!wants_page(c, rd) || !reader_room(c, rd))
			continue;
		if (now < rd->next_read) {
			timer_set(c, &rd->timer, rd->next_read);
			continue;
		}
		upto = limit(c, rd);
		if (may_end(rd) && upto - rd->read_pos <= READ_NEAR_SEQS)
			rd->until = upto;
		rd->next_read = now + rd->interval_us;
		rd->reading = true;
		reader_moved(c, rd);
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
core_next_lost(struct core *c, int64_t first, struct core_read *ret)
{
	list_each (struct reader, rd, &c->readers, in_all) {
		int64_t upto = limit(c, rd) < first ? limit(c, rd) : first - 1;

		if (rd->reading || rd->sub->ended || rd->read_pos < 0 ||
		    rd->read_pos >= upto)
			continue;
		rd->reading = true;
		c->reads++;
		*ret = (struct core_read){
		    .reader = rd,
		    .sub = rd->sub->o.id,
		    .okey = rd->lane ? rd->lane->key.okey : 0,
		    .rep = (int)rd->rep,
		    .after = rd->read_pos,
		    .upto = upto,
		};
		return true;
	}
	return false;
}

void
core_read_done(struct core *c, void *reader, int64_t upto)
{
	struct reader *rd = reader;

	c->reads--;
	rd->reading = false;
	if (!rd->sub) {
		list_remove(&c->closing, &rd->in_all);
		free(rd);
		return;
	}
	if (upto > rd->read_pos && !rd->stale)
		rd->read_pos = upto;
	rd->stale = false;
	reader_moved(c, rd);
	if (rd->lane)
		lane_ready(c, rd->lane); /* one it came past may be there */
	else if (rd->until > 0 && rd->read_pos >= rd->until && rd->rep == 0)
		sub_go_on(c, rd->sub); /* the gap is closed */
	reader_check(c, rd);
	/* Keys that follow this one have more to read now. */
	if (!rd->lane && rd->sub->lane_readers > 0)
		list_each (struct reader, x, &rd->sub->readers, in_sub)
			reader_check(c, x);
}
