#include "api/apps/miniflux.h"

#include "api/api.h"
#include "feed/discover.h"
#include "reader/category.h"
#include "reader/subscription.h"

/* ---- what its files share ---- */

int
miniflux_body(struct req *r, struct json **ret, struct err *e)
{
	TRY(json_parse(r->arena, r->body, ret, e));
	if (!json_is(*ret, JSON_OBJECT))
		return err_set(e, ERR_SYNTAX, "expected a JSON object");
	return OK;
}

/* Without blanks around; empty: there is none. */
static struct str
text_of(const struct json *body, const char *name)
{
	return str_trim(json_text(body, name));
}

int
miniflux_nothing(struct req *r)
{
	r->status = 204;
	return OK;
}

void
miniflux_time(struct buf *b, const char *name, int64_t us)
{
	put_name(b, name);
	buf_addc(b, '"');
	time_add(b, us);
	buf_addc(b, '"');
}

/* Without its closing brace. */
static void
open_category(
    struct buf *b, const char *name, int64_t user, int64_t id, struct str title)
{
	put_open(b, name, '{');
	put_int(b, "id", id);
	put_int(b, "user_id", user);
	put_text(b, "title", title.n > 0 ? title : STR("All"));
	put_bool(b, "hide_globally", false);
}

void
miniflux_feed(struct buf *b, int64_t user, const struct sync_feed *f)
{
	put_open(b, NULL, '{');
	put_int(b, "id", f->id);
	put_int(b, "user_id", user);
	put_text(b, "feed_url", f->url);
	put_text(b, "site_url", f->site.n > 0 ? f->site : f->url);
	put_text(b, "title", f->title);
	miniflux_time(b, "checked_at", f->last_fetch_us);
	miniflux_time(b, "next_check_at", f->next_fetch_us);
	buf_addz(b, ",\"etag_header\":\"\",\"last_modified_header\":\"\"");
	put_text(b, "parsing_error_message", f->error);
	put_int(b, "parsing_error_count", f->errors);
	buf_addz(b, ",\"scraper_rules\":\"\",\"rewrite_rules\":\"\","
		    "\"blocklist_rules\":\"\",\"keeplist_rules\":\"\","
		    "\"user_agent\":\"\",\"username\":\"\",\"password\":\"\","
		    "\"crawler\":false,\"ignore_http_cache\":false,"
		    "\"fetch_via_proxy\":false,\"hide_globally\":false");
	put_bool(b, "disabled", f->stopped);
	open_category(b, "category", user, f->category, f->category_title);
	put_close(b, '}');
	if (f->icon) {
		put_open(b, "icon", '{');
		put_int(b, "feed_id", f->id);
		put_int(b, "icon_id", f->id);
		put_close(b, '}');
	} else {
		put_null(b, "icon");
	}
	put_close(b, '}');
}

/* ---- the server ---- */

/* Which Miniflux we answer like; apps look at it to know what there is. */
#define LIKE_VERSION "2.1.0"

int
api_mf_version(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
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
	(void)db, (void)e;
	put_open(&r->out, NULL, '{');
	put_int(&r->out, "id", r->who.user);
	put_z(&r->out, "username", r->who.name);
	buf_addz(&r->out,
	    ",\"is_admin\":false,\"theme\":\"system_serif\","
	    "\"language\":\"en_US\",\"timezone\":\"UTC\","
	    "\"entry_sorting_direction\":\"desc\","
	    "\"entry_sorting_order\":\"published_at\","
	    "\"entries_per_page\":100,\"keyboard_shortcuts\":true,"
	    "\"show_reading_time\":true,\"display_mode\":\"standalone\"}");
	return OK;
}

/* ---- feeds ---- */

/* All, or those of the category that the path names. */
int
api_mf_feeds(struct req *r, struct db *db, struct err *e)
{
	struct sync_feeds list;
	int64_t category = 0;

	if (r->params[0].n > 0)
		TRY(app_id(r, 0, &category, e));
	TRY(sync_feeds(APP_SYNC(r, db), &list, e));
	put_open(&r->out, NULL, '[');
	for (size_t i = 0; i < list.n; i++)
		if (!category || list.v[i].category == category)
			miniflux_feed(&r->out, r->who.user, &list.v[i]);
	put_close(&r->out, ']');
	return OK;
}

static int
find_feed(struct req *r, struct db *db, struct sync_feed *ret, struct err *e)
{
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	return sync_feed(APP_SYNC(r, db), id, ret, e);
}

/* The feed as it is now. */
int
api_mf_feed(struct req *r, struct db *db, struct err *e)
{
	struct sync_feed f;

	TRY(find_feed(r, db, &f, e));
	miniflux_feed(&r->out, r->who.user, &f);
	return OK;
}

int
api_mf_icon(struct req *r, struct db *db, struct err *e)
{
	struct str mime, data;
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	TRY(sync_icon(APP_SYNC(r, db), id, &mime, &data, e));
	if (data.n == 0)
		return err_set(e, ERR_ABSENT, "this feed has no icon");
	put_open(&r->out, NULL, '{');
	put_int(&r->out, "id", id);
	put_text(&r->out, "mime_type", mime);
	app_put_icon(&r->out, mime, data);
	put_close(&r->out, '}');
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
	struct sync_feeds list;

	TRY(sync_feeds(APP_SYNC(r, db), &list, e));
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

	TRY(app_id(r, 0, &id, e));
	TRY(subscription_drop(db, r->who.user, id, e));
	return miniflux_nothing(r);
}

/* All, or the one that the path names. */
int
api_mf_refresh(struct req *r, struct db *db, struct err *e)
{
	struct sync_feed f = {.id = 0};

	if (r->params[0].n > 0)
		TRY(find_feed(r, db, &f, e));
	TRY(sync_fetch_soon(APP_SYNC(r, db), f.id, clock_now_us(), e));
	app_due(r);
	return miniflux_nothing(r);
}

struct feed_change {
	struct str url, title; /* empty: not given, as is category 0 */
	int64_t category;
};

static int
read_change(struct req *r, struct feed_change *ret, struct err *e)
{
	const struct json *v;
	struct json *j;

	TRY(miniflux_body(r, &j, e));
	ret->url = text_of(j, "feed_url");
	ret->title = text_of(j, "title");
	v = json_get(j, "category_id");
	if (v && !json_is(v, JSON_NULL) &&
	    (!json_int(v, &ret->category) || ret->category < 0))
		return err_set(e, ERR_SYNTAX, "category_id must be an id");
	return OK;
}

/* Its category, or none; its title; or nothing at all. */
static int
change_feed(struct req *r, struct db *db, struct uuid sub,
    const struct feed_change *c, struct err *e)
{
	struct subscription_patch p = {.set_title = c->title.n > 0,
	    .title = c->title,
	    .set_category = c->category != 0,
	    .has_category = c->category && c->category != SYNC_NO_CATEGORY};
	struct sync_category to;

	if (p.has_category) {
		TRY(sync_category(APP_SYNC(r, db), c->category, &to, e));
		p.category = to.uid;
	}
	if (!p.set_title && !p.set_category)
		return OK;
	return subscription_patch(db, r->who.user, sub, &p, clock_now_us(), e);
}

/* On the commit thread: the feed is there. */
static int
added(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;
	struct feed_change c = {.category = a->category};
	struct sync_feed f;

	TRY(sync_feed(APP_SYNC(r, db), a->reg.feed, &f, e));
	TRY(change_feed(r, db, f.sub, &c, e));
	buf_fmt(&r->out, "{\"feed_id\":%lld}", (long long)f.id);
	r->status = 201;
	return OK;
}

int
api_mf_feed_post(struct req *r, struct db *, struct err *e)
{
	struct app_feed *a = arena_alloc(r->arena, sizeof(*a));
	struct feed_change c = {.category = 0};

	TRY(read_change(r, &c, e));
	if (c.url.n == 0)
		return err_set(e, ERR_SYNTAX, "feed_url is needed");
	a->reg.url = c.url;
	a->category = c.category;
	a->finish = added;
	return app_feed_add(r, a, e);
}

int
api_mf_feed_put(struct req *r, struct db *db, struct err *e)
{
	struct sync_feed f;

	if (!db) {
		r->ctx = arena_alloc(r->arena, sizeof(struct feed_change));
		TRY(read_change(r, r->ctx, e));
		return api_write(r, api_mf_feed_put, e);
	}
	TRY(find_feed(r, db, &f, e));
	TRY(change_feed(r, db, f.sub, r->ctx, e));
	r->status = 201;
	return api_mf_feed(r, db, e);
}

/* ---- categories ---- */

static void
put_category(
    struct req *r, const struct sync_feeds *of, int64_t id, struct str title)
{
	int64_t unread = 0, count = 0;

	open_category(&r->out, NULL, r->who.user, id, title);
	for (size_t i = 0; of && i < of->n; i++)
		if (of->v[i].category == id) {
			unread += of->v[i].unread;
			count++;
		}
	if (of) {
		put_int(&r->out, "feed_count", count);
		put_int(&r->out, "total_unread", unread);
	}
	put_close(&r->out, '}');
}

int
api_mf_categories(struct req *r, struct db *db, struct err *e)
{
	struct form form = {r->query, r->n_query};
	bool counted = str_eq(form_get(&form, "counts"), STR("true"));
	struct sync_categories list;
	struct sync_feeds feed;

	TRY(sync_categories(APP_SYNC(r, db), &list, e));
	if (counted)
		TRY(sync_feeds(APP_SYNC(r, db), &feed, e));
	put_open(&r->out, NULL, '[');
	put_category(r, counted ? &feed : NULL, SYNC_NO_CATEGORY, STR_EMPTY);
	for (size_t i = 0; i < list.n; i++)
		put_category(
		    r, counted ? &feed : NULL, list.v[i].id, list.v[i].title);
	put_close(&r->out, ']');
	return OK;
}

static int
show_category(struct req *r, struct db *db, struct uuid uid, struct err *e)
{
	struct sync_categories list;

	TRY(sync_categories(APP_SYNC(r, db), &list, e));
	for (size_t i = 0; i < list.n; i++)
		if (uuid_eq(list.v[i].uid, uid))
			put_category(r, NULL, list.v[i].id, list.v[i].title);
	r->status = 201;
	return OK;
}

/* Its title is r->ctx then. */
static int
with_title(struct req *r, handler_fn fn, struct err *e)
{
	struct str *title = arena_alloc(r->arena, sizeof(*title));
	struct json *j;

	TRY(miniflux_body(r, &j, e));
	*title = text_of(j, "title");
	if (title->n == 0)
		return err_set(e, ERR_SYNTAX, "title is needed");
	r->ctx = title;
	return api_write(r, fn, e);
}

int
api_mf_category_post(struct req *r, struct db *db, struct err *e)
{
	const struct str *title = r->ctx;
	struct uuid uid;

	if (!db)
		return with_title(r, api_mf_category_post, e);
	TRY(category_add(db, r->who.user, *title, clock_now_us(), &uid, e));
	return show_category(r, db, uid, e);
}

static int
find_category(
    struct req *r, struct db *db, struct sync_category *ret, struct err *e)
{
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	return sync_category(APP_SYNC(r, db), id, ret, e);
}

int
api_mf_category_put(struct req *r, struct db *db, struct err *e)
{
	const struct str *title = r->ctx;
	struct sync_category c;

	if (!db)
		return with_title(r, api_mf_category_put, e);
	TRY(find_category(r, db, &c, e));
	TRY(category_rename(db, r->who.user, c.uid, *title, clock_now_us(), e));
	return show_category(r, db, c.uid, e);
}

int
api_mf_category_delete(struct req *r, struct db *db, struct err *e)
{
	struct sync_category c;

	TRY(find_category(r, db, &c, e));
	TRY(category_del(db, r->who.user, c.uid, e));
	return miniflux_nothing(r);
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
api_mf_discover(struct req *r, struct db *, struct err *e)
{
	struct app_feed *a = arena_alloc(r->arena, sizeof(*a));
	const struct json *url;
	struct json *j;

	TRY(miniflux_body(r, &j, e));
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
