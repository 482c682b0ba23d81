#include "api/apps/miniflux.h"

#include <sys/utsname.h>

#include "api/api.h"
#include "feed/discover.h"
#include "reader/feed_login.h"
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

struct str
miniflux_text(const struct json *body, const char *name)
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

void
miniflux_open_category(struct buf *b, const char *name, int64_t user,
    const struct sync_category *c)
{
	put_open(b, name, '{');
	put_int(b, "id", c->id);
	put_int(b, "user_id", user);
	put_text(b, "title", c->title.n > 0 ? c->title : STR("All"));
	put_bool(b, "hide_globally", c->hidden);
}

/* ---- members with one value ---- */

void
miniflux_put_fixed(struct buf *b, const struct miniflux_fixed *table)
{
	for (; table->name; table++)
		put_raw(b, table->name, str_of(table->json));
}

int
miniflux_check_fixed(
    const struct json *body, const struct miniflux_fixed *table, struct err *e)
{
	for (; table->name; table++) {
		const struct json *v = json_get(body, table->name);
		char at[JSON_POINTER_MAX + 1] = "";

		if (!v || json_is(v, JSON_NULL) ||
		    str_eq(v->raw, str_of(table->json)))
			continue;
		json_point(at, str_of(table->name));
		return json_wrong(
		    e, at, "can only be %s here: %s", table->json, table->why);
	}
	return OK;
}

int
miniflux_bool(
    const struct json *body, const char *name, int *ret, struct err *e)
{
	const struct json *v = json_get(body, name);
	char at[JSON_POINTER_MAX + 1] = "";

	if (!v || json_is(v, JSON_NULL))
		return OK;
	json_point(at, str_of(name));
	if (!json_is_bool(v))
		return json_wrong(e, at, "must be true or false");
	*ret = json_is(v, JSON_TRUE);
	return OK;
}

#define RULES  "an article is shown as its feed has it"
#define ASKING "all feeds are asked for in the same way"

/* Options of a feed that are as they are. */
static const struct miniflux_fixed FEED[] = {
    {"scraper_rules", "\"\"", RULES},
    {"rewrite_rules", "\"\"", RULES},
    {"urlrewrite_rules", "\"\"", RULES},
    {"blocklist_rules", "\"\"", RULES},
    {"keeplist_rules", "\"\"", RULES},
    {"block_filter_entry_rules", "\"\"", RULES},
    {"keep_filter_entry_rules", "\"\"", RULES},
    {"crawler", "false", RULES},
    {"ignore_entry_updates", "false", RULES},
    {"description", "\"\"", "feeds have a title alone"},
    {"no_media_player", "false", "there is no player"},
    {"user_agent", "\"\"", ASKING},
    {"cookie", "\"\"", ASKING},
    {"disable_http2", "false", ASKING},
    {"fetch_via_proxy", "false", "webhook.proxy is the operator's"},
    {"proxy_url", "\"\"", "webhook.proxy is the operator's"},
    {"allow_self_signed_certificates", "false",
	"webhook.tls.ca is the operator's"},
    {NULL},
};

void
miniflux_feed(struct buf *b, int64_t user, const struct sync_feed *f)
{
	struct sync_category c = {.id = f->category,
	    .title = f->category_title,
	    .hidden = f->category_hidden};

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
	miniflux_put_fixed(b, FEED);
	put_z(b, "username", f->login ? FEED_LOGIN_MASK : "");
	put_z(b, "password", f->login ? FEED_LOGIN_MASK : "");
	put_bool(b, "ignore_http_cache", f->uncached);
	put_bool(b, "hide_globally", f->hidden);
	put_bool(b, "disabled", f->stopped || f->paused);
	miniflux_open_category(b, "category", user, &c);
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
#define LIKE_VERSION "2.3.2"

int
api_mf_version(struct req *r, struct db *db, struct err *e)
{
	struct utsname here = {.machine = ""};

	(void)db, (void)e;
	(void)uname(&here);
	put_open(&r->out, NULL, '{');
	put_z(&r->out, "version", LIKE_VERSION);
	put_z(&r->out, "commit", "hikyaku");
	put_z(&r->out, "build_date", "unknown");
	put_z(&r->out, "go_version", "none");
	put_z(&r->out, "compiler", "cc");
	put_z(&r->out, "arch", here.machine);
	put_z(&r->out, "os", "linux");
	put_close(&r->out, '}');
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

/* For who opens the address in a browser, and for who looks for feeds there. */
int
api_mf_home(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
	return app_text(r, "The Miniflux API: for apps, below v1.\n");
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

/* ---- feeds ---- */

/* All, or those of the category that the path names. */
int
api_mf_feeds(struct req *r, struct db *db, struct err *e)
{
	struct sync_feeds list;
	int64_t category = 0;

	if (r->params[0].n > 0)
		TRY(app_id(r, 0, &category, e));
	TRY(sync_feeds(APP_SYNC(r, db), false, &list, e));
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

	TRY(sync_feeds(APP_SYNC(r, db), true, &list, e));
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

/* All that are not stopped, or the one that the path names. */
int
api_mf_refresh(struct req *r, struct db *db, struct err *e)
{
	const struct sync *who = APP_SYNC(r, db);
	int64_t now = clock_now_us();
	struct sync_feed f;

	if (r->params[0].n > 0) {
		TRY(find_feed(r, db, &f, e));
		TRY(sync_fetch_now(who, f.id, now, e));
	} else {
		TRY(sync_fetch_soon(who, 0, now, e));
	}
	app_due(r);
	return miniflux_nothing(r);
}

/* ---- adding and changing a feed ---- */

/* feed comes first: it is r->ctx for app.c, all of it for us. */
struct feed_edit {
	struct app_feed feed;
	struct str url, title; /* empty: not given, as is category 0 */
	struct str site;       /* the same; it is what the feed says */
	int64_t category;
	struct sync_options options;
	struct feed_login_edit login;
	bool set_login;
};

/* .p NULL: it is not there. */
static int
read_word(
    const struct json *body, const char *name, struct str *ret, struct err *e)
{
	const struct json *v = json_get(body, name);

	if (!v || json_is(v, JSON_NULL))
		return OK;
	if (!json_is(v, JSON_STRING))
		return err_set(e, ERR_SYNTAX, "%s must be a string", name);
	*ret = v->text.n > 0 ? v->text : STR("");
	return OK;
}

static int
read_edit(struct req *r, struct feed_edit **ret, struct err *e)
{
	struct feed_edit *d = arena_alloc(r->arena, sizeof(*d));
	const struct json *v;
	struct json *j;

	*d = (struct feed_edit){.options = SYNC_OPTIONS_NONE};
	TRY(miniflux_body(r, &j, e));
	d->url = miniflux_text(j, "feed_url");
	d->title = miniflux_text(j, "title");
	d->site = miniflux_text(j, "site_url");
	v = json_get(j, "category_id");
	if (v && !json_is(v, JSON_NULL) &&
	    (!json_int(v, &d->category) || d->category < 0))
		return err_set(e, ERR_SYNTAX, "category_id must be an id");
	TRY(miniflux_bool(j, "hide_globally", &d->options.hidden, e));
	TRY(miniflux_bool(j, "disabled", &d->options.paused, e));
	TRY(miniflux_bool(j, "ignore_http_cache", &d->options.uncached, e));
	TRY(miniflux_check_fixed(j, FEED, e));
	TRY(read_word(j, "username", &d->login.name, e));
	TRY(read_word(j, "password", &d->login.password, e));
	d->set_login = feed_login_says(&d->login);
	r->ctx = *ret = d;
	return OK;
}

/* The category that it names, when it is none of "All". */
static int
edit_category(
    struct req *r, struct db *db, struct sync_category *ret, struct err *e)
{
	const struct feed_edit *d = r->ctx;
	int rc;

	if (!d->category || d->category == SYNC_NO_CATEGORY)
		return OK;
	rc = sync_category(APP_SYNC(r, db), d->category, ret, e);
	return rc == ERR_ABSENT
		   ? json_wrong(e, "/category_id", "is no category of yours")
		   : rc;
}

/* On the commit thread: d->feed.reg.feed becomes what was asked for. */
static int
apply_edit(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	const struct feed_edit *d = r->ctx;
	const struct sync *who = APP_SYNC(r, db);
	int64_t feed = d->feed.reg.feed, now_us = clock_now_us();
	struct sync_category to = {.id = 0};
	struct subscription_patch p = {.set_title = d->title.n > 0,
	    .title = d->title,
	    .set_category = d->category != 0};
	struct sync_feed f;

	TRY(sync_feed(who, feed, &f, e));
	TRY(edit_category(r, db, &to, e));
	p.has_category = to.id != 0;
	p.category = to.uid;
	if (d->set_login && f.own && !d->feed.reg.login.p) {
		TRY(feed_login_change(&(struct feed_login_of){db, api->keyring,
					  who->user, feed, now_us},
		    &d->login, e));
		app_due(r);
	}
	if (p.set_title || p.set_category)
		TRY(subscription_patch(db, who->user, f.sub, &p, now_us, e));
	TRY(sync_set_options(who, feed, &d->options, now_us, e));
	if (d->options.paused == 0 && f.stopped)
		TRY(subscription_resume(db, who->user, f.sub, now_us, e));
	return OK;
}

static int
edit_added(struct req *r, struct db *db, struct err *e)
{
	const struct feed_edit *d = r->ctx;

	TRY(apply_edit(r, db, e));
	buf_fmt(&r->out, "{\"feed_id\":%lld}", (long long)d->feed.reg.feed);
	r->status = 201;
	return OK;
}

static int
edit_done(struct req *r, struct db *db, struct err *e)
{
	const struct feed_edit *d = r->ctx;
	struct sync_feed f;

	TRY(apply_edit(r, db, e));
	TRY(sync_feed(APP_SYNC(r, db), d->feed.reg.feed, &f, e));
	miniflux_feed(&r->out, r->who.user, &f);
	r->status = 201;
	return OK;
}

/* Both on a read thread: is all there that it names? */
static int
look_at_new(struct req *r, struct db *db, struct err *e)
{
	struct sync_category c;

	return edit_category(r, db, &c, e);
}

static int
look_at_edit(struct req *r, struct db *db, struct err *e)
{
	struct feed_edit *d = r->ctx;
	struct sync_feed f;

	TRY(find_feed(r, db, &f, e));
	TRY(look_at_new(r, db, e));
	if (d->site.n > 0 && !str_eq(d->site, f.site.n > 0 ? f.site : f.url))
		return json_wrong(e, "/site_url", "is what the feed says");
	d->feed.reg.feed = f.id;
	if ((d->url.n > 0 && !str_eq(d->url, f.url)) ||
	    (!f.own && (d->login.name.n > 0 || d->login.password.n > 0))) {
		d->feed.reg.url = d->url.n > 0 ? d->url : f.url;
		d->feed.reg.instead = f.id;
	}
	return OK;
}

static int
go_on_edit(struct req *r, struct err *e)
{
	struct feed_edit *d = r->ctx;
	struct str none = {.p = NULL};

	r->then = NULL;
	if (d->feed.reg.url.n > 0 && d->set_login)
		TRY(feed_login_make(
		    r->arena, none, &d->login, &d->feed.reg.login, e));
	return d->feed.reg.url.n > 0 ? app_feed_add(r, &d->feed, e)
				     : api_write(r, edit_done, e);
}

int
api_mf_feed_post(struct req *r, struct db *, struct err *e)
{
	struct feed_edit *d;

	TRY(read_edit(r, &d, e));
	if (d->url.n == 0)
		return err_set(e, ERR_SYNTAX, "feed_url is needed");
	d->feed.reg.url = d->url;
	d->feed.finish = edit_added;
	api_then(r, go_on_edit);
	return api_read(r, look_at_new, e);
}

int
api_mf_feed_put(struct req *r, struct db *, struct err *e)
{
	struct feed_edit *d;

	TRY(read_edit(r, &d, e));
	d->feed.finish = edit_done;
	api_then(r, go_on_edit);
	return api_read(r, look_at_edit, e);
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
	struct feed_login_edit login = {.name = {.p = NULL}};
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
	TRY(read_word(j, "username", &login.name, e));
	TRY(read_word(j, "password", &login.password, e));
	TRY(feed_login_make(r->arena, a->reg.login, &login, &a->reg.login, e));
	return app_feed_add(r, a, e);
}
