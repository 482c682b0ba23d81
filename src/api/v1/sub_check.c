/* subs.h: the check thread, and the way of a change through the threads. */
#include <assert.h>

#include "api/api.h"
#include "api/v1/subs.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log/log.h"
#include "base/str.h"
#include "contract/sub.h"
#include "event/append.h"
#include "match/jq/jq.h"
#include "sql.h"

void *
api_checker_enter(void *arg)
{
	const struct api *api = arg;
	struct checker *k = calloc(1, sizeof(*k));
	struct err e = {0};

	if (!k)
		return NULL;
	k->api = api;
	if (db_open(api->store, DB_READ, &k->db, &e) < 0) {
		log_err(LOG_ERROR, "the check thread has no connection", &e);
		free(k);
		return NULL;
	}
	return k;
}

void
api_checker_leave(void *arg)
{
	struct checker *k = arg;

	if (!k)
		return;
	jq_free(k->jq);
	db_close(k->db);
	free(k);
}

static void
check_job(struct pool_job *job, void *ctx)
{
	struct req *r = MAIL_OF(job, struct req, job);
	struct sub_op *op = r->ctx;

	r->rc = ctx ? op->check(op, ctx, &r->err)
		    : err_set(&r->err, ERR_AWAY, "no connection to the store");
	req_wake(r);
}

static void
op_done(struct req *r)
{
	struct sub_op *op = r->ctx;

	sub_seen_done(&op->seen);
}

int
sub_op_begin(struct req *r,
    int (*check)(struct sub_op *op, struct checker *k, struct err *e),
    int (*then)(struct req *r, struct err *e), struct err *e)
{
	struct api *api = r->app;
	struct sub_op *op = arena_alloc(r->arena, sizeof(*op));

	if (!op)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	op->r = r;
	op->check = check;
	op->status = 200;
	r->ctx = op;
	r->done = op_done;
	r->then = then;
	r->job.run = check_job;
	return pool_post(api->check, &r->job) ? REQ_WAIT : api_too_busy(e);
}

int
sub_op_find(struct sub_op *op, struct checker *k, const struct presets *presets,
    struct err *e)
{
	int rc = sub_seen_get(op->r, k->db, presets, &op->seen, e);

	if (rc == OK && op->seen.managed)
		rc = err_set(e, ERR_CONFLICT,
		    "this subscription is managed by the %.*s and is changed there",
		    STR_ARG(op->seen.conf->managed.by));
	if (rc == OK && op->seen.closed)
		rc = err_set(e, ERR_CONFLICT,
		    "its secrets can't be opened with the keys that are there");
	return rc;
}

/* It may have gone since the check. */
static int
preset_there(struct db *db, struct str name, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_preset_there(db, &rows, e, .name = name);

	if (rc == OK)
		rc = rows_next(rows, e);
	rows_close(rows);
	if (rc == 0)
		return err_at(e, ERR_INVALID, "/preset",
		    "preset %.*s is not known", STR_ARG(name));
	return rc < 0 ? rc : OK;
}

/* On the commit thread: of whichever key is the active one by then. */
int
sub_op_seal(struct db *db, struct sub_change *c, struct err *e)
{
	struct sub_op *op = c->arg;
	struct sub_sealer sealer;
	struct sub_seal by;
	int rc = sub_sealer(op->r->app, op->r->arena, c->uid, &sealer, &by, e);

	if (rc == OK && !op->seen.conf->preset->builtin)
		rc = preset_there(db, op->seen.conf->preset->name, e);
	if (rc == OK)
		rc = sub_store(op->seen.conf, &by, op->r->arena, &c->conf, e);
	return rc;
}

static int
tenants_text(
    struct arena *a, const struct sub_conf *s, struct str *ret, struct err *e)
{
	struct buf b = BUF(64 * KIB);

	*ret = (struct str){.p = NULL};
	if (s->n_tenants == 0)
		return OK;
	for (size_t i = 0; i < s->n_tenants; i++) {
		buf_addz(&b, i ? ",\"" : "[\"");
		uuid_add(&b, s->tenants[i]);
		buf_addc(&b, '"');
	}
	buf_addc(&b, ']');
	*ret = arena_dup(a, buf_str(&b));
	buf_done(&b);
	return ret->p ? OK : err_set(e, ERR_NOMEM, "no memory for tenants");
}

static int
fill_audit(struct sub_op *op, enum audit_category category, struct err *e)
{
	const struct sub_conf *s = op->seen.conf;
	struct arena *a = op->r->arena;
	struct str *names = arena_array(a, s->n_headers + 1, sizeof(*names));
	char *id = arena_try(a, UUID_LEN + 1);

	if (!names || !id)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	for (size_t i = 0; i < s->n_headers; i++)
		names[i] = s->headers[i].name;
	uuid_format(op->seen.uid, id);
	op->change.audit = (struct audit_row){
	    .category = category,
	    .at_us = op->change.now_us,
	    .actor = api_actor(op->r),
	    .target_type = STR("subscription"),
	    .object_id = str_of(id),
	    .object_name = s->name,
	    .webhook_id = str_of(id),
	    .url = s->url,
	    .header_names = names,
	    .n_header_names = s->n_headers,
	};
	return OK;
}

int
sub_op_fill(struct sub_op *op, enum sub_change_kind kind,
    enum audit_category category, struct err *e)
{
	struct sub_seen *s = &op->seen;
	struct sub_change *c = &op->change;
	enum wish_kind gathers = wish_kind_of(s->conf);
	int rc;

	*c = (struct sub_change){
	    .kind = kind,
	    .id = s->id,
	    .version = s->version,
	    .uid = s->uid,
	    .name = s->conf->name,
	    .url = s->conf->url,
	    .preset = s->conf->preset->name,
	    .enabled = s->enabled,
	    .why = s->why.p ? s->why : STR_EMPTY,
	    .held = s->held,
	    .managed_by = {.p = NULL},
	    .owner = op->r->who.kind == WHO_KEY ? op->r->who.id : 0,
	    .now_us = clock_now_us(),
	    .was_kind = gathers == s->kind ? -1 : (int)s->kind,
	    .arg = op,
	};
	if (kind == SUB_MAKE || kind == SUB_CHANGE)
		c->fill = sub_op_seal;
	rc = tenants_text(op->r->arena, s->conf, &c->tenants, e);
	if (rc == OK)
		rc = fill_audit(op, category, e);
	s->changed_us = c->now_us;
	if (kind == SUB_MAKE)
		s->created_us = c->now_us;
	s->version++;
	return rc;
}

static void
committed(struct append_job *job)
{
	struct sub_op *op = MAIL_OF(job, struct sub_op, change.job);

	op->r->rc = job->err.code;
	op->r->err = job->err;
	req_wake(op->r);
}

static int
answer(struct req *r, struct err *e)
{
	struct sub_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	r->status = op->status;
	buf_clear(&r->out);
	if (op->status != 204)
		sub_seen_show(r->app, &op->seen, op->once, &r->out);
	return OK;
}

int
sub_op_post(struct sub_op *op, struct err *e)
{
	struct api *api = op->r->app;

	op->change.job.done = committed;
	return control_post(api->append, &op->change, e) < 0 ? (int)e->code
							     : REQ_WAIT;
}

int
sub_op_commit(struct req *r, struct err *e)
{
	struct sub_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	if (op->same)
		return answer(r, e);
	r->then = answer;
	return sub_op_post(op, e);
}
