#include "reader/items.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/str.h"
#include "feed/feed.h"
#include "reader/items_priv.h"
#include "sql.h"

/* Known ones are asked for so many at a time. */
#define WINDOW   1000
#define HASH_BUF (2 * FEED_TEXT_MAX)

/* Who has a link or hash; `several`: it names none of them. */
struct holder {
	void *who; /* struct item_cand or item_known */
	bool several;
};

struct planning {
	struct db *db;
	struct arena *a;
	const struct items_from *from;
	struct items_plan *p;
	struct str feed_title;
	struct buf scratch;
	struct item_cand *cands; /* in the order of the document */
	size_t n;
	struct item_cand **order; /* oldest first, without duplicates */
	size_t n_order;
	struct map *doc_guids, *doc_links,
	    *doc_hashes; /* item_cand, holder, holder */
	struct map *ids, *guids, *links, *hashes; /* item_known, holder */
	struct map *tombs;
	struct str *tomb_list;
	size_t n_tombs, bytes;
};

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory for the articles of a feed");
}

static struct str
short_hash(const unsigned char *h)
{
	return (struct str){(const char *)h, DIGEST_SHORT_LEN};
}

static struct str
long_hash(const unsigned char *h)
{
	return (struct str){(const char *)h, DIGEST_LEN};
}

/* The document ---------------------------------------------------------------- */

static int
fill_cand(struct planning *p, struct item_cand *c, const struct feed_item *it,
    struct err *e)
{
	c->it = it;
	c->date = it->published_us != FEED_NO_DATE ? it->published_us
						   : it->updated_us;
	if (it->link.n > 0) {
		c->link = it->link;
		digest_short(it->link, c->link_hash);
	}
	return item_guid(p->a, it->id, &c->guid, e);
}

/* Whether its hash says anything: titles alone are often the same. */
static bool
tells(const struct item_cand *c)
{
	bool alone = !c->guid.p && !c->link.p;

	return alone || (c->date != FEED_NO_DATE &&
			    (c->it->title.n > 0 || c->it->summary.n > 0));
}

static int
hold(struct planning *p, struct map *m, struct str key, void *who,
    struct holder **ret, struct err *e)
{
	struct holder *h = map_find(m, key);

	if (!h) {
		h = arena_alloc(p->a, sizeof(*h));
		key = arena_dup(p->a, key); /* merge() may overwrite it */
		if (!h || !key.p)
			return no_memory(e);
		h->who = who;
		if (map_put(m, key, h, NULL, e) < 0)
			return e->code;
	}
	*ret = h;
	return OK;
}

/* Another of the document that is the same article, or NULL. */
static struct item_cand *
twin(struct planning *p, struct item_cand *c)
{
	struct holder *l =
	    c->link.p ? map_find(p->doc_links, short_hash(c->link_hash)) : NULL;
	struct item_cand *other = l ? l->who : NULL;

	if (c->guid.p) {
		struct item_cand *same = map_find(p->doc_guids, c->guid);

		return same ? same : other && !other->guid.p ? other : NULL;
	}
	if (other && !l->several)
		return other;
	if (!tells(c))
		return NULL;
	item_content_hash(c, &p->scratch);
	l = map_find(p->doc_hashes, long_hash(c->content_hash));
	return l ? l->who : NULL;
}

static int
enter(struct planning *p, struct item_cand *c, struct item_cand *as,
    struct err *e)
{
	struct holder *h = NULL;
	int rc = OK;

	if (c->guid.p)
		rc = map_put(p->doc_guids, c->guid, as, NULL, e);
	if (rc == OK && c->link.p)
		rc = hold(p, p->doc_links, short_hash(c->link_hash), as, &h, e);
	/* Two ids with one link: it is nobody's. */
	if (h && h->who != as)
		h->several = true;
	if (rc == OK && c->hashed && !c->guid.p)
		rc = hold(
		    p, p->doc_hashes, long_hash(c->content_hash), as, &h, e);
	return rc;
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

/*
 * The whole document each time, whatever part of it this plan is about: what is
 * the same article is decided by all of it.
 */
static int
read_document(struct planning *p, struct err *e)
{
	const struct feed_item *it = p->from->parsed->items;
	struct item_cand *c, *as;
	int rc = OK;

	p->cands = arena_array(p->a, p->n + 1, sizeof(*p->cands));
	p->order = arena_array(p->a, p->n + 1, sizeof(struct item_cand *));
	if (!p->cands || !p->order)
		return no_memory(e);
	for (size_t i = 0; rc == OK && it && i < p->n; i++, it = it->next) {
		c = &p->cands[i];
		c->pos = i;
		rc = fill_cand(p, c, it, e);
		if (rc < 0)
			break;
		as = twin(p, c);
		rc = enter(p, c, as ? as : c, e);
		if (as)
			merge(as, c);
	}
	for (size_t i = 0; rc == OK && i < p->n; i++)
		if (!p->cands[i].dup && p->cands[i].it)
			p->order[p->n_order++] = &p->cands[i];
	qsort(p->order, p->n_order, sizeof(struct item_cand *), oldest_first);
	return rc;
}

/* What the store has ----------------------------------------------------------- */

static struct item_known *
known_of(struct planning *p, const struct sql_item_known_guid_row *r)
{
	struct item_known *k = arena_alloc(p->a, sizeof(*k));

	if (!k || r->uid.n != sizeof(k->uid.b) ||
	    r->content_hash.n != DIGEST_LEN || r->state_hash.n != DIGEST_LEN)
		return NULL;
	k->id = r->id;
	memcpy(k->uid.b, r->uid.p, sizeof(k->uid.b));
	memcpy(k->content_hash, r->content_hash.p, DIGEST_LEN);
	memcpy(k->state_hash, r->state_hash.p, DIGEST_LEN);
	k->published_us = r->published_at;
	k->estimated = r->is_date_estimated != 0;
	k->has_link = r->link_hash.n == DIGEST_SHORT_LEN;
	if (k->has_link)
		memcpy(k->link_hash, r->link_hash.p, DIGEST_SHORT_LEN);
	if (r->guid.p) {
		k->guid = arena_dup(p->a, r->guid);
		if (!k->guid.p)
			return NULL;
	}
	return k;
}

static int
take_known(
    struct planning *p, const struct sql_item_known_guid_row *r, struct err *e)
{
	struct str id = {(const char *)&r->id, sizeof(r->id)};
	struct holder *h = NULL;
	struct item_known *k;
	int rc;

	if (map_find(p->ids, id))
		return OK;
	k = known_of(p, r);
	if (!k)
		return no_memory(e);
	id.p = (const char *)&k->id;
	rc = map_put(p->ids, id, k, NULL, e);
	if (rc == OK && k->guid.p)
		rc = map_put(p->guids, k->guid, k, NULL, e);
	if (rc == OK && k->has_link)
		rc = hold(p, p->links, short_hash(k->link_hash), k, &h, e);
	if (h && h->who != k)
		h->several = true;
	h = NULL;
	if (rc == OK)
		rc = hold(p, p->hashes, long_hash(k->content_hash), k, &h, e);
	if (h && h->who != k)
		h->several = true;
	return rc;
}

/* The three look-ups answer the same columns. */
static int
take_rows(struct planning *p, int rc, struct rows *rows, struct err *e)
{
	struct sql_item_known_guid_row row;

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_item_known_guid_get(rows, &row);
		rc = take_known(p, &row, e);
	}
	rows_close(rows);
	return rc;
}

static int
look_one(struct planning *p, const struct item_cand *c, struct err *e)
{
	int64_t feed = p->from->feed;
	struct rows *rows = NULL;
	int rc = OK;

	if (c->guid.p) {
		rc = sql_item_known_guid(p->db, feed, c->guid, &rows, e);
		rc = take_rows(p, rc, rows, e);
		/* It is that one: nobody asks for the rest. */
		if (rc < 0 || map_find(p->guids, c->guid))
			return rc;
	}
	if (c->link.p) {
		rows = NULL;
		rc = sql_item_known_link(
		    p->db, feed, short_hash(c->link_hash), &rows, e);
		rc = take_rows(p, rc, rows, e);
	}
	if (rc == OK && tells(c)) {
		rows = NULL;
		rc = sql_item_known_hash(
		    p->db, feed, long_hash(c->content_hash), &rows, e);
		rc = take_rows(p, rc, rows, e);
	}
	return rc;
}

/* In one transaction: the locks of a thousand small ones cost more than all
 * that they read. */
static int
look_each(struct planning *p, struct item_cand **v, size_t n, struct err *e)
{
	int rc = db_begin(p->db, e);

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = look_one(p, v[i], e);
	if (rc == OK)
		return db_commit(p->db, e);
	db_rollback(p->db);
	return rc;
}

/* Asks for all of a window that has `what`, in one statement. */
static int
look_by(struct planning *p, struct item_cand **v, size_t n, int what,
    struct str *keys, struct err *e)
{
	int64_t feed = p->from->feed;
	struct rows *rows = NULL;
	size_t k = 0;
	int rc;

	for (size_t i = 0; i < n; i++) {
		const struct item_cand *c = v[i];

		if (what == 0 && c->guid.p)
			keys[k++] = c->guid;
		if (what > 0 && c->guid.p && map_find(p->guids, c->guid))
			continue;
		if (what == 1 && c->link.p)
			keys[k++] = short_hash(c->link_hash);
		if (what == 2 && tells(c))
			keys[k++] = long_hash(c->content_hash);
	}
	if (k == 0)
		return OK;
	if (what == 0)
		rc = sql_item_known_guids(p->db, feed, keys, k, &rows, e);
	else if (what == 1)
		rc = sql_item_known_links(p->db, feed, keys, k, &rows, e);
	else
		rc = sql_item_known_hashes(p->db, feed, keys, k, &rows, e);
	return take_rows(p, rc, rows, e);
}

static int
look(struct planning *p, struct item_cand **v, size_t n, struct err *e)
{
	struct str *keys;
	int rc = OK;

	for (size_t i = 0; i < n; i++)
		item_content_hash(v[i], &p->scratch);
	if (db_engine(p->db) != STORE_POSTGRES)
		return look_each(p, v, n, e);
	keys = arena_array(p->a, n, sizeof(*keys));
	if (!keys)
		return no_memory(e);
	for (int what = 0; rc == OK && what < 3; what++)
		rc = look_by(p, v, n, what, keys, e);
	return rc;
}

/* The three steps --------------------------------------------------------------- */

static void
match(struct item_cand *c, struct item_known *k)
{
	k->taken = true;
	c->known = k;
}

/* Free for one that has not its id: nobody in the document has that either. */
static bool
free_for(const struct planning *p, const struct holder *h)
{
	const struct item_known *k = h && !h->several ? h->who : NULL;

	return k && !k->taken &&
	       !(k->guid.p && map_find(p->doc_guids, k->guid));
}

static void
by_guid(struct planning *p, struct item_cand *c)
{
	struct item_known *k = c->guid.p ? map_find(p->guids, c->guid) : NULL;

	if (k && !k->taken)
		match(c, k);
}

static void
by_link(struct planning *p, struct item_cand *c)
{
	const struct holder *doc, *h;

	if (c->known || !c->link.p)
		return;
	doc = map_find(p->doc_links, short_hash(c->link_hash));
	h = map_find(p->links, short_hash(c->link_hash));
	if (!(doc && doc->several) && free_for(p, h))
		match(c, h->who);
}

static void
by_hash(struct planning *p, struct item_cand *c)
{
	const struct holder *h;

	if (c->known || !tells(c))
		return;
	h = map_find(p->hashes, long_hash(c->content_hash));
	if (free_for(p, h))
		match(c, h->who);
}

static void
find_known(struct planning *p, struct item_cand **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		by_guid(p, v[i]);
	for (size_t i = 0; i < n; i++)
		by_link(p, v[i]);
	for (size_t i = 0; i < n; i++)
		by_hash(p, v[i]);
}

/* What was removed -------------------------------------------------------------- */

static int
read_tombs(struct planning *p, struct err *e)
{
	struct rows *rows = NULL;
	int rc =
	    sql_item_tombs(p->db, p->from->feed, FEED_TOMBSTONES_MAX, &rows, e);
	size_t room = 0;

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		struct str s = arena_dup(p->a, rows_str(rows, 0));

		if (p->n_tombs == room) {
			size_t more = room ? 2 * room : 64;
			struct str *v =
			    arena_array(p->a, more, sizeof(struct str));

			if (v && room)
				memcpy(
				    v, p->tomb_list, room * sizeof(struct str));
			p->tomb_list = v;
			room = more;
		}
		if (!s.p || !p->tomb_list) {
			rc = no_memory(e);
			break;
		}
		p->tomb_list[p->n_tombs++] = s;
	}
	rows_close(rows);
	if (rc < 0 || p->n_tombs == 0)
		return rc;
	p->tombs = map_new(p->n_tombs);
	for (size_t i = 0; rc == OK && p->tombs && i < p->n_tombs; i++)
		rc = map_put(
		    p->tombs, p->tomb_list[i], &p->tomb_list[i], NULL, e);
	return p->tombs ? rc : no_memory(e);
}

static struct str *
tomb_of(struct planning *p, struct item_cand *c)
{
	unsigned char id[DIGEST_LEN];

	if (!p->tombs)
		return NULL;
	item_content_hash(c, &p->scratch);
	item_identity(c->guid, c->link, c->content_hash, id);
	return map_find(p->tombs, long_hash(id));
}

/* At the end of the document: those that nobody shows any more. */
static int
find_gone(struct planning *p, struct err *e)
{
	if (p->n_tombs == 0)
		return OK;
	p->p->gone = arena_array(p->a, p->n_tombs, sizeof(struct str));
	if (!p->p->gone)
		return no_memory(e);
	for (size_t i = 0; i < p->n; i++)
		if (p->cands[i].it) {
			struct str *t = tomb_of(p, &p->cands[i]);

			if (t)
				t->n = 0; /* shown */
		}
	for (size_t i = 0; i < p->n_tombs; i++)
		if (p->tomb_list[i].n > 0)
			p->p->gone[p->p->n_gone++] = p->tomb_list[i];
	return OK;
}

/* The plan ------------------------------------------------------------------------ */

static int
plan_one(struct planning *p, struct item_cand *c, struct err *e)
{
	struct items_plan *to = p->p;
	struct item_change *ch = &to->changes[to->n_changes];
	unsigned char state[DIGEST_LEN];
	int rc;

	if (!c->known && tomb_of(p, c)) {
		to->same++;
		return OK;
	}
	item_state_hash(c, p->from->tags, &p->scratch, state);
	if (c->known && memcmp(state, c->known->state_hash, DIGEST_LEN) == 0) {
		to->same++;
		return OK;
	}
	if (p->scratch.failed)
		return err_set(e, ERR_LIMIT, "an article is too large");
	rc = item_make(p->a, db_engine(p->db), p->from, c, ch, e);
	if (rc == OK)
		memcpy(ch->state_hash, state, DIGEST_LEN);
	if (rc == OK)
		rc = item_event(p->a, p->from, p->feed_title, ch,
		    &to->entries[to->n_changes], e);
	if (rc < 0)
		return rc;
	p->bytes += ch->summary.n + ch->content.n + ch->link.n + ch->terms.n +
		    to->entries[to->n_changes].body.n;
	to->n_entries = ++to->n_changes;
	if (ch->id == 0)
		to->inserted++;
	else
		to->updated++;
	return OK;
}

static int
plan_parts(struct planning *p, struct err *e)
{
	struct items_plan *to = p->p;
	size_t at = p->from->done, looked = at;
	int rc = OK;

	for (; rc == OK && at < p->n_order; at++) {
		if (to->n_changes == ITEMS_PLAN_MAX ||
		    p->bytes >= ITEMS_PLAN_BYTES) {
			to->more = true;
			break;
		}
		if (at == looked) {
			size_t n = p->n_order - at;

			n = n < WINDOW ? n : WINDOW;
			rc = look(p, p->order + at, n, e);
			if (rc < 0)
				break;
			find_known(p, p->order + at, n);
			looked += n;
		}
		rc = plan_one(p, p->order[at], e);
	}
	to->done = at;
	if (rc == OK && !to->more)
		rc = find_gone(p, e);
	return rc;
}

static int
read_feed(struct planning *p, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_item_feed(p->db, p->from->feed, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc == 0)
		rc = err_set(e, ERR_ABSENT, "there is no such feed");
	if (rc > 0) {
		p->p->version = rows_int(rows, 0);
		p->feed_title = arena_dup(p->a, rows_str(rows, 1));
		rc = p->feed_title.p ? OK : no_memory(e);
	}
	rows_close(rows);
	return rc;
}

static int
open_maps(struct planning *p, struct err *e)
{
	struct map **doc[] = {&p->doc_guids, &p->doc_links, &p->doc_hashes},
		   **known[] = {&p->ids, &p->guids, &p->links, &p->hashes};
	bool ok = true;

	for (size_t i = 0; i < COUNT_OF(doc); i++) {
		*doc[i] = map_new(p->n + 1);
		ok = ok && *doc[i];
	}
	/* Of each article: one by its id, two by its link, two by its hash. */
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		*known[i] = map_new(5 * p->n + 1);
		ok = ok && *known[i];
	}
	p->p->changes =
	    arena_array(p->a, ITEMS_PLAN_MAX, sizeof(*p->p->changes));
	p->p->entries =
	    arena_array(p->a, ITEMS_PLAN_MAX, sizeof(*p->p->entries));
	return ok && p->p->changes && p->p->entries ? OK : no_memory(e);
}

static void
close_maps(struct planning *p)
{
	struct map *all[] = {p->doc_guids, p->doc_links, p->doc_hashes, p->ids,
	    p->guids, p->links, p->hashes, p->tombs};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		if (all[i])
			map_free(all[i]);
}

int
items_plan(struct db *db, struct arena *a, const struct items_from *from,
    struct items_plan *ret, struct err *e)
{
	struct items_plan plan = {.feed = from->feed, .now_us = from->now_us};
	struct planning p = {.db = db,
	    .a = a,
	    .from = from,
	    .p = &plan,
	    .scratch = BUF(HASH_BUF),
	    .n = from->parsed->n_items};
	int rc = open_maps(&p, e);

	/* The version first: what changes behind it is seen at the write. */
	if (rc == OK)
		rc = read_feed(&p, e);
	if (rc == OK)
		rc = read_tombs(&p, e);
	if (rc == OK)
		rc = read_document(&p, e);
	if (rc == OK)
		rc = plan_parts(&p, e);
	if (rc == OK && db_engine(db) == STORE_POSTGRES)
		rc = item_columns(a, &plan, e);
	close_maps(&p);
	buf_done(&p.scratch);
	if (rc == OK)
		*ret = plan;
	return rc;
}
