#include "reader/subscription.h"

#include "reader/category.h"
#include "reader/changes.h"
#include "reader/feeds.h"
#include "reader/limits.h"
#include "sql.h"

#define INTERVAL_NEW 60 /* minutes: seed 002 */

static int
no_subscription(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such subscription of yours");
}

static int
already(struct err *e)
{
	(void)err_set(e, ERR_CONFLICT, "you have this feed already");
	return err_word(e, "ALREADY_SUBSCRIBED");
}

int
subscription_add(struct db *db, int64_t user, int64_t feed, int64_t most,
    int64_t now_us, struct uuid *ret_uid, struct err *e)
{
	struct sql_fsub_count_row count;
	struct uuid uid = uuid_v7(now_us);

	if (TRY(sql_fsub_add(db, e, .uid = uuid_str(&uid), .user = user,
		.feed = feed, .interval = INTERVAL_NEW, .now = now_us)) == 0)
		return already(e);
	/* Counted behind it: of two at once on PostgreSQL each sees its own. */
	if (TRY(sql_fsub_count_one(db, &count, e, .user = user)) &&
	    count.n > most) {
		(void)err_set(e, ERR_CONFLICT,
		    "you have %lld feeds, and %lld is as many as one can have",
		    (long long)count.n - 1, (long long)most);
		return err_word(e, "SUBSCRIPTION_LIMIT");
	}
	TRY(sql_feed_subscribers(db, e, .feed = feed));
	if (ret_uid)
		*ret_uid = uid;
	return OK;
}

/* What the person did with a feed goes, and its readers are counted. */
static int
leave_feed(struct db *db, int64_t user, int64_t feed, struct err *e)
{
	TRY(sql_fsub_states_del(db, e, .user = user, .feed = feed));
	TRY(sql_feed_subscribers(db, e, .feed = feed));
	return changes_feed(db, user, feed, "removed", e);
}

int
subscription_drop(struct db *db, int64_t user, int64_t feed, struct err *e)
{
	if (TRY(sql_fsub_del(db, e, .user = user, .feed = feed)) == 0)
		return no_subscription(e);
	return leave_feed(db, user, feed, e);
}

int
subscription_move(struct db *db, int64_t user, int64_t from, int64_t to,
    int64_t now_us, struct err *e)
{
	struct sql_fsub_has_row has;

	if (from == to)
		return OK;
	TRY(sql_fsub_has_one(db, &has, e, .user = user, .feed = to));
	if (has.n > 0)
		return already(e);
	if (TRY(sql_fsub_move(db, e, .user = user, .feed = from, .to_feed = to,
		.now = now_us)) == 0)
		return no_subscription(e);
	TRY(sql_fsub_states_by_guid(
	    db, e, .user = user, .feed = from, .to_feed = to));
	TRY(sql_fsub_states_by_link(
	    db, e, .user = user, .feed = from, .to_feed = to));
	TRY(sql_feed_subscribers(db, e, .feed = to));
	TRY(leave_feed(db, user, from, e));
	return changes_feed(db, user, to, "added", e);
}

int
subscription_find(struct db *db, int64_t user, struct uuid uid,
    int64_t *ret_feed, struct err *e)
{
	struct sql_fsub_find_row row;

	if (TRY(sql_fsub_find_one(
		db, &row, e, .user = user, .uid = uuid_str(&uid))) == 0)
		return no_subscription(e);
	*ret_feed = row.feed;
	return OK;
}

int
subscription_feed(struct db *db, int64_t user, struct uuid feed_uid,
    int64_t *ret_feed, struct err *e)
{
	struct sql_fsub_feed_row row;

	if (TRY(sql_fsub_feed_one(
		db, &row, e, .user = user, .uid = uuid_str(&feed_uid))) == 0)
		return err_set(e, ERR_ABSENT, "there is no such feed of yours");
	*ret_feed = row.feed;
	return OK;
}

int
subscription_interval(struct db *db, int64_t user, struct uuid uid,
    int64_t minutes, int64_t now_us, struct err *e)
{
	int64_t feed = 0;

	if (minutes < FETCH_INTERVAL_MIN || minutes > FETCH_INTERVAL_MAX ||
	    minutes % FETCH_INTERVAL_MIN != 0)
		return err_at(e, ERR_INVALID, "/fetch_interval_minutes",
		    "fetch_interval_minutes must be %d to %d, in steps of %d",
		    FETCH_INTERVAL_MIN, FETCH_INTERVAL_MAX, FETCH_INTERVAL_MIN);
	TRY(subscription_find(db, user, uid, &feed, e));
	TRY(sql_fsub_interval(db, e, .user = user, .uid = uuid_str(&uid),
	    .interval = minutes, .now = now_us));
	TRY(sql_feed_sooner(db, e, .feed = feed, .interval = minutes));
	return changes_feed(db, user, feed, "changed", e);
}

int
subscription_resume(
    struct db *db, int64_t user, struct uuid uid, int64_t now_us, struct err *e)
{
	int64_t feed = 0;

	TRY(subscription_find(db, user, uid, &feed, e));
	if (TRY(sql_feed_resume(db, e, .feed = feed, .now = now_us)))
		return changes_feed(db, 0, feed, "fetch", e);
	(void)err_set(
	    e, ERR_CONFLICT, "this feed is neither stopped nor backing off");
	return err_word(e, "NOT_STOPPED");
}

int
subscription_patch(struct db *db, int64_t user, struct uuid uid,
    const struct subscription_patch *p, int64_t now_us, struct err *e)
{
	bool named = p->set_category && p->has_category;
	int64_t category = 0, feed = 0;
	int rc = OK;

	if (named)
		rc = category_find(db, user, p->category, &category, e);
	if (rc == ERR_ABSENT)
		return err_at(e, ERR_INVALID, "/category_id",
		    "category_id must be one of your categories");
	TRY(rc);
	if (TRY(sql_fsub_patch(db, e, .user = user, .uid = uuid_str(&uid),
		.set_title = p->set_title, .title = p->title,
		.set_category = p->set_category,
		.category = named ? &category : NULL, .now = now_us)) == 0)
		return no_subscription(e);
	if (p->quiet)
		return OK;
	TRY(subscription_find(db, user, uid, &feed, e));
	return changes_feed(db, user, feed, "changed", e);
}

static void
show_sub(const struct sql_fsub_list_row *r, struct uuid user_uid, struct buf *b)
{
	bool stopped = str_eq(r->status, STR("stopped"));

	put_open(b, NULL, '{');
	put_uuid(b, "id", uuid_of(r->uid));
	put_uuid(b, "user_id", user_uid);
	put_uuid(b, "feed_id", uuid_of(r->feed_uid));
	put_text(b, "feed_title", r->title);
	put_text(b, "feed_url", r->url);
	if (r->icon)
		feeds_put_icon(b, r->feed_uid);
	put_int(b, "fetch_interval_minutes", r->interval);
	feeds_put_status(b, "feed_status", r->status, r->errors);
	if (r->error.p)
		put_text(b, "error_message", r->error);
	put_text(b, "site_url", r->site_url);
	put_time(b, "last_fetch_at", r->last_fetch_at);
	put_time(b, "next_fetch_at", stopped ? 0 : r->next_fetch_at);
	put_text(b, "why_next", r->why_next);
	feeds_put_counts(b, r->items, r->read, r->starred);
	if (r->category.p)
		put_uuid(b, "category_id", uuid_of(r->category));
	else
		put_null(b, "category_id");
	put_time(b, "created_at", r->created_at);
	put_close(b, '}');
}

int
subscription_show(struct db *db, int64_t user, struct uuid user_uid,
    const struct uuid *uid, struct buf *b, struct err *e)
{
	struct sql_fsub_list_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	bool any = false;

	TRY(sql_fsub_list(db, &rows, e, .user = user,
	    .uid = uid ? uuid_str(uid) : (struct str){.p = NULL}));
	if (!uid)
		put_open(b, NULL, '[');
	while (TRY(sql_fsub_list_next(rows, &row, e))) {
		any = true;
		show_sub(&row, user_uid, b);
	}
	if (!uid)
		put_close(b, ']');
	return uid && !any ? no_subscription(e) : OK;
}
