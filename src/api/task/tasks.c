/* tasks.h: what its files share. */
#include "api/task/tasks.h"

#include "account/keys.h"
#include "api/api.h"
#include "api/v1/sub.h"
#include "base/conf/conf.h"
#include "contract/sub.h"
#include "http/client/guard.h"

void
tasks_data(struct req *r)
{
	buf_addz(&r->out, "{\"data\":");
}

int
tasks_data_end(struct req *r)
{
	put_z(&r->out, "traceId", r->trace_id);
	put_close(&r->out, '}');
	return OK;
}

int
tasks_refuse(struct req *r, int status, const char *code, const char *message)
{
	put_open(&r->out, NULL, '{');
	put_open(&r->out, "error", '{');
	put_z(&r->out, "code", code);
	put_z(&r->out, "message", message);
	put_close(&r->out, '}');
	r->status = status;
	return tasks_data_end(r);
}

int
tasks_key_only(const struct req *r, struct err *e)
{
	if (r->who.kind == WHO_KEY)
		return OK;
	return err_set(
	    e, ERR_DENIED, "tasks belong to API keys: call with one");
}

int
tasks_key_secret(struct req *r, struct db *db, struct str *ret, struct err *e)
{
	const struct api *api = r->app;
	struct uuid id;

	TRY(keys_public(db, r->who.id, &id, e));
	TRY(keys_secret(db, api->keyring, id,
	    str_of(api->conf->webhook_default_secret), r->arena, ret, e));
	if (ret->n == 0)
		return err_set(e, ERR_CONFLICT,
		    "this API key was made without a webhook secret: rotate it, or set webhook.default.secret");
	return OK;
}

int
tasks_secret_same(struct sub_op *op, struct db *db, struct err *e)
{
	struct str secret;

	TRY(tasks_key_secret(op->r, db, &secret, e));
	if (str_eq(secret, op->seen.conf->secrets[0].text))
		return OK;
	return err_set(e, ERR_CONFLICT,
	    "the key's webhook secret was replaced meanwhile: try again");
}

/* sub_rules: the guard's word on the URL. */
struct url_rule {
	const struct guard *guard;
	const char *at;
};

static int
check_url(void *arg, struct str url, const char *, struct err *e)
{
	const struct url_rule *u = arg;
	struct err was = {0};
	int rc = guard_url(u->guard, GUARD_WEBHOOK, url, &was);

	if (rc < 0)
		rc = err_at(e, rc == ERR_DENIED ? ERR_INVALID : was.code, u->at,
		    "%s", was.text);
	return rc;
}

int
tasks_sub_read(struct sub_op *op, struct str json, const struct sub_conf *old,
    const char *at_url, struct err *e)
{
	static const struct sub_managed MANAGED = {.by = {"task", 4},
	    .object_id = {"", 0},
	    .object_path = {"", 0},
	    .webhook_id = {"", 0}};
	const struct api *api = op->r->app;
	struct url_rule u = {api->guard, at_url};
	struct sub_rules rules = {
	    .presets = op->presets,
	    .conf = api->conf,
	    .now_us = clock_now_us(),
	    .url_check = check_url,
	    .arg = &u,
	    .managed = &MANAGED,
	};
	struct sub_conf *fresh = NULL;
	int rc = sub_read(json, old, &rules, &fresh, e);

	/* What is wrong with the URL before the guard sees it. */
	if (rc < 0 && str_eq(str_of(e->at), STR("/url")))
		(void)snprintf(e->at, sizeof(e->at), "%s", at_url);
	if (rc < 0 || !fresh)
		return rc;
	sub_op_names(op, fresh, old, at_url);
	if (old)
		op->seen.kind = wish_kind_of(old);
	sub_seen_done(&op->seen);
	op->seen.conf = fresh;
	op->seen.enabled = fresh->enabled;
	return OK;
}
