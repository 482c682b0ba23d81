#include "reader/subs.h"

#include "base/str.h"
#include "reader/limits.h"
#include "reader/secret_url.h"
#include "sql.h"

#define INTERVAL_NEW 60 /* minutes: seed 002 */

static int
changed(int64_t n, struct err *e)
{
	return n < 0 ? (int)e->code : OK;
}

static int
absent(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such subscription of yours");
}

static void
take_uid(struct str s, struct uuid *ret)
{
	if (ret && s.n == sizeof(ret->b))
		memcpy(ret->b, s.p, s.n);
}

/* The first column of the first row; `none` when there is no row. */
static int
one_int(int rc, struct rows *rows, int column, int64_t none, int64_t *ret,
    struct err *e)
{
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc >= 0)
		*ret = rc > 0 ? rows_int(rows, column) : none;
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/* Feeds ------------------------------------------------------------------------ */

int
feeds_find_by_url(struct db *db, struct str url, int64_t *ret_id,
    struct uuid *ret_uid, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_feed_by_url(db, &rows, e, .url = url);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc >= 0)
		*ret_id = rc > 0 ? rows_int(rows, 0) : 0;
	if (rc > 0)
		take_uid(rows_str(rows, 1), ret_uid);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
feeds_add(struct db *db, const struct feed_new *f, int64_t now_us,
    int64_t *ret_id, struct uuid *ret_uid, struct err *e)
{
	struct uuid uid = uuid_v7(now_us);
	struct str title = str_chars(f->title, FEED_TITLE_MAX);
	int rc = changed(
	    sql_feed_add(db, e, .uid = uuid_str(&uid), .url = f->url,
		.site_url = f->site_url, .title = title.p ? title : STR_EMPTY,
		.etag = f->etag, .last_modified = f->last_modified,
		.body_hash = f->body_hash, .next_fetch_at = f->next_fetch_us,
		.last_fetch_at = f->last_fetch_us ? &f->last_fetch_us : NULL,
		.favicon_mime = f->favicon_mime,
		.favicon_data = f->favicon_data,
		.private = f->private || secret_url(f->url), .now = now_us),
	    e);

	return rc < 0 ? rc : feeds_find_by_url(db, f->url, ret_id, ret_uid, e);
}

int
feeds_mark(struct db *db, int64_t feed, bool private, bool alone,
    int64_t now_us, struct err *e)
{
	int64_t n = sql_feed_mark(db, e, .feed = feed, .private = private,
	    .alone = alone, .now = now_us);

	if (n < 0)
		return (int)n;
	if (n > 0)
		return OK;
	(void)err_set(e, ERR_CONFLICT, "others read this feed too");
	return err_word(e, "NOT_ALONE");
}

/* Subscriptions ------------------------------------------------------------------ */

static int
already(struct err *e)
{
	(void)err_set(e, ERR_CONFLICT, "you have this feed already");
	return err_word(e, "ALREADY_SUBSCRIBED");
}

int
subscription_add(struct db *db, int64_t user, int64_t feed, int64_t now_us,
    struct uuid *ret_uid, struct err *e)
{
	struct uuid uid = uuid_v7(now_us);
	struct rows *rows = NULL;
	int64_t n = 0;
	int rc;

	n = sql_fsub_add(db, e, .uid = uuid_str(&uid), .user = user,
	    .feed = feed, .interval = INTERVAL_NEW, .now = now_us);
	if (n == 0)
		return already(e);
	rc = changed(n, e);
	/* Counted behind it: of two at once on PostgreSQL each sees its own. */
	if (rc == OK)
		rc = sql_fsub_count(db, &rows, e, .user = user);
	rc = one_int(rc, rows, 0, 0, &n, e);
	if (rc == OK && n > READER_FEEDS_MAX) {
		(void)err_set(e, ERR_CONFLICT,
		    "you have %d feeds, which is as many as one can have",
		    READER_FEEDS_MAX);
		return err_word(e, "SUBSCRIPTION_LIMIT");
	}
	if (rc == OK)
		rc = changed(sql_feed_subscribers(db, e, .feed = feed), e);
	if (rc == OK && ret_uid)
		*ret_uid = uid;
	return rc;
}

int
subscription_drop(struct db *db, int64_t user, int64_t feed, struct err *e)
{
	int64_t n = sql_fsub_del(db, e, .user = user, .feed = feed);
	int rc = changed(n, e);

	if (n == 0)
		return absent(e);
	if (rc == OK)
		rc = changed(
		    sql_fsub_states_del(db, e, .user = user, .feed = feed), e);
	return rc == OK ? changed(sql_feed_subscribers(db, e, .feed = feed), e)
			: rc;
}

int
subscription_move(struct db *db, int64_t user, int64_t from, int64_t to,
    int64_t now_us, struct err *e)
{
	struct rows *rows = NULL;
	int64_t n = 0;
	int rc;

	if (from == to)
		return OK;
	rc = sql_fsub_has(db, &rows, e, .user = user, .feed = to);
	rc = one_int(rc, rows, 0, 0, &n, e);
	if (rc == OK && n > 0)
		return already(e);
	if (rc == OK) {
		n = sql_fsub_move(db, e, .user = user, .feed = from,
		    .to_feed = to, .now = now_us);
		rc = n == 0 ? absent(e) : changed(n, e);
	}
	if (rc == OK)
		rc = changed(
		    sql_fsub_states_del(db, e, .user = user, .feed = from), e);
	if (rc == OK)
		rc = changed(sql_feed_subscribers(db, e, .feed = from), e);
	return rc == OK ? changed(sql_feed_subscribers(db, e, .feed = to), e)
			: rc;
}

int
subscription_find(struct db *db, int64_t user, struct uuid uid,
    int64_t *ret_feed, struct err *e)
{
	struct rows *rows = NULL;
	int rc =
	    sql_fsub_find(db, &rows, e, .user = user, .uid = uuid_str(&uid));
	int64_t feed = 0;

	rc = one_int(rc, rows, 1, 0, &feed, e);
	if (rc == OK && feed == 0)
		return absent(e);
	if (rc == OK)
		*ret_feed = feed;
	return rc;
}

int
subscription_feed(struct db *db, int64_t user, struct uuid feed_uid,
    int64_t *ret_feed, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_fsub_feed(
	    db, &rows, e, .user = user, .uid = uuid_str(&feed_uid));
	int64_t feed = 0;

	rc = one_int(rc, rows, 1, 0, &feed, e);
	if (rc == OK && feed == 0)
		return err_set(e, ERR_ABSENT, "there is no such feed of yours");
	if (rc == OK)
		*ret_feed = feed;
	return rc;
}

int
subscription_interval(struct db *db, int64_t user, struct uuid uid,
    int64_t minutes, int64_t now_us, struct err *e)
{
	int64_t feed = 0;
	int rc;

	if (minutes < FETCH_INTERVAL_MIN || minutes > FETCH_INTERVAL_MAX ||
	    minutes % FETCH_INTERVAL_MIN != 0)
		return err_at(e, ERR_INVALID, "/fetch_interval_minutes",
		    "fetch_interval_minutes must be %d to %d, in steps of %d",
		    FETCH_INTERVAL_MIN, FETCH_INTERVAL_MAX, FETCH_INTERVAL_MIN);
	rc = subscription_find(db, user, uid, &feed, e);
	if (rc == OK)
		rc = changed(sql_fsub_interval(db, e, .user = user,
				 .uid = uuid_str(&uid), .interval = minutes,
				 .now = now_us),
		    e);
	return rc == OK ? changed(sql_feed_sooner(
				      db, e, .feed = feed, .interval = minutes),
			      e)
			: rc;
}

int
subscription_resume(
    struct db *db, int64_t user, struct uuid uid, int64_t now_us, struct err *e)
{
	int64_t feed = 0, n = 0;
	int rc = subscription_find(db, user, uid, &feed, e);

	if (rc == OK) {
		n = sql_feed_resume(db, e, .feed = feed, .now = now_us);
		rc = changed(n, e);
	}
	if (rc == OK && n == 0) {
		(void)err_set(e, ERR_CONFLICT, "this feed is not stopped");
		return err_word(e, "NOT_STOPPED");
	}
	return rc;
}

int
subscription_patch(struct db *db, int64_t user, struct uuid uid,
    const struct subscription_patch *p, int64_t now_us, struct err *e)
{
	struct rows *rows = NULL;
	int64_t category = 0, n;
	int rc = OK;

	if (p->set_category && p->has_category) {
		rc = sql_category_list(
		    db, &rows, e, .user = user, .uid = uuid_str(&p->category));
		rc = one_int(rc, rows, 0, 0, &category, e);
		if (rc == OK && category == 0)
			return err_at(e, ERR_INVALID, "/category_id",
			    "category_id must be one of your categories");
	}
	if (rc < 0)
		return rc;
	n = sql_fsub_patch(db, e, .user = user, .uid = uuid_str(&uid),
	    .set_title = p->set_title, .title = p->title,
	    .set_category = p->set_category,
	    .category = category ? &category : NULL, .now = now_us);
	return n == 0 ? absent(e) : changed(n, e);
}

/* Categories ------------------------------------------------------------------------ */

static int
no_category(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such category of yours");
}

int
category_find(
    struct db *db, int64_t user, struct uuid uid, int64_t *ret, struct err *e)
{
	struct rows *rows = NULL;
	int64_t id = 0;
	int rc = sql_category_list(
	    db, &rows, e, .user = user, .uid = uuid_str(&uid));

	rc = one_int(rc, rows, 0, 0, &id, e);
	if (rc == OK && id == 0)
		return no_category(e);
	if (rc == OK)
		*ret = id;
	return rc;
}

static int
named(struct db *db, int64_t user, struct str title, struct uuid *ret,
    bool *ret_there, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_category_named(db, &rows, e, .user = user, .title = title);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		take_uid(rows_str(rows, 0), ret);
	*ret_there = rc > 0;
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static int
check_title(struct str title, struct err *e)
{
	if (title.n == 0 || str_chars(title, READER_CATEGORY_NAME).n < title.n)
		return err_at(e, ERR_INVALID, "/title",
		    "title must have 1 to %d characters", READER_CATEGORY_NAME);
	return OK;
}

static int
taken(struct err *e)
{
	return err_at(e, ERR_CONFLICT, "/title",
	    "you have a category of this title already");
}

int
category_add(struct db *db, int64_t user, struct str title, int64_t now_us,
    struct uuid *ret_uid, struct err *e)
{
	struct uuid uid = uuid_v7(now_us);
	struct rows *rows = NULL;
	int64_t n = 0;
	int rc = check_title(title, e);
	bool there = false;

	if (rc == OK)
		rc = named(db, user, title, ret_uid, &there, e);
	if (rc == OK && there)
		return taken(e);
	if (rc == OK) {
		rc = sql_category_count(db, &rows, e, .user = user);
		rc = one_int(rc, rows, 0, 0, &n, e);
	}
	if (rc == OK && n >= READER_CATEGORIES_MAX)
		return err_set(e, ERR_CONFLICT,
		    "you have %d categories, which is as many as one can have",
		    READER_CATEGORIES_MAX);
	if (rc == OK) {
		n = sql_category_add(db, e, .uid = uuid_str(&uid), .user = user,
		    .title = title, .now = now_us);
		rc = n == 0 ? taken(e) : changed(n, e);
	}
	if (rc == OK)
		*ret_uid = uid;
	return rc;
}

int
category_rename(struct db *db, int64_t user, struct uuid uid, struct str title,
    int64_t now_us, struct err *e)
{
	struct uuid other = uid;
	bool there = false;
	int64_t n;
	int rc = check_title(title, e);

	if (rc == OK)
		rc = named(db, user, title, &other, &there, e);
	if (rc == OK && there && !uuid_eq(other, uid))
		return taken(e);
	if (rc < 0)
		return rc;
	n = sql_category_rename(db, e, .user = user, .uid = uuid_str(&uid),
	    .title = title, .now = now_us);
	return n == 0 ? no_category(e) : changed(n, e);
}

int
category_del(struct db *db, int64_t user, struct uuid uid, struct err *e)
{
	int64_t n =
	    sql_category_del(db, e, .user = user, .uid = uuid_str(&uid));

	return n == 0 ? no_category(e) : changed(n, e);
}
