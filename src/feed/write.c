#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "feed/feed.h"

static const char *const NAMES[] = {
    [FEED_RSS2] = "rss2",
    [FEED_RSS1] = "rss1",
    [FEED_RSS09X] = "rss09x",
    [FEED_ATOM1] = "atom1",
    [FEED_ATOM03] = "atom03",
    [FEED_JSON] = "json",
};

const char *
feed_format_name(enum feed_format format)
{
	return NAMES[format];
}

static void
name(struct buf *b, const char *key)
{
	if (b->n > 0 && b->p[b->n - 1] != '{')
		buf_addc(b, ',');
	buf_addc(b, '"');
	buf_addz(b, key);
	buf_addz(b, "\":");
}

static void
text(struct buf *b, const char *key, struct str s)
{
	if (s.n == 0)
		return;
	name(b, key);
	buf_json(b, s);
}

/* Whole seconds without a fraction, as nearly all are. */
static void
date(struct buf *b, const char *key, int64_t us)
{
	char room[TIME_LEN + 1];

	if (us == FEED_NO_DATE)
		return;
	time_format(us, room);
	name(b, key);
	if (us % US_PER_S == 0)
		buf_fmt(b, "\"%.19sZ\"", room);
	else
		buf_fmt(b, "\"%s\"", room);
}

static void
categories(struct buf *b, const struct feed_text *c)
{
	name(b, "categories");
	buf_addc(b, '[');
	for (; c; c = c->next) {
		buf_json(b, c->text);
		if (c->next)
			buf_addc(b, ',');
	}
	buf_addc(b, ']');
}

static void
enclosures(struct buf *b, const struct feed_enclosure *c)
{
	name(b, "enclosures");
	buf_addc(b, '[');
	for (; c; c = c->next) {
		buf_addc(b, '{');
		text(b, "url", c->url);
		text(b, "type", c->type);
		if (c->length >= 0) {
			name(b, "length");
			buf_int(b, c->length);
		}
		buf_addz(b, c->next ? "}," : "}");
	}
	buf_addc(b, ']');
}

static void
item(struct buf *b, const struct feed_item *it)
{
	buf_addc(b, '{');
	text(b, "id", it->id);
	text(b, "title", it->title);
	text(b, "link", it->link);
	text(b, "content", it->content);
	text(b, "summary", it->summary);
	text(b, "author", it->author);
	date(b, "published", it->published_us);
	date(b, "updated", it->updated_us);
	if (it->categories)
		categories(b, it->categories);
	if (it->enclosures)
		enclosures(b, it->enclosures);
	buf_addc(b, '}');
}

void
feed_write(const struct feed *f, struct buf *to)
{
	buf_addc(to, '{');
	text(to, "format", str_of(NAMES[f->format]));
	text(to, "title", f->title);
	text(to, "link", f->link);
	text(to, "description", f->description);
	date(to, "updated", f->updated_us);
	text(to, "language", f->language);
	name(to, "items");
	buf_addc(to, '[');
	for (const struct feed_item *it = f->items; it; it = it->next) {
		item(to, it);
		if (it->next)
			buf_addc(to, ',');
	}
	buf_addz(to, "]}");
}
