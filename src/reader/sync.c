#include "reader/sync.h"

#include "doc/terms.h"
#include "reader/changes.h"
#include "reader/limits.h"
#include "sql.h"

#define FEEDS_FIRST 128 /* room for so many, then for more */

/* Null is empty. */
static struct str
sync_keep(const struct sync *s, struct str text)
{
	return text.p ? arena_dup(s->arena, text) : STR_EMPTY;
}

static struct sync_feed
read_feed(const struct sync *s, const struct sql_sync_feeds_row *r)
{
	return (struct sync_feed){
	    .id = r->id,
	    .uid = uuid_of(r->uid),
	    .sub = uuid_of(r->sub_uid),
	    .url = sync_keep(s, r->url),
	    .site = sync_keep(s, r->site),
	    .title = sync_keep(s, r->title),
	    .category = r->category_id ? r->category_id : SYNC_NO_CATEGORY,
	    .category_title = sync_keep(s, r->category),
	    .category_hidden = r->category_hidden != 0,
	    .stopped = !str_eq(r->status, STR("active")),
	    .errors = r->errors,
	    .error = sync_keep(s, r->error),
	    .last_fetch_us = r->last_fetch_at,
	    .next_fetch_us = r->next_fetch_at,
	    .icon = r->icon != 0,
	    .items = r->items,
	    .unread = r->items > r->read ? r->items - r->read : 0,
	    .newest_us = r->newest,
	    .created_us = r->created_at,
	    .hidden = r->hidden != 0,
	    .paused = r->paused != 0,
	    .uncached = r->uncached != 0,
	    .own = r->own != 0,
	    .login = r->login != 0,
	};
}

int
sync_feeds(
    const struct sync *s, bool counted, struct sync_feeds *ret, struct err *e)
{
	struct sync_feeds list = {.n = 0};
	size_t most = 0;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_sync_feeds_row row;

	TRY(sql_sync_feeds(
	    s->db, &rows, e, .user = s->user, .counted = counted));
	while (TRY(sql_sync_feeds_next(rows, &row, e))) {
		if (list.n == most) {
			struct sync_feed *v;

			most = most ? 4 * most : FEEDS_FIRST;
			v = arena_array(s->arena, most, sizeof(*v));
			if (list.n > 0)
				memcpy(v, list.v, list.n * sizeof(*v));
			list.v = v;
		}
		list.v[list.n++] = read_feed(s, &row);
	}
	*ret = list;
	return OK;
}

const struct sync_feed *
sync_feeds_find(const struct sync_feeds *feeds, int64_t id)
{
	for (size_t i = 0; i < feeds->n; i++)
		if (feeds->v[i].id == id)
			return &feeds->v[i];
	return NULL;
}

int
sync_feed(
    const struct sync *s, int64_t id, struct sync_feed *ret, struct err *e)
{
	const struct sync_feed *f;
	struct sync_feeds list;

	TRY(sync_feeds(s, false, &list, e));
	f = sync_feeds_find(&list, id);
	if (!f)
		return err_set(e, ERR_ABSENT, "there is no such feed");
	*ret = *f;
	return OK;
}

int
sync_categories(
    const struct sync *s, struct sync_categories *ret, struct err *e)
{
	struct sync_categories list = {
	    arena_array(s->arena, READER_CATEGORIES_MAX, sizeof(*list.v)), 0};
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_sync_categories_row row;

	TRY(sql_sync_categories(
	    s->db, &rows, e, .user = s->user, .most = READER_CATEGORIES_MAX));
	while (list.n < READER_CATEGORIES_MAX &&
	       TRY(sql_sync_categories_next(rows, &row, e)))
		list.v[list.n++] = (struct sync_category){.id = row.id,
		    .uid = uuid_of(row.uid),
		    .title = sync_keep(s, row.title),
		    .hidden = row.hidden != 0};
	*ret = list;
	return OK;
}

int
sync_category(
    const struct sync *s, int64_t id, struct sync_category *ret, struct err *e)
{
	struct sync_categories list;

	TRY(sync_categories(s, &list, e));
	for (size_t i = 0; i < list.n; i++)
		if (list.v[i].id == id) {
			*ret = list.v[i];
			return OK;
		}
	return err_set(e, ERR_ABSENT, "there is no such category");
}

/* ---- ids ---- */

/* The words of it, as the engine wants them. */
static int
terms(const struct sync *s, struct str search, struct str *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(16 * KIB);

	*ret = STR_EMPTY;
	search = str_trim(search);
	if (search.n == 0)
		return OK;
	if (search.n > READER_SEARCH_MAX)
		return err_set(e, ERR_INVALID, "search has over %d bytes",
		    READER_SEARCH_MAX);
	TRY(terms_query(db_engine(s->db), search, &b, e));
	*ret = arena_dup(s->arena, buf_str(&b));
	return OK;
}

static bool
place_before(struct item_place a, struct item_place b)
{
	return a.at < b.at || (a.at == b.at && a.id < b.id);
}

/*
 * Where the page begins. A bound of the filter that is one of the order too is
 * taken out of it: an index leads there.
 */
static struct item_place
begin_at(struct sync_filter *f, enum sync_order order)
{
	bool up = order == SYNC_ID_UP || order == SYNC_DATE_UP;
	bool dates = order == SYNC_DATE_UP || order == SYNC_DATE_DOWN;
	struct item_place p = {
	    up ? INT64_MIN : INT64_MAX, up ? INT64_MIN : INT64_MAX};

	if (dates && up && f->since_us)
		p = (struct item_place){f->since_us, INT64_MIN};
	if (dates && !up && f->until_us)
		p = (struct item_place){f->until_us, INT64_MIN};
	if (!dates && up)
		p.id = f->after_id;
	if (!dates && !up && f->before_id)
		p.id = f->before_id;
	if (dates)
		*(up ? &f->since_us : &f->until_us) = 0;
	else
		*(up ? &f->after_id : &f->before_id) = 0;
	if (!dates)
		p.at = f->place.at; /* which is not looked at */
	if (f->has_place &&
	    (up ? place_before(p, f->place) : place_before(f->place, p)))
		p = f->place;
	return p;
}

/* Whether it asks for more than feeds and what is read. */
static bool
is_plain(const struct sync_filter *f)
{
	return !f->after_id && !f->before_id && !f->since_us && !f->until_us &&
	       !f->crawled_since_us && !f->crawled_until_us &&
	       !f->changed_after_us && !f->changed_before_us && !f->unique &&
	       (!f->flushed_us || f->read == 0) && f->starred < 0 &&
	       str_trim(f->search).n == 0;
}

/* The lesser; 0 is none. */
static int64_t
lesser(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/*
 * Bounds of arrival as bounds of ids, and of dates, where a walk begins or ends.
 * Ids grow by arrival, but for what fetchers and their clocks disagree by: less
 * than a day. No article is of more than a day after it came, or changed
 * (reader/items.h).
 */
static int
bound_ids(const struct sync *s, struct sync_filter *f, struct err *e)
{
	int64_t since_us = f->crawled_since_us,
		until_us = lesser(f->changed_before_us, f->crawled_until_us);
	struct sql_sync_bounds_row row = {0};

	if (!since_us && !until_us && !f->before_id)
		return OK;
	TRY(sql_sync_bounds_one(s->db, &row, e, .since = since_us - US_PER_DAY,
	    .until = until_us ? until_us + US_PER_DAY : INT64_MAX,
	    .id = f->before_id ? f->before_id : INT64_MAX));
	if (since_us && row.first_null)
		f->after_id = INT64_MAX - 1;
	else if (since_us && row.first > f->after_id)
		f->after_id = row.first - 1;
	if (!row.came_null)
		until_us = lesser(until_us, row.came + US_PER_DAY);
	if (!row.behind_null)
		f->before_id = lesser(f->before_id, row.behind);
	if (until_us)
		f->until_us = lesser(f->until_us, until_us + US_PER_DAY);
	return OK;
}

/* The filter as arguments: all that is open has its widest bound. */
static int
asked(const struct sync *s, struct sync_filter f, enum sync_order order,
    struct sql_sync_ids_up_args *ret, struct err *e)
{
	size_t limit = SYNC_IDS_MAX + SYNC_COUNT_MORE;
	size_t most = f.most < limit ? f.most : limit;
	struct item_place at;
	struct str search;

	TRY(bound_ids(s, &f, e));
	at = begin_at(&f, order);
	TRY(terms(s, f.search, &search, e));
	*ret = (struct sql_sync_ids_up_args){.user = s->user,
	    .feed = f.feed,
	    .category = f.category,
	    .at = at.at,
	    .id = at.id,
	    .plain = is_plain(&f),
	    .after_id = f.after_id,
	    .before_id = f.before_id ? f.before_id : INT64_MAX,
	    .since = f.since_us ? f.since_us : INT64_MIN,
	    .until = f.until_us ? f.until_us : INT64_MAX,
	    .crawled_since = f.crawled_since_us,
	    .crawled_until =
		f.crawled_until_us ? f.crawled_until_us : INT64_MAX,
	    .changed_after = f.changed_after_us,
	    .changed_before =
		f.changed_before_us ? f.changed_before_us : INT64_MAX,
	    .is_read = f.read,
	    .is_starred = f.starred,
	    .uniq = f.unique,
	    .search = search,
	    .visible = f.visible,
	    .flushed = f.flushed_us,
	    .deep = (int64_t)((most + f.skip) / SYNC_DEEP),
	    .most = (int64_t)most,
	    .skip = (int64_t)f.skip};
	return OK;
}

typedef int ids_fn(struct db *db, const struct sql_sync_ids_up_args *a,
    struct rows **rows, struct err *e);

enum few { FEW_NONE, FEW_STARRED, FEW_READ, FEW_CHANGED };

static int
few_ids(struct db *db, const struct sql_sync_ids_up_args *a, enum few kind,
    enum sync_order order, struct rows **rows, struct err *e)
{
	struct sql_sync_starred_args few = {.user = a->user,
	    .feed = a->feed,
	    .category = a->category,
	    .at = a->at,
	    .id = a->id,
	    .plain = a->plain,
	    .after_id = a->after_id,
	    .before_id = a->before_id,
	    .since = a->since,
	    .until = a->until,
	    .crawled_since = a->crawled_since,
	    .crawled_until = a->crawled_until,
	    .changed_after = a->changed_after,
	    .changed_before = a->changed_before,
	    .is_read = a->is_read,
	    .is_starred = a->is_starred,
	    .uniq = a->uniq,
	    .search = a->search,
	    .visible = a->visible,
	    .flushed = a->flushed,
	    .ord = (int64_t)order,
	    .most = a->most,
	    .skip = a->skip};

	switch (kind) {
	case FEW_STARRED:
		return sql_sync_starred_run(db, &few, rows, e);
	case FEW_READ:
		return sql_sync_read_few_run(db, &few, rows, e);
	case FEW_CHANGED:
		return sql_sync_changed_run(db, &few, rows, e);
	case FEW_NONE:
		break;
	}
	abort();
}

/* Whether all that was read, starred or changed is better sorted than looked
 * for. */
static int
is_few(const struct sync *s, const struct sync_filter *f, struct err *e)
{
	struct sql_sync_read_most_row read = {.n = SYNC_READ_FEW};
	struct sql_sync_changed_most_row changed = {.n = SYNC_CHANGED_FEW};

	if (f->starred == 1)
		return FEW_STARRED;
	if (f->changed_after_us)
		TRY(sql_sync_changed_most_one(s->db, &changed, e,
		    .user = s->user, .feed = f->feed, .category = f->category,
		    .visible = f->visible, .changed_after = f->changed_after_us,
		    .most = SYNC_CHANGED_FEW));
	if (changed.n < SYNC_CHANGED_FEW)
		return FEW_CHANGED;
	if (f->read == 1)
		TRY(sql_sync_read_most_one(
		    s->db, &read, e, .user = s->user, .most = SYNC_READ_FEW));
	return read.n < SYNC_READ_FEW ? FEW_READ : FEW_NONE;
}

int
sync_ids(const struct sync *s, const struct sync_filter *f,
    struct sync_ids *ret, struct err *e)
{
	static ids_fn *const pages[] = {[SYNC_ID_UP] = sql_sync_ids_up_run,
	    [SYNC_ID_DOWN] = sql_sync_ids_down_run,
	    [SYNC_DATE_UP] = sql_sync_dates_up_run,
	    [SYNC_DATE_DOWN] = sql_sync_dates_down_run};
	static ids_fn *const searches[] = {
	    [SYNC_ID_UP] = sql_sync_search_up_run,
	    [SYNC_ID_DOWN] = sql_sync_search_down_run};
	enum few few = (enum few)TRY(is_few(s, f, e));
	bool words = str_trim(f->search).n > 0;
	enum sync_order order = f->order;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_sync_ids_up_args args;
	struct sql_sync_ids_up_row row;

	if (words && !few)
		order = order == SYNC_ID_UP || order == SYNC_DATE_UP
			    ? SYNC_ID_UP
			    : SYNC_ID_DOWN;
	TRY(asked(s, *f, order, &args, e));
	*ret = (struct sync_ids){
	    arena_array(s->arena, (size_t)args.most, sizeof(*ret->v)), 0};
	if (few)
		TRY(few_ids(s->db, &args, few, order, &rows, e));
	else
		TRY((words ? searches : pages)[order](s->db, &args, &rows, e));
	while (ret->n < (size_t)args.most &&
	       TRY(sql_sync_ids_up_next(rows, &row, e)))
		ret->v[ret->n++] = (struct sync_id){row.id, row.created_at};
	return OK;
}

/* Of feeds, what is read and what is starred: from counters. */
static int
count_plain(const struct sync *s, const struct sync_filter *f, int64_t *ret,
    struct err *e)
{
	struct sql_sync_totals_row t = {0};
	int64_t all, starred;

	TRY(sql_sync_totals_one(s->db, &t, e, .user = s->user, .feed = f->feed,
	    .category = f->category, .visible = f->visible));
	all = f->read < 0 ? t.items : f->read ? t.read : t.items - t.read;
	starred = f->read < 0 ? t.starred
		  : f->read   ? t.starred_read
			      : t.starred - t.starred_read;
	*ret = f->starred < 0 ? all : f->starred ? starred : all - starred;
	return OK;
}

int
sync_count(const struct sync *s, const struct sync_filter *f,
    struct sync_ids *ret, int64_t *ret_total, struct err *e)
{
	struct sync_filter more = *f;

	more.starred = -1;
	if (is_plain(&more)) {
		TRY(count_plain(s, f, ret_total, e));
		return sync_ids(s, f, ret, e);
	}
	more = *f;
	more.most += SYNC_COUNT_MORE;
	TRY(sync_ids(s, &more, ret, e));
	*ret_total = (int64_t)(f->skip + ret->n);
	if (ret->n > f->most)
		ret->n = f->most;
	if (ret->n > 0 || f->skip == 0)
		return OK;
	/* Behind the end: what there is before it. */
	more.most = f->skip < SYNC_IDS_MAX ? f->skip : SYNC_IDS_MAX;
	more.skip = 0;
	TRY(sync_ids(s, &more, ret, e));
	*ret_total = (int64_t)ret->n;
	ret->n = 0;
	return OK;
}

/* ---- articles ---- */

int
sync_ids_json(struct buf *b, const struct sync_ids *ids, struct err *e)
{
	if (ids->n > SYNC_IDS_MAX)
		return err_set(
		    e, ERR_LIMIT, "over %d articles at once", SYNC_IDS_MAX);
	buf_addc(b, '[');
	for (size_t i = 0; i < ids->n; i++) {
		buf_addz(b, i ? "," : "");
		buf_int(b, ids->v[i].id);
	}
	buf_addc(b, ']');
	return OK;
}

static struct sync_item
read_item(const struct sync *s, const struct sql_sync_items_row *r)
{
	struct str html = r->content.n > 0 ? r->content : r->summary;

	/* A page of huge articles: the rest of them are known by their link. */
	if (arena_used(s->arena) + html.n > SYNC_PAGE_BYTES)
		html = STR_EMPTY;
	return (struct sync_item){
	    .id = r->id,
	    .uid = uuid_of(r->uid),
	    .feed = r->feed_id,
	    .published_us = r->published_at,
	    .created_us = r->created_at,
	    .updated_us = r->updated_at,
	    .changed_us =
		r->changed_at > r->updated_at ? r->changed_at : r->updated_at,
	    .read = r->is_read != 0,
	    .starred = r->is_starred != 0,
	    .link = sync_keep(s, r->link),
	    .title = sync_keep(s, r->title),
	    .author = sync_keep(s, r->author),
	    .categories = sync_keep(s, r->categories),
	    .enclosures = sync_keep(s, r->enclosures),
	    .played = sync_keep(s, r->played),
	    .html = sync_keep(s, html),
	};
}

int
sync_items(const struct sync *s, const struct sync_ids *ids,
    struct sync_items *ret, struct err *e)
{
	struct buf json CLEANUP(buf_done) = BUF(SYNC_IDS_JSON);
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_sync_items_row row;
	struct sync_items list = {0};

	TRY(sync_ids_json(&json, ids, e));
	list.v = arena_array(s->arena, ids->n + 1, sizeof(*list.v));
	TRY(sql_sync_items(
	    s->db, &rows, e, .user = s->user, .ids = buf_str(&json)));
	while (TRY(sql_sync_items_next(rows, &row, e))) {
		size_t at = 0;

		while (at < ids->n && ids->v[at].id != row.id)
			at++;
		if (at < ids->n)
			list.v[at] = read_item(s, &row);
	}
	for (size_t i = 0; i < ids->n; i++)
		if (list.v[i].id)
			list.v[list.n++] = list.v[i];
	*ret = list;
	return OK;
}

int
sync_page(const struct sync *s, const struct sync_filter *f,
    struct sync_items *ret, struct err *e)
{
	struct sync_ids ids;

	TRY(sync_ids(s, f, &ids, e));
	return sync_items(s, &ids, ret, e);
}

int
sync_icon(const struct sync *s, int64_t feed, struct str *ret_mime,
    struct str *ret_data, struct err *e)
{
	struct sql_sync_icon_row row;

	if (TRY(sql_sync_icon_one(
		s->db, s->arena, &row, e, .user = s->user, .feed = feed)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such feed");
	*ret_mime = row.mime.p ? row.mime : STR_EMPTY;
	*ret_data = row.data.p ? row.data : STR_EMPTY;
	return OK;
}
