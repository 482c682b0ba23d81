/* subs.h: switching, ending, rotating and trying out a subscription. */
#include "api/api.h"
#include "api/v1/subs.h"
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

/* {} when there is no body. */
static int
read_body(
    struct req *r, const char *const *names, struct json **ret, struct err *e)
{
	struct str text = r->body.n > 0 ? r->body : STR("{}");
	int rc = json_parse(r->arena, text, ret, e);

	if (rc == OK && !json_is(*ret, JSON_OBJECT))
		rc = err_at(e, ERR_INVALID, "", "the body is a JSON object");
	return rc == OK ? json_known(*ret, "", names, e) : rc;
}

static int
find(struct sub_op *op, struct checker *k, struct err *e)
{
	struct presets *presets = NULL;
	int rc = presets_open(k->db, k->api->conf, &presets, e);

	if (rc == OK)
		rc = sub_op_find(op, k, presets, e);
	presets_free(presets);
	return rc;
}

/* Asking the engine ------------------------------------------------------- */

static void
asked(struct deliver_ask *q)
{
	struct req *r = q->arg;

	r->rc = q->err.code;
	r->err = q->err;
	req_wake(r);
}

static int
ask(struct req *r, enum deliver_ask_kind kind,
    int (*then)(struct req *r, struct err *e), struct err *e)
{
	struct api *api = r->app;
	struct sub_op *op = r->ctx;
	struct deliver_ask *q = &op->ask.ask;

	if (!api->deliver) {
		return err_set(e, ERR_AWAY,
		    "this server does not deliver: webhook.enabled is false");
	}
	q->kind = kind;
	q->sub = (uint32_t)op->seen.id;
	q->behind = append_last_seq(api->append);
	q->done = asked;
	q->arg = r;
	r->then = then;
	if (deliver_post(api->deliver, q))
		return REQ_WAIT;
	return err_set(e, ERR_AWAY, "the server is stopping");
}

/* Switching --------------------------------------------------------------- */

static int
check_enable(struct sub_op *op, struct checker *k, struct err *e)
{
	static const char *const names[] = {"from", NULL};
	struct json *doc = NULL;
	const struct json *from;
	int rc = read_body(op->r, names, &doc, e);

	if (rc < 0)
		return rc;
	from = json_get(doc, "from");
	op->skip = json_is(from, JSON_STRING) && str_eq(from->text, STR("now"));
	if (from && !op->skip &&
	    !(json_is(from, JSON_STRING) && str_eq(from->text, STR("resume"))))
		return json_wrong(e, "/from", "must be resume or now");
	rc = find(op, k, e);
	if (rc < 0)
		return rc;
	op->same = op->seen.enabled && !op->seen.held.p;
	if (op->same)
		return OK;
	op->seen.enabled = op->seen.conf->enabled = true;
	op->seen.why = STR_EMPTY;
	op->seen.held = (struct str){.p = NULL};
	rc = sub_op_fill(op, SUB_SWITCH, AUDIT_SUBSCRIPTION_CHANGED, e);
	op->change.audit.details =
	    op->skip ? STR("\"enabled\":true,\"from\":\"now\"")
		     : STR("\"enabled\":true,\"from\":\"resume\"");
	return rc;
}

/*
 * What is to be left out is left out before anything goes on: the other way
 * round some of it would be sent.
 */
static int
enable(struct req *r, struct err *e)
{
	const struct sub_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	return op->skip ? ask(r, ASK_NOW, sub_op_commit, e)
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
	static const char *const names[] = {"reason", NULL};
	struct json *doc = NULL;
	const struct json *why;
	int rc = read_body(op->r, names, &doc, e);

	if (rc < 0)
		return rc;
	why = json_get(doc, "reason");
	if (why && (!json_is(why, JSON_STRING) || why->text.n > SUB_NAME_MAX))
		return json_wrong(e, "/reason",
		    "must be a string of at most %d bytes", SUB_NAME_MAX);
	rc = find(op, k, e);
	if (rc < 0)
		return rc;
	op->same = !op->seen.enabled;
	if (op->same)
		return OK;
	op->seen.enabled = op->seen.conf->enabled = false;
	op->seen.why = why ? why->text
			   : arena_fmt(op->r->arena, "disabled by %.*s",
				 STR_ARG(api_actor(op->r)));
	rc = sub_op_fill(op, SUB_SWITCH, AUDIT_SUBSCRIPTION_DISABLED, e);
	op->change.audit.error = op->seen.why;
	return rc;
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
	int rc = find(op, k, e);

	if (rc == OK)
		rc = sub_op_fill(op, SUB_FINISH, AUDIT_SUBSCRIPTION_DELETED, e);
	op->status = 204;
	return rc;
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
	static const char *const names[] = {"overlapSeconds", NULL};
	struct json *doc = NULL;
	const struct json *j;
	int64_t overlap_s = SUB_OVERLAP_S;
	int rc = read_body(op->r, names, &doc, e);

	if (rc < 0)
		return rc;
	j = json_get(doc, "overlapSeconds");
	if (j && (!json_int(j, &overlap_s) || overlap_s < 0 ||
		     overlap_s > SUB_OVERLAP_MAX_S))
		return json_wrong(e, "/overlapSeconds",
		    "must be a whole number from 0 to %d", SUB_OVERLAP_MAX_S);
	rc = find(op, k, e);
	if (rc == OK)
		rc = sub_rotate(op->seen.conf, overlap_s, clock_now_us(), e);
	if (rc == ERR_LIMIT) /* not of the request: of what is there */
		rc = e->code = ERR_CONFLICT;
	if (rc == OK)
		rc = sub_op_fill(op, SUB_CHANGE, AUDIT_SECRET_ROTATED, e);
	op->once = true;
	return rc;
}

int
api_subs_rotate(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_rotate, sub_op_commit, e);
}

/* Trying it out ------------------------------------------------------------ */

/* As one that was published, of type TEST. */
static int
test_event(
    struct req *r, const struct sub_conf *s, struct str *ret, struct err *e)
{
	struct buf b = BUF(4 * KIB);
	struct uuid tenant = s->n_tenants ? s->tenants[0] : (struct uuid){{0}};
	char now[TIME_LEN + 1];

	time_format(clock_now_us(), now);
	buf_addz(&b, "{\"eventId\":\"");
	uuid_add(&b, uuid_v4());
	buf_fmt(&b,
	    "\",\"schemaVersion\":1,\"eventType\":\"TEST\",\"occurredAt\":"
	    "\"%s\",\"tenantId\":\"",
	    now);
	uuid_add(&b, tenant);
	buf_addz(&b, "\",\"producer\":{\"service\":\"hikyaku\",\"instanceId\":"
		     "\"test\"},\"correlationId\":\"");
	uuid_add(&b, uuid_v4());
	buf_addz(&b, "\",\"sequence\":{\"partitionKey\":\"test\"},\"payload\":"
		     "{\"message\":\"This is a test.\",\"subscription\":");
	buf_json(&b, s->name);
	buf_addz(&b, "}}");
	*ret = b.failed ? (struct str){.p = NULL}
			: arena_dup(r->arena, buf_str(&b));
	buf_done(&b);
	return ret->p ? OK : err_set(e, ERR_NOMEM, "no memory for a test");
}

static int
check_test(struct sub_op *op, struct checker *k, struct err *e)
{
	static const char *const names[] = {"event", NULL};
	struct presets *presets = NULL;
	struct json *doc = NULL;
	const struct json *event;
	int rc = read_body(op->r, names, &doc, e);

	if (rc < 0)
		return rc;
	event = json_get(doc, "event");
	if (event && !json_is(event, JSON_OBJECT))
		return json_wrong(e, "/event", "must be an object");
	rc = presets_open(k->db, k->api->conf, &presets, e);
	/* Also of one that is managed elsewhere: nothing is changed. */
	if (rc == OK)
		rc = sub_seen_get(op->r, k->db, presets, &op->seen, e);
	presets_free(presets);
	if (rc < 0)
		return rc;
	if (!event)
		return test_event(op->r, op->seen.conf, &op->ask.body, e);
	op->ask.body = event->raw;
	return OK;
}

static int
tested(struct req *r, struct err *e)
{
	const struct sub_op *op = r->ctx;
	const struct deliver_test *t = &op->ask.test;

	if (r->rc < 0)
		return api_said(r, e);
	buf_clear(&r->out);
	buf_fmt(&r->out,
	    "{\"success\":%s,\"statusCode\":", t->success ? "true" : "false");
	if (t->status > 0)
		buf_int(&r->out, t->status);
	else
		buf_addz(&r->out, "null");
	buf_fmt(&r->out, ",\"responseTimeMs\":%lld,\"error\":",
	    (long long)(t->took_us / US_PER_MS));
	if (t->error[0] && !t->success)
		buf_json(&r->out,
		    (struct str){t->error, str_utf8_bad(str_of(t->error))});
	else
		buf_addz(&r->out, "null");
	buf_addc(&r->out, '}');
	return OK;
}

static int
test(struct req *r, struct err *e)
{
	if (r->rc < 0)
		return api_said(r, e);
	return ask(r, ASK_TEST, tested, e);
}

int
api_subs_test(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_test, test, e);
}
