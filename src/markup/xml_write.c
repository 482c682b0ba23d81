#include "markup/xml_write.h"

static void
add_escaped(struct buf *b, struct str s, bool quotes)
{
	static const char *const AS[256] = {[0 ... 8] = "",
	    [11 ... 12] = "",
	    [14 ... 31] = "",
	    ['&'] = "&amp;",
	    ['<'] = "&lt;",
	    ['>'] = "&gt;",
	    ['"'] = "&quot;"};
	size_t from = 0;

	for (size_t i = 0; i < s.n; i++) {
		const char *as = AS[(unsigned char)s.p[i]];

		if (!as || (s.p[i] == '"' && !quotes))
			continue;
		buf_add(b, (struct str){s.p + from, i - from});
		buf_addz(b, as);
		from = i + 1;
	}
	buf_add(b, str_from(s, from));
}

void
xml_write_text(struct buf *b, struct str s)
{
	add_escaped(b, s, true);
}

void
xml_write_inner(struct buf *b, struct str s)
{
	add_escaped(b, s, false);
}

void
xml_write_attr(struct buf *b, const char *name, struct str value)
{
	buf_fmt(b, " %s=\"", name);
	xml_write_text(b, value);
	buf_addc(b, '"');
}

void
xml_write_element(struct buf *b, const char *name, struct str text)
{
	buf_fmt(b, "<%s>", name);
	xml_write_text(b, text);
	buf_fmt(b, "</%s>", name);
}
