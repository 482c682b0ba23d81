/* Character references: &amp; &#38; &#x26; and those that lack their end. */
#include "base/str.h"
#include "feed/html_priv.h"

#define NAME_MAX_BYTES 32 /* the longest, with its semicolon */

static const struct {
	const char *name, *text;
} TABLE[] = {
#define ENTITY(name, text) {name, text},
#include "feed/html_entities.tbl"
#undef ENTITY
};

/* What Windows had at 0x80 to 0x9f, and people still write. */
static const uint16_t WINDOWS[32] = {0x20ac, 0x81, 0x201a, 0x192, 0x201e,
    0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d,
    0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc,
    0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178};

size_t
html_utf8(uint32_t code, char ret[4])
{
	if (code < 0x80) {
		ret[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		ret[0] = (char)(0xc0 | code >> 6);
		ret[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		ret[0] = (char)(0xe0 | code >> 12);
		ret[1] = (char)(0x80 | (code >> 6 & 0x3f));
		ret[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	ret[0] = (char)(0xf0 | code >> 18);
	ret[1] = (char)(0x80 | (code >> 12 & 0x3f));
	ret[2] = (char)(0x80 | (code >> 6 & 0x3f));
	ret[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

static int
digit(char c, bool hex)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return hex && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t
numeric(struct str s, char ret[8], size_t *ret_n)
{
	bool hex = s.n > 2 && (s.p[2] | 0x20) == 'x';
	size_t begin = hex ? 3 : 2, i = begin;
	uint32_t code = 0;

	for (; i < s.n; i++) {
		int d = digit(s.p[i], hex);

		if (d < 0)
			break;
		if (code < 0x110000)
			code = code * (hex ? 16 : 10) + (uint32_t)d;
	}
	if (i == begin)
		return 0;
	if (i < s.n && s.p[i] == ';')
		i++;
	if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		code = 0xfffd;
	else if (code >= 0x80 && code < 0xa0)
		code = WINDOWS[code - 0x80];
	*ret_n = html_utf8(code, ret);
	return i;
}

static bool
alnum(char c)
{
	char l = (char)(c | 0x20);

	return (c >= '0' && c <= '9') || (l >= 'a' && l <= 'z');
}

static const char *
find(struct str name)
{
	size_t low = 0, high = COUNT_OF(TABLE);

	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = str_cmp(name, str_of(TABLE[mid].name));

		if (c == 0)
			return TABLE[mid].text;
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

size_t
html_ref(struct str s, bool in_attr, char ret[8], size_t *ret_n)
{
	size_t n = 1;

	if (s.n < 2 || s.p[0] != '&')
		return 0;
	if (s.p[1] == '#')
		return numeric(s, ret, ret_n);
	while (n < s.n && n < NAME_MAX_BYTES && alnum(s.p[n]))
		n++;
	if (n < s.n && s.p[n] == ';')
		n++;
	for (; n > 2; n--) {
		const char *text = find((struct str){s.p + 1, n - 1});

		if (!text)
			continue;
		/* "?a=1&copy=2" in an attribute is no copyright sign. */
		if (in_attr && s.p[n - 1] != ';' && n < s.n &&
		    (s.p[n] == '=' || alnum(s.p[n])))
			return 0;
		*ret_n = strlen(text);
		memcpy(ret, text, *ret_n);
		return n;
	}
	return 0;
}
