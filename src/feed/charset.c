#include "feed/charset.h"

#include <assert.h>
#include <errno.h>
#include <iconv.h>

#include "base/buf.h"
#include "base/str.h"
#include "feed/charset_priv.h"
#include "feed/entity.h"

#define NAME_MAX_BYTES 40
#define META_BYTES     ((size_t)1024) /* where HTML wants it */

static const char UTF8[] = "UTF-8";

/* What it is called, and what is meant. */
static const struct {
	struct str name;
	const char *as;
} ALIASES[] = {
#define ALIAS(name, as) {STR(name), as},
#include "feed/charsets.tbl"
#undef ALIAS
};

/* The name for iconv; "" when it is none. */
static const char *
known(struct str name, char room[NAME_MAX_BYTES + 1])
{
	name = str_trim(name);
	while (name.n > 0 && (name.p[0] == '"' || name.p[0] == '\''))
		name = str_from(name, 1);
	while (name.n > 0 && strchr("\"'; ", name.p[name.n - 1]))
		name.n--;
	if (name.n == 0 || name.n > NAME_MAX_BYTES)
		return "";
	for (size_t i = 0; i < COUNT_OF(ALIASES); i++)
		if (str_eq_nocase(name, ALIASES[i].name))
			return ALIASES[i].as;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i], low = (char)(c | 0x20);

		/* No "//TRANSLIT" from outside. */
		if (!(low >= 'a' && low <= 'z') && !(c >= '0' && c <= '9') &&
		    !strchr("-_:.", c))
			return "";
		room[i] = c;
	}
	room[name.n] = '\0';
	return room;
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
	const char *at, *end;

	assert(s.p);
	if (s.n > 1024)
		s.n = 1024;
	at = memmem(s.p, s.n, "<?xml", 5);
	if (!at)
		return STR_EMPTY;
	s = str_from(s, (size_t)(at - s.p));
	end = memchr(s.p, '>', s.n);
	if (end)
		s.n = (size_t)(end - s.p);
	at = memmem(s.p, s.n, "encoding", 8);
	if (!at)
		return STR_EMPTY;
	s = str_trim(str_from(s, (size_t)(at - s.p) + 8));
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

		meta =
		    meta || str_eq_nocase((struct str){s.p, 5}, STR("<meta"));
		if (!meta ||
		    !str_eq_nocase((struct str){s.p, 7}, STR("charset")))
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
	const char *charset;
	bool mark; /* to be dropped */
} STARTS[] = {
    {STR("\xef\xbb\xbf"), UTF8, true},
    {STR("\xff\xfe\0\0"), "UTF-32LE", true},
    {STR("\0\0\xfe\xff"), "UTF-32BE", true},
    {STR("\xff\xfe"), "UTF-16LE", true},
    {STR("\xfe\xff"), "UTF-16BE", true},
    {STR("<\0\0\0"), "UTF-32LE", false},
    {STR("\0\0\0<"), "UTF-32BE", false},
    {STR("{\0\0\0"), "UTF-32LE", false},
    {STR("\0\0\0{"), "UTF-32BE", false},
    {STR("<\0"), "UTF-16LE", false},
    {STR("\0<"), "UTF-16BE", false},
    {STR("{\0"), "UTF-16LE", false},
    {STR("\0{"), "UTF-16BE", false},
    {STR("\x4c\x6f\xa7\x94"), "IBM037", false},
};

/* As str_utf8_bad(), eight at a time where it is ASCII. */
static size_t
utf8_bad(struct str s, bool *ret_plain)
{
	size_t at = 0;

	*ret_plain = true;
	while (at < s.n) {
		uint64_t w;
		size_t n;

		if (s.n - at >= 8) {
			memcpy(&w, s.p + at, sizeof(w));
			if (!(w & 0x8080808080808080u)) {
				at += 8;
				continue;
			}
		}
		n = str_utf8_len(str_from(s, at));
		if (n == 0)
			break;
		*ret_plain = *ret_plain && n == 1;
		at += n;
	}
	return at;
}

/* A character that the end of the text cuts in two. */
static bool
cut(struct str s)
{
	unsigned char c = (unsigned char)s.p[0];

	if (c < 0xc2 || c > 0xf4 || s.n > 3 ||
	    s.n >= (c < 0xe0      ? 2u
		       : c < 0xf0 ? 3u
				  : 4u))
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

		if (n == 0 && cut(str_from(s, at)))
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
	bool plain, utf8 = mostly_utf8(s);

	while (s.n > 0) {
		size_t good = utf8_bad(s, &plain);
		char room[ENTITY_MAX];
		uint32_t code = 0;
		unsigned char c;

		buf_add(to, (struct str){s.p, good});
		s = str_from(s, good);
		if (s.n == 0 || (utf8 && cut(s)))
			break;
		good = utf8 ? halves(s, &code) : 0;
		if (good > 0) {
			buf_add(
			    to, (struct str){room, entity_utf8(code, room)});
			s = str_from(s, good);
			continue;
		}
		c = (unsigned char)s.p[0];
		buf_add(
		    to, (struct str){room,
			    entity_utf8(
				c < 0xa0 ? ENTITY_CP1252[c - 0x80] : c, room)});
		s = str_from(s, 1);
	}
}

static void
from_1252(struct str s, struct buf *to)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		char room[ENTITY_MAX];

		if (c < 0x80)
			buf_addc(to, (char)c);
		else
			buf_add(
			    to, (struct str){room,
				    entity_utf8(
					c < 0xa0 ? ENTITY_CP1252[c - 0x80] : c,
					room)});
	}
}

size_t
charset_convert(const char *charset, struct str s, struct buf *to)
{
	/* glibc only reads what it is handed as char *. */
	char *in = (char *)(uintptr_t)s.p;
	size_t left = s.n, wrong = 0;
	iconv_t cd;

	if (strcmp(charset, "CP1252") == 0) {
		from_1252(s, to);
		return 0;
	}
	cd = iconv_open(UTF8, charset);
	if ((intptr_t)cd == -1)
		return SIZE_MAX;
	while (left > 0) {
		size_t want = left < 16384 ? 4 * left + 16 : 32768, room = want;
		char *out = buf_room(to, want);

		if (!out)
			break;
		if (iconv(cd, &in, &left, &out, &room) != (size_t)-1 ||
		    errno == E2BIG) {
			to->n += want - room;
			continue;
		}
		to->n += want - room;
		buf_addz(to, "\xef\xbf\xbd");
		wrong++;
		(void)iconv(cd, NULL, NULL, NULL, NULL);
		in++;
		left--;
	}
	(void)iconv_close(cd);
	return wrong;
}

static const char *
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
		return "UTF-16LE";
	if (b.n >= 8 && !b.p[0] && b.p[1] && !b.p[2] && b.p[3] && !b.p[4])
		return "UTF-16BE";
	return NULL;
}

/* Wide ones are known by their zeros: what has none is none of them. */
static bool
wide(const char *name)
{
	return strncasecmp(name, "UTF-16", 6) == 0 ||
	       strncasecmp(name, "UTF-32", 6) == 0 ||
	       strncasecmp(name, "UTF16", 5) == 0 ||
	       strncasecmp(name, "UCS", 3) == 0 ||
	       strncasecmp(name, "ISO-10646-UCS", 13) == 0;
}

/* Tries what was said, strictly; 0 when one of them fits. */
static bool
as_said(const char *const *said, size_t n, struct str bytes, struct buf *to)
{
	const char *first = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t wrong;

		if (said[i][0] == '\0' || strcmp(said[i], UTF8) == 0 ||
		    wide(said[i]))
			continue;
		buf_clear(to);
		wrong = charset_convert(said[i], bytes, to);
		if (wrong == 0)
			return true;
		if (wrong < bytes.n / 20 && !first)
			first = said[i];
	}
	buf_clear(to);
	return first && charset_convert(first, bytes, to) != SIZE_MAX;
}

int
charset_decode(struct str bytes, struct str content_type, struct buf *to,
    struct str *ret, struct err *e)
{
	char room[2][NAME_MAX_BYTES + 1];
	const char *start = by_start(&bytes), *guessed;
	const char *said[2] = {known(from_header(content_type), room[0]), ""};
	struct str own = from_declaration(bytes);
	bool plain, other = false;
	size_t good;

	assert(bytes.p);
	said[1] = known(own.n > 0 ? own : from_meta(bytes), room[1]);
	/* Latin in the header is what servers say that know nothing. */
	if (strcmp(said[0], "CP1252") == 0 && said[1][0] &&
	    strcmp(said[1], UTF8) != 0) {
		said[0] = said[1];
		said[1] = "CP1252";
	}
	if (start && strcmp(start, UTF8) != 0) {
		(void)charset_convert(start, bytes, to);
		goto out;
	}
	good = utf8_bad(bytes, &plain);
	/* Valid UTF-8 is no accident, but ISO-2022 looks like ASCII. */
	for (size_t i = 0; i < 2 && !start; i++)
		other = other || strncasecmp(said[i], "ISO-2022", 8) == 0 ||
			strncasecmp(said[i], "HZ", 2) == 0;
	if (good == bytes.n && !(other && memchr(bytes.p, '\x1b', bytes.n))) {
		*ret = bytes;
		return OK;
	}
	if (!start && as_said(said, 2, bytes, to))
		goto out;
	buf_clear(to);
	guessed = start || mostly_utf8(bytes) ? NULL : charset_guess(bytes);
	if (guessed)
		(void)charset_convert(guessed, bytes, to);
	else
		mend_utf8(bytes, to);
out:
	if (to->failed)
		return err_set(e, ERR_LIMIT, "the feed is too large");
	*ret = buf_str(to);
	return OK;
}
