/*
 * A feed from anybody: refused in words, or read. What is read is UTF-8, is
 * bounded, and its JSON is valid for our own strict parser. What xml_read()
 * calls, written as XML, is read as the same again.
 *
 * The first byte chooses what the bytes are said to be.
 */
#include "feed/feed.h"

#include "feed/limits.h"
#include "markup/limits.h"
#include "markup/xml_print_test.h"
#include "said.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NO_URL 0xf8 /* from here on the first byte is that, too */

static void
check_text(struct str s)
{
	assert(s.n == 0 || (str_utf8_bad(s) == s.n && !memchr(s.p, 0, s.n)));
}

static void
check_json(const struct feed *f)
{
	struct arena *a = arena_new(FEED_ARENA_MAX);
	struct buf b = BUF(8 * FEED_TEXT_MAX);
	struct json *j = NULL;
	struct err e = {0};

	feed_write(f, &b);
	assert(!b.failed && json_parse(a, buf_str(&b), &j, &e) == OK);
	assert(json_get(j, "items")->n == f->n_items);
	buf_done(&b);
	arena_free(a);
}

static void
check_feed(const struct feed *f)
{
	size_t n = 0;

	check_text(f->title);
	check_text(f->link);
	check_text(f->self);
	for (const struct feed_item *it = f->items; it; it = it->next, n++) {
		const struct str all[] = {it->id, it->title, it->link,
		    it->content, it->summary, it->author, it->base};

		for (size_t i = 0; i < COUNT_OF(all); i++)
			check_text(all[i]);
		assert(it->link.n < 11 ||
		       strncasecmp(it->link.p, "javascript:", 11) != 0);
	}
	assert(n == f->n_items && n <= FEED_ITEMS_MAX);
	check_json(f);
}

static void
check_xml(struct str s)
{
	struct xml_print once, twice;

	xml_print(s, STR_EMPTY, &once);
	assert(once.deepest <= FEED_DEPTH_MAX);
	xml_print(buf_str(&once.to), STR_EMPTY, &twice);
	assert(once.to.failed || str_eq(buf_str(&once.to), buf_str(&twice.to)));
	buf_done(&once.to);
	buf_done(&twice.to);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new(FEED_ARENA_MAX);
	struct feed_from from = {.url = STR("http://example.com/a/feed?x#y")};
	struct feed *f = NULL;
	struct err e = {0};
	struct str s = {(const char *)data, size};

	if (size > 0) {
		from.content_type = said(data[0]);
		if (data[0] >= NO_URL)
			from.url = STR_EMPTY;
		s = str_from(s, 1);
	}
	if (feed_parse(a, s, &from, &f, &e) == OK)
		check_feed(f);
	else
		assert(e.text[0]);
	check_xml(s);
	arena_free(a);
	return 0;
}
