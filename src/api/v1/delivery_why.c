/*
 * delivery.h: one delivery, and what it is waiting for. The engine is asked
 * first, since it alone knows what is in flight; then the tables; and when
 * nobody has heard of it, what the subscription wants and where its reader is.
 */
#include "api/api.h"
#include "api/v1/delivery.h"
#include "api/v1/sub.h"
#include "contract/verdict.h"
#include "deliver/core/core.h"
#include "deliver/engine/letter.h"
#include "match/jq/jq.h"

struct why {
	struct ask_look ask;
	const struct deliver_look *look; /* NULL: the engine did not */
	bool wants_reason;
	struct spot spot;
	struct seen seen;
	struct sql_sub_head_row sub;
	bool in_log;
	struct sql_log_feed_row event;
	struct str body; /* of the event, opened */
	/* the answer */
	int64_t due;
	bool unknown; /* there is no such delivery */
};

static int
read_event(struct req *r, struct db *db, struct why *w, struct err *e)
{
	struct sql_log_feed_row *ev = &w->event;

	if (TRY(sql_log_feed_one(db, r->arena, ev, e, .after = w->spot.seq - 1,
		.upto = w->spot.seq, .most = 1)) == 0)
		return OK;
	w->in_log = ev->kind == 0;
	return delivery_body(
	    r, ev->tenant, ev->event_id, ev->body, &w->body, e);
}

/* NULL when the filter lets it through, or there is none. */
static const char *
filtered(struct req *r, const struct why *w)
{
	struct json *j = NULL;
	const struct json *text;
	struct jq_item item = {.input = w->body};
	struct jq_said said = {.verdict = JQ_TRUE};
	struct jq *jq;
	struct err e;
	int rc;

	if (json_parse(r->arena, w->sub.conf, &j, &e) < 0)
		return NULL;
	text = json_get(j, "filter");
	if (!json_is(text, JSON_STRING) || text->text.n == 0)
		return NULL;
	jq = api_jq(r);
	rc = jq_program(jq, text->text, &item.program, &e);
	if (rc == OK) {
		rc = jq_filter(jq, &item, 1, &said, &e);
		jq_forget(jq, item.program);
	}
	if (rc < 0)
		return "the subscription's filter can't be run now";
	return said.verdict == JQ_FALSE ? reason_text(REASON_FILTERED) : NULL;
}

static const char *
stands_still(const struct sql_sub_head_row *s, const char *otherwise)
{
	return !s->enabled ? "its subscription is disabled"
	       : s->held.p ? "its subscription is held"
			   : otherwise;
}

/* 1 when a reader has it before it. */
static int
behind_reader(struct db *db, const struct why *w, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_reader_over_row row;
	int64_t okey = (int64_t)letter_hash(w->event.pkey);

	TRY(sql_reader_over(db, &rows, e, .sub = w->spot.sub,
	    .seq = w->spot.seq, .rep = w->spot.rep));
	while (TRY(sql_reader_over_next(rows, &row, e)) > 0)
		if (row.okey == 0 || row.okey == okey)
			return 1;
	return 0;
}

static int
not_dispatched(struct db *db, const struct why *w, struct err *e)
{
	struct sql_cursor_low_row row = {0};

	TRY(sql_cursor_low_one(db, &row, e));
	return w->spot.seq > row.cursor;
}

/* Why it is none and never will be; NULL: it may be to come. */
static const char *
never(struct req *r, const struct why *w)
{
	const struct sql_log_feed_row *ev = &w->event;
	const char *reason = NULL;

	if (!w->in_log)
		return "the log has no such event, or no more";
	if (ev->to_sub > 0 && ev->to_sub != (int64_t)w->spot.sub)
		return "the event is for another subscription alone";
	if (w->spot.rep == 0 && w->spot.seq <= w->sub.from_seq)
		return "the event is older than the subscription";
	if (ev->to_sub == 0)
		reason = seen_refuses(
		    r->arena, &w->sub, ev->type, uuid_of(ev->tenant));
	if (!reason && ev->to_sub == 0)
		reason = filtered(r, w);
	if (!reason && w->sub.until_seq > 0)
		reason = "the subscription is gone";
	return reason;
}

/* Nobody has heard of it: is it to come, or never? */
static int
guess(struct req *r, struct db *db, const char **ret, struct err *e)
{
	struct why *w = r->ctx;

	w->unknown = true;
	*ret = never(r, w);
	if (*ret)
		return OK;
	w->unknown = false;
	if (TRY(behind_reader(db, w, e)) > 0) {
		*ret = stands_still(&w->sub,
		    "its subscription is behind: it reads the log from an earlier place on");
	} else if (w->spot.rep == 0 && TRY(not_dispatched(db, w, e)) > 0) {
		*ret = "the deliveries have not come to it yet";
	} else {
		w->unknown = true;
		*ret =
		    "it is settled, and what is known of it has gone by its age; or its preset does not send such events";
	}
	return OK;
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

/* By what is known of it; NULL: nothing is. */
static const char *
known_reason(struct why *w)
{
	const struct seen *s = &w->seen;
	enum delivery_status status = seen_status(s);

	if (w->look) {
		w->due = w->look->seen.due;
		return w->look->seen.why;
	}
	if (s->has_row) {
		w->due = s->row.state == ROW_RETRY ? s->row.next_at : 0;
		return w->sub.until_seq > 0
			   ? "its subscription is gone"
			   : stands_still(&w->sub, row_reason(s));
	}
	if (s->has_dead && s->dead.state == 0)
		return reason_text((enum reason)s->dead.reason);
	if (s->has_dead && s->dead.state == 2)
		return "somebody skipped it";
	if (status == STATUS_SUCCESS)
		return "it was delivered";
	if (status == STATUS_DROPPED)
		return reason_text((enum reason)s->attempt.reason);
	return seen_any(s) ? "it waits for its turn" : NULL;
}

static int
show_one(struct req *r, struct db *db, struct err *e)
{
	struct why *w = r->ctx;

	if (w->unknown)
		return spot_absent(e);
	TRY(seen_show(r, db, &w->seen, &w->sub, w->look, &r->out, e));
	TRY(seen_attempts(db, w->spot, &r->out, e));
	buf_addc(&r->out, '}');
	return OK;
}

static int
show_why(struct req *r, const char *reason)
{
	struct why *w = r->ctx;
	struct buf *b = api_object(r);
	enum delivery_status status = seen_status_now(&w->seen, w->look);

	if (w->look && w->due == 0 && status == STATUS_RETRY_PENDING)
		w->due = w->look->seen.row.next_at;
	put_uuid(b, "id", spot_id(r->app, w->spot));
	/* It is no delivery at all: the reason says why. */
	put_z(b, "status", w->unknown ? NULL : DELIVERY_STATUS[status]);
	put_z(b, "reason", reason);
	put_time(b, "until", w->due);
	if (!w->sub.enabled && w->sub.why.n > 0)
		put_text(b, "disabledReason", w->sub.why);
	if (w->sub.held.p)
		put_text(b, "heldReason", w->sub.held);
	put_close(b, '}');
	return OK;
}

/* On the check thread, which has a jq. */
static int
read_one(struct req *r, struct db *db, struct err *e)
{
	struct why *w = r->ctx;
	const char *reason;

	if (TRY(seen_sub(r, db, w->spot.sub, &w->sub, e)) == 0)
		return spot_absent(e);
	TRY(seen_get(r, db, w->spot, &w->seen, e));
	TRY(read_event(r, db, w, e));
	reason = known_reason(w);
	if (!reason)
		TRY(guess(r, db, &reason, e));
	return w->wants_reason ? show_why(r, reason) : show_one(r, db, e);
}

static int
looked(struct req *r, struct err *e)
{
	struct why *w = r->ctx;

	/* A server that does not deliver knows what the tables say. */
	if (r->rc == OK && w->ask.look.known)
		w->look = &w->ask.look;
	r->rc = OK;
	r->then = api_said;
	return api_check(r, read_one, e);
}

static int
delivery_why_begin(struct req *r, bool wants_reason, struct err *e)
{
	struct why *w = arena_alloc(r->arena, sizeof(*w));

	TRY(spot_read(r, &w->spot, e));
	w->wants_reason = wants_reason;
	w->ask = (struct ask_look){
	    .ask = {.kind = ASK_LOOK, .sub = w->spot.sub, .here = true},
	    .seq = w->spot.seq,
	    .rep = w->spot.rep,
	};
	r->ctx = w;
	return api_ask_anyway(r, &w->ask.ask, looked, e);
}

int
api_deliveries_get(struct req *r, struct db *, struct err *e)
{
	return delivery_why_begin(r, false, e);
}

int
api_deliveries_why(struct req *r, struct db *, struct err *e)
{
	return delivery_why_begin(r, true, e);
}
