/* items.h: a plan, on the commit thread. */
#include "base/arena.h"
#include "base/str.h"
#include "reader/items_priv.h"
#include "sql.h"

static struct str
bytes(const unsigned char *p, size_t n)
{
	return (struct str){(const char *)p, n};
}

static struct str
link_bytes(const struct item_change *ch, const unsigned char *p)
{
	return ch->link.p ? bytes(p, DIGEST_SHORT_LEN)
			  : (struct str){.p = NULL};
}

/* PostgreSQL: a column each -------------------------------------------------- */

static bool
columns_new(struct arena *a, struct item_columns *c, size_t n)
{
	int64_t **ints[] = {&c->ids, &c->published, &c->estimated};
	struct str **strs[] = {&c->uids, &c->content_hashes, &c->state_hashes,
	    &c->link_hashes, &c->sames, &c->guids, &c->links, &c->titles,
	    &c->authors, &c->categories, &c->enclosures, &c->summaries,
	    &c->contents, &c->terms};
	bool ok = true;

	for (size_t i = 0; i < COUNT_OF(ints); i++) {
		*ints[i] = arena_array(a, n, sizeof(**ints[i]));
		ok = ok && *ints[i];
	}
	for (size_t i = 0; i < COUNT_OF(strs); i++) {
		*strs[i] = arena_array(a, n, sizeof(**strs[i]));
		ok = ok && *strs[i];
	}
	return ok;
}

static void
put_column(struct item_columns *c, size_t i, const struct item_change *ch)
{
	c->ids[i] = ch->id;
	c->published[i] = ch->published_us;
	c->estimated[i] = ch->estimated;
	c->uids[i] = uuid_str(&ch->uid);
	c->content_hashes[i] = bytes(ch->content_hash, DIGEST_LEN);
	c->state_hashes[i] = bytes(ch->state_hash, DIGEST_LEN);
	c->link_hashes[i] = link_bytes(ch, ch->link_hash);
	c->sames[i] = link_bytes(ch, ch->same_as);
	c->guids[i] = ch->guid;
	c->links[i] = ch->link;
	c->titles[i] = ch->title;
	c->authors[i] = ch->author;
	c->categories[i] = ch->categories;
	c->enclosures[i] = ch->enclosures;
	c->summaries[i] = ch->summary;
	c->contents[i] = ch->content;
	c->terms[i] = ch->terms;
}

int
item_columns(struct arena *a, struct items_plan *p, struct err *e)
{
	struct item_columns *c = arena_alloc(a, sizeof(*c));
	size_t i = 0;

	if (!c || (p->n_changes > 0 && !columns_new(a, c, p->n_changes)))
		return err_set(e, ERR_NOMEM, "no memory for articles");
	c->n_new = p->inserted;
	c->n_old = p->updated;
	for (size_t k = 0; k < p->n_changes; k++)
		if (p->changes[k].id == 0)
			put_column(c, i++, &p->changes[k]);
	for (size_t k = 0; k < p->n_changes; k++)
		if (p->changes[k].id > 0)
			put_column(c, i++, &p->changes[k]);
	p->columns = c;
	return OK;
}

static int
write_many(struct db *db, const struct items_plan *p, struct err *e)
{
	const struct item_columns *c = p->columns;
	size_t o = c->n_new;

	if (c->n_new > 0 &&
	    sql_item_insert_many(db, e, .feed = p->feed, .now = p->now_us,
		.uids = c->uids, .published = c->published,
		.estimated = c->estimated, .content_hashes = c->content_hashes,
		.state_hashes = c->state_hashes, .link_hashes = c->link_hashes,
		.sames = c->sames, .guids = c->guids, .links = c->links,
		.titles = c->titles, .authors = c->authors,
		.categoriess = c->categories, .enclosuress = c->enclosures,
		.summaries = c->summaries, .contents = c->contents,
		.n_each = c->n_new) < 0)
		return e->code;
	if (c->n_old > 0 &&
	    sql_item_update_many(db, e, .now = p->now_us, .ids = c->ids + o,
		.published = c->published + o, .estimated = c->estimated + o,
		.content_hashes = c->content_hashes + o,
		.state_hashes = c->state_hashes + o,
		.link_hashes = c->link_hashes + o, .sames = c->sames + o,
		.guids = c->guids + o, .links = c->links + o,
		.titles = c->titles + o, .authors = c->authors + o,
		.categoriess = c->categories + o,
		.enclosuress = c->enclosures + o, .summaries = c->summaries + o,
		.contents = c->contents + o, .n_each = c->n_old) < 0)
		return e->code;
	if (p->n_changes > 0 &&
	    sql_item_terms_put_many(db, e, .uids = c->uids, .terms = c->terms,
		.n_each = p->n_changes) < 0)
		return e->code;
	if (p->n_gone > 0 &&
	    sql_item_tomb_del_many(db, e, .feed = p->feed,
		.identities = p->gone, .n_each = p->n_gone) < 0)
		return e->code;
	return OK;
}

/* SQLite: a row each --------------------------------------------------------- */

static int
write_one(struct db *db, const struct items_plan *p,
    const struct item_change *ch, struct err *e)
{
	struct str content_hash = bytes(ch->content_hash, DIGEST_LEN),
		   state_hash = bytes(ch->state_hash, DIGEST_LEN),
		   link_hash = link_bytes(ch, ch->link_hash),
		   same_as = link_bytes(ch, ch->same_as);
	int64_t n;

	if (ch->id == 0)
		n = sql_item_insert(db, e, .uid = uuid_str(&ch->uid),
		    .feed = p->feed, .published_at = ch->published_us,
		    .estimated = ch->estimated, .now = p->now_us,
		    .content_hash = content_hash, .state_hash = state_hash,
		    .link_hash = link_hash, .same_as = same_as,
		    .guid = ch->guid, .link = ch->link, .title = ch->title,
		    .author = ch->author, .categories = ch->categories,
		    .enclosures = ch->enclosures, .summary = ch->summary,
		    .content = ch->content);
	else
		n = sql_item_update(db, e, .id = ch->id,
		    .published_at = ch->published_us,
		    .estimated = ch->estimated, .now = p->now_us,
		    .content_hash = content_hash, .state_hash = state_hash,
		    .link_hash = link_hash, .same_as = same_as,
		    .guid = ch->guid, .link = ch->link, .title = ch->title,
		    .author = ch->author, .categories = ch->categories,
		    .enclosures = ch->enclosures, .summary = ch->summary,
		    .content = ch->content);
	if (n >= 0 && ch->id == 0)
		n = sql_item_terms_add(db, e, .terms = ch->terms);
	else if (n >= 0)
		n = sql_item_terms_put(db, e, .id = ch->id, .terms = ch->terms);
	return n < 0 ? (int)e->code : OK;
}

static int
write_each(struct db *db, const struct items_plan *p, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < p->n_changes; i++)
		rc = write_one(db, p, &p->changes[i], e);
	for (size_t i = 0; rc == OK && i < p->n_gone; i++)
		if (sql_item_tomb_del(
			db, e, .feed = p->feed, .identity = p->gone[i]) < 0)
			rc = e->code;
	return rc;
}

int
items_write(struct db *db, const struct items_plan *p, struct err *e)
{
	int64_t n;

	if (p->n_changes == 0 && p->n_gone == 0)
		return OK;
	n = sql_item_version(db, e, .feed = p->feed, .version = p->version,
	    .more = (int64_t)p->inserted, .now = p->now_us);
	if (n < 0)
		return e->code;
	if (n == 0)
		return err_set(e, ERR_CONFLICT,
		    "somebody else changed the articles of this feed");
	return db_engine(db) == STORE_POSTGRES ? write_many(db, p, e)
					       : write_each(db, p, e);
}
