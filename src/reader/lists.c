#include "reader/lists.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/str.h"
#include "reader/limits.h"
#include "sql.h"

static const char *const FILTERS[] = {"all", "unread", "starred"};

bool
list_filter_find(struct str word, enum list_filter *ret)
{
	for (size_t i = 0; i < COUNT_OF(FILTERS); i++)
		if (str_eq(word, str_of(FILTERS[i]))) {
			*ret = (enum list_filter)i;
			return true;
		}
	return false;
}

static void
add_uid(struct buf *b, const char *name, struct str bytes)
{
	struct uuid u = {{0}};

	if (bytes.n == sizeof(u.b))
		memcpy(u.b, bytes.p, bytes.n);
	buf_addc(b, '"');
	buf_addz(b, name);
	buf_addz(b, "\":\"");
	uuid_add(b, u);
	buf_addz(b, "\",");
}

static void
add_text(struct buf *b, const char *name, struct str s)
{
	buf_addz(b, name);
	buf_json(b, s.p ? s : STR_EMPTY);
}

static void
add_bool(struct buf *b, const char *name, int64_t v)
{
	buf_addz(b, name);
	buf_addz(b, v ? "true" : "false");
}

/* Up to its closing brace. The lists answer the same columns. */
static void
show_open(const struct sql_list_feed_row *r, struct buf *b)
{
	buf_addc(b, '{');
	add_uid(b, "id", r->uid);
	add_uid(b, "feed_id", r->feed);
	add_text(b, "\"title\":", r->title);
	add_text(b, ",\"link\":", r->link);
	buf_addz(b, ",\"published_at\":\"");
	time_add(b, r->published_at);
	add_bool(b, "\",\"is_date_estimated\":", r->estimated);
	add_bool(b, ",\"is_read\":", r->is_read);
	add_bool(b, ",\"is_starred\":", r->is_starred);
	buf_addz(b, ",\"hatebu_count\":");
	if (r->hatebu_at_null)
		buf_addz(b, "null");
	else
		buf_int(b, r->hatebu);
}

static int
ask(struct db *db, const struct list_query *q, struct rows **ret, struct err *e)
{
	const int64_t *feed = q->feed ? &q->feed : NULL,
		      *category = q->category ? &q->category : NULL;
	int64_t at = q->has_place ? q->place.at : INT64_MAX,
		id = q->has_place ? q->place.id : INT64_MAX,
		unread = q->filter == LIST_UNREAD,
		starred = q->filter == LIST_STARRED, most = READER_PAGE + 1;

	if (q->search.p)
		return sql_list_search(db, ret, e, .user = q->user,
		    .query = q->search, .feed = feed, .category = category,
		    .unread = unread, .starred = starred, .id = id,
		    .most = most);
	if (starred)
		return sql_list_starred(db, ret, e, .user = q->user,
		    .feed = feed, .category = category, .at = at, .id = id,
		    .most = most);
	if (feed && !category)
		return sql_list_feed(db, ret, e, .user = q->user,
		    .feed = q->feed, .unread = unread, .at = at, .id = id,
		    .most = most);
	return sql_list_all(db, ret, e, .user = q->user, .category = category,
	    .unread = unread, .uniq = q->unique, .at = at, .id = id,
	    .most = most);
}

static int
newest(struct db *db, int64_t *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_item_newest(db, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
list_show(
    struct db *db, const struct list_query *q, struct buf *b, struct err *e)
{
	enum item_order order = q->search.p ? ITEM_BY_ID : ITEM_BY_DATE;
	struct sql_list_feed_row row = {0};
	struct item_place last = {0, 0}, top = {0, 0};
	struct rows *rows = NULL;
	char cursor[ITEM_CURSOR_LEN + 1];
	int n = 0, rc = newest(db, &top.id, e);

	if (rc == OK)
		rc = ask(db, q, &rows, e);
	buf_addz(b, "{\"items\":[");
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		if (++n > READER_PAGE)
			continue;
		sql_list_feed_get(rows, &row);
		last = (struct item_place){row.published_at, row.id};
		if (n > 1)
			buf_addc(b, ',');
		show_open(&row, b);
		buf_addc(b, '}');
	}
	rows_close(rows);
	buf_addc(b, ']');
	if (n > READER_PAGE) {
		item_cursor_format(order, last, cursor);
		buf_fmt(b, ",\"next_cursor\":\"%s\"", cursor);
	}
	item_cursor_format(ITEM_BY_ID, top, cursor);
	buf_fmt(b, ",\"has_more\":%s,\"as_of\":\"%s\"}",
	    n > READER_PAGE ? "true" : "false", cursor);
	return rc;
}

static int
absent(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such article of yours");
}

int
item_show(
    struct db *db, int64_t user, struct uuid uid, struct buf *b, struct err *e)
{
	struct sql_list_feed_row head;
	struct sql_item_get_row r;
	struct rows *rows = NULL;
	int rc =
	    sql_item_get(db, &rows, e, .user = user, .uid = uuid_str(&uid));

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc == 0)
		rc = absent(e);
	if (rc > 0) {
		sql_list_feed_get(rows, &head);
		sql_item_get_get(rows, &r);
		show_open(&head, b);
		add_text(b, ",\"content\":", r.content);
		add_text(b, ",\"summary\":", r.summary);
		add_text(b, ",\"author\":", r.author);
		buf_addz(b, ",\"categories\":");
		buf_add(b, r.categories.p ? r.categories : STR("[]"));
		buf_addz(b, ",\"enclosures\":");
		buf_add(b, r.enclosures.p ? r.enclosures : STR("[]"));
		buf_addc(b, '}');
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/* What is done with them ----------------------------------------------------------- */

static int
show_state(struct db *db, int64_t user, struct uuid user_uid, struct uuid uid,
    struct buf *b, struct err *e)
{
	struct sql_state_get_row r = {0};
	struct rows *rows = NULL;
	int rc =
	    sql_state_get(db, &rows, e, .user = user, .uid = uuid_str(&uid));

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		sql_state_get_get(rows, &r);
	rows_close(rows);
	if (rc <= 0)
		return rc < 0 ? rc : absent(e);
	buf_addc(b, '{');
	add_uid(b, "user_id", uuid_str(&user_uid));
	add_uid(b, "item_id", uuid_str(&uid));
	add_bool(b, "\"is_read\":", r.is_read);
	add_bool(b, ",\"is_starred\":", r.is_starred);
	buf_addz(b, ",\"updated_at\":\"");
	time_add(b, r.updated_at);
	buf_addz(b, "\"}");
	return OK;
}

int
state_change(struct db *db, int64_t user, struct uuid user_uid, struct uuid uid,
    const struct state_change *c, int64_t now_us, struct buf *b, struct err *e)
{
	int64_t n = sql_state_put(db, e, .user = user, .uid = uuid_str(&uid),
	    .set_read = c->set_read, .is_read = c->is_read,
	    .set_starred = c->set_starred, .is_starred = c->is_starred,
	    .now = now_us);

	if (n < 0)
		return e->code;
	return n == 0 ? absent(e) : show_state(db, user, user_uid, uid, b, e);
}

/* The one, or those with something unread. */
static int
feeds_to_read(struct db *db, const struct read_query *q, int64_t *ret,
    size_t *ret_n, struct err *e)
{
	struct rows *rows = NULL;
	int rc = OK;

	*ret_n = 0;
	if (q->feed) {
		ret[(*ret_n)++] = q->feed;
		return OK;
	}
	rc = sql_read_feeds(db, &rows, e, .user = q->user,
	    .category = q->category ? &q->category : NULL);
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0)
		if (*ret_n < READER_FEEDS_MAX)
			ret[(*ret_n)++] = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
read_step(struct db *db, const struct read_query *q, int64_t *ret_marked,
    bool *ret_more, struct err *e)
{
	int64_t feeds[READER_FEEDS_MAX], left = READ_STEP;
	size_t n = 0;
	int rc = feeds_to_read(db, q, feeds, &n, e);

	for (size_t i = 0; rc == OK && i < n && left > 0; i++) {
		int64_t did =
		    sql_read_all(db, e, .user = q->user, .feed = feeds[i],
			.upto = q->upto, .now = q->now_us, .most = left);

		if (did < 0)
			return e->code;
		left -= did;
	}
	if (rc == OK) {
		*ret_marked = READ_STEP - left;
		*ret_more = left == 0;
	}
	return rc;
}
