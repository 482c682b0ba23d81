/* tasks.h: the history of a task's webhooks, and sending one anew. */
#include <stdatomic.h>

#include "api/api.h"
#include "api/task/tasks.h"
#include "audit/audit.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "deliver/engine/deliver.h"
#include "task/history.h"
#include "task/task.h"

/* The list. What waits or is under way may be in the engine's memory alone, so
 * that it is asked, for as many as LOOKS_MAX. --------------------------------- */

#define LOOKS_MAX 64

struct look {
	struct ask_look ask;
	struct list_op *op;
	struct notice *notice;
};

struct list_op {
	struct req *r;
	struct notice *list;
	size_t n;
	struct look looks[LOOKS_MAX];
	_Atomic size_t left;
};

static void
show(const struct api *api, const struct notice *d, struct buf *b)
{
	buf_addz(b, "{\"id\":\"");
	uuid_add(b, delivery_id_make(&api->id_key, d->seq, d->sub, 0));
	buf_fmt(b, "\",\"event\":\"%s\",\"status\":\"%s\"",
	    task_event_name(d->event), notice_status_word(d->status));
	if (d->http_status > 0)
		buf_fmt(b, ",\"httpStatus\":%d", d->http_status);
	buf_fmt(b, ",\"attempts\":%d,\"createdAt\":\"", d->attempts);
	time_add(b, d->created_us);
	buf_addc(b, '"');
	if (d->completed_us > 0) {
		buf_addz(b, ",\"completedAt\":\"");
		time_add(b, d->completed_us);
		buf_addc(b, '"');
	}
	if (d->error.p) {
		buf_addz(b, ",\"errorMessage\":");
		buf_json(b, d->error);
	}
	buf_addc(b, '}');
}

static int
list_answer(struct req *r, struct err *e)
{
	const struct list_op *op = r->ctx;

	(void)e;
	tasks_data(r);
	buf_addz(&r->out, "{\"deliveries\":[");
	for (size_t i = 0; op && i < op->n; i++) {
		if (i > 0)
			buf_addc(&r->out, ',');
		show(r->app, &op->list[i], &r->out);
	}
	buf_fmt(&r->out, "],\"total\":%zu}", op ? op->n : 0);
	return tasks_data_end(r);
}

/* On the deliver thread. */
static void
looked(struct deliver_ask *q)
{
	struct look *l = MAIL_OF(q, struct look, ask.ask);
	struct list_op *op = l->op;

	if (q->err.code == OK)
		notice_look(l->notice, &l->ask.look);
	if (atomic_fetch_sub(&op->left, 1) == 1)
		req_wake(op->r);
}

static int
list_look(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct list_op *op = r->ctx;
	size_t n = 0;

	if (r->rc < 0)
		return api_said(r, e);
	r->then = list_answer;
	atomic_store(&op->left, 1); /* ours, until all are asked */
	for (size_t i = 0; i < op->n && n < LOOKS_MAX; i++) {
		struct look *l = &op->looks[n];
		struct notice *d = &op->list[i];

		if (d->status == NOTICE_DELIVERED || d->status == NOTICE_FAILED)
			continue;
		*l = (struct look){.ask = {.ask = {.kind = ASK_LOOK,
					       .sub = d->sub,
					       .done = looked},
				       .seq = d->seq},
		    .op = op,
		    .notice = d};
		(void)atomic_fetch_add(&op->left, 1);
		if (!deliver_post(api->deliver, &l->ask.ask))
			(void)atomic_fetch_sub(&op->left, 1);
		n++;
	}
	return atomic_fetch_sub(&op->left, 1) == 1 ? list_answer(r, e)
						   : REQ_WAIT;
}

int
api_webhooks_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"taskId", NULL};
	const struct api *api = r->app;
	struct list_op *op = arena_alloc(r->arena, sizeof(*op));
	struct str text = STR_EMPTY;
	struct task t = {.owner = 0};
	struct uuid id;
	int rc = op ? req_query_only(r, NAMES, e)
		    : err_set(e, ERR_NOMEM, "no memory for a list");

	if (rc == OK && (!req_query(r, "taskId", &text) || text.n == 0))
		return tasks_refuse(
		    r, 400, "MISSING_TASK_ID", "taskId parameter is required");
	if (rc == OK)
		rc = uuid_parse(text, &id) ? task_get(db, id, r->arena, &t, e)
					   : ERR_ABSENT;
	if (rc == OK && (r->who.kind != WHO_KEY || r->who.id != t.owner))
		rc = ERR_ABSENT;
	/* Not there, or not yours: there is nothing to tell. */
	if (rc == ERR_ABSENT)
		return list_answer(r, e);
	if (rc == OK)
		rc = history_list(db, &t, r->arena, &op->list, &op->n, e);
	if (rc < 0)
		return rc;
	op->r = r;
	r->ctx = op;
	if (!api->deliver)
		return list_answer(r, e);
	r->then = list_look;
	return REQ_WAIT;
}

/* Again, from attempt 0 -------------------------------------------------------------- */

struct retry_op {
	struct req *r;
	struct uuid id;
	struct notice_again again;
	struct ask_requeue ask;
};

static int
retry_answer(struct req *r, struct err *e)
{
	const struct retry_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	tasks_data(r);
	buf_addz(&r->out, "{\"deliveryId\":\"");
	uuid_add(&r->out, op->id);
	buf_addz(&r->out, "\",\"message\":\"Retry initiated successfully\"}");
	return tasks_data_end(r);
}

/* On the commit thread. */
static int
write_base(struct req *r, struct db *db, struct err *e)
{
	const struct retry_op *op = r->ctx;
	char id[UUID_LEN + 1];
	struct audit_row row = {
	    .category = AUDIT_WEBHOOK_DELIVERY_RETRY,
	    .at_us = clock_now_us(),
	    .actor = api_actor(r),
	    .target_type = STR("delivery"),
	    .attempts = op->again.n,
	};
	int rc = history_anew(
	    db, op->ask.decide.seq, op->ask.decide.ask.sub, op->again.n, e);

	uuid_format(op->id, id);
	row.delivery_id = str_of(id);
	return rc == OK ? audit_put(db, &row, e) : rc;
}

static int
retry_write(struct req *r, struct err *e)
{
	if (r->rc < 0)
		return api_said(r, e);
	r->then = retry_answer;
	return api_write(r, write_base, e);
}

/* The engine has it, committed. */
static void
retry_asked(struct deliver_ask *q)
{
	struct retry_op *op = q->arg;

	op->r->rc = q->err.code;
	op->r->err = q->err;
	req_wake(op->r);
}

static int
retry_ask(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct retry_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	r->then = retry_write;
	if (!api->deliver || !deliver_post(api->deliver, &op->ask.decide.ask))
		return err_set(e, ERR_AWAY, "this server does not deliver now");
	return REQ_WAIT;
}

int
api_webhooks_retry(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct retry_op *op = arena_alloc(r->arena, sizeof(*op));
	int64_t seq = 0;
	uint32_t sub = 0;
	uint16_t rep = 0;
	int rc = op ? OK : err_set(e, ERR_NOMEM, "no memory for a request");

	if (rc == OK &&
	    (r->who.kind != WHO_KEY || !uuid_parse(r->params[0], &op->id) ||
		!delivery_id_open(&api->id_key, op->id, &seq, &sub, &rep) ||
		rep != 0))
		rc = ERR_ABSENT;
	if (rc == OK)
		rc = history_find(db, seq, sub, r->who.id, &op->again, e);
	if (rc == ERR_ABSENT)
		return tasks_refuse(r, 404, "DELIVERY_NOT_FOUND",
		    "Webhook delivery record not found");
	if (rc < 0)
		return rc;
	op->r = r;
	op->ask = (struct ask_requeue){
	    .decide.ask.kind = ASK_REQUEUE,
	    .decide.ask.sub = sub,
	    .decide.ask.done = retry_asked,
	    .decide.ask.arg = op,
	    .decide.seq = seq,
	    .decide.who = api_actor(r),
	    .okey = op->again.okey,
	    .skey = op->again.skey,
	    .n = op->again.n,
	};
	r->ctx = op;
	r->then = retry_ask;
	return REQ_WAIT;
}

int
api_webhooks_stats(struct req *r, struct db *db, struct err *e)
{
	struct history_count c = {0};
	int rc = OK;

	if (r->who.kind == WHO_KEY)
		rc = history_count(db, r->who.id, &c, e);
	if (rc < 0)
		return rc;
	tasks_data(r);
	history_count_show(&c, &r->out);
	return tasks_data_end(r);
}
