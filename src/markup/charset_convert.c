/*
 * iconv is asked for whole characters and believed when it says that all of
 * what it got was right. Where it stands when it says otherwise is not looked
 * at: glibc has gone past what it refuses in some charsets and not in others.
 * What was refused is cut into characters here, by the rules of the Encoding
 * Standard, and each is asked for alone.
 */
#include <iconv.h>

#include "markup/charset.h"
#include "markup/charset_priv.h"
#include "markup/entity.h"

#define CHUNK_BYTES  ((size_t)4096)
/* UTF-8 takes up to 3 bytes for one of theirs. */
#define OUT_BYTES(n) (4 * (n) + 16)
#define NO_CHAR      0xfffd
#define EURO         0x20ac
#define ESC          0x1b

static const struct {
	const char *iconv;
	enum charset_kind kind;
} INFO[CS_COUNT] = {
    [CS_NONE] = {"", CHARSET_REFUSED},
#define ENCODING(id, iconv, kind, labels) [CS_##id] = {iconv, CHARSET_##kind},
#include "markup/charsets.tbl"
};

static const struct {
	enum charset cs;
	unsigned char byte;
	uint16_t code;
} PATCHES[] = {
#define PATCH(id, byte, code) {CS_##id, byte, code},
#include "markup/charsets.tbl"
};

enum charset_kind
charset_kind(enum charset cs)
{
	return INFO[cs].kind;
}

static bool
is_open(iconv_t cd)
{
	return (intptr_t)cd != -1;
}

/* Of charset_load(): iconv keeps what an open one needs. */
static iconv_t kept[CS_COUNT];
static bool loaded;

/* Who loaded them all may have no files now: what is missing is not sought. */
static iconv_t
open_iconv(enum charset cs)
{
	if (loaded && !kept[cs])
		return (iconv_t)(intptr_t)-1;
	return iconv_open("UTF-8", INFO[cs].iconv);
}

const char *
charset_load(void)
{
	const char *missing = NULL;

	for (enum charset cs = CS_NONE; cs < CS_COUNT; cs++) {
		const char *name = INFO[cs].iconv;

		if (!name[0] || kept[cs])
			continue;
		kept[cs] = iconv_open("UTF-8", name);
		if (!is_open(kept[cs])) {
			kept[cs] = NULL;
			missing = name;
		}
	}
	loaded = true;
	return missing;
}

static void
add_code(struct buf *to, uint32_t code)
{
	char room[ENTITY_MAX];

	buf_add(to, (struct str){room, str_utf8_put(code, room)});
}

/* All of s, or nothing of it. */
static bool
convert_all(iconv_t cd, struct str s, struct buf *to)
{
	/* glibc only reads what it is handed as char *. */
	char *in = (char *)(uintptr_t)s.p;
	size_t left = s.n, want = OUT_BYTES(s.n), room = want;
	char *out = buf_room(to, want);
	bool all;

	if (!out)
		return true; /* `to` says so itself */
	(void)iconv(cd, NULL, NULL, NULL, NULL);
	all = iconv(cd, &in, &left, &out, &room) != (size_t)-1 && left == 0;
	/* Some hold a character back that the next one might change. */
	all = all && iconv(cd, NULL, NULL, &out, &room) != (size_t)-1;
	if (all)
		to->n += want - room;
	return all;
}

/* ---- one byte a character ---- */

/* What a byte stands for: as iconv has it, or the standard where that differs.
 * *ret_odd: nobody means it. */
static uint32_t
single(enum charset cs, iconv_t cd, unsigned char c, bool *ret_odd)
{
	struct buf one CLEANUP(buf_done) = BUF(OUT_BYTES(1));
	char byte = (char)c;

	if (c < 0x80 && cs != CS_EBCDIC)
		return c;
	if (cs == CS_X_USER_DEFINED)
		return 0xf780 + c - 0x80U;
	if (cs == CS_WINDOWS_1252)
		return c < 0xa0 ? ENTITY_CP1252[c - 0x80] : c;
	for (size_t i = 0; i < COUNT_OF(PATCHES); i++)
		if (PATCHES[i].cs == cs && PATCHES[i].byte == c)
			return PATCHES[i].code;
	if (convert_all(cd, (struct str){&byte, 1}, &one) && one.n > 0 &&
	    str_utf8_len(buf_str(&one)) == one.n)
		return entity_code(buf_str(&one), one.n);
	*ret_odd = true;
	return c < 0xa0 ? c : NO_CHAR; /* so has windows, too */
}

static size_t
from_single(enum charset cs, struct str s, struct buf *to)
{
	bool ours = INFO[cs].iconv[0] == '\0';
	iconv_t cd = ours ? NULL : open_iconv(cs);
	bool known[256] = {false}, odd[256] = {false};
	uint32_t code[256];
	size_t wrong = 0;

	if (!is_open(cd))
		return SIZE_MAX;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (!known[c])
			code[c] = single(cs, cd, c, &odd[c]);
		known[c] = true;
		wrong += odd[c];
		add_code(to, code[c]);
	}
	if (!ours)
		(void)iconv_close(cd);
	return wrong;
}

/* ---- several bytes a character ---- */

static bool
is_within(unsigned char c, unsigned char from, unsigned char to)
{
	return c >= from && c <= to;
}

static size_t
gb_len(const unsigned char *p, size_t n)
{
	if (!is_within(p[0], 0x81, 0xfe))
		return 1;
	if (n < 2 || !is_within(p[1], 0x30, 0x39))
		return 2;
	if (n > 2 && !is_within(p[2], 0x81, 0xfe))
		return 1;
	return n > 3 && !is_within(p[3], 0x30, 0x39) ? 1 : 4;
}

/* Bytes of the character that s, which is not empty, begins with. Over s.n: the
 * end of the text cuts it. */
static size_t
char_len(enum charset_kind kind, struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	unsigned char c = p[0];

	if (c < 0x80)
		return 1;
	if (kind == CHARSET_SJIS)
		return is_within(c, 0x81, 0x9f) || is_within(c, 0xe0, 0xfc) ? 2
									    : 1;
	if (kind == CHARSET_GB)
		return gb_len(p, s.n);
	if (kind == CHARSET_EUC_JP) {
		if (c == 0x8f && (s.n < 2 || is_within(p[1], 0xa1, 0xfe)))
			return 3;
		return c == 0x8e || c == 0x8f || is_within(c, 0xa1, 0xfe) ? 2
									  : 1;
	}
	return is_within(c, 0x81, 0xfe) ? 2 : 1;
}

/* As many whole characters as a chunk has; 0: the end cuts the first. */
static size_t
chunk_len(enum charset_kind kind, struct str s)
{
	size_t at = 0;

	while (at < s.n && at < CHUNK_BYTES) {
		size_t n = char_len(kind, str_from(s, at));

		if (n > s.n - at)
			break;
		at += n;
	}
	return at;
}

/* Each for itself; s has whole characters. */
static size_t
convert_each(iconv_t cd, enum charset_kind kind, struct str s, struct buf *to)
{
	size_t wrong = 0;

	while (s.n > 0 && !to->failed) {
		size_t n = char_len(kind, s);
		unsigned char c = (unsigned char)s.p[0];

		n = n < s.n ? n : s.n;
		if (c < 0x80) {
			buf_addc(to, (char)c);
		} else if (c == 0x80 && kind == CHARSET_GB) {
			add_code(to, EURO); /* glibc does not know it */
		} else if (!convert_all(cd, (struct str){s.p, n}, to)) {
			wrong++;
			add_code(to, NO_CHAR);
			/* ASCII is no part of it: "<" stays "<". */
			if (n < 4 && (unsigned char)s.p[n - 1] < 0x80)
				n--;
		}
		s = str_from(s, n);
	}
	return wrong;
}

static size_t
from_multi(enum charset cs, struct str s, struct buf *to)
{
	enum charset_kind kind = INFO[cs].kind;
	iconv_t cd = open_iconv(cs);
	size_t wrong = 0;

	if (!is_open(cd))
		return SIZE_MAX;
	while (s.n > 0 && !to->failed) {
		size_t n = chunk_len(kind, s);

		if (n == 0) { /* the end cuts it */
			add_code(to, NO_CHAR);
			wrong++;
			break;
		}
		if (!convert_all(cd, (struct str){s.p, n}, to))
			wrong +=
			    convert_each(cd, kind, (struct str){s.p, n}, to);
		s = str_from(s, n);
	}
	(void)iconv_close(cd);
	return wrong;
}

/* ---- ISO-2022-JP ---- */

struct shifted {
	iconv_t euc;
	struct buf *to;
	size_t wrong;
	/* 'B' ASCII, 'J' the same with yen and overline, 'I' kana, '$' pairs */
	char set;
};

/* The escape that s begins with: its bytes, and the set; 0: none. */
static size_t
escape(struct str s, char *ret_set)
{
	static const struct {
		struct str bytes;
		char set;
	} ALL[] = {{STR("\033(B"), 'B'}, {STR("\033(J"), 'J'},
	    {STR("\033(I"), 'I'}, {STR("\033$@"), '$'}, {STR("\033$B"), '$'}};

	for (size_t i = 0; i < COUNT_OF(ALL); i++)
		if (str_starts(s, ALL[i].bytes)) {
			*ret_set = ALL[i].set;
			return ALL[i].bytes.n;
		}
	return 0;
}

/* Pairs, which are those of EUC-JP without the eighth bit; their bytes. */
static size_t
shifted_pairs(struct shifted *x, struct str s)
{
	char euc[CHUNK_BYTES];
	size_t n = 0;

	while (n < sizeof(euc) && n < s.n &&
	       is_within((unsigned char)s.p[n], 0x21, 0x7e)) {
		euc[n] = (char)(s.p[n] | '\x80');
		n++;
	}
	n -= n % 2;
	if (n > 0) {
		struct str pairs = {euc, n};

		if (!convert_all(x->euc, pairs, x->to))
			x->wrong +=
			    convert_each(x->euc, CHARSET_EUC_JP, pairs, x->to);
		return n;
	}
	/* Half of one: what follows begins anew if it is an escape. */
	x->wrong++;
	add_code(x->to, NO_CHAR);
	return s.n > 1 && s.p[1] != ESC ? 2 : 1;
}

/* Of one of the other sets; the bytes it took. */
static size_t
shifted_char(struct shifted *x, struct str s)
{
	unsigned char c = (unsigned char)s.p[0];
	uint32_t code = NO_CHAR;

	if (x->set == '$' && is_within(c, 0x21, 0x7e))
		return shifted_pairs(x, s);
	if (c < 0x80 && c != ESC && c != 0x0e && c != 0x0f)
		code = x->set == 'J' && c == 0x5c   ? 0xa5
		       : x->set == 'J' && c == 0x7e ? 0x203e
						    : c;
	if (x->set == 'I' && is_within(c, 0x21, 0x5f))
		code = 0xff61 + c - 0x21;
	else if (x->set == 'I' && is_within(c, 0x60, 0x7e))
		code = NO_CHAR;
	x->wrong += code == NO_CHAR;
	add_code(x->to, code);
	return 1;
}

static size_t
from_shifted(struct str s, struct buf *to)
{
	struct shifted x = {
	    .to = to, .set = 'B', .euc = open_iconv(CS_ISO_2022_JP)};

	if (!is_open(x.euc))
		return SIZE_MAX;
	while (s.n > 0 && !to->failed) {
		size_t n = escape(s, &x.set);

		s = str_from(s, n > 0 ? n : shifted_char(&x, s));
	}
	(void)iconv_close(x.euc);
	return x.wrong;
}

/* ---- UTF-16 and UTF-32 ---- */

/* The unit of `size` bytes at p. */
static uint32_t
unit(const char *p, size_t size, bool big)
{
	uint32_t u = 0;

	for (size_t i = 0; i < size; i++)
		u = u << 8 | (unsigned char)p[big ? i : size - 1 - i];
	return u;
}

static size_t
from_wide(struct str s, size_t size, bool big, struct buf *to)
{
	size_t wrong = 0;

	while (s.n > 0 && !to->failed) {
		uint32_t u = s.n < size ? NO_CHAR : unit(s.p, size, big), v;
		size_t n = s.n < size ? s.n : size;
		bool good = s.n >= size && u <= 0x10ffff && u >> 11 != 0x1b;

		if (size == 2 && u >> 10 == 0x36 && s.n >= 4) {
			v = unit(s.p + 2, 2, big);
			good = v >> 10 == 0x37;
			n = good ? 4 : 2;
			u = 0x10000 + ((u & 0x3ff) << 10 | (v & 0x3ff));
		}
		wrong += !good;
		add_code(to, good ? u : NO_CHAR);
		s = str_from(s, n);
	}
	return wrong;
}

size_t
charset_convert(enum charset cs, struct str s, struct buf *to)
{
	enum charset_kind kind = INFO[cs].kind;

	assert(kind != CHARSET_UTF8 && kind != CHARSET_REFUSED);
	switch ((int)kind) {
	case CHARSET_SINGLE:
		return from_single(cs, s, to);
	case CHARSET_PAIRS:
	case CHARSET_SJIS:
	case CHARSET_EUC_JP:
	case CHARSET_GB:
		return from_multi(cs, s, to);
	case CHARSET_SHIFTED:
		return from_shifted(s, to);
	case CHARSET_UTF16:
		return from_wide(s, 2, cs == CS_UTF_16BE, to);
	default:
		return from_wide(s, 4, cs == CS_UTF_32BE, to);
	}
}
