/* items_priv.h: the articles of a document, and which of them are one. */

#include "feed/feed.h"
#include "reader/items_priv.h"

struct reading {
	struct arena *a;
	struct item_doc *doc;
	struct map *guids, *links, *hashes; /* item_cand, item_holder twice */
	struct buf scratch;
};

void
item_hold(struct arena *a, struct map *m, struct str key, void *who)
{
	struct item_holder *h = map_find(m, key);

	if (!h) {
		h = arena_alloc(a, sizeof(*h));
		h->who = who;
		map_set(m, arena_dup(a, key), h); /* merge() may overwrite it */
	}
	if (h->who != who)
		h->several = true;
}

static void
fill_cand(struct reading *p, struct item_cand *c, const struct feed_item *it)
{
	c->it = it;
	c->date = it->published_us != FEED_NO_DATE ? it->published_us
						   : it->updated_us;
	if (it->link.n > 0) {
		c->link = it->link;
		digest_short(it->link, c->link_hash);
	}
	c->guid = item_guid(p->a, it->id);
}

bool
item_tells(const struct item_cand *c)
{
	bool alone = !c->guid.p && !c->link.p;

	return alone || (c->date != FEED_NO_DATE &&
			    (c->it->title.n > 0 || c->it->summary.n > 0));
}

/* Another of the document that is the same article, or NULL. */
static struct item_cand *
twin(struct reading *p, struct item_cand *c)
{
	struct item_holder *l =
	    c->link.p ? map_find(p->links, short_hash(c->link_hash)) : NULL;
	struct item_cand *other = l ? l->who : NULL;

	if (c->guid.p) {
		struct item_cand *same = map_find(p->guids, c->guid);

		return same ? same : other && !other->guid.p ? other : NULL;
	}
	if (other && !l->several)
		return other;
	if (!item_tells(c))
		return NULL;
	item_content_hash(c, &p->scratch);
	l = map_find(p->hashes, long_hash(c->content_hash));
	return l ? l->who : NULL;
}

/* Two ids with one link: it is nobody's. */
static void
enter(struct reading *p, struct item_cand *c, struct item_cand *as)
{
	if (c->guid.p)
		map_set(p->guids, c->guid, as);
	if (c->link.p)
		item_hold(p->a, p->links, short_hash(c->link_hash), as);
	if (c->hashed && !c->guid.p)
		item_hold(p->a, p->hashes, long_hash(c->content_hash), as);
}

static int64_t
newest(const struct item_cand *c)
{
	return c->it->updated_us > c->it->published_us ? c->it->updated_us
						       : c->it->published_us;
}

/* `as` stays in its place; what is newer is what it says. */
static void
merge(struct item_cand *as, struct item_cand *c)
{
	struct item_cand was = *as;

	c->dup = true;
	if (newest(c) > newest(as)) {
		*as = *c;
		as->pos = was.pos;
		as->dup = false;
		if (!as->link.p) {
			as->link = was.link;
			memcpy(as->link_hash, was.link_hash, DIGEST_SHORT_LEN);
		}
		if (was.guid.p)
			as->guid = was.guid;
	} else if (!as->guid.p) {
		as->guid = c->guid;
	}
}

static int
oldest_first(const void *x, const void *y)
{
	const struct item_cand *a = *(const struct item_cand *const *)x,
			       *b = *(const struct item_cand *const *)y;
	int64_t da = a->date == FEED_NO_DATE ? INT64_MAX : a->date,
		db = b->date == FEED_NO_DATE ? INT64_MAX : b->date;

	if (da != db)
		return da < db ? -1 : 1;
	/* Feeds have their newest on top. */
	return a->pos > b->pos ? -1 : a->pos < b->pos;
}

static void
read_items(struct reading *p)
{
	const struct feed_item *it = p->doc->parsed->items;
	struct item_cand *c, *as;

	for (size_t i = 0; it && i < p->doc->n; i++, it = it->next) {
		c = &p->doc->cands[i];
		c->pos = i;
		fill_cand(p, c, it);
		as = twin(p, c);
		enter(p, c, as ? as : c);
		if (as)
			merge(as, c);
	}
}

static int
by_text(const void *x, const void *y)
{
	return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

bool
item_doc_has(const struct item_doc *d, struct str guid)
{
	return bsearch(&guid, d->guids, d->n_guids, sizeof(guid), by_text);
}

/* What is asked for later, without the maps. */
static void
sort_items(struct reading *p)
{
	struct item_doc *d = p->doc;

	for (size_t i = 0; i < d->n; i++) {
		struct item_cand *c = &d->cands[i];
		const struct item_holder *l =
		    c->link.p ? map_find(p->links, short_hash(c->link_hash))
			      : NULL;

		c->link_shared = l && l->several;
		if (c->guid.p)
			d->guids[d->n_guids++] = c->guid;
		if (!c->dup && c->it)
			d->order[d->n_order++] = c;
	}
	qsort(d->order, d->n_order, sizeof(struct item_cand *), oldest_first);
	qsort(d->guids, d->n_guids, sizeof(struct str), by_text);
}

struct item_doc *
item_doc_read(struct arena *a, const struct feed *parsed)
{
	size_t n = parsed->n_items;
	struct item_doc *d = arena_alloc(a, sizeof(*d));
	struct reading p = {.a = a,
	    .doc = d,
	    .guids = map_new(n + 1),
	    .links = map_new(n + 1),
	    .hashes = map_new(n + 1),
	    .scratch = BUF(ITEM_HASH_BUF)};

	*d = (struct item_doc){.parsed = parsed,
	    .n = n,
	    .cands = arena_array(a, n + 1, sizeof(*d->cands)),
	    .order = arena_array(a, n + 1, sizeof(struct item_cand *)),
	    .guids = arena_array(a, n + 1, sizeof(*d->guids))};
	read_items(&p);
	sort_items(&p);
	map_free(p.guids);
	map_free(p.links);
	map_free(p.hashes);
	buf_done(&p.scratch);
	return d;
}
