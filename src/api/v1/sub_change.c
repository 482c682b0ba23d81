/* sub.h: making, changing, switching and ending subscriptions. */
#include "account/scopes.h"
#include "api/api.h"
#include "api/io.h"
#include "api/v1/sub.h"
#include "contract/limits.h"
#include "contract/sub.h"
#include "http/client/guard.h"
#include "match/jq/jq.h"
#include "sink/sink.h"

/* The same failure, at the member it is about. */
static int
put_at(struct err *e, const char *at)
{
	struct err was = *e;

	return err_at(e, was.code == ERR_DENIED ? ERR_INVALID : was.code, at,
	    "%s", was.text);
}

static int
check_url(void *arg, struct str url, const char *at, struct err *e)
{
	const struct req *r = arg;
	const struct api *api = r->app;

	if (guard_url(api->guard, GUARD_WEBHOOK, url, e) == OK)
		return OK;
	return put_at(e, at);
}

static int
check_sink(void *arg, const struct sub_conf *s, struct err *e)
{
	const struct req *r = arg;
	const struct api *api = r->app;

	return sink_check(s, api->conf, e);
}

static int
check_program(void *arg, struct str program, const char *at, struct err *e)
{
	int rc = jq_check(api_jq(arg), program, e);

	return rc == ERR_INVALID ? put_at(e, at) : rc;
}

/* A key that is limited to tenants subscribes to these, or to some of them. */
static int
limit_tenants(const struct req *r, struct sub_conf *s, struct err *e)
{
	const struct principal *who = &r->who;

	if (!who->tenants)
		return OK;
	if (s->tenants.n == 0) {
		struct str rest = who->tenant_names;
		struct uuid *v =
		    arena_array(s->arena, who->n_tenants, sizeof(*v));
		struct str *names =
		    arena_array(s->arena, who->n_tenants, sizeof(*names));

		memcpy(v, who->tenants, who->n_tenants * sizeof(*v));
		for (size_t i = 0; i < who->n_tenants; i++)
			names[i] = arena_dup(s->arena, str_cut(&rest, ','));
		s->tenants = (struct member_uuids){v, who->n_tenants, names};
	}
	if (!scopes_tenants_within(s->tenants.v, s->tenants.n, who))
		return err_at(e, ERR_DENIED, "/tenants",
		    "you are limited to tenants: name some of them, no others");
	return OK;
}

int
sub_op_read(struct sub_op *op, struct str json, const struct sub_conf *old,
    const struct sub_managed *managed, struct sub_conf **ret, struct err *e)
{
	const struct api *api = op->r->app;
	struct sub_rules rules = {
	    .presets = op->presets,
	    .conf = api->conf,
	    .now_us = clock_now_us(),
	    .url_check = check_url,
	    .sink_check = check_sink,
	    .program_check = check_program,
	    .arg = op->r,
	    .managed = managed,
	};
	struct sub_conf *s = NULL;
	int rc;

	TRY(sub_read(json, old, &rules, &s, e));
	rc = limit_tenants(op->r, s, e);
	if (rc < 0) {
		sub_free(s);
		return rc;
	}
	sub_op_names(op, s, old, "/url");
	*ret = s;
	return OK;
}

int
api_subs_post(struct req *r, struct db *db, struct err *e)
{
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(sub_op_read(op, r->body, NULL, NULL, &op->seen.conf, e));
	op->seen.uid = uuid_v4();
	op->seen.enabled = op->seen.conf->enabled;
	op->once = true;
	op->status = 201;
	sub_op_fill(op, SUB_MAKE, AUDIT_SUBSCRIPTION_CREATED);
	return api_next(r, sub_op_save);
}

/* A version that was named must be the one that is changed. */
static int
check_version(const struct sub_op *op, struct err *e)
{
	struct json *doc = NULL;
	const struct json *j;
	int64_t version = 0;

	TRY(json_parse(op->r->arena, op->r->body, &doc, e));
	j = json_get(doc, "version");
	if (!j)
		return OK;
	if (!json_int(j, &version))
		return json_wrong(e, "/version", "must be a whole number");
	if (version != op->seen.version)
		return err_at(e, ERR_CONFLICT, "/version",
		    "the subscription was changed meanwhile: it has version %lld",
		    (long long)op->seen.version);
	return OK;
}

/* What it was held for may be mended, or somebody wants to see. */
static bool
lets_go(const struct sub_op *op, const struct sub_conf *fresh)
{
	const struct sub_conf *old = op->seen.conf;
	struct json *doc = NULL;
	struct err e;

	return !str_eq(old->filter, fresh->filter) ||
	       !str_eq(old->template, fresh->template) ||
	       !str_eq(old->preset->name, fresh->preset->name) ||
	       (json_parse(op->r->arena, op->r->body, &doc, &e) == OK &&
		   json_is(json_get(doc, "enabled"), JSON_TRUE));
}

int
api_subs_patch(struct req *r, struct db *db, struct err *e)
{
	struct sub_conf *fresh = NULL;
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(sub_op_find(op, db, e));
	TRY(check_version(op, e));
	TRY(sub_op_read(op, r->body, op->seen.conf, NULL, &fresh, e));
	if (lets_go(op, fresh))
		op->seen.held = (struct str){.p = NULL};
	sub_seen_done(&op->seen);
	op->seen.conf = fresh;
	if (fresh->enabled != op->seen.enabled)
		op->seen.why = STR_EMPTY;
	op->seen.enabled = fresh->enabled;
	sub_op_fill(op, SUB_CHANGE, AUDIT_SUBSCRIPTION_CHANGED);
	return api_next(r, sub_op_save);
}

/* Switching --------------------------------------------------------------- */

/*
 * What is to be left out is left out before anything goes on: the other way
 * round some of it would be sent.
 */
static int
enable(struct req *r, struct err *e)
{
	struct sub_op *op = r->ctx;

	if (!op->skip)
		return sub_op_commit(r, e);
	sub_op_behind(op, ASK_NOW);
	api_then(r, sub_op_commit);
	return api_ask(r, &op->ask.ask, e);
}

static const char *const FROM[] = {"resume", "now", NULL};
const struct member SUBS_ENABLE_BODY[] = {
    {"from", MEMBER_EITHER, offsetof(struct sub_op, skip), .words = FROM,
	.about = "now leaves out what waits"},
    {.name = NULL},
};

int
api_subs_enable(struct req *r, struct db *db, struct err *e)
{
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(api_body_maybe(r, SUBS_ENABLE_BODY, NULL, op, e));
	TRY(api_behind(r, db, &op->ask.ask, e));
	op->switches = true;
	TRY(sub_op_find(op, db, e));
	op->same = op->seen.enabled && !op->seen.held.p;
	if (op->same)
		return api_next(r, enable);
	op->seen.enabled = op->seen.conf->enabled = true;
	op->seen.why = STR_EMPTY;
	op->seen.held = (struct str){.p = NULL};
	sub_op_fill(op, SUB_SWITCH, AUDIT_SUBSCRIPTION_CHANGED);
	op->change.audit.details =
	    op->skip ? STR("\"enabled\":true,\"from\":\"now\"")
		     : STR("\"enabled\":true,\"from\":\"resume\"");
	return api_next(r, enable);
}

const struct member SUBS_DISABLE_BODY[] = {
    {"reason", MEMBER_STRING, 0, 0, SUB_NAME_MAX},
    {.name = NULL},
};

int
api_subs_disable(struct req *r, struct db *db, struct err *e)
{
	struct str why = {.p = NULL};
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(api_body_maybe(r, SUBS_DISABLE_BODY, NULL, &why, e));
	op->switches = true;
	TRY(sub_op_find(op, db, e));
	op->same = !op->seen.enabled;
	if (op->same)
		return api_next(r, sub_op_commit);
	op->seen.enabled = op->seen.conf->enabled = false;
	op->seen.why = why.p ? why
			     : arena_fmt(r->arena, "disabled by %.*s",
				   STR_ARG(api_actor(r)));
	sub_op_fill(op, SUB_SWITCH, AUDIT_SUBSCRIPTION_DISABLED);
	op->change.audit.error = op->seen.why;
	return api_next(r, sub_op_commit);
}

int
api_subs_delete(struct req *r, struct db *db, struct err *e)
{
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(sub_op_find(op, db, e));
	sub_op_fill(op, SUB_FINISH, AUDIT_SUBSCRIPTION_DELETED);
	op->status = 204;
	return api_next(r, sub_op_commit);
}

/* Another secret. */
const struct member SUBS_ROTATE_BODY[] = {
    {"overlapSeconds", MEMBER_INT, 0, 0, SUB_OVERLAP_MAX_S,
	.about = "for so long the old secret counts too"},
    {.name = NULL},
};

int
api_subs_rotate(struct req *r, struct db *db, struct err *e)
{
	int64_t overlap_s = SUB_OVERLAP_S;
	struct sub_op *op;
	int rc;

	TRY(sub_op_new(r, db, &op, e));
	TRY(api_body_maybe(r, SUBS_ROTATE_BODY, NULL, &overlap_s, e));
	TRY(sub_op_find(op, db, e));
	rc = sub_rotate(op->seen.conf, overlap_s, clock_now_us(), e);
	if (rc == ERR_LIMIT) /* not of the request: of what is there */
		e->code = ERR_CONFLICT;
	if (rc < 0)
		return e->code;
	sub_op_fill(op, SUB_CHANGE, AUDIT_SECRET_ROTATED);
	op->once = true;
	return api_next(r, sub_op_commit);
}
