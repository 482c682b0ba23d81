#include "api/api.h"
#include "api/apps/greader.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "reader/limits.h"

#define STREAM_DEFAULT 20

/* ---- what is asked for ---- */

struct asked {
	struct greader_world w;
	struct sync_filter f;
	struct str stream;
	int64_t n, c; /* how many, from where on */
	bool none;    /* a stream that holds nothing: a label without feeds */
};

static void
narrow(struct asked *q, struct greader_stream g, bool exclude)
{
	if (g.kind == GR_READ)
		q->f.read = !exclude;
	else if (g.kind == GR_KEPT)
		q->f.read = exclude;
	else if (g.kind == GR_STARRED)
		q->f.starred = !exclude;
}

/* The stream itself. */
static int
choose(struct asked *q, struct err *e)
{
	struct greader_stream g = greader_stream(q->stream);
	const struct sync_category *c;
	const struct sync_feed *feed;

	switch (g.kind) {
	case GR_FEED:
		feed = greader_feed(&q->w, g.rest);
		if (!feed)
			return err_set(e, ERR_ABSENT, "there is no such feed");
		q->f.feed = feed->id;
		return OK;
	case GR_NAMED:
		c = greader_category(&q->w, g.rest);
		q->none = !c;
		q->f.category = c ? c->id : 0;
		return OK;
	case GR_ALL:
		return OK;
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

static int
ask_stream(struct req *r, struct db *db, const struct form *form,
    struct str stream, int64_t most, struct asked *q, struct err *e)
{
	static const struct app_number NUMBERS[] = {
	    {"n", offsetof(struct asked, n), INT32_MAX},
	    {"c", offsetof(struct asked, c)},
	    {"ot", offsetof(struct asked, f.crawled_since_us), .seconds = true},
	    {"nt", offsetof(struct asked, f.crawled_until_us), .seconds = true},
	    {NULL},
	};
	size_t at = 0;
	struct str s;
	bool up = str_eq(form_get(form, "r"), STR("o"));
	int rc = greader_world(r, db, &q->w, e);

	q->stream = stream.n > 0 ? stream : STR(GR_STATE "reading-list");
	q->f = SYNC_ALL;
	q->f.order = up ? SYNC_ID_UP : SYNC_ID_DOWN;
	q->n = STREAM_DEFAULT;
	if (rc == OK)
		rc = app_numbers(form, NUMBERS, q, e);
	if (rc == OK)
		rc = choose(q, e);
	if (rc < 0)
		return rc;
	*(up ? &q->f.after_id : &q->f.before_id) = q->c;
	q->f.most = (size_t)(q->n < 1 ? 1 : q->n < most ? q->n : most);
	while (form_each(form, "xt", &at, &s))
		narrow(q, greader_stream(s), true);
	at = 0;
	while (form_each(form, "it", &at, &s))
		narrow(q, greader_stream(s), false);
	return OK;
}

/* ---- what is shown ---- */

static void
put_files(struct buf *b, struct arena *a, const struct sync_item *it)
{
	const struct json *at = app_files(a, it);
	struct app_file f;

	if (!at)
		return;
	put_open(b, "enclosure", '[');
	while (app_file_next(&at, &f)) {
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

/* A full page may have another behind it. */
static int64_t
next_of(const struct asked *q, const struct sync_ids *ids)
{
	return ids->n > 0 && ids->n == q->f.most ? ids->v[ids->n - 1].id : 0;
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
put_page(struct req *r, const struct greader_page *p)
{
	struct buf *b = &r->out;

	buf_clear(b);
	buf_addz(b, "{\"direction\":\"ltr\"");
	put_text(b, "id", p->stream);
	put_int(b, "updated", clock_now_us() / US_PER_S);
	put_open(b, "items", '[');
	for (size_t i = 0; i < p->items.n; i++)
		put_item(b, r->arena, &p->w, &p->items.v[i]);
	end_page(b, p->next);
	return OK;
}

int
greader_page(
    struct req *r, struct db *db, struct greader_page *ret, struct err *e)
{
	struct sync who = app_sync(r, db);
	struct form form = {r->query, r->n_query};
	struct str stream =
	    r->params[0].n > 0 ? r->params[0] : form_get(&form, "s");
	struct asked q = {0};
	struct sync_ids ids = {0};
	const struct sync_feed *f;
	int rc = ask_stream(r, db, &form, stream, SYNC_PAGE_MAX, &q, e);

	if (rc == OK && !q.none)
		rc = sync_ids(&who, &q.f, &ids, e);
	if (rc == OK && !q.none)
		rc = sync_items(&who, &ids, &ret->items, e);
	if (rc < 0)
		return rc;
	f = q.f.feed ? sync_feeds_find(&q.w.feeds, q.f.feed) : NULL;
	ret->w = q.w;
	ret->stream = q.stream;
	ret->title = f ? f->title : q.stream;
	ret->next = next_of(&q, &ids);
	return OK;
}

int
api_gr_stream(struct req *r, struct db *db, struct err *e)
{
	struct greader_page p = {0};
	int rc = greader_page(r, db, &p, e);

	return rc < 0 ? rc : put_page(r, &p);
}

int
api_gr_ids(struct req *r, struct db *db, struct err *e)
{
	struct sync who = app_sync(r, db);
	struct form form = {r->query, r->n_query};
	struct asked q = {0};
	struct sync_ids ids = {0};
	int rc =
	    ask_stream(r, db, &form, form_get(&form, "s"), SYNC_IDS_MAX, &q, e);

	if (rc == OK && !q.none)
		rc = sync_ids(&who, &q.f, &ids, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"itemRefs\":[");
	for (size_t i = 0; i < ids.n; i++)
		buf_fmt(&r->out,
		    "%s{\"id\":\"%lld\",\"directStreamIds\":[],"
		    "\"timestampUsec\":\"%lld\"}",
		    i ? "," : "", (long long)ids.v[i].id,
		    (long long)ids.v[i].created_us);
	end_page(&r->out, next_of(&q, &ids));
	return OK;
}

/* Changes nothing, so that it needs no T, though it is a POST for its size. */
int
api_gr_items(struct req *r, struct db *db, struct err *e)
{
	struct greader_page p = {.stream = STR(GR_STATE "reading-list")};
	struct sync who = app_sync(r, db);
	struct sync_ids ids = {0};
	struct form form;
	int rc = form_read(r, &form, e);

	if (rc == OK)
		rc = greader_ids(&form, r->arena, &ids, e);
	if (rc == OK && ids.n > SYNC_PAGE_MAX)
		rc = err_set(
		    e, ERR_LIMIT, "over %d articles at once", SYNC_PAGE_MAX);
	if (rc == OK)
		rc = greader_world(r, db, &p.w, e);
	if (rc == OK)
		rc = sync_items(&who, &ids, &p.items, e);
	return rc < 0 ? rc : put_page(r, &p);
}
