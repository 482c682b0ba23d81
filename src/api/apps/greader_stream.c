#include "api/api.h"
#include "api/apps/apps.h"
#include "api/apps/greader.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "reader/limits.h"

#define STREAM_DEFAULT 20
#define CATEGORIES     "\"categories\":[\"" GR_STATE "reading-list\""

/* ---- what is asked for ---- */

struct asked {
	struct gr_world w;
	struct sync_filter f;
	struct str stream;
	bool none; /* a stream that holds nothing: a label without feeds */
};

static void
narrow(struct asked *q, struct gr_stream g, bool exclude)
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
	struct gr_stream g = gr_stream(q->stream);
	const struct sync_category *c;
	const struct sync_feed *feed;

	switch (g.kind) {
	case GR_FEED:
		feed = gr_feed(&q->w, g.rest);
		if (!feed)
			return err_set(e, ERR_ABSENT, "there is no such feed");
		q->f.feed = feed->id;
		return OK;
	case GR_NAMED:
		c = gr_category(&q->w, g.rest);
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
seconds(const struct form *form, const char *name, int64_t *us, struct err *e)
{
	int64_t s = 0;
	int rc = form_int(form, name, 0, INT64_MAX / US_PER_S, 0, &s, e);

	if (rc == OK && s > 0)
		*us = s * US_PER_S;
	return rc;
}

static int
ask(struct req *r, struct db *db, const struct form *form, struct str stream,
    int64_t most, struct asked *q, struct err *e)
{
	int64_t n = 0, c = 0;
	size_t at = 0;
	struct str s;
	bool up = str_eq(form_get(form, "r"), STR("o"));
	int rc = gr_world(r, db, &q->w, e);

	q->stream = stream.n > 0 ? stream : STR(GR_STATE "reading-list");
	q->f = SYNC_ALL;
	q->f.order = up ? SYNC_ID_UP : SYNC_ID_DOWN;
	if (rc == OK)
		rc = form_int(form, "n", 0, INT32_MAX, STREAM_DEFAULT, &n, e);
	if (rc == OK)
		rc = form_int(form, "c", 0, INT64_MAX, 0, &c, e);
	if (rc == OK)
		rc = seconds(form, "ot", &q->f.crawled_since_us, e);
	if (rc == OK)
		rc = seconds(form, "nt", &q->f.crawled_until_us, e);
	if (rc == OK)
		rc = choose(q, e);
	if (rc < 0)
		return rc;
	*(up ? &q->f.after_id : &q->f.before_id) = c;
	q->f.most = (size_t)(n < most ? n : most);
	if (q->f.most == 0)
		q->f.most = 1;
	while (form_each(form, "xt", &at, &s))
		narrow(q, gr_stream(s), true);
	at = 0;
	while (form_each(form, "it", &at, &s))
		narrow(q, gr_stream(s), false);
	return OK;
}

/* ---- what is shown ---- */

static void
add_enclosures(struct buf *b, struct arena *a, struct str list)
{
	struct json *j = NULL;
	struct err e;
	size_t n = 0;

	if (list.n == 0 || json_parse(a, list, &j, &e) < 0)
		return;
	buf_addz(b, ",\"enclosure\":[");
	for (const struct json *x = j->child; x; x = x->next) {
		const struct json *url = json_get(x, "url");
		const struct json *type = json_get(x, "type");
		int64_t length = 0;

		if (!json_is(url, JSON_STRING))
			continue;
		buf_addz(b, n++ ? ",{\"href\":" : "{\"href\":");
		buf_json(b, url->text);
		if (json_is(type, JSON_STRING)) {
			buf_addz(b, ",\"type\":");
			buf_json(b, type->text);
		}
		if (json_int(json_get(x, "length"), &length) && length > 0)
			buf_fmt(b, ",\"length\":%lld", (long long)length);
		buf_addc(b, '}');
	}
	buf_addc(b, ']');
}

static void
add_item(struct buf *b, struct arena *a, const struct gr_world *w,
    const struct sync_item *it)
{
	const struct sync_feed *f = gr_world_feed(w, it->feed);

	buf_fmt(b,
	    "{\"id\":\"" GR_ITEM "%016llx\",\"crawlTimeMsec\":\"%lld\","
	    "\"timestampUsec\":\"%lld\",\"published\":%lld,\"updated\":%lld,"
	    "\"title\":",
	    (unsigned long long)it->id, (long long)(it->created_us / US_PER_MS),
	    (long long)it->created_us, (long long)(it->published_us / US_PER_S),
	    (long long)(it->updated_us / US_PER_S));
	buf_json(b, it->title);
	buf_addz(b, ",\"canonical\":[{\"href\":");
	buf_json(b, it->link);
	buf_addz(b, "}],\"alternate\":[{\"href\":");
	buf_json(b, it->link);
	buf_addz(b, ",\"type\":\"text/html\"}]," CATEGORIES);
	if (f && f->category_title.n > 0) {
		struct str id =
		    arena_fmt(a, GR_LABEL "%.*s", STR_ARG(f->category_title));

		buf_addc(b, ',');
		buf_json(b, id.p ? id : STR_EMPTY);
	}
	if (it->read)
		buf_addz(b, ",\"" GR_STATE "read\"");
	if (it->starred)
		buf_addz(b, ",\"" GR_STATE "starred\"");
	buf_fmt(b, "],\"origin\":{\"streamId\":\"feed/%lld\",\"title\":",
	    (long long)it->feed);
	buf_json(b, f ? f->title : STR_EMPTY);
	buf_addz(b, ",\"htmlUrl\":");
	buf_json(b, f ? (f->site.n > 0 ? f->site : f->url) : STR_EMPTY);
	buf_addz(b, "},\"summary\":{\"direction\":\"ltr\",\"content\":");
	buf_json(b, it->html);
	buf_addz(b, "},\"author\":");
	buf_json(b, it->author);
	add_enclosures(b, a, it->enclosures);
	buf_addc(b, '}');
}

static void
begin(struct buf *b, struct str stream)
{
	buf_clear(b);
	buf_addz(b, "{\"direction\":\"ltr\",\"id\":");
	buf_json(b, stream);
	buf_fmt(b, ",\"updated\":%lld,\"items\":[",
	    (long long)(clock_now_us() / US_PER_S));
}

/* A full page may have another behind it. */
static int64_t
next_of(const struct asked *q, const struct sync_id *ids, size_t n)
{
	return n > 0 && n == q->f.most ? ids[n - 1].id : 0;
}

static void
end(struct buf *b, int64_t next)
{
	buf_addc(b, ']');
	if (next)
		buf_fmt(b, ",\"continuation\":\"%lld\"", (long long)next);
	buf_addc(b, '}');
}

int
gr_page(struct req *r, struct db *db, struct gr_page *ret, struct err *e)
{
	struct form form = {r->query, r->n_query};
	struct str stream =
	    r->params[0].n > 0 ? r->params[0] : form_get(&form, "s");
	struct asked q = {0};
	struct sync_id *ids = NULL;
	const struct sync_feed *f;
	size_t n = 0;
	int rc = ask(r, db, &form, stream, SYNC_PAGE_MAX, &q, e);

	if (rc == OK && !q.none)
		rc = sync_ids(db, r->who.user, &q.f, r->arena, &ids, &n, e);
	if (rc == OK && !q.none)
		rc = sync_items(
		    db, r->who.user, ids, n, r->arena, &ret->items, &ret->n, e);
	if (rc < 0)
		return rc;
	f = q.f.feed ? gr_world_feed(&q.w, q.f.feed) : NULL;
	ret->w = q.w;
	ret->stream = q.stream;
	ret->title = f ? f->title : q.stream;
	ret->next = next_of(&q, ids, n);
	return OK;
}

int
api_gr_stream(struct req *r, struct db *db, struct err *e)
{
	struct gr_page p = {0};
	int rc = gr_page(r, db, &p, e);

	if (rc < 0)
		return rc;
	begin(&r->out, p.stream);
	for (size_t i = 0; i < p.n; i++) {
		if (i)
			buf_addc(&r->out, ',');
		add_item(&r->out, r->arena, &p.w, &p.items[i]);
	}
	end(&r->out, p.next);
	return OK;
}

int
api_gr_ids(struct req *r, struct db *db, struct err *e)
{
	struct form form = {r->query, r->n_query};
	struct asked q = {0};
	struct sync_id *ids = NULL;
	size_t n = 0;
	int rc = ask(r, db, &form, form_get(&form, "s"), SYNC_IDS_MAX, &q, e);

	if (rc == OK && !q.none)
		rc = sync_ids(db, r->who.user, &q.f, r->arena, &ids, &n, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"itemRefs\":[");
	for (size_t i = 0; i < n; i++)
		buf_fmt(&r->out,
		    "%s{\"id\":\"%lld\",\"directStreamIds\":[],"
		    "\"timestampUsec\":\"%lld\"}",
		    i ? "," : "", (long long)ids[i].id,
		    (long long)ids[i].created_us);
	end(&r->out, next_of(&q, ids, n));
	return OK;
}

/* Changes nothing, so that it needs no T, though it is a POST for its size. */
int
api_gr_items(struct req *r, struct db *db, struct err *e)
{
	struct sync_item *items = NULL;
	struct gr_world w = {0};
	struct sync_id *ids;
	struct form form;
	size_t at = 0, n_ids = 0, n = 0;
	struct str s;
	int rc = form_read(r, &form, e);

	if (rc < 0)
		return rc;
	ids = arena_array(r->arena, form.n + 1, sizeof(*ids));
	if (!ids)
		return err_set(e, ERR_NOMEM, "no room for the ids");
	while (form_each(&form, "i", &at, &s))
		if (!gr_item_id(s, &ids[n_ids++].id))
			return err_set(e, ERR_INVALID, "i is no article's id");
	if (n_ids > SYNC_PAGE_MAX)
		return err_set(
		    e, ERR_LIMIT, "over %d articles at once", SYNC_PAGE_MAX);
	rc = gr_world(r, db, &w, e);
	if (rc == OK)
		rc = sync_items(
		    db, r->who.user, ids, n_ids, r->arena, &items, &n, e);
	if (rc < 0)
		return rc;
	begin(&r->out, STR(GR_STATE "reading-list"));
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&r->out, ',');
		add_item(&r->out, r->arena, &w, &items[i]);
	}
	end(&r->out, 0);
	return OK;
}
