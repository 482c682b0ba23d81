#include "api/apps/greader.h"

#include "account/auth.h"
#include "api/api.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "reader/limits.h"
#include "seal/digest.h"

/* ---- names ---- */

struct greader_stream
greader_stream(struct str s)
{
	static const struct {
		struct str name;
		enum greader_kind kind;
	} states[] = {{STR("reading-list"), GR_ALL}, {STR("read"), GR_READ},
	    {STR("starred"), GR_STARRED}, {STR("kept-unread"), GR_KEPT}};
	struct greader_stream g = {GR_NONE, STR_EMPTY};
	struct str kind;

	if (str_starts(s, STR("feed/")))
		return (struct greader_stream){GR_FEED, str_from(s, 5)};
	if (!str_starts(s, STR("user/")))
		return g;
	s = str_from(s, 5);
	(void)str_cut(&s, '/'); /* - or whoever it is: it is the caller */
	kind = str_cut(&s, '/');
	if (str_eq(kind, STR("label")) && s.n > 0)
		return (struct greader_stream){GR_NAMED, s};
	if (!str_eq(kind, STR("state")) ||
	    !str_eq(str_cut(&s, '/'), STR("com.google")))
		return g;
	for (size_t i = 0; i < COUNT_OF(states); i++)
		if (str_eq(s, states[i].name))
			g.kind = states[i].kind;
	return g;
}

static bool
hex(struct str s, int64_t *ret)
{
	uint64_t v = 0;

	if (s.n == 0 || s.n > 16)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i], low = (char)(c | 0x20);

		if (c >= '0' && c <= '9')
			v = v << 4 | (unsigned)(c - '0');
		else if (low >= 'a' && low <= 'f')
			v = v << 4 | (unsigned)(low - 'a' + 10);
		else
			return false;
	}
	if (v > INT64_MAX)
		return false;
	*ret = (int64_t)v;
	return true;
}

bool
greader_item_id(struct str s, int64_t *ret)
{
	if (str_starts(s, STR(GR_ITEM)))
		return hex(str_from(s, STR(GR_ITEM).n), ret);
	/* Some leave the beginning out: 16 digits, with zeros in front. */
	if (s.n == 16 && (s.p[0] == '0' || !str_int(s, ret)))
		return hex(s, ret);
	return str_int(s, ret) && *ret >= 0;
}

int
greader_ids(
    const struct form *f, struct arena *a, struct sync_ids *ret, struct err *e)
{
	size_t at = 0;
	struct str s;

	*ret = (struct sync_ids){arena_array(a, f->n + 1, sizeof(*ret->v)), 0};
	while (form_each(f, "i", &at, &s))
		if (!greader_item_id(s, &ret->v[ret->n++].id))
			return err_set(e, ERR_INVALID, "i is no article's id");
	return OK;
}

int
greader_world(
    struct req *r, struct db *db, struct greader_world *ret, struct err *e)
{
	struct sync who = app_sync(r, db);
	int rc = sync_feeds(&who, &ret->feeds, e);

	return rc < 0 ? rc : sync_categories(&who, &ret->categories, e);
}

const struct sync_feed *
greader_feed(const struct greader_world *w, struct str rest)
{
	int64_t id = 0;

	if (str_int(rest, &id))
		return sync_feeds_find(&w->feeds, id);
	for (size_t i = 0; i < w->feeds.n; i++)
		if (str_eq(w->feeds.v[i].url, rest))
			return &w->feeds.v[i];
	return NULL;
}

const struct sync_category *
greader_category(const struct greader_world *w, struct str name)
{
	for (size_t i = 0; i < w->categories.n; i++)
		if (str_eq(w->categories.v[i].title, name))
			return &w->categories.v[i];
	return NULL;
}

/* ---- who ---- */

/* On the http thread, where the headers are. */
void
greader_token(struct req *r, char ret[41])
{
	struct str with = str_trim(req_header(r, "Authorization"));
	struct str seed = arena_fmt(
	    r->arena, "T %lld %.*s", (long long)r->who.user, STR_ARG(with));
	unsigned char sum[DIGEST_LEN];
	struct buf text = BUF(64);

	digest_sha256(seed, sum);
	digest_wipe((void *)(uintptr_t)seed.p, seed.n);
	buf_hex(&text, (struct str){(const char *)sum, 20});
	memcpy(ret, text.p, 40);
	ret[40] = '\0';
	buf_done(&text);
}

int
greader_form(struct req *r, struct form **ret, struct err *e)
{
	struct form *f = arena_alloc(r->arena, sizeof(*f));
	char want[41];
	struct str got;
	int rc;

	if (req_header(r, "Authorization").n == 0)
		return err_set(e, ERR_UNKNOWN, "log in by ClientLogin first");
	rc = form_read(r, f, e);
	if (rc < 0)
		return rc;
	got = str_trim(form_get(f, "T"));
	greader_token(r, want);
	if (got.n > 0 && (got.n != 40 || !digest_eq(got.p, want, 40))) {
		req_add_header(r, "X-Reader-Google-Bad-Token", "true");
		return err_set(
		    e, ERR_UNKNOWN, "T is not the token that was given");
	}
	*ret = f;
	return OK;
}

int
greader_post(struct req *r, handler_fn write, struct err *e)
{
	struct form *f = NULL;
	int rc = greader_form(r, &f, e);

	if (rc < 0)
		return rc;
	r->ctx = f;
	return api_write(r, write, e);
}

int
api_gr_token(struct req *r, struct db *db, struct err *e)
{
	char text[41];

	(void)db, (void)e;
	greader_token(r, text);
	/* Apps send it back with all that is there. */
	return app_text(r, text);
}

/* Whoever is here has shown an app password: it is what the app goes on with. */
static int
logged_in(struct req *r, const struct form *f)
{
	bool json = str_eq(form_get(f, "output"), STR("json"));
	struct str word = str_trim(form_get(f, "Passwd"));

	buf_clear(&r->out);
	req_add_header(r, "Cache-Control", "no-store");
	if (!json)
		r->content_type = "text/plain; charset=utf-8";
	buf_fmt(&r->out,
	    json ? "{\"SID\":\"%.*s\",\"LSID\":\"%.*s\",\"Auth\":\"%.*s\"}"
		 : "SID=%.*s\nLSID=%.*s\nAuth=%.*s\n",
	    STR_ARG(word), STR_ARG(word), STR_ARG(word));
	return OK;
}

/* A wrong password is told in the words that apps look for. */
static int
refused(struct req *r, int rc)
{
	if (rc != ERR_UNKNOWN)
		return rc;
	r->status = 401;
	return app_text(r, "Error=BadAuthentication\n");
}

static int
placed(struct req *r, struct err *e)
{
	struct form f;
	int rc = auth_checked(r, e);

	if (rc < 0)
		return refused(r, rc);
	rc = form_read(r, &f, e);
	return rc < 0 ? rc : logged_in(r, &f);
}

int
api_gr_login(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct form f;
	int rc = form_read(r, &f, e);

	(void)db;
	if (rc < 0)
		return rc;
	r->then = placed;
	rc = auth_login(api->auth, r, str_trim(form_get(&f, "Email")),
	    str_trim(form_get(&f, "Passwd")), e);
	if (rc == REQ_WAIT)
		return rc;
	return rc < 0 ? refused(r, rc) : logged_in(r, &f);
}

int
api_gr_user(struct req *r, struct db *db, struct err *e)
{
	struct buf *b = &r->out;

	(void)db, (void)e;
	buf_clear(b);
	buf_fmt(b, "{\"userId\":\"%lld\"", (long long)r->who.user);
	put_z(b, "userName", r->who.name);
	buf_fmt(b,
	    ",\"userProfileId\":\"%lld\",\"userEmail\":\"\","
	    "\"isBloggerUser\":false,\"signupTimeSec\":0,"
	    "\"isMultiLoginEnabled\":false}",
	    (long long)r->who.user);
	return OK;
}

/* ---- lists ---- */

void
greader_put_feed(struct buf *b, const char *name, int64_t id)
{
	put_name(b, name);
	buf_fmt(b, "\"feed/%lld\"", (long long)id);
}

void
greader_put_label(struct buf *b, const char *name, struct str title)
{
	struct buf id = BUF(4 * READER_CATEGORY_NAME + 64);

	buf_addz(&id, GR_LABEL);
	buf_add(&id, title);
	put_text(b, name, id.failed ? STR_EMPTY : buf_str(&id));
	buf_done(&id);
}

static void
put_sub(struct buf *b, const struct sync_feed *f)
{
	put_open(b, NULL, '{');
	greader_put_feed(b, "id", f->id);
	put_text(b, "title", f->title);
	put_open(b, "categories", '[');
	if (f->category_title.n > 0) {
		put_open(b, NULL, '{');
		greader_put_label(b, "id", f->category_title);
		put_text(b, "label", f->category_title);
		put_close(b, '}');
	}
	put_close(b, ']');
	buf_fmt(b, ",\"sortid\":\"%08llX\",\"firstitemmsec\":\"%lld\"",
	    (unsigned long long)f->id, (long long)(f->created_us / US_PER_MS));
	put_text(b, "url", f->url);
	put_text(b, "htmlUrl", f->site.n > 0 ? f->site : f->url);
	put_text(b, "iconUrl", STR_EMPTY);
	put_close(b, '}');
}

int
api_gr_subs(struct req *r, struct db *db, struct err *e)
{
	struct greader_world w = {0};
	struct buf *b = &r->out;
	int rc = greader_world(r, db, &w, e);

	if (rc < 0)
		return rc;
	buf_clear(b);
	buf_addz(b, "{\"subscriptions\":[");
	for (size_t i = 0; i < w.feeds.n; i++)
		put_sub(b, &w.feeds.v[i]);
	buf_addz(b, "]}");
	return OK;
}

int
api_gr_tags(struct req *r, struct db *db, struct err *e)
{
	struct greader_world w = {0};
	struct buf *b = &r->out;
	int rc = greader_world(r, db, &w, e);

	if (rc < 0)
		return rc;
	buf_clear(b);
	buf_addz(b, "{\"tags\":[{\"id\":\"" GR_STATE "starred\"}");
	for (size_t i = 0; i < w.categories.n; i++) {
		put_open(b, NULL, '{');
		greader_put_label(b, "id", w.categories.v[i].title);
		put_z(b, "type", "folder");
		put_close(b, '}');
	}
	buf_addz(b, "]}");
	return OK;
}

/* How many are unread in the feeds of a category, or of all with 0. */
static void
put_count(struct buf *b, const struct greader_world *w, int64_t category)
{
	int64_t n = 0, last = 0;

	for (size_t i = 0; i < w->feeds.n; i++) {
		const struct sync_feed *f = &w->feeds.v[i];

		if (category && f->category != category)
			continue;
		n += f->unread;
		last = f->newest_us > last ? f->newest_us : last;
	}
	buf_fmt(b, ",\"count\":%lld,\"newestItemTimestampUsec\":\"%lld\"}",
	    (long long)n, (long long)last);
}

int
api_gr_unread(struct req *r, struct db *db, struct err *e)
{
	struct greader_world w = {0};
	struct buf *b = &r->out;
	int rc = greader_world(r, db, &w, e);

	if (rc < 0)
		return rc;
	buf_clear(b);
	buf_fmt(b, "{\"max\":%d,\"unreadcounts\":[", SYNC_PAGE_MAX);
	for (size_t i = 0; i < w.feeds.n; i++) {
		struct greader_world one = {.feeds = {&w.feeds.v[i], 1}};

		put_open(b, NULL, '{');
		greader_put_feed(b, "id", w.feeds.v[i].id);
		put_count(b, &one, 0);
	}
	for (size_t i = 0; i < w.categories.n; i++) {
		put_open(b, NULL, '{');
		greader_put_label(b, "id", w.categories.v[i].title);
		put_count(b, &w, w.categories.v[i].id);
	}
	put_open(b, NULL, '{');
	put_z(b, "id", GR_STATE "reading-list");
	put_count(b, &w, 0);
	buf_addz(b, "]}");
	return OK;
}
