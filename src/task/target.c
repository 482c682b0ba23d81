#include "task/target.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sql.h"
#include "task/limits.h"

int
callback_find(
    struct db *db, int64_t owner, struct str url, int64_t *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc =
	    sql_task_callback_find(db, &rows, e, .owner = owner, .url = url);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc >= 0)
		*ret = rc > 0 ? rows_int(rows, 0) : 0;
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
callback_add(struct db *db, int64_t owner, struct str url, struct uuid uid,
    struct err *e)
{
	int64_t there = 0;
	int rc = callback_find(db, owner, url, &there, e);

	if (rc == OK && there > 0)
		rc = err_set(e, ERR_CONFLICT, "the callback was just made");
	if (rc == OK && sql_task_callback_add(db, e, .owner = owner, .url = url,
			    .uid = uuid_str(&uid)) < 0)
		rc = e->code;
	return rc;
}

int
callback_json(struct arena *a, struct str url, struct str secret,
    struct str *ret, struct err *e)
{
	struct buf b = BUF(32 * KIB);

	buf_addz(&b, "{\"name\":\"task callback\",\"preset\":\"task\","
		     "\"types\":[\"invoice.*\"],\"url\":");
	buf_json(&b, url);
	buf_addz(&b, ",\"secret\":");
	buf_json(&b, secret);
	buf_addc(&b, '}');
	*ret = b.failed ? (struct str){.p = NULL} : arena_dup(a, buf_str(&b));
	buf_done(&b);
	return ret->p ? OK : err_set(e, ERR_NOMEM, "no memory for a callback");
}

static int
configured(struct db *db, const struct task *t, int64_t *ret, size_t *ret_n,
    struct err *e)
{
	struct rows *rows = NULL;
	size_t n = 0;
	int rc = sql_task_config_subs(db, &rows, e, .owner = t->owner,
	    .event = (int64_t)1 << (int)t->status, .most = TASK_CONFIGS_MAX);

	while (rc >= 0 && n < TASK_CONFIGS_MAX && (rc = rows_next(rows, e)) > 0)
		ret[n++] = rows_int(rows, 0);
	rows_close(rows);
	*ret_n = n;
	return rc < 0 ? rc : OK;
}

int
targets_find(struct db *db, const struct task *t, int64_t *ret, size_t *ret_n,
    struct err *e)
{
	int rc;

	if (!t->callback_url.p)
		return configured(db, t, ret, ret_n, e);
	rc = callback_find(db, t->owner, t->callback_url, &ret[0], e);
	if (rc == OK)
		*ret_n = ret[0] > 0;
	return rc;
}
