#include "api/api.h"
#include "api/apps/app_feeds.h"
#include "api/apps/app_read.h"
#include "api/apps/apps.h"
#include "api/apps/greader.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "reader/import.h"
#include "reader/subs.h"

/* Subscriptions and labels, by their names. All on the commit thread. */

/* A label's category, made when there is none. */
static int
label(struct req *r, struct db *db, const struct gr_world *w, struct str name,
    struct uuid *ret, struct err *e)
{
	const struct sync_category *c = gr_category(w, name);

	if (!c)
		return category_add(
		    db, r->who.user, name, clock_now_us(), ret, e);
	*ret = c->uid;
	return OK;
}

/* t is its title, a the label it gets, r the one it leaves. */
static int
edit_one(struct req *r, struct db *db, const struct form *f,
    const struct gr_world *w, const struct sync_feed *feed, struct err *e)
{
	struct gr_stream add = gr_stream(form_get(f, "a"));
	struct gr_stream out = gr_stream(form_get(f, "r"));
	struct subscription_patch p = {.title = str_trim(form_get(f, "t"))};
	int rc = OK;

	p.set_title = p.title.n > 0;
	if (out.kind == GR_NAMED && str_eq(out.rest, feed->category_title))
		p.set_category = true;
	if (add.kind == GR_NAMED) {
		p.set_category = p.has_category = true;
		rc = label(r, db, w, add.rest, &p.category, e);
	}
	if (rc == OK && (p.set_title || p.set_category))
		rc = subscription_patch(
		    db, r->who.user, feed->sub, &p, clock_now_us(), e);
	return rc;
}

static int
subscribe(struct req *r, struct db *db, const struct form *f, struct str url,
    struct err *e)
{
	const struct api *api = r->app;
	struct gr_world w = {0};
	int64_t feed = 0;
	int rc = import_one(db, r->who.user, api->guard, url,
	    str_trim(form_get(f, "t")), 0, clock_now_us(), r->arena, &feed, e);

	/* Who has it already is edited. */
	if (rc == ERR_CONFLICT && e->word &&
	    strcmp(e->word, "ALREADY_SUBSCRIBED") == 0)
		rc = OK;
	if (rc == OK)
		rc = gr_world(r, db, &w, e);
	for (size_t i = 0; rc == OK && i < w.n_feeds; i++)
		if (feed ? w.feeds[i].id == feed : str_eq(w.feeds[i].url, url))
			return edit_one(r, db, f, &w, &w.feeds[i], e);
	return rc;
}

static int
sub_edit(struct req *r, struct db *db, struct err *e)
{
	const struct form *f = r->ctx;
	struct str ac = form_get(f, "ac"), s;
	struct gr_world w = {0};
	size_t at = 0;
	int rc = gr_world(r, db, &w, e);

	while (rc == OK && form_each(f, "s", &at, &s)) {
		struct gr_stream g = gr_stream(s);
		const struct sync_feed *feed =
		    g.kind == GR_FEED ? gr_feed(&w, g.rest) : NULL;

		if (g.kind != GR_FEED)
			rc = err_set(e, ERR_INVALID, "s must be feed/…");
		else if (str_eq(ac, STR("subscribe")))
			rc = subscribe(r, db, f, g.rest, e);
		else if (!feed)
			rc = err_set(e, ERR_ABSENT, "there is no such feed");
		else if (str_eq(ac, STR("unsubscribe")))
			rc = subscription_drop(db, r->who.user, feed->id, e);
		else if (str_eq(ac, STR("edit")))
			rc = edit_one(r, db, f, &w, feed, e);
		else
			rc = err_set(e, ERR_INVALID,
			    "ac must be subscribe, unsubscribe or edit");
	}
	return rc < 0 ? rc : gr_ok(r);
}

int
api_gr_sub_edit(struct req *r, struct db *db, struct err *e)
{
	struct form *f = NULL;
	int rc = gr_form(r, &f, e);

	(void)db;
	if (rc < 0)
		return rc;
	r->ctx = f;
	return app_write_due(r, sub_edit, e);
}

/* On the commit thread: the feed is there. */
static int
added(struct req *r, struct db *db, struct err *e)
{
	const struct app_feed *a = r->ctx;
	struct sync_feed f;
	int rc = sync_feed(db, r->who.user, a->reg.feed, r->arena, &f, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"numResults\":1,\"query\":");
	buf_json(&r->out, a->reg.url);
	buf_fmt(&r->out,
	    ",\"streamId\":\"feed/%lld\",\"streamName\":", (long long)f.id);
	buf_json(&r->out, f.title);
	buf_addc(&r->out, '}');
	return OK;
}

int
api_gr_quickadd(struct req *r, struct db *db, struct err *e)
{
	struct app_feed *a = arena_alloc(r->arena, sizeof(*a));
	struct form *f = NULL;
	struct str url;
	int rc =
	    a ? gr_form(r, &f, e) : err_set(e, ERR_NOMEM, "no room for a feed");

	(void)db;
	if (rc < 0)
		return rc;
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
	struct gr_stream g = gr_stream(form_get(f, "s"));
	struct gr_world w = {0};
	int rc = gr_world(r, db, &w, e);

	if (rc < 0)
		return rc;
	if (g.kind != GR_NAMED)
		g.rest = form_get(f, "t");
	*ret = gr_category(&w, g.rest);
	return *ret ? OK : err_set(e, ERR_ABSENT, "there is no such label");
}

static int
tag_rename(struct req *r, struct db *db, struct err *e)
{
	const struct form *f = r->ctx;
	const struct sync_category *c = NULL;
	struct gr_stream to = gr_stream(form_get(f, "dest"));
	int rc = named(r, db, f, &c, e);

	if (rc == OK && to.kind != GR_NAMED)
		rc = err_set(e, ERR_INVALID, "dest must be " GR_LABEL "…");
	if (rc == OK)
		rc = category_rename(
		    db, r->who.user, c->uid, to.rest, clock_now_us(), e);
	return rc < 0 ? rc : gr_ok(r);
}

int
api_gr_tag_rename(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return gr_post(r, tag_rename, e);
}

static int
tag_disable(struct req *r, struct db *db, struct err *e)
{
	const struct sync_category *c = NULL;
	int rc = named(r, db, r->ctx, &c, e);

	if (rc == OK)
		rc = category_del(db, r->who.user, c->uid, e);
	return rc < 0 ? rc : gr_ok(r);
}

int
api_gr_tag_disable(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return gr_post(r, tag_disable, e);
}

/* ---- articles ---- */

static int
read_ids(const struct form *f, struct arena *a, struct sync_id **ret,
    size_t *ret_n, struct err *e)
{
	struct sync_id *ids = arena_array(a, f->n + 1, sizeof(*ids));
	struct str s;
	size_t at = 0, n = 0;

	if (!ids)
		return err_set(e, ERR_NOMEM, "no room for the ids");
	while (form_each(f, "i", &at, &s))
		if (!gr_item_id(s, &ids[n++].id))
			return err_set(e, ERR_INVALID, "i is no article's id");
	*ret = ids;
	*ret_n = n;
	return OK;
}

static int
edit_tag(struct req *r, struct db *db, struct err *e)
{
	const struct form *f = r->ctx;
	struct sync_id *ids = NULL;
	int64_t now_us = clock_now_us();
	size_t n = 0;
	int rc = read_ids(f, r->arena, &ids, &n, e);

	for (int add = 0; add < 2; add++) {
		size_t at = 0;
		struct str s;

		while (rc == OK && form_each(f, add ? "a" : "r", &at, &s)) {
			enum gr_kind kind = gr_stream(s).kind;

			if (kind == GR_READ)
				rc = sync_set_read(
				    db, r->who.user, ids, n, add, now_us, e);
			else if (kind == GR_KEPT && add)
				rc = sync_set_read(
				    db, r->who.user, ids, n, false, now_us, e);
			else if (kind == GR_STARRED)
				rc = sync_set_starred(
				    db, r->who.user, ids, n, add, now_us, e);
			/* Labels of articles we don't have: left alone. */
		}
	}
	return rc < 0 ? rc : gr_ok(r);
}

int
api_gr_edit_tag(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return gr_post(r, edit_tag, e);
}

/* On a read thread: which stream it is. */
static int
find_stream(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;
	struct gr_stream g = gr_stream(form_get(a->ctx, "s"));
	const struct sync_category *c = NULL;
	const struct sync_feed *feed = NULL;
	struct gr_world w = {0};
	int rc = gr_world(r, db, &w, e);

	if (rc < 0)
		return rc;
	if (g.kind == GR_FEED)
		feed = gr_feed(&w, g.rest);
	else if (g.kind == GR_NAMED)
		c = gr_category(&w, g.rest);
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
	return gr_ok(r);
}

int
api_gr_read_all(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = arena_alloc(r->arena, sizeof(*a));
	struct form *f = NULL;
	int rc = a ? gr_form(r, &f, e)
		   : err_set(e, ERR_NOMEM, "no room for the ids");

	(void)db;
	if (rc == OK)
		rc = form_int(f, "ts", 0, INT64_MAX, clock_now_us(),
		    &a->what.before_us, e);
	if (rc < 0)
		return rc;
	a->ctx = f;
	a->find = find_stream;
	a->finish = all_read;
	return app_read_all(r, a, e);
}
