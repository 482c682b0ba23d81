/* reader.h: feeds, subscriptions and categories. */
#include "api/api.h"
#include "api/people/reader.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "event/cursor.h"
#include "reader/fetch/fetcher.h"
#include "reader/limits.h"
#include "reader/subs.h"

static const char *const NO_QUERY[] = {NULL};

/* Feeds -------------------------------------------------------------------------- */

int
api_feeds_get(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int rc = reader_id(r, "feed", &uid, e);

	if (rc == OK)
		rc = reader_query(r, NO_QUERY, e);
	if (rc == OK)
		rc = feeds_show(db, r->who.user, uid, &r->out, e);
	return reader_done(r, 200, rc, e);
}

int
api_feeds_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int64_t feed = 0;
	int rc = reader_id(r, "feed", &uid, e);

	if (rc == OK)
		rc = subscription_feed(db, r->who.user, uid, &feed, e);
	if (rc == OK)
		rc = subscription_drop(db, r->who.user, feed, e);
	return reader_done(r, 204, rc, e);
}

int
api_feeds_fetches(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"cursor", NULL};
	int64_t before = INT64_MAX;
	struct err why;
	struct str s;
	struct uuid uid;
	int rc = reader_id(r, "feed", &uid, e);

	if (rc == OK)
		rc = reader_query(r, NAMES, e);
	if (rc == OK && req_query(r, "cursor", &s) &&
	    cursor_parse(s, &before, &why) < 0)
		rc = err_at(e, ERR_INVALID, "/cursor", "%s", why.text);
	if (rc == OK)
		rc = feeds_fetches(db, r->who.user, uid, before, &r->out, e);
	return reader_done(r, 200, rc, e);
}

/* Subscriptions --------------------------------------------------------------------- */

struct fsub_op {
	struct uuid uid;
	int64_t minutes;
	struct subscription_patch patch;
	struct str title;
};

static struct fsub_op *
op_new(struct req *r, struct err *e)
{
	struct fsub_op *op = arena_alloc(r->arena, sizeof(*op));

	if (!op)
		(void)err_set(e, ERR_NOMEM, "no memory for a request");
	r->ctx = op;
	return op;
}

static int
show(struct req *r, struct db *db, struct uuid uid, struct err *e)
{
	buf_clear(&r->out);
	return reader_done(r, 200,
	    subscription_show(
		db, r->who.user, r->who.user_uid, &uid, &r->out, e),
	    e);
}

int
api_fsubs_list(struct req *r, struct db *db, struct err *e)
{
	int rc = reader_query(r, NO_QUERY, e);

	if (rc == OK)
		rc = subscription_show(
		    db, r->who.user, r->who.user_uid, NULL, &r->out, e);
	return reader_done(r, 200, rc, e);
}

int
api_fsubs_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int64_t feed = 0;
	int rc = reader_id(r, "subscription", &uid, e);

	if (rc == OK)
		rc = subscription_find(db, r->who.user, uid, &feed, e);
	if (rc == OK)
		rc = subscription_drop(db, r->who.user, feed, e);
	return reader_done(r, 204, rc, e);
}

static int
write_settings(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;
	int rc = subscription_interval(
	    db, r->who.user, op->uid, op->minutes, clock_now_us(), e);

	return rc == OK ? show(r, db, op->uid, e) : rc;
}

int
api_fsubs_settings(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"fetch_interval_minutes", NULL};
	struct fsub_op *op = op_new(r, e);
	const struct json *j;
	struct json *doc = NULL;
	int rc = op ? reader_id(r, "subscription", &op->uid, e) : (int)e->code;

	(void)db;
	if (rc == OK)
		rc = reader_body(r, NAMES, &doc, e);
	if (rc < 0)
		return rc;
	j = json_get(doc, "fetch_interval_minutes");
	if (!json_is(j, JSON_NUMBER) || !json_int(j, &op->minutes))
		op->minutes = 0; /* out of range, and told so */
	return api_write(r, write_settings, e);
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
	if (rc == OK)
		fetcher_poke(api->fetcher); /* it claims behind this commit */
	return rc == OK ? show(r, db, uid, e) : rc;
}

static int
write_patch(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;
	int rc = subscription_patch(
	    db, r->who.user, op->uid, &op->patch, clock_now_us(), e);

	return rc == OK ? show(r, db, op->uid, e) : rc;
}

static int
read_patch(const struct json *doc, struct subscription_patch *p, struct err *e)
{
	const struct json *title = json_get(doc, "title"),
			  *category = json_get(doc, "category_id");

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
	static const char *const NAMES[] = {"title", "category_id", NULL};
	struct fsub_op *op = op_new(r, e);
	struct json *doc = NULL;
	int rc = op ? reader_id(r, "subscription", &op->uid, e) : (int)e->code;

	(void)db;
	if (rc == OK)
		rc = reader_body(r, NAMES, &doc, e);
	if (rc == OK)
		rc = read_patch(doc, &op->patch, e);
	return rc == OK ? api_write(r, write_patch, e) : rc;
}

/* Categories -------------------------------------------------------------------------- */

static int
show_category(
    struct req *r, struct db *db, struct uuid uid, int status, struct err *e)
{
	buf_clear(&r->out);
	return reader_done(
	    r, status, category_show(db, r->who.user, &uid, &r->out, e), e);
}

int
api_categories_list(struct req *r, struct db *db, struct err *e)
{
	int rc = reader_query(r, NO_QUERY, e);

	if (rc == OK)
		rc = category_show(db, r->who.user, NULL, &r->out, e);
	return reader_done(r, 200, rc, e);
}

static int
read_title(struct req *r, struct fsub_op *op, struct err *e)
{
	static const char *const NAMES[] = {"title", NULL};
	const struct json *j;
	struct json *doc = NULL;
	int rc = reader_body(r, NAMES, &doc, e);

	if (rc < 0)
		return rc;
	j = json_get(doc, "title");
	if (!json_is(j, JSON_STRING) ||
	    (j->text.n > 0 && memchr(j->text.p, 0, j->text.n)))
		return json_wrong(e, "/title",
		    "must be a string of 1 to %d characters",
		    READER_CATEGORY_NAME);
	op->title = str_trim(j->text);
	return OK;
}

static int
write_category(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;
	struct uuid uid;
	int rc =
	    category_add(db, r->who.user, op->title, clock_now_us(), &uid, e);

	return rc == OK ? show_category(r, db, uid, 201, e) : rc;
}

int
api_categories_post(struct req *r, struct db *db, struct err *e)
{
	struct fsub_op *op = op_new(r, e);
	int rc = op ? read_title(r, op, e) : (int)e->code;

	(void)db;
	return rc == OK ? api_write(r, write_category, e) : rc;
}

static int
write_rename(struct req *r, struct db *db, struct err *e)
{
	const struct fsub_op *op = r->ctx;
	int rc = category_rename(
	    db, r->who.user, op->uid, op->title, clock_now_us(), e);

	return rc == OK ? show_category(r, db, op->uid, 200, e) : rc;
}

int
api_categories_patch(struct req *r, struct db *db, struct err *e)
{
	struct fsub_op *op = op_new(r, e);
	int rc = op ? reader_id(r, "category", &op->uid, e) : (int)e->code;

	(void)db;
	if (rc == OK)
		rc = read_title(r, op, e);
	return rc == OK ? api_write(r, write_rename, e) : rc;
}

int
api_categories_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;
	int rc = reader_id(r, "category", &uid, e);

	if (rc == OK)
		rc = category_del(db, r->who.user, uid, e);
	return reader_done(r, 204, rc, e);
}
