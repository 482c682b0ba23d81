#include "feed/opml.h"

#include "feed/limits.h"
#include "feed/xml_value.h"
#include "markup/charset.h"
#include "markup/limits.h"
#include "markup/text.h"
#include "markup/xml_write.h"

#define FRAMES_MAX (FEED_DEPTH_MAX + 2)
#define BETWEEN    " / "

/* The category that holds within each element that is open. */
struct outlines {
	struct arena *arena;
	struct opml *opml;
	struct opml_feed **tail;
	struct str categories[FRAMES_MAX];
	size_t depth;
	size_t title_depth; /* of the <title> in the head; 0: not in it */
	struct buf title;
};

static struct str
plain_text(struct outlines *r, struct str s)
{
	struct str copy =
	    text_squeeze(r->arena, arena_dup(r->arena, str_trim(s)));

	return str_trim(str_chars(copy, OPML_TEXT_MAX));
}

/* A URL: nothing of it is a blank at the ends or a control character. */
static struct str
link_text(struct outlines *r, struct str s)
{
	char *p = arena_alloc(r->arena, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] >= ' ')
			p[n++] = s.p[i];
	return str_trim((struct str){p, n});
}

/* Whoever writes one of the two means it as the name. */
static struct str
name_of(struct outlines *r, const struct xml_tag *t)
{
	struct str s = str_trim(value_attr(t, STR("title")));

	return plain_text(r, s.n > 0 ? s : value_attr(t, STR("text")));
}

/* feed://host/ is http, feed:https://host/ is https. */
static struct str
url_of(struct outlines *r, const struct xml_tag *t)
{
	static const struct str FEED = {"feed:", 5};
	struct str s = link_text(r, value_attr(t, STR("xmlUrl")));

	if (s.n == 0 && str_eq_nocase(value_attr(t, STR("type")), STR("rss")))
		s = link_text(r, value_attr(t, STR("url")));
	if (!str_starts_nocase(s, FEED))
		return s;
	while (str_starts_nocase(s, FEED))
		s = str_trim(str_from(s, 5));
	if (!str_starts(s, STR("//")))
		return s;
	return arena_fmt(r->arena, "http:%.*s", STR_ARG(s));
}

/* "/News/Local,/Other" says "News / Local". */
static struct str
own_category(struct outlines *r, const struct xml_tag *t)
{
	struct str list = value_attr(t, STR("category"));
	struct str path = str_cut(&list, ',');
	struct buf b CLEANUP(buf_done) =
	    BUF(4 * OPML_TEXT_MAX + sizeof(BETWEEN));

	while (path.n > 0) {
		struct str one = str_trim(str_cut(&path, '/'));

		if (one.n == 0)
			continue;
		if (b.n > 0)
			buf_addz(&b, BETWEEN);
		buf_add(&b, one);
	}
	return b.failed ? STR_EMPTY : plain_text(r, buf_str(&b));
}

static void
add_feed(struct outlines *r, const struct xml_tag *t, struct str url)
{
	struct opml_feed *f;

	if (r->opml->n_feeds == OPML_FEEDS_MAX) {
		r->opml->cut = true;
		return;
	}
	f = arena_alloc(r->arena, sizeof(*f));
	f->title = name_of(r, t);
	f->url = url;
	f->site = link_text(r, value_attr(t, STR("htmlUrl")));
	f->category = r->categories[r->depth];
	if (f->category.n == 0)
		f->category = own_category(r, t);
	*r->tail = f;
	r->tail = &f->next;
	r->opml->n_feeds++;
}

/* What holds within a folder: its name behind those around it. */
static struct str
within(struct outlines *r, struct str outer, struct str name)
{
	struct str s;

	if (outer.n == 0 || name.n == 0)
		return name.n > 0 ? name : outer;
	s = arena_fmt(
	    r->arena, "%.*s" BETWEEN "%.*s", STR_ARG(outer), STR_ARG(name));
	return str_trim(str_chars(s, OPML_TEXT_MAX));
}

static bool
on_start(void *ctx, const struct xml_tag *t)
{
	struct outlines *r = ctx;
	struct str url, outer;

	if (arena_over(r->arena) || r->depth + 1 == FRAMES_MAX)
		return false;
	outer = r->categories[r->depth++];
	r->categories[r->depth] = outer;
	if (str_eq_nocase(t->name, STR("title")) && r->title_depth == 0 &&
	    r->title.n == 0)
		r->title_depth = r->depth;
	if (!str_eq_nocase(t->name, STR("outline")))
		return true;
	url = url_of(r, t);
	if (url.n > 0)
		add_feed(r, t, url);
	else
		r->categories[r->depth] = within(r, outer, name_of(r, t));
	return true;
}

static void
on_text(void *ctx, struct str text, bool)
{
	struct outlines *r = ctx;

	if (r->title_depth > 0)
		buf_add(&r->title, text);
}

static void
on_end(void *ctx, const struct xml_tag *)
{
	struct outlines *r = ctx;

	if (r->title_depth == r->depth)
		r->title_depth = 0;
	r->depth--;
}

/* ERR_SYNTAX, never with `mend`: what it says is clear only when mended. */
static int
read_xml(struct arena *a, struct str xml, bool mend, struct opml **ret,
    struct err *e)
{
	static const struct xml_calls CALLS = {on_start, on_text, on_end, NULL};
	struct opml *o = arena_alloc(a, sizeof(*o));
	struct outlines r = {.arena = a,
	    .opml = o,
	    .tail = &o->feeds,
	    .title = BUF(4 * OPML_TEXT_MAX)};
	int rc;

	rc = xml_read(xml, STR_EMPTY, mend, &CALLS, &r, &o->repaired);
	o->title = plain_text(&r, buf_str(&r.title));
	buf_done(&r.title);
	if (rc == ERR_LIMIT || arena_over(a))
		return err_set(
		    e, ERR_LIMIT, "the OPML file needs too much memory");
	if (rc == OK)
		*ret = o;
	return rc;
}

/* From the first such tag on; empty when there is none. */
static struct str
from_tag(struct str s, struct str name)
{
	while (str_pass(&s, STR("<")))
		if (str_starts_nocase(s, name))
			return (struct str){s.p - 1, s.n + 1};
	return STR_EMPTY;
}

static int
read_text(struct arena *a, struct str text, struct opml **ret, struct err *e)
{
	struct str xml = from_tag(text, STR("opml"));
	int rc;

	if (xml.n == 0)
		xml = from_tag(text, STR("outline"));
	if (xml.n == 0)
		return err_set(e, ERR_INVALID,
		    "this is no OPML file: it has no <opml> element");
	rc = read_xml(a, xml, false, ret, e);
	return rc == ERR_SYNTAX ? read_xml(a, xml, true, ret, e) : rc;
}

int
opml_parse(struct arena *a, struct str bytes, struct str content_type,
    struct opml **ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(FEED_TEXT_MAX);
	struct str text = STR_EMPTY;

	if (bytes.n > OPML_BYTES_MAX)
		return err_set(e, ERR_LIMIT, "the OPML file is over %zu MiB",
		    OPML_BYTES_MAX / MIB);
	if (bytes.n == 0)
		return err_set(e, ERR_INVALID, "there is nothing in it");
	TRY(charset_decode(bytes, content_type, &b, &text, e));
	return read_text(a, text, ret, e);
}

/* ---- writing ---- */

static void
add_outline(struct buf *b, const struct opml_feed *f)
{
	struct str title = f->title.n > 0 ? f->title : f->url;

	buf_addz(b, f->category.n > 0 ? "\t\t\t<outline" : "\t\t<outline");
	xml_write_attr(b, "type", STR("rss"));
	xml_write_attr(b, "text", title);
	xml_write_attr(b, "title", title);
	xml_write_attr(b, "xmlUrl", f->url);
	if (f->site.n > 0)
		xml_write_attr(b, "htmlUrl", f->site);
	buf_addz(b, "/>\n");
}

/* RFC 822, as OPML has it. */
static void
add_date(struct buf *b, int64_t us)
{
	time_t s = (time_t)(us / US_PER_S);
	char text[64];
	struct tm t;

	/* No locale is ever set: these are English names. */
	if (gmtime_r(&s, &t) &&
	    strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &t) > 0)
		buf_addz(b, text);
}

static void
end_folder(struct buf *b, struct str category)
{
	if (category.n > 0)
		buf_addz(b, "\t\t</outline>\n");
}

void
opml_write(const struct opml *o, int64_t now_us, struct buf *to)
{
	struct str folder = STR_EMPTY;

	buf_addz(to, XML_WRITE_HEAD "<opml version=\"2.0\">\n\t<head>\n\t\t");
	xml_write_element(to, "title", o->title);
	buf_addz(to, "\n\t\t<dateCreated>");
	add_date(to, now_us);
	buf_addz(to, "</dateCreated>\n\t</head>\n\t<body>\n");
	for (const struct opml_feed *f = o->feeds; f; f = f->next) {
		if (!str_eq(f->category, folder)) {
			end_folder(to, folder);
			folder = f->category;
			if (folder.n > 0) {
				buf_addz(to, "\t\t<outline");
				xml_write_attr(to, "text", folder);
				xml_write_attr(to, "title", folder);
				buf_addz(to, ">\n");
			}
		}
		add_outline(to, f);
	}
	end_folder(to, folder);
	buf_addz(to, "\t</body>\n</opml>\n");
}
