#include "markup/href.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "markup/limits.h"

/* A link in parts, all borrowed. */
struct parts {
	struct str scheme;    /* without its colon; empty: relative */
	struct str authority; /* .p NULL: none */
	struct str path, query, fragment; /* these with '?' and '#' */
};

/* What browsers take off: controls and blanks around, tabs and ends of lines
 * anywhere. */
static struct str
stripped(struct arena *a, struct str s)
{
	char *p;
	size_t n = 0;

	while (s.n > 0 && (unsigned char)s.p[0] <= ' ')
		s = str_from(s, 1);
	while (s.n > 0 && (unsigned char)s.p[s.n - 1] <= ' ')
		s.n--;
	if (s.n > HREF_MAX || !(p = arena_try(a, s.n + 1)))
		return (struct str){NULL, 0};
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '\t' && s.p[i] != '\n' && s.p[i] != '\r')
			p[n++] = s.p[i];
	return (struct str){p, n};
}

struct str
href_scheme(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == ':' && i > 0)
			return (struct str){s.p, i};
		if (!str_is_letter(c) &&
		    (i == 0 ||
			!(str_is_digit(c) || c == '+' || c == '-' || c == '.')))
			break;
	}
	return STR_EMPTY;
}

static bool
is_slash(char c)
{
	return c == '/' || c == '\\';
}

static size_t
span_to(struct str s, const char *stops)
{
	size_t i = 0;

	while (i < s.n && !(s.p[i] && strchr(stops, s.p[i])))
		i++;
	return i;
}

/* Behind the scheme, or all of it when there is none. */
static void
split(struct str s, bool absolute, struct parts *r)
{
	size_t n = 0;

	r->authority = (struct str){NULL, 0};
	while (absolute && n < s.n && is_slash(s.p[n]))
		n++;
	if (absolute || (s.n > 1 && is_slash(s.p[0]) && is_slash(s.p[1]))) {
		while (n < s.n && is_slash(s.p[n]))
			n++;
		s = str_from(s, n);
		n = span_to(s, "/\\?#");
		r->authority = (struct str){s.p, n};
		s = str_from(s, n);
	}
	n = span_to(s, "?#");
	r->path = (struct str){s.p, n};
	s = str_from(s, n);
	n = span_to(s, "#");
	r->query = (struct str){s.p, n};
	r->fragment = str_from(s, n);
}

/* Bytes that stand for themselves in no URL. */
static void
add_encoded(struct buf *b, struct str s, bool path)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '\\' && path)
			buf_addc(b, '/');
		else if (c <= ' ' || c >= 0x7f || strchr("\"'<>`{}|\\^", c))
			buf_fmt(b, "%%%02X", c);
		else
			buf_addc(b, (char)c);
	}
}

/* How much of s is one segment of a path, with the slash before it. */
static size_t
segment(struct str s)
{
	size_t n = 1;

	while (n < s.n && s.p[n] != '/')
		n++;
	return n;
}

static bool
dots(struct str seg, size_t count)
{
	size_t found = 0;

	seg = str_from(seg, 1);
	while (seg.n > 0) {
		if (seg.p[0] == '.')
			seg = str_from(seg, 1);
		else if (seg.n > 2 &&
			 str_eq_nocase((struct str){seg.p, 3}, STR("%2e")))
			seg = str_from(seg, 3);
		else
			return false;
		found++;
	}
	return found == count;
}

/* In place, from `begin` on, where a slash stands: without . and .. */
static void
remove_dots(struct buf *b, size_t begin)
{
	size_t to = begin, at = begin;

	while (b->p && at < b->n) {
		struct str seg = {
		    b->p + at, segment((struct str){b->p + at, b->n - at})};
		bool last = at + seg.n == b->n;
		bool one = dots(seg, 1), two = dots(seg, 2);

		if (two)
			while (to > begin && b->p[--to] != '/')
				continue;
		if (!one && !two) {
			memmove(b->p + to, seg.p, seg.n);
			to += seg.n;
		} else if (last) {
			b->p[to++] = '/';
		}
		at += seg.n;
	}
	b->n = to;
}

/* Up to and with the last slash. */
static struct str
folder(struct str path)
{
	while (path.n > 0 && !is_slash(path.p[path.n - 1]))
		path.n--;
	return path;
}

static int
scheme_bit(struct str s)
{
	return str_eq_nocase(s, STR("http"))     ? HREF_HTTP
	       : str_eq_nocase(s, STR("https"))  ? HREF_HTTPS
	       : str_eq_nocase(s, STR("mailto")) ? HREF_MAILTO
						 : 0;
}

/* A host and perhaps a port: nobody hides there behind a name or a code. */
static bool
good_authority(struct str s)
{
	if (s.n == 0 || s.p[0] == ':')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= ' ' || c == 0x7f || strchr("\"'<>`{}|\\^@%", c))
			return false;
		/* Controls of C1, and a byte order mark. */
		if (s.n - i > 1 && c == 0xc2 &&
		    (unsigned char)s.p[i + 1] < 0xa0)
			return false;
		if (s.n - i > 2 && memcmp(s.p + i, "\xef\xbb\xbf", 3) == 0)
			return false;
	}
	return true;
}

static bool
write_link(struct buf *b, const struct parts *base, const struct parts *r)
{
	const struct parts *from = r->authority.p ? r : base;
	bool own_path = r->authority.p || r->path.n > 0;
	size_t begin;

	if (!good_authority(from->authority))
		return false;
	buf_addz(
	    b, scheme_bit(r->scheme.n ? r->scheme : base->scheme) == HREF_HTTPS
		   ? "https://"
		   : "http://");
	for (size_t i = 0; i < from->authority.n; i++) {
		char c = from->authority.p[i];

		buf_addc(b, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
	}
	begin = b->n;
	if (!own_path) {
		add_encoded(b, base->path, true);
	} else {
		if (!r->authority.p && !is_slash(r->path.p[0]))
			add_encoded(b,
			    base->path.n ? folder(base->path) : STR("/"), true);
		add_encoded(b, r->path, true);
	}
	if (b->failed || b->n == begin || b->p[begin] != '/') {
		struct str rest = {b->p ? b->p + begin : "", b->n - begin};

		if (rest.n > 0)
			return false;
		buf_addc(b, '/');
	}
	if (!b->failed)
		remove_dots(b, begin);
	add_encoded(
	    b, own_path || r->query.n > 0 ? r->query : base->query, false);
	add_encoded(b, r->fragment, false);
	return !b->failed;
}

static bool
write_mail(struct buf *b, struct str rest)
{
	buf_addz(b, "mailto:");
	add_encoded(b, rest, false);
	return rest.n > 0;
}

struct str
href_resolve(struct arena *a, struct str base, struct str text, int schemes)
{
	struct str s = stripped(a, text), ret = {NULL, 0};
	struct parts r = {.scheme = STR_EMPTY}, from = {.scheme = STR_EMPTY};
	struct buf b = BUF(HREF_MAX);
	int bit = 0;
	bool ok = false;

	if (!s.p)
		return ret;
	r.scheme = href_scheme(s);
	base = stripped(a, base);
	from.scheme = href_scheme(base);
	if (!(scheme_bit(from.scheme) & (HREF_HTTP | HREF_HTTPS)))
		from.scheme = STR_EMPTY;
	bit = scheme_bit(r.scheme.n > 0 ? r.scheme : from.scheme);
	if (!(bit & schemes))
		return ret;
	if (bit == HREF_MAILTO) {
		ok = write_mail(&b, str_from(s, r.scheme.n + 1));
	} else {
		if (r.scheme.n > 0)
			s = str_from(s, r.scheme.n + 1);
		if (from.scheme.n > 0)
			split(str_from(base, from.scheme.n + 1), true, &from);
		split(s, r.scheme.n > 0, &r);
		ok = write_link(&b, &from, &r);
	}
	if (ok && !b.failed)
		ret = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return ret;
}

struct str
href_host(struct str url)
{
	struct str s = str_from(url, str_starts(url, STR("https://")) ? 8 : 7);

	return (struct str){s.p, span_to(s, "/?#")};
}
