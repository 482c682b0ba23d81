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
text_member(struct buf *b, const char *name, struct str s)
{
	if (s.n > 0)
		put_text(b, name, s);
}

/* Whole seconds without a fraction, as nearly all are. */
static void
date_member(struct buf *b, const char *name, int64_t us)
{
	char room[TIME_LEN + 1];

	if (us == FEED_NO_DATE)
		return;
	time_format(us, room);
	if (us % US_PER_S == 0)
		(void)snprintf(room + 19, sizeof(room) - 19, "Z");
	put_z(b, name, room);
}

static void
put_item(struct buf *b, const struct feed_item *it)
{
	put_open(b, NULL, '{');
	text_member(b, "id", it->id);
	text_member(b, "title", it->title);
	text_member(b, "link", it->link);
	text_member(b, "content", it->content);
	text_member(b, "summary", it->summary);
	text_member(b, "author", it->author);
	text_member(b, "base", it->base);
	date_member(b, "published", it->published_us);
	date_member(b, "updated", it->updated_us);
	if (it->categories) {
		put_open(b, "categories", '[');
		for (struct feed_text *c = it->categories; c; c = c->next)
			put_text(b, NULL, c->text);
		put_close(b, ']');
	}
	if (it->enclosures) {
		put_open(b, "enclosures", '[');
		for (struct feed_enclosure *c = it->enclosures; c;
		     c = c->next) {
			put_open(b, NULL, '{');
			text_member(b, "url", c->url);
			text_member(b, "type", c->type);
			if (c->length >= 0)
				put_int(b, "length", c->length);
			put_close(b, '}');
		}
		put_close(b, ']');
	}
	put_close(b, '}');
}

void
feed_write(const struct feed *f, struct buf *to)
{
	put_open(to, NULL, '{');
	put_z(to, "format", NAMES[f->format]);
	text_member(to, "title", f->title);
	text_member(to, "link", f->link);
	text_member(to, "description", f->description);
	date_member(to, "updated", f->updated_us);
	text_member(to, "language", f->language);
	put_open(to, "items", '[');
	for (const struct feed_item *it = f->items; it; it = it->next)
		put_item(to, it);
	put_close(to, ']');
	put_close(to, '}');
}
