#include "http/percent.h"

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* The length of what was written to p, or -1 for a bad escape. */
static ssize_t
unescape(struct str s, bool plus, char *p)
{
	char *from = p;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '%') {
			int hi = s.n - i > 2 ? str_hex_digit(s.p[i + 1]) : -1;
			int lo = s.n - i > 2 ? str_hex_digit(s.p[i + 2]) : -1;

			if (hi < 0 || lo < 0)
				return -1;
			c = (char)(hi << 4 | lo);
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		*p++ = c;
	}
	return p - from;
}

int
percent_decode(struct arena *a, struct str s, bool plus, const char *what,
    struct str *ret, struct err *e)
{
	if (str_has(s, '%') || (plus && str_has(s, '+'))) {
		char *p = arena_try(a, s.n);
		ssize_t n;

		if (!p)
			return err_set(e, ERR_LIMIT, "%s is too long", what);
		n = unescape(s, plus, p);
		if (n < 0)
			return err_set(e, ERR_SYNTAX,
			    "%s has a %% without two hex digits", what);
		s = (struct str){p, (size_t)n};
	}
	if (str_has(s, '\0') || str_utf8_bad(s) < s.n)
		return err_set(e, ERR_SYNTAX, "%s is not UTF-8 text", what);
	*ret = s;
	return OK;
}

void
percent_add(struct buf *b, struct str s)
{
	static const char HEX[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (str_is_letter(s.p[i]) || str_is_digit(s.p[i]) ||
		    (c && strchr("-._~", c))) {
			buf_addc(b, (char)c);
			continue;
		}
		buf_addc(b, '%');
		buf_addc(b, HEX[c >> 4]);
		buf_addc(b, HEX[c & 15]);
	}
}
