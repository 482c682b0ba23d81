#include "account/auth.h"
#include "account/tokens.h"
#include "api/api.h"
#include "api/apps/app.h"
#include "http/server/query.h"
#include "reader/limits.h"
#include "reader/sync.h"

/*
 * Fever: one path; what is asked for are names in the query, and all of them
 * are answered in one object. Who it is comes in the body, as api_key. A wrong
 * one is a 200 that says auth 0.
 */

#define PAGE  50
#define BEGIN "{\"api_version\":3,\"auth\":"

struct fever {
	struct buf *b;
	struct sync who;
	struct form form;
	struct sync_feeds feeds;
};

/* ---- reading ---- */

/* Which feeds are in which group. Feeds without one are in none. */
static void
put_feeds_groups(struct fever *x, const struct sync_categories *c)
{
	put_open(x->b, "feeds_groups", '[');
	for (size_t i = 0; i < c->n; i++) {
		size_t shown = 0;

		put_open(x->b, NULL, '{');
		put_int(x->b, "group_id", c->v[i].id);
		put_name(x->b, "feed_ids");
		buf_addc(x->b, '"');
		for (size_t k = 0; k < x->feeds.n; k++)
			if (x->feeds.v[k].category == c->v[i].id)
				buf_fmt(x->b, "%s%lld", shown++ ? "," : "",
				    (long long)x->feeds.v[k].id);
		buf_addc(x->b, '"');
		put_close(x->b, '}');
	}
	put_close(x->b, ']');
}

static int
put_groups(struct fever *x, struct err *e)
{
	struct sync_categories c;

	TRY(sync_categories(&x->who, &c, e));
	if (form_has(&x->form, "groups")) {
		put_open(x->b, "groups", '[');
		for (size_t i = 0; i < c.n; i++) {
			put_open(x->b, NULL, '{');
			put_int(x->b, "id", c.v[i].id);
			put_text(x->b, "title", c.v[i].title);
			put_close(x->b, '}');
		}
		put_close(x->b, ']');
	}
	put_feeds_groups(x, &c);
	return OK;
}

static void
put_feeds(struct fever *x)
{
	put_open(x->b, "feeds", '[');
	for (size_t i = 0; i < x->feeds.n; i++) {
		const struct sync_feed *f = &x->feeds.v[i];

		put_open(x->b, NULL, '{');
		put_int(x->b, "id", f->id);
		put_int(x->b, "favicon_id", f->icon ? f->id : 0);
		put_text(x->b, "title", f->title);
		put_text(x->b, "url", f->url);
		put_text(x->b, "site_url", f->site.n > 0 ? f->site : f->url);
		put_int(x->b, "is_spark", 0);
		put_int(x->b, "last_updated_on_time", f->newest_us / US_PER_S);
		put_close(x->b, '}');
	}
	put_close(x->b, ']');
}

static int
put_favicons(struct fever *x, struct err *e)
{
	put_open(x->b, "favicons", '[');
	for (size_t i = 0; i < x->feeds.n; i++) {
		struct str mime, data;

		if (!x->feeds.v[i].icon)
			continue;
		TRY(sync_icon(&x->who, x->feeds.v[i].id, &mime, &data, e));
		put_open(x->b, NULL, '{');
		put_int(x->b, "id", x->feeds.v[i].id);
		app_put_icon(x->b, mime, data);
		put_close(x->b, '}');
	}
	put_close(x->b, ']');
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
put_item(struct buf *b, const struct sync_item *it)
{
	put_open(b, NULL, '{');
	put_int(b, "id", it->id);
	put_int(b, "feed_id", it->feed);
	put_text(b, "title", it->title);
	put_text(b, "author", it->author);
	put_text(b, "html", it->html);
	put_text(b, "url", it->link);
	put_int(b, "is_saved", it->starred);
	put_int(b, "is_read", it->read);
	put_int(b, "created_on_time", it->published_us / US_PER_S);
	put_close(b, '}');
}

static int
put_items(struct fever *x, struct err *e)
{
	static const struct app_number NUMBERS[] = {
	    {"since_id", offsetof(struct sync_filter, after_id)},
	    {"max_id", offsetof(struct sync_filter, before_id)},
	    {NULL},
	};
	struct sync_filter f = SYNC_ALL;
	struct sync_id wanted[PAGE] = {{0}};
	struct sync_items items = {0};
	int64_t total = 0;

	TRY(app_numbers(&x->form, NUMBERS, &f, e));
	f.most = PAGE;
	f.order = form_has(&x->form, "max_id") ? SYNC_ID_DOWN : SYNC_ID_UP;
	if (form_has(&x->form, "with_ids"))
		TRY(sync_items(&x->who,
		    &(struct sync_ids){wanted,
			with_ids(form_get(&x->form, "with_ids"), wanted)},
		    &items, e));
	else
		TRY(sync_page(&x->who, &f, &items, e));
	for (size_t i = 0; i < x->feeds.n; i++)
		total += x->feeds.v[i].items;
	put_int(x->b, "total_items", total);
	put_open(x->b, "items", '[');
	for (size_t i = 0; i < items.n; i++)
		put_item(x->b, &items.v[i]);
	put_close(x->b, ']');
	return OK;
}

/* All ids of a kind, newest first, a page of the store at a time. */
static int
put_ids(struct fever *x, const char *name, struct sync_filter f, struct err *e)
{
	struct sync_ids ids = {.n = SYNC_IDS_MAX};
	size_t all = 0;

	put_name(x->b, name);
	buf_addc(x->b, '"');
	f.order = SYNC_ID_DOWN;
	f.most = SYNC_IDS_MAX;
	while (ids.n == SYNC_IDS_MAX && all < SYNC_IDS_ALL) {
		TRY(sync_ids(&x->who, &f, &ids, e));
		for (size_t i = 0; i < ids.n; i++) {
			buf_addz(x->b, all++ ? "," : "");
			buf_int(x->b, ids.v[i].id);
			f.before_id = ids.v[i].id;
		}
	}
	buf_addc(x->b, '"');
	return OK;
}

/* ---- changing ---- */

static int
mark_item(struct fever *x, struct err *e)
{
	struct str as = form_get(&x->form, "as");
	struct sync_id one = {0, 0};
	struct sync_ids ids = {&one, 1};
	int64_t now_us = clock_now_us();
	bool read = str_eq(as, STR("read")), saved = str_eq(as, STR("saved"));

	TRY(form_int(&x->form, "id", -1, INT64_MAX, 0, &one.id, e));
	if (read || str_eq(as, STR("unread")))
		return sync_set(&x->who, &ids, SYNC_READ, read, now_us, e);
	if (saved || str_eq(as, STR("unsaved")))
		return sync_set(&x->who, &ids, SYNC_STARRED, saved, now_us, e);
	return err_set(
	    e, ERR_INVALID, "as must be read, unread, saved or unsaved");
}

/* ---- the answer ---- */

static int
refused(struct req *r, int rc)
{
	if (rc != ERR_UNKNOWN)
		return rc;
	buf_addz(&r->out, BEGIN "0}");
	return OK;
}

static int
answer_all(struct fever *x, struct err *e)
{
	struct sync_filter unread = SYNC_ALL, saved = SYNC_ALL;

	unread.read = 0;
	saved.starred = 1;
	if (form_has(&x->form, "feeds"))
		put_feeds(x);
	if (form_has(&x->form, "feeds") || form_has(&x->form, "groups"))
		TRY(put_groups(x, e));
	if (form_has(&x->form, "favicons"))
		TRY(put_favicons(x, e));
	if (form_has(&x->form, "items"))
		TRY(put_items(x, e));
	if (form_has(&x->form, "links"))
		put_raw(x->b, "links", STR("[]"));
	if (form_has(&x->form, "unread_item_ids"))
		TRY(put_ids(x, "unread_item_ids", unread, e));
	if (form_has(&x->form, "saved_item_ids"))
		TRY(put_ids(x, "saved_item_ids", saved, e));
	return OK;
}

/* On a read thread, or when it marks an item on the commit thread. */
static int
fever_answer(struct req *r, struct db *db, struct err *e)
{
	struct fever x = {.b = &r->out, .who = *APP_SYNC(r, db)};
	int64_t last = 0;

	TRY(form_read(r, &x.form, e));
	if (str_eq(form_get(&x.form, "mark"), STR("item")))
		TRY(mark_item(&x, e));
	TRY(sync_feeds(&x.who, form_has(&x.form, "feeds"), &x.feeds, e));
	for (size_t i = 0; i < x.feeds.n; i++)
		if (x.feeds.v[i].last_fetch_us > last)
			last = x.feeds.v[i].last_fetch_us;
	buf_fmt(&r->out, BEGIN "1,\"last_refreshed_on_time\":%lld",
	    (long long)(last / US_PER_S));
	TRY(answer_all(&x, e));
	buf_addc(&r->out, '}');
	return OK;
}

/* A feed or a group as read, then the answer. */
static int
mark_all(struct req *r, const struct form *f, struct err *e)
{
	struct app_reading *a = app_reading(r, NULL, fever_answer);
	struct str what = form_get(f, "mark");
	int64_t id = 0, before_s = 0;
	bool feed = str_eq(what, STR("feed"));

	TRY(form_int(f, "id", -1, INT64_MAX, 0, &id, e));
	TRY(form_int(
	    f, "before", 0, INT64_MAX / US_PER_S - 1, 0, &before_s, e));
	if (!feed && !str_eq(what, STR("group")))
		return err_set(
		    e, ERR_INVALID, "mark must be item, feed or group");
	if (!str_eq(form_get(f, "as"), STR("read")))
		return err_set(e, ERR_INVALID, "as must be read");
	/* Group 0 is all; -1 are its "sparks", of which there are none. */
	if (id < 0 || (feed && id == 0))
		return api_read(r, fever_answer, e);
	a->what.feed = feed ? id : 0;
	a->what.category = feed ? 0 : id;
	a->what.before_us =
	    before_s ? (before_s + 1) * US_PER_S - 1 : clock_now_us();
	return app_read_all(r, a, e);
}

/* Pictures, and the states of all, are not counted; what comes with them is. */
static bool
counts(const struct form *f)
{
	bool free = form_has(f, "favicons") || form_has(f, "unread_item_ids") ||
		    form_has(f, "saved_item_ids");

	return !free || form_has(f, "items") || form_has(f, "mark");
}

static int
fever_begin(struct req *r, struct err *e)
{
	struct form f;

	TRY(form_read(r, &f, e));
	if (counts(&f))
		TRY(api_count_call(r, e));
	r->then = NULL;
	if (!form_has(&f, "mark"))
		return api_read(r, fever_answer, e);
	if (str_eq(form_get(&f, "mark"), STR("item")))
		return api_write(r, fever_answer, e);
	return mark_all(r, &f, e);
}

static int
placed(struct req *r, struct err *e)
{
	int rc = auth_checked(r, e);

	return rc < 0 ? refused(r, rc) : fever_begin(r, e);
}

int
api_fever(struct req *r, struct db *, struct err *e)
{
	struct api *api = r->app;
	char key[FEVER_KEY_LEN];
	struct form f;
	struct str given;
	int rc;

	TRY(form_read(r, &f, e));
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
	return rc < 0 ? refused(r, rc) : fever_begin(r, e);
}
