/* tasks.h: webhook configurations of a key. */
#include "api/api.h"
#include "api/io.h"
#include "api/task/tasks.h"
#include "api/v1/sub.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
#include "task/config.h"

/* The one that the path names. */
static int
hook_configs_find(
    struct req *r, struct db *db, struct config *ret, struct err *e)
{
	struct uuid id;

	if (r->who.kind != WHO_KEY || !uuid_parse(r->params[0], &id))
		return err_set(e, ERR_ABSENT, "there is no such configuration");
	return config_get(db, r->who.id, id, r->arena, ret, e);
}

/* Changing: on the check thread, then the commit thread ------------------------ */

static int
hook_configs_answer(struct req *r, struct err *)
{
	struct sub_op *op = r->ctx;
	struct config *c = op->more;

	r->status = op->status;
	if (op->status == 204)
		return OK;
	c->changed_us = op->seen.changed_us;
	if (op->change.kind == SUB_MAKE)
		c->created_us = c->changed_us;
	tasks_data(r);
	config_show(c, op->seen.conf, op->once, &r->out);
	return tasks_data_end(r);
}

static int
commit(struct req *r, struct err *e)
{
	api_then(r, hook_configs_answer);
	return sub_op_post(r->ctx, e);
}

static int
look(struct req *r, struct err *e)
{
	return sub_op_look(r->ctx, commit, e);
}

/* Its own row, in the transaction of the subscription's. */
static int
put_row(struct db *db, struct sub_change *c, struct err *e)
{
	struct sub_op *op = c->arg;
	const struct config *conf = op->more;

	if (c->kind == SUB_FINISH)
		return config_del(db, conf, e);
	if (c->kind == SUB_MAKE && !conf->own_secret)
		TRY(tasks_secret_same(op, db, e));
	TRY(c->kind == SUB_MAKE ? config_add(db, conf, c->now_us, e)
				: config_set(db, conf, c->now_us, e));
	return sub_op_seal(db, c, e);
}

/* The change was found good. */
static int
change(
    struct sub_op *op, enum sub_change_kind kind, enum audit_category category)
{
	const struct config *c = op->more;

	op->seen.id = c->sub;
	op->seen.uid = c->uid;
	op->seen.version = c->version;
	sub_op_fill(op, kind, category);
	op->change.managed_by = STR("task");
	op->change.fill = put_row;
	return api_next(op->r, look);
}

int
api_hook_configs_post(struct req *r, struct db *db, struct err *e)
{
	struct config *c = arena_alloc(r->arena, sizeof(*c));
	struct str secret, json;
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(tasks_key_only(r, e));
	TRY(tasks_key_secret(r, db, &secret, e));
	TRY(config_read(r->arena, r->body, NULL, secret, c, &json, e));
	TRY(tasks_sub_read(op, json, NULL, "/url", e));
	c->uid = uuid_v4();
	c->owner = r->who.id;
	op->more = c;
	op->status = 201;
	op->once = c->own_secret; /* the key's was shown with the key */
	return change(op, SUB_MAKE, AUDIT_WEBHOOK_CONFIG_CREATED);
}

/* The subscription as it is, with its secrets. */
static int
open_sub(const struct sub_op *op, const struct config *c, struct sub_conf **ret,
    struct err *e)
{
	struct api *api = op->r->app;
	struct sub_seal by = sub_seal_by(api->keyring, op->r->arena, c->uid);

	return sub_load(c->stored, op->presets, &by, ret, e);
}

static enum audit_category
category_of(const struct config *was, const struct config *is)
{
	if (was->active != is->active)
		return is->active ? AUDIT_WEBHOOK_CONFIG_ENABLED
				  : AUDIT_WEBHOOK_CONFIG_DISABLED;
	return AUDIT_WEBHOOK_CONFIG_UPDATED;
}

int
api_hook_configs_patch(struct req *r, struct db *db, struct err *e)
{
	struct config was, *c = arena_alloc(r->arena, sizeof(*c));
	struct sub_conf *old CLEANUP(sub_freep) = NULL;
	struct str json;
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(hook_configs_find(r, db, &was, e));
	TRY(open_sub(op, &was, &old, e));
	was.timeout_ms =
	    old->timeout_ms ? old->timeout_ms : old->preset->total_ms;
	TRY(config_read(r->arena, r->body, &was, STR_EMPTY, c, &json, e));
	TRY(tasks_sub_read(op, json, old, "/url", e));
	op->more = c;
	return change(op, SUB_CHANGE, category_of(&was, c));
}

int
api_hook_configs_delete(struct req *r, struct db *db, struct err *e)
{
	struct config *c = arena_alloc(r->arena, sizeof(*c));
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(hook_configs_find(r, db, c, e));
	TRY(open_sub(op, c, &op->seen.conf, e));
	op->more = c;
	op->status = 204;
	return change(op, SUB_FINISH, AUDIT_WEBHOOK_CONFIG_DELETED);
}

/* Looking ---------------------------------------------------------------------------- */

static int
hook_configs_show(struct req *r, const struct presets *presets,
    const struct config *c, struct err *e)
{
	struct sub_conf *s CLEANUP(sub_freep) = NULL;

	TRY(sub_load(c->stored, presets, NULL, &s, e));
	config_show(c, s, false, &r->out);
	return OK;
}

int
api_hook_configs_get(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) = NULL;
	struct config c;

	TRY(hook_configs_find(r, db, &c, e));
	TRY(presets_open(db, api->conf, &presets, e));
	tasks_data(r);
	TRY(hook_configs_show(r, presets, &c, e));
	return tasks_data_end(r);
}

int
api_hook_configs_list(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) = NULL;
	struct config *v = NULL;
	size_t n = 0;

	TRY(api_query_none(r, e));
	if (r->who.kind == WHO_KEY)
		TRY(config_list(db, r->who.id, r->arena, &v, &n, e));
	TRY(presets_open(db, api->conf, &presets, e));
	tasks_data(r);
	put_open(&r->out, NULL, '[');
	for (size_t i = 0; i < n; i++) {
		put_name(&r->out, NULL);
		TRY(hook_configs_show(r, presets, &v[i], e));
	}
	put_close(&r->out, ']');
	return tasks_data_end(r);
}
