#include "reader/feeds.h"

#include "event/cursor.h"
#include "reader/feed_login.h"
#include "reader/limits.h"
#include "reader/secret_url.h"
#include "reader/subscription.h"
#include "sql.h"

int
feeds_find_by_url(struct db *db, struct str url, int64_t *ret_id,
    struct uuid *ret_uid, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_feed_by_url_row row = {0};

	TRY(sql_feed_by_url(db, &rows, e, .url = url));
	if (TRY(sql_feed_by_url_next(rows, &row, e)))
		*ret_uid = uuid_of(row.uid);
	*ret_id = row.id;
	return OK;
}

int
feeds_add(struct db *db, const struct feed_new *f, int64_t now_us,
    int64_t *ret_id, struct uuid *ret_uid, struct err *e)
{
	struct uuid uid = uuid_v7(now_us);
	struct str title = str_chars(f->title, FEED_TITLE_MAX);

	TRY(sql_feed_add(db, e, .uid = uuid_str(&uid), .url = f->url,
	    .address = f->address, .site_url = f->site_url,
	    .title = title.p ? title : STR_EMPTY,
	    .next_fetch_at = f->next_fetch_us, .favicon_mime = f->favicon_mime,
	    .favicon_data = f->favicon_data,
	    .private = f->private || secret_url(f->url), .now = now_us));
	return feeds_find_by_url(db, f->url, ret_id, ret_uid, e);
}

int
feeds_mark(struct db *db, int64_t feed, bool private, bool alone,
    int64_t now_us, struct err *e)
{
	if (TRY(sql_feed_mark(db, e, .feed = feed, .private = private,
		.alone = alone, .now = now_us)))
		return OK;
	(void)err_set(e, ERR_CONFLICT, "%s",
	    private
		? "others read this feed too"
		: "others read this feed too, or it was added with a user name and password");
	return err_word(e, "NOT_ALONE");
}

/* Showing ------------------------------------------------------------------------ */

void
feeds_put_status(
    struct buf *b, const char *name, struct str status, int64_t errors)
{
	bool backs_off = str_eq(status, STR("active")) && errors > 0;

	put_text(b, name, backs_off ? STR("error") : status);
}

void
feeds_put_icon(struct buf *b, struct str feed_uid)
{
	put_name(b, "favicon_url");
	buf_addz(b, "\"/api/feeds/");
	uuid_add(b, uuid_of(feed_uid));
	buf_addz(b, "/favicon\"");
}

void
feeds_put_counts(struct buf *b, int64_t items, int64_t read, int64_t starred)
{
	put_int(b, "item_count", items);
	put_int(b, "unread_count", items > read ? items - read : 0);
	put_int(b, "starred_count", starred);
}

static void
show_feed(const struct sql_feed_show_row *r, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "id", uuid_of(r->uid));
	put_text(b, "feed_url", r->feed_url);
	put_text(b, "site_url", r->site_url);
	put_text(b, "title", r->title);
	if (r->icon)
		feeds_put_icon(b, r->uid);
	else
		put_null(b, "favicon_url");
	put_text(b, "etag", r->etag);
	put_text(b, "last_modified", r->last_modified);
	feeds_put_status(b, "fetch_status", r->status, r->errors);
	put_int(b, "consecutive_errors", r->errors);
	put_text(b, "error_message", r->error);
	put_time(b, "next_fetch_at", r->next_fetch_at);
	put_time(b, "last_fetch_at", r->last_fetch_at);
	put_time(b, "created_at", r->created_at);
	put_time(b, "updated_at", r->updated_at);
	put_bool(b, "private", r->private);
	put_z(b, "username", r->login ? FEED_LOGIN_MASK : NULL);
	put_z(b, "password", r->login ? FEED_LOGIN_MASK : NULL);
	put_close(b, '}');
}

int
feeds_show(struct db *db, int64_t user, struct uuid feed_uid, struct buf *b,
    struct err *e)
{
	struct sql_feed_show_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_feed_show(
	    db, &rows, e, .user = user, .uid = uuid_str(&feed_uid)));
	if (TRY(sql_feed_show_next(rows, &row, e)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such feed of yours");
	show_feed(&row, b);
	return OK;
}

int
feeds_icon(struct db *db, int64_t user, struct uuid feed_uid, struct arena *a,
    struct str *ret_mime, struct buf *b, struct err *e)
{
	struct sql_feed_icon_row row;

	if (TRY(sql_feed_icon_one(db, a, &row, e, .user = user,
		.uid = uuid_str(&feed_uid))) == 0 ||
	    !row.mime.p || !row.data.p)
		return err_set(e, ERR_ABSENT, "this feed has no picture");
	*ret_mime = row.mime;
	buf_add(b, row.data);
	return OK;
}

static void
show_fetch(const struct sql_feed_fetches_row *r, struct buf *b)
{
	put_open(b, NULL, '{');
	put_int(b, "id", r->id);
	put_time(b, "at", r->at);
	put_int(b, "took_ms", r->took_us / US_PER_MS);
	put_text(b, "outcome", r->outcome);
	put_some(b, "http_status", r->http_status);
	put_int(b, "bytes", r->bytes);
	put_int(b, "inserted", r->inserted);
	put_int(b, "updated", r->updated);
	put_text(b, "error", r->error);
	put_time(b, "next_at", r->next_at);
	put_text(b, "why_next", r->why_next);
	put_close(b, '}');
}

int
feeds_fetches(struct db *db, int64_t user, struct uuid feed_uid, int64_t before,
    struct buf *b, struct err *e)
{
	struct sql_feed_fetches_row row = {0};
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int64_t feed = 0, last = 0;
	char cursor[CURSOR_LEN + 1];
	int n = 0;

	TRY(subscription_feed(db, user, feed_uid, &feed, e));
	TRY(sql_feed_fetches(db, &rows, e, .user = user, .feed = feed,
	    .before = before, .most = READER_FETCHES + 1));
	put_open(b, NULL, '{');
	put_open(b, "fetches", '[');
	while (TRY(sql_feed_fetches_next(rows, &row, e)))
		if (++n <= READER_FETCHES) {
			last = row.id;
			show_fetch(&row, b);
		}
	put_close(b, ']');
	if (n > READER_FETCHES) {
		cursor_format(last, cursor);
		put_z(b, "next_cursor", cursor);
	}
	put_bool(b, "has_more", n > READER_FETCHES);
	put_close(b, '}');
	return OK;
}
