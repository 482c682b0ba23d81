#include "account/auth.h"
#include "account/tokens.h"
#include "api/api.h"
#include "api/apps/app_read.h"
#include "api/apps/apps.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "http/server/query.h"
#include "reader/limits.h"
#include "reader/sync.h"
#include "seal/base64.h"

/*
 * Fever: one path; what is asked for are names in the query, and all of them
 * are answered in one object. Who it is comes in the body, as api_key. A wrong
 * one is a 200 that says auth 0.
 */

#define PAGE  50
#define BEGIN "{\"api_version\":3,\"auth\":"

struct fever {
	struct req *r;
	struct db *db;
	struct form form;
	struct sync_feed *feeds;
	size_t n_feeds;
};

/* ---- reading ---- */

static void
add_text(struct buf *b, const char *name, struct str s)
{
	buf_fmt(b, ",\"%s\":", name);
	buf_json(b, s);
}

/* Which feeds are in which group. Feeds without one are in none. */
static void
add_feeds_groups(struct fever *x, const struct sync_category *c, size_t n)
{
	struct buf *b = &x->r->out;

	buf_addz(b, ",\"feeds_groups\":[");
	for (size_t i = 0; i < n; i++) {
		size_t shown = 0;

		buf_fmt(b, "%s{\"group_id\":%lld,\"feed_ids\":\"", i ? "," : "",
		    (long long)c[i].id);
		for (size_t k = 0; k < x->n_feeds; k++)
			if (x->feeds[k].category == c[i].id)
				buf_fmt(b, "%s%lld", shown++ ? "," : "",
				    (long long)x->feeds[k].id);
		buf_addz(b, "\"}");
	}
	buf_addc(b, ']');
}

static int
add_groups(struct fever *x, struct err *e)
{
	struct buf *b = &x->r->out;
	struct sync_category *c = NULL;
	size_t n = 0;
	int rc = sync_categories(x->db, x->r->who.user, x->r->arena, &c, &n, e);

	if (rc < 0)
		return rc;
	if (form_has(&x->form, "groups")) {
		buf_addz(b, ",\"groups\":[");
		for (size_t i = 0; i < n; i++) {
			buf_fmt(b, "%s{\"id\":%lld", i ? "," : "",
			    (long long)c[i].id);
			add_text(b, "title", c[i].title);
			buf_addc(b, '}');
		}
		buf_addc(b, ']');
	}
	add_feeds_groups(x, c, n);
	return OK;
}

static void
add_feeds(struct fever *x)
{
	struct buf *b = &x->r->out;

	buf_addz(b, ",\"feeds\":[");
	for (size_t i = 0; i < x->n_feeds; i++) {
		const struct sync_feed *f = &x->feeds[i];

		buf_fmt(b, "%s{\"id\":%lld,\"favicon_id\":%lld", i ? "," : "",
		    (long long)f->id, f->icon ? (long long)f->id : 0);
		add_text(b, "title", f->title);
		add_text(b, "url", f->url);
		add_text(b, "site_url", f->site.n > 0 ? f->site : f->url);
		buf_fmt(b, ",\"is_spark\":0,\"last_updated_on_time\":%lld}",
		    (long long)(f->newest_us / US_PER_S));
	}
	buf_addc(b, ']');
}

static int
add_favicons(struct fever *x, struct err *e)
{
	struct buf *b = &x->r->out;
	size_t shown = 0;

	buf_addz(b, ",\"favicons\":[");
	for (size_t i = 0; i < x->n_feeds; i++) {
		struct str mime = STR_EMPTY, data = STR_EMPTY;
		int rc;

		if (!x->feeds[i].icon)
			continue;
		rc = sync_icon(x->db, x->r->who.user, x->feeds[i].id,
		    x->r->arena, &mime, &data, e);
		if (rc < 0)
			return rc;
		buf_fmt(b, "%s{\"id\":%lld,\"data\":\"%.*s;base64,",
		    shown++ ? "," : "", (long long)x->feeds[i].id,
		    STR_ARG(mime));
		base64_add(b, data);
		buf_addz(b, "\"}");
	}
	buf_addc(b, ']');
	return OK;
}

/* "3,1,2", at most a page; what is no number is left out. */
static size_t
with_ids(struct str list, struct sync_id ids[PAGE])
{
	size_t n = 0;

	while (list.n > 0 && n < PAGE)
		if (str_int(str_trim(str_cut(&list, ',')), &ids[n].id))
			n++;
	return n;
}

static void
add_item(struct buf *b, const struct sync_item *it)
{
	buf_fmt(b, "{\"id\":%lld,\"feed_id\":%lld", (long long)it->id,
	    (long long)it->feed);
	add_text(b, "title", it->title);
	add_text(b, "author", it->author);
	add_text(b, "html", it->html);
	add_text(b, "url", it->link);
	buf_fmt(b, ",\"is_saved\":%d,\"is_read\":%d,\"created_on_time\":%lld}",
	    it->starred, it->read, (long long)(it->published_us / US_PER_S));
}

static int
add_items(struct fever *x, struct err *e)
{
	struct sync_filter f = SYNC_ALL;
	struct arena *a = x->r->arena;
	struct sync_id wanted[PAGE] = {{0}};
	struct sync_item *items = NULL;
	int64_t user = x->r->who.user, total = 0;
	size_t n = 0;
	int rc =
	    form_int(&x->form, "since_id", 0, INT64_MAX, 0, &f.after_id, e);

	f.most = PAGE;
	f.order = SYNC_ID_UP;
	if (rc == OK && form_has(&x->form, "max_id")) {
		f.order = SYNC_ID_DOWN;
		rc = form_int(
		    &x->form, "max_id", 0, INT64_MAX, 0, &f.before_id, e);
	}
	if (rc == OK && form_has(&x->form, "with_ids"))
		rc = sync_items(x->db, user, wanted,
		    with_ids(form_get(&x->form, "with_ids"), wanted), a, &items,
		    &n, e);
	else if (rc == OK)
		rc = sync_page(x->db, user, &f, a, &items, &n, e);
	f = SYNC_ALL;
	if (rc == OK)
		rc = sync_count(x->db, user, &f, a, &total, e);
	if (rc < 0)
		return rc;
	buf_fmt(
	    &x->r->out, ",\"total_items\":%lld,\"items\":[", (long long)total);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&x->r->out, ',');
		add_item(&x->r->out, &items[i]);
	}
	buf_addc(&x->r->out, ']');
	return OK;
}

/* All ids of a kind, newest first, a page of the store at a time. */
static int
add_ids(struct fever *x, const char *name, struct sync_filter f, struct err *e)
{
	struct buf *b = &x->r->out;
	size_t n = SYNC_IDS_MAX, all = 0;

	buf_fmt(b, ",\"%s\":\"", name);
	f.order = SYNC_ID_DOWN;
	f.most = SYNC_IDS_MAX;
	while (n == SYNC_IDS_MAX && all < SYNC_IDS_ALL) {
		struct sync_id *ids = NULL;
		int rc = sync_ids(
		    x->db, x->r->who.user, &f, x->r->arena, &ids, &n, e);

		if (rc < 0)
			return rc;
		for (size_t i = 0; i < n; i++) {
			buf_addz(b, all++ ? "," : "");
			buf_int(b, ids[i].id);
			f.before_id = ids[i].id;
		}
	}
	buf_addc(b, '"');
	return OK;
}

/* ---- changing ---- */

static int
mark_item(struct fever *x, struct err *e)
{
	struct str as = form_get(&x->form, "as");
	struct sync_id one = {0, 0};
	int64_t now_us = clock_now_us(), user = x->r->who.user;
	bool read = str_eq(as, STR("read")), saved = str_eq(as, STR("saved"));
	int rc = form_int(&x->form, "id", -1, INT64_MAX, 0, &one.id, e);

	if (rc < 0)
		return rc;
	if (read || str_eq(as, STR("unread")))
		return sync_set_read(x->db, user, &one, 1, read, now_us, e);
	if (saved || str_eq(as, STR("unsaved")))
		return sync_set_starred(x->db, user, &one, 1, saved, now_us, e);
	return err_set(
	    e, ERR_INVALID, "as must be read, unread, saved or unsaved");
}

/* ---- the answer ---- */

static int
refused(struct req *r, int rc)
{
	if (rc != ERR_UNKNOWN)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, BEGIN "0}");
	return OK;
}

static int
answer_all(struct fever *x, struct err *e)
{
	struct sync_filter unread = SYNC_ALL, saved = SYNC_ALL;
	bool groups = form_has(&x->form, "groups");
	int rc = OK;

	unread.read = 0;
	saved.starred = 1;
	if (form_has(&x->form, "feeds")) {
		add_feeds(x);
		groups = true;
	}
	if (groups)
		rc = add_groups(x, e);
	if (rc == OK && form_has(&x->form, "favicons"))
		rc = add_favicons(x, e);
	if (rc == OK && form_has(&x->form, "items"))
		rc = add_items(x, e);
	if (form_has(&x->form, "links"))
		buf_addz(&x->r->out, ",\"links\":[]");
	if (rc == OK && form_has(&x->form, "unread_item_ids"))
		rc = add_ids(x, "unread_item_ids", unread, e);
	if (rc == OK && form_has(&x->form, "saved_item_ids"))
		rc = add_ids(x, "saved_item_ids", saved, e);
	return rc;
}

/* On a read thread, or when it marks an item on the commit thread. */
static int
answer(struct req *r, struct db *db, struct err *e)
{
	struct fever x = {.r = r, .db = db};
	int64_t last = 0;
	int rc = form_read(r, &x.form, e);

	if (rc == OK && str_eq(form_get(&x.form, "mark"), STR("item")))
		rc = mark_item(&x, e);
	if (rc == OK)
		rc = sync_feeds(
		    db, r->who.user, r->arena, &x.feeds, &x.n_feeds, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < x.n_feeds; i++)
		if (x.feeds[i].last_fetch_us > last)
			last = x.feeds[i].last_fetch_us;
	buf_clear(&r->out);
	buf_fmt(&r->out, BEGIN "1,\"last_refreshed_on_time\":%lld",
	    (long long)(last / US_PER_S));
	rc = answer_all(&x, e);
	buf_addc(&r->out, '}');
	return rc;
}

/* A feed or a group as read, then the answer. */
static int
mark_all(struct req *r, const struct form *f, struct err *e)
{
	struct app_reading *a = arena_alloc(r->arena, sizeof(*a));
	struct str what = form_get(f, "mark");
	int64_t id = 0, before_s = 0;
	bool feed = str_eq(what, STR("feed"));
	int rc = a ? form_int(f, "id", -1, INT64_MAX, 0, &id, e)
		   : err_set(e, ERR_NOMEM, "no room for the ids");

	if (rc == OK)
		rc = form_int(
		    f, "before", 0, INT64_MAX / US_PER_S - 1, 0, &before_s, e);
	if (rc < 0)
		return rc;
	if (!feed && !str_eq(what, STR("group")))
		return err_set(
		    e, ERR_INVALID, "mark must be item, feed or group");
	if (!str_eq(form_get(f, "as"), STR("read")))
		return err_set(e, ERR_INVALID, "as must be read");
	/* Group 0 is all; -1 are its "sparks", of which there are none. */
	if (id < 0 || (feed && id == 0))
		return api_read(r, answer, e);
	a->what.feed = feed ? id : 0;
	a->what.category = feed ? 0 : id;
	a->what.before_us =
	    before_s ? (before_s + 1) * US_PER_S - 1 : clock_now_us();
	a->finish = answer;
	return app_read_all(r, a, e);
}

static int
begin(struct req *r, struct err *e)
{
	struct form f;
	int rc = form_read(r, &f, e);

	if (rc < 0)
		return rc;
	r->then = NULL;
	if (!form_has(&f, "mark"))
		return api_read(r, answer, e);
	if (str_eq(form_get(&f, "mark"), STR("item")))
		return api_write(r, answer, e);
	return mark_all(r, &f, e);
}

static int
placed(struct req *r, struct err *e)
{
	int rc = auth_checked(r, e);

	return rc < 0 ? refused(r, rc) : begin(r, e);
}

int
api_fever(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	char key[FEVER_KEY_LEN];
	struct form f;
	struct str given;
	int rc = form_read(r, &f, e);

	(void)db;
	if (rc < 0)
		return rc;
	given = str_trim(form_get(&f, "api_key"));
	if (given.n != sizeof(key))
		return refused(r, ERR_UNKNOWN);
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = given.p[i] >= 'A' && given.p[i] <= 'F'
			     ? (char)(given.p[i] | 0x20)
			     : given.p[i];
	r->then = placed;
	rc = auth_fever(api->auth, r, (struct str){key, sizeof(key)}, e);
	if (rc == REQ_WAIT)
		return rc;
	return rc < 0 ? refused(r, rc) : begin(r, e);
}
