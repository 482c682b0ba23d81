/*
 * A list of subscriptions from anybody: refused in words, or read. What is
 * read is UTF-8 and bounded, and what is written of it is well-formed and says
 * the same. The first byte chooses what the bytes are said to be.
 */
#include "feed/opml.h"

#include "feed/limits.h"
#include "markup/limits.h"
#include "said.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_text(struct str s)
{
	assert(s.n == 0 || (str_utf8_bad(s) == s.n && !memchr(s.p, 0, s.n)));
}

static void
check_same(const struct opml *x, const struct opml *y)
{
	const struct opml_feed *f = x->feeds, *g = y->feeds;

	assert(x->n_feeds == y->n_feeds && str_eq(x->title, y->title));
	for (; f && g; f = f->next, g = g->next) {
		assert(str_eq(f->url, g->url) && str_eq(f->site, g->site));
		assert(str_eq(f->category, g->category));
		assert(f->title.n == 0 || str_eq(f->title, g->title));
	}
	assert(!f && !g);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(FEED_ARENA_MAX);
	struct buf b = BUF(FEED_TEXT_MAX);
	struct opml *o = NULL, *again = NULL;
	struct err e = {0};
	size_t n = 0;

	if (opml_parse(a,
		(struct str){(const char *)data + 1, size > 0 ? size - 1 : 0},
		said(size > 0 ? data[0] : 0), &o, &e) < 0) {
		assert(e.text[0]);
		goto out;
	}
	for (const struct opml_feed *f = o->feeds; f; f = f->next, n++) {
		check_text(f->title);
		check_text(f->url);
		check_text(f->site);
		check_text(f->category);
		assert(f->url.n > 0);
	}
	assert(n == o->n_feeds && n <= OPML_FEEDS_MAX);
	opml_write(o, 0, &b);
	if (b.n <= OPML_BYTES_MAX) {
		assert(opml_parse(a, buf_str(&b), STR_EMPTY, &again, &e) == OK);
		assert(!again->repaired);
		check_same(o, again);
	}
out:
	buf_done(&b);
	arena_free(a);
	return 0;
}
