#include "markup/charset.h"

#include "markup/charset_priv.h"
#include "markup/entity.h"

#define DECLARATION_BYTES ((size_t)1024)
#define META_BYTES        ((size_t)1024) /* where HTML wants it */

static const struct str LABELS[CS_COUNT] = {
#define ENCODING(id, iconv, kind, labels) [CS_##id] = STR(labels),
#include "markup/charsets.tbl"
};

static enum charset
by_label(struct str name)
{
	name = str_trim(name);
	while (name.n > 0 && (name.p[0] == '"' || name.p[0] == '\''))
		name = str_trim(str_from(name, 1));
	while (name.n > 0 && strchr("\"'; \t\r\n\f", name.p[name.n - 1]))
		name.n--;
	for (enum charset cs = CS_NONE; cs < CS_COUNT; cs++)
		for (struct str all = LABELS[cs]; all.n > 0;)
			if (str_eq_nocase(name, str_cut(&all, ' ')))
				return cs;
	return CS_NONE;
}

static struct str
from_header(struct str type)
{
	while (type.n > 0) {
		struct str part = str_trim(str_cut(&type, ';'));
		struct str key = str_trim(str_cut(&part, '='));

		if (str_eq_nocase(key, STR("charset")))
			return part;
	}
	return STR_EMPTY;
}

/* encoding="..." in <?xml ... ?>, which may stand behind junk. */
static struct str
from_declaration(struct str s)
{
	s.n = s.n > DECLARATION_BYTES ? DECLARATION_BYTES : s.n;
	if (!str_pass(&s, STR("<?xml")))
		return STR_EMPTY;
	s = str_cut(&s, '>');
	if (!str_pass(&s, STR("encoding")))
		return STR_EMPTY;
	s = str_trim(s);
	if (s.n < 2 || s.p[0] != '=')
		return STR_EMPTY;
	s = str_trim(str_from(s, 1));
	if (s.n > 1 && (s.p[0] == '"' || s.p[0] == '\'')) {
		char quote = s.p[0];

		s = str_from(s, 1);
		return str_cut(&s, quote);
	}
	s.n = s.n > 0 && s.p[s.n - 1] == '?' ? s.n - 1 : s.n;
	return s;
}

/* charset=... in a <meta> of a page. */
static struct str
from_meta(struct str s)
{
	s.n = s.n > META_BYTES ? META_BYTES : s.n;
	for (bool meta = false; s.n > 8; s = str_from(s, 1)) {
		struct str rest = str_from(s, 7);
		size_t n = 0;

		meta = meta || str_starts_nocase(s, STR("<meta"));
		if (!meta || !str_starts_nocase(s, STR("charset")))
			continue;
		while (rest.n > 0 && strchr(" \t\n\"'=", rest.p[0]))
			rest = str_from(rest, 1);
		while (n < rest.n && rest.p[n] &&
		       !strchr(" \t\n\"'<>;/", rest.p[n]))
			n++;
		if (n > 0)
			return (struct str){rest.p, n};
	}
	return STR_EMPTY;
}

static const struct {
	struct str bytes;
	enum charset charset;
	bool mark; /* to be dropped */
} STARTS[] = {
    {STR("\xef\xbb\xbf"), CS_UTF_8, true},
    {STR("\xff\xfe\0\0"), CS_UTF_32LE, true},
    {STR("\0\0\xfe\xff"), CS_UTF_32BE, true},
    {STR("\xff\xfe"), CS_UTF_16LE, true},
    {STR("\xfe\xff"), CS_UTF_16BE, true},
    {STR("<\0\0\0"), CS_UTF_32LE, false},
    {STR("\0\0\0<"), CS_UTF_32BE, false},
    {STR("{\0\0\0"), CS_UTF_32LE, false},
    {STR("\0\0\0{"), CS_UTF_32BE, false},
    {STR("<\0"), CS_UTF_16LE, false},
    {STR("\0<"), CS_UTF_16BE, false},
    {STR("{\0"), CS_UTF_16LE, false},
    {STR("\0{"), CS_UTF_16BE, false},
    {STR("\x4c\x6f\xa7\x94"), CS_EBCDIC, false},
};

/* A character that the end of the text cuts in two. */
static bool
is_cut(struct str s)
{
	unsigned char c = (unsigned char)s.p[0];

	if (c < 0xc2 || c > 0xf4 || s.n > 1U + (c >= 0xe0) + (c >= 0xf0))
		return false;
	for (size_t i = 1; i < s.n; i++)
		if (((unsigned char)s.p[i] & 0xc0) != 0x80)
			return false;
	return true;
}

/*
 * CESU-8: a character beyond U+FFFF as two halves of three bytes each. Returns
 * the bytes it takes, and the character; a half alone is none.
 */
static size_t
halves(struct str s, uint32_t *ret)
{
	const unsigned char *p = (const unsigned char *)s.p;

	if (s.n < 3 || p[0] != 0xed || p[1] < 0xa0 || p[1] > 0xbf ||
	    (p[2] & 0xc0) != 0x80)
		return 0;
	*ret = 0xfffd;
	if (s.n < 6 || p[1] > 0xaf || p[3] != 0xed || p[4] < 0xb0 ||
	    p[4] > 0xbf || (p[5] & 0xc0) != 0x80)
		return 3;
	*ret = 0x10000 + ((p[1] & 15U) << 16 | (p[2] & 63U) << 10 |
			     (p[4] & 15U) << 6 | (p[5] & 63U));
	return 6;
}

/* Is there more in it that is UTF-8 than bytes that are not? */
static bool
mostly_utf8(struct str s)
{
	size_t good = 0, bad = 0;

	for (size_t at = 0; at < s.n;) {
		size_t n = str_utf8_len(str_from(s, at));
		uint32_t code;

		if (n == 0 && is_cut(str_from(s, at)))
			break;
		if (n == 0)
			n = halves(str_from(s, at), &code);
		good += n > 1 ? n - 1 : 0; /* long ones are no accident */
		bad += n == 0;
		at += n > 0 ? n : 1;
	}
	return good > bad;
}

/* UTF-8 whose other bytes are taken as windows-1252. */
static void
mend_utf8(struct str s, struct buf *to)
{
	bool utf8 = mostly_utf8(s);

	while (s.n > 0) {
		size_t good = str_utf8_bad(s);
		char room[ENTITY_MAX];
		uint32_t code = 0;
		unsigned char c;

		buf_add(to, (struct str){s.p, good});
		s = str_from(s, good);
		if (s.n == 0 || (utf8 && is_cut(s)))
			break;
		good = utf8 ? halves(s, &code) : 0;
		if (good == 0) {
			c = (unsigned char)s.p[0];
			code = c < 0xa0 ? ENTITY_CP1252[c - 0x80] : c;
			good = 1;
		}
		buf_add(to, (struct str){room, str_utf8_put(code, room)});
		s = str_from(s, good);
	}
}

static enum charset
by_start(struct str *bytes)
{
	struct str b = *bytes;

	for (size_t i = 0; i < COUNT_OF(STARTS); i++)
		if (str_starts(*bytes, STARTS[i].bytes)) {
			if (STARTS[i].mark)
				*bytes = str_from(*bytes, STARTS[i].bytes.n);
			return STARTS[i].charset;
		}
	/* Blanks or other ASCII first: every second byte is zero. */
	if (b.n >= 8 && b.p[0] && !b.p[1] && b.p[2] && !b.p[3] && !b.p[5])
		return CS_UTF_16LE;
	if (b.n >= 8 && !b.p[0] && b.p[1] && !b.p[2] && b.p[3] && !b.p[4])
		return CS_UTF_16BE;
	return CS_NONE;
}

/* Wide ones are known by their zeros: what has none is none of them. */
static bool
tried(enum charset cs)
{
	enum charset_kind kind = charset_kind(cs);

	return kind != CHARSET_UTF8 && kind != CHARSET_UTF16 &&
	       kind != CHARSET_REFUSED;
}

/* Tries what was said, strictly; false when none of it fits. */
static bool
as_said(const enum charset said[2], struct str bytes, struct buf *to)
{
	enum charset first = CS_NONE;

	for (size_t i = 0; i < 2; i++) {
		size_t wrong;

		if (!tried(said[i]))
			continue;
		buf_clear(to);
		wrong = charset_convert(said[i], bytes, to);
		if (wrong == 0)
			return true;
		if (wrong < bytes.n / 20 && first == CS_NONE)
			first = said[i];
	}
	buf_clear(to);
	return first != CS_NONE &&
	       charset_convert(first, bytes, to) != SIZE_MAX;
}

/* The header's word and the document's own, the better one first. */
static void
ask_both(struct str bytes, struct str content_type, enum charset said[2])
{
	struct str own = from_declaration(bytes);

	said[0] = by_label(from_header(content_type));
	said[1] = by_label(own.n > 0 ? own : from_meta(bytes));
	/* Latin in the header is what servers say that know nothing. */
	if (said[0] == CS_NONE ||
	    (said[0] == CS_WINDOWS_1252 && said[1] != CS_NONE &&
		said[1] != CS_UTF_8)) {
		enum charset header = said[0];

		said[0] = said[1];
		said[1] = header;
	}
}

static bool
is_ascii(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] >= 0x80)
			return false;
	return true;
}

/*
 * ISO-2022-JP that nobody declares is ASCII with escapes that no other text
 * has, and that make sense throughout.
 */
static bool
as_shifted(struct str s, struct buf *to)
{
	bool found = false;

	for (struct str rest = s; !found && str_pass(&rest, STR("\x1b$"));)
		found = rest.n > 0 && (rest.p[0] == 'B' || rest.p[0] == '@');
	if (!found || !is_ascii(s))
		return false;
	buf_clear(to);
	return charset_convert(CS_ISO_2022_JP, s, to) == 0;
}

/* What no byte order mark and no zeros tell. */
static int
decode_said(struct str bytes, struct str content_type, struct buf *to,
    bool *ret_as_is, struct err *e)
{
	struct str good = {bytes.p, str_utf8_bad(bytes)};
	enum charset said[2], guessed;

	ask_both(bytes, content_type, said);
	/* Valid UTF-8 is no accident, but these look like ASCII. */
	if (said[0] == CS_REPLACEMENT && is_ascii(good))
		return err_set(e, ERR_INVALID,
		    "its charset is one that browsers refuse too (ISO-2022-KR, ISO-2022-CN, HZ): it has to be written anew, best in UTF-8");
	if (as_shifted(bytes, to))
		return OK;
	*ret_as_is =
	    good.n == bytes.n &&
	    !((said[0] == CS_ISO_2022_JP || said[1] == CS_ISO_2022_JP) &&
		memchr(bytes.p, '\x1b', bytes.n));
	if (*ret_as_is || as_said(said, bytes, to))
		return OK;
	buf_clear(to);
	guessed = mostly_utf8(bytes) ? CS_NONE : charset_guess(bytes);
	if (guessed != CS_NONE)
		(void)charset_convert(guessed, bytes, to);
	else
		mend_utf8(bytes, to);
	return OK;
}

int
charset_decode(struct str bytes, struct str content_type, struct buf *to,
    struct str *ret, struct err *e)
{
	enum charset start = by_start(&bytes);
	bool as_is = start == CS_UTF_8 && str_utf8_bad(bytes) == bytes.n;

	assert(bytes.p);
	if (start == CS_NONE)
		TRY(decode_said(bytes, content_type, to, &as_is, e));
	else if (start != CS_UTF_8)
		(void)charset_convert(start, bytes, to);
	else if (!as_is)
		mend_utf8(bytes, to);
	if (to->failed)
		return err_set(e, ERR_LIMIT, "the text is too large");
	*ret = as_is ? bytes : buf_str(to);
	return OK;
}
