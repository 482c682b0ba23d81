
#include "deliver/core/core_priv.h"
#include "deliver/core/limits.h"

/*
 * Those of one record that a subscription has in memory: RECORDS in core.h.
 * Without a version a later entry is the newer one. Two of the same version are
 * two things that one change brought: neither is newer.
 */

void
peers_join(struct core *c, struct item *it)
{
	struct peers_key key = {.rec = it->row.rec, .sub = it->spot.sub};
	struct peers *p;

	if ((it->row.rec.a == 0 && it->row.rec.b == 0) || it->spot.rep > 0 ||
	    it->row.asked || !(it->sub->o.alone || it->sub->o.coalesce))
		return;
	p = map_find(c->peers, KEY(key));
	if (!p) {
		p = mem_get(sizeof(*p));
		p->key = key;
		list_init(&p->items);
		map_set(c->peers, KEY(p->key), p);
	}
	it->peers = p;
	list_add(&p->items, &it->in_peers);
}

/* Not while it flies, but for its end. */
void
peers_leave(struct core *c, struct item *it)
{
	struct peers *p = it->peers;

	if (!p)
		return;
	it->peers = NULL;
	list_remove(&p->items, &it->in_peers);
	if (p->items.n > 0)
		return;
	(void)map_take(c->peers, KEY(p->key));
	free(p);
}

/* Another of its record is under way: its end makes this one ready. */
bool
peers_busy(const struct item *it)
{
	return it->peers && it->sub->o.alone && it->peers->flying > 0;
}

/* The others lose their turn. */
void
peers_fly(struct item *it)
{
	struct peers *p = it->peers;

	if (!p)
		return;
	p->flying++;
	list_each (struct item, x, &p->items, in_peers) {
		if (x != it && peers_busy(x))
			item_unready(x);
	}
}

void
peers_ready(struct core *c, struct peers *p)
{
	list_each (struct item, it, &p->items, in_peers)
		item_go(c, it);
}

static bool
newer(const struct item *x, const struct item *y)
{
	if (x->row.rv == CORE_NO_RV || y->row.rv == CORE_NO_RV)
		return x->spot.seq > y->spot.seq;
	return x->row.rv > y->row.rv;
}

static bool
waits(const struct item *it)
{
	return it->state == IT_WAIT || it->state == IT_RETRY;
}

/* Whoever is not wanted, as far as one knows, takes nobody's place. */
static bool
outdoes(const struct item *x, const struct item *y)
{
	return x->row.unjudged == 0 && newer(x, y);
}

/* The newer one is in the log: nothing is lost with this one. */
static void
drop(struct core *c, struct item *it, int64_t now)
{
	struct core_result r = {.verdict = CORE_DROP,
	    .at = now,
	    .reason = c->o.coalesced,
	    .rv = CORE_NO_RV};

	it->row.n++;
	item_put_attempt(c, it, &r, now);
	item_settle(c, it);
}

/* Drops it when a newer one waits. */
static bool
yields(struct core *c, struct item *it, int64_t now)
{
	const struct peers *p = it->peers;

	list_each (const struct item, x, &p->items, in_peers) {
		if (waits(x) && outdoes(x, it)) {
			drop(c, it, now);
			return true;
		}
	}
	return false;
}

/* Drops the older ones; with `tried` also those that wait for a retry. */
static void
outdo(struct core *c, const struct item *it, bool tried, int64_t now)
{
	struct peers *p = it->peers;

	list_each (struct item, x, &p->items, in_peers) {
		if ((x->state == IT_WAIT || (tried && waits(x))) &&
		    outdoes(it, x))
			drop(c, x, now);
	}
}

/*
 * One was fed. A retry keeps its time: what comes behind it waits for that.
 * True: it is gone. When too many drops are to be written, all just wait.
 */
bool
peers_fed(struct core *c, struct item *it, int64_t now)
{
	if (!it->peers || !it->sub->o.coalesce || it->peers->items.n < 2 ||
	    core_drops(c) >= UNFLUSHED_MAX)
		return false;
	if (yields(c, it, now))
		return true;
	outdo(c, it, false, now);
	return false;
}

/* Its turn has come. True: a newer one shall have it. */
bool
peers_turn(struct core *c, struct item *it, int64_t now)
{
	if (!it->peers || !it->sub->o.coalesce || it->peers->items.n < 2)
		return false;
	if (yields(c, it, now))
		return true;
	outdo(c, it, true, now);
	/* One of its own lane went: that made this one ready once more. */
	item_unready(it);
	return false;
}
