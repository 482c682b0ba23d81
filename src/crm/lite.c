#include "crm/lite.h"

#include <assert.h>
#include <sqlite3.h>

#include "base/str.h"
#include "crm_sql.h"
#include "store/limits.h"

struct lite_rows {
	struct lite *db;
	sqlite3_stmt *st; /* NULL: not prepared yet */
	bool open;
};

struct lite {
	sqlite3 *h;
	bool in_tx;
	struct lite_rows stmts[CRM_STMT_COUNT];
};

static int
fail(struct lite *d, int rc, const char *doing, struct err *e)
{
	int kind = rc & 0xff;
	enum err_code code = kind == SQLITE_BUSY || kind == SQLITE_LOCKED
				 ? ERR_BUSY
			     : kind == SQLITE_FULL ? ERR_FULL
						   : ERR_STORE;

	return err_set(e, code, "%s: %s", doing, sqlite3_errmsg(d->h));
}

static int
script(struct lite *d, const char *sql, const char *doing, struct err *e)
{
	int rc = sqlite3_exec(d->h, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? OK : fail(d, rc, doing, e);
}

int
lite_open(const char *path, const int *schemas, size_t n, struct lite **ret,
    struct err *e)
{
	struct lite *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return err_set(e, ERR_NOMEM, "no memory for a database");
	rc = sqlite3_open_v2(path, &d->h,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	    NULL);
	if (!d->h) {
		free(d);
		return err_set(e, ERR_NOMEM, "no memory for a database");
	}
	(void)sqlite3_busy_timeout(d->h, STORE_BUSY_MS);
	rc = rc == SQLITE_OK ? OK : fail(d, rc, path, e);
	/* NORMAL: a power cut may take the newest commits of the demo back. */
	if (rc == OK)
		rc = script(d,
		    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", path,
		    e);
	/* In one piece: another may be opening the same file. */
	if (rc == OK)
		rc = lite_begin(d, e);
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = script(d, CRM_SCHEMAS[schemas[i]], path, e);
	if (rc == OK)
		rc = lite_commit(d, e);
	if (rc < 0) {
		lite_close(d);
		return rc;
	}
	*ret = d;
	return OK;
}

void
lite_close(struct lite *d)
{
	if (!d)
		return;
	lite_rollback(d);
	for (size_t i = 0; i < COUNT_OF(d->stmts); i++)
		(void)sqlite3_finalize(d->stmts[i].st);
	(void)sqlite3_close(d->h);
	free(d);
}

int
lite_attach(struct lite *d, const char *path, struct str name, struct err *e)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(d->h, "ATTACH ?1 AS ?2", -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(st, 1, path, -1, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_text(
		    st, 2, name.p, (int)name.n, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	rc = rc == SQLITE_DONE ? OK : fail(d, rc, path, e);
	(void)sqlite3_finalize(st);
	return rc;
}

int
lite_begin(struct lite *d, struct err *e)
{
	int rc;

	assert(!d->in_tx);
	rc = script(d, "BEGIN IMMEDIATE", "begin", e);
	d->in_tx = rc == OK;
	return rc;
}

int
lite_commit(struct lite *d, struct err *e)
{
	int rc;

	assert(d->in_tx);
	rc = script(d, "COMMIT", "commit", e);
	if (rc < 0)
		lite_rollback(d);
	d->in_tx = false;
	return rc;
}

void
lite_rollback(struct lite *d)
{
	for (size_t i = 0; i < COUNT_OF(d->stmts); i++)
		lite_done(&d->stmts[i]);
	if (d->in_tx)
		(void)sqlite3_exec(d->h, "ROLLBACK", NULL, NULL, NULL);
	d->in_tx = false;
}

/* NULL when it can't be prepared. */
static struct lite_rows *
prepare(struct lite *d, int q, struct err *e)
{
	struct lite_rows *r = &d->stmts[q];
	int rc = SQLITE_OK;

	assert(!r->open);
	if (!r->st)
		rc = sqlite3_prepare_v3(d->h, CRM_STMTS[q].sql, -1,
		    SQLITE_PREPARE_PERSISTENT, &r->st, NULL);
	r->db = d;
	if (rc == SQLITE_OK)
		return r;
	(void)fail(d, rc, CRM_STMTS[q].name, e);
	return NULL;
}

static int
bind(struct lite_rows *r, const struct val *args, size_t n)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < n; i++) {
		int at = (int)i + 1;
		const struct val *v = &args[i];

		if (v->type == VAL_INT)
			rc = sqlite3_bind_int64(r->st, at, v->i);
		else if (v->type == VAL_TEXT)
			rc = sqlite3_bind_text64(r->st, at, v->s.p, v->s.n,
			    SQLITE_STATIC, SQLITE_UTF8);
		else
			rc = sqlite3_bind_null(r->st, at);
	}
	return rc;
}

int64_t
lite_exec(
    struct lite *d, int q, const struct val *args, size_t n_args, struct err *e)
{
	struct lite_rows *r = prepare(d, q, e);
	int64_t changed = 0;
	int rc;

	if (!r)
		return e->code;
	rc = bind(r, args, n_args);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(r->st);
	if (rc == SQLITE_DONE)
		changed = sqlite3_changes(d->h);
	else
		changed = fail(d, rc, CRM_STMTS[q].name, e);
	(void)sqlite3_reset(r->st);
	return changed;
}

int
lite_query(struct lite *d, int q, const struct val *args, size_t n_args,
    struct lite_rows **ret, struct err *e)
{
	struct lite_rows *r = prepare(d, q, e);
	int rc;

	if (!r)
		return e->code;
	rc = bind(r, args, n_args);
	if (rc != SQLITE_OK)
		return fail(d, rc, CRM_STMTS[q].name, e);
	r->open = true;
	*ret = r;
	return OK;
}

int
lite_next(struct lite_rows *r, struct err *e)
{
	int rc = sqlite3_step(r->st);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : fail(r->db, rc, "read", e);
}

int64_t
lite_int(const struct lite_rows *r, int col)
{
	return sqlite3_column_int64(r->st, col);
}

struct str
lite_str(const struct lite_rows *r, int col)
{
	const char *p = (const char *)sqlite3_column_text(r->st, col);

	return (struct str){
	    p, p ? (size_t)sqlite3_column_bytes(r->st, col) : 0};
}

bool
lite_null(const struct lite_rows *r, int col)
{
	return sqlite3_column_type(r->st, col) == SQLITE_NULL;
}

void
lite_done(struct lite_rows *r)
{
	if (!r || !r->open)
		return;
	(void)sqlite3_reset(r->st);
	r->open = false;
}

int
lite_check(struct lite *d, int q, struct err *e)
{
	const struct lite_stmt *s = &CRM_STMTS[q];
	const struct lite_rows *r = prepare(d, q, e);

	if (!r)
		return e->code;
	if (sqlite3_bind_parameter_count(r->st) != s->n_args ||
	    sqlite3_column_count(r->st) != s->n_cols)
		return err_set(
		    e, ERR_INVALID, "%s: args or rows are not its", s->name);
	return OK;
}
