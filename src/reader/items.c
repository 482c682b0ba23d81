#include "reader/items.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include "doc/caged.h"
#include "doc/limits.h"
#include "feed/feed.h"
#include "reader/items_priv.h"
#include "reader/limits.h"
#include "sql.h"

/* Known ones are asked for so many at a time. */
#define WINDOW 1000

struct planning {
	struct db *db;
	struct arena *a;
	const struct items_from *from;
	struct items_plan *p;
	struct item_feed feed;
	struct buf scratch;
	const struct item_doc *doc;
	struct map *ids, *guids, *links, *hashes; /* item_known, item_holder */
	struct map *tombs;
	struct str *tomb_list;
	size_t n_tombs, bytes;
	struct doc_articles raw; /* behind the changes that are done … */
	struct doc_article **raw_tail;
	size_t n_raw, raw_bytes; /* … so many, to be cleaned together */
};

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no memory for the articles of a feed");
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
	struct item_holder *h = NULL;
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
		rc = item_hold(
		    p->a, p->links, short_hash(k->link_hash), k, &h, e);
	if (h && h->who != k)
		h->several = true;
	h = NULL;
	if (rc == OK)
		rc = item_hold(
		    p->a, p->hashes, long_hash(k->content_hash), k, &h, e);
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
		rc = sql_item_known_guid(
		    p->db, &rows, e, .feed = feed, .guid = c->guid);
		rc = take_rows(p, rc, rows, e);
		/* It is that one: nobody asks for the rest. */
		if (rc < 0 || map_find(p->guids, c->guid))
			return rc;
	}
	if (c->link.p) {
		rows = NULL;
		rc = sql_item_known_link(p->db, &rows, e, .feed = feed,
		    .link = short_hash(c->link_hash));
		rc = take_rows(p, rc, rows, e);
	}
	if (rc == OK && item_tells(c)) {
		rows = NULL;
		rc = sql_item_known_hash(p->db, &rows, e, .feed = feed,
		    .hash = long_hash(c->content_hash));
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
		if (what == 2 && item_tells(c))
			keys[k++] = long_hash(c->content_hash);
	}
	if (k == 0)
		return OK;
	if (what == 0)
		rc = sql_item_known_guids(
		    p->db, &rows, e, .feed = feed, .guids = keys, .n_each = k);
	else if (what == 1)
		rc = sql_item_known_links(
		    p->db, &rows, e, .feed = feed, .links = keys, .n_each = k);
	else
		rc = sql_item_known_hashes(
		    p->db, &rows, e, .feed = feed, .hashes = keys, .n_each = k);
	return take_rows(p, rc, rows, e);
}

static int
look(struct planning *p, struct item_cand **v, size_t n, struct err *e)
{
	struct str *keys;
	int rc = OK;

	for (size_t i = 0; i < n; i++) {
		v[i]->known = NULL; /* of the plan before */
		item_content_hash(v[i], &p->scratch);
	}
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
free_for(const struct planning *p, const struct item_holder *h)
{
	const struct item_known *k = h && !h->several ? h->who : NULL;

	return k && !k->taken && !(k->guid.p && item_doc_has(p->doc, k->guid));
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
	const struct item_holder *h;

	if (c->known || !c->link.p || c->link_shared)
		return;
	h = map_find(p->links, short_hash(c->link_hash));
	if (free_for(p, h))
		match(c, h->who);
}

static void
by_hash(struct planning *p, struct item_cand *c)
{
	const struct item_holder *h;

	if (c->known || !item_tells(c))
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
	int rc = sql_item_tombs(p->db, &rows, e, .feed = p->from->feed,
	    .most = FEED_TOMBSTONES_MAX);
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
	for (size_t i = 0; i < p->doc->n; i++)
		if (p->doc->cands[i].it) {
			struct str *t = tomb_of(p, &p->doc->cands[i]);

			if (t)
				t->n = 0; /* shown */
		}
	for (size_t i = 0; i < p->n_tombs; i++)
		if (p->tomb_list[i].n > 0)
			p->p->gone[p->p->n_gone++] = p->tomb_list[i];
	return OK;
}

/* The plan ------------------------------------------------------------------------ */

/* Is there anything to do about it? *state is its hash then. */
static int
is_news(struct planning *p, struct item_cand *c,
    unsigned char state[DIGEST_LEN], bool *ret, struct err *e)
{
	*ret = false;
	if (!c->known && tomb_of(p, c))
		return OK;
	item_state_hash(c, p->from->tags, &p->scratch, state);
	if (c->known && memcmp(state, c->known->state_hash, DIGEST_LEN) == 0)
		return OK;
	*ret = true;
	return p->scratch.failed
		   ? err_set(e, ERR_LIMIT, "an article is too large")
		   : OK;
}

static int
plan_one(struct planning *p, struct item_cand *c, struct err *e)
{
	struct items_plan *to = p->p;
	struct item_change *ch = &to->changes[to->n_changes + p->n_raw];
	unsigned char state[DIGEST_LEN];
	struct doc_article *raw;
	bool news = false;
	int rc = is_news(p, c, state, &news, e);

	if (rc == OK && !news)
		to->same++;
	if (rc < 0 || !news)
		return rc;
	raw = arena_alloc(p->a, sizeof(*raw));
	if (!raw)
		return no_memory(e);
	rc = item_make(p->a, p->from, c, ch, e);
	if (rc < 0)
		return rc;
	memcpy(ch->state_hash, state, DIGEST_LEN);
	item_raw(ch, c->it, raw);
	*p->raw_tail = raw;
	p->raw_tail = &raw->next;
	p->n_raw++;
	p->raw_bytes += raw->summary.n + raw->content.n;
	return OK;
}

static int
take_clean(struct planning *p, const struct doc_clean *clean, struct err *e)
{
	struct items_plan *to = p->p;
	struct item_change *ch = &to->changes[to->n_changes];
	struct entry *en = &to->entries[to->n_changes];
	int rc;

	item_cleaned(ch, clean);
	rc = item_event(p->a, p->from, &p->feed, ch, en, e);
	if (rc < 0)
		return rc;
	p->bytes += ch->summary.n + ch->content.n + ch->link.n + ch->terms.n +
		    en->body.n;
	to->n_entries = ++to->n_changes;
	if (ch->id == 0)
		to->inserted++;
	else
		to->updated++;
	return OK;
}

/* Those that were collected, cleaned together. */
static int
clean_raw(struct planning *p, struct err *e)
{
	struct caged_how how = {p->from->tags, db_engine(p->db)};
	struct doc_cleaned done = {.first = NULL};
	int rc = OK;

	if (p->n_raw > 0)
		rc = caged_clean(p->from->caged, p->a, &how, &p->raw, &done, e);
	for (const struct doc_clean *c = done.first; rc == OK && c; c = c->next)
		rc = take_clean(p, c, e);
	p->raw.first = NULL;
	p->raw_tail = &p->raw.first;
	p->n_raw = p->raw_bytes = 0;
	return rc;
}

static bool
is_full(const struct planning *p)
{
	return p->p->n_changes + p->n_raw == ITEMS_PLAN_MAX ||
	       p->bytes >= ITEMS_PLAN_BYTES;
}

static int
plan_parts(struct planning *p, struct err *e)
{
	struct items_plan *to = p->p;
	size_t at = p->from->done, looked = at;
	int rc = OK;

	for (; rc == OK && at < p->doc->n_order && !is_full(p); at++) {
		if (at == looked) {
			size_t n = p->doc->n_order - at;

			n = n < WINDOW ? n : WINDOW;
			rc = look(p, p->doc->order + at, n, e);
			if (rc < 0)
				break;
			find_known(p, p->doc->order + at, n);
			looked += n;
		}
		rc = plan_one(p, p->doc->order[at], e);
		if (rc == OK && (p->n_raw == DOC_ARTICLES_MAX ||
				    p->raw_bytes >= DOC_ARTICLES_BYTES))
			rc = clean_raw(p, e);
	}
	if (rc == OK)
		rc = clean_raw(p, e);
	to->done = at;
	to->more = at < p->doc->n_order;
	if (rc == OK && !to->more)
		rc = find_gone(p, e);
	return rc;
}

static int
read_feed(struct planning *p, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_item_feed(p->db, &rows, e, .feed = p->from->feed);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc == 0)
		rc = err_set(e, ERR_ABSENT, "there is no such feed");
	if (rc > 0) {
		p->p->version = rows_int(rows, 0);
		p->feed.title = arena_dup(p->a, rows_str(rows, 1));
		p->feed.private = rows_int(rows, 2) != 0;
		rc = p->feed.title.p ? OK : no_memory(e);
	}
	rows_close(rows);
	return rc;
}

/* Once for all plans of a document. */
static int
read_document(struct planning *p, struct err *e)
{
	struct item_doc *doc = NULL;
	int rc = OK;

	p->doc = p->from->doc;
	if (!p->doc || p->doc->parsed != p->from->parsed) {
		rc = item_doc_read(p->a, p->from->parsed, &doc, e);
		p->doc = doc;
	}
	p->p->doc = p->doc;
	return rc;
}

static int
open_maps(struct planning *p, struct err *e)
{
	struct map **all[] = {&p->ids, &p->guids, &p->links, &p->hashes};
	bool ok = true;

	/* Of each article: one by its id, two by its link, two by its hash. */
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		*all[i] = map_new(5 * p->from->parsed->n_items + 1);
		ok = ok && *all[i];
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
	struct map *all[] = {p->ids, p->guids, p->links, p->hashes, p->tombs};

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
	    .scratch = BUF(ITEM_HASH_BUF)};
	int rc = open_maps(&p, e);

	p.raw_tail = &p.raw.first;
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
