#include "account/accounts.h"
#include "account/users.h"
#include "api/api.h"
#include "api/io.h"
#include "api/people/people.h"
#include "api/v1/account.h"
#include "audit/audit.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "sql.h"

#define THEME_FIRST "light" /* until one says otherwise */

/* Somebody without an account; accounts tell of themselves. */
static int
audit_gone(struct req *r, struct db *db, struct err *e)
{
	struct audit_row row = {
	    .category = AUDIT_USER_REMOVED,
	    .at_us = clock_now_us(),
	    .actor = api_actor(r),
	    .target_type = STR("user"),
	    .object_id = str_of(r->who.name),
	};

	return audit_put(db, &row, e);
}

/* On the commit thread. */
static int
leave(struct req *r, struct db *db, struct err *e)
{
	int rc;

	if (r->who.id) {
		rc = accounts_remove(
		    db, str_of(r->who.name), api_actor(r), clock_now_us(), e);
	} else {
		rc = users_remove(db, r->who.user, e);
		if (rc == OK)
			rc = audit_gone(r, db, e);
	}
	buf_clear(&r->out);
	r->status = 204;
	return rc < 0 ? rc : api_session_cookie(r, "", e);
}

int
api_me_delete(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return api_account_write(r, leave, e);
}

static void
write_settings(struct req *r, struct str theme)
{
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"theme\":");
	buf_json(&r->out, theme);
	buf_addc(&r->out, '}');
}

int
api_me_settings_get(struct req *r, struct db *db, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_user_settings_get(db, &rows, e, .user_id = r->who.user);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc >= 0)
		write_settings(
		    r, rc > 0 ? rows_str(rows, 0) : STR(THEME_FIRST));
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/* On the commit thread. */
static int
put_settings(struct req *r, struct db *db, struct err *e)
{
	const struct str *theme = r->ctx;
	int64_t n = sql_user_settings_put(db, e, .user_id = r->who.user,
	    .theme = *theme, .now = clock_now_us());

	if (n < 0)
		return (int)n;
	write_settings(r, *theme);
	return OK;
}

int
api_me_settings_put(struct req *r, struct db *db, struct err *e)
{
	static const char *const THEMES[] = {"light", "dark", NULL};
	static const struct member BODY[] = {
	    {"theme", MEMBER_CHOICE, 0, 0, 0, THEMES, .must = true},
	    {.name = NULL},
	};
	struct str *theme = arena_alloc(r->arena, sizeof(*theme));
	unsigned i = 0;
	int rc = api_body(r, BODY, NULL, &i, e);

	(void)db;
	if (rc < 0)
		return rc;
	*theme = str_of(THEMES[i]);
	r->ctx = theme;
	return api_write(r, put_settings, e);
}
