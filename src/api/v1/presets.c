/* sub.h: presets over HTTP. */
#include "api/api.h"
#include "api/io.h"
#include "api/limits.h"
#include "api/v1/sub.h"
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
presets_show(const struct preset *p, struct buf *b)
{
	put_open(b, NULL, '{');
	put_text(b, "name", p->name);
	put_bool(b, "builtin", p->builtin);
	put_text(b, "description", p->description);
	put_raw(b, "definition", p->json);
	put_close(b, '}');
}

int
api_presets_list(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) = NULL;
	const struct preset *p;
	size_t at = 0;

	TRY(api_query_none(r, e));
	TRY(presets_open(db, api->conf, &presets, e));
	api_list(r);
	while ((p = presets_each(presets, &at)))
		presets_show(p, &r->out);
	api_list_end(r, (struct str){.p = NULL});
	return OK;
}

int
api_presets_get(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) = NULL;
	const struct preset *p;

	TRY(presets_open(db, api->conf, &presets, e));
	p = presets_find(presets, r->params[0]);
	if (!p)
		return err_set(e, ERR_ABSENT, "there is no such preset");
	presets_show(p, &r->out);
	return OK;
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
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_subs_of_preset_row row;
	const struct api *api = r->app;

	TRY(sql_subs_of_preset(db, &rows, e, .preset = r->params[0], .after = 0,
	    .most = PRESET_USERS_CHECK));
	while (TRY(sql_subs_of_preset_next(rows, &row, e)) > 0) {
		struct sub_conf *s = NULL;
		struct sub_seal by =
		    sub_seal_by(api->keyring, r->arena, uuid_of(row.uid));
		struct err why = {0};

		if (sub_load(row.conf, presets, &by, &s, &why) < 0)
			return err_set(e, ERR_CONFLICT,
			    "a subscription that uses it could not: %s",
			    why.text);
		sub_free(s);
	}
	return OK;
}

/* The presets, and the one that the path names; NULL: it is new. */
static int
may_change(const struct req *r, struct db *db, struct presets **ret_presets,
    const struct preset **ret, struct err *e)
{
	const struct api *api = r->app;

	TRY(presets_open(db, api->conf, ret_presets, e));
	*ret = presets_find(*ret_presets, r->params[0]);
	if (*ret && (*ret)->builtin)
		return err_set(e, ERR_CONFLICT,
		    "the preset %.*s is built in; take another name",
		    STR_ARG(r->params[0]));
	return OK;
}

static void
committed(struct append_job *job)
{
	struct preset_op *op = MAIL_OF(job, struct preset_op, change.job);

	api_wake(op->r, &job->err);
}

static int
presets_answer(struct req *r, struct err *)
{
	struct preset_op *op = r->ctx;

	if (op->preset)
		presets_show(op->preset, &r->out);
	return OK;
}

static int
commit(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct preset_op *op = r->ctx;

	api_then(r, presets_answer);
	TRY(control_preset(api->append, &op->change, e));
	return REQ_WAIT;
}

/* The change was found good. */
static int
presets_change(
    struct req *r, enum audit_category category, struct str conf, int status)
{
	struct preset_op *op = r->ctx;
	int64_t now_us = clock_now_us();

	op->change = (struct preset_change){
	    .job.done = committed,
	    .name = r->params[0],
	    .conf = conf,
	    .now_us = now_us,
	    .audit = {.category = category,
		.at_us = now_us,
		.actor = api_actor(r),
		.target_type = STR("preset"),
		.object_name = r->params[0]},
	};
	r->status = status;
	return api_next(r, commit);
}

static void
op_done(struct req *r)
{
	struct preset_op *op = r->ctx;

	preset_unref(op->preset);
}

static struct preset_op *
op_new(struct req *r)
{
	struct preset_op *op = arena_alloc(r->arena, sizeof(*op));

	op->r = r;
	r->ctx = op;
	r->done = op_done;
	return op;
}

int
api_presets_put(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct preset_op *op = op_new(r);
	struct presets *presets CLEANUP(presets_freep) = NULL;
	const struct preset *old = NULL;
	bool there;

	TRY(may_change(r, db, &presets, &old, e));
	there = old != NULL;
	TRY(preset_parse(r->params[0], r->body, api->conf, &op->preset, e));
	/* What is gathered and what is not has its place in the log. */
	if (old && old->gathers != op->preset->gathers)
		return err_at(e, ERR_CONFLICT, "/gathers",
		    "gathers can't be changed; take another name");
	if (presets_put(presets, preset_ref(op->preset), e) < 0) {
		preset_unref(op->preset);
		return e->code;
	}
	if (there)
		TRY(check_users(r, db, presets, e));
	return presets_change(
	    r, AUDIT_PRESET_CHANGED, r->body, there ? 200 : 201);
}

int
api_presets_delete(struct req *r, struct db *db, struct err *e)
{
	struct presets *presets CLEANUP(presets_freep) = NULL;
	const struct preset *old;

	(void)op_new(r);
	TRY(may_change(r, db, &presets, &old, e));
	return presets_change(
	    r, AUDIT_PRESET_DELETED, (struct str){.p = NULL}, 204);
}
