/* sub.h: making and changing subscriptions. */
#include "account/scopes.h"
#include "api/api.h"
#include "api/v1/sub.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
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
	const struct checker *k = arg;

	if (guard_url(k->api->guard, GUARD_WEBHOOK, url, e) == OK)
		return OK;
	return put_at(e, at);
}

static int
check_sink(void *arg, const struct sub_conf *s, struct err *e)
{
	const struct checker *k = arg;

	return sink_check(s, k->api->conf, e);
}

static int
check_program(void *arg, struct str program, const char *at, struct err *e)
{
	struct checker *k = arg;
	int rc;

	if (!k->jq)
		k->jq = jq_new("/proc/self/exe");
	rc = jq_check(k->jq, program, e);
	return rc == ERR_INVALID ? put_at(e, at) : rc;
}

/* A key that is limited to tenants subscribes to these, or to some of them. */
static int
limit_tenants(const struct req *r, struct sub_conf *s, struct err *e)
{
	const struct principal *who = &r->who;

	if (!who->tenants)
		return OK;
	if (s->n_tenants == 0) {
		s->tenants =
		    arena_array(s->arena, who->n_tenants, sizeof(*s->tenants));
		memcpy(s->tenants, who->tenants,
		    who->n_tenants * sizeof(*s->tenants));
		s->n_tenants = who->n_tenants;
	}
	if (!scopes_tenants_within(s->tenants, s->n_tenants, who))
		return err_at(e, ERR_DENIED, "/tenants",
		    "you are limited to tenants: name some of them, no others");
	return OK;
}

int
sub_op_read(struct sub_op *op, struct checker *k, struct str json,
    const struct sub_conf *old, const struct sub_managed *managed,
    struct sub_conf **ret, struct err *e)
{
	struct sub_rules rules = {
	    .presets = k->presets,
	    .conf = k->api->conf,
	    .now_us = clock_now_us(),
	    .url_check = check_url,
	    .sink_check = check_sink,
	    .program_check = check_program,
	    .arg = k,
	    .managed = managed,
	};
	struct sub_conf *s = NULL;

	TRY(sub_read(json, old, &rules, &s, e));
	if (limit_tenants(op->r, s, e) < 0) {
		sub_free(s);
		return e->code;
	}
	*ret = s;
	return OK;
}

static int
check_post(struct sub_op *op, struct checker *k, struct err *e)
{
	TRY(sub_op_read(op, k, op->r->body, NULL, NULL, &op->seen.conf, e));
	op->seen.uid = uuid_v4();
	op->seen.enabled = op->seen.conf->enabled;
	op->once = true;
	op->status = 201;
	sub_op_fill(op, SUB_MAKE, AUDIT_SUBSCRIPTION_CREATED);
	return OK;
}

int
api_subs_post(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_post, sub_op_commit, e);
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

static int
check_patch(struct sub_op *op, struct checker *k, struct err *e)
{
	struct sub_conf *fresh = NULL;

	TRY(sub_op_find(op, k, e));
	TRY(check_version(op, e));
	TRY(sub_op_read(op, k, op->r->body, op->seen.conf, NULL, &fresh, e));
	if (lets_go(op, fresh))
		op->seen.held = (struct str){.p = NULL};
	sub_seen_done(&op->seen);
	op->seen.conf = fresh;
	if (fresh->enabled != op->seen.enabled)
		op->seen.why = STR_EMPTY;
	op->seen.enabled = fresh->enabled;
	sub_op_fill(op, SUB_CHANGE, AUDIT_SUBSCRIPTION_CHANGED);
	return OK;
}

int
api_subs_patch(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_patch, sub_op_commit, e);
}
