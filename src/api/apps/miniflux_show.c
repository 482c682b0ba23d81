#include "api/api.h"
#include "api/apps/miniflux.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "feed/limits.h"

#define READ_BYTES 1500 /* of HTML in a minute: 250 words */

int
mf_id(const struct req *r, size_t param, int64_t *ret, struct err *e)
{
	if (!str_int(r->params[param], ret) || *ret <= 0)
		return err_set(e, ERR_ABSENT, "there is none with this id");
	return OK;
}

int
mf_body(struct req *r, struct json **ret, struct err *e)
{
	int rc = json_parse(r->arena, r->body, ret, e);

	if (rc == OK && !json_is(*ret, JSON_OBJECT))
		rc = err_set(e, ERR_SYNTAX, "expected a JSON object");
	return rc;
}

int
mf_nothing(struct req *r)
{
	buf_clear(&r->out);
	r->status = 204;
	return OK;
}

static void
add_time(struct buf *b, const char *name, int64_t us)
{
	buf_fmt(b, ",\"%s\":\"", name);
	time_add(b, us);
	buf_addc(b, '"');
}

static void
add_text(struct buf *b, const char *name, struct str s)
{
	buf_fmt(b, ",\"%s\":", name);
	buf_json(b, s);
}

void
mf_category(
    struct buf *b, int64_t user, int64_t id, struct str title, const char *more)
{
	buf_fmt(
	    b, "{\"id\":%lld,\"user_id\":%lld", (long long)id, (long long)user);
	add_text(b, "title", title.n > 0 ? title : STR("All"));
	buf_fmt(b, ",\"hide_globally\":false%s}", more);
}

void
mf_feed(struct buf *b, int64_t user, const struct sync_feed *f)
{
	buf_fmt(b, "{\"id\":%lld,\"user_id\":%lld", (long long)f->id,
	    (long long)user);
	add_text(b, "feed_url", f->url);
	add_text(b, "site_url", f->site.n > 0 ? f->site : f->url);
	add_text(b, "title", f->title);
	add_time(b, "checked_at", f->last_fetch_us);
	add_time(b, "next_check_at", f->next_fetch_us);
	buf_addz(b, ",\"etag_header\":\"\",\"last_modified_header\":\"\"");
	add_text(b, "parsing_error_message", f->error);
	buf_fmt(b, ",\"parsing_error_count\":%lld", (long long)f->errors);
	buf_fmt(b,
	    ",\"scraper_rules\":\"\",\"rewrite_rules\":\"\","
	    "\"blocklist_rules\":\"\",\"keeplist_rules\":\"\","
	    "\"user_agent\":\"\",\"username\":\"\",\"password\":\"\","
	    "\"crawler\":false,\"disabled\":%s,\"ignore_http_cache\":false,"
	    "\"fetch_via_proxy\":false,\"hide_globally\":false,\"category\":",
	    f->stopped ? "true" : "false");
	mf_category(b, user, f->category, f->category_title, "");
	if (f->icon)
		buf_fmt(b, ",\"icon\":{\"feed_id\":%lld,\"icon_id\":%lld}}",
		    (long long)f->id, (long long)f->id);
	else
		buf_addz(b, ",\"icon\":null}");
}

static void
add_enclosures(
    struct buf *b, struct arena *a, int64_t user, const struct sync_item *it)
{
	struct json *list = NULL;
	struct err e;
	int64_t n = 0;

	buf_addz(b, ",\"enclosures\":[");
	if (it->enclosures.n > 0 &&
	    json_parse(a, it->enclosures, &list, &e) == OK)
		for (const struct json *x = list->child; x; x = x->next) {
			const struct json *url = json_get(x, "url");
			const struct json *type = json_get(x, "type");
			int64_t id = it->id * FEED_ENCLOSURES_MAX + n;
			int64_t size = 0;

			if (!json_is(url, JSON_STRING))
				continue;
			(void)json_int(json_get(x, "length"), &size);
			buf_fmt(b,
			    "%s{\"id\":%lld,\"user_id\":%lld,"
			    "\"entry_id\":%lld",
			    n ? "," : "", (long long)id, (long long)user,
			    (long long)it->id);
			add_text(b, "url", url->text);
			add_text(b, "mime_type",
			    json_is(type, JSON_STRING) ? type->text
						       : STR_EMPTY);
			buf_fmt(b, ",\"size\":%lld,\"media_progression\":0}",
			    (long long)size);
			n++;
		}
	buf_addc(b, ']');
}

static const struct sync_feed *
feed_of(int64_t id, const struct sync_feed *feeds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (feeds[i].id == id)
			return &feeds[i];
	return NULL;
}

void
mf_entry(struct buf *b, struct arena *a, int64_t user,
    const struct sync_item *it, const struct sync_feed *feeds, size_t n)
{
	const struct sync_feed *f = feed_of(it->feed, feeds, n);

	buf_fmt(b, "{\"id\":%lld,\"user_id\":%lld,\"feed_id\":%lld,",
	    (long long)it->id, (long long)user, (long long)it->feed);
	buf_fmt(
	    b, "\"status\":\"%s\",\"hash\":\"", it->read ? "read" : "unread");
	buf_hex(b, uuid_str(&it->uid));
	buf_addc(b, '"');
	add_text(b, "title", it->title);
	add_text(b, "url", it->link);
	buf_addz(b, ",\"comments_url\":\"\"");
	add_time(b, "published_at", it->published_us);
	add_time(b, "created_at", it->created_us);
	add_time(b, "changed_at", it->changed_us);
	add_text(b, "content", it->html);
	add_text(b, "author", it->author);
	buf_fmt(b, ",\"share_code\":\"\",\"starred\":%s,\"reading_time\":%zu",
	    it->starred ? "true" : "false",
	    (it->html.n + READ_BYTES - 1) / READ_BYTES);
	add_enclosures(b, a, user, it);
	buf_addz(b, ",\"tags\":");
	buf_add(b, it->categories.n > 0 ? it->categories : STR("[]"));
	if (f) {
		buf_addz(b, ",\"feed\":");
		mf_feed(b, user, f);
	}
	buf_addc(b, '}');
}
