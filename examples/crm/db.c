#include "db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_MS 20000

/* Scripts ------------------------------------------------------------------- */

/* The kind of script that this line begins, or 0 letters. */
static size_t
kind_of(const char *line)
{
	static const char *const KINDS[] = {"name", "on", "check"};

	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
		size_t n = strlen(KINDS[i]);

		if (strncmp(line, "-- ", 3) == 0 &&
		    strncmp(line + 3, KINDS[i], n) == 0 &&
		    strncmp(line + 3 + n, ": ", 2) == 0)
			return n;
	}
	return 0;
}

/* Where the next script begins, or the end of the text. */
static const char *
next_head(const char *p)
{
	while (*p && kind_of(p) == 0) {
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	return p;
}

bool
script_next(const char **at, const char *kind, struct script *ret)
{
	for (const char *p = next_head(*at); *p; p = *at) {
		size_t n = kind_of(p);
		const char *head = p + 3 + n + 2;

		ret->head = head;
		ret->head_n = strcspn(head, "\n");
		ret->text = head + ret->head_n;
		*at = next_head(ret->text);
		ret->n = (size_t)(*at - ret->text);
		if (n == strlen(kind) && strncmp(p + 3, kind, n) == 0)
			return true;
	}
	return false;
}

bool
script_is_for(const struct script *s, const char *word)
{
	size_t n = strlen(word);
	const char *end = s->head + s->head_n;

	for (const char *p = s->head; p < end; p += *p == ' ') {
		size_t m = strcspn(p, " \n");

		if (m == n && memcmp(p, word, n) == 0)
			return true;
		p += m;
	}
	return false;
}

/* Opening ------------------------------------------------------------------- */

static int
fail(sqlite3 *db, const char *what, size_t n, struct hk_error *e)
{
	bool refused =
	    sqlite3_extended_errcode(db) == SQLITE_CONSTRAINT_TRIGGER;

	if (refused)
		return hk_fail(e, HK_REFUSED, "%s", sqlite3_errmsg(db));
	return hk_fail(e, HK_DB, "%s: %.*s", sqlite3_errmsg(db), (int)n, what);
}

static void
make_uuid(sqlite3_context *ctx, int n, sqlite3_value **values)
{
	unsigned char b[16];
	char text[HK_ID_LEN + 1];
	int at = 0;

	(void)n;
	(void)values;
	sqlite3_randomness(sizeof(b), b);
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	for (int i = 0; i < 16; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%02x",
		    i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
	sqlite3_result_text(ctx, text, at, SQLITE_TRANSIENT);
}

int
db_open(const char *path, sqlite3 **ret, struct hk_error *e)
{
	sqlite3 *db = NULL;
	int rc = sqlite3_open(path, &db);

	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(db, BUSY_MS);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(
		    db, "uuid", 0, SQLITE_UTF8, NULL, make_uuid, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db,
		    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
		    NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		(void)fail(db, path, strlen(path), e);
		(void)sqlite3_close(db);
		return HK_DB;
	}
	*ret = db;
	return HK_OK;
}

int
db_make(sqlite3 *db, const char *sql, struct hk_error *e)
{
	struct script schema = {
	    .text = sql, .n = (size_t)(next_head(sql) - sql)};

	return db_run(db, &schema, NO_ARGS, NULL, NULL, e);
}

/* Running ------------------------------------------------------------------- */

static int
bind(sqlite3 *db, sqlite3_stmt *st, const struct arg *args, struct hk_error *e)
{
	for (int i = 1; i <= sqlite3_bind_parameter_count(st); i++) {
		const char *name = sqlite3_bind_parameter_name(st, i);
		const struct arg *a = args;
		int rc;

		while (a->name && strcmp(a->name, name) != 0)
			a++;
		if (!a->name)
			return hk_fail(
			    e, HK_DB, "nothing is given as %s", name);
		rc = a->is_number
			 ? sqlite3_bind_int64(st, i, a->number)
			 : sqlite3_bind_text(st, i, a->text, -1, SQLITE_STATIC);
		if (rc != SQLITE_OK)
			return fail(db, name, strlen(name), e);
	}
	return HK_OK;
}

static int
step(sqlite3 *db, sqlite3_stmt *st, const struct arg *args, db_row row,
    void *ctx, struct hk_error *e)
{
	const char *sql = sqlite3_sql(st);
	int rc = bind(db, st, args, e), stepped = SQLITE_DONE;

	while (rc == HK_OK && (stepped = sqlite3_step(st)) == SQLITE_ROW)
		if (row)
			row(ctx, st);
	if (rc == HK_OK && stepped != SQLITE_DONE)
		rc = fail(db, sql, strlen(sql), e);
	return rc;
}

int
db_run(sqlite3 *db, const struct script *s, const struct arg *args, db_row row,
    void *ctx, struct hk_error *e)
{
	const char *at = s->text, *end = s->text + s->n;
	bool outside = sqlite3_get_autocommit(db) != 0;
	int rc = HK_OK;

	while (rc == HK_OK && at < end) {
		sqlite3_stmt *st = NULL;

		if (sqlite3_prepare_v2(db, at, (int)(end - at), &st, &at) !=
		    SQLITE_OK)
			rc = fail(db, s->text, s->n, e);
		else if (st)
			rc = step(db, st, args, row, ctx, e);
		(void)sqlite3_finalize(st);
	}
	if (rc < 0 && outside && !sqlite3_get_autocommit(db))
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

int
db_each(sqlite3 *db, const char *sql, const char *name, const struct arg *args,
    db_row row, void *ctx, struct hk_error *e)
{
	struct script s;

	while (script_next(&sql, "name", &s))
		if (s.head_n == strlen(name) &&
		    memcmp(s.head, name, s.head_n) == 0)
			return db_run(db, &s, args, row, ctx, e);
	return hk_fail(e, HK_DB, "there is no script %s", name);
}

int
db_call(sqlite3 *db, const char *sql, const char *name, const struct arg *args,
    struct hk_error *e)
{
	return db_each(db, sql, name, args, NULL, NULL, e);
}

static void
keep_text(void *ctx, sqlite3_stmt *row)
{
	const unsigned char *text = sqlite3_column_text(row, 0);
	char **ret = ctx;

	free(*ret);
	*ret = text ? strdup((const char *)text) : NULL;
}

int
db_text(sqlite3 *db, const char *sql, const char *name, const struct arg *args,
    char **ret, struct hk_error *e)
{
	char *text = NULL;
	int rc = db_each(db, sql, name, args, keep_text, &text, e);

	if (rc == HK_OK)
		*ret = text;
	else
		free(text);
	return rc;
}

static void
keep_number(void *ctx, sqlite3_stmt *row)
{
	*(int64_t *)ctx = sqlite3_column_int64(row, 0);
}

int
db_number(sqlite3 *db, const char *sql, const char *name,
    const struct arg *args, int64_t *ret, struct hk_error *e)
{
	int64_t n = 0;
	int rc = db_each(db, sql, name, args, keep_number, &n, e);

	if (rc == HK_OK)
		*ret = n;
	return rc;
}
