#include "api/apps/miniflux.h"

#include "api/api.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "feed/discover.h"
#include "reader/category.h"
#include "reader/subscription.h"

/* Which Miniflux we answer like; apps look at it to know what there is. */
#define LIKE_VERSION "2.1.0"

int
api_mf_version(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"version\":\"" LIKE_VERSION
			  "\",\"commit\":\"hikyaku\",\"build_date\":\"\","
			  "\"go_version\":\"\",\"compiler\":\"\","
			  "\"arch\":\"\",\"os\":\"linux\"}");
	return OK;
}

int
api_mf_version_text(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
	r->content_type = "text/plain";
	buf_addz(&r->out, LIKE_VERSION);
	return OK;
}

int
api_mf_health(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
	r->content_type = "text/plain";
	buf_addz(&r->out, "OK");
	return OK;
}

int
api_mf_integrations(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
	buf_addz(&r->out, "{\"has_integrations\":false}");
	return OK;
}

int
api_mf_me(struct req *r, struct db *db, struct err *e)
{
	struct buf *b = &r->out;

	(void)db, (void)e;
	buf_clear(b);
	put_open(b, NULL, '{');
	put_int(b, "id", r->who.user);
	put_z(b, "username", r->who.name);
	buf_addz(b,
	    ",\"is_admin\":false,\"theme\":\"system_serif\","
	    "\"language\":\"en_US\",\"timezone\":\"UTC\","
	    "\"entry_sorting_direction\":\"desc\","
	    "\"entry_sorting_order\":\"published_at\","
	    "\"entries_per_page\":100,\"keyboard_shortcuts\":true,"
	    "\"show_reading_time\":true,\"display_mode\":\"standalone\"}");
	return OK;
}

/* ---- feeds ---- */

/* All, or those of a category when it is not 0. */
static int
feeds(struct req *r, struct db *db, int64_t category, struct err *e)
{
	struct sync who = app_sync(r, db);
	struct sync_feeds list;
	int rc = sync_feeds(&who, &list, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	put_open(&r->out, NULL, '[');
	for (size_t i = 0; i < list.n; i++)
		if (!category || list.v[i].category == category)
			miniflux_feed(&r->out, r->who.user, &list.v[i]);
	put_close(&r->out, ']');
	return OK;
}

int
api_mf_feeds(struct req *r, struct db *db, struct err *e)
{
	return feeds(r, db, 0, e);
}

int
api_mf_category_feeds(struct req *r, struct db *db, struct err *e)
{
	int64_t id;
	int rc = app_id(r, 0, &id, e);

	return rc < 0 ? rc : feeds(r, db, id, e);
}

static int
find_feed(struct req *r, struct db *db, struct sync_feed *ret, struct err *e)
{
	struct sync who = app_sync(r, db);
	int64_t id;
	int rc = app_id(r, 0, &id, e);

	return rc < 0 ? rc : sync_feed(&who, id, ret, e);
}

/* The feed as it is now. */
static int
show_feed(struct req *r, struct db *db, int status, struct err *e)
{
	struct sync_feed f;
	int rc = find_feed(r, db, &f, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	miniflux_feed(&r->out, r->who.user, &f);
	r->status = status;
	return OK;
}

int
api_mf_feed(struct req *r, struct db *db, struct err *e)
{
	return show_feed(r, db, 200, e);
}

int
api_mf_icon(struct req *r, struct db *db, struct err *e)
{
	struct sync who = app_sync(r, db);
	struct str mime = STR_EMPTY, data = STR_EMPTY;
	struct buf *b = &r->out;
	int64_t id;
	int rc = app_id(r, 0, &id, e);

	if (rc == OK)
		rc = sync_icon(&who, id, &mime, &data, e);
	if (rc == OK && data.n == 0)
		rc = err_set(e, ERR_ABSENT, "this feed has no icon");
	if (rc < 0)
		return rc;
	buf_clear(b);
	put_open(b, NULL, '{');
	put_int(b, "id", id);
	put_text(b, "mime_type", mime);
	app_put_icon(b, mime, data);
	put_close(b, '}');
	return OK;
}

static void
put_counters(struct buf *b, const struct sync_feeds *list, bool unread)
{
	put_open(b, unread ? "unreads" : "reads", '{');
	for (size_t i = 0; i < list->n; i++) {
		const struct sync_feed *f = &list->v[i];

		put_name(b, NULL);
		buf_fmt(b, "\"%lld\":%lld", (long long)f->id,
		    (long long)(unread ? f->unread : f->items - f->unread));
	}
	put_close(b, '}');
}

int
api_mf_counters(struct req *r, struct db *db, struct err *e)
{
	struct sync who = app_sync(r, db);
	struct sync_feeds list;
	int rc = sync_feeds(&who, &list, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_counters(&r->out, &list, false);
	put_counters(&r->out, &list, true);
	put_close(&r->out, '}');
	return OK;
}

int
api_mf_feed_delete(struct req *r, struct db *db, struct err *e)
{
	int64_t id;
	int rc = app_id(r, 0, &id, e);

	if (rc == OK)
		rc = subscription_drop(db, r->who.user, id, e);
	return rc < 0 ? rc : miniflux_nothing(r);
}

/* On the commit thread. */
static int
refresh_all(struct req *r, struct db *db, struct err *e)
{
	struct sync who = app_sync(r, db);
	int rc = sync_fetch_soon(&who, 0, clock_now_us(), e);

	return rc < 0 ? rc : miniflux_nothing(r);
}

static int
refresh_one(struct req *r, struct db *db, struct err *e)
{
	struct sync who = app_sync(r, db);
	struct sync_feed f;
	int rc = find_feed(r, db, &f, e);

	if (rc == OK)
		rc = sync_fetch_soon(&who, f.id, clock_now_us(), e);
	return rc < 0 ? rc : miniflux_nothing(r);
}

int
api_mf_feeds_refresh(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return app_write_due(r, refresh_all, e);
}

int
api_mf_feed_refresh(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return app_write_due(r, refresh_one, e);
}

struct feed_change {
	struct str url, title;
	bool set_title;
	int64_t category; /* 0: not given */
};

static int
read_change(struct req *r, struct feed_change **ret, struct err *e)
{
	struct feed_change *c = arena_alloc(r->arena, sizeof(*c));
	const struct json *v;
	struct json *j = NULL;
	int rc = miniflux_body(r, &j, e);

	if (rc < 0)
		return rc;
	v = json_get(j, "feed_url");
	if (json_is(v, JSON_STRING))
		c->url = str_trim(v->text);
	v = json_get(j, "title");
	if (json_is(v, JSON_STRING)) {
		c->title = str_trim(v->text);
		c->set_title = c->title.n > 0;
	}
	v = json_get(j, "category_id");
	if (v && !json_is(v, JSON_NULL) &&
	    (!json_int(v, &c->category) || c->category < 0))
		return err_set(e, ERR_SYNTAX, "category_id must be an id");
	*ret = c;
	return OK;
}

/* Its category, or none; its title; or nothing at all. */
static int
change_feed(struct req *r, struct db *db, struct uuid sub,
    const struct feed_change *c, struct err *e)
{
	struct subscription_patch p = {.set_title = c->set_title,
	    .title = c->title,
	    .set_category = c->category != 0,
	    .has_category = c->category && c->category != SYNC_NO_CATEGORY};
	struct sync who = app_sync(r, db);
	struct sync_category to;
	int rc = OK;

	if (p.has_category) {
		rc = sync_category(&who, c->category, &to, e);
		p.category = to.uid;
	}
	if (rc == OK && (p.set_title || p.set_category))
		rc = subscription_patch(
		    db, r->who.user, sub, &p, clock_now_us(), e);
	return rc;
}

/* On the commit thread: the feed is there. */
static int
added(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;
	struct feed_change c = {.category = a->category};
	struct sync who = app_sync(r, db);
	struct sync_feed f;
	int rc = sync_feed(&who, a->reg.feed, &f, e);

	if (rc == OK)
		rc = change_feed(r, db, f.sub, &c, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_fmt(&r->out, "{\"feed_id\":%lld}", (long long)f.id);
	r->status = 201;
	return OK;
}

int
api_mf_feed_post(struct req *r, struct db *db, struct err *e)
{
	struct app_feed *a = arena_alloc(r->arena, sizeof(*a));
	struct feed_change *c = NULL;
	int rc = read_change(r, &c, e);

	(void)db;
	if (rc == OK && c->url.n == 0)
		rc = err_set(e, ERR_SYNTAX, "feed_url is needed");
	if (rc < 0)
		return rc;
	a->reg.url = c->url;
	a->category = c->category;
	a->finish = added;
	return app_feed_add(r, a, e);
}

/* On the commit thread. */
static int
edit_feed(struct req *r, struct db *db, struct err *e)
{
	struct sync_feed f;
	int rc = find_feed(r, db, &f, e);

	if (rc == OK)
		rc = change_feed(r, db, f.sub, r->ctx, e);
	return rc < 0 ? rc : show_feed(r, db, 201, e);
}

int
api_mf_feed_put(struct req *r, struct db *db, struct err *e)
{
	struct feed_change *c = NULL;
	int rc = read_change(r, &c, e);

	(void)db;
	if (rc < 0)
		return rc;
	r->ctx = c;
	return api_write(r, edit_feed, e);
}

/* ---- categories ---- */

static void
put_category(struct buf *b, const struct sync *who, const struct sync_feeds *of,
    int64_t id, struct str title)
{
	int64_t unread = 0, count = 0;

	miniflux_category(b, NULL, who->user, id, title);
	for (size_t i = 0; of && i < of->n; i++)
		if (of->v[i].category == id) {
			unread += of->v[i].unread;
			count++;
		}
	if (of) {
		put_int(b, "feed_count", count);
		put_int(b, "total_unread", unread);
	}
	put_close(b, '}');
}

int
api_mf_categories(struct req *r, struct db *db, struct err *e)
{
	struct sync who = app_sync(r, db);
	struct form form = {r->query, r->n_query};
	bool counted = str_eq(form_get(&form, "counts"), STR("true"));
	struct sync_categories list = {0};
	struct sync_feeds feed = {0};
	int rc = sync_categories(&who, &list, e);

	if (rc == OK && counted)
		rc = sync_feeds(&who, &feed, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	put_open(&r->out, NULL, '[');
	put_category(
	    &r->out, &who, counted ? &feed : NULL, SYNC_NO_CATEGORY, STR_EMPTY);
	for (size_t i = 0; i < list.n; i++)
		put_category(&r->out, &who, counted ? &feed : NULL,
		    list.v[i].id, list.v[i].title);
	put_close(&r->out, ']');
	return OK;
}

static int
show_category(struct req *r, struct db *db, struct uuid uid, struct err *e)
{
	struct sync who = app_sync(r, db);
	struct sync_categories list = {0};
	int rc = sync_categories(&who, &list, e);

	buf_clear(&r->out);
	for (size_t i = 0; i < list.n; i++)
		if (uuid_eq(list.v[i].uid, uid))
			put_category(
			    &r->out, &who, NULL, list.v[i].id, list.v[i].title);
	r->status = 201;
	return rc;
}

/* On the commit thread. */
static int
add_category(struct req *r, struct db *db, struct err *e)
{
	const struct str *title = r->ctx;
	struct uuid uid;
	int rc = category_add(db, r->who.user, *title, clock_now_us(), &uid, e);

	return rc < 0 ? rc : show_category(r, db, uid, e);
}

static int
find_category(
    struct req *r, struct db *db, struct sync_category *ret, struct err *e)
{
	struct sync who = app_sync(r, db);
	int64_t id;
	int rc = app_id(r, 0, &id, e);

	return rc < 0 ? rc : sync_category(&who, id, ret, e);
}

static int
rename_category(struct req *r, struct db *db, struct err *e)
{
	const struct str *title = r->ctx;
	struct sync_category c;
	int rc = find_category(r, db, &c, e);

	if (rc == OK)
		rc = category_rename(
		    db, r->who.user, c.uid, *title, clock_now_us(), e);
	return rc < 0 ? rc : show_category(r, db, c.uid, e);
}

static int
with_title(struct req *r, handler_fn fn, struct err *e)
{
	struct str *title = arena_alloc(r->arena, sizeof(*title));
	const struct json *v;
	struct json *j = NULL;
	int rc = miniflux_body(r, &j, e);

	if (rc < 0)
		return rc;
	v = json_get(j, "title");
	if (json_is(v, JSON_STRING))
		*title = str_trim(v->text);
	if (title->n == 0)
		return err_set(e, ERR_SYNTAX, "title is needed");
	r->ctx = title;
	return api_write(r, fn, e);
}

int
api_mf_category_post(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return with_title(r, add_category, e);
}

int
api_mf_category_put(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return with_title(r, rename_category, e);
}

int
api_mf_category_delete(struct req *r, struct db *db, struct err *e)
{
	struct sync_category c;
	int rc = find_category(r, db, &c, e);

	if (rc == OK)
		rc = category_del(db, r->who.user, c.uid, e);
	return rc < 0 ? rc : miniflux_nothing(r);
}

/* ---- which feeds an address names ---- */

/* As Miniflux says it: 404 when there is none, 500 when nobody could look. */
static int
not_found(struct req *r, const struct err *why, struct err *e)
{
	const char *word = why->word ? why->word : "";

	*e = *why;
	if (strcmp(word, "FEED_NOT_DETECTED") == 0)
		return err_set(e, ERR_ABSENT, "%.300s", why->text);
	if (strcmp(word, "FEED_UNREACHABLE") != 0 &&
	    strcmp(word, "FEED_UNREADABLE") != 0)
		return e->code;
	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_z(&r->out, "error_message", why->text);
	put_close(&r->out, '}');
	r->status = 500;
	return OK;
}

static int
looked(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;
	struct buf *b = &r->out;

	(void)db, (void)e;
	buf_clear(b);
	put_open(b, NULL, '[');
	for (size_t i = 0; i < a->reg.n_found; i++) {
		const struct discover_feed *f = &a->reg.found[i];

		put_open(b, NULL, '{');
		put_text(b, "title", f->title.n > 0 ? f->title : f->url);
		put_text(b, "url", f->url);
		put_z(b, "type",
		    f->kind == DISCOVER_XML ? "rss"
					    : discover_kind_name(f->kind));
		put_close(b, '}');
	}
	put_close(b, ']');
	return OK;
}

int
api_mf_discover(struct req *r, struct db *db, struct err *e)
{
	struct app_feed *a = arena_alloc(r->arena, sizeof(*a));
	const struct json *url;
	struct json *j = NULL;
	int rc = miniflux_body(r, &j, e);

	(void)db;
	if (rc < 0)
		return rc;
	url = json_get(j, "url");
	if (!json_is(url, JSON_STRING) || str_trim(url->text).n == 0 ||
	    url->text.n > URL_MAX)
		return err_set(e, ERR_SYNTAX,
		    "url must be an address of 1 to %d bytes", URL_MAX);
	*a = (struct app_feed){.reg = {.url = url->text, .look = r->arena},
	    .finish = looked,
	    .failed = not_found};
	return app_feed_add(r, a, e);
}
