#include "account/accounts.h"
#include "account/tokens.h"
#include "account/users.h"
#include "api/api.h"
#include "api/io.h"
#include "api/people/people.h"
#include "api/v1/account.h"
#include "audit/audit.h"
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

int
api_me_delete(struct req *r, struct db *db, struct err *e)
{
	if (!db)
		return api_account_write(r, api_me_delete, e);
	if (r->who.id) {
		TRY(accounts_remove(
		    db, str_of(r->who.name), api_actor(r), clock_now_us(), e));
	} else {
		TRY(users_remove(db, r->who.user, e));
		TRY(audit_gone(r, db, e));
	}
	r->status = 204;
	api_session_cookie(r, "");
	return OK;
}

static void
write_settings(struct req *r, struct str theme)
{
	put_open(&r->out, NULL, '{');
	put_text(&r->out, "theme", theme);
	put_close(&r->out, '}');
}

int
api_me_settings_get(struct req *r, struct db *db, struct err *e)
{
	struct sql_user_settings_get_row row;
	int n = TRY(sql_user_settings_get_one(
	    db, r->arena, &row, e, .user_id = r->who.user));

	write_settings(r, n > 0 ? row.theme : STR(THEME_FIRST));
	return OK;
}

static const char *const THEMES[] = {"light", "dark", NULL};
const struct member SETTINGS_BODY[] = {
    {"theme", MEMBER_CHOICE, 0, 0, 0, THEMES, .must = true},
    {.name = NULL},
};

int
api_me_settings_put(struct req *r, struct db *db, struct err *e)
{
	unsigned *theme = r->ctx;

	if (!db) {
		r->ctx = theme = arena_alloc(r->arena, sizeof(*theme));
		TRY(api_body(r, SETTINGS_BODY, NULL, theme, e));
		return api_write(r, api_me_settings_put, e);
	}
	TRY(sql_user_settings_put(db, e, .user_id = r->who.user,
	    .theme = str_of(THEMES[*theme]), .now = clock_now_us()));
	write_settings(r, str_of(THEMES[*theme]));
	return OK;
}

/* ---- app passwords ---- */

int
api_tokens_list(struct req *r, struct db *db, struct err *e)
{
	struct app_token *list = NULL;
	size_t n = 0;

	TRY(api_query_none(r, e));
	TRY(tokens_list(db, r->who.user, r->arena, &list, &n, e));
	put_open(&r->out, NULL, '{');
	put_open(&r->out, "tokens", '[');
	for (size_t i = 0; i < n; i++)
		token_json(&list[i], NULL, &r->out);
	put_close(&r->out, ']');
	put_close(&r->out, '}');
	return OK;
}

const struct member TOKEN_BODY[] = {
    {"name", MEMBER_STRING, 0, 0, INT32_MAX, .must = true},
    {.name = NULL},
};

int
api_tokens_post(struct req *r, struct db *db, struct err *e)
{
	struct str *name = r->ctx;
	char text[APP_TOKEN_LEN + 1];
	struct app_token t;

	if (!db) {
		r->ctx = name = arena_alloc(r->arena, sizeof(*name));
		TRY(api_body(r, TOKEN_BODY, NULL, name, e));
		*name = str_trim(*name);
		if (name->n == 0 ||
		    str_chars(*name, APP_NAME_CHARS).n < name->n)
			return json_wrong(e, "/name",
			    "must have 1 to %d characters", APP_NAME_CHARS);
		return api_write(r, api_tokens_post, e);
	}
	t = (struct app_token){.user = r->who.user, .name = *name};
	TRY(tokens_add(db, &t, clock_now_us(), r->arena, text, e));
	token_json(&t, text, &r->out);
	digest_wipe(text, sizeof(text));
	r->status = 201;
	return OK;
}

int
api_tokens_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;

	if (!db)
		return api_account_write(r, api_tokens_delete, e);
	r->status = 204;
	return uuid_parse(r->params[0], &uid)
		   ? tokens_remove(db, r->who.user, uid, e)
		   : err_set(e, ERR_ABSENT, "there is no such app password");
}
