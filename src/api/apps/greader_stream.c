#include "api/apps/greader.h"
#include "markup/xml_write.h"
#include "reader/limits.h"

#define STREAM_DEFAULT 20

/* A page of the stream that the path, or s, names. */
struct page {
	struct greader_world w;
	struct str stream;
	struct sync_filter f;
	int64_t n, c; /* how many, from where on */
	struct sync_ids ids;
	struct sync_items items;
	int64_t next; /* the continuation; 0: that was all */
};

/* ---- what is asked for ---- */

static void
narrow(struct page *q, struct greader_stream g, bool exclude)
{
	if (g.kind == GR_READ)
		q->f.read = !exclude;
	else if (g.kind == GR_KEPT)
		q->f.read = exclude;
	else if (g.kind == GR_STARRED)
		q->f.starred = !exclude;
}

/* The stream itself. False: one that holds nothing, a label without feeds. */
static int
choose(struct page *q, bool *ret_any, struct err *e)
{
	struct greader_stream g = greader_stream(q->stream);
	const struct sync_category *c;
	const struct sync_feed *feed;

	*ret_any = true;
	switch (g.kind) {
	case GR_FEED:
		feed = greader_feed(&q->w, g.rest);
		if (!feed)
			return err_set(e, ERR_ABSENT, "there is no such feed");
		q->f.feed = feed->id;
		return OK;
	case GR_NAMED:
		c = greader_category(&q->w, g.rest);
		*ret_any = c;
		q->f.category = c ? c->id : 0;
		return OK;
	case GR_ALL:
	case GR_READ:
	case GR_STARRED:
	case GR_KEPT:
		narrow(q, g, false);
		return OK;
	case GR_NONE:
		break;
	}
	return err_set(e, ERR_INVALID, "there is no such stream");
}

/* Its ids: a page of at most so many. */
static int
ask_stream(struct req *r, struct db *db, struct str stream, int64_t most,
    struct page *q, struct err *e)
{
	static const struct app_number NUMBERS[] = {
	    {"n", offsetof(struct page, n), INT32_MAX},
	    {"c", offsetof(struct page, c)},
	    {"ot", offsetof(struct page, f.crawled_since_us), .seconds = true},
	    {"nt", offsetof(struct page, f.crawled_until_us), .seconds = true},
	    {NULL},
	};
	struct form form = {r->query, r->n_query};
	size_t at = 0;
	struct str s;
	bool any, up = str_eq(form_get(&form, "r"), STR("o"));

	if (stream.n == 0)
		stream = form_get(&form, "s");
	*q = (struct page){.n = STREAM_DEFAULT,
	    .stream = stream.n > 0 ? stream : STR(GR_STATE "reading-list"),
	    .f = SYNC_ALL};
	q->f.order = up ? SYNC_ID_UP : SYNC_ID_DOWN;
	TRY(greader_world(r, db, &q->w, e));
	TRY(app_numbers(&form, NUMBERS, q, e));
	TRY(choose(q, &any, e));
	*(up ? &q->f.after_id : &q->f.before_id) = q->c;
	q->f.most = (size_t)(q->n < 1 ? 1 : q->n < most ? q->n : most);
	while (form_each(&form, "xt", &at, &s))
		narrow(q, greader_stream(s), true);
	at = 0;
	while (form_each(&form, "it", &at, &s))
		narrow(q, greader_stream(s), false);
	if (any)
		TRY(sync_ids(APP_SYNC(r, db), &q->f, &q->ids, e));
	/* A full page may have another behind it. */
	if (q->ids.n == q->f.most)
		q->next = q->ids.v[q->ids.n - 1].id;
	return OK;
}

/* ---- what is shown ---- */

static void
put_files(struct buf *b, struct arena *a, const struct sync_item *it)
{
	const struct json *at = app_files(a, it);

	if (!at)
		return;
	put_open(b, "enclosure", '[');
	for (; at; at = at->next) {
		struct app_file f = app_file(at);

		put_open(b, NULL, '{');
		put_text(b, "href", f.url);
		if (f.type.n > 0)
			put_text(b, "type", f.type);
		if (f.length > 0)
			put_int(b, "length", f.length);
		put_close(b, '}');
	}
	put_close(b, ']');
}

/* [{"href":…}] */
static void
put_link(struct buf *b, const char *name, struct str url, const char *type)
{
	put_open(b, name, '[');
	put_open(b, NULL, '{');
	put_text(b, "href", url);
	if (type)
		put_z(b, "type", type);
	put_close(b, '}');
	put_close(b, ']');
}

static void
put_item(struct buf *b, struct arena *a, const struct greader_world *w,
    const struct sync_item *it)
{
	const struct sync_feed none = {.title = STR_EMPTY, .url = STR_EMPTY};
	const struct sync_feed *f = sync_feeds_find(&w->feeds, it->feed);

	if (!f)
		f = &none;
	put_open(b, NULL, '{');
	buf_fmt(b,
	    "\"id\":\"" GR_ITEM "%016llx\",\"crawlTimeMsec\":\"%lld\","
	    "\"timestampUsec\":\"%lld\"",
	    (unsigned long long)it->id, (long long)(it->created_us / US_PER_MS),
	    (long long)it->created_us);
	put_int(b, "published", it->published_us / US_PER_S);
	put_int(b, "updated", it->updated_us / US_PER_S);
	put_text(b, "title", it->title);
	put_link(b, "canonical", it->link, NULL);
	put_link(b, "alternate", it->link, "text/html");
	put_open(b, "categories", '[');
	put_z(b, NULL, GR_STATE "reading-list");
	if (f->category_title.n > 0)
		greader_put_label(b, NULL, f->category_title);
	if (it->read)
		put_z(b, NULL, GR_STATE "read");
	if (it->starred)
		put_z(b, NULL, GR_STATE "starred");
	put_close(b, ']');
	put_open(b, "origin", '{');
	greader_put_feed(b, "streamId", it->feed);
	put_text(b, "title", f->title);
	put_text(b, "htmlUrl", f->site.n > 0 ? f->site : f->url);
	put_close(b, '}');
	put_open(b, "summary", '{');
	put_z(b, "direction", "ltr");
	put_text(b, "content", it->html);
	put_close(b, '}');
	put_text(b, "author", it->author);
	put_files(b, a, it);
	put_close(b, '}');
}

static void
end_page(struct buf *b, int64_t next)
{
	put_close(b, ']');
	if (next)
		buf_fmt(b, ",\"continuation\":\"%lld\"", (long long)next);
	put_close(b, '}');
}

static int
put_page(struct req *r, const struct page *p)
{
	struct buf *b = &r->out;

	buf_addz(b, "{\"direction\":\"ltr\"");
	put_text(b, "id", p->stream);
	put_int(b, "updated", clock_now_us() / US_PER_S);
	put_open(b, "items", '[');
	for (size_t i = 0; i < p->items.n; i++)
		put_item(b, r->arena, &p->w, &p->items.v[i]);
	end_page(b, p->next);
	return OK;
}

static int
stream_page(struct req *r, struct db *db, struct page *ret, struct err *e)
{
	TRY(ask_stream(r, db, r->params[0], SYNC_PAGE_MAX, ret, e));
	return sync_items(APP_SYNC(r, db), &ret->ids, &ret->items, e);
}

int
api_gr_stream(struct req *r, struct db *db, struct err *e)
{
	struct page p;

	TRY(stream_page(r, db, &p, e));
	return put_page(r, &p);
}

int
api_gr_ids(struct req *r, struct db *db, struct err *e)
{
	struct page p;

	TRY(ask_stream(r, db, STR_EMPTY, SYNC_IDS_MAX, &p, e));
	buf_addz(&r->out, "{\"itemRefs\":[");
	for (size_t i = 0; i < p.ids.n; i++)
		buf_fmt(&r->out,
		    "%s{\"id\":\"%lld\",\"directStreamIds\":[],"
		    "\"timestampUsec\":\"%lld\"}",
		    i ? "," : "", (long long)p.ids.v[i].id,
		    (long long)p.ids.v[i].created_us);
	end_page(&r->out, p.next);
	return OK;
}

/* Changes nothing, so that it needs no T, though it is a POST for its size. */
int
api_gr_items(struct req *r, struct db *db, struct err *e)
{
	struct page p = {.stream = STR(GR_STATE "reading-list")};
	struct form form;

	TRY(form_read(r, &form, e));
	TRY(greader_ids(&form, r->arena, &p.ids, e));
	if (p.ids.n > SYNC_PAGE_MAX)
		return err_set(
		    e, ERR_LIMIT, "over %d articles at once", SYNC_PAGE_MAX);
	TRY(greader_world(r, db, &p.w, e));
	TRY(sync_items(APP_SYNC(r, db), &p.ids, &p.items, e));
	return put_page(r, &p);
}

/* ---- as Atom, which is how the first apps of this API read a stream ---- */

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
	struct buf *b = &r->out;
	const struct sync_feed *f;
	struct page p;

	TRY(stream_page(r, db, &p, e));
	f = sync_feeds_find(&p.w.feeds, p.f.feed);
	r->content_type = "application/atom+xml; charset=utf-8";
	buf_addz(b, XML_WRITE_HEAD
	    "<feed xmlns=\"http://www.w3.org/2005/Atom\" "
	    "xmlns:gr=\"http://www.google.com/schemas/reader/atom/\">\n"
	    "<id>tag:google.com,2005:reader/");
	xml_write_text(b, p.stream);
	buf_addz(b, "</id>\n");
	add_element(b, "title", f ? f->title : p.stream);
	if (p.next)
		buf_fmt(b, "<gr:continuation>%lld</gr:continuation>\n",
		    (long long)p.next);
	add_date(b, "updated", clock_now_us());
	for (size_t i = 0; i < p.items.n; i++)
		add_entry(b, &p.w, &p.items.v[i]);
	buf_addz(b, "</feed>\n");
	return OK;
}
