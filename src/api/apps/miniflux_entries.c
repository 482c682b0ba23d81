#include "api/api.h"
#include "api/apps/miniflux.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "reader/limits.h"

#define ENTRIES_DEFAULT 100

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

/* Times are Unix seconds in the query. */
struct asked {
	struct sync_filter f;
	int64_t limit, offset, category;
};

static int
read_filter(
    const struct req *r, struct sync_filter *f, bool *none, struct err *e)
{
	static const struct app_number NUMBERS[] = {
	    {"limit", offsetof(struct asked, limit), INT32_MAX},
	    {"offset", offsetof(struct asked, offset), INT32_MAX},
	    {"category_id", offsetof(struct asked, category)},
	    {"after_entry_id", offsetof(struct asked, f.after_id)},
	    {"before_entry_id", offsetof(struct asked, f.before_id)},
	    {"after", offsetof(struct asked, f.since_us), .seconds = true},
	    {"published_after", offsetof(struct asked, f.since_us),
		.seconds = true},
	    {"before", offsetof(struct asked, f.until_us), .seconds = true},
	    {"published_before", offsetof(struct asked, f.until_us),
		.seconds = true},
	    {"changed_after", offsetof(struct asked, f.changed_after_us),
		.seconds = true},
	    {"changed_before", offsetof(struct asked, f.changed_before_us),
		.seconds = true},
	    {NULL},
	};
	struct form form = {r->query, r->n_query};
	struct asked q = {.f = *f, .limit = ENTRIES_DEFAULT};
	struct str starred = form_get(&form, "starred");
	int rc = read_status(r, &q.f, none, e);

	if (rc == OK)
		rc = read_order(r, &q.f, e);
	if (rc == OK)
		rc = app_numbers(&form, NUMBERS, &q, e);
	if (rc < 0)
		return rc;
	if (q.category)
		q.f.category = q.category;
	q.f.most = q.limit == 0 || q.limit > SYNC_PAGE_MAX ? SYNC_PAGE_MAX
							   : (size_t)q.limit;
	q.f.skip = (size_t)q.offset;
	if (form_has(&form, "starred"))
		q.f.starred =
		    str_eq(starred, STR("true")) || str_eq(starred, STR("1"));
	q.f.search = form_get(&form, "search");
	*f = q.f;
	return OK;
}

static int
entries(struct req *r, struct db *db, struct sync_filter f, struct err *e)
{
	struct sync who = app_sync(r, db);
	struct sync_feeds feeds = {0};
	struct sync_items items = {0};
	struct buf *b = &r->out;
	int64_t total = 0;
	bool none = false;
	int rc = read_filter(r, &f, &none, e);

	if (rc == OK)
		rc = sync_feeds(&who, &feeds, e);
	if (rc == OK && !none)
		rc = sync_count(&who, &f, &total, e);
	if (rc == OK && !none)
		rc = sync_page(&who, &f, &items, e);
	if (rc < 0)
		return rc;
	buf_clear(b);
	put_open(b, NULL, '{');
	put_int(b, "total", total);
	put_open(b, "entries", '[');
	for (size_t i = 0; i < items.n; i++)
		miniflux_entry(r, &items.v[i], &feeds);
	put_close(b, ']');
	put_close(b, '}');
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
	struct sync who = app_sync(r, db);
	struct sync_filter f = SYNC_ALL;
	struct sync_feed feed;
	int rc = app_id(r, 0, &f.feed, e);

	if (rc == OK)
		rc = sync_feed(&who, f.feed, &feed, e);
	return rc < 0 ? rc : entries(r, db, f, e);
}

int
api_mf_category_entries(struct req *r, struct db *db, struct err *e)
{
	struct sync_filter f = SYNC_ALL;
	int rc = app_id(r, 0, &f.category, e);

	return rc < 0 ? rc : entries(r, db, f, e);
}

/* The last param is its id: entries/{id} and feeds/{feed}/entries/{id}. */
int
api_mf_entry(struct req *r, struct db *db, struct err *e)
{
	size_t last = r->params[1].n > 0 ? 1 : 0;
	struct sync who = app_sync(r, db);
	struct sync_feeds feeds = {0};
	struct sync_items it = {0};
	struct sync_id id = {0};
	int rc = app_id(r, last, &id.id, e);

	if (rc == OK)
		rc = sync_feeds(&who, &feeds, e);
	if (rc == OK)
		rc = sync_items(&who, &(struct sync_ids){&id, 1}, &it, e);
	if (rc < 0)
		return rc;
	if (it.n == 0)
		return err_set(e, ERR_ABSENT, "there is no such entry");
	buf_clear(&r->out);
	miniflux_entry(r, it.v, &feeds);
	return OK;
}

/* ---- changing ---- */

struct change {
	struct sync_ids ids;
	bool read, status, star, starred;
};

/* On the commit thread. */
static int
change(struct req *r, struct db *db, struct err *e)
{
	const struct change *c = r->ctx;
	struct sync who = app_sync(r, db);
	int64_t now_us = clock_now_us();
	int rc = OK;

	if (c->status)
		rc = sync_set_read(&who, &c->ids, c->read, now_us, e);
	if (rc == OK && c->star)
		rc = sync_set_starred(&who, &c->ids, c->starred, now_us, e);
	return rc < 0 ? rc : miniflux_nothing(r);
}

static int
read_ids(const struct json *list, struct arena *a, struct sync_ids *ret,
    struct err *e)
{
	if (!json_is(list, JSON_ARRAY) || list->n == 0)
		return err_set(
		    e, ERR_SYNTAX, "entry_ids must be a list of ids");
	if (list->n > SYNC_IDS_MAX)
		return err_set(
		    e, ERR_LIMIT, "entry_ids has over %d ids", SYNC_IDS_MAX);
	ret->v = arena_array(a, list->n, sizeof(*ret->v));
	for (const struct json *x = list->child; x; x = x->next)
		if (!json_int(x, &ret->v[ret->n++].id))
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
	int rc = miniflux_body(r, &j, e);

	(void)db;
	if (rc == OK)
		rc = read_ids(json_get(j, "entry_ids"), r->arena, &c->ids, e);
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
	struct sync who = app_sync(r, db);
	int64_t id;
	int rc = app_id(r, 0, &id, e);

	if (rc == OK)
		rc = sync_turn_star(&who, id, clock_now_us(), e);
	return rc < 0 ? rc : miniflux_nothing(r);
}

static int
entries_read(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
	return miniflux_nothing(r);
}

/* All, or what `find` says; on the http thread. */
static int
read_all(struct req *r, handler_fn find, struct err *e)
{
	struct app_reading *a = arena_alloc(r->arena, sizeof(*a));

	a->what.before_us = clock_now_us();
	a->find = find;
	a->finish = entries_read;
	return app_read_all(r, a, e);
}

/* On a read thread. */
static int
this_feed(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;
	struct sync who = app_sync(r, db);
	struct sync_feed feed;
	int rc = app_id(r, 0, &a->what.feed, e);

	return rc < 0 ? rc : sync_feed(&who, a->what.feed, &feed, e);
}

static int
this_category(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;

	(void)db;
	return app_id(r, 0, &a->what.category, e);
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
	int rc = app_id(r, 0, &id, e);

	(void)db;
	if (rc == OK && id != r->who.user)
		rc = err_set(e, ERR_DENIED, "this is somebody else");
	return rc < 0 ? rc : read_all(r, NULL, e);
}
