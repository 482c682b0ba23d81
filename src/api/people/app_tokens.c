#include "account/auth.h"
#include "account/tokens.h"
#include "api/api.h"
#include "api/apps/app.h"
#include "api/io.h"
#include "api/v1/account.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

int
api_tokens_list(struct req *r, struct db *db, struct err *e)
{
	struct app_token *list = NULL;
	size_t n = 0;
	int rc = api_query_none(r, e);

	if (rc == OK)
		rc = tokens_list(db, r->who.user, r->arena, &list, &n, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_open(&r->out, "tokens", '[');
	for (size_t i = 0; i < n; i++)
		token_json(&list[i], NULL, &r->out);
	put_close(&r->out, ']');
	put_close(&r->out, '}');
	return OK;
}

/* On the commit thread. */
static int
add_token(struct req *r, struct db *db, struct err *e)
{
	const struct str *name = r->ctx;
	char text[APP_TOKEN_LEN + 1];
	struct app_token t = {.user = r->who.user, .name = *name};
	int rc = tokens_add(db, &t, clock_now_us(), r->arena, text, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	token_json(&t, text, &r->out);
	digest_wipe(text, sizeof(text));
	r->status = 201;
	return OK;
}

int
api_tokens_post(struct req *r, struct db *db, struct err *e)
{
	static const struct member BODY[] = {
	    {"name", MEMBER_STRING, 0, 0, INT32_MAX, .must = true},
	    {.name = NULL},
	};
	struct str *name = arena_alloc(r->arena, sizeof(*name));
	int rc = api_body(r, BODY, NULL, name, e);

	(void)db;
	if (rc < 0)
		return rc;
	*name = str_trim(*name);
	if (name->n == 0 || str_chars(*name, APP_NAME_CHARS).n < name->n)
		return json_wrong(
		    e, "/name", "must have 1 to %d characters", APP_NAME_CHARS);
	r->ctx = name;
	return api_write(r, add_token, e);
}

/* On the commit thread. */
static int
take_away(struct req *r, struct db *db, struct err *e)
{
	struct uuid uid;

	buf_clear(&r->out);
	r->status = 204;
	return uuid_parse(r->params[0], &uid)
		   ? tokens_remove(db, r->who.user, uid, e)
		   : err_set(e, ERR_ABSENT, "there is no such app password");
}

int
api_tokens_delete(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return api_account_write(r, take_away, e);
}
