#include "api/api.h"
#include "api/apps/miniflux.h"
#include "reader/category.h"

static void
put_category(
    struct req *r, const struct sync_feeds *of, const struct sync_category *c)
{
	int64_t unread = 0, count = 0;

	miniflux_open_category(&r->out, NULL, r->who.user, c);
	for (size_t i = 0; of && i < of->n; i++)
		if (of->v[i].category == c->id) {
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
	static const struct sync_category NONE = {.id = SYNC_NO_CATEGORY};
	struct form form = {r->query, r->n_query};
	struct sync_categories list;
	struct sync_feeds feed;
	int counted = 0;

	TRY(app_bool(&form, "counts", &counted, e));
	TRY(sync_categories(APP_SYNC(r, db), &list, e));
	if (counted)
		TRY(sync_feeds(APP_SYNC(r, db), true, &feed, e));
	put_open(&r->out, NULL, '[');
	put_category(r, counted ? &feed : NULL, &NONE);
	for (size_t i = 0; i < list.n; i++)
		put_category(r, counted ? &feed : NULL, &list.v[i]);
	put_close(&r->out, ']');
	return OK;
}

/* ---- changing ---- */

struct category_edit {
	struct str title; /* empty: not given */
	int hidden;       /* -1: the same */
};

/* On the commit thread: what it is now, hidden or not as was asked for. */
static int
show_category(struct req *r, struct db *db, struct uuid uid, struct err *e)
{
	const struct category_edit *d = r->ctx;
	struct sync_categories list;

	TRY(sync_categories(APP_SYNC(r, db), &list, e));
	for (size_t i = 0; i < list.n; i++)
		if (uuid_eq(list.v[i].uid, uid)) {
			struct sync_category *c = &list.v[i];

			if (d->hidden >= 0)
				TRY(sync_hide_category(APP_SYNC(r, db), c->id,
				    d->hidden, clock_now_us(), e));
			c->hidden = d->hidden < 0 ? c->hidden : d->hidden;
			put_category(r, NULL, c);
		}
	r->status = 201;
	return OK;
}

/* What was asked for is r->ctx then. */
static int
read_category(struct req *r, bool new, handler_fn fn, struct err *e)
{
	struct category_edit *d = arena_alloc(r->arena, sizeof(*d));
	const struct json *title;
	struct json *j;

	TRY(miniflux_body(r, &j, e));
	*d = (struct category_edit){
	    .title = miniflux_text(j, "title"), .hidden = -1};
	TRY(miniflux_bool(j, "hide_globally", &d->hidden, e));
	title = json_get(j, "title");
	if (d->title.n == 0 &&
	    (new || d->hidden < 0 || (title && !json_is(title, JSON_NULL))))
		return err_set(e, ERR_SYNTAX, "title is needed");
	r->ctx = d;
	return api_write(r, fn, e);
}

int
api_mf_category_post(struct req *r, struct db *db, struct err *e)
{
	const struct category_edit *d = r->ctx;
	struct uuid uid;

	if (!db)
		return read_category(r, true, api_mf_category_post, e);
	TRY(category_add(db, r->who.user, d->title, clock_now_us(), &uid, e));
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
	const struct category_edit *d = r->ctx;
	struct sync_category c;

	if (!db)
		return read_category(r, false, api_mf_category_put, e);
	TRY(find_category(r, db, &c, e));
	if (d->title.n > 0)
		TRY(category_rename(
		    db, r->who.user, c.uid, d->title, clock_now_us(), e));
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

/* Its feeds, all of them soon. */
int
api_mf_category_refresh(struct req *r, struct db *db, struct err *e)
{
	const struct sync *who = APP_SYNC(r, db);
	struct sync_feeds list;
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	TRY(sync_feeds(who, false, &list, e));
	for (size_t i = 0; i < list.n; i++)
		if (list.v[i].category == id)
			TRY(sync_fetch_soon(
			    who, list.v[i].id, clock_now_us(), e));
	app_due(r);
	return miniflux_nothing(r);
}
