/* reader.h: feeds, subscriptions and categories. */
#include "api/api.h"
#include "api/apps/app.h"
#include "api/io.h"
#include "api/people/reader.h"
#include "event/cursor.h"
#include "reader/category.h"
#include "reader/feeds.h"
#include "reader/limits.h"
#include "reader/subscription.h"

/* Feeds -------------------------------------------------------------------------- */

int
api_feeds_get(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;

	TRY(reader_id(r, "feed", &uid, e));
	TRY(reader_query_none(r, e));
	return feeds_show(db, r->who.user, uid, &r->out, e);
}

int
api_feeds_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int64_t feed;

	r->status = 204;
	TRY(reader_id(r, "feed", &uid, e));
	TRY(subscription_feed(db, r->who.user, uid, &feed, e));
	return subscription_drop(db, r->who.user, feed, e);
}

const struct member FETCHES_QUERY[] = {
    {"cursor", MEMBER_STRING, 0, 0, API_CURSOR_MAX},
    {.name = NULL},
};

int
api_feeds_fetches(struct req *r, struct db *db, struct err *e)
{
	struct str cursor = {.p = NULL};
	int64_t before = INT64_MAX;
	struct err why;
	struct uuid uid;

	TRY(reader_id(r, "feed", &uid, e));
	TRY(reader_query(r, FETCHES_QUERY, &cursor, e));
	if (cursor.p && cursor_parse(cursor, &before, &why) < 0)
		return err_at(e, ERR_INVALID, "/cursor", "%s", why.text);
	return feeds_fetches(db, r->who.user, uid, before, &r->out, e);
}

/* All, or the one that the path names. */
int
api_feeds_refresh(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int64_t feed = 0;
	int n;

	if (r->params[0].n > 0) {
		TRY(reader_id(r, "feed", &uid, e));
		TRY(subscription_feed(db, r->who.user, uid, &feed, e));
	}
	n = TRY((feed ? sync_fetch_now : sync_fetch_soon)(
	    APP_SYNC(r, db), feed, clock_now_us(), e));
	app_due(r);
	r->status = 202;
	put_open(&r->out, NULL, '{');
	put_int(&r->out, "due", n);
	put_close(&r->out, '}');
	return OK;
}

/* Subscriptions --------------------------------------------------------------------- */

static int
show_subs(struct req *r, struct db *db, const struct uuid *uid, struct err *e)
{
	return subscription_show(
	    db, r->who.user, r->who.user_uid, uid, &r->out, e);
}

int
api_fsubs_list(struct req *r, struct db *db, struct err *e)
{
	TRY(reader_query_none(r, e));
	return show_subs(r, db, NULL, e);
}

int
api_fsubs_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int64_t feed;

	r->status = 204;
	TRY(reader_id(r, "subscription", &uid, e));
	TRY(subscription_find(db, r->who.user, uid, &feed, e));
	return subscription_drop(db, r->who.user, feed, e);
}

/* What a body says, on its way to the commit thread. */
struct fsub_op {
	struct uuid uid;
	int64_t minutes;
	struct str name; /* of a category */
	const struct json *title, *category;
	struct subscription_patch patch;
};

/* The id in the path and the body, then `fn` with them. */
static int
take_body(struct req *r, const char *what, const struct member *body,
    const void *initial, struct fsub_op **ret, struct err *e)
{
	struct fsub_op *op = arena_alloc(r->arena, sizeof(*op));

	r->ctx = *ret = op;
	if (what)
		TRY(reader_id(r, what, &op->uid, e));
	return api_body_maybe(r, body, initial, op, e);
}

const struct member FSUB_SETTINGS_BODY[] = {
    {"fetch_interval_minutes", MEMBER_INT, offsetof(struct fsub_op, minutes),
	INT64_MIN, INT64_MAX},
    {.name = NULL},
};

int
api_fsubs_settings(struct req *r, struct db *db, struct err *e)
{
	/* What is out of range is told by the store's side. */
	struct fsub_op *op = r->ctx;

	if (!db) {
		TRY(take_body(
		    r, "subscription", FSUB_SETTINGS_BODY, NULL, &op, e));
		return api_write(r, api_fsubs_settings, e);
	}
	TRY(subscription_interval(
	    db, r->who.user, op->uid, op->minutes, clock_now_us(), e));
	return show_subs(r, db, &op->uid, e);
}

int
api_fsubs_resume(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;

	TRY(reader_id(r, "subscription", &uid, e));
	TRY(subscription_resume(db, r->who.user, uid, clock_now_us(), e));
	app_due(r);
	return show_subs(r, db, &uid, e);
}

static int
read_patch(struct fsub_op *op, struct err *e)
{
	struct subscription_patch *p = &op->patch;
	const struct json *title = op->title, *category = op->category;

	p->set_title = title != NULL;
	if (title && title->type != JSON_NULL) {
		if (!json_is(title, JSON_STRING) || title->text.n == 0 ||
		    str_chars(title->text, FEED_TITLE_MAX).n < title->text.n ||
		    memchr(title->text.p, 0, title->text.n))
			return json_wrong(e, "/title",
			    "must be null or a string of 1 to %d characters",
			    FEED_TITLE_MAX);
		p->title = title->text;
	}
	p->set_category = category != NULL;
	if (category && category->type != JSON_NULL) {
		if (!json_is(category, JSON_STRING) ||
		    !uuid_parse(category->text, &p->category))
			return json_wrong(
			    e, "/category_id", "must be null or an id");
		p->has_category = true;
	}
	return OK;
}

const struct member FSUB_BODY[] = {
    {"title", MEMBER_JSON, offsetof(struct fsub_op, title), .schema = "Title"},
    {"category_id", MEMBER_JSON, offsetof(struct fsub_op, category),
	.schema = "{\"type\":\"string\",\"format\":\"uuid\"}"},
    {.name = NULL},
};

int
api_fsubs_patch(struct req *r, struct db *db, struct err *e)
{
	static const struct json NONE = {.type = JSON_NULL};
	static const struct fsub_op NULLS = {.title = &NONE, .category = &NONE};
	struct fsub_op *op = r->ctx;

	if (!db) {
		TRY(take_body(r, "subscription", FSUB_BODY, &NULLS, &op, e));
		TRY(read_patch(op, e));
		return api_write(r, api_fsubs_patch, e);
	}
	TRY(subscription_patch(
	    db, r->who.user, op->uid, &op->patch, clock_now_us(), e));
	return show_subs(r, db, &op->uid, e);
}

/* Categories -------------------------------------------------------------------------- */

int
api_categories_list(struct req *r, struct db *db, struct err *e)
{
	TRY(reader_query_none(r, e));
	return category_show(db, r->who.user, NULL, &r->out, e);
}

/* what NULL: one that is new. */
const struct member CATEGORY_BODY[] = {
    {"title", MEMBER_JSON, offsetof(struct fsub_op, title), .must = true,
	.schema = "Title"},
    {.name = NULL},
};

static int
with_name(struct req *r, const char *what, handler_fn write, struct err *e)
{
	struct fsub_op *op;

	TRY(take_body(r, what, CATEGORY_BODY, NULL, &op, e));
	if (!json_is(op->title, JSON_STRING) ||
	    (op->title->text.n > 0 &&
		memchr(op->title->text.p, 0, op->title->text.n)))
		return json_wrong(e, "/title",
		    "must be a string of 1 to %d characters",
		    READER_CATEGORY_NAME);
	op->name = str_trim(op->title->text);
	return api_write(r, write, e);
}

int
api_categories_post(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;
	struct uuid uid;

	if (!db)
		return with_name(r, NULL, api_categories_post, e);
	r->status = 201;
	TRY(category_add(db, r->who.user, op->name, clock_now_us(), &uid, e));
	return category_show(db, r->who.user, &uid, &r->out, e);
}

int
api_categories_patch(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;

	if (!db)
		return with_name(r, "category", api_categories_patch, e);
	TRY(category_rename(
	    db, r->who.user, op->uid, op->name, clock_now_us(), e));
	return category_show(db, r->who.user, &op->uid, &r->out, e);
}

int
api_categories_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;

	r->status = 204;
	TRY(reader_id(r, "category", &uid, e));
	return category_del(db, r->who.user, uid, e);
}
