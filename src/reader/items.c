#include "reader/items.h"

#include "doc/caged.h"
#include "doc/limits.h"
#include "feed/feed.h"
#include "reader/changes.h"
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
	struct item_change *changes;
	struct sql_item_feed_row feed;
	struct buf scratch;
	const struct item_doc *doc;
	struct map *ids, *guids, *links, *hashes; /* item_known, item_holder */
	struct map *tombs;
	struct str *tomb_list;
	size_t n_tombs, room_tombs, bytes;
	struct doc_articles raw; /* behind the changes that are done … */
	struct doc_article **raw_tail;
	size_t n_raw, raw_bytes; /* … so many, to be cleaned together */
};

/* What the store has ----------------------------------------------------------- */

static void
take_known(struct planning *p, const struct sql_item_known_guids_row *r)
{
	struct str id = {(const char *)&r->id, sizeof(r->id)};
	struct item_known *k;

	if (map_find(p->ids, id))
		return;
	k = arena_alloc(p->a, sizeof(*k));
	k->row = *r;
	k->row.uid = arena_dup(p->a, r->uid);
	k->row.content_hash = arena_dup(p->a, r->content_hash);
	k->row.state_hash = arena_dup(p->a, r->state_hash);
	map_set(p->ids, (struct str){(const char *)&k->row.id, id.n}, k);
	if (r->guid.p) {
		k->row.guid = arena_dup(p->a, r->guid);
		map_set(p->guids, k->row.guid, k);
	}
	if (r->link_hash.p)
		item_hold(p->a, p->links, r->link_hash, k);
	item_hold(p->a, p->hashes, r->content_hash, k);
}

/* By what an article is looked for, one after the other: who was found by one
 * is not asked for by the next. */
enum key { BY_GUID, BY_LINK, BY_HASH };

static bool
add_key(const struct planning *p, const struct item_cand *c, enum key by,
    struct buf *keys)
{
	bool found = c->guid.p && map_find(p->guids, c->guid);

	if (by == BY_GUID && c->guid.p) {
		buf_addc(keys, keys->n > 0 ? ',' : '[');
		buf_json(keys, c->guid);
	} else if (by == BY_LINK && !found && c->link.p) {
		buf_add(keys, short_hash(c->link_hash));
	} else if (by == BY_HASH && !found && item_tells(c)) {
		buf_add(keys, long_hash(c->content_hash));
	}
	return !keys->failed;
}

/* Asks for all of a window that has such a key, in one statement. */
static int
look_by(struct planning *p, struct item_cand **v, size_t n, enum key by,
    struct err *e)
{
	int64_t feed = p->from->feed;
	/* An id in JSON is at most six times as long. */
	struct buf keys CLEANUP(buf_done) =
	    BUF(WINDOW * (6 * ITEM_GUID_MAX + 4));
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_item_known_guids_row row;

	for (size_t i = 0; i < n && add_key(p, v[i], by, &keys);)
		i++;
	if (by == BY_GUID && keys.n > 0)
		buf_addc(&keys, ']');
	if (keys.failed)
		return err_set(
		    e, ERR_LIMIT, "the ids of articles are too long");
	if (keys.n == 0)
		return OK;
	TRY(by == BY_GUID ? sql_item_known_guids(p->db, &rows, e, .feed = feed,
				.keys = buf_str(&keys))
	    : by == BY_LINK ? sql_item_known_links(p->db, &rows, e,
				  .feed = feed, .keys = buf_str(&keys))
			    : sql_item_known_hashes(p->db, &rows, e,
				  .feed = feed, .keys = buf_str(&keys)));
	while (TRY(sql_item_known_guids_next(rows, &row, e)))
		take_known(p, &row);
	return OK;
}

static int
items_look(struct planning *p, struct item_cand **v, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		v[i]->known = NULL; /* of the plan before */
		item_content_hash(v[i], &p->scratch);
	}
	for (enum key by = BY_GUID; by <= BY_HASH; by++)
		TRY(look_by(p, v, n, by, e));
	return OK;
}

/* The three steps --------------------------------------------------------------- */

/* Free for one that has not its id: nobody in the document has that either. */
static struct item_known *
free_one(const struct planning *p, const struct item_holder *h)
{
	struct item_known *k = h && !h->several ? h->who : NULL;

	return k && !(k->row.guid.p && item_doc_has(p->doc, k->row.guid))
		   ? k
		   : NULL;
}

static struct item_known *
known_by(const struct planning *p, const struct item_cand *c, enum key by)
{
	if (by == BY_GUID)
		return c->guid.p ? map_find(p->guids, c->guid) : NULL;
	if (by == BY_LINK && c->link.p && !c->link_shared)
		return free_one(
		    p, map_find(p->links, short_hash(c->link_hash)));
	if (by == BY_HASH && item_tells(c))
		return free_one(
		    p, map_find(p->hashes, long_hash(c->content_hash)));
	return NULL;
}

static void
find_known(struct planning *p, struct item_cand **v, size_t n)
{
	for (enum key by = BY_GUID; by <= BY_HASH; by++)
		for (size_t i = 0; i < n; i++) {
			struct item_known *k =
			    v[i]->known ? NULL : known_by(p, v[i], by);

			if (k && !k->taken) {
				k->taken = true;
				v[i]->known = k;
			}
		}
}

/* What was removed -------------------------------------------------------------- */

static int
read_tombs(struct planning *p, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_item_tombs_row row;

	TRY(sql_item_tombs(p->db, &rows, e, .feed = p->from->feed,
	    .most = FEED_TOMBSTONES_MAX));
	while (TRY(sql_item_tombs_next(rows, &row, e))) {
		p->tomb_list = mem_more(p->tomb_list, &p->room_tombs,
		    p->n_tombs, sizeof(struct str));
		p->tomb_list[p->n_tombs++] = arena_dup(p->a, row.identity);
	}
	if (p->n_tombs == 0)
		return OK;
	p->tombs = map_new(p->n_tombs);
	for (size_t i = 0; i < p->n_tombs; i++)
		map_set(p->tombs, p->tomb_list[i], &p->tomb_list[i]);
	return OK;
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
static void
find_gone(struct planning *p)
{
	struct items_plan *to = p->p;

	for (size_t i = 0; p->n_tombs > 0 && i < p->doc->n; i++)
		if (p->doc->cands[i].it) {
			struct str *t = tomb_of(p, &p->doc->cands[i]);

			if (t)
				t->n = 0; /* shown */
		}
	to->gone = arena_array(p->a, p->n_tombs + 1, sizeof(*to->gone));
	for (size_t i = 0; i < p->n_tombs; i++)
		if (p->tomb_list[i].n > 0)
			to->gone[to->n_gone++] =
			    (struct sql_item_tomb_del_args){
				.feed = to->feed, .identity = p->tomb_list[i]};
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
	if (c->known && str_eq(long_hash(state), c->known->row.state_hash))
		return OK;
	*ret = true;
	return p->scratch.failed
		   ? err_set(e, ERR_LIMIT, "an article is too large")
		   : OK;
}

static int
plan_one(struct planning *p, struct item_cand *c, struct err *e)
{
	struct item_change *ch = &p->changes[p->p->n_changes + p->n_raw];
	struct doc_article *raw;
	bool news;

	TRY(is_news(p, c, ch->state_hash, &news, e));
	if (!news) {
		p->p->same++;
		return OK;
	}
	TRY(item_make(p->a, p->from, c, ch, e));
	raw = arena_alloc(p->a, sizeof(*raw));
	*raw = (struct doc_article){.title = ch->row.title,
	    .author = ch->row.author,
	    .summary = c->it->summary,
	    .content = c->it->content,
	    .base = c->it->base};
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
	struct item_change *ch = &p->changes[to->n_changes];
	struct entry *en = &to->entries[to->n_changes];

	ch->excerpt = clean->excerpt;
	ch->row.summary = clean->summary;
	ch->row.content = clean->content;
	ch->row.excerpt = str_chars(clean->excerpt, ITEM_EXCERPT_MAX);
	if (ch->row.excerpt.n == 0)
		ch->row.excerpt.p = NULL;
	if (ch->row.title.n == 0)
		ch->row.title = clean->title;
	TRY(item_event(p->a, p->from, &p->feed, ch, en, e));
	p->bytes += clean->summary.n + clean->content.n + ch->row.link.n +
		    clean->terms.n + en->body.n;
	to->terms[to->n_changes] = (struct sql_item_terms_put_args){
	    .uid = ch->row.uid, .terms = clean->terms};
	*(ch->known ? &to->changed[to->updated++]
		    : &to->added[to->inserted++]) = ch->row;
	to->n_changes++;
	/* Nobody waited for what was there before anybody had the feed. */
	if (!(p->from->large && p->feed.last_fetch_at_null))
		to->n_entries = to->n_changes;
	return OK;
}

/* Those that were collected, cleaned together. */
static int
clean_raw(struct planning *p, struct err *e)
{
	struct caged_how how = {p->from->tags, db_engine(p->db)};
	struct doc_cleaned done = {.first = NULL};

	if (p->n_raw > 0)
		TRY(caged_clean(p->from->caged, p->a, &how, &p->raw, &done, e));
	for (const struct doc_clean *c = done.first; c; c = c->next)
		TRY(take_clean(p, c, e));
	p->raw.first = NULL;
	p->raw_tail = &p->raw.first;
	p->n_raw = p->raw_bytes = 0;
	return OK;
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

	for (; at < p->doc->n_order && !is_full(p); at++) {
		if (at == looked) {
			size_t n = p->doc->n_order - at;

			n = n < WINDOW ? n : WINDOW;
			TRY(items_look(p, p->doc->order + at, n, e));
			find_known(p, p->doc->order + at, n);
			looked += n;
		}
		TRY(plan_one(p, p->doc->order[at], e));
		if (p->n_raw == DOC_ARTICLES_MAX ||
		    p->raw_bytes >= DOC_ARTICLES_BYTES)
			TRY(clean_raw(p, e));
	}
	TRY(clean_raw(p, e));
	to->done = at;
	to->more = at < p->doc->n_order;
	if (!to->more)
		find_gone(p);
	return OK;
}

static int
read_feed(struct planning *p, struct err *e)
{
	if (TRY(sql_item_feed_one(
		p->db, p->a, &p->feed, e, .feed = p->from->feed)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such feed");
	p->p->version = p->feed.version;
	return OK;
}

static void
begin_plan(struct planning *p)
{
	const struct items_from *from = p->from;
	/* Of each article: one by its id, two by its link, two by its hash. */
	size_t most = 5 * from->parsed->n_items + 1;
	struct items_plan *to = p->p;

	p->raw_tail = &p->raw.first;
	p->ids = map_new(most);
	p->guids = map_new(most);
	p->links = map_new(most);
	p->hashes = map_new(most);
	p->changes = arena_array(p->a, ITEMS_PLAN_MAX, sizeof(*p->changes));
	to->entries = arena_array(p->a, ITEMS_PLAN_MAX, sizeof(*to->entries));
	to->added = arena_array(p->a, ITEMS_PLAN_MAX, sizeof(*to->added));
	to->changed = arena_array(p->a, ITEMS_PLAN_MAX, sizeof(*to->changed));
	to->terms = arena_array(p->a, ITEMS_PLAN_MAX, sizeof(*to->terms));
	/* Once for all plans of a document. */
	p->doc = from->doc && from->doc->parsed == from->parsed
		     ? from->doc
		     : item_doc_read(p->a, from->parsed);
	to->doc = p->doc;
}

static void
end_plan(struct planning *p)
{
	struct map *all[] = {p->ids, p->guids, p->links, p->hashes, p->tombs};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		map_free(all[i]);
	free(p->tomb_list);
	buf_done(&p->scratch);
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
	/* The version first: what changes behind it is seen at the write. */
	int rc = read_feed(&p, e);

	if (rc == OK)
		rc = read_tombs(&p, e);
	begin_plan(&p);
	if (rc == OK)
		rc = plan_parts(&p, e);
	end_plan(&p);
	if (rc == OK)
		*ret = plan;
	return rc;
}

int
items_write(struct db *db, const struct items_plan *p, struct err *e)
{
	if (p->n_changes == 0 && p->n_gone == 0)
		return OK;
	if (TRY(sql_item_version(db, e, .feed = p->feed, .version = p->version,
		.more = (int64_t)p->inserted, .now = p->now_us)) == 0)
		return err_set(e, ERR_CONFLICT,
		    "somebody else changed the articles of this feed");
	TRY(sql_item_insert(db, p->added, p->inserted, e));
	TRY(sql_item_update(db, p->changed, p->updated, e));
	TRY(sql_item_terms_put(db, p->terms, p->n_changes, e));
	TRY(sql_item_tomb_del(db, p->gone, p->n_gone, e));
	return changes_items(db, p, e);
}
