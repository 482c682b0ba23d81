#include "http/query.h"

#include <sys/types.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"

static int
nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The length of what was written to p, or -1 for a bad escape. */
static ssize_t
unescape(struct str s, bool plus, char *p)
{
	char *from = p;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '%') {
			int hi = s.n - i > 2 ? nibble(s.p[i + 1]) : -1;
			int lo = s.n - i > 2 ? nibble(s.p[i + 2]) : -1;

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
		char *p = arena_alloc(a, s.n);
		ssize_t n;

		if (!p)
			return err_set(e, ERR_NOMEM, "no room for %s", what);
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

static size_t
count_parts(struct str s)
{
	size_t n = 0;

	while (s.n > 0)
		n += str_cut(&s, '&').n > 0;
	return n;
}

int
pairs_parse(struct arena *a, struct str s, size_t most, const char *what,
    struct req_pair **ret, size_t *ret_n, struct err *e)
{
	size_t n = count_parts(s), at = 0;
	struct req_pair *v;
	int rc;

	if (n > most)
		return err_set(
		    e, ERR_LIMIT, "%s has over %zu parameters", what, most);
	v = arena_array(a, n, sizeof(*v));
	if (!v)
		return err_set(e, ERR_NOMEM, "no room for %s", what);
	while (s.n > 0) {
		struct str value = str_cut(&s, '&'), name;

		if (value.n == 0)
			continue;
		name = str_cut(&value, '=');
		rc = percent_decode(
		    a, name, true, "a parameter's name", &v[at].name, e);
		if (rc == OK)
			rc = percent_decode(a, value, true,
			    "a parameter's value", &v[at].value, e);
		if (rc < 0)
			return rc;
		at++;
	}
	*ret = v;
	*ret_n = at;
	return OK;
}

int
query_parse(struct arena *a, struct str s, const struct req_pair **ret,
    size_t *ret_n, struct err *e)
{
	struct req_pair *v = NULL;
	int rc = pairs_parse(a, s, HTTP_QUERY_MAX, "the query", &v, ret_n, e);

	if (rc == OK)
		*ret = v;
	return rc;
}

bool
req_query(const struct req *r, const char *name, struct str *ret)
{
	struct str want = str_of(name);

	for (size_t i = 0; i < r->n_query; i++)
		if (str_eq(r->query[i].name, want)) {
			*ret = r->query[i].value;
			return true;
		}
	return false;
}

int
req_query_int(const struct req *r, const char *name, int64_t lo, int64_t hi,
    int64_t absent, int64_t *ret, struct err *e)
{
	struct str s;
	int64_t v;

	if (!req_query(r, name, &s)) {
		*ret = absent;
		return OK;
	}
	if (!str_int(s, &v) || v < lo || v > hi)
		return err_set(e, ERR_INVALID,
		    "parameter %s must be a whole number from %lld to %lld",
		    name, (long long)lo, (long long)hi);
	*ret = v;
	return OK;
}

static bool
listed(const char *const *names, struct str name)
{
	for (; *names; names++)
		if (str_eq(str_of(*names), name))
			return true;
	return false;
}

int
req_query_only(const struct req *r, const char *const *names, struct err *e)
{
	for (size_t i = 0; i < r->n_query; i++) {
		struct str name = r->query[i].name;
		int shown = name.n < 64 ? (int)name.n : 64;

		if (!listed(names, name))
			return err_set(e, ERR_INVALID,
			    "there is no parameter %.*s", shown, name.p);
		for (size_t k = 0; k < i; k++)
			if (str_eq(r->query[k].name, name))
				return err_set(e, ERR_INVALID,
				    "parameter %.*s is given twice", shown,
				    name.p);
	}
	return OK;
}

void
percent_add(struct buf *b, struct str s)
{
	static const char HEX[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || (c && strchr("-._~", c))) {
			buf_addc(b, (char)c);
			continue;
		}
		buf_addc(b, '%');
		buf_addc(b, HEX[c >> 4]);
		buf_addc(b, HEX[c & 15]);
	}
}
