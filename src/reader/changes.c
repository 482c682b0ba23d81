#include "reader/changes.h"

#include "event/cursor.h"
#include "reader/items.h"
#include "reader/limits.h"
#include "sql.h"

#define WHAT_MAX ((size_t)128 * CHANGES_IDS)

/* Writing --------------------------------------------------------------------- */

static int
note_change(struct db *db, int64_t user, int64_t feed, const char *kind,
    struct str what, struct err *e)
{
	TRY(sql_change_add(db, e, .user = user ? &user : NULL,
	    .feed = feed ? &feed : NULL, .kind = str_of(kind), .what = what));
	TRY(sql_change_trim(db, e, .keep = CHANGES_KEEP));
	return OK;
}

/* The members alone: a brace is opened and closed for the commas' sake. */
static int
note_members(struct db *db, int64_t user, int64_t feed, const char *kind,
    const struct buf *object, struct err *e)
{
	struct str s = buf_str(object);

	assert(!object->failed && s.n > 0);
	return note_change(db, user, feed, kind, str_from(s, 1), e);
}

int
changes_feed(struct db *db, int64_t user, int64_t feed, const char *change,
    struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(64);

	put_open(&b, NULL, '{');
	put_z(&b, "change", change);
	return note_members(db, user, feed, "feed", &b, e);
}

int
changes_counts(struct db *db, int64_t user, int64_t feed, struct err *e)
{
	return note_change(db, user, feed, "counts", STR_EMPTY, e);
}

int
changes_categories(struct db *db, int64_t user, struct err *e)
{
	return note_change(db, user, 0, "categories", STR_EMPTY, e);
}

/* Returns how many of them there was room for. */
static size_t
put_ids(struct buf *b, const char *name, const struct sql_item_insert_args *v,
    size_t n, size_t most)
{
	size_t i = 0;

	put_open(b, name, '[');
	for (; i < n && i < most; i++)
		put_uuid(b, NULL, uuid_of(v[i].uid));
	put_close(b, ']');
	return i;
}

int
changes_items(struct db *db, const struct items_plan *p, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(WHAT_MAX);
	size_t done;

	if (p->n_changes == 0)
		return OK;
	put_open(&b, NULL, '{');
	done = put_ids(&b, "created", p->added, p->inserted, CHANGES_IDS);
	done +=
	    put_ids(&b, "updated", p->changed, p->updated, CHANGES_IDS - done);
	put_bool(&b, "more", p->more || done < p->n_changes);
	return note_members(db, 0, p->feed, "items", &b, e);
}

int
changes_states(
    struct db *db, int64_t user, struct str ids, size_t n, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(2 * WHAT_MAX);
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_change_states_row row;

	if (n > CHANGES_IDS)
		return changes_counts(db, user, 0, e);
	TRY(sql_change_states(db, &rows, e, .user = user, .ids = ids));
	put_open(&b, NULL, '{');
	put_open(&b, "items", '[');
	for (n = 0; TRY(sql_change_states_next(rows, &row, e)); n++) {
		put_open(&b, NULL, '{');
		put_uuid(&b, "id", uuid_of(row.uid));
		put_uuid(&b, "feed_id", uuid_of(row.feed_uid));
		put_bool(&b, "is_read", row.is_read);
		put_bool(&b, "is_starred", row.is_starred);
		put_close(&b, '}');
	}
	put_close(&b, ']');
	return n > 0 ? note_members(db, user, 0, "states", &b, e) : OK;
}

/* Reading --------------------------------------------------------------------- */

static void
put_message(struct buf *b, int64_t n, struct str kind, struct str feed_uid,
    struct str what)
{
	char id[CURSOR_LEN + 1];

	cursor_format(n, id);
	buf_fmt(b, "id: %s\nevent: %.*s\ndata: {", id, STR_ARG(kind));
	if (feed_uid.p)
		put_uuid(b, "feed_id", uuid_of(feed_uid));
	if (what.n > 0) {
		buf_addz(b, feed_uid.p ? "," : "");
		buf_add(b, what);
	}
	buf_addz(b, "}\n\n");
}

int
changes_read(
    struct db *db, int64_t user, int64_t *after, struct buf *b, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_change_last_row last;
	struct sql_change_page_row row;
	int64_t from = *after, to;
	int n = 0;

	TRY(sql_change_last_one(db, &last, e));
	if (from < 0 || from > last.n || from + 1 < last.oldest) {
		*after = last.n;
		put_message(b, last.n,
		    from == CHANGES_NOW ? STR("ready") : STR("reset"),
		    (struct str){.p = NULL}, STR_EMPTY);
		return 1;
	}
	to = last.n;
	TRY(sql_change_page(db, &rows, e, .user = user, .after = from,
	    .upto = last.n, .most = CHANGES_PAGE));
	while (TRY(sql_change_page_next(rows, &row, e))) {
		put_message(b, row.n, row.kind, row.feed_uid, row.what);
		if (++n == CHANGES_PAGE)
			to = row.n;
	}
	*after = to;
	return n;
}
