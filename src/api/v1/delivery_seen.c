/* delivery.h: what the tables say of deliveries, one or a page of them. */
#include "account/scopes.h"
#include "api/api.h"
#include "api/limits.h"
#include "api/v1/delivery.h"
#include "contract/limits.h"
#include "contract/verdict.h"
#include "deliver/core/core.h"
#include "deliver/limits.h"
#include "event/envelope.h"
#include "event/sealed.h"
#include "event/tenants.h"
#include "match/types.h"
#include "sql.h"

#define EVENT_START 2048 /* of a body, where its correlationId mostly is */

struct uuid
spot_id(const struct api *api, struct spot s)
{
	return delivery_id_make(&api->id_key, s.seq, s.sub, (uint16_t)s.rep);
}

bool
spot_open(const struct api *api, struct str id, struct spot *ret)
{
	struct uuid uid;
	uint16_t rep = 0;

	if (!uuid_parse(id, &uid) ||
	    !delivery_id_open(&api->id_key, uid, &ret->seq, &ret->sub, &rep))
		return false;
	ret->rep = rep;
	return true;
}

int
spot_absent(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such delivery");
}

int
spot_read(const struct req *r, struct spot *ret, struct err *e)
{
	return spot_open(r->app, r->params[0], ret) ? OK : spot_absent(e);
}

struct ask_decide
spot_decide(const struct req *r, struct spot s, enum deliver_ask_kind kind,
    struct str note)
{
	return (struct ask_decide){
	    .ask = {.kind = kind, .sub = s.sub},
	    .seq = s.seq,
	    .rep = s.rep,
	    .who = api_actor(r),
	    .note = note,
	};
}

/* Subscriptions -------------------------------------------------------------- */

bool
seen_visible(const struct req *r, struct str tenants)
{
	struct uuid list[SUB_TENANTS_MAX];
	struct json *j = NULL;
	struct err e;
	size_t n = 0;

	if (!r->who.tenants)
		return true;
	if (!tenants.p || json_parse(r->arena, tenants, &j, &e) < 0)
		return false;
	for (const struct json *t = j->child; t && n < COUNT_OF(list);
	     t = t->next)
		if (!uuid_parse(t->text, &list[n++]))
			return false;
	return n > 0 && scopes_tenants_within(list, n, &r->who);
}

int
seen_sub(struct req *r, struct db *db, int64_t id, struct sql_sub_head_row *ret,
    struct err *e)
{
	int rc = sql_sub_head_one(db, r->arena, ret, e, .id = id);

	return rc > 0 && !seen_visible(r, ret->tenants) ? 0 : rc;
}

int
seen_sub_find(struct req *r, struct db *db, struct str uid, const char *at,
    struct sql_sub_head_row *ret, struct err *e)
{
	struct uuid id;

	if (!uuid_parse(uid, &id))
		return err_at(
		    e, ERR_INVALID, at, "subscription must be a uuid");
	if (TRY(sql_sub_head_uid_one(
		db, r->arena, ret, e, .uid = uuid_str(&id))) == 0 ||
	    !seen_visible(r, ret->tenants))
		return err_at(
		    e, ERR_ABSENT, at, "there is no such subscription");
	return OK;
}

const char *
seen_refuses(struct arena *a, const struct sql_sub_head_row *s, struct str type,
    struct uuid tenant)
{
	struct json *j = NULL;
	struct err e;

	return json_parse(a, s->conf, &j, &e) < 0
		   ? NULL
		   : seen_conf_refuses(j, type, tenant);
}

const char *
seen_conf_refuses(const struct json *j, struct str type, struct uuid tenant)
{
	const struct json *types, *tenants;
	struct uuid id;
	bool fits;

	types = json_get(j, "types");
	tenants = json_get(j, "tenants");
	fits = !json_is(types, JSON_ARRAY) || types->n == 0;
	for (const struct json *t = fits ? NULL : types->child; t && !fits;
	     t = t->next)
		fits = match_types_fit(match_types_key(t->text), type);
	if (!fits)
		return "the subscription's types do not name this eventType";
	fits = !json_is(tenants, JSON_ARRAY) || tenants->n == 0;
	for (const struct json *t = fits ? NULL : tenants->child; t && !fits;
	     t = t->next)
		fits = tenant_parse(t->text, &id) && uuid_eq(id, tenant);
	return fits ? NULL
		    : "the subscription's tenants do not name this tenantId";
}

/* One --------------------------------------------------------------------------- */

const char *const DELIVERY_STATUS[STATUS_COUNT + 1] = {
    [STATUS_PENDING] = "PENDING",
    [STATUS_PROCESSING] = "PROCESSING",
    [STATUS_RETRY_PENDING] = "RETRY_PENDING",
    [STATUS_SUCCESS] = "SUCCESS",
    [STATUS_DEAD_LETTER] = "DEAD_LETTER",
    [STATUS_DROPPED] = "DROPPED",
};

const char *const DEAD_STATES[] = {"open", "requeued", "skipped", NULL};

bool
seen_any(const struct seen *s)
{
	return s->has_attempt || s->has_row || s->has_dead;
}

static bool
dropped(const struct seen *s)
{
	return s->has_attempt && s->attempt.verdict == CORE_DROP;
}

enum delivery_status
seen_status(const struct seen *s)
{
	static const enum delivery_status BY_ROW[] = {
	    [ROW_PARKED] = STATUS_PENDING,
	    [ROW_RETRY] = STATUS_RETRY_PENDING,
	    [ROW_SENDING] = STATUS_PROCESSING,
	    [ROW_HELD] = STATUS_DEAD_LETTER,
	};

	if (s->has_row && s->row.state >= 0 && s->row.state <= ROW_HELD)
		return BY_ROW[s->row.state];
	if (s->has_dead && s->dead.state != 1)
		return STATUS_DEAD_LETTER;
	if (s->has_attempt && s->attempt.verdict == CORE_OK)
		return STATUS_SUCCESS;
	if (dropped(s))
		return STATUS_DROPPED;
	return STATUS_PENDING;
}

int
seen_get(struct req *r, struct db *db, struct spot spot, struct seen *ret,
    struct err *e)
{
	const struct sql_look_rows_args at = {.lo = spot.seq,
	    .seq = spot.seq,
	    .sub = spot.sub,
	    .rep = spot.rep + 1,
	    .most = 1};
	struct seen s = {.spot = spot};
	int rc = TRY(sql_look_attempts_sub_one(db, &s.attempt, e,
	    .lo = spot.seq, .seq = spot.seq, .sub = spot.sub,
	    .rep = spot.rep + 1, .n = 0, .most = 1));

	s.has_attempt = rc > 0 && s.attempt.rep == spot.rep;
	rc = TRY(sql_look_rows_sub_first(db, &at, &s.row, e));
	s.has_row = rc > 0 && s.row.rep == spot.rep;
	rc = TRY(sql_look_deads_sub_first(db, &at, r->arena, &s.dead, e));
	/* State 3 is a body that was kept, and no dead letter. */
	s.has_dead = rc > 0 && s.dead.rep == spot.rep && s.dead.state != 3;
	*ret = s;
	return OK;
}

/* What a dead letter tells of its event; of what a source handed over, what its
 * copy said. */
static int
show_head(struct db *db, const struct sql_look_deads_row *d, bool of_source,
    struct buf *b, struct err *e)
{
	put_text(b, "eventType", d->type);
	TRY(tenants_put(db, b, "tenantId", d->tenant, e));
	put_text(b, "key", d->pkey);
	if (of_source)
		put_text(b, "source", d->source);
	return OK;
}

/* By the beginning of its body, or all of it. 1, 0 when it has none, < 0. */
static int
find_correlation(struct req *r, struct db *db, int64_t seq, struct str start,
    struct uuid *ret, struct err *e)
{
	struct sql_log_get_row row;
	struct str body = STR_EMPTY;
	struct err shut;

	if (!sealed_is(start) && envelope_correlation(start, ret))
		return 1;
	if ((!sealed_is(start) && start.n < EVENT_START) ||
	    TRY(sql_log_get_one(db, r->arena, &row, e, .seq = seq)) == 0 ||
	    delivery_body(r, row.tenant, row.event_id, row.body, &body, &shut) <
		0)
		return 0;
	return envelope_correlation(body, ret);
}

/*
 * eventId, eventType, tenant, key and when it was received. What the log has
 * lost a dead letter still tells; else it is null.
 */
static int
show_event(struct req *r, struct db *db, const struct seen *s, bool of_source,
    struct buf *b, struct err *e)
{
	struct sql_look_deads_row head =
	    s->has_dead ? s->dead : (struct sql_look_deads_row){0};
	struct sql_event_shown_row row = {0};
	struct uuid id;
	bool there = TRY(sql_event_shown_one(db, r->arena, &row, e,
			 .seq = s->spot.seq, .start = EVENT_START)) > 0;
	bool known = there && TRY(find_correlation(
				  r, db, s->spot.seq, row.start, &id, e)) > 0;

	if (there && !of_source) {
		head.tenant = row.tenant;
		head.event_id = row.event_id;
		head.type = row.type;
		head.pkey = row.pkey;
	}
	if (head.event_id.p)
		put_uuid(b, "eventId", uuid_of(head.event_id));
	else
		put_null(b, "eventId");
	TRY(show_head(db, &head, of_source, b, e));
	if (known)
		put_uuid(b, "correlationId", id);
	else
		put_null(b, "correlationId");
	put_time(b, "receivedAt", there ? row.received_at : 0);
	return OK;
}

static int64_t
count_of(const struct seen *s)
{
	int64_t n = s->has_attempt ? s->attempt.n - dropped(s) : 0;

	if (s->has_row && s->row.n > n)
		n = s->row.n;
	return s->has_dead && s->dead.n > n ? s->dead.n : n;
}

static void
show_dead(const struct seen *s, struct buf *b)
{
	if (!s->has_dead || s->dead.state > 2)
		return;
	put_open(b, "deadLetter", '{');
	put_z(b, "reason", reason_name((enum reason)s->dead.reason));
	put_z(b, "state", DEAD_STATES[s->dead.state]);
	put_time(b, "at", s->dead.at);
	put_int(b, "requeues", s->dead.requeues);
	if (s->dead.seq_to > s->spot.seq) {
		put_int(b, "seqFrom", s->spot.seq);
		put_int(b, "seqTo", s->dead.seq_to);
	}
	put_time(b, "decidedAt", s->dead.decided_at);
	put_text(b, "decidedBy", s->dead.decided_by);
	put_text(b, "note", s->dead.note);
	put_text(b, "error", s->dead.error);
	put_close(b, '}');
}

/* A dead letter has it in words, or its reason; else the last attempt has. */
static void
show_error(const struct seen *s, struct buf *b)
{
	int64_t reason = s->has_attempt ? s->attempt.reason : REASON_NONE;
	bool dead = s->has_dead && s->dead.state != 1;

	if (dead && s->dead.error.p) {
		put_text(b, "lastError", s->dead.error);
		return;
	}
	if (reason == REASON_NONE && dead)
		reason = s->dead.reason;
	put_z(b, "lastError",
	    reason == REASON_NONE ? NULL : reason_text((enum reason)reason));
}

/* What the engine says is newer than the tables. */
enum delivery_status
seen_status_now(const struct seen *s, const struct deliver_look *look)
{
	if (!look || !look->known)
		return seen_status(s);
	if (look->seen.in_flight)
		return STATUS_PROCESSING;
	if (look->seen.row.state == ROW_RETRY)
		return STATUS_RETRY_PENDING;
	return look->seen.row.state == ROW_HELD ? STATUS_DEAD_LETTER
						: STATUS_PENDING;
}

int
seen_show(struct req *r, struct db *db, const struct seen *s,
    const struct sql_sub_head_row *sub, const struct deliver_look *look,
    struct buf *b, struct err *e)
{
	enum delivery_status status = seen_status_now(s, look);
	struct spot first = s->spot;
	int64_t n = count_of(s), next = s->row.next_at;

	if (look && look->known) {
		next = look->seen.row.next_at;
		n = look->seen.row.n > n ? look->seen.row.n : n;
	}
	put_open(b, NULL, '{');
	put_uuid(b, "id", spot_id(r->app, s->spot));
	TRY(show_event(r, db, s, !sub, b, e));
	if (sub)
		put_uuid(b, "subscriptionId", uuid_of(sub->uid));
	else
		put_null(b, "subscriptionId");
	put_int(b, "seq", s->spot.seq);
	put_z(b, "status", DELIVERY_STATUS[status]);
	put_int(b, "attemptCount", n);
	put_time(b, "nextAttemptAt", status == STATUS_RETRY_PENDING ? next : 0);
	put_time(b, "lastAttemptAt",
	    s->has_attempt && !dropped(s) ? s->attempt.at : 0);
	if (dropped(s))
		put_time(b, "droppedAt", s->attempt.at);
	put_some(b, "lastStatusCode",
	    s->has_attempt && s->attempt.status > 0 ? s->attempt.status : 0);
	show_error(s, b);
	if (s->spot.rep > 0) {
		first.rep = 0;
		put_uuid(b, "replayOf", spot_id(r->app, first));
	}
	show_dead(s, b);
	return OK;
}

/* One member of an attempt's stored detail, as it stands there. */
static void
show_detail(
    struct buf *b, const struct json *j, const char *name, const char *absent)
{
	const struct json *v = json_get(j, name);

	if (json_is(v, JSON_STRING) && v->text.n > 0)
		put_raw(b, name, v->raw);
	else
		put_z(b, name, absent);
}

static void
show_attempt(
    struct arena *a, const struct sql_attempts_of_row *row, struct buf *b)
{
	const char *why = row->reason == REASON_NONE
			      ? NULL
			      : reason_text((enum reason)row->reason);
	struct json *j = NULL;
	struct err e;

	arena_reset(a);
	if (row->detail.p && json_parse(a, row->detail, &j, &e) < 0)
		j = NULL;
	put_open(b, NULL, '{');
	put_int(b, "number", row->n);
	put_time(b, "at", row->at);
	put_some(b, "statusCode", row->status > 0 ? row->status : 0);
	put_int(b, "durationMs", row->us / US_PER_MS);
	put_bool(b, "success", row->verdict == CORE_OK);
	put_z(b, "reason", reason_name((enum reason)row->reason));
	show_detail(b, j, "error", why);
	show_detail(b, j, "requestHeaders", NULL);
	show_detail(b, j, "responseHead", NULL);
	show_detail(b, j, "responseBody", NULL);
	put_close(b, '}');
}

int
seen_attempts(struct db *db, struct spot spot, struct buf *b, struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(16 * DETAIL_MAX);
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_attempts_of_row row;

	put_open(b, "attempts", '[');
	TRY(sql_attempts_of(db, &rows, e, .seq = spot.seq, .sub = spot.sub,
	    .rep = spot.rep, .after = 0, .most = ATTEMPTS_SHOWN));
	while (TRY(sql_attempts_of_next(rows, &row, e)) > 0)
		if (row.verdict != CORE_DROP) /* there was no call */
			show_attempt(a, &row, b);
	buf_addc(b, ']');
	return OK;
}
