#include "feed/entity.h"

#include "base/str.h"

#define NAME_MAX_BYTES 8 /* "thetasym" */

static const struct {
	const char *name;
	uint32_t code;
} NAMES[] = {
#define ENTITY(name, code) {name, code},
#include "feed/entities.tbl"
#undef ENTITY
};

const uint16_t ENTITY_CP1252[32] = {0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026,
    0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f,
    0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122,
    0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178};

size_t
entity_utf8(uint32_t code, char ret[ENTITY_UTF8_MAX])
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

static uint32_t
named(struct str name)
{
	size_t lo = 0, hi = COUNT_OF(NAMES);

	if (name.n > NAME_MAX_BYTES)
		return 0;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int d = str_cmp(name, str_of(NAMES[mid].name));

		if (d == 0)
			return NAMES[mid].code;
		if (d < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return 0;
}

/* Digits behind "&#"; false when there are none or no semicolon follows. */
static bool
number(struct str s, size_t at, uint32_t *ret, size_t *ret_end)
{
	bool hex = at < s.n && (s.p[at] | 0x20) == 'x';
	uint32_t v = 0;
	size_t from = at += hex;

	for (; at < s.n; at++) {
		char c = s.p[at], low = (char)(c | 0x20);
		uint32_t d;

		if (c >= '0' && c <= '9')
			d = (uint32_t)(c - '0');
		else if (hex && low >= 'a' && low <= 'f')
			d = (uint32_t)(low - 'a' + 10);
		else
			break;
		if (v < 0x110000)
			v = v * (hex ? 16 : 10) + d;
	}
	if (at == from || at == s.n || s.p[at] != ';')
		return false;
	*ret = v;
	*ret_end = at + 1;
	return true;
}

static uint32_t
honest(uint32_t v)
{
	if (v >= 0x80 && v < 0xa0)
		v = ENTITY_CP1252[v - 0x80];
	if ((v < 0x20 && v != '\t' && v != '\n' && v != '\r') ||
	    (v >= 0xd800 && v < 0xe000) || v == 0xfffe || v == 0xffff ||
	    v > 0x10ffff)
		return 0xfffd;
	return v;
}

size_t
entity_read(struct str s, char ret[ENTITY_UTF8_MAX], size_t *ret_n)
{
	uint32_t code = 0;
	size_t end = 0;

	if (s.n < 3)
		return 0;
	if (s.p[1] == '#') {
		if (!number(s, 2, &code, &end))
			return 0;
		*ret_n = entity_utf8(honest(code), ret);
		return end;
	}
	for (end = 1; end < s.n && end <= NAME_MAX_BYTES + 1; end++)
		if (s.p[end] == ';')
			break;
	if (end >= s.n || s.p[end] != ';')
		return 0;
	code = named((struct str){s.p + 1, end - 1});
	if (code == 0)
		return 0;
	*ret_n = entity_utf8(code, ret);
	return end + 1;
}
