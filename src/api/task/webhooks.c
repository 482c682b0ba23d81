/* tasks.h: the history of a task's webhooks, and sending one anew. */
#include <stdatomic.h>

#include "api/api.h"
#include "api/io.h"
#include "api/task/tasks.h"
#include "audit/audit.h"
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
webhooks_show(const struct api *api, const struct notice *d, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "id", delivery_id_make(&api->id_key, d->seq, d->sub, 0));
	put_z(b, "event", TASK_WORDS[d->event].event);
	put_z(b, "status", notice_status_word(d->status));
	if (d->http_status > 0)
		put_int(b, "httpStatus", d->http_status);
	put_int(b, "attempts", d->attempts);
	put_time(b, "createdAt", d->created_us);
	if (d->completed_us > 0)
		put_time(b, "completedAt", d->completed_us);
	if (d->error.p)
		put_text(b, "errorMessage", d->error);
	put_close(b, '}');
}

static int
list_answer(struct req *r, struct err *)
{
	const struct list_op *op = r->ctx;

	tasks_data(r);
	put_open(&r->out, NULL, '{');
	put_open(&r->out, "deliveries", '[');
	for (size_t i = 0; op && i < op->n; i++)
		webhooks_show(r->app, &op->list[i], &r->out);
	put_close(&r->out, ']');
	put_int(&r->out, "total", op ? (int64_t)op->n : 0);
	put_close(&r->out, '}');
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

const struct member WEBHOOKS_QUERY[] = {
    {"taskId", MEMBER_STRING, 0, 0, API_CURSOR_MAX, .about = "it is required"},
    {.name = NULL},
};

int
api_webhooks_list(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct list_op *op = arena_alloc(r->arena, sizeof(*op));
	struct str text = STR_EMPTY;
	struct task t = {.owner = 0};
	struct uuid id;
	int rc;

	TRY(api_query(r, WEBHOOKS_QUERY, &text, e));
	if (text.n == 0)
		return tasks_refuse(
		    r, 400, "MISSING_TASK_ID", "taskId parameter is required");
	rc = uuid_parse(text, &id) ? task_get(db, id, r->arena, &t, e)
				   : ERR_ABSENT;
	if (rc == OK && (r->who.kind != WHO_KEY || r->who.id != t.owner))
		rc = ERR_ABSENT;
	/* Not there, or not yours: there is nothing to tell. */
	if (rc == ERR_ABSENT)
		return list_answer(r, e);
	TRY(rc);
	TRY(history_list(db, &t, r->arena, &op->list, &op->n, e));
	op->r = r;
	r->ctx = op;
	if (!api->deliver)
		return list_answer(r, e);
	api_then(r, list_look);
	return REQ_WAIT;
}

/* Again, from attempt 0 -------------------------------------------------------------- */

struct retry_op {
	struct uuid id;
	struct notice_again again;
	struct ask_requeue ask;
};

static int
retry_answer(struct req *r, struct err *)
{
	const struct retry_op *op = r->ctx;

	tasks_data(r);
	put_open(&r->out, NULL, '{');
	put_uuid(&r->out, "deliveryId", op->id);
	put_z(&r->out, "message", "Retry initiated successfully");
	put_close(&r->out, '}');
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

	TRY(history_anew(
	    db, op->ask.decide.seq, op->ask.decide.ask.sub, op->again.n, e));
	uuid_format(op->id, id);
	row.delivery_id = str_of(id);
	return audit_put(db, &row, e);
}

static int
retry_write(struct req *r, struct err *e)
{
	api_then(r, retry_answer);
	return api_write(r, write_base, e);
}

static int
retry_ask(struct req *r, struct err *e)
{
	struct retry_op *op = r->ctx;

	api_then(r, retry_write);
	return api_ask(r, &op->ask.decide.ask, e);
}

int
api_webhooks_retry(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct retry_op *op = arena_alloc(r->arena, sizeof(*op));
	int64_t seq = 0;
	uint32_t sub = 0;
	uint16_t rep = 0;
	int rc = OK;

	if (r->who.kind != WHO_KEY || !uuid_parse(r->params[0], &op->id) ||
	    !delivery_id_open(&api->id_key, op->id, &seq, &sub, &rep) ||
	    rep != 0)
		rc = ERR_ABSENT;
	if (rc == OK)
		rc = history_find(db, seq, sub, r->who.id, &op->again, e);
	if (rc == ERR_ABSENT)
		return tasks_refuse(r, 404, "DELIVERY_NOT_FOUND",
		    "Webhook delivery record not found");
	TRY(rc);
	op->ask = (struct ask_requeue){
	    .decide.ask.kind = ASK_REQUEUE,
	    .decide.ask.sub = sub,
	    .decide.seq = seq,
	    .okey = op->again.okey,
	    .skey = op->again.skey,
	    .n = op->again.n,
	    .decide.who = api_actor(r),
	};
	TRY(api_behind(r, db, &op->ask.decide.ask, e));
	r->ctx = op;
	api_then(r, retry_ask);
	return REQ_WAIT;
}

int
api_webhooks_stats(struct req *r, struct db *db, struct err *e)
{
	struct history_count c = {0};

	if (r->who.kind == WHO_KEY)
		TRY(history_count(db, r->who.id, &c, e));
	tasks_data(r);
	history_count_show(&c, &r->out);
	return tasks_data_end(r);
}
