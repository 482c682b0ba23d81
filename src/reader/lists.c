#include "reader/lists.h"

#include "reader/changes.h"
#include "reader/limits.h"
#include "reader/sync.h"
#include "sql.h"

static struct str
or_empty(struct str s)
{
	return s.p ? s : STR_EMPTY;
}

/* Up to its closing brace. */
static void
show_open(const struct sql_list_feed_row *r, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "id", uuid_of(r->uid));
	put_uuid(b, "feed_id", uuid_of(r->feed));
	put_text(b, "title", r->title);
	put_text(b, "link", or_empty(r->link));
	put_time(b, "published_at", r->published_at);
	put_bool(b, "is_date_estimated", r->estimated);
	put_bool(b, "is_read", r->is_read);
	put_bool(b, "is_starred", r->is_starred);
	if (r->hatebu_at_null)
		put_null(b, "hatebu_count");
	else
		put_int(b, "hatebu_count", r->hatebu);
	put_text(b, "author", or_empty(r->author));
	put_text(b, "excerpt", or_empty(r->excerpt));
	put_text(b, "thumbnail", r->thumbnail);
}

/* The page and one more, by the statement of one feed or by ids of sync.h. */
static int
lists_ask(struct db *db, const struct list_query *q, struct arena *a,
    struct rows **ret, struct err *e)
{
	const struct sync who = {db, q->user, a};
	struct sync_filter f = SYNC_ALL;
	struct buf json CLEANUP(buf_done) = BUF(SYNC_IDS_JSON);
	struct sync_ids ids;
	bool words = str_trim(q->search).n > 0;

	if (q->feed && !words && !q->oldest_first && q->filter != LIST_STARRED)
		return sql_list_feed(db, ret, e, .user = q->user,
		    .feed = q->feed, .unread = q->filter == LIST_UNREAD,
		    .at = q->has_place ? q->place.at : INT64_MAX,
		    .id = q->has_place ? q->place.id : INT64_MAX,
		    .most = READER_PAGE + 1);
	f.feed = q->feed;
	f.category = q->category;
	f.read = q->filter == LIST_UNREAD ? 0 : -1;
	f.starred = q->filter == LIST_STARRED ? 1 : -1;
	f.unique = q->unique;
	f.search = q->search;
	if (list_order(q) == ITEM_BY_ID)
		f.order = q->oldest_first ? SYNC_ID_UP : SYNC_ID_DOWN;
	else
		f.order = q->oldest_first ? SYNC_DATE_UP : SYNC_DATE_DOWN;
	f.has_place = q->has_place;
	f.place = q->place;
	f.most = READER_PAGE + 1;
	TRY(sync_ids(&who, &f, &ids, e));
	TRY(sync_ids_json(&json, &ids, e));
	return sql_list_rows(
	    db, ret, e, .user = q->user, .ids = arena_dup(a, buf_str(&json)));
}

enum item_order
list_order(const struct list_query *q)
{
	return str_trim(q->search).n > 0 ? ITEM_BY_ID : ITEM_BY_DATE;
}

int
list_show(struct db *db, const struct list_query *q, struct arena *a,
    struct buf *b, struct err *e)
{
	struct sql_item_newest_row top = {0};
	struct sql_list_feed_row row = {0};
	struct item_place last = {0, 0};
	struct rows *rows CLEANUP(rows_closep) = NULL;
	char cursor[ITEM_CURSOR_LEN + 1];
	int n = 0;

	TRY(sql_item_newest_one(db, &top, e));
	TRY(lists_ask(db, q, a, &rows, e));
	put_open(b, NULL, '{');
	put_open(b, "items", '[');
	while (TRY(sql_list_feed_next(rows, &row, e))) {
		if (++n > READER_PAGE)
			continue;
		last = (struct item_place){row.published_at, row.id};
		show_open(&row, b);
		put_close(b, '}');
	}
	put_close(b, ']');
	if (n > READER_PAGE) {
		item_cursor_format(list_order(q), last, cursor);
		put_z(b, "next_cursor", cursor);
	}
	item_cursor_format(ITEM_BY_ID, (struct item_place){0, top.id}, cursor);
	put_bool(b, "has_more", n > READER_PAGE);
	put_z(b, "as_of", cursor);
	put_close(b, '}');
	return OK;
}

static int
no_article(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such article of yours");
}

int
list_item(
    struct db *db, int64_t user, struct uuid uid, struct buf *b, struct err *e)
{
	struct sql_list_feed_row head;
	struct sql_item_get_row r;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_item_get(db, &rows, e, .user = user, .uid = uuid_str(&uid)));
	if (TRY(sql_item_get_next(rows, &r, e)) == 0)
		return no_article(e);
	sql_list_feed_get(rows, &head); /* its first columns */
	show_open(&head, b);
	put_text(b, "content", or_empty(r.content));
	put_text(b, "summary", or_empty(r.summary));
	put_raw(b, "categories", r.categories.p ? r.categories : STR("[]"));
	put_raw(b, "enclosures", r.enclosures.p ? r.enclosures : STR("[]"));
	put_close(b, '}');
	return OK;
}

/* What is done with them ----------------------------------------------------------- */

int
list_state(struct db *db, const struct list_state *s, int64_t now_us,
    struct buf *b, struct err *e)
{
	struct buf ids CLEANUP(buf_done) = BUF(32);
	struct sql_state_get_row row;

	if (TRY(sql_state_put(db, e, .user = s->user, .uid = uuid_str(&s->uid),
		.set_read = s->set_read, .is_read = s->is_read,
		.set_starred = s->set_starred, .is_starred = s->is_starred,
		.now = now_us)) == 0 ||
	    TRY(sql_state_get_one(
		db, &row, e, .user = s->user, .uid = uuid_str(&s->uid))) == 0)
		return no_article(e);
	put_open(b, NULL, '{');
	put_uuid(b, "user_id", s->user_uid);
	put_uuid(b, "item_id", s->uid);
	put_bool(b, "is_read", row.is_read);
	put_bool(b, "is_starred", row.is_starred);
	put_time(b, "updated_at", row.updated_at);
	put_close(b, '}');
	buf_fmt(&ids, "[%lld]", (long long)row.id);
	return changes_states(db, s->user, buf_str(&ids), 1, e);
}

/* Which of them are theirs; the others are listed. */
static int
find_states(struct db *db, int64_t user, const struct uuid *uids, size_t n,
    struct sync_ids *ret, struct buf *absent, struct err *e)
{
	struct buf keys CLEANUP(buf_done) = BUF(READER_STATES_MAX * 16);
	struct rows *rows CLEANUP(rows_closep) = NULL;
	bool theirs[READER_STATES_MAX] = {false};
	struct sql_state_items_row row;

	assert(n <= READER_STATES_MAX);
	for (size_t i = 0; i < n; i++)
		buf_add(&keys, uuid_str(&uids[i]));
	TRY(sql_state_items(
	    db, &rows, e, .user = user, .uids = buf_str(&keys)));
	while (ret->n < n && TRY(sql_state_items_next(rows, &row, e))) {
		theirs[row.at] = true;
		ret->v[ret->n++].id = row.id;
	}
	for (size_t i = 0; i < n; i++)
		if (!theirs[i])
			put_uuid(absent, NULL, uids[i]);
	return OK;
}

int
list_states(struct db *db, const struct list_state *s, const struct uuid *uids,
    size_t n, int64_t now_us, struct buf *b, struct err *e)
{
	const struct sync who = {db, s->user, NULL};
	struct sync_id v[READER_STATES_MAX];
	struct sync_ids ids = {v, 0};

	put_open(b, NULL, '{');
	put_open(b, "absent", '[');
	TRY(find_states(db, s->user, uids, n, &ids, b, e));
	put_close(b, ']');
	if (s->set_read)
		TRY(sync_set(&who, &ids, SYNC_READ, s->is_read, now_us, e));
	if (s->set_starred)
		TRY(sync_set(
		    &who, &ids, SYNC_STARRED, s->is_starred, now_us, e));
	put_int(b, "marked", (int64_t)ids.n);
	put_close(b, '}');
	return OK;
}

/* The one, or those with something unread: how many. */
static int
feeds_to_read(
    struct db *db, const struct list_read *q, int64_t *ret, struct err *e)
{
	struct sql_read_feeds_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int n = 0;

	if (q->feed) {
		ret[0] = q->feed;
		return 1;
	}
	TRY(sql_read_feeds(
	    db, &rows, e, .user = q->user, .category = q->category));
	while (n < READER_FEEDS_MAX && TRY(sql_read_feeds_next(rows, &row, e)))
		ret[n++] = row.feed;
	return n;
}

int
list_read_step(struct db *db, const struct list_read *q, struct err *e)
{
	int64_t feeds[READER_FEEDS_MAX], left = READ_STEP;
	int n = TRY(feeds_to_read(db, q, feeds, e));

	for (int i = 0; i < n && left > 0; i++)
		left -= TRY(sql_read_all(db, e, .user = q->user,
		    .feed = feeds[i], .upto = q->upto, .before = q->before_us,
		    .now = q->now_us, .most = left));
	if (left < READ_STEP)
		TRY(changes_counts(db, q->user, q->feed, e));
	return (int)(READ_STEP - left);
}
