/* deliveries.h: dead letters, and deciding on one. */
#include "api/api.h"
#include "api/v1/deliveries.h"
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
	if (d->by_sub)
		return sql_dead_page_sub(db, ret, e, .lo = d->from, .at = d->at,
		    .sub = d->sub.id, .seq = d->spot.seq, .rep = d->spot.rep,
		    .most = most);
	return sql_dead_page(db, ret, e, .lo = d->from, .at = d->at,
	    .sub = d->spot.sub, .seq = d->spot.seq, .rep = d->spot.rep,
	    .most = most);
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
	bool fits = false;
	int rc;

	if (!d->type.p)
		return 1;
	rc = sql_event_head(db, &rows, e, .seq = seq);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_event_head_get(rows, &row);
		fits = str_eq(row.type, d->type);
	}
	rows_close(rows);
	return rc < 0 ? rc : fits;
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

		while (rc >= 0 && n < most && (rc = rows_next(rows, e)) > 0) {
			sql_dead_page_get(rows, &row); /* the same columns */
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

/* at.deliveryId */
static int
read_after(struct req *r, struct deads *d, struct err *e)
{
	struct api *api = r->app;
	struct str s, at;
	struct uuid id;
	uint16_t rep;

	if (!req_query(r, "after", &s))
		return OK;
	at = str_cut(&s, '.');
	if (!str_int(at, &d->at) || !uuid_parse(s, &id) ||
	    !delivery_id_open(
		&api->id_key, id, &d->spot.seq, &d->spot.sub, &rep))
		return err_at(
		    e, ERR_INVALID, "after", "after is no cursor of this list");
	d->spot.rep = rep;
	return OK;
}

static int
read_query(struct req *r, struct db *db, struct deads *d, int64_t *limit,
    struct err *e)
{
	static const char *const NAMES[] = {
	    "subscription", "reason", "from", "to", "limit", "after", NULL};
	struct str s;
	int rc = req_query_only(r, NAMES, e);

	*d = (struct deads){.reason = -1, .to = INT64_MAX};
	if (rc == OK)
		rc = req_query_int(
		    r, "limit", 1, PAGE_MAX, PAGE_DEFAULT, limit, e);
	if (rc == OK)
		rc = query_time(r, "from", &d->from, e);
	if (rc == OK)
		rc = query_time(r, "to", &d->to, e);
	d->at = d->to;
	if (rc == OK && req_query(r, "reason", &s))
		rc = deads_reason(s, "reason", &d->reason, e);
	if (rc == OK && req_query(r, "subscription", &s)) {
		rc = sub_brief_find(r, db, s, "subscription", &d->sub, e);
		d->by_sub = true;
	}
	return rc == OK ? read_after(r, d, e) : rc;
}

static int
show_dead(struct req *r, struct db *db, const struct seen *s, size_t *shown,
    struct err *e)
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
	if ((*shown)++)
		buf_addc(&r->out, ',');
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
	size_t n = 0, shown = 0, i;
	int64_t limit = 0;
	bool more = false;
	int rc = read_query(r, db, &d, &limit, e);

	if (rc < 0)
		return rc;
	v = arena_array(r->arena, (size_t)limit + 1, sizeof(*v));
	if (!v)
		return err_set(e, ERR_NOMEM, "no memory for a page");
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	rc = deads_next(db, &d, (size_t)limit + 1, v, &n, e);
	for (i = 0; rc >= 0 && i < n && (int64_t)i < limit; i++)
		rc = show_dead(r, db, &v[i], &shown, e);
	more = (int64_t)n > limit || !d.end;
	if ((int64_t)n > limit) {
		d.at = v[limit - 1].dead.at;
		d.spot = v[limit - 1].spot;
	}
	buf_addz(&r->out, "],\"next\":");
	if (more) {
		buf_fmt(&r->out, "\"%lld.", (long long)d.at);
		uuid_add(&r->out, spot_id(r->app, d.spot));
		buf_addz(&r->out, "\"}");
	} else {
		buf_addz(&r->out, "null}");
	}
	return rc < 0 ? rc : OK;
}

/* One --------------------------------------------------------------------------------- */

/* The dead letter that the path names, if the caller may see it. */
static int
get(struct req *r, struct db *db, struct spot spot, struct seen *s,
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
	struct rows *rows = NULL;
	int rc = sql_log_get(db, &rows, e, .seq = spot.seq);

	*ret = (struct str){.p = NULL};
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		struct sql_log_get_row row;

		sql_log_get_get(rows, &row);
		if (body_open(r, row.tenant, row.event_id, row.body, ret, e) <
		    0)
			rc = e->code;
	}
	rows_close(rows);
	if (rc != 0)
		return rc < 0 ? rc : OK;
	rows = NULL;
	rc = sql_dead_body(
	    db, &rows, e, .sub = spot.sub, .seq = spot.seq, .rep = spot.rep);
	if (rc == OK)
		rc = rows_next(rows, e);
	/* A sealed one opens by what the log said of it alone: it is gone. */
	if (rc > 0 && !rows_null(rows, 0) && !sealed_is(rows_str(rows, 0)))
		*ret = arena_dup(r->arena, rows_str(rows, 0));
	rows_close(rows);
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
		rc = get(r, db, spot, &s, &sub, e);
	if (rc == OK)
		rc = dead_event(r, db, spot, &event, e);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	rc =
	    seen_show(r, db, &s, spot.sub == 0 ? NULL : &sub, NULL, &r->out, e);
	if (rc == OK)
		rc = seen_attempts(db, spot, &r->out, e);
	buf_addz(&r->out, ",\"event\":");
	if (event.p)
		buf_add(&r->out, event);
	else
		buf_addz(&r->out, "null");
	buf_addc(&r->out, '}');
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
	struct req *r;
};

static void
show_decided(struct req *r, const struct decision *d)
{
	struct spot now = {.seq = d->entry.seq, .sub = d->spot.sub};

	buf_clear(&r->out);
	buf_addz(&r->out, "{\"id\":\"");
	uuid_add(&r->out, spot_id(r->app, d->payload ? now : d->spot));
	buf_addc(&r->out, '"');
	if (d->payload) {
		buf_addz(&r->out, ",\"eventId\":\"");
		uuid_add(&r->out, d->event_id);
		buf_addz(&r->out, "\",\"requeueOf\":\"");
		uuid_add(&r->out, spot_id(r->app, d->spot));
		buf_addc(&r->out, '"');
	}
	buf_addc(&r->out, '}');
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

static int
edit_details(struct req *r, struct decision *d, struct err *e)
{
	struct buf b = BUF(AUDIT_DETAILS_MAX);

	buf_addz(&b, "\"edited\":true,\"newEventId\":\"");
	uuid_add(&b, d->event_id);
	buf_addz(&b, "\",\"reason\":");
	buf_json(&b, d->ask.decide.note.p ? d->ask.decide.note : STR_EMPTY);
	d->details = arena_dup(r->arena, buf_str(&b));
	buf_done(&b);
	return d->details.p ? OK
			    : err_set(e, ERR_NOMEM, "no memory for a request");
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
	buf_addz(&b, "{\"eventId\":\"");
	uuid_add(&b, d->event_id);
	buf_addz(&b, "\",\"causationId\":");
	buf_add(&b, json_get(j, "eventId")->raw);
	buf_addz(&b, ",\"causedByDelivery\":\"");
	uuid_add(&b, spot_id(r->app, d->spot));
	buf_addc(&b, '"');
	for (const struct json *m = j->child; m; m = m->next) {
		bool ours = false;

		for (size_t i = 0; i < COUNT_OF(OURS); i++)
			ours = ours || str_eq(m->key, str_of(OURS[i]));
		if (ours)
			continue;
		buf_addc(&b, ',');
		buf_json(&b, m->key);
		buf_addc(&b, ':');
		buf_add(&b, m->raw);
	}
	buf_addz(&b, ",\"payload\":");
	buf_add(&b, d->payload->raw);
	buf_addc(&b, '}');
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
	return edit_details(r, d, e);
}

static int
decide_read(struct req *r, struct db *db, struct err *e)
{
	struct decision *d = r->ctx;
	bool requeue = d->ask.decide.ask.kind == ASK_REQUEUE;
	struct str old = {.p = NULL};
	struct seen s = {.dead = {.there = false}};
	int rc = get(r, db, d->spot, &s, &d->sub, e);

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
	struct decision *d = ctx;
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
	uuid_format(spot_id(d->r->app, d->spot), delivery);
	row.webhook_id = str_of(webhook);
	row.delivery_id = str_of(delivery);
	return audit_put(db, &row, e);
}

static void
edit_done(struct append_job *job)
{
	struct decision *d = job->ctx;

	d->r->rc = job->err.code;
	d->r->err = job->err;
	req_wake(d->r);
}

/* The old one no longer holds its key up. */
static int
edited(struct req *r, struct err *e)
{
	struct decision *d = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	d->ask.decide.ask.kind = ASK_SKIP;
	r->then = decided;
	return api_ask(r, &d->ask.decide.ask, e) == REQ_WAIT ? REQ_WAIT
							     : decided(r, e);
}

static int
decide_known(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct decision *d = r->ctx;
	int rc;

	if (r->rc < 0)
		return api_said(r, e);
	if (!d->payload) {
		r->then = decided;
		return api_ask(r, &d->ask.decide.ask, e);
	}
	d->job.entries = &d->entry;
	d->job.n = 1;
	d->job.after = edit_after;
	d->job.ctx = d;
	d->job.done = edit_done;
	r->then = edited;
	rc = append_post(api->append, &d->job, e);
	return rc < 0 ? rc : REQ_WAIT;
}

static int
decide(struct req *r, enum deliver_ask_kind kind, struct err *e)
{
	static const char *const NAMES[] = {"reason", "payload", "event", NULL};
	static const char *const SKIP_NAMES[] = {"reason", NULL};
	struct decision *d = arena_alloc(r->arena, sizeof(*d));
	struct json *j = NULL;
	int rc;

	if (!d)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = spot_read(r, &d->spot, e);
	if (rc == OK)
		rc = note_read(r, kind == ASK_SKIP ? SKIP_NAMES : NAMES,
		    &d->ask.decide.note, &j, e);
	if (rc < 0)
		return rc;
	if (d->spot.sub == 0)
		return dead_refused_decide(
		    r, d->spot, kind == ASK_REQUEUE, d->ask.decide.note, j, e);
	if (j && json_get(j, "event"))
		return json_wrong(e, "/event",
		    "is for what a source handed over; payload is what can be changed here");
	d->payload = j ? json_get(j, "payload") : NULL;
	if (d->payload && !json_is(d->payload, JSON_OBJECT))
		return json_wrong(e, "/payload", "must be an object");
	d->r = r;
	d->ask.decide.ask.kind = kind;
	d->ask.decide.ask.sub = d->spot.sub;
	d->ask.decide.seq = d->spot.seq;
	d->ask.decide.rep = d->spot.rep;
	d->ask.decide.who = api_actor(r);
	r->ctx = d;
	r->then = decide_known;
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
