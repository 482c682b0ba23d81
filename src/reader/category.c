#include "reader/category.h"

#include "base/limits.h"
#include "base/put.h"
#include "base/str.h"
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
	int rc = sql_category_row_one(
	    db, &row, e, .user = user, .uid = uuid_str(&uid));

	if (rc > 0)
		*ret = row.id;
	return rc == 0 ? no_category(e) : rc < 0 ? rc : OK;
}

/* 1 and which it is, or 0. */
static int
named(struct db *db, int64_t user, struct str title, struct uuid *ret,
    struct err *e)
{
	struct sql_category_named_row row;
	struct rows *rows = NULL;
	int rc = sql_category_named(db, &rows, e, .user = user, .title = title);

	if (rc == OK)
		rc = sql_category_named_next(rows, &row, e);
	if (rc > 0)
		*ret = uuid_of(row.uid);
	rows_close(rows);
	return rc;
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
	int64_t n;
	int rc = check_title(title, e);

	if (rc == OK)
		rc = named(db, user, title, ret_uid, e);
	if (rc > 0)
		return taken(e);
	if (rc == OK)
		rc = sql_category_count_one(db, &count, e, .user = user);
	if (rc > 0 && count.n >= READER_CATEGORIES_MAX)
		return err_set(e, ERR_CONFLICT,
		    "you have %d categories, which is as many as one can have",
		    READER_CATEGORIES_MAX);
	if (rc < 0)
		return rc;
	n = sql_category_add(db, e, .uid = uuid_str(&uid), .user = user,
	    .title = title, .now = now_us);
	if (n <= 0)
		return n < 0 ? (int)n : taken(e);
	*ret_uid = uid;
	return OK;
}

int
category_rename(struct db *db, int64_t user, struct uuid uid, struct str title,
    int64_t now_us, struct err *e)
{
	struct uuid other = uid;
	int64_t n = check_title(title, e);

	if (n == OK)
		n = named(db, user, title, &other, e);
	if (n > 0 && !uuid_eq(other, uid))
		return taken(e);
	if (n >= 0)
		n = sql_category_rename(db, e, .user = user,
		    .uid = uuid_str(&uid), .title = title, .now = now_us);
	return n == 0 ? no_category(e) : n < 0 ? (int)n : OK;
}

int
category_del(struct db *db, int64_t user, struct uuid uid, struct err *e)
{
	int64_t n =
	    sql_category_del(db, e, .user = user, .uid = uuid_str(&uid));

	return n == 0 ? no_category(e) : n < 0 ? (int)n : OK;
}

int
category_show(struct db *db, int64_t user, const struct uuid *uid,
    struct buf *b, struct err *e)
{
	struct sql_category_list_row row;
	struct rows *rows = NULL;
	bool any = false;
	int rc = sql_category_list(db, &rows, e, .user = user,
	    .uid = uid ? uuid_str(uid) : (struct str){.p = NULL});

	if (!uid)
		put_open(b, NULL, '[');
	while (rc >= 0 && (rc = sql_category_list_next(rows, &row, e)) > 0) {
		any = true;
		put_open(b, NULL, '{');
		put_uuid(b, "id", uuid_of(row.uid));
		put_text(b, "title", row.title);
		put_time(b, "created_at", row.created_at);
		put_time(b, "updated_at", row.updated_at);
		put_close(b, '}');
	}
	rows_close(rows);
	if (!uid)
		put_close(b, ']');
	return rc == OK && uid && !any ? no_category(e) : rc;
}
