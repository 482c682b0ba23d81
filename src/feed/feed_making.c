#include "feed/feed_priv.h"
#include "feed/limits.h"
#include "feed/link.h"
#include "markup/text.h"

void
making_init(struct making *m, struct arena *a, struct str url)
{
	*m = (struct making){.arena = a, .url = str_trim(url)};
	m->feed = arena_alloc(a, sizeof(*m->feed));
	m->feed->updated_us = FEED_NO_DATE;
	m->tail = &m->feed->items;
}

struct feed_item *
making_item(struct making *m)
{
	struct feed_item *it;

	if (m->feed->n_items == FEED_ITEMS_MAX || arena_over(m->arena)) {
		m->feed->cut = true;
		return NULL;
	}
	it = arena_alloc(m->arena, sizeof(*it));
	it->published_us = it->updated_us = FEED_NO_DATE;
	return it;
}

void
making_add(struct making *m, struct feed_item *it)
{
	if (it->id.n + it->title.n + it->link.n + it->content.n +
		    it->summary.n ==
		0 &&
	    !it->enclosures)
		return;
	*m->tail = it;
	m->tail = &it->next;
	m->feed->n_items++;
}

void
making_category(struct making *m, struct feed_item *it, struct str text)
{
	struct feed_text **at = &it->categories;
	size_t n = 0;

	text = text_title(m->arena, text);
	if (text.n == 0)
		return;
	for (; *at; at = &(*at)->next, n++)
		if (str_eq((*at)->text, text) || n + 1 == FEED_CATEGORIES_MAX)
			return;
	*at = arena_alloc(m->arena, sizeof(**at));
	(*at)->text = text_copy(m->arena, text);
}

void
making_enclosure(struct making *m, struct feed_item *it, struct str url,
    struct str type, struct str length)
{
	struct feed_enclosure **at = &it->enclosures;
	size_t n = 0;
	int64_t bytes;

	if (url.n == 0)
		return;
	for (; *at; at = &(*at)->next, n++)
		if (str_eq((*at)->url, url) || n + 1 == FEED_ENCLOSURES_MAX)
			return;
	*at = arena_alloc(m->arena, sizeof(**at));
	(*at)->url = url;
	(*at)->type = text_copy(m->arena, str_trim(type));
	(*at)->length = -1;
	if (str_int(str_trim(length), &bytes) && bytes >= 0)
		(*at)->length = bytes;
}

struct str
making_picture(const struct feed_item *it)
{
	for (struct feed_enclosure *c = it->enclosures; c; c = c->next)
		if (str_starts_nocase(c->type, STR("image/")))
			return c->url;
	return STR_EMPTY;
}

static void
mend(struct making *m, struct str base, struct str *link)
{
	if (link->n > 0 && !link_absolute(*link))
		*link = link_resolve(m->arena, base, *link);
}

void
making_done(struct making *m)
{
	struct feed *f = m->feed;
	struct str base = m->url;

	/* Nobody said where it is from: it may say so itself. */
	if (!link_absolute(base))
		base = link_absolute(f->self) ? f->self : f->link;
	mend(m, base, &f->link);
	for (struct feed_item *it = f->items; it; it = it->next) {
		mend(m, base, &it->link);
		mend(m, base, &it->base);
		if (it->base.n == 0)
			it->base = base;
		mend(m, base, &it->thumbnail);
		if (!link_web(it->thumbnail))
			it->thumbnail = STR_EMPTY;
		if (it->author.n == 0)
			it->author = m->author;
		for (struct feed_enclosure *c = it->enclosures; c; c = c->next)
			mend(m, base, &c->url);
	}
}
