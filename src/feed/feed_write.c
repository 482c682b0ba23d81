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
add_name(struct buf *b, const char *key)
{
	if (b->n > 0 && b->p[b->n - 1] != '{')
		buf_addc(b, ',');
	buf_addc(b, '"');
	buf_addz(b, key);
	buf_addz(b, "\":");
}

static void
add_text_member(struct buf *b, const char *key, struct str s)
{
	if (s.n == 0)
		return;
	add_name(b, key);
	buf_json(b, s);
}

/* Whole seconds without a fraction, as nearly all are. */
static void
add_date(struct buf *b, const char *key, int64_t us)
{
	char room[TIME_LEN + 1];

	if (us == FEED_NO_DATE)
		return;
	time_format(us, room);
	add_name(b, key);
	if (us % US_PER_S == 0)
		buf_fmt(b, "\"%.19sZ\"", room);
	else
		buf_fmt(b, "\"%s\"", room);
}

static void
add_categories(struct buf *b, const struct feed_text *c)
{
	add_name(b, "categories");
	buf_addc(b, '[');
	for (; c; c = c->next) {
		buf_json(b, c->text);
		if (c->next)
			buf_addc(b, ',');
	}
	buf_addc(b, ']');
}

static void
add_enclosures(struct buf *b, const struct feed_enclosure *c)
{
	add_name(b, "enclosures");
	buf_addc(b, '[');
	for (; c; c = c->next) {
		buf_addc(b, '{');
		add_text_member(b, "url", c->url);
		add_text_member(b, "type", c->type);
		if (c->length >= 0) {
			add_name(b, "length");
			buf_int(b, c->length);
		}
		buf_addz(b, c->next ? "}," : "}");
	}
	buf_addc(b, ']');
}

static void
add_item(struct buf *b, const struct feed_item *it)
{
	buf_addc(b, '{');
	add_text_member(b, "id", it->id);
	add_text_member(b, "title", it->title);
	add_text_member(b, "link", it->link);
	add_text_member(b, "content", it->content);
	add_text_member(b, "summary", it->summary);
	add_text_member(b, "author", it->author);
	add_date(b, "published", it->published_us);
	add_date(b, "updated", it->updated_us);
	if (it->categories)
		add_categories(b, it->categories);
	if (it->enclosures)
		add_enclosures(b, it->enclosures);
	buf_addc(b, '}');
}

void
feed_write(const struct feed *f, struct buf *to)
{
	buf_addc(to, '{');
	add_text_member(to, "format", str_of(NAMES[f->format]));
	add_text_member(to, "title", f->title);
	add_text_member(to, "link", f->link);
	add_text_member(to, "description", f->description);
	add_date(to, "updated", f->updated_us);
	add_text_member(to, "language", f->language);
	add_name(to, "items");
	buf_addc(to, '[');
	for (const struct feed_item *it = f->items; it; it = it->next) {
		add_item(to, it);
		if (it->next)
			buf_addc(to, ',');
	}
	buf_addz(to, "]}");
}
