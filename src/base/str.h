/*
 * str.h - looking at, comparing and reading borrowed bytes.
 *
 * All cope with empty runs. Numbers are read strictly: the whole run or
 * nothing, no sign where none belongs, no overflow.
 */
#pragma once

#include "base/base.h"

struct str str_of(const char *z); /* NULL gives the empty run */

/* What whoever reads a text calls at each step is here for speed. */
static inline bool
str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* From byte `at` on. */
static inline struct str
str_from(struct str s, size_t at)
{
	if (at == 0)
		return s;
	if (at >= s.n)
		return (struct str){.p = s.p ? s.p + s.n : NULL, .n = 0};
	return (struct str){.p = s.p + at, .n = s.n - at};
}

/* Of ASCII. */
static inline bool
str_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static inline bool
str_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
str_is_letter(char c)
{
	char low = (char)(c | 0x20);

	return low >= 'a' && low <= 'z';
}

bool str_eq_nocase(struct str a, struct str b); /* ASCII only */
int str_cmp(struct str a, struct str b);
bool str_starts(struct str s, struct str prefix);
bool str_starts_nocase(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
bool str_has(struct str s, char c);
/* What tokens are made of: RFC 9110, 5.6.2. */
bool str_is_tchar(char c);
struct str str_trim(struct str s); /* blanks, tabs, CR, LF */
/* Copies s to *at, which moves behind it. */
struct str str_put(char **at, struct str s);
/* Takes the head off *s, up to `sep`, which is dropped. */
struct str str_cut(struct str *s, char sep);
/* Is it one of the words of the list? */
bool str_listed(struct str list, char sep, struct str word);
/* Goes on behind the first `what`; false: it is not in there. */
bool str_pass(struct str *s, struct str what);
bool str_int(struct str s, int64_t *ret);
/* Its value, -1: none. */
static inline int
str_hex_digit(char c)
{
	static const signed char FROM_0[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1,
	    -1, -1, -1, -1, -1, -1, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1,
	    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	    -1, -1, -1, -1, 10, 11, 12, 13, 14, 15};
	size_t i = (size_t)(unsigned char)c - '0';

	return i < sizeof(FROM_0) ? FROM_0[i] : -1;
}
/* Two digits a byte, either case, to text.n / 2 bytes; false: no such text. */
bool str_unhex(struct str text, void *ret);
/* Length of the UTF-8 sequence that s, not empty, begins with; 0: none. */
size_t str_utf8_len(struct str s);
/* A code point as UTF-8; returns its length. */
size_t str_utf8_put(uint32_t code, char ret[4]);
/* Position of the first byte that is no valid UTF-8, or s.n when all is. */
size_t str_utf8_bad(struct str s);
/* Its first n characters, in 4 n bytes at most whatever these are. */
struct str str_chars(struct str s, size_t n);
/* Bytes that are no valid UTF-8 become question marks. */
void str_clean_utf8(char *p, size_t n);
