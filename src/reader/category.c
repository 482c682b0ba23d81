#include "reader/category.h"

#include "reader/changes.h"
#include "reader/feeds.h"
#include "reader/limits.h"
#include "sql.h"

static int
no_category(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such category of yours");
}

int
category_find(
    struct db *db, int64_t user, struct uuid uid, int64_t *ret, struct err *e)
{
	struct sql_category_row_row row;

	if (TRY(sql_category_row_one(
		db, &row, e, .user = user, .uid = uuid_str(&uid))) == 0)
		return no_category(e);
	*ret = row.id;
	return OK;
}

/* 1 and which it is, or 0. */
static int
named(struct db *db, int64_t user, struct str title, struct uuid *ret,
    struct err *e)
{
	struct sql_category_named_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_category_named(db, &rows, e, .user = user, .title = title));
	if (TRY(sql_category_named_next(rows, &row, e)) == 0)
		return 0;
	*ret = uuid_of(row.uid);
	return 1;
}

static int
check_title(struct str title, struct err *e)
{
	if (title.n == 0 || str_chars(title, READER_CATEGORY_NAME).n < title.n)
		return err_at(e, ERR_INVALID, "/title",
		    "title must have 1 to %d characters", READER_CATEGORY_NAME);
	return OK;
}

static int
taken(struct err *e)
{
	return err_at(e, ERR_CONFLICT, "/title",
	    "you have a category of this title already");
}

int
category_add(struct db *db, int64_t user, struct str title, int64_t now_us,
    struct uuid *ret_uid, struct err *e)
{
	struct sql_category_count_row count;
	struct uuid uid = uuid_v7(now_us);

	TRY(check_title(title, e));
	if (TRY(named(db, user, title, ret_uid, e)))
		return taken(e);
	if (TRY(sql_category_count_one(db, &count, e, .user = user)) &&
	    count.n >= READER_CATEGORIES_MAX)
		return err_set(e, ERR_CONFLICT,
		    "you have %d categories, which is as many as one can have",
		    READER_CATEGORIES_MAX);
	if (TRY(sql_category_add(db, e, .uid = uuid_str(&uid), .user = user,
		.title = title, .now = now_us)) == 0)
		return taken(e);
	*ret_uid = uid;
	return changes_categories(db, user, e);
}

int
category_rename(struct db *db, int64_t user, struct uuid uid, struct str title,
    int64_t now_us, struct err *e)
{
	struct uuid other = uid;

	TRY(check_title(title, e));
	if (TRY(named(db, user, title, &other, e)) && !uuid_eq(other, uid))
		return taken(e);
	if (TRY(sql_category_rename(db, e, .user = user, .uid = uuid_str(&uid),
		.title = title, .now = now_us)) == 0)
		return no_category(e);
	return changes_categories(db, user, e);
}

int
category_del(struct db *db, int64_t user, struct uuid uid, struct err *e)
{
	if (TRY(sql_category_del(db, e, .user = user, .uid = uuid_str(&uid))) ==
	    0)
		return no_category(e);
	return changes_categories(db, user, e);
}

int
category_show(struct db *db, int64_t user, const struct uuid *uid,
    struct buf *b, struct err *e)
{
	struct sql_category_list_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	bool any = false;

	TRY(sql_category_list(db, &rows, e, .user = user,
	    .uid = uid ? uuid_str(uid) : (struct str){.p = NULL}));
	if (!uid)
		put_open(b, NULL, '[');
	while (TRY(sql_category_list_next(rows, &row, e))) {
		any = true;
		put_open(b, NULL, '{');
		put_uuid(b, "id", uuid_of(row.uid));
		put_text(b, "title", row.title);
		put_int(b, "feed_count", row.feeds);
		feeds_put_counts(b, row.items, row.read, row.starred);
		put_time(b, "created_at", row.created_at);
		put_time(b, "updated_at", row.updated_at);
		put_close(b, '}');
	}
	if (!uid)
		put_close(b, ']');
	return uid && !any ? no_category(e) : OK;
}
