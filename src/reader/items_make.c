/* items_priv.h: what an article is known by, and what becomes of it. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "doc/shapes.h"
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
	unsigned char digest[DIGEST_LEN];
	struct buf b = BUF(128);
	struct str kept;

	if (id.n == 0)
		return (struct str){.p = NULL};
	if (id.n <= ITEM_GUID_MAX)
		return id;
	digest_sha256(id, digest);
	buf_addz(&b, "sha256:");
	buf_hex(&b, long_hash(digest));
	kept = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return kept;
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
	struct buf b = BUF(FEED_LINK_MAX + ITEM_GUID_MAX);

	if (guid.p) {
		part(&b, STR("guid"));
		buf_add(&b, guid);
	} else if (link.p) {
		part(&b, STR("link"));
		buf_add(&b, link);
	} else {
		part(&b, STR("hash"));
		buf_add(&b, long_hash(content_hash));
	}
	digest_sha256(buf_str(&b), ret);
	buf_done(&b);
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

/* What was written, as the arena's; the buffer goes. */
static int
items_make_keep(struct arena *a, struct buf *b, struct str *ret, struct err *e)
{
	int rc =
	    b->failed ? err_set(e, ERR_LIMIT, "an article is too large") : OK;

	if (rc == OK)
		*ret = arena_dup(a, buf_str(b));
	buf_done(b);
	return rc;
}

static void
list_enclosures(const struct feed_item *it,
    void (*add_address)(struct str url, struct buf *b), struct buf *b)
{
	for (const struct feed_enclosure *x = it->enclosures; x; x = x->next) {
		buf_addz(b, x == it->enclosures ? "[{\"url\":" : ",{\"url\":");
		add_address(x->url, b);
		buf_addz(b, ",\"type\":");
		buf_json(b, x->type);
		if (x->length >= 0)
			buf_fmt(b, ",\"length\":%lld", (long long)x->length);
		buf_addc(b, '}');
	}
	buf_addc(b, ']');
}

static void
as_it_is(struct str url, struct buf *b)
{
	buf_json(b, url);
}

static int
make_lists(struct arena *a, const struct feed_item *it, struct item_change *ch,
    struct err *e)
{
	struct buf b = BUF(8 * MIB);
	int rc = OK;

	if (it->categories) {
		for (const struct feed_text *t = it->categories; t;
		     t = t->next) {
			buf_addc(&b, t == it->categories ? '[' : ',');
			buf_json(&b, t->text);
		}
		buf_addc(&b, ']');
		rc = items_make_keep(a, &b, &ch->categories, e);
	}
	if (rc == OK && it->enclosures) {
		list_enclosures(it, as_it_is, &b);
		rc = items_make_keep(a, &b, &ch->enclosures, e);
		ch->told = ch->enclosures;
	}
	/* Few have an address with an @ in it at all. */
	if (rc == OK && str_has(ch->enclosures, '@')) {
		list_enclosures(it, secret_url_json, &b);
		rc = items_make_keep(a, &b, &ch->told, e);
	}
	return rc;
}

static struct str
or_null(struct str s)
{
	return s.n > 0 ? s : (struct str){.p = NULL};
}

int
item_make(struct arena *a, const struct items_from *from,
    const struct item_cand *c, struct item_change *ret, struct err *e)
{
	const struct feed_item *it = c->it;
	struct item_change ch = {
	    .known = c->known != NULL,
	    .uid =
		c->known ? uuid_of(c->known->row.uid) : uuid_v7(from->now_us),
	    .guid = c->guid,
	    .link = c->link,
	    .title = str_chars(it->title, ITEM_TITLE_MAX),
	    .author = or_null(str_chars(it->author, ITEM_AUTHOR_MAX)),
	};
	int rc;

	if (!ch.title.p)
		ch.title = STR_EMPTY;
	ch.published_us =
	    item_date(c->date, c->known, from->now_us, &ch.estimated);
	memcpy(ch.content_hash, c->content_hash, DIGEST_LEN);
	memcpy(ch.link_hash, c->link_hash, DIGEST_SHORT_LEN);
	if (c->link.p && !same_hash(c->link, ch.same_as))
		memcpy(ch.same_as, c->link_hash, DIGEST_SHORT_LEN);
	rc = make_lists(a, it, &ch, e);
	if (rc == OK)
		*ret = ch;
	return rc;
}

/* The event ------------------------------------------------------------------- */

static void
add_text(struct buf *b, const char *name, struct str s)
{
	buf_addz(b, name);
	if (s.p)
		buf_json(b, s);
	else
		buf_addz(b, "null");
}

static void
add_url(struct buf *b, const char *name, struct str url)
{
	buf_addz(b, name);
	if (url.p)
		secret_url_json(url, b);
	else
		buf_addz(b, "null");
}

/* Who may read it asks for it by its id. */
static void
add_private(
    const struct items_from *from, const struct item_change *ch, struct buf *b)
{
	buf_addz(b, "{\"feed\":{\"id\":");
	buf_json(b, from->feed_uid);
	buf_addz(b, ",\"private\":true},\"item\":{\"id\":\"");
	uuid_add(b, ch->uid);
	buf_addz(b, "\"}}");
}

static void
add_payload(const struct items_from *from, struct str title,
    const struct item_change *ch, struct buf *b)
{
	buf_addz(b, "{\"feed\":{\"id\":");
	buf_json(b, from->feed_uid);
	add_url(b, ",\"url\":", from->feed_url);
	add_text(b, ",\"title\":", str_chars(title, FEED_TITLE_MAX));
	buf_addz(b, "},\"item\":{\"id\":\"");
	uuid_add(b, ch->uid);
	buf_addc(b, '"');
	add_url(b, ",\"guid\":", ch->guid);
	add_text(b, ",\"title\":", ch->title);
	add_url(b, ",\"link\":", ch->link);
	add_text(b, ",\"author\":", ch->author);
	buf_addz(b, ",\"published_at\":\"");
	time_add(b, ch->published_us);
	buf_addz(b, "\",\"is_date_estimated\":");
	buf_addz(b, ch->estimated ? "true" : "false");
	add_text(b, ",\"summary\":", ch->excerpt);
	buf_addz(b, ",\"categories\":");
	buf_add(b, ch->categories.p ? ch->categories : STR("[]"));
	buf_addz(b, ",\"enclosures\":");
	buf_add(b, ch->told.p ? ch->told : STR("[]"));
	buf_addz(b, "}}");
}

/*
 * Whole, so that nothing is to be put in: it need not be read again to become
 * an entry, as what others publish is.
 */
int
item_event(struct arena *a, const struct items_from *from,
    const struct item_feed *feed, const struct item_change *ch,
    struct entry *ret, struct err *e)
{
	struct entry en = {.event_id = uuid_v7(from->now_us),
	    .correlation = uuid_v7(from->now_us),
	    .type = !ch->known ? STR("feed.item.created")
			       : STR("feed.item.updated"),
	    .key = from->feed_uid,
	    .unhashed = true,
	    .has_rv = true,
	    /* as it is written */
	    .rv_us = from->now_us - from->now_us % US_PER_MS};
	struct buf b = BUF(2 * MIB);

	buf_addz(&b, "{\"eventId\":\"");
	uuid_add(&b, en.event_id);
	buf_addz(&b, "\",\"occurredAt\":\"");
	time_add(&b, from->now_us);
	buf_addz(&b, "\",\"correlationId\":\"");
	uuid_add(&b, en.correlation);
	buf_addz(&b, "\",\"eventType\":");
	buf_json(&b, en.type);
	buf_addz(&b,
	    ",\"schemaVersion\":1,\"tenantId\":"
	    "\"00000000-0000-0000-0000-000000000000\",\"producer\":{"
	    "\"service\":\"hikyaku\",\"instanceId\":\"1\"},\"sequence\":{"
	    "\"partitionKey\":");
	buf_json(&b, from->feed_uid);
	buf_addz(&b, ",\"recordVersion\":\"");
	time_add(&b, from->now_us);
	buf_addz(&b, "\"},\"payload\":");
	if (feed->private)
		add_private(from, ch, &b);
	else
		add_payload(from, feed->title, ch, &b);
	buf_addc(&b, '}');
	*ret = en;
	return items_make_keep(a, &b, &ret->body, e);
}
