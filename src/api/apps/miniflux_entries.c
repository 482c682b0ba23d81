#include "api/api.h"
#include "api/apps/app_read.h"
#include "api/apps/apps.h"
#include "api/apps/miniflux.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "reader/limits.h"

#define ENTRIES_DEFAULT 100

/* Unix seconds, as the API has times in the query. */
static int
seconds(const struct req *r, const char *name, int64_t *us, struct err *e)
{
	int64_t s = 0;
	int rc = req_query_int(r, name, 0, INT64_MAX / US_PER_S, 0, &s, e);

	if (rc == OK && s > 0)
		*us = s * US_PER_S;
	return rc;
}

/* status may stand there several times; "removed" is what we never have. */
static int
read_status(
    const struct req *r, struct sync_filter *f, bool *none, struct err *e)
{
	bool read = false, unread = false, removed = false;

	for (size_t i = 0; i < r->n_query; i++) {
		struct str v = r->query[i].value;

		if (!str_eq(r->query[i].name, STR("status")))
			continue;
		if (str_eq(v, STR("read")))
			read = true;
		else if (str_eq(v, STR("unread")))
			unread = true;
		else if (str_eq(v, STR("removed")))
			removed = true;
		else
			return err_set(e, ERR_INVALID,
			    "status must be read, unread or removed");
	}
	*none = removed && !read && !unread;
	if (read != unread)
		f->read = read;
	return OK;
}

static int
read_order(const struct req *r, struct sync_filter *f, struct err *e)
{
	static const char *const orders[] = {"id", "status", "changed_at",
	    "published_at", "created_at", "category_title", "category_id",
	    "title", "author"};
	struct str order = STR("published_at"), direction = STR("asc");
	bool known = false, down;

	(void)req_query(r, "order", &order);
	(void)req_query(r, "direction", &direction);
	for (size_t i = 0; i < COUNT_OF(orders); i++)
		known = known || str_eq(order, str_of(orders[i]));
	if (!known)
		return err_set(e, ERR_INVALID, "there is no such order");
	down = str_eq(direction, STR("desc"));
	if (!down && !str_eq(direction, STR("asc")))
		return err_set(e, ERR_INVALID, "direction must be asc or desc");
	/* All but the id are by date: what is asked for is then all there. */
	if (str_eq(order, STR("id")))
		f->order = down ? SYNC_ID_DOWN : SYNC_ID_UP;
	else
		f->order = down ? SYNC_DATE_DOWN : SYNC_DATE_UP;
	return OK;
}

static int
read_filter(
    const struct req *r, struct sync_filter *f, bool *none, struct err *e)
{
	int64_t limit = 0, skip = 0, category = 0;
	struct str starred;
	int rc = read_status(r, f, none, e);

	if (rc == OK)
		rc = read_order(r, f, e);
	if (rc == OK)
		rc = req_query_int(
		    r, "limit", 0, INT32_MAX, ENTRIES_DEFAULT, &limit, e);
	if (rc == OK)
		rc = req_query_int(r, "offset", 0, INT32_MAX, 0, &skip, e);
	if (rc == OK)
		rc = req_query_int(
		    r, "category_id", 0, INT64_MAX, 0, &category, e);
	if (rc == OK)
		rc = req_query_int(
		    r, "after_entry_id", 0, INT64_MAX, 0, &f->after_id, e);
	if (rc == OK)
		rc = req_query_int(
		    r, "before_entry_id", 0, INT64_MAX, 0, &f->before_id, e);
	if (rc == OK)
		rc = seconds(r, "after", &f->since_us, e);
	if (rc == OK)
		rc = seconds(r, "published_after", &f->since_us, e);
	if (rc == OK)
		rc = seconds(r, "before", &f->until_us, e);
	if (rc == OK)
		rc = seconds(r, "published_before", &f->until_us, e);
	if (rc == OK)
		rc = seconds(r, "changed_after", &f->changed_after_us, e);
	if (rc == OK)
		rc = seconds(r, "changed_before", &f->changed_before_us, e);
	if (rc < 0)
		return rc;
	if (category)
		f->category = category;
	f->most =
	    limit == 0 || limit > SYNC_PAGE_MAX ? SYNC_PAGE_MAX : (size_t)limit;
	f->skip = (size_t)skip;
	if (req_query(r, "starred", &starred))
		f->starred =
		    str_eq(starred, STR("true")) || str_eq(starred, STR("1"));
	(void)req_query(r, "search", &f->search);
	return OK;
}

static int
entries(struct req *r, struct db *db, struct sync_filter f, struct err *e)
{
	struct sync_feed *feeds = NULL;
	struct sync_item *items = NULL;
	size_t n_feeds = 0, n = 0;
	int64_t total = 0, user = r->who.user;
	bool none = false;
	int rc = read_filter(r, &f, &none, e);

	if (rc == OK)
		rc = sync_feeds(db, user, r->arena, &feeds, &n_feeds, e);
	if (rc == OK && !none)
		rc = sync_count(db, user, &f, r->arena, &total, e);
	if (rc == OK && !none)
		rc = sync_page(db, user, &f, r->arena, &items, &n, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_fmt(&r->out, "{\"total\":%lld,\"entries\":[", (long long)total);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&r->out, ',');
		mf_entry(&r->out, r->arena, user, &items[i], feeds, n_feeds);
	}
	buf_addz(&r->out, "]}");
	return OK;
}

int
api_mf_entries(struct req *r, struct db *db, struct err *e)
{
	return entries(r, db, SYNC_ALL, e);
}

int
api_mf_feed_entries(struct req *r, struct db *db, struct err *e)
{
	struct sync_filter f = SYNC_ALL;
	struct sync_feed feed;
	int rc = mf_id(r, 0, &f.feed, e);

	if (rc == OK)
		rc = sync_feed(db, r->who.user, f.feed, r->arena, &feed, e);
	return rc < 0 ? rc : entries(r, db, f, e);
}

int
api_mf_category_entries(struct req *r, struct db *db, struct err *e)
{
	struct sync_filter f = SYNC_ALL;
	int rc = mf_id(r, 0, &f.category, e);

	return rc < 0 ? rc : entries(r, db, f, e);
}

/* The last param is its id: entries/{id} and feeds/{feed}/entries/{id}. */
int
api_mf_entry(struct req *r, struct db *db, struct err *e)
{
	size_t last = r->params[1].n > 0 ? 1 : 0;
	struct sync_feed *feeds = NULL;
	struct sync_item *it = NULL;
	struct sync_id id = {0};
	size_t n_feeds = 0, n = 0;
	int64_t user = r->who.user;
	int rc = mf_id(r, last, &id.id, e);

	if (rc == OK)
		rc = sync_feeds(db, user, r->arena, &feeds, &n_feeds, e);
	if (rc == OK)
		rc = sync_items(db, user, &id, 1, r->arena, &it, &n, e);
	if (rc < 0)
		return rc;
	if (n == 0)
		return err_set(e, ERR_ABSENT, "there is no such entry");
	buf_clear(&r->out);
	mf_entry(&r->out, r->arena, user, it, feeds, n_feeds);
	return OK;
}

/* ---- changing ---- */

struct change {
	struct sync_id *ids;
	size_t n;
	bool read, status, star, starred;
};

/* On the commit thread. */
static int
change(struct req *r, struct db *db, struct err *e)
{
	const struct change *c = r->ctx;
	int64_t now_us = clock_now_us(), user = r->who.user;
	int rc = OK;

	if (c->status)
		rc = sync_set_read(db, user, c->ids, c->n, c->read, now_us, e);
	if (rc == OK && c->star)
		rc = sync_set_starred(
		    db, user, c->ids, c->n, c->starred, now_us, e);
	return rc < 0 ? rc : mf_nothing(r);
}

static int
read_ids(
    const struct json *list, struct arena *a, struct change *c, struct err *e)
{
	if (!json_is(list, JSON_ARRAY) || list->n == 0)
		return err_set(
		    e, ERR_SYNTAX, "entry_ids must be a list of ids");
	if (list->n > SYNC_IDS_MAX)
		return err_set(
		    e, ERR_LIMIT, "entry_ids has over %d ids", SYNC_IDS_MAX);
	c->ids = arena_array(a, list->n, sizeof(*c->ids));
	if (!c->ids)
		return err_set(e, ERR_NOMEM, "no room for the ids");
	for (const struct json *x = list->child; x; x = x->next)
		if (!json_int(x, &c->ids[c->n++].id))
			return err_set(
			    e, ERR_SYNTAX, "entry_ids must be a list of ids");
	return OK;
}

int
api_mf_entries_put(struct req *r, struct db *db, struct err *e)
{
	struct change *c = arena_alloc(r->arena, sizeof(*c));
	const struct json *status, *starred;
	struct json *j = NULL;
	int rc = c ? mf_body(r, &j, e)
		   : err_set(e, ERR_NOMEM, "no room for the ids");

	(void)db;
	if (rc == OK)
		rc = read_ids(json_get(j, "entry_ids"), r->arena, c, e);
	if (rc < 0)
		return rc;
	status = json_get(j, "status");
	starred = json_get(j, "starred");
	c->star = json_is_bool(starred);
	c->starred = json_is(starred, JSON_TRUE);
	c->status = json_is(status, JSON_STRING);
	if (c->status) {
		c->read = str_eq(status->text, STR("read"));
		if (!c->read && !str_eq(status->text, STR("unread")))
			return err_set(
			    e, ERR_SYNTAX, "status must be read or unread");
	} else if (!c->star) {
		return err_set(e, ERR_SYNTAX, "status must be read or unread");
	}
	r->ctx = c;
	return api_write(r, change, e);
}

int
api_mf_bookmark(struct req *r, struct db *db, struct err *e)
{
	int64_t id;
	int rc = mf_id(r, 0, &id, e);

	if (rc == OK)
		rc = sync_turn_star(db, r->who.user, id, clock_now_us(), e);
	return rc < 0 ? rc : mf_nothing(r);
}

static int
all_read(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
	return mf_nothing(r);
}

/* All, or what `find` says; on the http thread. */
static int
read_all(struct req *r, handler_fn find, struct err *e)
{
	struct app_reading *a = arena_alloc(r->arena, sizeof(*a));

	if (!a)
		return err_set(e, ERR_NOMEM, "no room for the ids");
	a->what.before_us = clock_now_us();
	a->find = find;
	a->finish = all_read;
	return app_read_all(r, a, e);
}

/* On a read thread. */
static int
this_feed(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;
	struct sync_feed feed;
	int rc = mf_id(r, 0, &a->what.feed, e);

	return rc < 0 ? rc
		      : sync_feed(
			    db, r->who.user, a->what.feed, r->arena, &feed, e);
}

static int
this_category(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;

	(void)db;
	return mf_id(r, 0, &a->what.category, e);
}

int
api_mf_feed_read(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return read_all(r, this_feed, e);
}

int
api_mf_category_read(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return read_all(r, this_category, e);
}

int
api_mf_user_read(struct req *r, struct db *db, struct err *e)
{
	int64_t id;
	int rc = mf_id(r, 0, &id, e);

	(void)db;
	if (rc == OK && id != r->who.user)
		rc = err_set(e, ERR_DENIED, "this is somebody else");
	return rc < 0 ? rc : read_all(r, NULL, e);
}
