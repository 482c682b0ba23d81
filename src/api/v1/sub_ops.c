/* sub.h: switching, ending, rotating and trying out a subscription. */
#include "api/api.h"
#include "api/io.h"
#include "api/v1/sub.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
#include "event/append.h"

/* Asking the engine, as soon as it has read what the log has now. */
static int
sub_ops_ask(struct req *r, enum deliver_ask_kind kind,
    int (*next)(struct req *r, struct err *e), struct err *e)
{
	struct api *api = r->app;
	struct sub_op *op = r->ctx;

	op->ask.ask.kind = kind;
	op->ask.ask.sub = (uint32_t)op->seen.id;
	op->ask.ask.behind = append_last_seq(api->append);
	api_then(r, next);
	return api_ask(r, &op->ask.ask, e);
}

/* Switching --------------------------------------------------------------- */

static int
check_enable(struct sub_op *op, struct checker *k, struct err *e)
{
	static const char *const FROM[] = {"resume", "now", NULL};
	static const struct member BODY[] = {
	    {"from", MEMBER_EITHER, offsetof(struct sub_op, skip),
		.words = FROM, .about = "now leaves out what waits"},
	    {.name = NULL},
	};

	TRY(api_body_maybe(op->r, BODY, NULL, op, e));
	TRY(sub_op_find(op, k, e));
	op->same = op->seen.enabled && !op->seen.held.p;
	if (op->same)
		return OK;
	op->seen.enabled = op->seen.conf->enabled = true;
	op->seen.why = STR_EMPTY;
	op->seen.held = (struct str){.p = NULL};
	sub_op_fill(op, SUB_SWITCH, AUDIT_SUBSCRIPTION_CHANGED);
	op->change.audit.details =
	    op->skip ? STR("\"enabled\":true,\"from\":\"now\"")
		     : STR("\"enabled\":true,\"from\":\"resume\"");
	return OK;
}

/*
 * What is to be left out is left out before anything goes on: the other way
 * round some of it would be sent.
 */
static int
enable(struct req *r, struct err *e)
{
	const struct sub_op *op = r->ctx;

	return op->skip ? sub_ops_ask(r, ASK_NOW, sub_op_commit, e)
			: sub_op_commit(r, e);
}

int
api_subs_enable(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_enable, enable, e);
}

static int
check_disable(struct sub_op *op, struct checker *k, struct err *e)
{
	static const struct member BODY[] = {
	    {"reason", MEMBER_STRING, 0, 0, SUB_NAME_MAX},
	    {.name = NULL},
	};
	struct str why = {.p = NULL};

	TRY(api_body_maybe(op->r, BODY, NULL, &why, e));
	TRY(sub_op_find(op, k, e));
	op->same = !op->seen.enabled;
	if (op->same)
		return OK;
	op->seen.enabled = op->seen.conf->enabled = false;
	op->seen.why = why.p ? why
			     : arena_fmt(op->r->arena, "disabled by %.*s",
				   STR_ARG(api_actor(op->r)));
	sub_op_fill(op, SUB_SWITCH, AUDIT_SUBSCRIPTION_DISABLED);
	op->change.audit.error = op->seen.why;
	return OK;
}

int
api_subs_disable(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_disable, sub_op_commit, e);
}

/* Ending ------------------------------------------------------------------ */

static int
check_delete(struct sub_op *op, struct checker *k, struct err *e)
{
	TRY(sub_op_find(op, k, e));
	sub_op_fill(op, SUB_FINISH, AUDIT_SUBSCRIPTION_DELETED);
	op->status = 204;
	return OK;
}

int
api_subs_delete(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_delete, sub_op_commit, e);
}

/* Another secret ---------------------------------------------------------- */

static int
check_rotate(struct sub_op *op, struct checker *k, struct err *e)
{
	static const struct member BODY[] = {
	    {"overlapSeconds", MEMBER_INT, 0, 0, SUB_OVERLAP_MAX_S,
		.about = "for so long the old secret counts too"},
	    {.name = NULL},
	};
	int64_t overlap_s = SUB_OVERLAP_S;
	int rc;

	TRY(api_body_maybe(op->r, BODY, NULL, &overlap_s, e));
	TRY(sub_op_find(op, k, e));
	rc = sub_rotate(op->seen.conf, overlap_s, clock_now_us(), e);
	if (rc == ERR_LIMIT) /* not of the request: of what is there */
		e->code = ERR_CONFLICT;
	if (rc < 0)
		return e->code;
	sub_op_fill(op, SUB_CHANGE, AUDIT_SECRET_ROTATED);
	op->once = true;
	return OK;
}

int
api_subs_rotate(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_rotate, sub_op_commit, e);
}

/* Trying it out ------------------------------------------------------------ */

/* As one that was published, of type TEST. */
static struct str
test_event(struct req *r, const struct sub_conf *s)
{
	struct buf b CLEANUP(buf_done) = BUF(4 * KIB);

	put_open(&b, NULL, '{');
	put_uuid(&b, "eventId", uuid_v4());
	put_int(&b, "schemaVersion", 1);
	put_z(&b, "eventType", "TEST");
	put_time(&b, "occurredAt", clock_now_us());
	put_uuid(
	    &b, "tenantId", s->n_tenants ? s->tenants[0] : (struct uuid){{0}});
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

static int
check_test(struct sub_op *op, struct checker *k, struct err *e)
{
	static const struct member BODY[] = {
	    {"event", MEMBER_OBJECT, 0, .about = "absent: one of type TEST"},
	    {.name = NULL},
	};
	const struct json *event = NULL;

	TRY(api_body_maybe(op->r, BODY, NULL, &event, e));
	/* Also of one that is managed elsewhere: nothing is changed. */
	TRY(sub_seen_get(op->r, k->db, k->presets, &op->seen, e));
	op->ask.body = event ? event->raw : test_event(op->r, op->seen.conf);
	return OK;
}

static int
tested(struct req *r, struct err *e)
{
	const struct sub_op *op = r->ctx;
	const struct deliver_test *t = &op->ask.test;
	struct buf *b = api_object(r);
	struct str error = {.p = NULL};

	(void)e;
	if (t->error[0] && !t->success)
		error = (struct str){t->error, str_utf8_bad(str_of(t->error))};
	put_bool(b, "success", t->success);
	put_some(b, "statusCode", t->status > 0 ? t->status : 0);
	put_int(b, "responseTimeMs", t->took_us / US_PER_MS);
	put_text(b, "error", error);
	put_close(b, '}');
	return OK;
}

static int
test(struct req *r, struct err *e)
{
	return sub_ops_ask(r, ASK_TEST, tested, e);
}

int
api_subs_test(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_test, test, e);
}
