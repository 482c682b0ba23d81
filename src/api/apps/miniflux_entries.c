#include "api/api.h"
#include "api/apps/miniflux.h"
#include "reader/limits.h"

#define ENTRIES_DEFAULT 100
#define READ_BYTES      1500 /* of HTML in a minute: 250 words */

/* status may stand there several times; "removed" is what we never have. */
static int
read_status(
    const struct req *r, struct sync_filter *f, bool *none, struct err *e)
{
	static const char *const WORDS[] = {"read", "unread", "removed"};
	bool given[COUNT_OF(WORDS)] = {false};
	struct form form = {r->query, r->n_query};
	size_t at = 0, i;
	struct str v;

	while (form_each(&form, "status", &at, &v)) {
		for (i = 0;
		     i < COUNT_OF(WORDS) && !str_eq(v, str_of(WORDS[i]));)
			i++;
		if (i == COUNT_OF(WORDS))
			return err_set(e, ERR_INVALID,
			    "status must be read, unread or removed");
		given[i] = true;
	}
	*none = given[2] && !given[0] && !given[1];
	if (given[0] != given[1])
		f->read = given[0];
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
	/* Ids grow with the time of their making. All others are by date: what
	 * is asked for is then all there. */
	if (str_eq(order, STR("id")) || str_eq(order, STR("created_at")))
		f->order = down ? SYNC_ID_DOWN : SYNC_ID_UP;
	else
		f->order = down ? SYNC_DATE_DOWN : SYNC_DATE_UP;
	return OK;
}

/* Times are Unix seconds in the query. */
struct asked {
	struct sync_filter f;
	int64_t limit, offset, category, feed;
};

static int
read_filter(
    const struct req *r, struct sync_filter *f, bool *none, struct err *e)
{
	static const struct app_number NUMBERS[] = {
	    {"limit", offsetof(struct asked, limit), INT32_MAX},
	    {"offset", offsetof(struct asked, offset), INT32_MAX},
	    {"category_id", offsetof(struct asked, category)},
	    {"feed_id", offsetof(struct asked, feed)},
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
	int visible = 0;

	if (form_has(&form, "tags"))
		return err_set(e, ERR_INVALID,
		    "tags can't be asked for; search finds their words");
	TRY(read_status(r, &q.f, none, e));
	TRY(read_order(r, &q.f, e));
	TRY(app_numbers(&form, NUMBERS, &q, e));
	if (q.category)
		q.f.category = q.category;
	if (q.feed)
		q.f.feed = q.feed;
	q.f.most = q.limit == 0 || q.limit > SYNC_PAGE_MAX ? SYNC_PAGE_MAX
							   : (size_t)q.limit;
	q.f.skip = (size_t)q.offset;
	TRY(app_bool(&form, "starred", &q.f.starred, e));
	TRY(app_bool(&form, "globally_visible", &visible, e));
	q.f.visible = visible;
	q.f.search = form_get(&form, "search");
	*f = q.f;
	return OK;
}

static void
put_entry(
    struct req *r, const struct sync_item *it, const struct sync_feeds *feeds)
{
	const struct sync_feed *f = sync_feeds_find(feeds, it->feed);
	int64_t user = r->who.user;
	struct buf *b = &r->out;

	put_open(b, NULL, '{');
	put_int(b, "id", it->id);
	put_int(b, "user_id", user);
	put_int(b, "feed_id", it->feed);
	put_z(b, "status", it->read ? "read" : "unread");
	put_name(b, "hash");
	buf_addc(b, '"');
	buf_hex(b, uuid_str(&it->uid));
	buf_addc(b, '"');
	put_text(b, "title", it->title);
	put_text(b, "url", it->link);
	put_text(b, "comments_url", STR_EMPTY);
	miniflux_time(b, "published_at", it->published_us);
	miniflux_time(b, "created_at", it->created_us);
	miniflux_time(b, "changed_at", it->changed_us);
	put_text(b, "content", it->html);
	put_text(b, "author", it->author);
	put_text(b, "share_code", STR_EMPTY);
	put_bool(b, "starred", it->starred);
	put_int(b, "reading_time",
	    (int64_t)((it->html.n + READ_BYTES - 1) / READ_BYTES));
	miniflux_put_files(r, it);
	put_raw(b, "tags", it->categories.n > 0 ? it->categories : STR("[]"));
	if (f) {
		put_name(b, "feed");
		miniflux_feed(b, user, f);
	}
	put_close(b, '}');
}

/* The query's own ids must be the person's; what is gone from the history is
 * not shown. */
static int
check_filter(const struct sync *who, const struct sync_feeds *feeds,
    const struct req *r, struct sync_filter *f, struct err *e)
{
	struct form form = {r->query, r->n_query};
	struct sync_category c;
	int rc = OK;

	if (form_has(&form, "feed_id") && f->feed &&
	    !sync_feeds_find(feeds, f->feed))
		return err_set(e, ERR_INVALID, "feed_id is no feed of yours");
	if (form_has(&form, "category_id") && f->category &&
	    f->category != SYNC_NO_CATEGORY)
		rc = sync_category(who, f->category, &c, e);
	if (rc == ERR_ABSENT)
		return err_set(
		    e, ERR_INVALID, "category_id is no category of yours");
	TRY(rc);
	return sync_flushed(who, &f->flushed_us, e);
}

static int
entries(struct req *r, struct db *db, struct sync_filter f, struct err *e)
{
	const struct sync *who = APP_SYNC(r, db);
	struct sync_items items = {0};
	struct sync_ids ids;
	struct sync_feeds feeds;
	struct buf *b = &r->out;
	int64_t total = 0;
	bool none = false;

	TRY(read_filter(r, &f, &none, e));
	TRY(sync_feeds(who, false, &feeds, e));
	TRY(check_filter(who, &feeds, r, &f, e));
	if (!none) {
		TRY(sync_count(who, &f, &ids, &total, e));
		TRY(sync_items(who, &ids, &items, e));
	}
	put_open(b, NULL, '{');
	put_int(b, "total", total);
	put_open(b, "entries", '[');
	for (size_t i = 0; i < items.n; i++)
		put_entry(r, &items.v[i], &feeds);
	put_close(b, ']');
	put_close(b, '}');
	return OK;
}

/* Ids alone, newest first: up to SYNC_IDS_MAX at once. */
int
api_mf_entry_ids(struct req *r, struct db *db, struct err *e)
{
	const struct sync *who = APP_SYNC(r, db);
	struct form form = {r->query, r->n_query};
	struct sync_filter f = SYNC_ALL;
	struct sync_ids ids = {0};
	struct buf *b = &r->out;
	int64_t total = 0;
	bool none = false;

	TRY(read_filter(r, &f, &none, e));
	TRY(sync_flushed(who, &f.flushed_us, e));
	f.order = SYNC_ID_DOWN;
	if (!form_has(&form, "limit") || f.most == SYNC_PAGE_MAX)
		f.most = SYNC_IDS_MAX;
	if (!none)
		TRY(sync_count(who, &f, &ids, &total, e));
	put_open(b, NULL, '{');
	put_int(b, "total", total);
	put_open(b, "entry_ids", '[');
	for (size_t i = 0; i < ids.n; i++)
		put_int(b, NULL, ids.v[i].id);
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
	struct sync_filter f = SYNC_ALL;
	struct sync_feed feed;

	TRY(app_id(r, 0, &f.feed, e));
	TRY(sync_feed(APP_SYNC(r, db), f.feed, &feed, e));
	return entries(r, db, f, e);
}

int
api_mf_category_entries(struct req *r, struct db *db, struct err *e)
{
	struct sync_filter f = SYNC_ALL;

	TRY(app_id(r, 0, &f.category, e));
	return entries(r, db, f, e);
}

int
miniflux_item(struct req *r, struct db *db, int64_t item, struct sync_item *ret,
    struct err *e)
{
	struct sync_id id = {item, 0};
	struct sync_items it;

	TRY(sync_items(APP_SYNC(r, db), &(struct sync_ids){&id, 1}, &it, e));
	if (it.n == 0)
		return err_set(e, ERR_ABSENT, "there is no such entry");
	*ret = it.v[0];
	return OK;
}

/* The last param is its id; before it may stand that of its feed or category. */
static int
show_entry(struct req *r, struct db *db, bool of_category, struct err *e)
{
	size_t last = r->params[1].n > 0 ? 1 : 0;
	const struct sync_feed *f;
	struct sync_feeds feeds;
	struct sync_item it;
	int64_t of = 0, id;

	TRY(app_id(r, last, &id, e));
	if (last > 0)
		TRY(app_id(r, 0, &of, e));
	TRY(sync_feeds(APP_SYNC(r, db), false, &feeds, e));
	TRY(miniflux_item(r, db, id, &it, e));
	f = sync_feeds_find(&feeds, it.feed);
	if (of && (!f || of != (of_category ? f->category : f->id)))
		return err_set(e, ERR_ABSENT, "there is no such entry there");
	put_entry(r, &it, &feeds);
	return OK;
}

int
api_mf_entry(struct req *r, struct db *db, struct err *e)
{
	return show_entry(r, db, false, e);
}

int
api_mf_category_entry(struct req *r, struct db *db, struct err *e)
{
	return show_entry(r, db, true, e);
}

/* ---- what there is none of: said of entries that there are ---- */

static int
refuse(struct req *r, struct db *db, const char *why, struct err *e)
{
	struct sync_item it;
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	TRY(miniflux_item(r, db, id, &it, e));
	return err_set(e, ERR_INVALID, "%s", why);
}

int
api_mf_entry_put(struct req *r, struct db *db, struct err *e)
{
	return refuse(r, db,
	    "title and content can't be changed: everybody who has the feed "
	    "reads the same article",
	    e);
}

int
api_mf_save(struct req *r, struct db *db, struct err *e)
{
	return refuse(r, db,
	    "no third-party service is set up: a star keeps an entry", e);
}

int
api_mf_fetch_content(struct req *r, struct db *db, struct err *e)
{
	return refuse(r, db,
	    "pages are not fetched: content is what the feed has, url leads "
	    "to the rest",
	    e);
}

int
api_mf_feed_import(struct req *r, struct db *db, struct err *e)
{
	struct sync_feed f;
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	TRY(sync_feed(APP_SYNC(r, db), id, &f, e));
	return err_set(e, ERR_INVALID,
	    "entries can't be added by hand: a feed has what its address says");
}

/* ---- changing ---- */

struct change {
	struct sync_ids ids;
	bool read, status, star, starred;
};

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

static int
read_entry_change(struct req *r, struct change *c, struct err *e)
{
	const struct json *status, *starred;
	struct json *j;

	TRY(miniflux_body(r, &j, e));
	TRY(read_ids(json_get(j, "entry_ids"), r->arena, &c->ids, e));
	status = json_get(j, "status");
	starred = json_get(j, "starred");
	c->star = json_is_bool(starred);
	c->starred = json_is(starred, JSON_TRUE);
	c->status = json_is(status, JSON_STRING);
	c->read = c->status && str_eq(status->text, STR("read"));
	if (c->status ? !c->read && !str_eq(status->text, STR("unread"))
		      : !c->star)
		return err_set(e, ERR_SYNTAX, "status must be read or unread");
	return OK;
}

int
api_mf_entries_put(struct req *r, struct db *db, struct err *e)
{
	const struct sync *who = APP_SYNC(r, db);
	int64_t now_us = clock_now_us();
	struct change *c = r->ctx;

	if (!db) {
		r->ctx = c = arena_alloc(r->arena, sizeof(*c));
		TRY(read_entry_change(r, c, e));
		return api_write(r, api_mf_entries_put, e);
	}
	if (c->status)
		TRY(sync_set(who, &c->ids, SYNC_READ, c->read, now_us, e));
	if (c->star)
		TRY(sync_set(
		    who, &c->ids, SYNC_STARRED, c->starred, now_us, e));
	return miniflux_nothing(r);
}

int
api_mf_bookmark(struct req *r, struct db *db, struct err *e)
{
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	TRY(sync_turn_star(APP_SYNC(r, db), id, clock_now_us(), e));
	return miniflux_nothing(r);
}

/* What was read and has no star is shown no more, by these routes. */
int
api_mf_flush(struct req *r, struct db *db, struct err *e)
{
	TRY(sync_flush(APP_SYNC(r, db), clock_now_us(), e));
	r->status = 202;
	buf_addz(&r->out, "{}");
	return OK;
}

/* All, or what `find` says; on the http thread. */
static int
read_all(struct req *r, handler_fn find, struct err *e)
{
	struct app_reading *a = app_reading(r, find, NULL);

	r->status = 204;
	a->what.before_us = clock_now_us();
	return app_read_all(r, a, e);
}

/* On a read thread. */
static int
this_feed(struct req *r, struct db *db, struct err *e)
{
	struct app_reading *a = r->ctx;
	struct sync_feed feed;

	TRY(app_id(r, 0, &a->what.feed, e));
	return sync_feed(APP_SYNC(r, db), a->what.feed, &feed, e);
}

static int
this_category(struct req *r, struct db *, struct err *e)
{
	struct app_reading *a = r->ctx;

	return app_id(r, 0, &a->what.category, e);
}

int
api_mf_feed_read(struct req *r, struct db *, struct err *e)
{
	return read_all(r, this_feed, e);
}

int
api_mf_category_read(struct req *r, struct db *, struct err *e)
{
	return read_all(r, this_category, e);
}

int
api_mf_user_read(struct req *r, struct db *, struct err *e)
{
	int64_t id;

	TRY(app_id(r, 0, &id, e));
	if (id != r->who.user)
		return err_set(e, ERR_DENIED, "this is somebody else");
	return read_all(r, NULL, e);
}
