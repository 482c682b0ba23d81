#include "api/api.h"
#include "api/apps/greader.h"
#include "base/conf/conf.h"
#include "reader/category.h"
#include "reader/import.h"
#include "reader/subscription.h"

/* Subscriptions and labels, by their names. All on the commit thread. */

/* A label's category, made when there is none. */
static int
label(struct req *r, struct db *db, const struct greader_world *w,
    struct str name, struct uuid *ret, struct err *e)
{
	const struct sync_category *c = greader_category(w, name);

	if (!c)
		return category_add(
		    db, r->who.user, name, clock_now_us(), ret, e);
	*ret = c->uid;
	return OK;
}

/* t is its title, a the label it gets, r the one it leaves. */
static int
edit_one(struct req *r, struct db *db, const struct form *f,
    const struct greader_world *w, const struct sync_feed *feed, struct err *e)
{
	struct greader_stream add = greader_stream(form_get(f, "a"));
	struct greader_stream out = greader_stream(form_get(f, "r"));
	struct subscription_patch p = {.title = str_trim(form_get(f, "t"))};

	p.set_title = p.title.n > 0;
	if (out.kind == GR_NAMED && str_eq(out.rest, feed->category_title))
		p.set_category = true;
	if (add.kind == GR_NAMED) {
		p.set_category = p.has_category = true;
		TRY(label(r, db, w, add.rest, &p.category, e));
	}
	if (!p.set_title && !p.set_category)
		return OK;
	return subscription_patch(
	    db, r->who.user, feed->sub, &p, clock_now_us(), e);
}

static int
subscribe(struct req *r, struct db *db, const struct form *f, struct str url,
    struct err *e)
{
	const struct api *api = r->app;
	const struct sync_feed *it;
	struct greader_world w;
	int64_t feed = 0;
	struct import_rules rules = {api->guard, api->conf->reader_feeds_max};
	int rc = import_one(APP_SYNC(r, db), &rules, url,
	    str_trim(form_get(f, "t")), clock_now_us(), &feed, e);

	/* Who has it already is edited. */
	if (rc != ERR_CONFLICT || !e->word ||
	    strcmp(e->word, "ALREADY_SUBSCRIBED") != 0)
		TRY(rc);
	TRY(greader_world(r, db, &w, e));
	it = feed ? sync_feeds_find(&w.feeds, feed) : greader_feed(&w, url);
	return it ? edit_one(r, db, f, &w, it, e) : OK;
}

/* Feeds that are added, each as one (rate.limit.feed.reg). */
static int
count_added(struct req *r, const struct form *f, struct err *e)
{
	struct str s;
	size_t at = 0;
	int64_t n = 0;

	if (!str_eq(form_get(f, "ac"), STR("subscribe")))
		return OK;
	while (form_each(f, "s", &at, &s))
		n++;
	return api_count_feeds(r, n, e);
}

int
api_gr_sub_edit(struct req *r, struct db *db, struct err *e)
{
	struct form *f = r->ctx;
	struct str ac, s;
	struct greader_world w;
	size_t at = 0;

	if (!db) {
		TRY(greader_form(r, &f, e));
		TRY(count_added(r, f, e));
		r->ctx = f;
		return api_write(r, api_gr_sub_edit, e);
	}
	ac = form_get(f, "ac");
	TRY(greader_world(r, db, &w, e));
	while (form_each(f, "s", &at, &s)) {
		struct greader_stream g = greader_stream(s);
		const struct sync_feed *feed =
		    g.kind == GR_FEED ? greader_feed(&w, g.rest) : NULL;

		if (g.kind != GR_FEED)
			return err_set(e, ERR_INVALID, "s must be feed/…");
		if (str_eq(ac, STR("subscribe")))
			TRY(subscribe(r, db, f, g.rest, e));
		else if (!feed)
			return err_set(e, ERR_ABSENT, "there is no such feed");
		else if (str_eq(ac, STR("unsubscribe")))
			TRY(subscription_drop(db, r->who.user, feed->id, e));
		else if (str_eq(ac, STR("edit")))
			TRY(edit_one(r, db, f, &w, feed, e));
		else
			return err_set(e, ERR_INVALID,
			    "ac must be subscribe, unsubscribe or edit");
	}
	app_due(r);
	return app_text(r, "OK");
}

/* On the commit thread: the feed is there. */
static int
added(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;
	struct sync_feed f;

	TRY(sync_feed(APP_SYNC(r, db), a->reg.feed, &f, e));
	buf_addz(&r->out, "{\"numResults\":1");
	put_text(&r->out, "query", a->reg.url);
	greader_put_feed(&r->out, "streamId", f.id);
	put_text(&r->out, "streamName", f.title);
	put_close(&r->out, '}');
	return OK;
}

int
api_gr_quickadd(struct req *r, struct db *, struct err *e)
{
	struct app_feed *a = arena_alloc(r->arena, sizeof(*a));
	struct form *f;
	struct str url;

	TRY(greader_form(r, &f, e));
	url = str_trim(form_get(f, "quickadd"));
	if (str_starts(url, STR("feed/")))
		url = str_from(url, 5);
	if (url.n == 0)
		return err_set(e, ERR_INVALID, "quickadd is needed");
	a->reg.url = url;
	a->finish = added;
	return app_feed_add(r, a, e);
}

/* The label that s names, or t by its name alone. */
static int
named(struct req *r, struct db *db, const struct form *f,
    const struct sync_category **ret, struct err *e)
{
	struct greader_stream g = greader_stream(form_get(f, "s"));
	struct greader_world w;

	TRY(greader_world(r, db, &w, e));
	if (g.kind != GR_NAMED)
		g.rest = form_get(f, "t");
	*ret = greader_category(&w, g.rest);
	return *ret ? OK : err_set(e, ERR_ABSENT, "there is no such label");
}

int
api_gr_tag_rename(struct req *r, struct db *db, struct err *e)
{
	const struct form *f = r->ctx;
	const struct sync_category *c;
	struct greader_stream to;

	if (!db)
		return greader_post(r, api_gr_tag_rename, e);
	to = greader_stream(form_get(f, "dest"));
	TRY(named(r, db, f, &c, e));
	if (to.kind != GR_NAMED)
		return err_set(e, ERR_INVALID, "dest must be " GR_LABEL "…");
	TRY(category_rename(
	    db, r->who.user, c->uid, to.rest, clock_now_us(), e));
	return app_text(r, "OK");
}

int
api_gr_tag_disable(struct req *r, struct db *db, struct err *e)
{
	const struct sync_category *c;

	if (!db)
		return greader_post(r, api_gr_tag_disable, e);
	TRY(named(r, db, r->ctx, &c, e));
	TRY(category_del(db, r->who.user, c->uid, e));
	return app_text(r, "OK");
}

/* ---- articles ---- */

int
api_gr_edit_tag(struct req *r, struct db *db, struct err *e)
{
	const struct form *f = r->ctx;
	const struct sync *who = APP_SYNC(r, db);
	struct sync_ids ids;
	int64_t now_us = clock_now_us();

	if (!db)
		return greader_post(r, api_gr_edit_tag, e);
	TRY(greader_ids(f, r->arena, &ids, e));
	for (int add = 0; add < 2; add++) {
		size_t at = 0;
		struct str s;

		while (form_each(f, add ? "a" : "r", &at, &s)) {
			enum greader_kind kind = greader_stream(s).kind;

			/* Labels of articles we don't have: left alone. */
			if (kind == GR_READ || (kind == GR_KEPT && add))
				TRY(sync_set(who, &ids, SYNC_READ,
				    add && kind == GR_READ, now_us, e));
			else if (kind == GR_STARRED)
				TRY(sync_set(
				    who, &ids, SYNC_STARRED, add, now_us, e));
		}
	}
	return app_text(r, "OK");
}

/* On a read thread: which stream it is. */
static int
find_stream(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;
	struct greader_stream g = greader_stream(form_get(a->ctx, "s"));
	const struct sync_category *c = NULL;
	const struct sync_feed *feed = NULL;
	struct greader_world w;

	TRY(greader_world(r, db, &w, e));
	if (g.kind == GR_FEED)
		feed = greader_feed(&w, g.rest);
	else if (g.kind == GR_NAMED)
		c = greader_category(&w, g.rest);
	if (!feed && !c && g.kind != GR_ALL)
		return err_set(e, ERR_ABSENT, "there is no such stream");
	a->what.feed = feed ? feed->id : 0;
	a->what.category = c ? c->id : 0;
	return OK;
}

static int
all_read(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
	return app_text(r, "OK");
}

int
api_gr_read_all(struct req *r, struct db *, struct err *e)
{
	struct app_reading *a = app_reading(r, find_stream, all_read);
	struct form *f;

	TRY(greader_form(r, &f, e));
	TRY(form_int(
	    f, "ts", 0, INT64_MAX, clock_now_us(), &a->what.before_us, e));
	a->ctx = f;
	return app_read_all(r, a, e);
}
