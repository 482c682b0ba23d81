/* reader.h: feeds, subscriptions and categories. */
#include "api/api.h"
#include "api/io.h"
#include "api/people/reader.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "event/cursor.h"
#include "reader/category.h"
#include "reader/feeds.h"
#include "reader/fetch/fetcher.h"
#include "reader/limits.h"
#include "reader/subscription.h"

/* Feeds -------------------------------------------------------------------------- */

int
api_feeds_get(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int rc = reader_id(r, "feed", &uid, e);

	if (rc == OK)
		rc = reader_query_none(r, e);
	return rc < 0 ? rc : feeds_show(db, r->who.user, uid, &r->out, e);
}

int
api_feeds_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int64_t feed = 0;
	int rc = reader_id(r, "feed", &uid, e);

	r->status = 204;
	if (rc == OK)
		rc = subscription_feed(db, r->who.user, uid, &feed, e);
	return rc < 0 ? rc : subscription_drop(db, r->who.user, feed, e);
}

int
api_feeds_fetches(struct req *r, struct db *db, struct err *e)
{
	static const struct member QUERY[] = {
	    {"cursor", MEMBER_STRING, 0, 0, API_CURSOR_MAX},
	    {.name = NULL},
	};
	struct str cursor = {.p = NULL};
	int64_t before = INT64_MAX;
	struct err why;
	struct uuid uid;
	int rc = reader_id(r, "feed", &uid, e);

	if (rc == OK)
		rc = reader_query(r, QUERY, &cursor, e);
	if (rc == OK && cursor.p && cursor_parse(cursor, &before, &why) < 0)
		rc = err_at(e, ERR_INVALID, "/cursor", "%s", why.text);
	return rc < 0 ? rc
		      : feeds_fetches(db, r->who.user, uid, before, &r->out, e);
}

/* Subscriptions --------------------------------------------------------------------- */

static int
show_subs(struct req *r, struct db *db, const struct uuid *uid, struct err *e)
{
	buf_clear(&r->out);
	return subscription_show(
	    db, r->who.user, r->who.user_uid, uid, &r->out, e);
}

int
api_fsubs_list(struct req *r, struct db *db, struct err *e)
{
	int rc = reader_query_none(r, e);

	return rc < 0 ? rc : show_subs(r, db, NULL, e);
}

int
api_fsubs_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int64_t feed = 0;
	int rc = reader_id(r, "subscription", &uid, e);

	r->status = 204;
	if (rc == OK)
		rc = subscription_find(db, r->who.user, uid, &feed, e);
	return rc < 0 ? rc : subscription_drop(db, r->who.user, feed, e);
}

/* What a body says, on its way to the commit thread. */
struct fsub_op {
	struct uuid uid;
	int64_t minutes;
	struct str name; /* of a category */
	const struct json *title, *category;
	struct subscription_patch patch;
};

static int
write_settings(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;
	int rc = subscription_interval(
	    db, r->who.user, op->uid, op->minutes, clock_now_us(), e);

	return rc < 0 ? rc : show_subs(r, db, &op->uid, e);
}

/* The id in the path and the body, then `fn` with them. */
static int
take_body(struct req *r, const char *what, const struct member *body,
    const void *initial, struct fsub_op **ret, struct err *e)
{
	struct fsub_op *op = arena_alloc(r->arena, sizeof(*op));
	int rc = what ? reader_id(r, what, &op->uid, e) : OK;

	r->ctx = *ret = op;
	return rc < 0 ? rc : api_body_maybe(r, body, initial, op, e);
}

int
api_fsubs_settings(struct req *r, struct db *db, struct err *e)
{
	/* What is out of range is told by the store's side. */
	static const struct member BODY[] = {
	    {"fetch_interval_minutes", MEMBER_INT,
		offsetof(struct fsub_op, minutes), INT64_MIN, INT64_MAX},
	    {.name = NULL},
	};
	struct fsub_op *op;
	int rc = take_body(r, "subscription", BODY, NULL, &op, e);

	(void)db;
	return rc < 0 ? rc : api_write(r, write_settings, e);
}

int
api_fsubs_resume(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct uuid uid;
	int rc = reader_id(r, "subscription", &uid, e);

	if (rc == OK)
		rc = subscription_resume(
		    db, r->who.user, uid, clock_now_us(), e);
	if (rc < 0)
		return rc;
	fetcher_poke(api->fetcher); /* it claims behind this commit */
	return show_subs(r, db, &uid, e);
}

static int
write_patch(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;
	int rc = subscription_patch(
	    db, r->who.user, op->uid, &op->patch, clock_now_us(), e);

	return rc < 0 ? rc : show_subs(r, db, &op->uid, e);
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

int
api_fsubs_patch(struct req *r, struct db *db, struct err *e)
{
	static const struct json NONE = {.type = JSON_NULL};
	static const struct fsub_op NULLS = {.title = &NONE, .category = &NONE};
	static const struct member BODY[] = {
	    {"title", MEMBER_JSON, offsetof(struct fsub_op, title)},
	    {"category_id", MEMBER_JSON, offsetof(struct fsub_op, category)},
	    {.name = NULL},
	};
	struct fsub_op *op;
	int rc = take_body(r, "subscription", BODY, &NULLS, &op, e);

	(void)db;
	if (rc == OK)
		rc = read_patch(op, e);
	return rc < 0 ? rc : api_write(r, write_patch, e);
}

/* Categories -------------------------------------------------------------------------- */

static int
show_categories(
    struct req *r, struct db *db, const struct uuid *uid, struct err *e)
{
	buf_clear(&r->out);
	return category_show(db, r->who.user, uid, &r->out, e);
}

int
api_categories_list(struct req *r, struct db *db, struct err *e)
{
	int rc = reader_query_none(r, e);

	return rc < 0 ? rc : show_categories(r, db, NULL, e);
}

/* what NULL: one that is new. */
static int
write_category(struct req *r, const char *what, handler_fn write, struct err *e)
{
	static const struct member BODY[] = {
	    {"title", MEMBER_JSON, offsetof(struct fsub_op, title)},
	    {.name = NULL},
	};
	struct fsub_op *op;
	int rc = take_body(r, what, BODY, NULL, &op, e);

	if (rc < 0)
		return rc;
	if (!json_is(op->title, JSON_STRING) ||
	    (op->title->text.n > 0 &&
		memchr(op->title->text.p, 0, op->title->text.n)))
		return json_wrong(e, "/title",
		    "must be a string of 1 to %d characters",
		    READER_CATEGORY_NAME);
	op->name = str_trim(op->title->text);
	return api_write(r, write, e);
}

static int
put_category(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;
	struct uuid uid;
	int rc =
	    category_add(db, r->who.user, op->name, clock_now_us(), &uid, e);

	r->status = 201;
	return rc < 0 ? rc : show_categories(r, db, &uid, e);
}

int
api_categories_post(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return write_category(r, NULL, put_category, e);
}

static int
rename_category(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;
	int rc = category_rename(
	    db, r->who.user, op->uid, op->name, clock_now_us(), e);

	return rc < 0 ? rc : show_categories(r, db, &op->uid, e);
}

int
api_categories_patch(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return write_category(r, "category", rename_category, e);
}

int
api_categories_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int rc = reader_id(r, "category", &uid, e);

	r->status = 204;
	return rc < 0 ? rc : category_del(db, r->who.user, uid, e);
}
