#include "markup/entity.h"

#define NAME_MAX_BYTES 32 /* the longest, with its semicolon */

static const struct {
	const char *name, *text;
} TABLE[] = {
#define ENTITY(name, text) {name, text},
#include "entities.tbl"
#undef ENTITY
};

const uint16_t ENTITY_CP1252[32] = {0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026,
    0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f,
    0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122,
    0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178};

uint32_t
entity_code(struct str s, size_t len)
{
	static const unsigned char FIRST[] = {0, 0x7f, 0x1f, 0xf, 7};
	uint32_t code = (unsigned char)s.p[0] & FIRST[len];

	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)s.p[i] & 0x3f);
	return code;
}

/* XML has fewer characters than HTML. */
static uint32_t
allowed(uint32_t v, enum entity_in in)
{
	if (v == 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 0xfffd;
	if (v >= 0x80 && v < 0xa0)
		return ENTITY_CP1252[v - 0x80];
	if (in == ENTITY_IN_XML &&
	    ((v < 0x20 && v != '\t' && v != '\n' && v != '\r') || v == 0xfffe ||
		v == 0xffff))
		return 0xfffd;
	return v;
}

static size_t
numeric(struct str s, enum entity_in in, char ret[ENTITY_MAX], size_t *ret_n)
{
	bool hex = s.n > 2 && (s.p[2] | 0x20) == 'x';
	size_t begin = hex ? 3 : 2, i = begin;
	uint32_t code = 0, base = hex ? 16 : 10;

	for (; i < s.n; i++) {
		int d = str_hex_digit(s.p[i]);

		if (d < 0 || (uint32_t)d >= base)
			break;
		if (code < 0x110000)
			code = code * base + (uint32_t)d;
	}
	if (i == begin)
		return 0;
	if (i < s.n && s.p[i] == ';')
		i++;
	else if (in == ENTITY_IN_XML)
		return 0;
	*ret_n = str_utf8_put(allowed(code, in), ret);
	return i;
}

static bool
is_alnum(char c)
{
	return str_is_digit(c) || str_is_letter(c);
}

static const char *
name_find(struct str name)
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
entity_read(
    struct str s, enum entity_in in, char ret[ENTITY_MAX], size_t *ret_n)
{
	size_t n = 1;

	if (s.n < 2 || s.p[0] != '&')
		return 0;
	if (s.p[1] == '#')
		return numeric(s, in, ret, ret_n);
	while (n < s.n && n < NAME_MAX_BYTES && is_alnum(s.p[n]))
		n++;
	if (n < s.n && s.p[n] == ';')
		n++;
	else if (in == ENTITY_IN_XML)
		return 0;
	for (; n > 2; n--) {
		const char *text = name_find((struct str){s.p + 1, n - 1});

		if (!text && in == ENTITY_IN_XML)
			return 0;
		if (!text)
			continue;
		if (in == ENTITY_IN_ATTR && s.p[n - 1] != ';' && n < s.n &&
		    (s.p[n] == '=' || is_alnum(s.p[n])))
			return 0;
		*ret_n = strlen(text);
		memcpy(ret, text, *ret_n);
		return n;
	}
	return 0;
}
