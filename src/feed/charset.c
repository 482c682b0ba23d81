#include "feed/charset.h"

#include <assert.h>
#include <errno.h>
#include <iconv.h>

#include "base/buf.h"
#include "base/str.h"
#include "feed/entity.h"

#define NAME_MAX_BYTES 40
#define SNIFF_BYTES    ((size_t)16384)

static const char UTF8[] = "UTF-8";

/* What it is called, and what is meant. */
static const struct {
	struct str name;
	const char *as;
} ALIASES[] = {
    {STR("utf-8"), UTF8},
    {STR("utf8"), UTF8},
    {STR("iso-8859-1"), "CP1252"},
    {STR("iso8859-1"), "CP1252"},
    {STR("iso_8859-1"), "CP1252"},
    {STR("latin1"), "CP1252"},
    {STR("latin-1"), "CP1252"},
    {STR("us-ascii"), "CP1252"},
    {STR("ascii"), "CP1252"},
    {STR("windows-1252"), "CP1252"},
    {STR("cp1252"), "CP1252"},
    {STR("ansi"), "CP1252"},
    {STR("iso-8859-9"), "CP1254"},
    {STR("iso-8859-11"), "CP874"},
    {STR("tis-620"), "CP874"},
    {STR("gb2312"), "GB18030"},
    {STR("gb_2312-80"), "GB18030"},
    {STR("gbk"), "GB18030"},
    {STR("x-gbk"), "GB18030"},
    {STR("shift_jis"), "CP932"},
    {STR("shift-jis"), "CP932"},
    {STR("sjis"), "CP932"},
    {STR("x-sjis"), "CP932"},
    {STR("windows-31j"), "CP932"},
    {STR("x-euc-jp"), "EUC-JP"},
    {STR("euc-kr"), "CP949"},
    {STR("ks_c_5601-1987"), "CP949"},
    {STR("big5"), "BIG5-HKSCS"},
    {STR("x-x-big5"), "BIG5-HKSCS"},
    {STR("x-mac-roman"), "MACINTOSH"},
    {STR("koi8"), "KOI8-R"},
    /* Nobody writes these, and what they hide passes every filter. */
    {STR("utf-7"), ""},
    {STR("iso-2022-cn-ext"), ""},
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

/* Is there more in it that is UTF-8 than bytes that are not? */
static bool
mostly_utf8(struct str s)
{
	size_t good = 0, bad = 0;

	for (size_t at = 0; at < s.n;) {
		size_t n = str_utf8_len(str_from(s, at));

		if (n == 0 && cut(str_from(s, at)))
			break;
		good += n > 1;
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
		unsigned char c;

		buf_add(to, (struct str){s.p, good});
		s = str_from(s, good);
		if (s.n == 0 || (utf8 && cut(s)))
			break;
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

/* How many bytes made no sense; SIZE_MAX when iconv does not know it. */
static size_t
convert(const char *charset, struct str s, struct buf *to)
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

/* ---- nobody says what it is ---- */

struct tally {
	size_t kana, hangul, han, lower, upper, other;
};

static struct tally
count(struct str s)
{
	struct tally t = {0};

	for (size_t at = 0; at < s.n;) {
		size_t n = str_utf8_len(str_from(s, at));
		const unsigned char *p = (const unsigned char *)s.p + at;
		unsigned c = 0;

		if (n == 2)
			c = (unsigned)(p[0] & 31) << 6 | (p[1] & 63U);
		if (n == 3)
			c = (unsigned)(p[0] & 15) << 12 |
			    (unsigned)(p[1] & 63) << 6 | (p[2] & 63U);
		t.kana += c >= 0x3041 && c < 0x3100;
		t.hangul += c >= 0xac00 && c < 0xd7a4;
		t.han += (c >= 0x4e00 && c < 0xa000) || c == 0x3001 ||
			 c == 0x3002 || c == 0xff0c;
		t.lower += c >= 0x430 && c < 0x460;
		t.upper += c >= 0x400 && c < 0x430;
		t.other += c >= 0x80;
		at += n > 0 ? n : 1;
	}
	return t;
}

/* Out of 100: how much it looks like what this charset is for. */
static size_t
likeness(size_t kind, const struct tally *t)
{
	size_t good = 0;

	if (t->other == 0)
		return 0;
	switch (kind) {
	case 'j': /* Japanese has kana everywhere, in no other reading */
		good = t->kana > 0 ? t->kana * 4 + t->han : 0;
		break;
	case 'k':
		good = t->hangul > 4 * t->han ? t->hangul : 0;
		break;
	case 'r': /* Russian is mostly small letters */
		good = t->lower > t->upper ? t->lower + t->upper : 0;
		break;
	default:
		good = t->han;
		break;
	}
	good = good * 100 / t->other;
	return good > 100 ? 100 : good;
}

static const struct {
	const char *charset;
	size_t kind;
} GUESSES[] = {{"EUC-JP", 'j'}, {"CP932", 'j'}, {"CP949", 'k'}, {"CP1251", 'r'},
    {"KOI8-R", 'r'}, {"GB18030", 'c'}, {"BIG5-HKSCS", 'c'}};

/*
 * Bytes over 127 mostly stand alone in Western texts, and few of them are
 * below 160 other than quotes and dashes. Shift_JIS is full of those.
 */
static bool
western(struct str s)
{
	size_t alone = 0, runs = 0, odd = 0, all = 0;

	for (size_t i = 0; i < s.n; i++) {
		size_t from = i;

		for (; i < s.n && (unsigned char)s.p[i] >= 0x80; i++) {
			unsigned char c = (unsigned char)s.p[i];

			all++;
			odd += c > 0x80 && c < 0xa0 && c != 0x85 &&
			       !(c >= 0x91 && c <= 0x97);
		}
		alone += i - from == 1;
		runs += i - from > 1;
	}
	return alone >= runs && odd * 4 <= all;
}

/* NULL: UTF-8 with other bytes in it, or windows-1252. */
static const char *
guess(struct str s)
{
	const char *best = NULL;
	size_t most = 70;
	struct buf b = BUF(8 * SNIFF_BYTES);

	/* From where it begins to be other than ASCII. */
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] >= 0x80) {
			s = str_from(s, i);
			break;
		}
	s.n = s.n > SNIFF_BYTES ? SNIFF_BYTES : s.n;
	for (size_t i = 0; i < COUNT_OF(GUESSES) && !western(s); i++) {
		struct tally t;
		size_t wrong;

		buf_clear(&b);
		wrong = convert(GUESSES[i].charset, s, &b);
		if (wrong > 1) /* one: where we cut it */
			continue;
		t = count(buf_str(&b));
		if (likeness(GUESSES[i].kind, &t) > most) {
			most = likeness(GUESSES[i].kind, &t);
			best = GUESSES[i].charset;
		}
	}
	buf_done(&b);
	return best;
}

static const char *
by_start(struct str *bytes)
{
	for (size_t i = 0; i < COUNT_OF(STARTS); i++)
		if (str_starts(*bytes, STARTS[i].bytes)) {
			if (STARTS[i].mark)
				*bytes = str_from(*bytes, STARTS[i].bytes.n);
			return STARTS[i].charset;
		}
	return NULL;
}

/* Tries what was said, strictly; 0 when one of them fits. */
static bool
as_said(const char *const *said, size_t n, struct str bytes, struct buf *to)
{
	const char *first = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t wrong;

		if (said[i][0] == '\0' || strcmp(said[i], UTF8) == 0)
			continue;
		buf_clear(to);
		wrong = convert(said[i], bytes, to);
		if (wrong == 0)
			return true;
		if (wrong < bytes.n / 20 && !first)
			first = said[i];
	}
	buf_clear(to);
	return first && convert(first, bytes, to) != SIZE_MAX;
}

int
charset_decode(struct str bytes, struct str content_type, struct buf *to,
    struct str *ret, struct err *e)
{
	char room[2][NAME_MAX_BYTES + 1];
	const char *start = by_start(&bytes), *guessed;
	const char *said[2] = {known(from_header(content_type), room[0]),
	    known(from_declaration(bytes), room[1])};
	bool plain, other = false;
	size_t good;

	assert(bytes.p);
	if (start && strcmp(start, UTF8) != 0) {
		(void)convert(start, bytes, to);
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
	guessed = start || mostly_utf8(bytes) ? NULL : guess(bytes);
	if (guessed)
		(void)convert(guessed, bytes, to);
	else
		mend_utf8(bytes, to);
out:
	if (to->failed)
		return err_set(e, ERR_LIMIT, "the feed is too large");
	*ret = buf_str(to);
	return OK;
}
