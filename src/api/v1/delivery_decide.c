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
	struct handed h;        /* of a source, or edited */
	struct sql_sub_head_row sub;
	struct append_job job;
};

#define DECISION(field) offsetof(struct decision, field)
const struct member DEAD_SKIP_BODY[] = {
    NOTE_REASON(struct decision, h.reason), {.name = NULL}};
const struct member DEAD_REQUEUE_BODY[] = {
    NOTE_REASON(struct decision, h.reason),
    {"payload", MEMBER_OBJECT, DECISION(h.payload),
	.about = "instead of the event's own"},
    {"event", MEMBER_OBJECT, DECISION(h.event),
	.about = "instead of what a source handed over"},
    {.name = NULL},
};

/* What is published --------------------------------------------------------------- */

/* `from` with another payload when there is one, and its cause: the event that
 * it was, and the delivery that failed. With an id it is another event. */
static int
edit(struct req *r, const struct handed *h, const struct json *from,
    struct str cause, const struct uuid *id, struct str *ret, struct err *e)
{
	const char *const ours[] = {"causationId", "causedByDelivery",
	    h->payload ? "payload" : "", id ? "eventId" : ""};
	struct buf b CLEANUP(buf_done) = BUF(2 * MIB);

	put_open(&b, NULL, '{');
	if (id)
		put_uuid(&b, "eventId", *id);
	put_raw(&b, "causationId", cause);
	put_uuid(&b, "causedByDelivery", spot_id(r->app, h->spot));
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
	if (h->payload)
		put_raw(&b, "payload", h->payload->raw);
	put_close(&b, '}');
	if (b.failed)
		return err_at(e, ERR_LIMIT, h->payload ? "/payload" : "",
		    "it is too large");
	*ret = arena_dup(r->arena, buf_str(&b));
	return OK;
}

/* The old envelope with another payload and id, for this subscription alone. */
static int
edit_event(struct req *r, struct handed *h, struct str old, struct err *e)
{
	struct envelope_opts o = {.now_us = h->now_us, .own = true};
	struct uuid id = uuid_v7(o.now_us);
	struct json *j = NULL;
	struct event ev;
	struct str text;

	TRY(json_parse(r->arena, old, &j, e));
	TRY(edit(r, h, j, json_get(j, "eventId")->raw, &id, &text, e));
	TRY(envelope_parse(r->arena, text, &o, &ev, e));
	entry_fill(&h->entry, &ev, text);
	h->entry.to_sub = h->spot.sub;
	return OK;
}

/* What a source handed over, as it is or edited. */
static int
choose(struct req *r, struct arena *a, const struct handed *h, struct str body,
    struct str *ret, struct err *e)
{
	struct json *whole = NULL, *copy = NULL;
	struct str cause;
	struct refused x;
	struct err odd;

	TRY(refused_open(a, body, &x, e));
	TRY(json_parse(a, body, &whole, e));
	cause = json_get(whole, "eventId")->raw;
	if (h->event)
		return edit(r, h, h->event, cause, NULL, ret, e);
	if (x.truncated)
		return err_set(e, ERR_CONFLICT,
		    "its copy was too large to be kept whole: give the event as `event`");
	if (!h->payload) {
		*ret = x.copy;
		return OK;
	}
	if (json_parse(a, x.copy, &copy, &odd) < 0 ||
	    !json_is(copy, JSON_OBJECT))
		return json_wrong(e, "/payload",
		    "has no envelope to stand in, as the copy is no JSON object: give the whole as `event`");
	return edit(r, h, copy, cause, NULL, ret, e);
}

int
handed_entry(struct req *r, struct arena *a, struct handed *h, struct str body,
    struct err *e)
{
	const struct event_defaults d = api_defaults(r, a, STR_EMPTY);
	const struct envelope_opts o = api_envelope(r->app, h->now_us, &d);
	struct event ev;
	struct err wrong = {0};
	struct str text;

	TRY(choose(r, a, h, body, &text, e));
	if (envelope_parse(a, text, &o, &ev, &wrong) == OK) {
		entry_fill(&h->entry, &ev, text);
		return OK;
	}
	if (h->event)
		return err_at(e, ERR_INVALID,
		    arena_fmt(r->arena, "/event%s", wrong.at).p, "%s",
		    wrong.text);
	return err_at(
	    e, ERR_INVALID, wrong.at, "it still is no event: %s", wrong.text);
}

/* On the commit thread -------------------------------------------------------------- */

int
handed_write(
    struct db *db, const struct req *r, const struct handed *h, struct err *e)
{
	int64_t n = sql_dead_decide(db, e, .sub = h->spot.sub,
	    .seq = h->spot.seq, .rep = h->spot.rep, .state = h->requeue ? 1 : 2,
	    .at = h->now_us, .who = api_actor(r), .note = h->reason);

	if (n < 0)
		return e->code;
	return n > 0 ? OK
		     : err_set(
			   e, ERR_CONFLICT, "somebody decided on it meanwhile");
}

static void
put_known(struct buf *b, const char *name, struct str bytes)
{
	if (bytes.p)
		put_uuid(b, name, uuid_of(bytes));
}

int
handed_audit(struct db *db, const struct req *r, const struct handed *h,
    struct str webhook_id, struct audit_row *ret, struct err *e)
{
	bool of_source = h->spot.sub == 0;
	char delivery[UUID_LEN + 1];
	struct buf b CLEANUP(buf_done) = BUF(AUDIT_DETAILS_MAX);
	struct sql_event_of_row ev = {0};

	TRY(sql_event_of_one(db, r->arena, &ev, e, .sub = h->spot.sub,
	    .seq = h->spot.seq, .rep = h->spot.rep));
	uuid_format(spot_id(r->app, h->spot), delivery);
	put_known(&b, "eventId", ev.event_id);
	put_known(&b, "tenantId", ev.tenant);
	put_int(&b, "seq", h->spot.seq);
	if (h->requeue) {
		put_bool(&b, "edited", h->event || h->payload);
		put_uuid(&b, "newEventId", h->entry.event_id);
	}
	put_text(&b, "reason", h->reason.p ? h->reason : STR_EMPTY);
	*ret = (struct audit_row){
	    .category = h->requeue ? AUDIT_DEAD_REQUEUED : AUDIT_DEAD_SKIPPED,
	    .at_us = h->now_us,
	    .actor = api_actor(r),
	    .target_type = of_source ? STR("source") : STR("delivery"),
	    .webhook_id = webhook_id,
	    .delivery_id = arena_dup(r->arena, str_of(delivery)),
	    .event_type = ev.type,
	    .details = arena_dup(r->arena, buf_str(&b)),
	};
	return OK;
}

/* First of all in the transaction: nobody else has decided. */
static int
write_decision(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	const struct decision *d = r->ctx;

	return handed_write(db, r, &d->h, e);
}

static int
write_audit(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	const struct decision *d = r->ctx;
	char webhook[UUID_LEN + 1] = "";
	struct audit_row row;

	if (d->h.requeue && d->h.entry.state == ENTRY_DIFFERS)
		return err_at(e, ERR_CONFLICT,
		    d->h.event ? "/event/eventId" : "/eventId",
		    "this event id is in the log with other content (seq %lld)",
		    (long long)d->h.entry.seq);
	if (d->h.spot.sub > 0)
		uuid_format(uuid_of(d->sub.uid), webhook);
	TRY(handed_audit(db, r, &d->h, str_of(webhook), &row, e));
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
	struct spot now = {.seq = d->h.entry.seq, .sub = d->h.spot.sub};
	struct buf *b = api_object(r);

	if (d->h.spot.sub == 0) {
		put_uuid(b, "id", spot_id(r->app, d->h.spot));
		if (d->h.requeue) {
			put_uuid(b, "eventId", d->h.entry.event_id);
			put_int(b, "seq", d->h.entry.seq);
			put_bool(b, "duplicate", d->h.entry.state != ENTRY_NEW);
		}
	} else {
		put_uuid(
		    b, "id", spot_id(r->app, d->h.payload ? now : d->h.spot));
		if (d->h.payload) {
			put_uuid(b, "eventId", d->h.entry.event_id);
			put_uuid(b, "requeueOf", spot_id(r->app, d->h.spot));
		}
	}
	put_close(b, '}');
	r->status = d->h.requeue ? 202 : 200;
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
	bool of_source = d->h.spot.sub == 0;

	api_then(r, of_source || !d->h.payload ? show_decided : edited);
	if (!of_source && !d->h.payload)
		return api_ask(r, &d->ask.decide.ask, e);
	if (d->h.requeue)
		d->job = (struct append_job){.fn = write_decision,
		    .after = write_audit,
		    .entries = &d->h.entry,
		    .n = 1};
	else
		d->job.fn = write_skip;
	return api_append(r, &d->job, e);
}

static int
fill_ask(struct req *r, const struct seen *s, struct err *e)
{
	struct decision *d = r->ctx;

	if (d->h.requeue && d->sub.until_seq > 0)
		return err_set(e, ERR_CONFLICT, "its subscription is gone");
	d->ask.okey = (uint64_t)s->dead.okey;
	d->ask.skey = (uint64_t)s->dead.skey;
	d->ask.n =
	    (int)(s->has_attempt && s->attempt.n > s->dead.n ? s->attempt.n
							     : s->dead.n);
	d->ask.reason = (int)s->dead.reason;
	return OK;
}

int
deads_need_reason(bool skip, struct str reason, struct err *e)
{
	return skip && str_trim(reason).n == 0
		   ? json_wrong(e, "/reason",
			 "must say why it is given up, for the record")
		   : OK;
}

static int
decide(struct req *r, struct db *db, enum deliver_ask_kind kind, struct err *e)
{
	struct decision *d = arena_alloc(r->arena, sizeof(*d));
	struct str body = {.p = NULL};
	struct seen s;
	bool of_source;

	TRY(spot_read(r, &d->h.spot, e));
	TRY(api_body_maybe(r,
	    kind == ASK_SKIP ? DEAD_SKIP_BODY : DEAD_REQUEUE_BODY, NULL, d, e));
	of_source = d->h.spot.sub == 0;
	if (d->h.event && !of_source)
		return json_wrong(e, "/event",
		    "is for what a source handed over; payload is what can be changed here");
	d->h.requeue = kind == ASK_REQUEUE;
	d->ask.decide = spot_decide(r, d->h.spot, kind, d->h.reason);
	d->h.now_us = clock_now_us();
	r->ctx = d;
	TRY(api_behind(r, db, &d->ask.decide.ask, e));
	TRY(dead_get(r, db, d->h.spot, &s, &d->sub, e));
	if (d->h.event && d->h.payload)
		return json_wrong(e, "/payload", "is part of event already");
	if (s.dead.state != 0)
		return err_set(e, ERR_CONFLICT, "it was %s already",
		    DEAD_STATES[s.dead.state]);
	TRY(deads_need_reason(kind == ASK_SKIP, d->h.reason, e));
	if (d->h.requeue && s.dead.seq_to > s.spot.seq)
		return err_set(e, ERR_CONFLICT,
		    "this is a stretch of the log that is gone: it can be skipped alone");
	if (!of_source)
		TRY(fill_ask(r, &s, e));
	if (!d->h.requeue)
		return api_next(r, commit);
	TRY(dead_event(r, db, d->h.spot, &body, e));
	if (!body.p)
		return err_set(e, ERR_CONFLICT,
		    "its %s is gone: it can be skipped alone",
		    of_source ? "copy" : "event");
	if (of_source)
		TRY(handed_entry(r, r->arena, &d->h, body, e));
	else if (d->h.payload)
		TRY(edit_event(r, &d->h, body, e));
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
