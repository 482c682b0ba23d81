#include "api/apps/greader.h"

#include "account/auth.h"
#include "api/api.h"
#include "api/apps/apps.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "reader/limits.h"
#include "seal/digest.h"

/* ---- names ---- */

struct gr_stream
gr_stream(struct str s)
{
	static const struct {
		struct str name;
		enum gr_kind kind;
	} states[] = {{STR("reading-list"), GR_ALL}, {STR("read"), GR_READ},
	    {STR("starred"), GR_STARRED}, {STR("kept-unread"), GR_KEPT}};
	struct gr_stream g = {GR_NONE, STR_EMPTY};
	struct str kind;

	if (str_starts(s, STR("feed/")))
		return (struct gr_stream){GR_FEED, str_from(s, 5)};
	if (!str_starts(s, STR("user/")))
		return g;
	s = str_from(s, 5);
	(void)str_cut(&s, '/'); /* - or whoever it is: it is the caller */
	kind = str_cut(&s, '/');
	if (str_eq(kind, STR("label")) && s.n > 0)
		return (struct gr_stream){GR_NAMED, s};
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
gr_item_id(struct str s, int64_t *ret)
{
	if (str_starts(s, STR(GR_ITEM)))
		return hex(str_from(s, STR(GR_ITEM).n), ret);
	/* Some leave the beginning out: 16 digits, with zeros in front. */
	if (s.n == 16 && (s.p[0] == '0' || !str_int(s, ret)))
		return hex(s, ret);
	return str_int(s, ret) && *ret >= 0;
}

int
gr_world(struct req *r, struct db *db, struct gr_world *ret, struct err *e)
{
	int rc = sync_feeds(
	    db, r->who.user, r->arena, &ret->feeds, &ret->n_feeds, e);

	return rc < 0 ? rc
		      : sync_categories(db, r->who.user, r->arena,
			    &ret->categories, &ret->n_categories, e);
}

const struct sync_feed *
gr_feed(const struct gr_world *w, struct str rest)
{
	int64_t id = 0;
	bool number = str_int(rest, &id);

	for (size_t i = 0; i < w->n_feeds; i++)
		if (number ? w->feeds[i].id == id
			   : str_eq(w->feeds[i].url, rest))
			return &w->feeds[i];
	return NULL;
}

const struct sync_feed *
gr_world_feed(const struct gr_world *w, int64_t id)
{
	for (size_t i = 0; i < w->n_feeds; i++)
		if (w->feeds[i].id == id)
			return &w->feeds[i];
	return NULL;
}

const struct sync_category *
gr_category(const struct gr_world *w, struct str name)
{
	for (size_t i = 0; i < w->n_categories; i++)
		if (str_eq(w->categories[i].title, name))
			return &w->categories[i];
	return NULL;
}

/* ---- who ---- */

int
gr_ok(struct req *r)
{
	buf_clear(&r->out);
	r->content_type = "text/plain; charset=utf-8";
	buf_addz(&r->out, "OK");
	return OK;
}

/* On the http thread, where the headers are. */
void
gr_token(struct req *r, char ret[41])
{
	struct str with = str_trim(req_header(r, "Authorization"));
	struct str seed = arena_fmt(
	    r->arena, "T %lld %.*s", (long long)r->who.user, STR_ARG(with));
	unsigned char sum[DIGEST_LEN];
	struct buf text = BUF(64);

	digest_sha256(seed.p ? seed : with, sum);
	if (seed.p)
		digest_wipe((void *)(uintptr_t)seed.p, seed.n);
	buf_hex(&text, (struct str){(const char *)sum, 20});
	memset(ret, 0, 41);
	if (!text.failed)
		memcpy(ret, text.p, 40);
	buf_done(&text);
}

int
gr_form(struct req *r, struct form **ret, struct err *e)
{
	struct form *f = arena_alloc(r->arena, sizeof(*f));
	char want[41];
	struct str got;
	int rc;

	if (!f)
		return err_set(e, ERR_NOMEM, "no room for the form");
	if (req_header(r, "Authorization").n == 0)
		return err_set(e, ERR_UNKNOWN, "log in by ClientLogin first");
	rc = form_read(r, f, e);
	if (rc < 0)
		return rc;
	got = str_trim(form_get(f, "T"));
	gr_token(r, want);
	if (got.n > 0 && (got.n != 40 || !digest_eq(got.p, want, 40))) {
		req_add_header(r, "X-Reader-Google-Bad-Token", "true");
		return err_set(
		    e, ERR_UNKNOWN, "T is not the token that was given");
	}
	*ret = f;
	return OK;
}

int
gr_post(struct req *r, handler_fn write, struct err *e)
{
	struct form *f = NULL;
	int rc = gr_form(r, &f, e);

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
	gr_token(r, text);
	buf_clear(&r->out);
	r->content_type = "text/plain; charset=utf-8";
	buf_addz(&r->out, text); /* apps send it back with all that is there */
	return OK;
}

/* Whoever is here has shown an app password: it is what the app goes on with. */
static int
logged_in(struct req *r, const struct form *f)
{
	struct str word = str_trim(form_get(f, "Passwd"));

	buf_clear(&r->out);
	req_add_header(r, "Cache-Control", "no-store");
	if (str_eq(form_get(f, "output"), STR("json"))) {
		buf_fmt(&r->out,
		    "{\"SID\":\"%.*s\",\"LSID\":\"%.*s\",\"Auth\":\"%.*s\"}",
		    STR_ARG(word), STR_ARG(word), STR_ARG(word));
		return OK;
	}
	r->content_type = "text/plain; charset=utf-8";
	buf_fmt(&r->out, "SID=%.*s\nLSID=%.*s\nAuth=%.*s\n", STR_ARG(word),
	    STR_ARG(word), STR_ARG(word));
	return OK;
}

/* A wrong password is told in the words that apps look for. */
static int
refused(struct req *r, int rc)
{
	if (rc != ERR_UNKNOWN)
		return rc;
	buf_clear(&r->out);
	r->content_type = "text/plain; charset=utf-8";
	r->status = 401;
	buf_addz(&r->out, "Error=BadAuthentication\n");
	return OK;
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
	(void)db, (void)e;
	buf_clear(&r->out);
	buf_fmt(&r->out,
	    "{\"userId\":\"%lld\",\"userName\":", (long long)r->who.user);
	buf_json(&r->out, str_of(r->who.name));
	buf_fmt(&r->out,
	    ",\"userProfileId\":\"%lld\",\"userEmail\":\"\","
	    "\"isBloggerUser\":false,\"signupTimeSec\":0,"
	    "\"isMultiLoginEnabled\":false}",
	    (long long)r->who.user);
	return OK;
}

/* ---- lists ---- */

static void
add_label(struct buf *b, struct str title)
{
	struct buf id = BUF(4 * READER_CATEGORY_NAME + 64);

	buf_addz(&id, GR_LABEL);
	buf_add(&id, title);
	buf_json(b, id.failed ? STR_EMPTY : buf_str(&id));
	buf_done(&id);
}

int
api_gr_subs(struct req *r, struct db *db, struct err *e)
{
	struct gr_world w = {0};
	struct buf *b = &r->out;
	int rc = gr_world(r, db, &w, e);

	if (rc < 0)
		return rc;
	buf_clear(b);
	buf_addz(b, "{\"subscriptions\":[");
	for (size_t i = 0; i < w.n_feeds; i++) {
		const struct sync_feed *f = &w.feeds[i];

		buf_fmt(b, "%s{\"id\":\"feed/%lld\",\"title\":", i ? "," : "",
		    (long long)f->id);
		buf_json(b, f->title);
		buf_addz(b, ",\"categories\":[");
		if (f->category_title.n > 0) {
			buf_addz(b, "{\"id\":");
			add_label(b, f->category_title);
			buf_addz(b, ",\"label\":");
			buf_json(b, f->category_title);
			buf_addc(b, '}');
		}
		buf_fmt(b, "],\"sortid\":\"%08llX\",\"firstitemmsec\":\"%lld\"",
		    (unsigned long long)f->id,
		    (long long)(f->created_us / US_PER_MS));
		buf_addz(b, ",\"url\":");
		buf_json(b, f->url);
		buf_addz(b, ",\"htmlUrl\":");
		buf_json(b, f->site.n > 0 ? f->site : f->url);
		buf_addz(b, ",\"iconUrl\":\"\"}");
	}
	buf_addz(b, "]}");
	return OK;
}

int
api_gr_tags(struct req *r, struct db *db, struct err *e)
{
	struct gr_world w = {0};
	struct buf *b = &r->out;
	int rc = gr_world(r, db, &w, e);

	if (rc < 0)
		return rc;
	buf_clear(b);
	buf_addz(b, "{\"tags\":[{\"id\":\"" GR_STATE "starred\"}");
	for (size_t i = 0; i < w.n_categories; i++) {
		buf_addz(b, ",{\"id\":");
		add_label(b, w.categories[i].title);
		buf_addz(b, ",\"type\":\"folder\"}");
	}
	buf_addz(b, "]}");
	return OK;
}

static void
add_count(struct buf *b, int64_t count, int64_t newest_us)
{
	buf_fmt(b, ",\"count\":%lld,\"newestItemTimestampUsec\":\"%lld\"}",
	    (long long)count, (long long)newest_us);
}

int
api_gr_unread(struct req *r, struct db *db, struct err *e)
{
	struct gr_world w = {0};
	struct buf *b = &r->out;
	int64_t all = 0, newest = 0;
	int rc = gr_world(r, db, &w, e);

	if (rc < 0)
		return rc;
	buf_clear(b);
	buf_fmt(b, "{\"max\":%d,\"unreadcounts\":[", SYNC_PAGE_MAX);
	for (size_t i = 0; i < w.n_feeds; i++) {
		const struct sync_feed *f = &w.feeds[i];

		buf_fmt(b, "{\"id\":\"feed/%lld\"", (long long)f->id);
		add_count(b, f->unread, f->newest_us);
		buf_addc(b, ',');
		all += f->unread;
		newest = f->newest_us > newest ? f->newest_us : newest;
	}
	for (size_t k = 0; k < w.n_categories; k++) {
		int64_t n = 0, last = 0;

		for (size_t i = 0; i < w.n_feeds; i++)
			if (w.feeds[i].category == w.categories[k].id) {
				n += w.feeds[i].unread;
				last = w.feeds[i].newest_us > last
					   ? w.feeds[i].newest_us
					   : last;
			}
		buf_addz(b, "{\"id\":");
		add_label(b, w.categories[k].title);
		add_count(b, n, last);
		buf_addc(b, ',');
	}
	buf_addz(b, "{\"id\":\"" GR_STATE "reading-list\"");
	add_count(b, all, newest);
	buf_addz(b, "]}");
	return OK;
}
