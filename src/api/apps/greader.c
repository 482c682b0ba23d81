#include "api/apps/greader.h"

#include "account/auth.h"
#include "api/api.h"
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
	char z[17] = "";

	if (s.n == 0 || s.n >= sizeof(z))
		return false;
	memcpy(z, s.p, s.n);
	*ret = (int64_t)strtoull(z, NULL, 16);
	return strspn(z, "0123456789abcdefABCDEF") == s.n && *ret >= 0;
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
	TRY(sync_feeds(APP_SYNC(r, db), false, &ret->feeds, e));
	return sync_categories(APP_SYNC(r, db), &ret->categories, e);
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
static struct str
token(struct req *r)
{
	struct str with = str_trim(req_header(r, "Authorization"));
	struct str seed = arena_fmt(
	    r->arena, "T %lld %.*s", (long long)r->who.user, STR_ARG(with));
	struct buf text CLEANUP(buf_done) = BUF(64);
	unsigned char sum[DIGEST_LEN];

	digest_sha256(seed, sum);
	digest_wipe((void *)(uintptr_t)seed.p, seed.n);
	buf_hex(&text, (struct str){(const char *)sum, 20});
	return arena_dup(r->arena, buf_str(&text));
}

int
greader_form(struct req *r, struct form **ret, struct err *e)
{
	struct form *f = arena_alloc(r->arena, sizeof(*f));
	struct str got, want = token(r);

	if (req_header(r, "Authorization").n == 0)
		return err_set(e, ERR_UNKNOWN, "log in by ClientLogin first");
	TRY(form_read(r, f, e));
	got = str_trim(form_get(f, "T"));
	if (got.n > 0 &&
	    (got.n != want.n || !digest_eq(got.p, want.p, want.n))) {
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
	struct form *f;

	TRY(greader_form(r, &f, e));
	r->ctx = f;
	return api_write(r, write, e);
}

int
api_gr_token(struct req *r, struct db *db, struct err *e)
{
	(void)db, (void)e;
	/* Apps send it back with all that is there. */
	return app_text(r, token(r).p);
}

/* Whoever is here has shown an app password: it is what the app goes on with. */
static int
logged_in(struct req *r, const struct form *f)
{
	bool json = str_eq(form_get(f, "output"), STR("json"));
	struct str word = str_trim(form_get(f, "Passwd"));

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
checked(struct req *r, int rc, struct err *e)
{
	struct form f;

	if (rc == ERR_UNKNOWN) {
		r->status = 401;
		return app_text(r, "Error=BadAuthentication\n");
	}
	TRY(rc);
	TRY(form_read(r, &f, e));
	return logged_in(r, &f);
}

static int
placed(struct req *r, struct err *e)
{
	return checked(r, auth_checked(r, e), e);
}

int
api_gr_login(struct req *r, struct db *, struct err *e)
{
	struct api *api = r->app;
	struct form f;
	int rc;

	TRY(form_read(r, &f, e));
	r->then = placed;
	rc = auth_login(api->auth, r, str_trim(form_get(&f, "Email")),
	    str_trim(form_get(&f, "Passwd")), e);
	return rc == REQ_WAIT ? rc : checked(r, rc, e);
}

int
api_gr_user(struct req *r, struct db *db, struct err *e)
{
	struct buf *b = &r->out;

	(void)db, (void)e;
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
	struct buf id CLEANUP(buf_done) = BUF(4 * READER_CATEGORY_NAME + 64);

	buf_addz(&id, GR_LABEL);
	buf_add(&id, title);
	put_text(b, name, id.failed ? STR_EMPTY : buf_str(&id));
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
	struct buf *b = &r->out;
	struct greader_world w;

	TRY(greader_world(r, db, &w, e));
	buf_addz(b, "{\"subscriptions\":[");
	for (size_t i = 0; i < w.feeds.n; i++)
		put_sub(b, &w.feeds.v[i]);
	buf_addz(b, "]}");
	return OK;
}

int
api_gr_tags(struct req *r, struct db *db, struct err *e)
{
	struct buf *b = &r->out;
	struct greader_world w;

	TRY(greader_world(r, db, &w, e));
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
	struct buf *b = &r->out;
	struct greader_world w;

	TRY(sync_feeds(APP_SYNC(r, db), true, &w.feeds, e));
	TRY(sync_categories(APP_SYNC(r, db), &w.categories, e));
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
