#include "api/apps/miniflux.h"

#include "api/api.h"
#include "api/apps/app_feeds.h"
#include "api/apps/apps.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "reader/subs.h"
#include "seal/base64.h"

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
	(void)db, (void)e;
	buf_clear(&r->out);
	buf_fmt(&r->out, "{\"id\":%lld,\"username\":", (long long)r->who.user);
	buf_json(&r->out, str_of(r->who.name));
	buf_fmt(&r->out,
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
	struct sync_feed *list = NULL;
	size_t n = 0, shown = 0;
	int rc = sync_feeds(db, r->who.user, r->arena, &list, &n, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addc(&r->out, '[');
	for (size_t i = 0; i < n; i++) {
		if (category && list[i].category != category)
			continue;
		if (shown++)
			buf_addc(&r->out, ',');
		mf_feed(&r->out, r->who.user, &list[i]);
	}
	buf_addc(&r->out, ']');
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
	int rc = mf_id(r, 0, &id, e);

	return rc < 0 ? rc : feeds(r, db, id, e);
}

static int
find_feed(struct req *r, struct db *db, struct sync_feed *ret, struct err *e)
{
	int64_t id;
	int rc = mf_id(r, 0, &id, e);

	return rc < 0 ? rc : sync_feed(db, r->who.user, id, r->arena, ret, e);
}

int
api_mf_feed(struct req *r, struct db *db, struct err *e)
{
	struct sync_feed f;
	int rc = find_feed(r, db, &f, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	mf_feed(&r->out, r->who.user, &f);
	return OK;
}

int
api_mf_icon(struct req *r, struct db *db, struct err *e)
{
	struct str mime = STR_EMPTY, data = STR_EMPTY;
	int64_t id;
	int rc = mf_id(r, 0, &id, e);

	if (rc == OK)
		rc = sync_icon(db, r->who.user, id, r->arena, &mime, &data, e);
	if (rc == OK && data.n == 0)
		rc = err_set(e, ERR_ABSENT, "this feed has no icon");
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_fmt(&r->out, "{\"id\":%lld,\"mime_type\":", (long long)id);
	buf_json(&r->out, mime);
	buf_fmt(&r->out, ",\"data\":\"%.*s;base64,", STR_ARG(mime));
	base64_add(&r->out, data);
	buf_addz(&r->out, "\"}");
	return OK;
}

int
api_mf_counters(struct req *r, struct db *db, struct err *e)
{
	struct sync_feed *list = NULL;
	size_t n = 0;
	int rc = sync_feeds(db, r->who.user, r->arena, &list, &n, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	for (int unread = 0; unread < 2; unread++) {
		buf_addz(&r->out, unread ? "},\"unreads\":{" : "{\"reads\":{");
		for (size_t i = 0; i < n; i++)
			buf_fmt(&r->out, "%s\"%lld\":%lld", i ? "," : "",
			    (long long)list[i].id,
			    (long long)(unread
					    ? list[i].unread
					    : list[i].items - list[i].unread));
	}
	buf_addz(&r->out, "}}");
	return OK;
}

int
api_mf_feed_delete(struct req *r, struct db *db, struct err *e)
{
	int64_t id;
	int rc = mf_id(r, 0, &id, e);

	if (rc == OK)
		rc = subscription_drop(db, r->who.user, id, e);
	return rc < 0 ? rc : mf_nothing(r);
}

/* On the commit thread. */
static int
refresh_all(struct req *r, struct db *db, struct err *e)
{
	int rc = sync_fetch_soon(db, r->who.user, 0, clock_now_us(), e);

	return rc < 0 ? rc : mf_nothing(r);
}

static int
refresh_one(struct req *r, struct db *db, struct err *e)
{
	struct sync_feed f;
	int rc = find_feed(r, db, &f, e);

	if (rc == OK)
		rc = sync_fetch_soon(db, r->who.user, f.id, clock_now_us(), e);
	return rc < 0 ? rc : mf_nothing(r);
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
	int rc =
	    c ? mf_body(r, &j, e) : err_set(e, ERR_NOMEM, "no room for a feed");

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

static int
category_uid(
    struct req *r, struct db *db, int64_t id, struct uuid *ret, struct err *e)
{
	struct sync_category *list = NULL;
	size_t n = 0;
	int rc = sync_categories(db, r->who.user, r->arena, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		if (list[i].id == id) {
			*ret = list[i].uid;
			return OK;
		}
	return rc < 0 ? rc
		      : err_set(e, ERR_ABSENT, "there is no such category");
}

/* Its category, or none. */
static int
place(struct req *r, struct db *db, int64_t category,
    struct subscription_patch *p, struct err *e)
{
	p->set_category = category != 0;
	if (!category || category == SYNC_NO_CATEGORY)
		return OK;
	p->has_category = true;
	return category_uid(r, db, category, &p->category, e);
}

/* On the commit thread: the feed is there. */
static int
added(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;
	struct subscription_patch p = {0};
	struct sync_feed f;
	int rc = sync_feed(db, r->who.user, a->reg.feed, r->arena, &f, e);

	if (rc == OK)
		rc = place(r, db, a->category, &p, e);
	if (rc == OK && p.set_category)
		rc = subscription_patch(
		    db, r->who.user, f.sub, &p, clock_now_us(), e);
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
	if (rc == OK && !a)
		rc = err_set(e, ERR_NOMEM, "no room for a feed");
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
	const struct feed_change *c = r->ctx;
	struct subscription_patch p = {
	    .set_title = c->set_title,
	    .title = c->title,
	};
	struct sync_feed f;
	int rc = find_feed(r, db, &f, e);

	if (rc == OK)
		rc = place(r, db, c->category, &p, e);
	if (rc == OK && (p.set_title || p.set_category))
		rc = subscription_patch(
		    db, r->who.user, f.sub, &p, clock_now_us(), e);
	if (rc == OK)
		rc = find_feed(r, db, &f, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	mf_feed(&r->out, r->who.user, &f);
	r->status = 201;
	return OK;
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
counts(const struct sync_feed *feeds, size_t n, int64_t category, char *ret,
    size_t size)
{
	long long unread = 0, count = 0;

	for (size_t i = 0; i < n; i++)
		if (feeds[i].category == category) {
			unread += feeds[i].unread;
			count++;
		}
	(void)snprintf(ret, size, ",\"feed_count\":%lld,\"total_unread\":%lld",
	    count, unread);
}

int
api_mf_categories(struct req *r, struct db *db, struct err *e)
{
	struct sync_category *list = NULL;
	struct sync_feed *feed = NULL;
	size_t n = 0, n_feeds = 0;
	char more[96] = "";
	struct str with = STR_EMPTY;
	bool counted;
	int rc = sync_categories(db, r->who.user, r->arena, &list, &n, e);

	if (rc == OK)
		rc = sync_feeds(db, r->who.user, r->arena, &feed, &n_feeds, e);
	if (rc < 0)
		return rc;
	(void)req_query(r, "counts", &with);
	counted = str_eq(with, STR("true"));
	buf_clear(&r->out);
	buf_addc(&r->out, '[');
	if (counted)
		counts(feed, n_feeds, SYNC_NO_CATEGORY, more, sizeof(more));
	mf_category(&r->out, r->who.user, SYNC_NO_CATEGORY, STR_EMPTY, more);
	for (size_t i = 0; i < n; i++) {
		if (counted)
			counts(feed, n_feeds, list[i].id, more, sizeof(more));
		buf_addc(&r->out, ',');
		mf_category(
		    &r->out, r->who.user, list[i].id, list[i].title, more);
	}
	buf_addc(&r->out, ']');
	return OK;
}

static int
read_title(struct req *r, struct str **ret, struct err *e)
{
	struct str *title = arena_alloc(r->arena, sizeof(*title));
	const struct json *v;
	struct json *j = NULL;
	int rc = title ? mf_body(r, &j, e)
		       : err_set(e, ERR_NOMEM, "no room for a category");

	if (rc < 0)
		return rc;
	v = json_get(j, "title");
	if (json_is(v, JSON_STRING))
		*title = str_trim(v->text);
	if (title->n == 0)
		return err_set(e, ERR_SYNTAX, "title is needed");
	*ret = title;
	return OK;
}

static int
show_category(struct req *r, struct db *db, struct uuid uid, struct err *e)
{
	struct sync_category *list = NULL;
	size_t n = 0;
	int rc = sync_categories(db, r->who.user, r->arena, &list, &n, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	for (size_t i = 0; i < n; i++)
		if (uuid_eq(list[i].uid, uid))
			mf_category(&r->out, r->who.user, list[i].id,
			    list[i].title, "");
	r->status = 201;
	return OK;
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
rename_category(struct req *r, struct db *db, struct err *e)
{
	const struct str *title = r->ctx;
	struct uuid uid;
	int64_t id;
	int rc = mf_id(r, 0, &id, e);

	if (rc == OK)
		rc = category_uid(r, db, id, &uid, e);
	if (rc == OK)
		rc = category_rename(
		    db, r->who.user, uid, *title, clock_now_us(), e);
	return rc < 0 ? rc : show_category(r, db, uid, e);
}

static int
with_title(struct req *r, handler_fn fn, struct err *e)
{
	struct str *title = NULL;
	int rc = read_title(r, &title, e);

	if (rc < 0)
		return rc;
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
	struct uuid uid;
	int64_t id;
	int rc = mf_id(r, 0, &id, e);

	if (rc == OK)
		rc = category_uid(r, db, id, &uid, e);
	if (rc == OK)
		rc = category_del(db, r->who.user, uid, e);
	return rc < 0 ? rc : mf_nothing(r);
}
