#include "account/auth.h"
#include "account/tokens.h"
#include "api/api.h"
#include "api/apps/apps.h"
#include "api/v1/account.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"

int
api_tokens_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const none[] = {NULL};
	struct app_token *list = NULL;
	size_t n = 0;
	int rc = req_query_only(r, none, e);

	if (rc == OK)
		rc = tokens_list(db, r->who.user, r->arena, &list, &n, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"tokens\":[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_addc(&r->out, ',');
		token_json(&list[i], NULL, &r->out);
	}
	buf_addz(&r->out, "]}");
	return OK;
}

/* On the commit thread. */
static int
add(struct req *r, struct db *db, struct err *e)
{
	const struct str *name = r->ctx;
	char text[APP_TOKEN_LEN + 1];
	struct app_token t;
	int rc = tokens_add(
	    db, r->who.user, *name, clock_now_us(), r->arena, &t, text, e);

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
	static const char *const names[] = {"name", NULL};
	struct str *name = arena_alloc(r->arena, sizeof(*name));
	struct json *j = NULL;
	int rc = name ? json_parse(r->arena, r->body, &j, e)
		      : err_set(e, ERR_NOMEM, "no room for an app password");

	(void)db;
	if (rc == OK && !json_is(j, JSON_OBJECT))
		rc = err_at(e, ERR_INVALID, "", "expected a JSON object");
	if (rc == OK)
		rc = json_known(j, "", names, e);
	if (rc < 0)
		return rc;
	if (!json_is(json_get(j, "name"), JSON_STRING))
		return json_wrong(e, "/name", "must be a string");
	*name = str_trim(json_get(j, "name")->text);
	if (name->n == 0 || str_chars(*name, APP_NAME_CHARS).n < name->n)
		return json_wrong(
		    e, "/name", "must have 1 to %d characters", APP_NAME_CHARS);
	r->ctx = name;
	return api_write(r, add, e);
}

/* On the commit thread. */
static int
take_away(struct req *r, struct db *db, struct err *e)
{
	const struct uuid *uid = r->ctx;
	int rc = tokens_remove(db, r->who.user, *uid, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	r->status = 204;
	return OK;
}

int
api_tokens_delete(struct req *r, struct db *db, struct err *e)
{
	struct uuid *uid = arena_alloc(r->arena, sizeof(*uid));

	(void)db;
	if (!uid)
		return err_set(e, ERR_NOMEM, "no room for an app password");
	if (!uuid_parse(r->params[0], uid))
		return err_set(e, ERR_ABSENT, "there is no such app password");
	r->ctx = uid;
	return api_account_write(r, take_away, e);
}
