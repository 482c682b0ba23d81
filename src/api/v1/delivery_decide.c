/*
 * delivery.h: deciding on a dead letter.
 *
 * That of a subscription is put back or given up by the engine, which writes it
 * down. Put back with another payload it becomes a new event for this
 * subscription alone: that is a transaction of the commit thread, and the
 * engine is told to let go of the old one.
 *
 * What a source handed over (source/refused.h) has no engine behind it: a
 * decision is one transaction. Put back, its copy is published as if it had just
 * come, with its own id; what is wrong with it is 422, as it would be at
 * publish. `event` is another envelope in its place, `payload` another payload
 * in the copy. What was edited names its cause.
 */
#include "api/api.h"
#include "api/v1/delivery.h"
#include "audit/audit.h"
#include "audit/limits.h"
#include "event/append.h"
#include "event/envelope.h"
#include "source/refused.h"

struct decision {
	struct ask_requeue ask; /* to skip, its head alone */
	struct spot spot;       /* sub 0: a source's */
	struct sql_sub_head_row sub;
	bool requeue;
	struct str reason;
	const struct json *payload, *event; /* NULL: not edited so */
	struct append_job job;
	struct entry entry; /* what is published */
	int64_t now_us;
};

#define DECISION(field) offsetof(struct decision, field)
static const struct member SKIP_BODY[] = {
    NOTE_REASON(struct decision, reason), {.name = NULL}};
static const struct member REQUEUE_BODY[] = {
    NOTE_REASON(struct decision, reason),
    {"payload", MEMBER_OBJECT, DECISION(payload),
	.about = "instead of the event's own"},
    {"event", MEMBER_OBJECT, DECISION(event),
	.about = "instead of what a source handed over"},
    {.name = NULL},
};

/* What is published --------------------------------------------------------------- */

/* `from` with another payload when there is one, and its cause: the event that
 * it was, and the delivery that failed. With an id it is another event. */
static int
edit(struct req *r, const struct json *from, struct str cause,
    const struct uuid *id, struct str *ret, struct err *e)
{
	const struct decision *d = r->ctx;
	const char *const ours[] = {"causationId", "causedByDelivery",
	    d->payload ? "payload" : "", id ? "eventId" : ""};
	struct buf b CLEANUP(buf_done) = BUF(2 * MIB);

	put_open(&b, NULL, '{');
	if (id)
		put_uuid(&b, "eventId", *id);
	put_raw(&b, "causationId", cause);
	put_uuid(&b, "causedByDelivery", spot_id(r->app, d->spot));
	for (const struct json *m = from->child; m; m = m->next) {
		bool kept = true;

		for (size_t i = 0; i < COUNT_OF(ours); i++)
			kept = kept &&
			       !(ours[i][0] && str_eq(m->key, str_of(ours[i])));
		if (!kept)
			continue;
		put_text(&b, NULL, m->key);
		buf_addc(&b, ':');
		buf_add(&b, m->raw);
	}
	if (d->payload)
		put_raw(&b, "payload", d->payload->raw);
	put_close(&b, '}');
	if (b.failed)
		return err_at(e, ERR_LIMIT, d->payload ? "/payload" : "",
		    "it is too large");
	*ret = arena_dup(r->arena, buf_str(&b));
	return OK;
}

/* The old envelope with another payload and id, for this subscription alone. */
static int
edit_event(struct req *r, struct str old, struct err *e)
{
	struct decision *d = r->ctx;
	struct envelope_opts o = {.now_us = d->now_us, .own = true};
	struct uuid id = uuid_v7(o.now_us);
	struct json *j = NULL;
	struct event ev;
	struct str text;

	TRY(json_parse(r->arena, old, &j, e));
	TRY(edit(r, j, json_get(j, "eventId")->raw, &id, &text, e));
	TRY(envelope_parse(r->arena, text, &o, &ev, e));
	entry_fill(&d->entry, &ev, text);
	d->entry.to_sub = d->spot.sub;
	return OK;
}

/* What a source handed over, as it is or edited. */
static int
choose(struct req *r, struct str body, struct str *ret, struct err *e)
{
	struct decision *d = r->ctx;
	struct json *whole = NULL, *copy = NULL;
	struct str cause;
	struct refused x;
	struct err odd;

	TRY(refused_open(r->arena, body, &x, e));
	TRY(json_parse(r->arena, body, &whole, e));
	cause = json_get(whole, "eventId")->raw;
	if (d->event)
		return edit(r, d->event, cause, NULL, ret, e);
	if (x.truncated)
		return err_set(e, ERR_CONFLICT,
		    "its copy was too large to be kept whole: give the event as `event`");
	if (!d->payload) {
		*ret = x.copy;
		return OK;
	}
	if (json_parse(r->arena, x.copy, &copy, &odd) < 0 ||
	    !json_is(copy, JSON_OBJECT))
		return json_wrong(e, "/payload",
		    "has no envelope to stand in, as the copy is no JSON object: give the whole as `event`");
	return edit(r, copy, cause, NULL, ret, e);
}

static int
publish_handed(struct req *r, struct str body, struct err *e)
{
	struct decision *d = r->ctx;
	const struct envelope_opts o = api_envelope(r->app, d->now_us);
	struct event ev;
	struct err wrong = {0};
	struct str text;

	TRY(choose(r, body, &text, e));
	if (envelope_parse(r->arena, text, &o, &ev, &wrong) == OK) {
		entry_fill(&d->entry, &ev, text);
		return OK;
	}
	if (d->event)
		return err_at(e, ERR_INVALID,
		    arena_fmt(r->arena, "/event%s", wrong.at).p, "%s",
		    wrong.text);
	return err_at(
	    e, ERR_INVALID, wrong.at, "it still is no event: %s", wrong.text);
}

/* On the commit thread -------------------------------------------------------------- */

/* First of all in the transaction: nobody else has decided. */
static int
write_decision(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	const struct decision *d = r->ctx;
	int64_t n = sql_dead_decide(db, e, .sub = d->spot.sub,
	    .seq = d->spot.seq, .rep = d->spot.rep, .state = d->requeue ? 1 : 2,
	    .at = d->now_us, .who = api_actor(r), .note = d->reason);

	if (n < 0)
		return e->code;
	return n > 0 ? OK
		     : err_set(
			   e, ERR_CONFLICT, "somebody decided on it meanwhile");
}

static int
write_audit(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	const struct decision *d = r->ctx;
	bool of_source = d->spot.sub == 0;
	char webhook[UUID_LEN + 1], delivery[UUID_LEN + 1];
	struct buf b CLEANUP(buf_done) = BUF(AUDIT_DETAILS_MAX);
	struct audit_row row = {
	    .category = d->requeue ? AUDIT_DEAD_REQUEUED : AUDIT_DEAD_SKIPPED,
	    .at_us = d->now_us,
	    .actor = api_actor(r),
	    .target_type = of_source ? STR("source") : STR("delivery"),
	};

	if (d->requeue && d->entry.state == ENTRY_DIFFERS)
		return err_at(e, ERR_CONFLICT,
		    d->event ? "/event/eventId" : "/eventId",
		    "this event id is in the log with other content (seq %lld)",
		    (long long)d->entry.seq);
	uuid_format(spot_id(r->app, d->spot), delivery);
	row.delivery_id = str_of(delivery);
	if (!of_source) {
		uuid_format(uuid_of(d->sub.uid), webhook);
		row.webhook_id = str_of(webhook);
	}
	if (d->requeue) {
		put_bool(&b, "edited", d->event || d->payload);
		put_uuid(&b, "newEventId", d->entry.event_id);
	}
	put_text(&b, "reason", d->reason.p ? d->reason : STR_EMPTY);
	row.details = buf_str(&b);
	return audit_put(db, &row, e);
}

static int
write_skip(struct db *db, void *ctx, struct err *e)
{
	TRY(write_decision(db, ctx, e));
	return write_audit(db, ctx, e);
}

/* The way of a decision --------------------------------------------------------------- */

static int
show_decided(struct req *r, struct err *)
{
	const struct decision *d = r->ctx;
	struct spot now = {.seq = d->entry.seq, .sub = d->spot.sub};
	struct buf *b = api_object(r);

	if (d->spot.sub == 0) {
		put_uuid(b, "id", spot_id(r->app, d->spot));
		if (d->requeue) {
			put_uuid(b, "eventId", d->entry.event_id);
			put_int(b, "seq", d->entry.seq);
			put_bool(b, "duplicate", d->entry.state != ENTRY_NEW);
		}
	} else {
		put_uuid(b, "id", spot_id(r->app, d->payload ? now : d->spot));
		if (d->payload) {
			put_uuid(b, "eventId", d->entry.event_id);
			put_uuid(b, "requeueOf", spot_id(r->app, d->spot));
		}
	}
	put_close(b, '}');
	r->status = d->requeue ? 202 : 200;
	return OK;
}

/* The old one no longer holds its key up, or will not sooner or later: the
 * edited one is stored. */
static int
edited(struct req *r, struct err *e)
{
	struct decision *d = r->ctx;

	d->ask.decide.ask.kind = ASK_SKIP;
	return api_ask_anyway(r, &d->ask.decide.ask, show_decided, e);
}

static int
commit(struct req *r, struct err *e)
{
	struct decision *d = r->ctx;
	bool of_source = d->spot.sub == 0;

	api_then(r, of_source || !d->payload ? show_decided : edited);
	if (!of_source && !d->payload)
		return api_ask(r, &d->ask.decide.ask, e);
	if (d->requeue)
		d->job = (struct append_job){.fn = write_decision,
		    .after = write_audit,
		    .entries = &d->entry,
		    .n = 1};
	else
		d->job.fn = write_skip;
	return api_append(r, &d->job, e);
}

static int
fill_ask(struct req *r, const struct seen *s, struct err *e)
{
	struct decision *d = r->ctx;

	if (d->requeue && d->sub.until_seq > 0)
		return err_set(e, ERR_CONFLICT, "its subscription is gone");
	d->ask.okey = (uint64_t)s->dead.okey;
	d->ask.skey = (uint64_t)s->dead.skey;
	d->ask.n =
	    (int)(s->has_attempt && s->attempt.n > s->dead.n ? s->attempt.n
							     : s->dead.n);
	d->ask.reason = (int)s->dead.reason;
	return OK;
}

static int
decide(struct req *r, struct db *db, enum deliver_ask_kind kind, struct err *e)
{
	struct decision *d = arena_alloc(r->arena, sizeof(*d));
	struct str body = {.p = NULL};
	struct seen s;
	bool of_source;

	TRY(spot_read(r, &d->spot, e));
	TRY(api_body_maybe(
	    r, kind == ASK_SKIP ? SKIP_BODY : REQUEUE_BODY, NULL, d, e));
	of_source = d->spot.sub == 0;
	if (d->event && !of_source)
		return json_wrong(e, "/event",
		    "is for what a source handed over; payload is what can be changed here");
	d->requeue = kind == ASK_REQUEUE;
	d->ask.decide = spot_decide(r, d->spot, kind, d->reason);
	d->now_us = clock_now_us();
	r->ctx = d;
	TRY(dead_get(r, db, d->spot, &s, &d->sub, e));
	if (d->event && d->payload)
		return json_wrong(e, "/payload", "is part of event already");
	if (s.dead.state != 0)
		return err_set(e, ERR_CONFLICT, "it was %s already",
		    s.dead.state == 1 ? "requeued" : "skipped");
	if (d->requeue && s.dead.seq_to > s.spot.seq)
		return err_set(e, ERR_CONFLICT,
		    "this is a stretch of the log that is gone: it can be skipped alone");
	if (!of_source)
		TRY(fill_ask(r, &s, e));
	if (!d->requeue)
		return api_next(r, commit);
	TRY(dead_event(r, db, d->spot, &body, e));
	if (!body.p)
		return err_set(e, ERR_CONFLICT,
		    "its %s is gone: it can be skipped alone",
		    of_source ? "copy" : "event");
	if (of_source)
		TRY(publish_handed(r, body, e));
	else if (d->payload)
		TRY(edit_event(r, body, e));
	return api_next(r, commit);
}

int
api_deads_requeue(struct req *r, struct db *db, struct err *e)
{
	return decide(r, db, ASK_REQUEUE, e);
}

int
api_deads_skip(struct req *r, struct db *db, struct err *e)
{
	return decide(r, db, ASK_SKIP, e);
}
