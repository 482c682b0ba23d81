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
	    sql_item_insert_many(db, p->feed, p->now_us, c->uids, c->published,
		c->estimated, c->content_hashes, c->state_hashes,
		c->link_hashes, c->sames, c->guids, c->links, c->titles,
		c->authors, c->categories, c->enclosures, c->summaries,
		c->contents, c->n_new, e) < 0)
		return e->code;
	if (c->n_old > 0 &&
	    sql_item_update_many(db, p->now_us, c->ids + o, c->published + o,
		c->estimated + o, c->content_hashes + o, c->state_hashes + o,
		c->link_hashes + o, c->sames + o, c->guids + o, c->links + o,
		c->titles + o, c->authors + o, c->categories + o,
		c->enclosures + o, c->summaries + o, c->contents + o, c->n_old,
		e) < 0)
		return e->code;
	if (p->n_changes > 0 &&
	    sql_item_terms_put_many(db, c->uids, c->terms, p->n_changes, e) < 0)
		return e->code;
	if (p->n_gone > 0 &&
	    sql_item_tomb_del_many(db, p->feed, p->gone, p->n_gone, e) < 0)
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
		n = sql_item_insert(db, uuid_str(&ch->uid), p->feed,
		    ch->published_us, ch->estimated, p->now_us, content_hash,
		    state_hash, link_hash, same_as, ch->guid, ch->link,
		    ch->title, ch->author, ch->categories, ch->enclosures,
		    ch->summary, ch->content, e);
	else
		n = sql_item_update(db, ch->id, ch->published_us, ch->estimated,
		    p->now_us, content_hash, state_hash, link_hash, same_as,
		    ch->guid, ch->link, ch->title, ch->author, ch->categories,
		    ch->enclosures, ch->summary, ch->content, e);
	if (n >= 0 && ch->id == 0)
		n = sql_item_terms_add(db, ch->terms, e);
	else if (n >= 0)
		n = sql_item_terms_put(db, ch->id, ch->terms, e);
	return n < 0 ? (int)e->code : OK;
}

static int
write_each(struct db *db, const struct items_plan *p, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < p->n_changes; i++)
		rc = write_one(db, p, &p->changes[i], e);
	for (size_t i = 0; rc == OK && i < p->n_gone; i++)
		if (sql_item_tomb_del(db, p->feed, p->gone[i], e) < 0)
			rc = e->code;
	return rc;
}

int
items_write(struct db *db, const struct items_plan *p, struct err *e)
{
	int64_t n;

	if (p->n_changes == 0 && p->n_gone == 0)
		return OK;
	n = sql_item_version(
	    db, p->feed, p->version, (int64_t)p->inserted, p->now_us, e);
	if (n < 0)
		return e->code;
	if (n == 0)
		return err_set(e, ERR_CONFLICT,
		    "somebody else changed the articles of this feed");
	return db_engine(db) == STORE_POSTGRES ? write_many(db, p, e)
					       : write_each(db, p, e);
}
