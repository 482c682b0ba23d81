#include "api/api.h"
#include "api/apps/greader.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "markup/xml_write.h"

/* A stream as Atom, which is how the first apps of this API read one. */

#define SCHEME "http://www.google.com/reader/"

static void
add_element(struct buf *b, const char *name, struct str s)
{
	xml_write_element(b, name, s);
	buf_addc(b, '\n');
}

static void
add_date(struct buf *b, const char *name, int64_t us)
{
	buf_fmt(b, "<%s>", name);
	time_add(b, us);
	buf_fmt(b, "</%s>\n", name);
}

static void
add_state(struct buf *b, const char *state)
{
	buf_fmt(b,
	    "<category term=\"" GR_STATE "%s\" scheme=\"" SCHEME
	    "\" label=\"%s\"/>\n",
	    state, state);
}

static void
add_entry(
    struct buf *b, const struct greader_world *w, const struct sync_item *it)
{
	const struct sync_feed *f = sync_feeds_find(&w->feeds, it->feed);

	buf_fmt(b,
	    "<entry gr:crawl-timestamp-msec=\"%lld\">\n<id>" GR_ITEM
	    "%016llx</id>\n",
	    (long long)(it->created_us / US_PER_MS),
	    (unsigned long long)it->id);
	add_state(b, "reading-list");
	add_state(b, it->read ? "read" : "fresh");
	if (it->starred)
		add_state(b, "starred");
	buf_addz(b, "<title type=\"text\">");
	xml_write_text(b, it->title);
	buf_addz(b, "</title>\n");
	add_date(b, "published", it->published_us);
	add_date(b, "updated", it->updated_us);
	buf_addz(b, "<link rel=\"alternate\" type=\"text/html\"");
	xml_write_attr(b, "href", it->link);
	buf_addz(b, "/>\n<content type=\"html\">");
	xml_write_text(b, it->html);
	buf_addz(b, "</content>\n<author>");
	add_element(b, "name", it->author);
	buf_fmt(b, "</author>\n<source gr:stream-id=\"feed/%lld\">",
	    (long long)it->feed);
	add_element(b, "title", f ? f->title : STR_EMPTY);
	buf_addz(b, "</source>\n</entry>\n");
}

int
api_gr_atom(struct req *r, struct db *db, struct err *e)
{
	struct greader_page p = {0};
	struct buf *b = &r->out;
	int rc = greader_page(r, db, &p, e);

	if (rc < 0)
		return rc;
	buf_clear(b);
	r->content_type = "application/atom+xml; charset=utf-8";
	buf_addz(b, XML_WRITE_HEAD
	    "<feed xmlns=\"http://www.w3.org/2005/Atom\" "
	    "xmlns:gr=\"http://www.google.com/schemas/reader/atom/\">\n"
	    "<id>tag:google.com,2005:reader/");
	xml_write_text(b, p.stream);
	buf_addz(b, "</id>\n");
	add_element(b, "title", p.title);
	if (p.next)
		buf_fmt(b, "<gr:continuation>%lld</gr:continuation>\n",
		    (long long)p.next);
	add_date(b, "updated", clock_now_us());
	for (size_t i = 0; i < p.items.n; i++)
		add_entry(b, &p.w, &p.items.v[i]);
	buf_addz(b, "</feed>\n");
	return OK;
}
