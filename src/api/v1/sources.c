/* sources.h: sources as they are seen and changed. */
#include "api/v1/sources.h"

#include "api/api.h"
#include "api/io.h"
#include "api/v1/sub.h"
#include "audit/audit.h"
#include "contract/limits.h"
#include "contract/preset.h"
#include "match/jq/jq.h"
#include "source/hook_store.h"

struct source_op {
	struct hook *hook;     /* as it will be; DELETE: as it is */
	int64_t was;           /* its version; 0: it is new */
	bool gone, same, once; /* DELETE; nothing to write; show the secret */
	int status;
	enum audit_category category;
	const char *details;
};

/* Looking ---------------------------------------------------------------------- */

/* The one that the path names. */
static int
sources_get(struct req *r, struct db *db, struct hook **ret, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) =
	    presets_load(api->conf);
	struct hook_rules rules = {.presets = presets};

	return hook_find(db, api->keyring, &rules, r->params[0], ret, e);
}

int
api_sources_get(struct req *r, struct db *db, struct err *e)
{
	struct hook *h CLEANUP(hook_freep) = NULL;

	TRY(sources_get(r, db, &h, e));
	hook_show(h, false, &r->out);
	return OK;
}

struct list_query {
	struct req *r;
	size_t shown, limit;
	struct str last;
	bool more;
};

static int
list_one(void *ctx, struct hook *h, struct err *)
{
	struct list_query *l = ctx;

	if (l->shown == l->limit) {
		l->more = true;
	} else {
		l->shown++;
		put_name(&l->r->out, NULL);
		hook_show(h, false, &l->r->out);
		l->last = arena_dup(l->r->arena, h->name);
	}
	hook_free(h);
	return OK;
}

int
api_sources_list(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) =
	    presets_load(api->conf);
	struct hook_rules rules = {.presets = presets};
	struct list_query l = {.r = r, .last = {.p = NULL}};
	struct api_page q = {.after = STR_EMPTY};

	TRY(api_query(r, API_PAGE_ONLY, &q, e));
	if (q.after.n > 0 && hook_name_check(q.after, e) < 0)
		return api_no_cursor(e);
	l.limit = (size_t)q.limit;
	api_list(r);
	TRY(hook_walk(db, api->keyring, &rules,
	    &(struct hook_each){q.after, l.limit + 1, list_one, &l}, e));
	api_list_end(r, l.more ? l.last : (struct str){.p = NULL});
	return OK;
}

/* Changing --------------------------------------------------------------------- */

static void
op_done(struct req *r)
{
	struct source_op *op = r->ctx;

	hook_free(op->hook);
}

static int
sources_answer(struct req *r, struct err *)
{
	struct source_op *op = r->ctx;

	if (!op->same)
		hooks_changed();
	r->status = op->status;
	if (!op->gone)
		hook_show(op->hook, op->once, &r->out);
	return OK;
}

static int
audit(struct req *r, struct db *db, struct err *e)
{
	const struct source_op *op = r->ctx;
	char id[UUID_LEN + 1];
	struct audit_row row = {
	    .category = op->category,
	    .at_us = clock_now_us(),
	    .actor = api_actor(r),
	    .target_type = STR("source"),
	    .object_name = r->params[0],
	    .details = str_of(op->details),
	};

	uuid_format(op->hook->uid, id);
	row.object_id = str_of(id);
	return audit_put(db, &row, e);
}

/* On the commit thread: sealed with whichever key is the active one by then. */
static int
write_it(struct req *r, struct db *db, struct err *e)
{
	struct source_op *op = r->ctx;
	struct api *api = r->app;

	TRY(op->gone
		? hook_remove(db, r->params[0], e)
		: hook_put(db, api->keyring, r->arena, op->hook, op->was, e));
	return audit(r, db, e);
}

static int
commit(struct req *r, struct err *e)
{
	struct source_op *op = r->ctx;

	if (op->same)
		return sources_answer(r, e);
	api_then(r, sources_answer);
	return api_write(r, write_it, e);
}

static struct source_op *
op_new(struct req *r)
{
	struct source_op *op = arena_alloc(r->arena, sizeof(*op));

	op->status = 200;
	op->category = AUDIT_SOURCE_CHANGED;
	r->ctx = op;
	r->done = op_done;
	return op;
}

static int
check_program(void *arg, struct str program, struct err *e)
{
	return jq_check(api_jq(arg), program, e);
}

int
api_sources_put(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct source_op *op = op_new(r);
	struct presets *presets CLEANUP(presets_freep) =
	    presets_load(api->conf);
	struct hook_rules rules = {
	    .presets = presets, .program_check = check_program, .arg = r};
	struct hook *old CLEANUP(hook_freep) = NULL;
	int rc = sources_get(r, db, &old, e);

	if (rc < 0 && rc != ERR_ABSENT)
		return rc;
	TRY(hook_read(r->body, r->params[0], old, &rules, &op->hook, e));
	op->hook->changed_us = clock_now_us();
	op->hook->uid = old ? old->uid : uuid_v4();
	op->hook->created_us = old ? old->created_us : op->hook->changed_us;
	op->was = old ? old->version : 0;
	op->status = old ? 200 : 201;
	op->once = !old || old->n_secrets == 0;
	return api_next(r, commit);
}

/* The one that the path names, to be changed. */
static int
sources_find(struct req *r, struct db *db, struct source_op *op, struct err *e)
{
	TRY(sources_get(r, db, &op->hook, e));
	op->was = op->hook->version;
	op->hook->changed_us = clock_now_us();
	return OK;
}

/* One that is closed would lose its secrets. */
static int
find_open(struct req *r, struct db *db, struct source_op *op, struct err *e)
{
	TRY(sources_find(r, db, op, e));
	if (op->hook->closed)
		return err_set(e, ERR_CONFLICT,
		    "its secrets can't be opened with the keys that are there");
	return OK;
}

int
api_sources_delete(struct req *r, struct db *db, struct err *e)
{
	struct source_op *op = op_new(r);

	op->gone = true;
	op->status = 204;
	op->category = AUDIT_SOURCE_DELETED;
	TRY(sources_find(r, db, op, e));
	return api_next(r, commit);
}

static int
turn(struct req *r, struct db *db, bool on, struct err *e)
{
	struct source_op *op = op_new(r);

	TRY(api_body_maybe(r, API_NONE, NULL, op, e));
	TRY(find_open(r, db, op, e));
	op->same = op->hook->enabled == on;
	op->hook->enabled = on;
	op->details = on ? "\"enabled\":true" : "\"enabled\":false";
	return api_next(r, commit);
}

int
api_sources_enable(struct req *r, struct db *db, struct err *e)
{
	return turn(r, db, true, e);
}

int
api_sources_disable(struct req *r, struct db *db, struct err *e)
{
	return turn(r, db, false, e);
}

struct rotate {
	struct str secret;
	int64_t overlap_s;
};

const struct member SOURCE_ROTATE_BODY[] = {
    {"secret", MEMBER_STRING, offsetof(struct rotate, secret), 0, INT32_MAX,
	.about = "absent: one is made"},
    {"overlapSeconds", MEMBER_INT, offsetof(struct rotate, overlap_s), 0,
	SUB_OVERLAP_MAX_S, .about = "for so long the old secret counts too"},
    {.name = NULL},
};

int
api_sources_rotate(struct req *r, struct db *db, struct err *e)
{
	struct rotate it = {STR_EMPTY, SUB_OVERLAP_S};
	struct source_op *op = op_new(r);

	TRY(api_body_maybe(r, SOURCE_ROTATE_BODY, NULL, &it, e));
	TRY(find_open(r, db, op, e));
	TRY(hook_rotate(op->hook, it.secret, it.overlap_s, clock_now_us(), e));
	op->once = true;
	op->category = AUDIT_SECRET_ROTATED;
	return api_next(r, commit);
}
