#include "markup/href.h"

#include "markup/limits.h"
#include "markup/text.h"

/* As it is written, or as a browser writes it: bytes that stand for themselves
 * in no URL are encoded, and a path has no backslash. */
enum how { AS_IS, PATH, TAIL };

/* A link in parts, all borrowed. */
struct parts {
	struct str scheme;    /* without its colon; empty: relative */
	struct str authority; /* without its slashes; .p NULL: none */
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
is_slash(char c, bool browser)
{
	return c == '/' || (c == '\\' && browser);
}

static size_t
span_to(struct str s, const char *stops)
{
	size_t i = 0;

	while (i < s.n && !(s.p[i] && strchr(stops, s.p[i])))
		i++;
	return i;
}

/* A browser takes any slashes for two, and behind a scheme none. */
static struct parts
split(struct str s, bool browser)
{
	struct parts r = {.scheme = href_scheme(s)};
	size_t n = 0;

	if (r.scheme.n > 0)
		s = str_from(s, r.scheme.n + 1);
	while (n < s.n && is_slash(s.p[n], browser))
		n++;
	if (n > 1 || (browser && r.scheme.n > 0)) {
		s = str_from(s, browser ? n : 2);
		n = span_to(s, browser ? "/\\?#" : "/?#");
		r.authority = (struct str){s.p, n};
		s = str_from(s, n);
	}
	n = span_to(s, "?#");
	r.path = (struct str){s.p, n};
	s = str_from(s, n);
	n = span_to(s, "#");
	r.query = (struct str){s.p, n};
	r.fragment = str_from(s, n);
	return r;
}

static void
add_part(struct buf *b, struct str s, enum how how)
{
	if (how == AS_IS) {
		buf_add(b, s);
		return;
	}
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '\\' && how == PATH)
			buf_addc(b, '/');
		else if (c <= ' ' || c >= 0x7f || strchr("\"'<>`{}|\\^", c))
			buf_fmt(b, "%%%02X", c);
		else
			buf_addc(b, (char)c);
	}
}

/* How many dots it is, and nothing else; 0: it is more. */
static size_t
dots(struct str s, bool browser)
{
	size_t n = 0;

	for (; s.n > 0; n++)
		if (s.p[0] == '.')
			s = str_from(s, 1);
		else if (browser && str_starts_nocase(s, STR("%2e")))
			s = str_from(s, 3);
		else
			return 0;
	return n;
}

/* In place, from `begin` on, where a slash stands: without . and .. */
static void
remove_dots(struct buf *b, size_t begin, bool browser)
{
	size_t to = begin, at = begin, end;

	for (; at < b->n; at = end) {
		struct str rest = {b->p + at + 1, b->n - at - 1};
		size_t n = span_to(rest, "/"), up;

		end = at + 1 + n;
		up = dots((struct str){rest.p, n}, browser);
		if (up == 2)
			while (to > begin && b->p[--to] != '/')
				continue;
		if (up != 1 && up != 2) {
			memmove(b->p + to, b->p + at, end - at);
			to += end - at;
		} else if (end == b->n) {
			b->p[to++] = '/';
		}
	}
	b->n = to;
}

/* Behind the authority. RFC 3986, 5.2.2: what r leaves out is the base's. */
static void
add_rest(struct buf *b, const struct parts *base, const struct parts *r,
    bool browser)
{
	bool own = r->authority.p || r->path.n > 0;
	enum how path = browser ? PATH : AS_IS, tail = browser ? TAIL : AS_IS;
	struct str folder = base->path;
	size_t begin = b->n;

	if (!own) {
		add_part(b, base->path, path);
	} else if (!r->authority.p && !is_slash(r->path.p[0], browser)) {
		while (
		    folder.n > 0 && !is_slash(folder.p[folder.n - 1], browser))
			folder.n--;
		if (folder.n == 0 && base->authority.p)
			folder = STR("/");
		add_part(b, folder, path);
	}
	add_part(b, r->path, path);
	if (browser && b->n == begin)
		buf_addc(b, '/');
	if (!b->failed && b->n > begin && b->p[begin] == '/')
		remove_dots(b, begin, browser);
	add_part(b, own || r->query.n > 0 ? r->query : base->query, tail);
	add_part(b, r->fragment, tail);
}

struct str
href_join(struct arena *a, struct str base, struct str link)
{
	struct parts from = split(base, false), r = split(link, false);
	struct str host = r.authority.p ? r.authority : from.authority;
	struct buf b CLEANUP(buf_done) = BUF(base.n + link.n + 1);

	buf_add(&b, (struct str){from.scheme.p, from.scheme.n + 1});
	if (host.p)
		buf_addz(&b, "//");
	buf_add(&b, host);
	add_rest(&b, &from, &r, false);
	return text_copy(a, buf_str(&b));
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
	struct str host = r->authority.p ? r->authority : base->authority;

	if (!good_authority(host))
		return false;
	buf_addz(
	    b, scheme_bit(r->scheme.n ? r->scheme : base->scheme) == HREF_HTTPS
		   ? "https://"
		   : "http://");
	for (size_t i = 0; i < host.n; i++) {
		char c = host.p[i];

		buf_addc(b, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
	}
	add_rest(b, base, r, true);
	return true;
}

struct str
href_resolve(struct arena *a, struct str base, struct str text, int schemes)
{
	struct str s = stripped(a, text), none = {NULL, 0};
	struct buf b CLEANUP(buf_done) = BUF(HREF_MAX);
	struct parts r, from;
	bool ok;
	int bit;

	if (!s.p)
		return none;
	r = split(s, true);
	from = split(stripped(a, base), true);
	if (!(scheme_bit(from.scheme) & (HREF_HTTP | HREF_HTTPS)))
		from = (struct parts){.scheme = STR_EMPTY};
	bit = scheme_bit(r.scheme.n > 0 ? r.scheme : from.scheme);
	if (!(bit & schemes))
		return none;
	if (bit == HREF_MAILTO) {
		s = str_from(s, r.scheme.n + 1);
		buf_addz(&b, "mailto:");
		add_part(&b, s, TAIL);
		ok = s.n > 0;
	} else {
		ok = write_link(&b, &from, &r);
	}
	return ok && !b.failed ? arena_dup(a, buf_str(&b)) : none;
}

struct str
href_host(struct str url)
{
	struct str s = str_from(url, str_starts(url, STR("https://")) ? 8 : 7);

	return (struct str){s.p, span_to(s, "/?#")};
}
