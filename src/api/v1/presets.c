/* subs.h: presets over HTTP. */
#include "api/api.h"
#include "api/limits.h"
#include "api/v1/subs.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "contract/preset.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
#include "sql.h"

struct preset_op {
	struct req *r;
	struct preset_change change;
	const struct preset *preset; /* as it will be; PUT */
};

static void
show(const struct preset *p, struct buf *b)
{
	buf_addz(b, "{\"name\":");
	buf_json(b, p->name);
	buf_fmt(b,
	    ",\"builtin\":%s,\"description\":", p->builtin ? "true" : "false");
	buf_json(b, p->description);
	buf_addz(b, ",\"definition\":");
	buf_add(b, p->json);
	buf_addc(b, '}');
}

int
api_presets_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const none[] = {NULL};
	struct api *api = r->app;
	struct presets *presets = NULL;
	const struct preset *p;
	size_t at = 0;
	int rc = req_query_only(r, none, e);

	if (rc == OK)
		rc = presets_open(db, api->conf, &presets, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	for (size_t n = 0; (p = presets_each(presets, &at)); n++) {
		if (n > 0)
			buf_addc(&r->out, ',');
		show(p, &r->out);
	}
	buf_addz(&r->out, "],\"next\":null}");
	presets_free(presets);
	return OK;
}

int
api_presets_get(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets = NULL;
	const struct preset *p;
	int rc = presets_open(db, api->conf, &presets, e);

	if (rc < 0)
		return rc;
	p = presets_find(presets, r->params[0]);
	if (p) {
		buf_clear(&r->out);
		show(p, &r->out);
	} else {
		rc = err_set(e, ERR_ABSENT, "there is no such preset");
	}
	presets_free(presets);
	return rc;
}

/* Changes ------------------------------------------------------------------ */

/*
 * Those who use it must be able to: a preset that wants another kind of secret
 * would stop them. The first PRESET_USERS_CHECK are asked.
 */
static int
check_users(
    struct req *r, struct db *db, const struct presets *presets, struct err *e)
{
	struct sql_subs_of_preset_row row;
	struct rows *rows = NULL;
	int rc = sql_subs_of_preset(db, &rows, e, .preset = r->params[0],
	    .after = 0, .most = PRESET_USERS_CHECK);

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		struct sub_conf *s = NULL;
		struct sub_sealer sealer;
		struct sub_seal by;
		struct uuid uid = {{0}};
		struct err why = {0};

		sql_subs_of_preset_get(rows, &row);
		if (row.uid.n == sizeof(uid.b))
			memcpy(uid.b, row.uid.p, row.uid.n);
		rc = sub_sealer(r->app, r->arena, uid, &sealer, &by, e);
		if (rc == OK && sub_load(row.conf, presets, &by, &s, &why) < 0)
			rc = err_set(e, ERR_CONFLICT,
			    "a subscription that uses it could not: %s",
			    why.text);
		sub_free(s);
	}
	rows_close(rows);
	return rc;
}

static int
may_change(const struct req *r, struct db *db, struct presets **ret_presets,
    struct err *e)
{
	const struct api *api = r->app;
	const struct preset *old;
	int rc = presets_open(db, api->conf, ret_presets, e);

	if (rc < 0)
		return rc;
	old = presets_find(*ret_presets, r->params[0]);
	if (old && old->builtin)
		return err_set(e, ERR_CONFLICT,
		    "the preset %.*s is built in; take another name",
		    STR_ARG(r->params[0]));
	return old ? 1 : 0;
}

static void
fill(struct preset_op *op, enum audit_category category, struct str conf)
{
	struct preset_change *c = &op->change;

	*c = (struct preset_change){
	    .name = op->r->params[0],
	    .conf = conf,
	    .now_us = clock_now_us(),
	};
	c->audit = (struct audit_row){
	    .category = category,
	    .at_us = c->now_us,
	    .actor = api_actor(op->r),
	    .target_type = STR("preset"),
	    .object_name = op->r->params[0],
	};
}

/* On a read thread. */
static int
check_put(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct preset_op *op = r->ctx;
	struct presets *presets = NULL;
	const struct preset *old;
	int there = may_change(r, db, &presets, e);
	int rc = there < 0 ? there : OK;

	if (rc == OK)
		rc = preset_parse(
		    r->params[0], r->body, api->conf, &op->preset, e);
	old = rc == OK ? presets_find(presets, r->params[0]) : NULL;
	/* What is gathered and what is not has its place in the log. */
	if (old && old->gathers != op->preset->gathers)
		rc = err_at(e, ERR_CONFLICT, "/gathers",
		    "gathers can't be changed; take another name");
	if (rc == OK && presets_put(presets, preset_ref(op->preset), e) < 0) {
		preset_unref(op->preset);
		rc = e->code;
	}
	if (rc == OK && there)
		rc = check_users(r, db, presets, e);
	presets_free(presets);
	if (rc < 0)
		return rc;
	r->status = there ? 200 : 201;
	fill(op, AUDIT_PRESET_CHANGED, r->body);
	return OK;
}

static int
check_delete(struct req *r, struct db *db, struct err *e)
{
	struct preset_op *op = r->ctx;
	struct presets *presets = NULL;
	int rc = may_change(r, db, &presets, e);

	presets_free(presets);
	if (rc < 0)
		return rc;
	r->status = 204;
	fill(op, AUDIT_PRESET_DELETED, (struct str){.p = NULL});
	return OK;
}

static void
committed(struct append_job *job)
{
	struct preset_op *op = MAIL_OF(job, struct preset_op, change.job);

	op->r->rc = job->err.code;
	op->r->err = job->err;
	req_wake(op->r);
}

static int
answer(struct req *r, struct err *e)
{
	struct preset_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	buf_clear(&r->out);
	if (op->preset)
		show(op->preset, &r->out);
	return OK;
}

static int
commit(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct preset_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	op->change.job.done = committed;
	r->then = answer;
	return control_preset(api->append, &op->change, e) < 0 ? (int)e->code
							       : REQ_WAIT;
}

static void
op_done(struct req *r)
{
	struct preset_op *op = r->ctx;

	preset_unref(op->preset);
}

static int
begin(struct req *r, handler_fn check, struct err *e)
{
	struct preset_op *op = arena_alloc(r->arena, sizeof(*op));

	if (!op)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	op->r = r;
	r->ctx = op;
	r->done = op_done;
	r->then = commit;
	return api_read(r, check, e);
}

int
api_presets_put(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return begin(r, check_put, e);
}

int
api_presets_delete(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return begin(r, check_delete, e);
}
