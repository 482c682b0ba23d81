#include "task/target.h"

#include "sql.h"
#include "task/limits.h"

int
target_callback_find(
    struct db *db, int64_t owner, struct str url, int64_t *ret, struct err *e)
{
	struct sql_task_callback_find_row row = {0};

	TRY(sql_task_callback_find_one(
	    db, &row, e, .owner = owner, .url = url));
	*ret = row.sub;
	return OK;
}

int
target_callback_add(struct db *db, int64_t owner, struct str url,
    struct uuid uid, struct err *e)
{
	int64_t there = 0;

	TRY(target_callback_find(db, owner, url, &there, e));
	if (there > 0)
		return err_set(e, ERR_CONFLICT, "the callback was just made");
	TRY((int)sql_task_callback_add(
	    db, e, .owner = owner, .url = url, .uid = uuid_str(&uid)));
	return OK;
}

struct str
target_callback_json(struct arena *a, struct str url, struct str secret)
{
	struct buf b CLEANUP(buf_done) = BUF(32 * KIB);

	put_open(&b, NULL, '{');
	put_z(&b, "name", "task callback");
	put_z(&b, "preset", "task");
	put_raw(&b, "types", STR("[\"invoice.*\"]"));
	put_text(&b, "url", url);
	put_text(&b, "secret", secret);
	put_close(&b, '}');
	return arena_dup(a, buf_str(&b));
}

static int
configured(struct db *db, const struct task *t, int64_t *ret, size_t *ret_n,
    struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;

	*ret_n = 0;
	TRY(sql_task_config_subs(db, &rows, e, .owner = t->owner,
	    .event = (int64_t)1 << (int)t->status, .most = TASK_CONFIGS_MAX));
	while (*ret_n < TASK_CONFIGS_MAX && TRY(rows_next(rows, e)) > 0)
		ret[(*ret_n)++] = rows_int(rows, 0);
	return OK;
}

int
targets_find(struct db *db, const struct task *t, int64_t *ret, size_t *ret_n,
    struct err *e)
{
	if (!t->callback_url.p)
		return configured(db, t, ret, ret_n, e);
	TRY(target_callback_find(db, t->owner, t->callback_url, &ret[0], e));
	*ret_n = ret[0] > 0;
	return OK;
}
