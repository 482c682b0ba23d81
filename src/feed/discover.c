#include "feed/discover.h"

#include "feed/feed_priv.h"
#include "markup/charset.h"
#include "markup/href.h"
#include "markup/html.h"
#include "markup/limits.h"

/* The largest page: its text, converted, and as much of its tree as fits. */
#define PAGE_MEM (64 * MIB)
#define PIXELS   32 /* what an icon is shown at, twice */
#define WEB      (HREF_HTTP | HREF_HTTPS)

const char *const DISCOVER_PATHS[] = {"/feed", "/feed/", "/rss", "/rss.xml",
    "/atom.xml", "/feed.xml", "/index.xml", "/feed.json",
    "/feeds/posts/default", "/?feed=rss2", "/index.rdf", NULL};

const char *
discover_kind_name(enum discover_kind k)
{
	static const char *const NAMES[] = {
	    [DISCOVER_ATOM] = "atom",
	    [DISCOVER_RSS] = "rss",
	    [DISCOVER_JSON] = "json",
	    [DISCOVER_XML] = "xml",
	};

	return NAMES[k];
}

static bool
contains(struct str s, const char *z)
{
	for (; s.n > 0; s = str_from(s, 1))
		if (str_starts_nocase(s, str_of(z)))
			return true;
	return false;
}

/* ---- links ---- */

struct search {
	struct arena *keep, *scratch;
	struct arena *links; /* what one of them needs */
	struct str url, base;
	struct discover *ret;
};

/* Is `word` one of the blank-separated words of s? */
static bool
has_word(struct str s, const char *word)
{
	while (s.n > 0) {
		size_t n = 0;

		while (n < s.n && s.p[n] && !strchr(" \t\n\f\r", s.p[n]))
			n++;
		if (str_eq_nocase((struct str){s.p, n}, str_of(word)))
			return true;
		s = str_from(s, n + 1);
	}
	return false;
}

/* What a <link> or a Link header says. */
struct named {
	struct str rel, type, href, title;
};

/* False: nothing that a feed could be. */
static bool
kind_of(const struct named *n, enum discover_kind *ret)
{
	static const struct {
		const char *type;
		enum discover_kind kind;
		bool sure;
	} TYPES[] = {
	    {"application/atom+xml", DISCOVER_ATOM, true},
	    {"application/rss+xml", DISCOVER_RSS, true},
	    {"application/rdf+xml", DISCOVER_RSS, true},
	    {"application/feed+json", DISCOVER_JSON, true},
	    {"application/json", DISCOVER_JSON, false},
	    {"application/xml", DISCOVER_XML, false},
	    {"text/xml", DISCOVER_XML, false},
	};
	bool called = contains(n->title, "rss") || contains(n->title, "atom") ||
		      contains(n->title, "feed") || contains(n->href, "rss") ||
		      contains(n->href, "atom") || contains(n->href, "feed");
	struct str type = n->type;

	type = str_trim(str_cut(&type, ';'));
	for (size_t i = 0; i < COUNT_OF(TYPES); i++) {
		if (!str_eq_nocase(type, str_of(TYPES[i].type)))
			continue;
		*ret = TYPES[i].kind;
		return TYPES[i].sure || called;
	}
	*ret = DISCOVER_XML;
	return type.n == 0 && has_word(n->rel, "feed");
}

/* White space is one blank; cut at a character. */
static struct str
tidy_title(struct arena *a, struct str s)
{
	char *p;
	size_t n = 0;

	s = str_trim(str_chars(str_trim(s), DISCOVER_TITLE_MAX));
	p = arena_alloc(a, s.n + 1);
	for (size_t i = 0; i < s.n; i++) {
		bool blank = (unsigned char)s.p[i] <= ' ';

		if (!blank || (n > 0 && p[n - 1] != ' '))
			p[n++] = blank ? ' ' : s.p[i];
	}
	return (struct str){p, n};
}

/* For the time being: what is kept is copied. */
static struct str
link_of(struct search *s, struct str href)
{
	arena_reset(s->links);
	return href.n > 0 ? href_resolve(s->links, s->base, href, WEB)
			  : (struct str){NULL, 0};
}

static int
feed_rank(const struct discover_feed *f)
{
	int kind = f->kind == DISCOVER_ATOM  ? 0
		   : f->kind == DISCOVER_RSS ? 1
					     : 2;

	return (f->same_host ? 0 : 10) + kind;
}

/* Smaller than wanted is worse than larger; not said is between. */
static int
icon_rank(const struct discover_icon *i)
{
	int off = i->pixels == 0        ? 500
		  : i->pixels >= PIXELS ? i->pixels - PIXELS
					: 600 + PIXELS - i->pixels;

	off = off < 1000 ? off : 1000;
	return off + (i->touch ? 2000 : 0) + (i->svg ? 4000 : 0);
}

static void
take_feed(struct search *s, const struct named *n)
{
	struct discover *d = s->ret;
	struct discover_feed f = {0};
	size_t at = d->n_feeds;

	if (d->n_feeds == DISCOVER_FEEDS_MAX || !kind_of(n, &f.kind) ||
	    !(has_word(n->rel, "alternate") || has_word(n->rel, "feed")) ||
	    has_word(n->rel, "stylesheet"))
		return;
	f.url = link_of(s, n->href);
	if (!f.url.p)
		return;
	for (size_t i = 0; i < d->n_feeds; i++)
		if (str_eq(d->feeds[i].url, f.url))
			return;
	f.url = arena_dup(s->keep, f.url);
	f.title = tidy_title(s->keep, n->title);
	f.same_host = str_eq(href_host(f.url), href_host(s->url));
	for (; at > 0 && feed_rank(&d->feeds[at - 1]) > feed_rank(&f); at--)
		d->feeds[at] = d->feeds[at - 1];
	d->feeds[at] = f;
	d->n_feeds++;
}

/* "16x16 32x32": that which fits best. "any" is none: it is SVG's. */
static int
best_size(struct str sizes)
{
	int best = 0;

	while (sizes.n > 0) {
		struct str one = str_cut(&sizes, ' ');
		int64_t v = 0;

		for (size_t i = 0; i < one.n; i++)
			if ((one.p[i] | 0x20) == 'x') {
				one.n = i;
				break;
			}
		if (one.n > 5 || !str_int(one, &v) || v < 1)
			continue;
		if (best == 0 ||
		    (best < PIXELS ? v > best : v >= PIXELS && v < best))
			best = (int)v;
	}
	return best;
}

/* By rank, behind its equals; or behind all. */
static void
add_icon(struct search *s, struct discover_icon icon, bool last)
{
	struct discover *d = s->ret;
	size_t at = d->n_icons;

	for (size_t i = 0; i < d->n_icons; i++)
		if (str_eq(d->icons[i].url, icon.url))
			return;
	icon.url = arena_dup(s->keep, icon.url);
	for (;
	     at > 0 && !last && icon_rank(&d->icons[at - 1]) > icon_rank(&icon);
	     at--)
		d->icons[at] = d->icons[at - 1];
	d->icons[at] = icon;
	d->n_icons++;
}

static void
take_icon(struct search *s, const struct html_node *n)
{
	struct str type = html_attr(n, "type");
	struct discover_icon i = {0};

	if (s->ret->n_icons == DISCOVER_ICONS_MAX)
		return;
	i.url = link_of(s, html_attr(n, "href"));
	if (!i.url.p)
		return;
	i.touch = !has_word(html_attr(n, "rel"), "icon");
	i.pixels = best_size(html_attr(n, "sizes"));
	i.svg = str_eq_nocase(str_trim(type), STR("image/svg+xml")) ||
		str_ends(i.url, STR(".svg"));
	add_icon(s, i, false);
}

/* Content that is not the page's own. */
static bool
closed(const struct html_node *n)
{
	return n->ns != NS_HTML || n->tag == T_TEMPLATE || n->tag == T_OBJECT;
}

/* The next such element of the page's own behind n; NULL: there is none. */
static const struct html_node *
next_tag(
    const struct html_node *root, const struct html_node *n, enum html_tag tag)
{
	do
		n = html_next(root, n, n != root && closed(n));
	while (n && (n->is_text || n->ns != NS_HTML || n->tag != tag));
	return n;
}

static void
find_base(struct search *s, const struct html_node *root)
{
	for (const struct html_node *n = next_tag(root, root, T_BASE); n;
	     n = next_tag(root, n, T_BASE)) {
		struct str href = html_attr(n, "href"), found;

		if (!href.p)
			continue;
		found = href_resolve(s->keep, s->url, href, WEB);
		if (found.p)
			s->base = found;
		return;
	}
}

static void
find_links(struct search *s, const struct html_node *root)
{
	for (const struct html_node *n = next_tag(root, root, T_LINK); n;
	     n = next_tag(root, n, T_LINK)) {
		struct named one = {html_attr(n, "rel"), html_attr(n, "type"),
		    html_attr(n, "href"), html_attr(n, "title")};

		take_feed(s, &one);
		if (has_word(one.rel, "icon") ||
		    has_word(one.rel, "apple-touch-icon") ||
		    has_word(one.rel, "apple-touch-icon-precomposed"))
			take_icon(s, n);
	}
}

/* "5; url='x'": where a page sends its reader. */
static void
find_refresh(struct search *s, const struct html_node *root)
{
	for (const struct html_node *n = next_tag(root, root, T_META); n;
	     n = next_tag(root, n, T_META)) {
		struct str to = html_attr(n, "content"), key;

		if (!str_eq_nocase(
			str_trim(html_attr(n, "http-equiv")), STR("refresh")))
			continue;
		(void)str_cut(&to, str_has(to, ';') ? ';' : ',');
		key = str_trim(str_cut(&to, '='));
		to = str_trim(to);
		if (to.n > 1 && (to.p[0] == '"' || to.p[0] == '\'')) {
			char quote = to.p[0];

			to = str_from(to, 1);
			to = str_cut(&to, quote);
		}
		to =
		    str_eq_nocase(key, STR("url")) ? link_of(s, to) : STR_EMPTY;
		if (to.n > 0 && !str_eq(to, s->url)) {
			s->ret->refresh = arena_dup(s->keep, to);
			return;
		}
	}
}

/* ---- Link headers: RFC 8288 ---- */

/* Takes a value off *s, up to `;` or `,`; quoted ones hold both. */
static struct str
header_value(struct str *s)
{
	struct str v;
	size_t n = 0;

	*s = str_trim(*s);
	if (s->n > 0 && s->p[0] == '"') {
		*s = str_from(*s, 1);
		return str_cut(s, '"');
	}
	while (n < s->n && s->p[n] != ';' && s->p[n] != ',')
		n++;
	v = str_trim((struct str){s->p, n});
	*s = str_from(*s, n);
	return v;
}

/* `; name=value` as often as it stands there. */
static void
header_params(struct str *s, struct named *to)
{
	struct str *into[] = {&to->rel, &to->type, &to->title};
	static const struct str NAMES[] = {
	    STR("rel"), STR("type"), STR("title")};

	for (*s = str_trim(*s); s->n > 0 && s->p[0] == ';'; *s = str_trim(*s)) {
		struct str name, value = STR_EMPTY;
		size_t n = 1;

		while (n < s->n && s->p[n] != '=' && s->p[n] != ';' &&
		       s->p[n] != ',')
			n++;
		name = str_trim((struct str){s->p + 1, n - 1});
		*s = str_from(*s, n);
		if (s->n > 0 && s->p[0] == '=') {
			*s = str_from(*s, 1);
			value = header_value(s);
		}
		for (size_t i = 0; i < COUNT_OF(NAMES); i++)
			if (str_eq_nocase(name, NAMES[i]) && into[i]->n == 0)
				*into[i] = value;
	}
}

/* They are relative to the page itself, whatever its <base>. */
static void
find_in_headers(struct search *s, struct str links)
{
	size_t good = str_utf8_bad(links);

	links.n = good < links.n ? good : links.n;
	while (str_pass(&links, STR("<")) && str_has(links, '>')) {
		struct named one = {.href = str_trim(str_cut(&links, '>'))};

		header_params(&links, &one);
		take_feed(s, &one);
	}
}

static int
search_page(struct search *s, struct str text, struct str links, struct err *e)
{
	struct discover_icon icon = {0};
	struct html h;

	s->ret->is_feed = feed_begins(text);
	if (s->ret->is_feed)
		return OK;
	TRY(html_parse(s->scratch, text, &h, e));
	find_in_headers(s, links);
	find_base(s, h.root);
	find_links(s, h.root);
	find_refresh(s, h.root);
	arena_reset(s->links); /* the other one may be full */
	icon.url = href_resolve(s->links, s->url, STR("/favicon.ico"), WEB);
	if (icon.url.p)
		add_icon(s, icon, true);
	return OK;
}

int
discover(struct arena *a, struct str page, const struct feed_from *from,
    struct discover *ret, struct err *e)
{
	struct arena *scratch CLEANUP(arena_freep) = arena_new(PAGE_MEM);
	struct arena *links CLEANUP(arena_freep) = arena_new(8 * HREF_MAX);
	struct search s = {
	    .keep = a, .scratch = scratch, .links = links, .ret = ret};
	struct buf b CLEANUP(buf_done) = BUF(4 * DISCOVER_IN_MAX);
	struct str text = STR_EMPTY;

	*ret = (struct discover){0};
	s.url = href_resolve(a, STR_EMPTY, from->url, WEB);
	s.base = s.url;
	if (!s.url.p)
		return err_set(e, ERR_INVALID,
		    "the page's URL must be one of http or https");
	if (page.n > DISCOVER_IN_MAX)
		return err_set(e, ERR_LIMIT,
		    "a page of %zu bytes is over %zu, which is all that is looked through",
		    page.n, DISCOVER_IN_MAX);
	if (page.n > 0)
		TRY(charset_decode(page, from->content_type, &b, &text, e));
	return search_page(&s, text, from->links, e);
}
