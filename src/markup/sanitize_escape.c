#include "markup/sanitize_priv.h"

/* How many bytes at the start of s are not written as they are. */
static size_t
special(struct str s, bool attr)
{
	unsigned char c = (unsigned char)s.p[0];

	if (c == '"')
		return attr;
	/* Controls of C1, and a mark that a parser may take off. */
	if (c == 0xc2)
		return s.n > 1 && (unsigned char)s.p[1] < 0xa0 ? 2 : 0;
	if (c == 0xef)
		return str_starts(s, STR("\xef\xbb\xbf")) ? 3 : 0;
	return 1;
}

void
sanitize_escape(struct buf *b, struct str s, bool attr)
{
	static const char *const AS[256] = {[0 ... 8] = "",
	    [11] = "",
	    ['\f'] = "\n",
	    ['\r'] = "\n",
	    [14 ... 31] = "",
	    ['"'] = "&#34;",
	    ['&'] = "&amp;",
	    ['<'] = "&lt;",
	    ['>'] = "&gt;",
	    [0x7f] = "",
	    [0xc2] = "",
	    [0xef] = ""};
	size_t from = 0;

	for (size_t i = 0; i < s.n; i++) {
		const char *as = AS[(unsigned char)s.p[i]];
		size_t n = as ? special(str_from(s, i), attr) : 0;

		if (n == 0)
			continue;
		buf_add(b, (struct str){s.p + from, i - from});
		buf_addz(b, as);
		from = i + n;
		i = from - 1;
	}
	buf_add(b, str_from(s, from));
}
