#include "reader/sync.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "doc/terms.h"
#include "reader/limits.h"
#include "sql.h"

static int
no_room(struct err *e)
{
	return err_set(e, ERR_NOMEM, "no room for what is to be shown");
}

static struct uuid
uid_of(struct str bytes)
{
	struct uuid u = {{0}};

	if (bytes.n == sizeof(u.b))
		memcpy(u.b, bytes.p, bytes.n);
	return u;
}

/* Null is empty; *full when the arena is. */
static struct str
keep(struct arena *a, struct str s, bool *full)
{
	struct str copy;

	if (!s.p)
		return STR_EMPTY;
	copy = arena_dup(a, s);
	*full = *full || !copy.p;
	return copy.p ? copy : STR_EMPTY;
}

static bool
read_feed(struct rows *rows, struct arena *a, struct sync_feed *f)
{
	struct sync_feed none = {0};
	struct sql_sync_feeds_row r = {0};
	bool full = false;

	*f = none;
	sql_sync_feeds_get(rows, &r);
	f->id = r.id;
	f->uid = uid_of(r.uid);
	f->sub = uid_of(r.sub_uid);
	f->url = keep(a, r.url, &full);
	f->site = keep(a, r.site, &full);
	f->title = keep(a, r.title, &full);
	f->own_title = r.own_title != 0;
	f->category = r.category_id ? r.category_id : SYNC_NO_CATEGORY;
	f->category_uid = uid_of(r.category_uid);
	f->category_title = keep(a, r.category, &full);
	f->minutes = r.minutes;
	f->stopped = !str_eq(r.status, STR("active"));
	f->errors = r.errors;
	f->error = keep(a, r.error, &full);
	f->last_fetch_us = r.last_fetch_at;
	f->next_fetch_us = r.next_fetch_at;
	f->icon = r.icon != 0;
	f->items = r.items;
	f->unread = r.items > r.read ? r.items - r.read : 0;
	f->newest_us = r.newest;
	f->created_us = r.created_at;
	return !full;
}

int
sync_feeds(struct db *db, int64_t user, struct arena *a, struct sync_feed **ret,
    size_t *ret_n, struct err *e)
{
	struct sync_feed *list =
	    arena_array(a, READER_FEEDS_MAX, sizeof(*list));
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = list ? sql_sync_feeds(db, &rows, e, .user = user) : no_room(e);

	while (
	    rc == OK && n < READER_FEEDS_MAX && (rc = rows_next(rows, e)) > 0)
		rc = read_feed(rows, a, &list[n++]) ? OK : no_room(e);
	rows_close(rows);
	if (rc < 0)
		return rc;
	*ret = list;
	*ret_n = n;
	return OK;
}

int
sync_feed(struct db *db, int64_t user, int64_t feed, struct arena *a,
    struct sync_feed *ret, struct err *e)
{
	struct sync_feed *list = NULL;
	size_t n = 0;
	int rc = sync_feeds(db, user, a, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		if (list[i].id == feed) {
			*ret = list[i];
			return OK;
		}
	return rc < 0 ? rc : err_set(e, ERR_ABSENT, "there is no such feed");
}

int
sync_categories(struct db *db, int64_t user, struct arena *a,
    struct sync_category **ret, size_t *ret_n, struct err *e)
{
	struct sync_category *list =
	    arena_array(a, READER_CATEGORIES_MAX, sizeof(*list));
	struct rows *rows = NULL;
	bool full = !list;
	size_t n = 0;
	int rc = list ? sql_sync_categories(db, &rows, e, .user = user,
			    .most = READER_CATEGORIES_MAX)
		      : no_room(e);

	while (rc == OK && n < READER_CATEGORIES_MAX &&
	       (rc = rows_next(rows, e)) > 0) {
		list[n].id = rows_int(rows, 0);
		list[n].uid = uid_of(rows_str(rows, 1));
		list[n].title = keep(a, rows_str(rows, 2), &full);
		n++;
		rc = full ? no_room(e) : OK;
	}
	rows_close(rows);
	if (rc < 0)
		return rc;
	*ret = list;
	*ret_n = n;
	return OK;
}

/* ---- ids ---- */

/* The filter as arguments: all that is open has its widest bound. */
struct asked {
	int64_t before_id, since, until, crawled_until, changed_before;
	struct str terms;
};

/* The words of it, as the engine wants them. */
static int
terms(struct db *db, struct arena *a, struct str s, struct str *ret,
    struct err *e)
{
	struct buf b = BUF(16 * KIB);
	int rc;

	*ret = STR_EMPTY;
	if (s.n == 0)
		return OK;
	if (s.n > READER_SEARCH_MAX)
		return err_set(e, ERR_INVALID, "search has over %d bytes",
		    READER_SEARCH_MAX);
	rc = terms_query(db_engine(db), s, &b, e);
	if (rc == OK) {
		*ret = arena_dup(a, buf_str(&b));
		if (!ret->p)
			rc = no_room(e);
	}
	buf_done(&b);
	return rc;
}

static int
ask(struct db *db, const struct sync_filter *f, struct arena *a,
    struct asked *ret, struct err *e)
{
	*ret = (struct asked){
	    .before_id = f->before_id ? f->before_id : INT64_MAX,
	    .since = f->since_us ? f->since_us : INT64_MIN,
	    .until = f->until_us ? f->until_us : INT64_MAX,
	    .crawled_until =
		f->crawled_until_us ? f->crawled_until_us : INT64_MAX,
	    .changed_before =
		f->changed_before_us ? f->changed_before_us : INT64_MAX,
	};
	return terms(db, a, f->search, &ret->terms, e);
}

typedef int (*page_fn)(struct db *db, const struct sql_sync_ids_up_args *a,
    struct rows **ret, struct err *e);

/* At most `most` of them, into list. */
static int
read_ids(struct db *db, int64_t user, const struct sync_filter *f,
    struct arena *a, struct sync_id *list, size_t most, size_t *ret_n,
    struct err *e)
{
	static const page_fn pages[] = {[SYNC_ID_UP] = sql_sync_ids_up_run,
	    [SYNC_ID_DOWN] = sql_sync_ids_down_run,
	    [SYNC_DATE_UP] = sql_sync_dates_up_run,
	    [SYNC_DATE_DOWN] = sql_sync_dates_down_run};
	struct rows *rows = NULL;
	struct asked q;
	size_t n = 0;
	int rc = ask(db, f, a, &q, e);

	if (rc == OK)
		rc = pages[f->order](db,
		    &(struct sql_sync_ids_up_args){.user = user,
			.feed = f->feed,
			.category = f->category,
			.after_id = f->after_id,
			.before_id = q.before_id,
			.since = q.since,
			.until = q.until,
			.crawled_since = f->crawled_since_us,
			.crawled_until = q.crawled_until,
			.changed_after = f->changed_after_us,
			.changed_before = q.changed_before,
			.is_read = f->read,
			.is_starred = f->starred,
			.search = q.terms,
			.most = (int64_t)most,
			.skip = (int64_t)f->skip},
		    &rows, e);
	while (rc == OK && n < most && (rc = rows_next(rows, e)) > 0) {
		list[n].id = rows_int(rows, 0);
		list[n++].created_us = rows_int(rows, 1);
		rc = OK;
	}
	rows_close(rows);
	if (rc < 0)
		return rc;
	*ret_n = n;
	return OK;
}

int
sync_ids(struct db *db, int64_t user, const struct sync_filter *f,
    struct arena *a, struct sync_id **ret, size_t *ret_n, struct err *e)
{
	size_t most = f->most < SYNC_IDS_MAX ? f->most : SYNC_IDS_MAX;

	*ret = arena_array(a, most, sizeof(**ret));
	return *ret ? read_ids(db, user, f, a, *ret, most, ret_n, e)
		    : no_room(e);
}

int
sync_count(struct db *db, int64_t user, const struct sync_filter *f,
    struct arena *a, int64_t *ret, struct err *e)
{
	struct rows *rows = NULL;
	struct asked q;
	int rc = ask(db, f, a, &q, e);

	if (rc == OK)
		rc = sql_sync_count(db, &rows, e, .user = user, .feed = f->feed,
		    .category = f->category, .after_id = f->after_id,
		    .before_id = q.before_id, .since = q.since,
		    .until = q.until, .crawled_since = f->crawled_since_us,
		    .crawled_until = q.crawled_until,
		    .changed_after = f->changed_after_us,
		    .changed_before = q.changed_before, .is_read = f->read,
		    .is_starred = f->starred, .search = q.terms);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/* ---- articles ---- */

#define IDS_JSON_MAX (22 * SYNC_IDS_MAX + 2)

/* The ids as a JSON array. */
static void
add_ids(struct buf *b, const struct sync_id *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_addc(b, i ? ',' : '[');
		buf_int(b, ids[i].id);
	}
	buf_addz(b, n ? "]" : "[]");
}

static int
many(size_t n, struct err *e)
{
	return n <= SYNC_IDS_MAX
		   ? OK
		   : err_set(e, ERR_LIMIT, "over %d articles at once",
			 SYNC_IDS_MAX);
}

static bool
read_item(struct rows *rows, struct arena *a, struct sync_item *it)
{
	struct sql_sync_items_row r = {0};
	struct str html;
	bool full = false;

	sql_sync_items_get(rows, &r);
	html = r.content.n > 0 ? r.content : r.summary;
	/* A page of huge articles: the rest of them are known by their link. */
	if (arena_used(a) + html.n > SYNC_PAGE_BYTES)
		html = STR_EMPTY;
	*it = (struct sync_item){
	    .id = r.id,
	    .uid = uid_of(r.uid),
	    .feed = r.feed_id,
	    .published_us = r.published_at,
	    .created_us = r.created_at,
	    .updated_us = r.updated_at,
	    .changed_us =
		r.changed_at > r.updated_at ? r.changed_at : r.updated_at,
	    .read = r.is_read != 0,
	    .starred = r.is_starred != 0,
	    .link = keep(a, r.link, &full),
	    .title = keep(a, r.title, &full),
	    .author = keep(a, r.author, &full),
	    .categories = keep(a, r.categories, &full),
	    .enclosures = keep(a, r.enclosures, &full),
	};
	it->html = keep(a, html, &full);
	return !full;
}

/* Where each id stands in what was asked for. */
struct place {
	int64_t id;
	size_t at;
};

static int
by_id(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	return a->id < b->id ? -1 : a->id > b->id;
}

static struct place *
places(const struct sync_id *ids, size_t n, struct arena *a)
{
	struct place *p = arena_array(a, n + 1, sizeof(*p));

	if (!p)
		return NULL;
	for (size_t i = 0; i < n; i++)
		p[i] = (struct place){ids[i].id, i};
	qsort(p, n, sizeof(*p), by_id);
	return p;
}

int
sync_items(struct db *db, int64_t user, const struct sync_id *ids, size_t n,
    struct arena *a, struct sync_item **ret, size_t *ret_n, struct err *e)
{
	struct place *where = NULL;
	struct sync_item *list = NULL;
	struct buf json = BUF(IDS_JSON_MAX);
	struct rows *rows = NULL;
	size_t kept = 0;
	int rc = many(n, e);

	if (rc < 0)
		return rc;
	where = places(ids, n, a);
	list = arena_array(a, n + 1, sizeof(*list));
	add_ids(&json, ids, n);
	if (!where || !list || json.failed)
		rc = no_room(e);
	if (rc == OK)
		rc = sql_sync_items(
		    db, &rows, e, .user = user, .ids = buf_str(&json));
	while (rc == OK && (rc = rows_next(rows, e)) > 0) {
		struct place key = {rows_int(rows, 0), 0};
		struct place *p =
		    bsearch(&key, where, n, sizeof(*where), by_id);

		rc = OK;
		if (p && !read_item(rows, a, &list[p->at]))
			rc = no_room(e);
	}
	rows_close(rows);
	buf_done(&json);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (list[i].id)
			list[kept++] = list[i];
	*ret = list;
	*ret_n = kept;
	return OK;
}

int
sync_page(struct db *db, int64_t user, const struct sync_filter *f,
    struct arena *a, struct sync_item **ret, size_t *ret_n, struct err *e)
{
	struct sync_id *ids = NULL;
	size_t n = 0;
	int rc = sync_ids(db, user, f, a, &ids, &n, e);

	return rc < 0 ? rc : sync_items(db, user, ids, n, a, ret, ret_n, e);
}

int
sync_newest(struct db *db, int64_t user, int64_t *ret_id, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_sync_newest(db, &rows, e, .user = user);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret_id = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
sync_icon(struct db *db, int64_t user, int64_t feed, struct arena *a,
    struct str *ret_mime, struct str *ret_data, struct err *e)
{
	struct rows *rows = NULL;
	bool full = false;
	int rc = sql_sync_icon(db, &rows, e, .user = user, .feed = feed);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		*ret_mime = keep(a, rows_str(rows, 0), &full);
		*ret_data = keep(a, rows_str(rows, 1), &full);
		rc = full ? no_room(e) : OK;
	} else if (rc == 0) {
		rc = err_set(e, ERR_ABSENT, "there is no such feed");
	}
	rows_close(rows);
	return rc;
}

/* ---- changing ---- */

static int
set(struct db *db, int64_t user, const struct sync_id *ids, size_t n,
    int64_t value, int64_t now_us,
    int64_t (*fn)(
	struct db *db, const struct sql_sync_read_args *a, struct err *e),
    struct err *e)
{
	struct buf json = BUF(IDS_JSON_MAX);
	int64_t rc = many(n, e);

	if (rc < 0 || n == 0)
		return (int)rc;
	add_ids(&json, ids, n);
	rc = json.failed ? no_room(e)
			 : fn(db,
			       &(struct sql_sync_read_args){.user = user,
				   .ids = buf_str(&json),
				   .value = value,
				   .now = now_us},
			       e);
	buf_done(&json);
	return rc < 0 ? (int)rc : OK;
}

int
sync_set_read(struct db *db, int64_t user, const struct sync_id *ids, size_t n,
    bool read, int64_t now_us, struct err *e)
{
	return set(db, user, ids, n, read, now_us, sql_sync_read_run, e);
}

int
sync_set_starred(struct db *db, int64_t user, const struct sync_id *ids,
    size_t n, bool starred, int64_t now_us, struct err *e)
{
	return set(db, user, ids, n, starred, now_us, sql_sync_star_run, e);
}

int
sync_turn_star(
    struct db *db, int64_t user, int64_t item, int64_t now_us, struct err *e)
{
	int64_t n = sql_sync_star_turn(
	    db, e, .user = user, .item = item, .now = now_us);

	if (n == 0)
		return err_set(e, ERR_ABSENT, "there is no such article");
	return n < 0 ? (int)n : OK;
}

int
sync_reading_next(struct db *db, int64_t user, struct sync_reading *s,
    struct arena *a, struct err *e)
{
	struct sync_filter f = SYNC_ALL;
	int rc;

	f.feed = s->feed;
	f.category = s->category;
	f.crawled_until_us =
	    s->before_us < INT64_MAX ? s->before_us + 1 : INT64_MAX;
	f.after_id = s->after;
	f.read = 0;
	f.order = SYNC_ID_UP;
	rc = read_ids(db, user, &f, a, s->ids, READ_STEP, &s->n, e);
	if (rc == OK && s->n > 0)
		s->after = s->ids[s->n - 1].id;
	return rc;
}

int
sync_fetch_soon(
    struct db *db, int64_t user, int64_t feed, int64_t now_us, struct err *e)
{
	int64_t n =
	    sql_sync_due(db, e, .user = user, .feed = feed, .now = now_us);

	return n < 0 ? (int)n : OK;
}
