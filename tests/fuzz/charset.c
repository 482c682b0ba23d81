/*
 * Bytes of any charset: refused in words, or a text of UTF-8 that is in
 * proportion to them; the same whenever they are read. What is ASCII stays as
 * it is, unless it shifts.
 *
 * The first byte chooses what the header says.
 */
#include "markup/charset.h"

#include "said.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
is_plain(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '\t' || s.p[i] == '\x1b')
			return false;
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = {(const char *)data + 1, size > 0 ? size - 1 : 0};
	size_t most = 4 * size + 65536; /* iconv is given room ahead */
	struct buf b = BUF(most), c = BUF(most);
	struct str text = STR_EMPTY, again = STR_EMPTY;
	struct err e = {0};

	if (s.n == 0)
		return 0;
	if (charset_decode(s, said(data[0]), &b, &text, &e) < 0) {
		assert(e.code == ERR_INVALID && strstr(e.text, "charset"));
	} else {
		assert(str_utf8_bad(text) == text.n && text.n <= 4 * s.n + 4);
		assert(!is_plain(s) || str_eq(text, s));
		assert(charset_decode(s, said(data[0]), &c, &again, &e) == OK);
		assert(str_eq(text, again));
	}
	buf_done(&b);
	buf_done(&c);
	return 0;
}
