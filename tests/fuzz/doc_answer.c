/*
 * What a child that was taken over may answer in place of what it read: refused,
 * or a value as harmless as one of a parser's. The first byte says which kind
 * of answer is expected. What is read goes the same way again and stays itself.
 */

#include "doc/shapes.h"
#include "feed/discover.h"
#include "feed/feed.h"
#include "feed/limits.h"
#include "feed/opml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct pack_shape *const SHAPES[] = {&DOC_FEED_SHAPE,
    &DOC_PAGE_SHAPE, &DOC_OPML_SHAPE, &DOC_ICON_SHAPE, &DOC_CLEANED,
    &DOC_RESULT, &DOC_ASK, &DOC_ARTICLES};

static void
check_text(struct str s)
{
	assert(s.p && str_utf8_bad(s) == s.n && !memchr(s.p, 0, s.n));
}

static void
check_feed(const struct feed *f)
{
	size_t n = 0;

	check_text(f->title);
	check_text(f->hub);
	assert(feed_format_name(f->format)[0]);
	for (const struct feed_item *it = f->items; it; it = it->next, n++) {
		check_text(it->id);
		check_text(it->content);
		for (const struct feed_text *t = it->categories; t; t = t->next)
			check_text(t->text);
	}
	assert(n == f->n_items && n <= FEED_ITEMS_MAX);
}

static void
check_page(const struct discover *d)
{
	assert(d->n_feeds <= DISCOVER_FEEDS_MAX);
	assert(d->n_icons <= DISCOVER_ICONS_MAX + 1);
	for (size_t i = 0; i < d->n_feeds; i++) {
		check_text(d->feeds[i].url);
		assert(discover_kind_name(d->feeds[i].kind)[0]);
	}
}

static void
check_again(struct arena *a, const struct pack_shape *s, const void *what)
{
	struct buf b = BUF(16 * MIB), again = BUF(16 * MIB);
	void *got = arena_alloc(a, s->size);
	struct str rest;
	struct err e;

	pack_put(&b, s, what);
	rest = buf_str(&b);
	assert(got && pack_get(a, &rest, s, got, &e) == OK && rest.n == 0);
	pack_put(&again, s, got);
	assert(str_eq(buf_str(&b), buf_str(&again)));
	buf_done(&b);
	buf_done(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pack_shape *s;
	struct arena *a;
	struct str rest;
	struct err e = {0};
	void *what;

	if (size == 0)
		return 0;
	s = SHAPES[data[0] % COUNT_OF(SHAPES)];
	rest = (struct str){(const char *)data + 1, size - 1};
	a = arena_new(64 * MIB);
	what = arena_alloc(a, s->size);
	assert(what);
	if (pack_get(a, &rest, s, what, &e) < 0) {
		assert(e.text[0]);
	} else {
		if (s == &DOC_FEED_SHAPE)
			check_feed(what);
		if (s == &DOC_PAGE_SHAPE)
			check_page(what);
		check_again(a, s, what);
	}
	arena_free(a);
	return 0;
}
