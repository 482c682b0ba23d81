/*
 * HTML from anybody, cleaned: only what may be written is written, a parser
 * finds only elements of the list in it, and cleaning it again, with or
 * without the base, changes nothing. The first byte chooses list and base, and
 * whether a second one says the charset of what follows.
 */
#include "markup/sanitize.h"

#include "markup/charset.h"
#include "markup/sanitize_check_test.h"
#include "said.h"

#define HAS_CHARSET 0x80

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
clean(struct str s, struct str base, enum sanitize_tags tags, struct buf *b)
{
	struct err e = {0};
	bool cut = true;

	if (sanitize(s, base, tags, b, &cut, &e) < 0)
		abort();
	assert(!cut);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const BASES[] = {
	    "", "https://a.example/b/c?d#e", "http://x.example"};
	struct str s = {(const char *)data, size}, base = STR_EMPTY;
	struct buf once = BUF(SANITIZE_OUT_MAX), twice = BUF(SANITIZE_OUT_MAX);
	struct buf text = BUF(SANITIZE_OUT_MAX);
	enum sanitize_tags tags = SANITIZE_BASIC;
	struct err e;

	if (size > 0) {
		tags = data[0] & 1 ? SANITIZE_ARTICLE : SANITIZE_BASIC;
		base = str_of(BASES[(data[0] >> 1) % COUNT_OF(BASES)]);
		s = str_from(s, 1);
	}
	if (s.n > 1 && (data[0] & HAS_CHARSET) &&
	    charset_decode(str_from(s, 1), said(data[1]), &text, &s, &e) < 0)
		s = STR_EMPTY;
	clean(s, base, tags, &once);
	assert(check_bytes(buf_str(&once), tags) == once.n);
	assert(check_tree(buf_str(&once), tags));
	clean(buf_str(&once), base, tags, &twice);
	assert(str_eq(buf_str(&once), buf_str(&twice)));
	buf_clear(&twice);
	clean(buf_str(&once), STR_EMPTY, tags, &twice);
	assert(str_eq(buf_str(&once), buf_str(&twice)));
	/* The short list is part of the long one. */
	buf_clear(&twice);
	if (tags == SANITIZE_BASIC) {
		clean(buf_str(&once), base, SANITIZE_ARTICLE, &twice);
		assert(str_eq(buf_str(&once), buf_str(&twice)));
	}
	buf_done(&text);
	buf_done(&once);
	buf_done(&twice);
	return 0;
}
