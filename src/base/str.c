#include "base/str.h"

static unsigned char
lower(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 'A' && u <= 'Z' ? (unsigned char)(u + 32) : u;
}

struct str
str_of(const char *z)
{
	return z ? (struct str){.p = z, .n = strlen(z)} : STR_EMPTY;
}

bool
str_eq_nocase(struct str a, struct str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (lower(a.p[i]) != lower(b.p[i]))
			return false;
	return true;
}

int
str_cmp(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int d = n ? memcmp(a.p, b.p, n) : 0;

	if (d != 0)
		return d;
	return a.n < b.n ? -1 : a.n > b.n;
}

bool
str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq((struct str){s.p, prefix.n}, prefix);
}

bool
str_starts_nocase(struct str s, struct str prefix)
{
	return s.n >= prefix.n &&
	       str_eq_nocase((struct str){s.p, prefix.n}, prefix);
}

bool
str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && str_eq(str_from(s, s.n - suffix.n), suffix);
}

bool
str_has(struct str s, char c)
{
	return s.n > 0 && memchr(s.p, c, s.n) != NULL;
}

bool
str_is_tchar(char c)
{
	return str_is_letter(c) || str_is_digit(c) ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

struct str
str_trim(struct str s)
{
	while (s.n > 0 && str_is_blank(s.p[0]))
		s = str_from(s, 1);
	while (s.n > 0 && str_is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

struct str
str_put(char **at, struct str s)
{
	struct str copy = {*at, s.n};

	if (s.n > 0)
		memcpy(*at, s.p, s.n);
	*at += s.n;
	return copy;
}

struct str
str_cut(struct str *s, char sep)
{
	const char *at = s->n ? memchr(s->p, sep, s->n) : NULL;
	struct str head = {.p = s->p, .n = at ? (size_t)(at - s->p) : s->n};
	size_t skip = at ? head.n + 1 : head.n;

	*s = str_from(*s, skip);
	return head;
}

bool
str_listed(struct str list, char sep, struct str word)
{
	while (list.n > 0)
		if (str_eq(str_cut(&list, sep), word))
			return true;
	return false;
}

bool
str_pass(struct str *s, struct str what)
{
	const char *at = s->n ? memmem(s->p, s->n, what.p, what.n) : NULL;

	if (at)
		*s = str_from(*s, (size_t)(at - s->p) + what.n);
	return at;
}

bool
str_int(struct str s, int64_t *ret)
{
	bool minus = s.n > 0 && s.p[0] == '-';
	uint64_t limit = minus ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
	uint64_t v = 0;

	if (minus)
		s = str_from(s, 1);
	if (s.n == 0)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned d = (unsigned)(s.p[i] - '0');

		if (d > 9 || v > (limit - d) / 10)
			return false;
		v = v * 10 + d;
	}
	*ret = minus ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

bool
str_unhex(struct str text, void *ret)
{
	unsigned char *to = ret;

	for (size_t i = 0; i + 1 < text.n; i += 2) {
		int hi = str_hex_digit(text.p[i]);
		int lo = str_hex_digit(text.p[i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		*to++ = (unsigned char)(hi << 4 | lo);
	}
	return text.n % 2 == 0;
}

size_t
str_utf8_len(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	unsigned a = p[0];
	size_t n = a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
	/* Of the second byte: past overlong forms, short of surrogates and of
	 * what is no code point. */
	unsigned least = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
	unsigned most = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;

	if (a < 0x80)
		return 1;
	if (a < 0xc2 || a > 0xf4 || s.n < n || p[1] < least || p[1] > most)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

size_t
str_utf8_put(uint32_t code, char ret[4])
{
	static const unsigned char FIRST[] = {[2] = 0xc0, 0xe0, 0xf0};
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--, code >>= 6)
		ret[i] = (char)(0x80 | (code & 0x3f));
	ret[0] = (char)(FIRST[n] | code);
	return n;
}

size_t
str_utf8_bad(struct str s)
{
	size_t at = 0;

	while (at < s.n) {
		uint64_t eight = UINT64_MAX;
		size_t n = sizeof(eight);

		if (s.n - at >= n)
			memcpy(&eight, s.p + at, n);
		/* Where all are ASCII there is nothing to look for. */
		if (eight & UINT64_C(0x8080808080808080))
			n = str_utf8_len(str_from(s, at));
		if (n == 0)
			break;
		at += n;
	}
	return at;
}

struct str
str_chars(struct str s, size_t n)
{
	size_t i = 0, most = 4 * n < s.n ? 4 * n : s.n, chars = 0;

	for (; i < most; i++)
		/* A byte that goes on with a character is none by itself. */
		if (((unsigned char)s.p[i] & 0xc0) != 0x80 && chars++ == n)
			break;
	return (struct str){s.p, i};
}

void
str_clean_utf8(char *p, size_t n)
{
	size_t at = 0;

	while ((at += str_utf8_bad((struct str){p + at, n - at})) < n)
		p[at] = '?';
}
