/* delivery.h: dead letters, and deciding on one. */
#include "api/api.h"
#include "api/v1/delivery.h"
#include "audit/audit.h"
#include "audit/limits.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "contract/verdict.h"
#include "event/append.h"
#include "event/envelope.h"
#include "event/sealed.h"
#include "http/server/limits.h"
#include "sql.h"

static int
absent(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such dead letter");
}

int
deads_reason(struct str text, const char *at, int *ret, struct err *e)
{
	enum reason reason;

	if (!reason_find(text, &reason))
		return err_at(e, ERR_INVALID, at,
		    "there is no such reason; HTTP_STATUS, EXHAUSTED and EXPIRED are some");
	*ret = (int)reason;
	return OK;
}

/* Pages --------------------------------------------------------------------------- */

static int
deads_query(struct db *db, const struct deads *d, int64_t most,
    struct rows **ret, struct err *e)
{
	struct sql_dead_page_args a = {.lo = d->from,
	    .at = d->at,
	    .sub = d->by_sub ? d->sub.id : d->spot.sub,
	    .seq = d->spot.seq,
	    .rep = d->spot.rep,
	    .most = most};

	return d->by_sub ? sql_dead_page_sub_run(db, &a, ret, e)
			 : sql_dead_page_run(db, &a, ret, e);
}

static void
take_dead(const struct sql_dead_page_row *row, struct seen *ret)
{
	*ret = (struct seen){
	    .spot = {row->seq, (uint32_t)row->sub, (int)row->rep},
	    .dead = {.there = true,
		.kept = row->kept != 0,
		.seq_to = row->seq_to,
		.okey = row->okey,
		.skey = row->skey,
		.at = row->at,
		.reason = (int)row->reason,
		.status = (int)row->status,
		.tries = (int)row->tries,
		.n = (int)row->n,
		.requeues = (int)row->requeues},
	};
}

static int
type_fits(struct db *db, const struct deads *d, int64_t seq, struct err *e)
{
	struct sql_event_head_row row;
	struct rows *rows = NULL;
	int rc;

	if (!d->type.p)
		return 1;
	rc = sql_event_head(db, &rows, e, .seq = seq);
	if (rc == OK)
		rc = sql_event_head_next(rows, &row, e);
	if (rc > 0)
		rc = str_eq(row.type, d->type);
	rows_close(rows);
	return rc;
}

int
deads_next(struct db *db, struct deads *d, size_t most, struct seen *v,
    size_t *ret_n, struct err *e)
{
	size_t n = 0;

	while (n < most && !d->end && d->looked < PAGE_SCAN) {
		struct sql_dead_page_row row;
		struct rows *rows = NULL;
		size_t got = 0;
		int rc = deads_query(db, d, (int64_t)most + 1, &rows, e);

		while (rc >= 0 && n < most &&
		       (rc = sql_dead_page_next(rows, &row, e)) > 0) {
			got++;
			d->looked++;
			d->at = row.at;
			d->spot = (struct spot){
			    row.seq, (uint32_t)row.sub, (int)row.rep};
			if (d->reason >= 0 && row.reason != d->reason)
				continue;
			rc = type_fits(db, d, row.seq, e);
			if (rc > 0)
				take_dead(&row, &v[n++]);
		}
		rows_close(rows);
		if (rc < 0)
			return rc;
		d->end = n < most && got < most + 1;
	}
	*ret_n = n;
	return OK;
}

/* GET /v1/dead-letters --------------------------------------------------------------- */

struct deads_query {
	struct api_page page;
	struct str subscription, reason;
	int64_t from, to;
};

#define QUERY_AT(field) offsetof(struct deads_query, field)
static const struct member QUERY[] = {
    {"subscription", MEMBER_STRING, QUERY_AT(subscription), 0, UUID_LEN},
    {"reason", MEMBER_STRING, QUERY_AT(reason), 0, API_CURSOR_MAX},
    {"from", MEMBER_TIME, QUERY_AT(from)},
    {"to", MEMBER_TIME, QUERY_AT(to)},
    API_PAGE(struct deads_query),
    {.name = NULL},
};

/* at.deliveryId */
static int
read_after(const struct api *api, struct str s, struct deads *d, struct err *e)
{
	struct str at = str_cut(&s, '.');
	struct uuid id;
	uint16_t rep;

	if (!str_int(at, &d->at) || !uuid_parse(s, &id) ||
	    !delivery_id_open(
		&api->id_key, id, &d->spot.seq, &d->spot.sub, &rep))
		return api_no_cursor(e);
	d->spot.rep = rep;
	return OK;
}

static int
read_query(struct req *r, struct db *db, struct deads *d, int64_t *limit,
    struct err *e)
{
	struct deads_query q = {.to = INT64_MAX};
	int rc = api_query(r, QUERY, &q, e);

	*d = (struct deads){
	    .reason = -1, .from = q.from, .to = q.to, .at = q.to};
	*limit = q.page.limit;
	if (rc == OK && q.reason.p)
		rc = deads_reason(q.reason, "reason", &d->reason, e);
	if (rc == OK && q.subscription.p) {
		rc = sub_brief_find(
		    r, db, q.subscription, "subscription", &d->sub, e);
		d->by_sub = true;
	}
	if (rc == OK && q.page.after.p)
		rc = read_after(r->app, q.page.after, d, e);
	return rc;
}

static int
show_dead(struct req *r, struct db *db, const struct seen *s, struct err *e)
{
	bool of_source = s->spot.sub == 0;
	struct sub_brief sub;
	struct seen whole;
	int rc = 1;

	if (!of_source)
		rc = sub_brief_get(r, db, s->spot.sub, &sub, e);
	if (rc <= 0 || (of_source ? r->who.tenants != NULL : !sub.visible))
		return rc < 0 ? rc : OK;
	rc = seen_get(r, db, s->spot, &whole, e);
	if (rc < 0)
		return rc;
	rc =
	    seen_show(r, db, &whole, of_source ? NULL : &sub, NULL, &r->out, e);
	buf_addc(&r->out, '}');
	return rc;
}

int
api_deads_list(struct req *r, struct db *db, struct err *e)
{
	struct deads d;
	struct seen *v;
	struct str next = {.p = NULL};
	char id[UUID_LEN + 1];
	size_t n = 0, i;
	int64_t limit = 0;
	int rc = read_query(r, db, &d, &limit, e);

	if (rc < 0)
		return rc;
	v = arena_array(r->arena, (size_t)limit + 1, sizeof(*v));
	api_list(r);
	rc = deads_next(db, &d, (size_t)limit + 1, v, &n, e);
	for (i = 0; rc >= 0 && i < n && (int64_t)i < limit; i++)
		rc = show_dead(r, db, &v[i], e);
	if ((int64_t)n > limit) {
		d.at = v[limit - 1].dead.at;
		d.spot = v[limit - 1].spot;
	}
	uuid_format(spot_id(r->app, d.spot), id);
	if ((int64_t)n > limit || !d.end)
		next = arena_fmt(r->arena, "%lld.%s", (long long)d.at, id);
	api_list_end(r, next);
	return rc < 0 ? rc : OK;
}

/* One --------------------------------------------------------------------------------- */

/* The dead letter that the path names, if the caller may see it. */
static int
dead_get(struct req *r, struct db *db, struct spot spot, struct seen *s,
    struct sub_brief *sub, struct err *e)
{
	int rc;

	*sub = (struct sub_brief){.visible = !r->who.tenants};
	rc = spot.sub == 0 ? 1 : sub_brief_get(r, db, spot.sub, sub, e);
	if (rc > 0)
		rc = sub->visible ? seen_get(r, db, spot, s, e) : absent(e);
	else if (rc == 0)
		rc = absent(e);
	if (rc == OK && !s->dead.there)
		rc = absent(e);
	return rc;
}

int
dead_event(struct req *r, struct db *db, struct spot spot, struct str *ret,
    struct err *e)
{
	struct sql_log_get_row row;
	struct sql_dead_body_row dead;
	int rc = sql_log_get_one(db, r->arena, &row, e, .seq = spot.seq);

	*ret = (struct str){.p = NULL};
	if (rc != 0)
		return rc < 0 ? rc
			      : delivery_body(r, row.tenant, row.event_id,
				    row.body, ret, e);
	rc = sql_dead_body_one(db, r->arena, &dead, e, .sub = spot.sub,
	    .seq = spot.seq, .rep = spot.rep);
	/* A sealed one opens by what the log said of it alone: it is gone. */
	if (rc > 0 && dead.body.p && !sealed_is(dead.body))
		*ret = dead.body;
	return rc < 0 ? rc : OK;
}

int
api_deads_get(struct req *r, struct db *db, struct err *e)
{
	struct sub_brief sub;
	struct spot spot;
	struct seen s;
	struct str event = {.p = NULL};
	int rc = spot_read(r, &spot, e);

	if (rc == OK)
		rc = dead_get(r, db, spot, &s, &sub, e);
	if (rc == OK)
		rc = dead_event(r, db, spot, &event, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	rc =
	    seen_show(r, db, &s, spot.sub == 0 ? NULL : &sub, NULL, &r->out, e);
	if (rc == OK)
		rc = seen_attempts(db, spot, &r->out, e);
	put_raw(&r->out, "event", event);
	put_close(&r->out, '}');
	return rc;
}

/* Deciding ----------------------------------------------------------------------------- */

struct decision {
	struct ask_requeue ask; /* to skip, its head alone */
	struct spot spot;
	struct sub_brief sub;
	/* edited: a new event for this subscription alone */
	const struct json *payload;
	struct append_job job;
	struct entry entry;
	struct uuid event_id;
	struct str details; /* of its audit row */
	struct dead_note note;
};

static void
show_decided(struct req *r, const struct decision *d)
{
	struct spot now = {.seq = d->entry.seq, .sub = d->spot.sub};

	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_uuid(&r->out, "id", spot_id(r->app, d->payload ? now : d->spot));
	if (d->payload) {
		put_uuid(&r->out, "eventId", d->event_id);
		put_uuid(&r->out, "requeueOf", spot_id(r->app, d->spot));
	}
	put_close(&r->out, '}');
	r->status =
	    d->ask.decide.ask.kind == ASK_SKIP && !d->payload ? 200 : 202;
}

static int
decided(struct req *r, struct err *e)
{
	const struct decision *d = r->ctx;

	/* An edited one is stored: its place is free sooner or later. */
	if (r->rc < 0 && !d->payload)
		return api_said(r, e);
	show_decided(r, d);
	return OK;
}

int
dead_open(const struct seen *s, bool requeue, struct err *e)
{
	if (s->dead.state != 0)
		return err_set(e, ERR_CONFLICT, "it was %s already",
		    s->dead.state == 1 ? "requeued" : "skipped");
	if (requeue && s->dead.seq_to > s->spot.seq)
		return err_set(e, ERR_CONFLICT,
		    "this is a stretch of the log that is gone: it can be skipped alone");
	return OK;
}

static void
edit_details(struct req *r, struct decision *d)
{
	struct buf b = BUF(AUDIT_DETAILS_MAX);

	put_bool(&b, "edited", true);
	put_uuid(&b, "newEventId", d->event_id);
	put_text(&b, "reason",
	    d->ask.decide.note.p ? d->ask.decide.note : STR_EMPTY);
	d->details = arena_dup(r->arena, buf_str(&b));
	buf_done(&b);
}

/*
 * The old envelope with another payload and id. It names its cause: the event
 * that it was, and the delivery that failed.
 */
static int
edit(struct req *r, struct decision *d, struct str old, struct err *e)
{
	static const char *const OURS[] = {
	    "eventId", "payload", "causationId", "causedByDelivery"};
	struct envelope_opts o = {.now_us = clock_now_us(), .own = true};
	struct buf b = BUF(2 * MIB);
	struct json *j = NULL;
	struct event ev;
	struct str text;
	int rc = json_parse(r->arena, old, &j, e);

	if (rc < 0)
		return rc;
	d->event_id = uuid_v7(o.now_us);
	put_open(&b, NULL, '{');
	put_uuid(&b, "eventId", d->event_id);
	put_raw(&b, "causationId", json_get(j, "eventId")->raw);
	put_uuid(&b, "causedByDelivery", spot_id(r->app, d->spot));
	for (const struct json *m = j->child; m; m = m->next) {
		bool ours = false;

		for (size_t i = 0; i < COUNT_OF(OURS); i++)
			ours = ours || str_eq(m->key, str_of(OURS[i]));
		if (ours)
			continue;
		put_text(&b, NULL, m->key);
		buf_addc(&b, ':');
		buf_add(&b, m->raw);
	}
	put_raw(&b, "payload", d->payload->raw);
	put_close(&b, '}');
	text = b.failed ? (struct str){.p = NULL}
			: arena_dup(r->arena, buf_str(&b));
	buf_done(&b);
	if (!text.p)
		return err_at(e, ERR_LIMIT, "/payload", "it is too large");
	rc = envelope_parse(r->arena, text, &o, &ev, e);
	if (rc < 0)
		return rc;
	entry_fill(&d->entry, &ev, text);
	d->entry.to_sub = d->spot.sub;
	edit_details(r, d);
	return OK;
}

static int
decide_read(struct req *r, struct db *db, struct err *e)
{
	struct decision *d = r->ctx;
	bool requeue = d->ask.decide.ask.kind == ASK_REQUEUE;
	struct str old = {.p = NULL};
	struct seen s = {.dead = {.there = false}};
	int rc = dead_get(r, db, d->spot, &s, &d->sub, e);

	if (rc == OK)
		rc = dead_open(&s, requeue, e);
	if (rc < 0)
		return rc;
	if (requeue && d->sub.until_seq > 0)
		return err_set(e, ERR_CONFLICT, "its subscription is gone");
	memcpy(&d->ask.okey, &s.dead.okey, sizeof(d->ask.okey));
	memcpy(&d->ask.skey, &s.dead.skey, sizeof(d->ask.skey));
	d->ask.n =
	    s.attempt.there && s.attempt.n > s.dead.n ? s.attempt.n : s.dead.n;
	d->ask.reason = s.dead.reason;
	if (requeue)
		rc = dead_event(r, db, d->spot, &old, e);
	if (rc == OK && requeue && !old.p)
		rc = err_set(e, ERR_CONFLICT,
		    "its event is gone: it can be skipped alone");
	if (rc == OK && d->payload)
		rc = edit(r, d, old, e);
	return rc;
}

/* Behind the new entry, in the same transaction. */
static int
edit_after(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	struct decision *d = r->ctx;
	char webhook[UUID_LEN + 1], delivery[UUID_LEN + 1];
	struct audit_row row = {
	    .category = AUDIT_DEAD_REQUEUED,
	    .at_us = clock_now_us(),
	    .actor = d->ask.decide.who,
	    .target_type = STR("delivery"),
	    .details = d->details,
	};
	int64_t n = sql_dead_decide(db, e, .sub = d->spot.sub,
	    .seq = d->spot.seq, .rep = d->spot.rep, .state = 1, .at = row.at_us,
	    .who = d->ask.decide.who, .note = d->ask.decide.note);

	if (n < 0)
		return e->code;
	if (n == 0)
		return err_set(
		    e, ERR_CONFLICT, "somebody decided on it meanwhile");
	uuid_format(d->sub.uid, webhook);
	uuid_format(spot_id(r->app, d->spot), delivery);
	row.webhook_id = str_of(webhook);
	row.delivery_id = str_of(delivery);
	return audit_put(db, &row, e);
}

/* The old one no longer holds its key up. */
static int
edited(struct req *r, struct err *e)
{
	struct decision *d = r->ctx;

	d->ask.decide.ask.kind = ASK_SKIP;
	r->then = decided;
	return api_ask(r, &d->ask.decide.ask, e) == REQ_WAIT ? REQ_WAIT
							     : decided(r, e);
}

static int
decide_known(struct req *r, struct err *e)
{
	struct decision *d = r->ctx;

	if (!d->payload) {
		r->then = decided;
		return api_ask(r, &d->ask.decide.ask, e);
	}
	d->job.entries = &d->entry;
	d->job.n = 1;
	d->job.after = edit_after;
	api_then(r, edited);
	return api_append(r, &d->job, e);
}

#define NOTE_AT(field) offsetof(struct dead_note, field)
static const struct member SKIP_BODY[] = {
    NOTE_REASON(struct dead_note, reason), {.name = NULL}};
static const struct member REQUEUE_BODY[] = {
    NOTE_REASON(struct dead_note, reason),
    {"payload", MEMBER_OBJECT, NOTE_AT(payload),
	.about = "instead of the event's own"},
    {"event", MEMBER_OBJECT, NOTE_AT(event),
	.about = "instead of what a source handed over"},
    {.name = NULL},
};

static int
decide(struct req *r, enum deliver_ask_kind kind, struct err *e)
{
	struct decision *d = arena_alloc(r->arena, sizeof(*d));
	int rc = spot_read(r, &d->spot, e);

	if (rc == OK)
		rc = api_body_maybe(r,
		    kind == ASK_SKIP ? SKIP_BODY : REQUEUE_BODY, NULL, &d->note,
		    e);
	if (rc < 0)
		return rc;
	if (d->spot.sub == 0)
		return dead_refused_decide(
		    r, d->spot, kind == ASK_REQUEUE, &d->note, e);
	if (d->note.event)
		return json_wrong(e, "/event",
		    "is for what a source handed over; payload is what can be changed here");
	d->payload = d->note.payload;
	d->ask.decide.ask.kind = kind;
	d->ask.decide.ask.sub = d->spot.sub;
	d->ask.decide.seq = d->spot.seq;
	d->ask.decide.rep = d->spot.rep;
	d->ask.decide.who = api_actor(r);
	d->ask.decide.note = d->note.reason;
	r->ctx = d;
	api_then(r, decide_known);
	return api_read(r, decide_read, e);
}

int
api_deads_requeue(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return decide(r, ASK_REQUEUE, e);
}

int
api_deads_skip(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return decide(r, ASK_SKIP, e);
}
