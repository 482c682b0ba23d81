#include "feed/link.h"

#include "base/arena.h"
#include "base/str.h"
#include "feed/limits.h"
#include "markup/href.h"

/* How many bytes "scheme:" takes; 0 when there is none. */
static size_t
scheme(struct str s)
{
	size_t n = href_scheme(s).n;

	return n > 0 ? n + 1 : 0;
}

bool
link_absolute(struct str link)
{
	return scheme(link) > 0;
}

static bool
has_scheme(struct str s, const struct str *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(href_scheme(s), names[i]))
			return true;
	return false;
}

bool
link_web(struct str s)
{
	static const struct str WEB[] = {STR("http"), STR("https")};
	size_t n = scheme(s);

	return has_scheme(s, WEB, COUNT_OF(WEB)) &&
	       str_starts(str_from(s, n), STR("//")) && s.n > n + 2;
}

static bool
runs(struct str s)
{
	static const struct str BAD[] = {
	    STR("javascript"), STR("data"), STR("vbscript"), STR("file")};

	return has_scheme(s, BAD, COUNT_OF(BAD));
}

static struct str
tidy(struct arena *a, struct str s)
{
	size_t n = 0;
	char *p;

	s = str_trim(s);
	if (s.n == 0 || s.n > FEED_LINK_MAX)
		return STR_EMPTY;
	p = arena_try(a, 3 * s.n);
	if (!p)
		return STR_EMPTY;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == ' ') {
			p[n++] = '%';
			p[n++] = '2';
			p[n++] = '0';
		} else if (c > ' ' && c != 0x7f) {
			p[n++] = (char)c;
		}
	}
	return (struct str){p, n};
}

/* A reference in its parts; each with its own mark at the front. */
struct parts {
	struct str scheme, authority, path, tail; /* tail: ?query#fragment */
	struct str fragment;
};

static size_t
until(struct str s, const char *marks)
{
	size_t i = 0;

	while (i < s.n && !strchr(marks, s.p[i]))
		i++;
	return i;
}

static struct parts
split(struct str s)
{
	struct parts r = {.scheme = {s.p, scheme(s)}};
	size_t n;

	s = str_from(s, r.scheme.n);
	r.authority = (struct str){s.p, 0};
	if (str_starts(s, STR("//"))) {
		r.authority.n = 2 + until(str_from(s, 2), "/?#");
		s = str_from(s, r.authority.n);
	}
	n = until(s, "?#");
	r.path = (struct str){s.p, n};
	s = str_from(s, n);
	n = until(s, "#");
	r.tail = (struct str){s.p, n};
	r.fragment = str_from(s, n);
	return r;
}

/* In place: "." and ".." go. Returns the new length; p[0] is '/'. */
static size_t
no_dots(char *p, size_t n)
{
	size_t to = 0, at = 0;

	while (at < n) {
		size_t end = at + 1;
		struct str seg;

		while (end < n && p[end] != '/')
			end++;
		seg = (struct str){p + at + 1, end - at - 1};
		if (str_eq(seg, STR("..")))
			while (to > 0 && p[--to] != '/')
				continue;
		if (str_eq(seg, STR(".")) || str_eq(seg, STR(".."))) {
			if (end == n)
				p[to++] = '/';
		} else {
			memmove(p + to, p + at, end - at);
			to += end - at;
		}
		at = end;
	}
	return to;
}

static void
put_part(char *p, size_t *n, struct str s)
{
	if (s.n > 0)
		memcpy(p + *n, s.p, s.n);
	*n += s.n;
}

static struct str
join(struct arena *a, const struct parts *b, const struct parts *r)
{
	size_t n = 0, from, dir = b->path.n;
	char *p = arena_try(a, b->scheme.n + b->authority.n + b->path.n +
				   b->tail.n + r->authority.n + r->path.n +
				   r->tail.n + r->fragment.n + 2);

	if (!p)
		return STR_EMPTY;
	put_part(p, &n, b->scheme);
	put_part(p, &n, r->authority.n > 0 ? r->authority : b->authority);
	from = n;
	if (r->authority.n > 0 || (r->path.n > 0 && r->path.p[0] == '/')) {
		put_part(p, &n, r->path);
	} else if (r->path.n == 0) {
		put_part(p, &n, b->path);
	} else {
		while (dir > 0 && b->path.p[dir - 1] != '/')
			dir--;
		put_part(p, &n, (struct str){b->path.p, dir});
		if (dir == 0 && b->authority.n > 0)
			p[n++] = '/';
		put_part(p, &n, r->path);
	}
	if (n > from && p[from] == '/')
		n = from + no_dots(p + from, n - from);
	if (r->authority.n == 0 && r->path.n == 0 && r->tail.n == 0)
		put_part(p, &n, b->tail);
	put_part(p, &n, r->tail);
	put_part(p, &n, r->fragment);
	return (struct str){p, n};
}

struct str
link_resolve(struct arena *a, struct str base, struct str link)
{
	struct str s = tidy(a, link);
	struct parts b, r;

	if (s.n == 0 || runs(s))
		return STR_EMPTY;
	base = str_trim(base);
	if (link_absolute(s) || !link_absolute(base) || base.n > FEED_LINK_MAX)
		return s;
	b = split(base);
	r = split(s);
	s = join(a, &b, &r);
	return runs(s) ? STR_EMPTY : s;
}
