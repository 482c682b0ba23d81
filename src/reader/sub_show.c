/* subs.h: what a person sees of feeds, as JSON. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "event/cursor.h"
#include "reader/limits.h"
#include "reader/subs.h"
#include "sql.h"

static void
add_uid(struct buf *b, const char *name, struct str bytes)
{
	struct uuid u = {{0}};

	if (bytes.n == sizeof(u.b))
		memcpy(u.b, bytes.p, bytes.n);
	buf_fmt(b, "\"%s\":\"", name);
	uuid_add(b, u);
	buf_addc(b, '"');
}

static void
add_text(struct buf *b, const char *name, struct str s)
{
	buf_fmt(b, ",\"%s\":", name);
	if (s.p)
		buf_json(b, s);
	else
		buf_addz(b, "null");
}

static void
add_time(struct buf *b, const char *name, int64_t us)
{
	buf_fmt(b, ",\"%s\":\"", name);
	time_add(b, us);
	buf_addc(b, '"');
}

/* A feed that backs off is active in the store. */
static struct str
status_word(struct str status, int64_t errors)
{
	return str_eq(status, STR("active")) && errors > 0 ? STR("error")
							   : status;
}

static void
add_icon(struct buf *b, struct str feed_uid)
{
	struct uuid u = {{0}};

	if (feed_uid.n == sizeof(u.b))
		memcpy(u.b, feed_uid.p, feed_uid.n);
	buf_addz(b, ",\"favicon_url\":\"/api/feeds/");
	uuid_add(b, u);
	buf_addz(b, "/favicon\"");
}

static void
show_sub(const struct sql_fsub_list_row *r, struct uuid user_uid, struct buf *b)
{
	buf_addc(b, '{');
	add_uid(b, "id", r->uid);
	buf_addc(b, ',');
	add_uid(b, "user_id", uuid_str(&user_uid));
	buf_addc(b, ',');
	add_uid(b, "feed_id", r->feed_uid);
	add_text(b, "feed_title", r->title);
	add_text(b, "feed_url", r->url);
	if (r->icon)
		add_icon(b, r->feed_uid);
	buf_fmt(b, ",\"fetch_interval_minutes\":%lld", (long long)r->interval);
	add_text(b, "feed_status", status_word(r->status, r->errors));
	if (r->error.p)
		add_text(b, "error_message", r->error);
	buf_fmt(b, ",\"unread_count\":%lld", (long long)r->unread);
	if (r->category.p) {
		buf_addc(b, ',');
		add_uid(b, "category_id", r->category);
	} else {
		buf_addz(b, ",\"category_id\":null");
	}
	add_time(b, "created_at", r->created_at);
	buf_addc(b, '}');
}

int
subscription_show(struct db *db, int64_t user, struct uuid user_uid,
    const struct uuid *uid, struct buf *b, struct err *e)
{
	struct sql_fsub_list_row row;
	struct rows *rows = NULL;
	bool first = true;
	int rc = sql_fsub_list(db, &rows, e, .user = user,
	    .uid = uid ? uuid_str(uid) : (struct str){.p = NULL});

	if (!uid)
		buf_addc(b, '[');
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_fsub_list_get(rows, &row);
		if (!first)
			buf_addc(b, ',');
		first = false;
		show_sub(&row, user_uid, b);
	}
	rows_close(rows);
	if (!uid)
		buf_addc(b, ']');
	if (rc == OK && uid && first)
		rc = err_set(
		    e, ERR_ABSENT, "there is no such subscription of yours");
	return rc;
}

static int
no_feed(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such feed of yours");
}

int
feeds_show(struct db *db, int64_t user, struct uuid feed_uid, struct buf *b,
    struct err *e)
{
	struct sql_feed_show_row r;
	struct rows *rows = NULL;
	int rc = sql_feed_show(
	    db, &rows, e, .user = user, .uid = uuid_str(&feed_uid));

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc == 0)
		rc = no_feed(e);
	if (rc > 0) {
		sql_feed_show_get(rows, &r);
		buf_addc(b, '{');
		add_uid(b, "id", r.uid);
		add_text(b, "feed_url", r.feed_url);
		add_text(b, "site_url", r.site_url);
		add_text(b, "title", r.title);
		if (r.icon)
			add_icon(b, r.uid);
		else
			buf_addz(b, ",\"favicon_url\":null");
		add_text(b, "etag", r.etag);
		add_text(b, "last_modified", r.last_modified);
		add_text(b, "fetch_status", status_word(r.status, r.errors));
		buf_fmt(b, ",\"consecutive_errors\":%lld", (long long)r.errors);
		add_text(b, "error_message", r.error);
		add_time(b, "next_fetch_at", r.next_fetch_at);
		if (r.last_fetch_at_null)
			buf_addz(b, ",\"last_fetch_at\":null");
		else
			add_time(b, "last_fetch_at", r.last_fetch_at);
		add_time(b, "created_at", r.created_at);
		add_time(b, "updated_at", r.updated_at);
		buf_fmt(b, ",\"private\":%s}", r.private ? "true" : "false");
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
feeds_icon(struct db *db, int64_t user, struct uuid feed_uid, struct arena *a,
    struct str *ret_mime, struct buf *b, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_feed_icon(
	    db, &rows, e, .user = user, .uid = uuid_str(&feed_uid));
	struct str mime = {.p = NULL}, data = {.p = NULL};

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		mime = rows_str(rows, 0);
		data = rows_str(rows, 1);
	}
	if (rc >= 0 && (!mime.p || !data.p))
		rc = err_set(e, ERR_ABSENT, "this feed has no picture");
	if (rc >= 0) {
		*ret_mime = arena_dup(a, mime);
		buf_add(b, data);
		rc = ret_mime->p ? OK : err_set(e, ERR_NOMEM, "no memory");
	}
	rows_close(rows);
	return rc;
}

static void
show_fetch(const struct sql_feed_fetches_row *r, struct buf *b)
{
	buf_fmt(b, "{\"id\":%lld", (long long)r->id);
	add_time(b, "at", r->at);
	buf_fmt(b, ",\"took_ms\":%lld", (long long)(r->took_us / US_PER_MS));
	add_text(b, "outcome", r->outcome);
	if (r->http_status > 0)
		buf_fmt(b, ",\"http_status\":%lld", (long long)r->http_status);
	else
		buf_addz(b, ",\"http_status\":null");
	buf_fmt(b, ",\"bytes\":%lld,\"inserted\":%lld,\"updated\":%lld",
	    (long long)r->bytes, (long long)r->inserted, (long long)r->updated);
	add_text(b, "error", r->error);
	if (r->next_at_null)
		buf_addz(b, ",\"next_at\":null");
	else
		add_time(b, "next_at", r->next_at);
	add_text(b, "why_next", r->why_next);
	buf_addc(b, '}');
}

int
feeds_fetches(struct db *db, int64_t user, struct uuid feed_uid, int64_t before,
    struct buf *b, struct err *e)
{
	struct sql_feed_fetches_row row = {0};
	struct rows *rows = NULL;
	int64_t feed = 0, last = 0;
	char cursor[CURSOR_LEN + 1];
	int n = 0, rc = subscription_feed(db, user, feed_uid, &feed, e);

	if (rc == OK)
		rc = sql_feed_fetches(db, &rows, e, .user = user, .feed = feed,
		    .before = before, .most = READER_FETCHES + 1);
	buf_addz(b, "{\"fetches\":[");
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		if (++n > READER_FETCHES)
			continue;
		sql_feed_fetches_get(rows, &row);
		last = row.id;
		if (n > 1)
			buf_addc(b, ',');
		show_fetch(&row, b);
	}
	rows_close(rows);
	buf_addc(b, ']');
	if (n > READER_FETCHES) {
		cursor_format(last, cursor);
		buf_fmt(b, ",\"next_cursor\":\"%s\"", cursor);
	}
	buf_fmt(b, ",\"has_more\":%s}", n > READER_FETCHES ? "true" : "false");
	return rc;
}

static void
show_category(const struct sql_category_list_row *r, struct buf *b)
{
	buf_addc(b, '{');
	add_uid(b, "id", r->uid);
	add_text(b, "title", r->title);
	add_time(b, "created_at", r->created_at);
	add_time(b, "updated_at", r->updated_at);
	buf_addc(b, '}');
}

int
category_show(struct db *db, int64_t user, const struct uuid *uid,
    struct buf *b, struct err *e)
{
	struct sql_category_list_row row;
	struct rows *rows = NULL;
	bool first = true;
	int rc = sql_category_list(db, &rows, e, .user = user,
	    .uid = uid ? uuid_str(uid) : (struct str){.p = NULL});

	if (!uid)
		buf_addc(b, '[');
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_category_list_get(rows, &row);
		if (!first)
			buf_addc(b, ',');
		first = false;
		show_category(&row, b);
	}
	rows_close(rows);
	if (!uid)
		buf_addc(b, ']');
	if (rc == OK && uid && first)
		rc = err_set(
		    e, ERR_ABSENT, "there is no such category of yours");
	return rc;
}
