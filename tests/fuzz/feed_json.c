/*
 * JSON with faults: what was valid means the same when it is mended, and a
 * JSON Feed is refused in words or read. The first byte chooses what the bytes
 * are said to be.
 */

#include "feed/feed.h"
#include "feed/jsonfix.h"
#include "feed/limits.h"
#include "markup/limits.h"
#include "said.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_fix(struct str s)
{
	struct arena *a = arena_new(64 * MIB);
	struct buf b = BUF(FEED_TEXT_MAX);
	struct json *j = NULL, *k = NULL;
	struct err e = {0};
	bool valid = json_parse(a, s, &j, &e) == OK;

	jsonfix(s, &b);
	if (valid && (j->type == JSON_OBJECT || j->type == JSON_ARRAY)) {
		assert(json_parse(a, buf_str(&b), &k, &e) == OK);
		assert(j->type == k->type && j->n == k->n);
	}
	buf_done(&b);
	arena_free(a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = {(const char *)data + 1, size > 0 ? size - 1 : 0};
	struct arena *a = arena_new(FEED_ARENA_MAX);
	struct feed_from from = {.url = STR("http://example.com/feed.json"),
	    .content_type = said(size > 0 ? data[0] : 0)};
	struct buf b = BUF(8 * FEED_TEXT_MAX);
	struct feed *f = NULL;
	struct err e = {0};

	check_fix(s);
	if (feed_parse(a, s, &from, &f, &e) == OK) {
		struct json *j = NULL;

		feed_write(f, &b);
		assert(json_parse(a, buf_str(&b), &j, &e) == OK);
		assert(json_get(j, "items")->n == f->n_items);
	} else {
		assert(e.text[0]);
	}
	buf_done(&b);
	arena_free(a);
	return 0;
}
