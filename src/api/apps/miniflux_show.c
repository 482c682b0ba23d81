#include "api/apps/miniflux.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "feed/limits.h"

#define READ_BYTES 1500 /* of HTML in a minute: 250 words */

int
miniflux_body(struct req *r, struct json **ret, struct err *e)
{
	TRY(json_parse(r->arena, r->body, ret, e));
	if (!json_is(*ret, JSON_OBJECT))
		return err_set(e, ERR_SYNTAX, "expected a JSON object");
	return OK;
}

struct str
miniflux_text(const struct json *body, const char *name)
{
	const struct json *v = json_get(body, name);

	return json_is(v, JSON_STRING) ? str_trim(v->text) : STR_EMPTY;
}

int
miniflux_nothing(struct req *r)
{
	r->status = 204;
	return OK;
}

/* Apps want a time where there is none, too. */
static void
put_always(struct buf *b, const char *name, int64_t us)
{
	put_name(b, name);
	buf_addc(b, '"');
	time_add(b, us);
	buf_addc(b, '"');
}

void
miniflux_category(
    struct buf *b, const char *name, int64_t user, int64_t id, struct str title)
{
	put_open(b, name, '{');
	put_int(b, "id", id);
	put_int(b, "user_id", user);
	put_text(b, "title", title.n > 0 ? title : STR("All"));
	put_bool(b, "hide_globally", false);
}

void
miniflux_feed(struct buf *b, int64_t user, const struct sync_feed *f)
{
	put_open(b, NULL, '{');
	put_int(b, "id", f->id);
	put_int(b, "user_id", user);
	put_text(b, "feed_url", f->url);
	put_text(b, "site_url", f->site.n > 0 ? f->site : f->url);
	put_text(b, "title", f->title);
	put_always(b, "checked_at", f->last_fetch_us);
	put_always(b, "next_check_at", f->next_fetch_us);
	buf_addz(b, ",\"etag_header\":\"\",\"last_modified_header\":\"\"");
	put_text(b, "parsing_error_message", f->error);
	put_int(b, "parsing_error_count", f->errors);
	buf_addz(b, ",\"scraper_rules\":\"\",\"rewrite_rules\":\"\","
		    "\"blocklist_rules\":\"\",\"keeplist_rules\":\"\","
		    "\"user_agent\":\"\",\"username\":\"\",\"password\":\"\","
		    "\"crawler\":false,\"ignore_http_cache\":false,"
		    "\"fetch_via_proxy\":false,\"hide_globally\":false");
	put_bool(b, "disabled", f->stopped);
	miniflux_category(b, "category", user, f->category, f->category_title);
	put_close(b, '}');
	if (f->icon) {
		put_open(b, "icon", '{');
		put_int(b, "feed_id", f->id);
		put_int(b, "icon_id", f->id);
		put_close(b, '}');
	} else {
		put_null(b, "icon");
	}
	put_close(b, '}');
}

static void
put_files(
    struct buf *b, struct arena *a, int64_t user, const struct sync_item *it)
{
	const struct json *at = app_files(a, it);

	put_open(b, "enclosures", '[');
	for (int64_t n = 0; at; at = at->next, n++) {
		struct app_file f = app_file(at);

		put_open(b, NULL, '{');
		put_int(b, "id", it->id * FEED_ENCLOSURES_MAX + n);
		put_int(b, "user_id", user);
		put_int(b, "entry_id", it->id);
		put_text(b, "url", f.url);
		put_text(b, "mime_type", f.type);
		put_int(b, "size", f.length);
		put_int(b, "media_progression", 0);
		put_close(b, '}');
	}
	put_close(b, ']');
}

void
miniflux_entry(
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
	put_always(b, "published_at", it->published_us);
	put_always(b, "created_at", it->created_us);
	put_always(b, "changed_at", it->changed_us);
	put_text(b, "content", it->html);
	put_text(b, "author", it->author);
	put_text(b, "share_code", STR_EMPTY);
	put_bool(b, "starred", it->starred);
	put_int(b, "reading_time",
	    (int64_t)((it->html.n + READ_BYTES - 1) / READ_BYTES));
	put_files(b, r->arena, user, it);
	put_raw(b, "tags", it->categories.n > 0 ? it->categories : STR("[]"));
	if (f) {
		put_name(b, "feed");
		miniflux_feed(b, user, f);
	}
	put_close(b, '}');
}
