#include "reader/sync.h"

#include "doc/terms.h"
#include "reader/limits.h"
#include "sql.h"

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
	};
}

int
sync_feeds(const struct sync *s, struct sync_feeds *ret, struct err *e)
{
	struct sync_feeds list = {
	    arena_array(s->arena, READER_FEEDS_MAX, sizeof(*list.v)), 0};
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_sync_feeds_row row;

	TRY(sql_sync_feeds(s->db, &rows, e, .user = s->user));
	while (list.n < READER_FEEDS_MAX &&
	       TRY(sql_sync_feeds_next(rows, &row, e)))
		list.v[list.n++] = read_feed(s, &row);
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

	TRY(sync_feeds(s, &list, e));
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
	if (search.n == 0)
		return OK;
	if (search.n > READER_SEARCH_MAX)
		return err_set(e, ERR_INVALID, "search has over %d bytes",
		    READER_SEARCH_MAX);
	TRY(terms_query(db_engine(s->db), search, &b, e));
	*ret = arena_dup(s->arena, buf_str(&b));
	return OK;
}

/* The filter as arguments: all that is open has its widest bound. */
static int
asked(const struct sync *s, const struct sync_filter *f,
    struct sql_sync_ids_up_args *ret, struct err *e)
{
	struct str search;

	TRY(terms(s, f->search, &search, e));
	*ret = (struct sql_sync_ids_up_args){.user = s->user,
	    .feed = f->feed,
	    .category = f->category,
	    .after_id = f->after_id,
	    .before_id = f->before_id ? f->before_id : INT64_MAX,
	    .since = f->since_us ? f->since_us : INT64_MIN,
	    .until = f->until_us ? f->until_us : INT64_MAX,
	    .crawled_since = f->crawled_since_us,
	    .crawled_until =
		f->crawled_until_us ? f->crawled_until_us : INT64_MAX,
	    .changed_after = f->changed_after_us,
	    .changed_before =
		f->changed_before_us ? f->changed_before_us : INT64_MAX,
	    .is_read = f->read,
	    .is_starred = f->starred,
	    .search = search,
	    .visible = f->visible,
	    .flushed = f->flushed_us,
	    .most = f->most < SYNC_IDS_MAX ? (int64_t)f->most : SYNC_IDS_MAX,
	    .skip = (int64_t)f->skip};
	return OK;
}

int
sync_ids(const struct sync *s, const struct sync_filter *f,
    struct sync_ids *ret, struct err *e)
{
	static int (*const pages[])(struct db * db,
	    const struct sql_sync_ids_up_args *a, struct rows **rows,
	    struct err *e) = {[SYNC_ID_UP] = sql_sync_ids_up_run,
	    [SYNC_ID_DOWN] = sql_sync_ids_down_run,
	    [SYNC_DATE_UP] = sql_sync_dates_up_run,
	    [SYNC_DATE_DOWN] = sql_sync_dates_down_run};
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_sync_ids_up_args args;
	struct sql_sync_ids_up_row row;

	TRY(asked(s, f, &args, e));
	*ret = (struct sync_ids){
	    arena_array(s->arena, (size_t)args.most, sizeof(*ret->v)), 0};
	TRY(pages[f->order](s->db, &args, &rows, e));
	while (ret->n < (size_t)args.most &&
	       TRY(sql_sync_ids_up_next(rows, &row, e)))
		ret->v[ret->n++] = (struct sync_id){row.id, row.created_at};
	return OK;
}

int
sync_count(const struct sync *s, const struct sync_filter *f, int64_t *ret,
    struct err *e)
{
	struct sql_sync_ids_up_args args;
	struct sql_sync_count_row row = {.n = 0};

	TRY(asked(s, f, &args, e));
	TRY(sql_sync_count_first(s->db, &args, &row, e));
	*ret = row.n;
	return OK;
}

/* ---- articles ---- */

#define IDS_JSON_MAX (22 * SYNC_IDS_MAX + 2)

/* The ids as a JSON array. */
static int
ids_json(struct buf *b, const struct sync_ids *ids, struct err *e)
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
	struct buf json CLEANUP(buf_done) = BUF(IDS_JSON_MAX);
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_sync_items_row row;
	struct sync_items list = {0};

	TRY(ids_json(&json, ids, e));
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

/* ---- changing ---- */

int
sync_set(const struct sync *s, const struct sync_ids *ids,
    enum sync_state state, bool value, int64_t now_us, struct err *e)
{
	static int64_t (*const run[])(struct db * db,
	    const struct sql_sync_read_args *a,
	    struct err *e) = {[SYNC_READ] = sql_sync_read_run,
	    [SYNC_STARRED] = sql_sync_star_run};
	struct buf json CLEANUP(buf_done) = BUF(IDS_JSON_MAX);

	TRY(ids_json(&json, ids, e));
	if (ids->n > 0)
		TRY(run[state](s->db,
		    &(struct sql_sync_read_args){.user = s->user,
			.ids = buf_str(&json),
			.value = value,
			.now = now_us},
		    e));
	return OK;
}

int
sync_turn_star(
    const struct sync *s, int64_t item, int64_t now_us, struct err *e)
{
	if (TRY(sql_sync_star_turn(
		s->db, e, .user = s->user, .item = item, .now = now_us)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such article");
	return OK;
}

int
sync_play(const struct sync *s, int64_t item, struct str played, int64_t now_us,
    struct err *e)
{
	if (TRY(sql_sync_play(s->db, e, .user = s->user, .item = item,
		.played = played, .now = now_us)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such article");
	return OK;
}

int
sync_set_options(const struct sync *s, int64_t feed,
    const struct sync_options *o, int64_t now_us, struct err *e)
{
	if (TRY(sql_sync_options(s->db, e, .user = s->user, .feed = feed,
		.hidden = o->hidden, .paused = o->paused,
		.uncached = o->uncached, .now = now_us)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such feed");
	return OK;
}

int
sync_hide_category(const struct sync *s, int64_t category, bool hidden,
    int64_t now_us, struct err *e)
{
	if (TRY(sql_sync_hide_category(s->db, e, .user = s->user,
		.category = category, .hidden = hidden, .now = now_us)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such category");
	return OK;
}

int
sync_flush(const struct sync *s, int64_t now_us, struct err *e)
{
	TRY(sql_sync_flush(s->db, e, .user = s->user, .now = now_us));
	return OK;
}

int
sync_flushed(const struct sync *s, int64_t *ret, struct err *e)
{
	struct sql_sync_flushed_row row = {.at = 0};

	TRY(sql_sync_flushed_one(s->db, &row, e, .user = s->user));
	*ret = row.at;
	return OK;
}

int
sync_fetch_soon(
    const struct sync *s, int64_t feed, int64_t now_us, struct err *e)
{
	TRY(sql_sync_due(
	    s->db, e, .user = s->user, .feed = feed, .now = now_us));
	return OK;
}
