/*
 * delivery.h: deciding on what a source handed over (source/refused.h).
 *
 * No engine is behind it: a decision is one transaction of the commit thread.
 * Put back, its copy is published as if it had just come, with its own id; what
 * is wrong with it is 422, as it would be at publish. `event` is another
 * envelope in its place, `payload` another payload in the copy; such a one
 * names its cause.
 */
#include "api/api.h"
#include "api/v1/delivery.h"
#include "audit/audit.h"
#include "audit/limits.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "event/append.h"
#include "event/envelope.h"
#include "source/refused.h"
#include "sql.h"

struct choice {
	struct req *r;
	struct spot spot;
	bool requeue;
	struct str note;
	const struct json *event, *payload;
	struct append_job job;
	struct entry entry; /* when it is put back */
	int64_t now_us;
};

/* `from` with another payload when there is one, and its cause. */
static int
edited(struct choice *c, const struct json *from, struct str cause,
    struct str *ret, struct err *e)
{
	static const char *const OURS[] = {"causationId", "causedByDelivery"};
	struct buf b = BUF(2 * MIB);

	put_open(&b, NULL, '{');
	put_raw(&b, "causationId", cause);
	put_uuid(&b, "causedByDelivery", spot_id(c->r->app, c->spot));
	for (const struct json *m = from->child; m; m = m->next) {
		bool ours = c->payload && str_eq(m->key, STR("payload"));

		for (size_t i = 0; i < COUNT_OF(OURS); i++)
			ours = ours || str_eq(m->key, str_of(OURS[i]));
		if (ours)
			continue;
		put_text(&b, NULL, m->key);
		buf_addc(&b, ':');
		buf_add(&b, m->raw);
	}
	if (c->payload)
		put_raw(&b, "payload", c->payload->raw);
	put_close(&b, '}');
	*ret = b.failed ? (struct str){.p = NULL}
			: arena_dup(c->r->arena, buf_str(&b));
	buf_done(&b);
	return ret->p ? OK : err_set(e, ERR_LIMIT, "it is too large");
}

/* The bytes to publish. */
static int
choose(struct choice *c, struct str body, struct str *ret, struct err *e)
{
	struct arena *a = c->r->arena;
	struct json *whole = NULL, *copy = NULL;
	const struct json *cause;
	struct refused x;
	struct err odd;
	int rc = refused_open(a, body, &x, e);

	if (rc == OK)
		rc = json_parse(a, body, &whole, e);
	if (rc < 0)
		return rc;
	cause = json_get(whole, "eventId");
	if (c->event)
		return edited(c, c->event, cause->raw, ret, e);
	if (x.truncated)
		return err_set(e, ERR_CONFLICT,
		    "its copy was too large to be kept whole: give the event as `event`");
	if (!c->payload) {
		*ret = x.copy;
		return OK;
	}
	if (json_parse(a, x.copy, &copy, &odd) < 0 ||
	    !json_is(copy, JSON_OBJECT))
		return json_wrong(e, "/payload",
		    "has no envelope to stand in, as the copy is no JSON object: give the whole as `event`");
	return edited(c, copy, cause->raw, ret, e);
}

static int
make_entry(struct choice *c, struct str text, struct err *e)
{
	const struct api *api = c->r->app;
	struct envelope_opts o = {
	    .now_us = c->now_us,
	    .strict = api->strict,
	    .mask = api->mask,
	    .body_max = (size_t)api->conf->webhook_max_payload_size,
	};
	struct event ev;
	struct err wrong = {0};
	int rc = envelope_parse(c->r->arena, text, &o, &ev, &wrong);

	if (rc == OK) {
		entry_fill(&c->entry, &ev, text);
		return OK;
	}
	if (c->event) {
		char at[JSON_POINTER_MAX + 1] = "/event";
		size_t n = strlen(at);

		(void)snprintf(at + n, sizeof(at) - n, "%.*s",
		    (int)(sizeof(at) - n - 1), wrong.at);
		return err_at(e, ERR_INVALID, at, "%s", wrong.text);
	}
	return err_at(
	    e, ERR_INVALID, wrong.at, "it still is no event: %s", wrong.text);
}

static int
read_it(struct req *r, struct db *db, struct err *e)
{
	struct choice *c = r->ctx;
	struct str body = {.p = NULL}, text = {.p = NULL};
	struct seen s;
	int rc = seen_get(r, db, c->spot, &s, e);

	if (rc == OK && !s.dead.there)
		rc = err_set(e, ERR_ABSENT, "there is no such dead letter");
	if (rc == OK)
		rc = dead_open(&s, c->requeue, e);
	if (rc < 0 || !c->requeue)
		return rc;
	rc = dead_event(r, db, c->spot, &body, e);
	if (rc == OK && !body.p)
		rc = err_set(e, ERR_CONFLICT,
		    "its copy is gone: it can be skipped alone");
	if (rc == OK)
		rc = choose(c, body, &text, e);
	return rc == OK ? make_entry(c, text, e) : rc;
}

/* First of all in the transaction: nobody else has decided. */
static int
decide_fn(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	const struct choice *c = r->ctx;
	int64_t n = sql_dead_decide(db, e, .sub = 0, .seq = c->spot.seq,
	    .rep = c->spot.rep, .state = c->requeue ? 1 : 2, .at = c->now_us,
	    .who = api_actor(c->r), .note = c->note);

	if (n < 0)
		return e->code;
	return n > 0 ? OK
		     : err_set(
			   e, ERR_CONFLICT, "somebody decided on it meanwhile");
}

static int
audit_fn(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	const struct choice *c = r->ctx;
	char delivery[UUID_LEN + 1];
	struct buf b = BUF(AUDIT_DETAILS_MAX);
	struct audit_row row = {
	    .category = c->requeue ? AUDIT_DEAD_REQUEUED : AUDIT_DEAD_SKIPPED,
	    .at_us = c->now_us,
	    .actor = api_actor(c->r),
	    .target_type = STR("source"),
	};
	int rc;

	if (c->requeue && c->entry.state == ENTRY_DIFFERS)
		return err_at(e, ERR_CONFLICT,
		    c->event ? "/event/eventId" : "/eventId",
		    "this event id is in the log with other content (seq %lld)",
		    (long long)c->entry.seq);
	uuid_format(spot_id(c->r->app, c->spot), delivery);
	row.delivery_id = str_of(delivery);
	if (c->requeue) {
		put_bool(&b, "edited", c->event || c->payload);
		put_uuid(&b, "newEventId", c->entry.event_id);
	}
	put_text(&b, "reason", c->note.p ? c->note : STR_EMPTY);
	row.details = buf_str(&b);
	rc = audit_put(db, &row, e);
	buf_done(&b);
	return rc;
}

static int
skip_fn(struct db *db, void *ctx, struct err *e)
{
	int rc = decide_fn(db, ctx, e);

	return rc == OK ? audit_fn(db, ctx, e) : rc;
}

static int
delivery_refused_show(struct req *r, struct err *e)
{
	const struct choice *c = r->ctx;

	(void)e;
	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_uuid(&r->out, "id", spot_id(r->app, c->spot));
	if (c->requeue) {
		put_uuid(&r->out, "eventId", c->entry.event_id);
		put_int(&r->out, "seq", c->entry.seq);
		put_bool(&r->out, "duplicate", c->entry.state != ENTRY_NEW);
	}
	put_close(&r->out, '}');
	r->status = c->requeue ? 202 : 200;
	return OK;
}

static int
known(struct req *r, struct err *e)
{
	struct choice *c = r->ctx;

	c->job = (struct append_job){
	    .fn = c->requeue ? decide_fn : skip_fn,
	    .after = c->requeue ? audit_fn : NULL,
	    .entries = c->requeue ? &c->entry : NULL,
	    .n = c->requeue ? 1 : 0,
	};
	api_then(r, delivery_refused_show);
	return api_append(r, &c->job, e);
}

int
dead_refused_decide(struct req *r, struct spot spot, bool requeue,
    const struct dead_note *note, struct err *e)
{
	struct choice *c = arena_alloc(r->arena, sizeof(*c));

	if (r->who.tenants)
		return err_set(e, ERR_ABSENT, "there is no such dead letter");
	c->event = note->event;
	c->payload = note->payload;
	if (c->event && c->payload)
		return json_wrong(e, "/payload", "is part of event already");
	c->r = r;
	c->spot = spot;
	c->requeue = requeue;
	c->note = note->reason;
	c->now_us = clock_now_us();
	r->ctx = c;
	api_then(r, known);
	return api_read(r, read_it, e);
}
