#include "http/percent.h"

#include <sys/types.h>

/* The length of what was written to p, or -1 for a bad escape. */
static ssize_t
unescape(struct str s, bool plus, char *p)
{
	char *from = p;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '%') {
			if (s.n - i < 3 ||
			    !str_unhex((struct str){s.p + i + 1, 2}, &c))
				return -1;
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
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i], code[4];

		if (str_is_letter(c) || str_is_digit(c) ||
		    str_has(STR("-._~"), c)) {
			buf_addc(b, c);
			continue;
		}
		(void)snprintf(code, sizeof(code), "%%%02X", (unsigned char)c);
		buf_add(b, (struct str){code, 3});
	}
}
