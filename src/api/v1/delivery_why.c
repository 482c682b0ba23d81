/*
 * delivery.h: one delivery, and what it is waiting for. The engine is asked
 * first, since it alone knows what is in flight; then the tables; and when
 * nobody has heard of it, what the subscription wants and where its reader is.
 */
#include "api/api.h"
#include "api/v1/delivery.h"
#include "api/v1/sub.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "contract/verdict.h"
#include "deliver/core/core.h"
#include "deliver/engine/letter.h"
#include "match/jq/jq.h"
#include "sql.h"

struct why {
	struct ask_look ask;
	bool awake; /* ask.look counts */
	bool wants_reason;
	struct spot spot;
	struct seen seen;
	struct sub_brief sub;
	bool in_log;
	struct str type, body, key; /* of the event */
	struct uuid tenant;
	int64_t to_sub;
	/* the answer */
	enum delivery_status status;
	const char *reason;
	int64_t due;
	bool unknown; /* there is no such delivery */
};

static int
absent(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such delivery");
}

static int
read_event(struct req *r, struct db *db, struct why *w, struct err *e)
{
	struct sql_log_feed_row row;
	int rc = sql_log_feed_one(db, r->arena, &row, e,
	    .after = w->spot.seq - 1, .upto = w->spot.seq, .most = 1);

	if (rc <= 0)
		return rc;
	w->in_log = row.kind == 0;
	w->to_sub = row.to_sub_null ? 0 : row.to_sub;
	w->type = row.type;
	w->key = row.pkey;
	w->tenant = uuid_of(row.tenant);
	return delivery_body(
	    r, row.tenant, row.event_id, row.body, &w->body, e);
}

/* NULL when the filter lets it through, or there is none. */
static const char *
filtered(struct why *w, struct arena *a, struct jq **jq)
{
	struct json *j = NULL;
	const struct json *text;
	struct jq_item item = {.input = w->body};
	struct jq_said said = {.verdict = JQ_TRUE};
	struct err e;
	int rc;

	if (json_parse(a, w->sub.conf, &j, &e) < 0)
		return NULL;
	text = json_get(j, "filter");
	if (!json_is(text, JSON_STRING) || text->text.n == 0)
		return NULL;
	if (!*jq)
		*jq = jq_new("/proc/self/exe");
	rc = jq_program(*jq, text->text, &item.program, &e);
	if (rc < 0)
		return "the subscription's filter can't be run now";
	rc = jq_filter(*jq, &item, 1, &said, &e);
	jq_forget(*jq, item.program);
	if (rc < 0)
		return "the subscription's filter can't be run now";
	return said.verdict == JQ_FALSE ? reason_text(REASON_FILTERED) : NULL;
}

static const char *
stands_still(const struct sub_brief *s, const char *otherwise)
{
	return !s->enabled ? "its subscription is disabled"
	       : s->held.p ? "its subscription is held"
			   : otherwise;
}

/* 1 when a reader has it before it. */
static int
behind_reader(struct db *db, const struct why *w, struct err *e)
{
	struct sql_reader_over_row row;
	struct rows *rows = NULL;
	uint64_t hash = letter_hash(w->key);
	int64_t okey;
	bool found = false;
	int rc = sql_reader_over(db, &rows, e, .sub = w->spot.sub,
	    .seq = w->spot.seq, .rep = w->spot.rep);

	memcpy(&okey, &hash, sizeof(okey));
	while (
	    rc >= 0 && !found && (rc = sql_reader_over_next(rows, &row, e)) > 0)
		found = row.okey == 0 || row.okey == okey;
	rows_close(rows);
	return rc < 0 ? rc : found;
}

static int
not_dispatched(struct db *db, const struct why *w, struct err *e)
{
	struct sql_cursor_low_row row = {0};
	int rc = sql_cursor_low_one(db, &row, e);

	return rc < 0 ? rc : w->spot.seq > row.cursor;
}

/* Nobody has heard of it: is it to come, or never? */
static int
guess(struct why *w, struct arena *a, struct db *db, struct jq **jq,
    struct err *e)
{
	int rc;

	w->status = STATUS_PENDING;
	w->unknown = true;
	if (!w->in_log)
		w->reason = "the log has no such event, or no more";
	else if (w->to_sub > 0 && w->to_sub != (int64_t)w->spot.sub)
		w->reason = "the event is for another subscription alone";
	else if (w->spot.rep == 0 && w->spot.seq <= w->sub.from_seq)
		w->reason = "the event is older than the subscription";
	else if (w->to_sub == 0)
		w->reason = seen_refuses(a, &w->sub, w->type, w->tenant);
	if (!w->reason && w->to_sub == 0)
		w->reason = filtered(w, a, jq);
	if (!w->reason && w->sub.until_seq > 0)
		w->reason = "the subscription is gone";
	if (w->reason)
		return OK;
	w->unknown = false;
	rc = behind_reader(db, w, e);
	if (rc > 0) {
		w->reason = stands_still(&w->sub,
		    "its subscription is behind: it reads the log from an earlier place on");
		return OK;
	}
	if (rc == 0 && w->spot.rep == 0)
		rc = not_dispatched(db, w, e);
	if (rc > 0) {
		w->reason = "the deliveries have not come to it yet";
		return OK;
	}
	w->unknown = true;
	w->reason =
	    "it is settled, and what is known of it has gone by its age; or its preset does not send such events";
	return rc < 0 ? rc : OK;
}

static const char *
row_reason(const struct seen *s)
{
	switch ((enum core_row_state)s->row.state) {
	case ROW_PARKED:
		return "it waits for its turn";
	case ROW_RETRY:
		return "it waits for its next attempt";
	case ROW_SENDING:
		return "it is being sent";
	case ROW_HELD:
		return "it failed for good, and holds the later ones of its key";
	}
	return "";
}

static int
explain(struct why *w, struct arena *a, struct db *db, struct jq **jq,
    struct err *e)
{
	const struct seen *s = &w->seen;

	w->status = seen_status(s);
	if (w->awake && w->ask.look.known) {
		w->reason = w->ask.look.why;
		w->due = w->ask.look.due;
		return OK;
	}
	if (s->row.there) {
		w->reason = w->sub.until_seq > 0
				? "its subscription is gone"
				: stands_still(&w->sub, row_reason(s));
		w->due = s->row.state == ROW_RETRY ? s->row.next_at : 0;
		return OK;
	}
	if (s->dead.there && s->dead.state == 0) {
		w->reason = reason_text((enum reason)s->dead.reason);
		return OK;
	}
	if (s->dead.there && s->dead.state == 2) {
		w->reason = "somebody skipped it";
		return OK;
	}
	if (w->status == STATUS_SUCCESS) {
		w->reason = "it was delivered";
		return OK;
	}
	if (w->status == STATUS_DROPPED) {
		w->reason = reason_text((enum reason)s->attempt.reason);
		return OK;
	}
	if (seen_any(s)) {
		w->reason = "it waits for its turn";
		return OK;
	}
	return guess(w, a, db, jq, e);
}

static int
read_one(struct req *r, struct db *db, struct jq **jq, struct err *e)
{
	struct why *w = r->ctx;
	int rc = sub_brief_get(r, db, w->spot.sub, &w->sub, e);

	if (rc == 0 || (rc > 0 && !w->sub.visible))
		return absent(e);
	if (rc > 0)
		rc = seen_get(r, db, w->spot, &w->seen, e);
	if (rc == OK)
		rc = read_event(r, db, w, e);
	if (rc == OK)
		rc = explain(w, r->arena, db, jq, e);
	return rc < 0 ? rc : OK;
}

static int
show_one(struct req *r, struct db *db, struct err *e)
{
	struct why *w = r->ctx;
	int rc;

	if (w->unknown)
		return absent(e);
	buf_clear(&r->out);
	rc = seen_show(r, db, &w->seen, &w->sub, w->awake ? &w->ask.look : NULL,
	    &r->out, e);
	if (rc == OK)
		rc = seen_attempts(db, w->spot, &r->out, e);
	buf_addc(&r->out, '}');
	return rc;
}

static void
show_why(struct req *r)
{
	struct why *w = r->ctx;
	struct buf *b = &r->out;

	if (w->awake && w->ask.look.known) {
		w->status = seen_status_now(&w->seen, &w->ask.look);
		if (w->due == 0 && w->status == STATUS_RETRY_PENDING)
			w->due = w->ask.look.next_at;
	}
	buf_clear(b);
	put_open(b, NULL, '{');
	put_uuid(b, "id", spot_id(r->app, w->spot));
	/* It is no delivery at all: the reason says why. */
	put_z(b, "status", w->unknown ? NULL : DELIVERY_STATUS[w->status]);
	put_z(b, "reason", w->reason);
	put_time(b, "until", w->due);
	if (!w->sub.enabled && w->sub.why.n > 0)
		put_text(b, "disabledReason", w->sub.why);
	if (w->sub.held.p)
		put_text(b, "heldReason", w->sub.held);
	put_close(b, '}');
}

/* On the check thread, which has a jq. */
static void
check_job(struct pool_job *job, void *ctx)
{
	struct req *r = MAIL_OF(job, struct req, job);
	struct checker *k = ctx;
	struct why *w = r->ctx;

	if (!k || !k->db)
		r->rc =
		    err_set(&r->err, ERR_AWAY, "no connection to the store");
	else
		r->rc = read_one(r, k->db, &k->jq, &r->err);
	if (r->rc == OK && w->wants_reason)
		show_why(r);
	else if (r->rc == OK)
		r->rc = show_one(r, k->db, &r->err);
	req_wake(r);
}

static int
looked(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct why *w = r->ctx;

	/* A server that does not deliver knows what the tables say. */
	w->awake = r->rc == OK;
	r->rc = OK;
	r->then = api_said;
	r->job.run = check_job;
	return pool_post(api->check, &r->job) ? REQ_WAIT : api_too_busy(e);
}

static int
delivery_why_begin(struct req *r, bool wants_reason, struct err *e)
{
	struct why *w = arena_alloc(r->arena, sizeof(*w));
	int rc = spot_read(r, &w->spot, e);

	if (rc < 0)
		return rc;
	w->wants_reason = wants_reason;
	w->ask.ask.kind = ASK_LOOK;
	w->ask.ask.sub = w->spot.sub;
	w->ask.seq = w->spot.seq;
	w->ask.rep = w->spot.rep;
	r->ctx = w;
	r->then = looked;
	if (api_ask(r, &w->ask.ask, e) == REQ_WAIT)
		return REQ_WAIT;
	r->rc = ERR_AWAY;
	return looked(r, e);
}

int
api_deliveries_get(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return delivery_why_begin(r, false, e);
}

int
api_deliveries_why(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return delivery_why_begin(r, true, e);
}
