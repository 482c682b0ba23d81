/* sub.h: the check thread, and the way of a change through the threads. */

#include "api/api.h"
#include "api/v1/sub.h"
#include "base/log/log.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
#include "event/append.h"
#include "match/jq/jq.h"
#include "sql.h"

struct checker {
	struct db *db;
	struct jq *jq; /* made when first needed */
};

void *
api_checker_enter(void *arg)
{
	struct api *api = arg;
	struct checker *k = mem_get(sizeof(*k));
	struct err e = {0};

	if (db_open(api->store, DB_READ, &k->db, &e) < 0) {
		log_err(LOG_ERROR, "the check thread has no connection", &e);
		free(k);
		return NULL;
	}
	api->checker = k;
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
	struct checker *k = ctx;

	r->rc = k ? r->work(r, k->db, &r->err)
		  : err_set(&r->err, ERR_AWAY, "no connection to the store");
	req_wake(r);
}

int
api_check(struct req *r, handler_fn fn, struct err *e)
{
	struct api *api = r->app;

	r->work = fn;
	r->job.run = check_job;
	if (!r->then)
		r->then = api_said;
	return pool_post(api->check, &r->job) ? REQ_WAIT : api_too_busy(e);
}

struct jq *
api_jq(const struct req *r)
{
	const struct api *api = r->app;
	struct checker *k = api->checker;

	if (!k->jq)
		k->jq = jq_new("/proc/self/exe");
	return k->jq;
}

static void
op_done(struct req *r)
{
	struct sub_op *op = r->ctx;

	sub_try_done(op);
	sub_seen_done(&op->seen);
	presets_free(op->presets);
}

int
sub_op_new(struct req *r, struct db *db, struct sub_op **ret, struct err *e)
{
	const struct api *api = r->app;
	struct sub_op *op = arena_alloc(r->arena, sizeof(*op));

	op->r = r;
	op->status = 200;
	r->ctx = op;
	r->done = op_done;
	*ret = op;
	return presets_open(db, api->conf, &op->presets, e);
}

int
sub_op_find(struct sub_op *op, struct db *db, struct err *e)
{
	TRY(sub_seen_get(op->r, db, op->presets, &op->seen, e));
	if (op->seen.managed &&
	    !(op->switches && sub_managed_by(op->seen.conf).directed))
		return err_set(e, ERR_CONFLICT,
		    "this subscription is managed by the %.*s and is changed there",
		    STR_ARG(op->seen.conf->managed.by));
	if (op->seen.closed)
		return err_set(e, ERR_CONFLICT,
		    "its secrets can't be opened with the keys that are there");
	return OK;
}

/* It may have gone since the check. */
static int
preset_there(struct db *db, struct str name, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_preset_there(db, &rows, e, .name = name));
	if (TRY(rows_next(rows, e)) == 0)
		return err_at(e, ERR_INVALID, "/preset",
		    "preset %.*s is not known", STR_ARG(name));
	return OK;
}

/* On the commit thread: of whichever key is the active one by then. */
int
sub_op_seal(struct db *db, struct sub_change *c, struct err *e)
{
	struct sub_op *op = c->arg;
	const struct api *api = op->r->app;
	struct sub_seal by = sub_seal_by(api->keyring, op->r->arena, c->uid);

	if (!op->seen.conf->preset->builtin)
		TRY(preset_there(db, op->seen.conf->preset->name, e));
	return sub_store(op->seen.conf, &by, op->r->arena, &c->conf, e);
}

static struct str
tenants_text(struct arena *a, const struct sub_conf *s)
{
	struct buf b CLEANUP(buf_done) = BUF(64 * KIB);

	put_uuids(&b, NULL, s->tenants.v, s->tenants.n);
	return s->tenants.n > 0 ? arena_dup(a, buf_str(&b))
				: (struct str){.p = NULL};
}

void
sub_op_audit(struct sub_op *op, enum audit_category category)
{
	const struct sub_conf *s = op->seen.conf;
	struct arena *a = op->r->arena;
	struct str *names = arena_array(a, s->n_headers + 1, sizeof(*names));
	char *id = arena_alloc(a, UUID_LEN + 1);

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
}

void
sub_op_fill(
    struct sub_op *op, enum sub_change_kind kind, enum audit_category category)
{
	struct sub_seen *s = &op->seen;
	struct sub_change *c = &op->change;
	enum wish_kind gathers = wish_kind_of(s->conf);

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
	c->tenants = tenants_text(op->r->arena, s->conf);
	sub_op_audit(op, category);
	s->changed_us = c->now_us;
	if (kind == SUB_MAKE)
		s->created_us = c->now_us;
	s->version++;
}

static void
committed(struct append_job *job)
{
	struct sub_op *op = MAIL_OF(job, struct sub_op, change.job);

	api_wake(op->r, &job->err);
}

static int
sub_check_answer(struct req *r, struct err *)
{
	struct sub_op *op = r->ctx;

	r->status = op->status;
	if (op->status == 204)
		return OK;
	if (op->show)
		op->show(op, &r->out);
	else
		sub_seen_show(r->app, &op->seen, op->once, &r->out);
	return OK;
}

void
sub_op_behind(struct sub_op *op, enum deliver_ask_kind kind)
{
	const struct api *api = op->r->app;
	struct deliver_ask *q = &op->ask.ask;
	int64_t last = append_last_seq(api->append);

	q->kind = kind;
	q->sub = (uint32_t)op->seen.id;
	if (q->behind < last)
		q->behind = last;
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
sub_op_save(struct req *r, struct err *e)
{
	return sub_op_look(r->ctx, sub_op_commit, e);
}

int
sub_op_commit(struct req *r, struct err *e)
{
	struct sub_op *op = r->ctx;

	if (op->same)
		return sub_check_answer(r, e);
	api_then(r, sub_check_answer);
	return sub_op_post(op, e);
}
