
#include "deliver/core/core_priv.h"
#include "deliver/core/limits.h"

size_t
core_unflushed(const struct core *c)
{
	return c->next.v.n_attempts + (c->flushing ? c->now.v.n_attempts : 0) -
	       core_drops(c);
}

size_t
core_drops(const struct core *c)
{
	return c->next.drops + (c->flushing ? c->now.drops : 0);
}

/* Something is to be stored. */
void
core_touched(struct core *c, int64_t now)
{
	if (c->next.since == 0)
		c->next.since = now;
}

#define PUT(c, what, ...)                                                      \
	do {                                                                   \
		struct core_changes *ch_ = &(c)->next.v;                       \
		ch_->what = mem_more(ch_->what, &(c)->next.cap.what,           \
		    ch_->n_##what, sizeof(*ch_->what));                        \
		ch_->what[ch_->n_##what++] = __VA_ARGS__;                      \
	} while (0)

struct core_row
item_as_row(const struct item *it)
{
	static const enum core_row_state STATES[] = {
	    [IT_WAIT] = ROW_PARKED,
	    [IT_LOCK] = ROW_SENDING,
	    [IT_FLIGHT] = ROW_PARKED,
	    [IT_RETRY] = ROW_RETRY,
	    [IT_HELD] = ROW_HELD,
	};
	struct core_row row = it->row;

	row.state = it->state == IT_FLIGHT && it->sub->o.pull
			? ROW_SENDING
			: STATES[it->state];
	return row;
}

void
item_put_del(struct core *c, const struct item *it)
{
	PUT(c, dels, item_as_row(it));
}

void
item_put_dead(struct core *c, const struct item *it, int reason, void *detail,
    int64_t now)
{
	core_touched(c, now);
	PUT(c, deads,
	    ((struct core_dead){.row = it->row,
		.at = now,
		.reason = reason,
		.detail = detail}));
}

void
item_put_attempt(struct core *c, const struct item *it,
    const struct core_result *r, int64_t now)
{
	core_touched(c, now);
	c->next.drops += r->verdict == CORE_DROP;
	PUT(c, attempts,
	    ((struct core_attempt){
		.seq = it->spot.seq,
		.sub = it->spot.sub,
		.rep = (int)it->spot.rep,
		.n = it->row.n,
		.result = *r,
	    }));
}

/* Aging: what keeps a position back for too long -------------------------- */

/*
 * Covers it by a row or a reader. In a lane, rows must stay the oldest: what
 * is behind one that only a reader covers gets a reader too. False: it is left
 * as it is.
 */
static bool
cover(struct core *c, struct item *it)
{
	struct sub *s = it->sub;
	struct lane *lane = it->lane;
	struct link *prev = lane && it->in_lane.prev != &lane->items.head
				? it->in_lane.prev
				: NULL;
	bool alone = it->origin && it->origin == s->rd;

	if (it->orphan) {
		item_no_origin(c, it);
		return true;
	}
	if (it->spot.rep > 0 || it->state != IT_WAIT || it->row.tries > 0)
		goto row;
	/* It waits for nothing but a worker: no row for each of these. */
	if (s->o.pull && (!lane || !prev) && !item_behind_gap(it)) {
		if (it->origin)
			return false;
		sub_to_reader(c, s, sub_front(c, s));
		if (s->demand <= 0)
			pull_rest(c, s);
		return true;
	}
	if (lane && !item_behind_gap(it) &&
	    (!prev || ITEM_OF(prev, in_lane)->has_row) &&
	    lane->rows < LANE_ROWS_MAX && s->rows < SUB_ROWS_MAX &&
	    s->items.n <= SUB_ITEMS_MAX / 2)
		goto row;
	if (!lane && !item_behind_gap(it) && s->rows < SUB_ROWS_MAX &&
	    s->items.n <= SUB_PARK_MAX)
		goto row;
	if (lane && it->origin == lane->rd && lane->rd)
		return false;
	if (lane && (lane->rd || s->lane_readers < SUB_LANES_MAX) &&
	    (alone || lane->rd || lane->items.n > LANE_ITEMS_KEEP)) {
		lane_to_reader(c, lane, sub_front(c, s));
		return true;
	}
	if (alone)
		return false;
	sub_to_reader(c, s, sub_front(c, s));
	return true;
row:
	item_row(c, it);
	item_no_origin(c, it);
	return true;
}

static void
age(struct core *c, int64_t now)
{
	struct item *it;

	while ((it = list_head(&c->live, struct item, in_origin))) {
		if (now - it->fed_at < DELIVER_WINDOW_US &&
		    c->upto - it->spot.seq <= DELIVER_WINDOW_SEQS)
			break;
		if (!cover(c, it))
			break;
	}
	/* Positions that are held back: by a slow one, or by a retry. */
	list_each (struct reader, rd, &c->lagging, in_lagging) {
		bool left = false;

		while (!left &&
		       (it = list_head(&rd->items, struct item, in_origin)) &&
		       rd->read_pos - it->spot.seq > DELIVER_WINDOW_SEQS)
			left = !cover(c, it);
		if (!left)
			list_remove(&c->lagging, &rd->in_lagging);
		reader_later(c, rd);
	}
}

/* The set ------------------------------------------------------------------ */

int64_t
reader_pos(const struct reader *rd)
{
	const struct item *it = list_head(&rd->items, struct item, in_origin);
	int64_t first = it ? it->spot.seq - 1 : INT64_MAX;

	return first < rd->read_pos ? first : rd->read_pos;
}

static bool
reader_over(const struct core *c, const struct reader *rd, int64_t cursor)
{
	return reader_read_out(rd) &&
	       (rd->rep > 0 || (rd->until <= c->upto && rd->hold <= cursor));
}

/* Writes it and forgets it when it is over. */
static void
put_reader(struct core *c, struct reader *rd, bool over)
{
	int64_t pos = reader_pos(rd);

	if (!over || rd->stored)
		PUT(c, readers,
		    ((struct core_reader){
			.sub = rd->sub->o.id,
			.okey = rd->lane ? rd->lane->key.okey : 0,
			.rep = (int)rd->rep,
			.pos = pos,
			.until = rd->until,
			.exclusive = rd->exclusive,
			.gone = over,
		    }));
	rd->stored = true;
	rd->stored_pos = pos;
	rd->stored_until = rd->until;
	if (over)
		reader_free(c, rd);
}

static void
put_readers(struct core *c, bool positions, int64_t cursor)
{
	struct reader *rd;
	size_t n = c->urgent.n; /* some come back */

	while (
	    n-- > 0 && (rd = list_take(&c->urgent, struct reader, in_urgent))) {
		if (reader_over(c, rd, cursor)) {
			put_reader(c, rd, true);
			continue;
		}
		if (!rd->stored || rd->until != rd->stored_until ||
		    reader_pos(rd) < rd->stored_pos)
			put_reader(c, rd, false);
		reader_moved(c, rd); /* to where it belongs now */
	}
	while (
	    positions && (rd = list_take(&c->moved, struct reader, in_moved)))
		if (reader_pos(rd) != rd->stored_pos)
			put_reader(c, rd, false);
}

static void
put_rows(struct core *c)
{
	struct link *k;
	struct item *it;

	while ((it = list_take(&c->dirty, struct item, in_dirty))) {
		item_no_origin(c, it);
		PUT(c, puts, item_as_row(it));
	}
	while ((k = list_shift(&c->locking)))
		list_add(&c->lock_now, k);
}

static void
put_endpoints(struct core *c)
{
	struct endpoint *ep;

	while ((ep = list_take(&c->dirty_eps, struct endpoint, in_dirty))) {
		ep->dirty = false;
		PUT(c, endpoints,
		    ((struct core_endpoint){
			.endpoint = ep->id,
			.open_until = ep->open ? ep->open_until : 0,
			.not_before = ep->not_before,
		    }));
		endpoint_drop_idle(c, ep);
	}
}

static int64_t
cursor_now(const struct core *c)
{
	const struct item *it = list_head(&c->live, struct item, in_origin);

	return it ? it->spot.seq - 1 : c->upto;
}

/* Positions move all the time; they are written now and then. */
static bool
positions_due(const struct core *c, int64_t now)
{
	return now - c->cursor_at >= CURSOR_US ||
	       cursor_now(c) - c->cursor > DELIVER_WINDOW_SEQS / 2;
}

static bool
moved(const struct core *c)
{
	return cursor_now(c) > c->cursor || c->urgent.n > 0 || c->moved.n > 0;
}

static bool
empty(const struct core_changes *ch)
{
	return ch->cursor < 0 && ch->n_attempts == 0 && ch->n_dels == 0 &&
	       ch->n_puts == 0 && ch->n_deads == 0 && ch->n_readers == 0 &&
	       ch->n_endpoints == 0;
}

static bool
wanted(const struct core *c, int64_t now, bool hurry)
{
	bool some = c->next.v.n_attempts > 0 || c->next.v.n_deads > 0 ||
		    c->next.v.n_dels > 0 || c->dirty.n > 0 ||
		    c->dirty_eps.n > 0;

	if (c->locking.n > 0 || c->next.v.n_attempts >= FLUSH_RESULTS)
		return true;
	if (some && (hurry || now - c->next.since >= FLUSH_US))
		return true;
	return (hurry || positions_due(c, now)) && moved(c);
}

const struct core_changes *
core_flush(struct core *c, int64_t now, bool hurry)
{
	struct changes spare;
	int64_t cursor = c->cursor;
	bool positions;

	if (c->flushing)
		return NULL;
	age(c, now);
	if (!wanted(c, now, hurry))
		return NULL;
	positions = hurry || positions_due(c, now);
	put_rows(c);
	if (positions) {
		c->cursor_at = now;
		if (cursor_now(c) > cursor)
			c->next.v.cursor = cursor = cursor_now(c);
	}
	put_readers(c, positions, cursor);
	put_endpoints(c);
	if (empty(&c->next.v)) {
		c->next.since = 0;
		return NULL;
	}
	spare = c->now;
	c->now = c->next;
	c->next = spare;
	c->flushing = true;
	return &c->now.v;
}

void
core_flushed(struct core *c, int64_t now)
{
	struct core_changes *ch = &c->now.v;
	struct item *it;

	assert(c->flushing);
	c->flushing = false;
	c->now.drops = 0;
	c->now.since = 0;
	if (ch->cursor >= 0)
		c->cursor = ch->cursor;
	if (c->careful_upto > 0 && c->cursor >= c->careful_upto)
		c->careful_upto = 0;
	ch->cursor = -1;
	ch->n_attempts = ch->n_dels = ch->n_puts = ch->n_deads = 0;
	ch->n_readers = ch->n_endpoints = 0;
	while ((it = list_take(&c->lock_now, struct item, in_ready)))
		if (!item_orphaned(c, it, now))
			list_add(&c->locked, &it->in_ready);
}

int64_t
core_next_due(const struct core *c, int64_t now)
{
	const struct heap_node *node = heap_first(&c->timers);
	const struct item *it = list_head(&c->live, struct item, in_origin);
	int64_t due = node ? node->due : INT64_MAX, d;

	if (c->flushing)
		return due;
	if (it && (d = it->fed_at + DELIVER_WINDOW_US) < due)
		due = d;
	if (c->next.since && (d = c->next.since + FLUSH_US) < due)
		due = d;
	if (c->locking.n > 0 || c->locked.n > 0 ||
	    c->next.v.n_attempts >= FLUSH_RESULTS)
		due = now;
	if ((d = c->cursor_at + CURSOR_US) < due && moved(c))
		due = d > now ? d : now;
	return due;
}
