/*
 * sub.h: trying out a subscription, saved or not.
 *
 *   check: read, the template is run ─▶ caller: names ─▶ the engine sends once
 *                              │ it fails                        │
 *                              └──────────▶ commit: the audit ◀──┘─▶ http
 *
 * One that is not saved goes to the engine as it would be stored, its secrets
 * sealed, since the node that delivers may be another one; nothing of it stays.
 * A template is run here: the engine's thread serves all deliveries, and a
 * program of a stranger may take its time.
 */
#include "api/api.h"
#include "api/io.h"
#include "api/limits.h"
#include "api/v1/sub.h"
#include "contract/request.h"
#include "contract/sub.h"
#include "match/jq/jq.h"
#include "seal/keyring.h"

/* As one that was published. */
static struct str
test_event(struct req *r, const struct sub_conf *s, struct str type)
{
	struct buf b CLEANUP(buf_done) = BUF(4 * KIB);

	put_open(&b, NULL, '{');
	put_uuid(&b, "eventId", uuid_v4());
	put_int(&b, "schemaVersion", 1);
	put_text(&b, "eventType", type);
	put_time(&b, "occurredAt", clock_now_us());
	if (s->tenants.n > 0)
		put_text(&b, "tenantId", s->tenants.names[0]);
	else
		put_uuid(&b, "tenantId", (struct uuid){{0}});
	put_raw(&b, "producer",
	    STR("{\"service\":\"hikyaku\",\"instanceId\":\"test\"}"));
	put_uuid(&b, "correlationId", uuid_v4());
	put_raw(&b, "sequence", STR("{\"partitionKey\":\"test\"}"));
	put_open(&b, "payload", '{');
	put_z(&b, "message", "This is a test.");
	put_text(&b, "subscription", s->name);
	put_close(&b, '}');
	put_close(&b, '}');
	return arena_dup(r->arena, buf_str(&b));
}

/* A try holds a connection, and one to a receiver that hangs for long. */
static int
count_try(struct sub_op *op, struct err *e)
{
	struct api *api = op->r->app;
	unsigned slot = share_principal(&api->tries, &op->r->who);

	op->try_slot = slot + 1;
	if (share_add(&api->tries, slot, 1) <= TRIES_EACH)
		return OK;
	(void)err_set(e, ERR_BUSY, "at most %d test sends at once", TRIES_EACH);
	e->retry_after_s = 1;
	return ERR_BUSY;
}

void
sub_try_done(struct sub_op *op)
{
	struct api *api = op->r->app;

	if (op->try_slot)
		share_sub(&api->tries, op->try_slot - 1, 1);
}

/* The answer, once it is in the audit. */
static int
told(struct req *r, struct err *e)
{
	const struct sub_op *op = r->ctx;
	const struct deliver_test *t = &op->ask.test;
	struct str error = {.p = NULL};
	struct buf *b;

	if (op->ask.ask.err.code < 0) {
		*e = op->ask.ask.err;
		return e->code;
	}
	if (t->error[0] && !t->success)
		error = (struct str){t->error, str_utf8_bad(str_of(t->error))};
	b = api_object(r);
	put_bool(b, "success", t->success);
	put_some(b, "statusCode", t->status > 0 ? t->status : 0);
	put_int(b, "responseTimeMs", t->took_us / US_PER_MS);
	put_text(b, "error", error);
	put_close(b, '}');
	return OK;
}

static int
audit_try(struct req *r, struct db *db, struct err *e)
{
	const struct sub_op *op = r->ctx;

	return audit_put(db, &op->change.audit, e);
}

/* Also of what nobody can tell: it may have been sent. */
static int
tried(struct req *r, struct err *e)
{
	struct sub_op *op = r->ctx;
	const struct deliver_test *t = &op->ask.test;
	struct audit_row *row = &op->change.audit;
	struct err *why = &op->ask.ask.err;

	if (r->rc < 0 && why->code == OK)
		*why = *e; /* nobody could be asked */
	op->change.now_us = clock_now_us();
	sub_op_audit(op, AUDIT_SUBSCRIPTION_TESTED);
	row->event_type = op->ask.type;
	row->has_result = true;
	row->success = why->code == OK && t->success;
	row->status = t->status;
	row->attempts = 1;
	row->ms = t->took_us / US_PER_MS;
	row->payload_bytes = (int64_t)op->ask.body.n;
	row->error = why->code < 0 ? str_of(why->text)
		     : t->success  ? STR_EMPTY
				   : str_of(t->error);
	row->details = op->ask.conf.n > 0 ? STR("\"saved\":false") : STR_EMPTY;
	api_then(r, told);
	return api_write(r, audit_try, e);
}

static int
send_try(struct req *r, struct err *e)
{
	struct sub_op *op = r->ctx;

	if (op->ask.test.error[0]) { /* there is nothing to send */
		r->rc = OK;
		return tried(r, e);
	}
	sub_op_behind(op, ASK_TEST);
	return api_ask_anyway(r, &op->ask.ask, tried, e);
}

static int
look_and_send(struct req *r, struct err *e)
{
	return sub_op_look(r->ctx, send_try, e);
}

/* On the check thread: `event`, or one of ours. */
static int
begin_try(
    struct sub_op *op, struct db *db, const struct json *event, struct err *e)
{
	const struct sub_conf *s = op->seen.conf;
	const struct json *type = json_get(event, "eventType");
	struct ask_test *q = &op->ask;
	struct req *r = op->r;
	struct err why = {0};
	int id = -1, rc;

	TRY(count_try(op, e));
	TRY(api_behind(r, db, &q->ask, e));
	q->type = json_is(type, JSON_STRING) ? type->text
					     : request_test_type(r->arena, s);
	q->made = !event;
	q->body = event ? event->raw : test_event(r, s, q->type);
	if (s->template.n == 0)
		return api_next(r, look_and_send);
	rc = jq_program(api_jq(r), s->template, &id, &why);
	if (rc == OK)
		rc = jq_render(
		    api_jq(r), id, q->body, r->arena, &q->rendered, &why);
	if (id >= 0)
		jq_forget(api_jq(r), id);
	if (rc == ERR_AWAY) {
		*e = why;
		return rc;
	}
	if (rc < 0)
		(void)snprintf(
		    q->test.error, sizeof(q->test.error), "%s", why.text);
	return api_next(r, look_and_send);
}

const struct member SUBS_TEST_BODY[] = {
    {"event", MEMBER_OBJECT, 0,
	.about = "absent: one of type TEST, or where the preset has "
		 "no path for it of a type that has one"},
    {.name = NULL},
};

int
api_subs_test(struct req *r, struct db *db, struct err *e)
{
	const struct json *event = NULL;
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(api_body_maybe(r, SUBS_TEST_BODY, NULL, &event, e));
	/* Also of one that is managed elsewhere: nothing is changed. */
	TRY(sub_seen_get(r, db, op->presets, &op->seen, e));
	return begin_try(op, db, event, e);
}

int
api_subs_try(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct sub_seal by;
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(sub_op_read(op, r->body, NULL, NULL, &op->seen.conf, e));
	if (!sub_called(op->seen.conf))
		return err_at(e, ERR_INVALID, "/url",
		    "must be http:// or https:// and a host");
	op->seen.uid = op->ask.uid = uuid_v4();
	by = sub_seal_by(api->keyring, r->arena, op->ask.uid);
	TRY(sub_store(op->seen.conf, &by, r->arena, &op->ask.conf, e));
	return begin_try(op, db, NULL, e);
}
