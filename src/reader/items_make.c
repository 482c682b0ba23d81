/* items_priv.h: what an article is known by, and what becomes of it. */
#include "feed/feed.h"
#include "feed/limits.h"
#include "reader/items_priv.h"
#include "reader/limits.h"
#include "reader/same.h"
#include "reader/secret_url.h"

/* The year 1: before it time has no four digits. */
#define DATE_MIN_US INT64_C(-62135596800000000)
/* Hashes are of parts with a byte between them that no text has. */
#define SEPARATOR   '\0'

struct str
item_guid(struct arena *a, struct str id)
{
	struct buf b CLEANUP(buf_done) = BUF(128);
	unsigned char digest[DIGEST_LEN];

	if (id.n == 0)
		return (struct str){.p = NULL};
	if (id.n <= ITEM_GUID_MAX)
		return id;
	digest_sha256(id, digest);
	buf_addz(&b, "sha256:");
	buf_hex(&b, long_hash(digest));
	return arena_dup(a, buf_str(&b));
}

static void
part(struct buf *b, struct str s)
{
	buf_add(b, s);
	buf_addc(b, SEPARATOR);
}

static void
part_date(struct buf *b, int64_t date)
{
	if (date != FEED_NO_DATE)
		buf_int(b, date);
	buf_addc(b, SEPARATOR);
}

void
item_content_hash(struct item_cand *c, struct buf *b)
{
	if (c->hashed)
		return;
	buf_clear(b);
	part(b, c->it->title);
	part_date(b, c->date);
	part(b, c->it->summary);
	digest_sha256(buf_str(b), c->content_hash);
	c->hashed = true;
}

void
item_state_hash(const struct item_cand *c, enum sanitize_tags tags,
    struct buf *b, unsigned char ret[DIGEST_LEN])
{
	const struct feed_item *it = c->it;

	buf_clear(b);
	buf_int(b, (int64_t)tags);
	part(b, c->guid);
	part(b, c->link);
	part(b, it->title);
	part_date(b, c->date);
	part(b, it->author);
	part(b, it->base);
	for (const struct feed_text *t = it->categories; t; t = t->next)
		part(b, t->text);
	buf_addc(b, SEPARATOR);
	for (const struct feed_enclosure *x = it->enclosures; x; x = x->next) {
		part(b, x->url);
		part(b, x->type);
		part_date(b, x->length);
	}
	buf_addc(b, SEPARATOR);
	part(b, it->summary);
	part(b, it->content);
	digest_sha256(buf_str(b), ret);
}

void
item_identity(struct str guid, struct str link,
    const unsigned char content_hash[DIGEST_LEN], unsigned char ret[DIGEST_LEN])
{
	struct buf b CLEANUP(buf_done) = BUF(FEED_LINK_MAX + ITEM_GUID_MAX);

	part(&b, guid.p ? STR("guid") : link.p ? STR("link") : STR("hash"));
	buf_add(&b, guid.p ? guid : link.p ? link : long_hash(content_hash));
	digest_sha256(buf_str(&b), ret);
}

int64_t
item_date(int64_t date, const struct item_known *known, int64_t now_us,
    bool *ret_estimated)
{
	*ret_estimated = false;
	if (date != FEED_NO_DATE && date >= DATE_MIN_US &&
	    date <= now_us + US_PER_DAY)
		return date;
	/* What was first believed stays: articles must not wander. */
	*ret_estimated = !known || known->row.is_date_estimated;
	return known ? known->row.published_at : now_us;
}

/* What was written, as the arena's; the buffer is empty again. */
static int
items_make_keep(struct arena *a, struct buf *b, struct str *ret, struct err *e)
{
	if (b->failed)
		return err_set(e, ERR_LIMIT, "an article is too large");
	*ret = arena_dup(a, buf_str(b));
	buf_clear(b);
	return OK;
}

/* A text that may be empty, and is never null. */
static void
put_str(struct buf *b, const char *name, struct str s)
{
	put_name(b, name);
	buf_json(b, s);
}

static void
put_address(struct buf *b, const char *name, struct str url)
{
	put_name(b, name);
	secret_url_json(url, b);
}

static void
list_enclosures(const struct feed_item *it,
    void (*address)(struct buf *b, const char *name, struct str url),
    struct buf *b)
{
	put_open(b, NULL, '[');
	for (const struct feed_enclosure *x = it->enclosures; x; x = x->next) {
		put_open(b, NULL, '{');
		address(b, "url", x->url);
		put_str(b, "type", x->type);
		if (x->length >= 0)
			put_int(b, "length", x->length);
		put_close(b, '}');
	}
	put_close(b, ']');
}

static int
make_lists(struct arena *a, const struct feed_item *it, struct item_change *ch,
    struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(8 * MIB);

	if (it->categories) {
		put_open(&b, NULL, '[');
		for (const struct feed_text *t = it->categories; t; t = t->next)
			put_str(&b, NULL, t->text);
		put_close(&b, ']');
		TRY(items_make_keep(a, &b, &ch->row.categories, e));
	}
	if (!it->enclosures)
		return OK;
	list_enclosures(it, put_str, &b);
	TRY(items_make_keep(a, &b, &ch->row.enclosures, e));
	ch->told = ch->row.enclosures;
	/* Few have an address with an @ in it at all. */
	if (!str_has(ch->told, '@'))
		return OK;
	list_enclosures(it, put_address, &b);
	return items_make_keep(a, &b, &ch->told, e);
}

static struct str
or_null(struct str s)
{
	return s.n > 0 ? s : (struct str){.p = NULL};
}

int
item_make(struct arena *a, const struct items_from *from,
    const struct item_cand *c, struct item_change *ch, struct err *e)
{
	const struct feed_item *it = c->it;
	struct str none = {.p = NULL}, link_hash = none, same_as = none;
	struct str title = str_chars(it->title, ITEM_TITLE_MAX);
	bool estimated;
	int64_t date = item_date(c->date, c->known, from->now_us, &estimated);

	if (c->link.p) {
		link_hash = short_hash(c->link_hash);
		same_as = same_hash(c->link, ch->same_as)
			      ? short_hash(ch->same_as)
			      : link_hash;
	}
	ch->known = c->known != NULL;
	ch->uid = c->known ? uuid_of(c->known->row.uid) : uuid_v7(from->now_us);
	ch->row = (struct sql_item_insert_args){
	    .uid = uuid_str(&ch->uid),
	    .feed = from->feed,
	    .published_at = date,
	    .estimated = estimated,
	    .now = from->now_us,
	    .content_hash = long_hash(c->content_hash),
	    .state_hash = long_hash(ch->state_hash),
	    .link_hash = link_hash,
	    .same_as = same_as,
	    .guid = c->guid,
	    .link = c->link,
	    .title = title.p ? title : STR_EMPTY,
	    .author = or_null(str_chars(it->author, ITEM_AUTHOR_MAX)),
	    .categories = none, /* make_lists() */
	    .enclosures = none,
	    .summary = none, /* what is clean of them */
	    .content = none,
	    .excerpt = none,
	    .thumbnail = or_null(it->thumbnail),
	};
	return make_lists(a, it, ch, e);
}

/* The event ------------------------------------------------------------------- */

static void
put_url(struct buf *b, const char *name, struct str url)
{
	if (url.p)
		put_address(b, name, url);
	else
		put_null(b, name);
}

static void
put_payload(const struct items_from *from, struct str title,
    const struct item_change *ch, struct buf *b)
{
	const struct sql_item_insert_args *row = &ch->row;

	put_open(b, "feed", '{');
	put_text(b, "id", from->feed_uid);
	put_url(b, "url", from->feed_url);
	put_text(b, "title", str_chars(title, FEED_TITLE_MAX));
	put_close(b, '}');
	put_open(b, "item", '{');
	put_uuid(b, "id", ch->uid);
	put_url(b, "guid", row->guid);
	put_text(b, "title", row->title);
	put_url(b, "link", row->link);
	put_text(b, "author", row->author);
	put_name(b, "published_at"); /* also when it is 1970 */
	buf_addc(b, '"');
	time_add(b, row->published_at);
	buf_addc(b, '"');
	put_bool(b, "is_date_estimated", row->estimated);
	put_text(b, "summary", ch->excerpt);
	put_raw(
	    b, "categories", row->categories.p ? row->categories : STR("[]"));
	put_raw(b, "enclosures", ch->told.p ? ch->told : STR("[]"));
	put_close(b, '}');
}

/* Who may read it asks for it by its id. */
static void
put_private(
    const struct items_from *from, const struct item_change *ch, struct buf *b)
{
	put_open(b, "feed", '{');
	put_text(b, "id", from->feed_uid);
	put_bool(b, "private", true);
	put_close(b, '}');
	put_open(b, "item", '{');
	put_uuid(b, "id", ch->uid);
	put_close(b, '}');
}

/*
 * Whole, so that nothing is to be put in: it need not be read again to become
 * an entry, as what others publish is.
 */
int
item_event(struct arena *a, const struct items_from *from,
    const struct sql_item_feed_row *feed, const struct item_change *ch,
    struct entry *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(2 * MIB);

	*ret = (struct entry){.event_id = uuid_v7(from->now_us),
	    .correlation = uuid_v7(from->now_us),
	    .type = !ch->known ? STR("feed.item.created")
			       : STR("feed.item.updated"),
	    .key = from->feed_uid,
	    .unhashed = true,
	    .has_rv = true,
	    /* as it is written */
	    .rv_us = from->now_us - from->now_us % US_PER_MS};
	put_open(&b, NULL, '{');
	put_uuid(&b, "eventId", ret->event_id);
	put_time(&b, "occurredAt", from->now_us);
	put_uuid(&b, "correlationId", ret->correlation);
	put_text(&b, "eventType", ret->type);
	buf_addz(&b, ",\"schemaVersion\":1,\"tenantId\":"
		     "\"00000000-0000-0000-0000-000000000000\",\"producer\":{"
		     "\"service\":\"hikyaku\",\"instanceId\":\"1\"}");
	put_open(&b, "sequence", '{');
	put_text(&b, "partitionKey", from->feed_uid);
	put_time(&b, "recordVersion", from->now_us);
	put_close(&b, '}');
	put_open(&b, "payload", '{');
	if (feed->private)
		put_private(from, ch, &b);
	else
		put_payload(from, feed->title, ch, &b);
	put_close(&b, '}');
	put_close(&b, '}');
	return items_make_keep(a, &b, &ret->body, e);
}
