/*
 * delivery.h: replays. One is stored: its row, its reader, the audit's row and
 * the entry of the log by which whoever delivers hears of it, in one transaction
 * of the commit thread (deliver/engine/replay.h). So it is stopped, too.
 */
#include "api/api.h"
#include "api/v1/delivery.h"
#include "audit/audit.h"
#include "deliver/engine/control.h"
#include "deliver/limits.h"
#include "event/limits.h"
#include "event/tenants.h"
#include "event/when.h"
#include "match/types.h"

/* Beginning one ------------------------------------------------------------------ */

static int
choose_rep(struct db *db, int64_t sub, bool exclusive, int *ret, struct err *e)
{
	struct sql_replay_rep_row row;

	if (TRY(sql_replay_rep_one(db, &row, e, .sub = sub)) == 0)
		return OK;
	if (row.running >= SUB_REPLAYS_MAX)
		return err_set(e, ERR_CONFLICT,
		    "%d replays of this subscription run already: wait for one, or stop it",
		    SUB_REPLAYS_MAX);
	if (exclusive && row.exclusive > 0)
		return err_set(e, ERR_CONFLICT,
		    "an exclusive replay of this subscription runs already: wait for it, or stop it");
	if (row.rep_null || row.rep > REP_MAX)
		return err_set(e, ERR_CONFLICT,
		    "this subscription has had too many replays: their attempts must go first");
	*ret = (int)row.rep;
	return OK;
}

static struct str
tenant_of(const struct replay_terms *t)
{
	return uuid_eq(t->tenant, (struct uuid){{0}}) ? (struct str){.p = NULL}
						      : uuid_str(&t->tenant);
}

/*
 * How many events of (pos, until] it is of, before the subscription's filter
 * is asked; -1: they are too many to be counted.
 */
static int
count_events(struct req *r, struct db *db, const struct sql_sub_head_row *sub,
    const struct replay_terms *t, const struct core_reader *rd, int64_t *ret,
    struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_replay_heads_row row;
	struct json *conf = NULL;
	struct replay *p = NULL;
	int64_t n = 0;
	int rc;

	*ret = -1;
	if (rd->until - rd->pos > REPLAY_COUNT_MAX)
		return OK;
	TRY(json_parse(r->arena, sub->conf, &conf, e));
	TRY(sql_replay_heads(
	    db, &rows, e, .after = rd->pos, .upto = rd->until, .sub = sub->id));
	TRY(replay_new((struct replay_key){0}, t, &p, e));
	while ((rc = sql_replay_heads_next(rows, &row, e)) > 0) {
		struct uuid tenant = uuid_of(row.tenant);

		n += replay_wants(p, row.type, &tenant, row.pkey) &&
		     !seen_conf_refuses(conf, row.type, tenant);
	}
	replay_unref(p);
	*ret = n;
	return rc;
}

/* On the commit thread. */
static int
store(struct db *db, void *ctx, struct err *e)
{
	struct req *r = ctx;
	struct replay_op *op = r->ctx;
	struct core_reader *rd = &op->reader;
	const struct replay_terms *terms = &op->terms;
	struct str who = api_actor(r);
	char uid[UUID_LEN + 1];
	struct audit_row row = {
	    .category = AUDIT_REPLAY_STARTED,
	    .at_us = clock_now_us(),
	    .actor = who,
	    .target_type = STR("subscription"),
	    .object_name = op->sub.name,
	};

	TRY(choose_rep(db, op->sub.id, rd->exclusive, &rd->rep, e));
	uuid_format(uuid_of(op->sub.uid), uid);
	row.webhook_id = str_of(uid);
	row.details = arena_fmt(r->arena,
	    "\"seqAfter\":%lld,\"seqUpto\":%lld,\"exclusive\":%s%s",
	    (long long)rd->pos, (long long)rd->until,
	    rd->exclusive ? "true" : "false",
	    op->old.seq > 0 ? ",\"resend\":true" : "");
	if (sql_replay_add(db, e, .uid = uuid_str(&op->uid), .sub = op->sub.id,
		.rep = rd->rep, .from_seq = rd->pos, .until_seq = rd->until,
		.types = terms->types, .rate = terms->rate,
		.exclusive = rd->exclusive, .now = row.at_us, .who = who,
		.pkey = terms->order_key, .tenant = tenant_of(terms),
		.total = op->total < 0 ? NULL : &op->total) < 0 ||
	    sql_reader_put(db, e, .sub = op->sub.id, .okey = 0, .rep = rd->rep,
		.pos = rd->pos, .until_seq = rd->until) < 0)
		return e->code;
	return audit_put(db, &row, e);
}

static int
stored(struct req *r, struct err *)
{
	struct replay_op *op = r->ctx;

	op->show(op);
	return OK;
}

static int
begin(struct req *r, struct err *e)
{
	struct replay_op *op = r->ctx;

	op->uid = uuid_v4();
	control_entry(&op->entry, "replay");
	op->entry.to_sub = op->sub.id;
	op->job =
	    (struct append_job){.fn = store, .entries = &op->entry, .n = 1};
	api_then(r, stored);
	return api_append(r, &op->job, e);
}

/* What it has not come to yet it will deliver by itself, after this. */
static int
looked(struct req *r, struct err *e)
{
	struct replay_op *op = r->ctx;
	struct core_reader *rd = &op->reader;

	if (rd->until > op->look.look.front) {
		rd->until = op->look.look.front;
		op->total = -1;
	}
	if (rd->until <= rd->pos)
		return err_at(e, ERR_CONFLICT, "/exclusive",
		    "the subscription has not come to these events yet: it delivers them by itself, in order");
	return begin(r, e);
}

int
replay_op_begin(struct replay_op *op, struct err *e)
{
	struct req *r = op->r;

	if (!op->reader.exclusive)
		return begin(r, e);
	op->look.ask.kind = ASK_LOOK;
	op->look.ask.sub = (uint32_t)op->sub.id;
	api_then(r, looked);
	return api_ask(r, &op->look.ask, e);
}

/* POST /v1/replays ------------------------------------------------------------------ */

struct post {
	struct replay_op op; /* first, so that it is r->ctx too */
	struct str subscription;
	const struct json *types;
	int64_t since_us, until_us; /* -1: from_seq; now */
	int64_t from_seq, to_seq;   /* 0: by the times */
};

#define POST_AT(field) offsetof(struct post, field)
const struct member REPLAY_BODY[] = {
    {"subscription", MEMBER_STRING, POST_AT(subscription), 0, UUID_LEN,
	.must = true, .about = "whose events are sent again"},
    {"since", MEMBER_TIME, POST_AT(since_us), .about = "or fromSeq"},
    {"until", MEMBER_TIME, POST_AT(until_us), .about = "absent: now"},
    {"fromSeq", MEMBER_INT, POST_AT(from_seq), 1, DELIVERY_SEQ_MAX,
	.about = "the first entry, instead of since"},
    {"toSeq", MEMBER_INT, POST_AT(to_seq), 1, DELIVERY_SEQ_MAX,
	.about = "the last entry, instead of until"},
    {"key", MEMBER_STRING, POST_AT(op.terms.order_key), 1, EVENT_KEY_MAX,
	.about = "only events with this partitionKey"},
    {"tenant", MEMBER_TENANT, POST_AT(op.terms.tenant)},
    {"types", MEMBER_JSON, POST_AT(types), .schema = "Types",
	.about = "eventTypes or name.*; absent: all"},
    {"ratePerSecond", MEMBER_INT, POST_AT(op.terms.rate), 1, REPLAY_RATE_MAX},
    {"exclusive", MEMBER_BOOL, POST_AT(op.reader.exclusive)},
    {.name = NULL},
};

static int
read_types(struct post *p, struct err *e)
{
	const struct json *j = p->types;

	if (!j)
		return OK;
	if (!json_is(j, JSON_ARRAY) || j->n < 1 || j->n > REPLAY_TYPES_MAX)
		return json_wrong(e, "/types",
		    "must be an array of 1 to %d eventTypes or name.*",
		    REPLAY_TYPES_MAX);
	for (const struct json *t = j->child; t; t = t->next) {
		if (!json_is(t, JSON_STRING))
			return json_wrong(
			    e, "/types", "must hold strings only");
		if (match_types_check(t->text, e) < 0) {
			struct err was = *e;

			return err_at(e, ERR_INVALID, "/types", "%s", was.text);
		}
	}
	p->op.terms.types = j->raw;
	return OK;
}

static void
post_show(struct replay_op *op)
{
	struct req *r = op->r;
	struct buf *b = api_object(r);

	put_uuid(b, "id", op->uid);
	put_z(b, "state", "running");
	put_int(b, "total",
	    op->total >= 0 ? op->total : op->reader.until - op->reader.pos);
	put_int(b, "done", 0);
	put_close(b, '}');
	r->status = 202;
}

static int
post_known(struct req *r, struct err *e)
{
	return replay_op_begin(r->ctx, e);
}

/* The stretch of the log: by seq, or by time. */
static int
read_stretch(struct post *p, struct db *db, struct err *e)
{
	struct core_reader *rd = &p->op.reader;
	struct sql_log_last_row last = {0};
	int64_t first = p->from_seq, end = p->to_seq + 1;

	if (first == 0)
		TRY(when_seq(db, p->since_us, &first, e));
	if (p->to_seq == 0)
		TRY(when_seq(db,
		    p->until_us < 0 ? clock_now_us() + US_PER_S : p->until_us,
		    &end, e));
	TRY(sql_log_last_one(db, &last, e));
	if (end > last.seq + 1)
		end = last.seq + 1;
	if (end <= first)
		return err_at(e, ERR_INVALID,
		    p->from_seq ? "/fromSeq" : "/since",
		    "there is nothing in the log from then on");
	rd->pos = first - 1;
	rd->until = end - 1;
	return OK;
}

static int
check_stretch(const struct post *p, struct err *e)
{
	if ((p->since_us < 0) == (p->from_seq == 0))
		return json_wrong(
		    e, "/since", "must be given, or fromSeq in its place");
	if (p->until_us >= 0 && p->to_seq > 0)
		return json_wrong(e, "/toSeq", "is given by until already");
	if (p->until_us >= 0 && p->until_us <= p->since_us)
		return json_wrong(e, "/until", "must be after since");
	if (p->to_seq > 0 && p->to_seq < p->from_seq)
		return json_wrong(e, "/toSeq", "must not be before fromSeq");
	return OK;
}

int
api_replays_post(struct req *r, struct db *db, struct err *e)
{
	struct post *p = arena_alloc(r->arena, sizeof(*p));
	struct replay_op *op = &p->op;

	p->since_us = p->until_us = -1;
	TRY(api_body(r, REPLAY_BODY, NULL, p, e));
	TRY(check_stretch(p, e));
	TRY(read_types(p, e));
	TRY(seen_sub_find(
	    r, db, p->subscription, "/subscription", &op->sub, e));
	if (op->reader.exclusive && !op->sub.enabled)
		return err_at(e, ERR_CONFLICT, "/exclusive",
		    "the subscription is disabled: it would wait for a replay that does not go on");
	if (op->sub.until_seq > 0)
		return err_at(e, ERR_CONFLICT, "/subscription",
		    "the subscription is gone");
	TRY(read_stretch(p, db, e));
	TRY(count_events(
	    r, db, &op->sub, &op->terms, &op->reader, &op->total, e));
	op->r = r;
	op->show = post_show;
	r->ctx = op;
	TRY(api_behind(r, db, &op->look.ask, e));
	return api_next(r, post_known);
}

/* GET ------------------------------------------------------------------------------- */

/* How far it has come in the log. */
static int64_t
pos_of(const struct sql_replay_get_row *row)
{
	int64_t pos = row->state == 1 ? row->until_seq : row->from_seq;

	if (!row->pos_null)
		pos = row->pos;
	if (pos > row->until_seq)
		pos = row->until_seq;
	return pos > row->from_seq ? pos : row->from_seq;
}

/* Of how many it is, and how many it has read: events that match, or where
 * these are too many to be counted, entries of the log. A list counts no
 * entries again: it tells about how many. */
static int
show_count(struct req *r, struct db *db, const struct sql_replay_get_row *row,
    const struct sql_sub_head_row *sub, bool listed, struct err *e)
{
	struct replay_terms t = {.types = row->types,
	    .order_key = row->pkey,
	    .tenant =
		row->tenant.p ? uuid_of(row->tenant) : (struct uuid){{0}}};
	int64_t pos = pos_of(row), done = row->total;
	int64_t way = row->until_seq - row->from_seq;
	struct core_reader rd = {.pos = row->from_seq, .until = pos};
	bool counted = !row->total_null;

	if (counted && row->state != 1 && listed)
		done = way > 0 ? done * (pos - row->from_seq) / way : 0;
	else if (counted && row->state != 1)
		TRY(count_events(r, db, sub, &t, &rd, &done, e));
	put_int(&r->out, "total", counted ? row->total : way);
	put_int(&r->out, "done",
	    !counted            ? pos - row->from_seq
	    : done < row->total ? done
				: row->total);
	return OK;
}

static int
delivery_replay_show(struct req *r, struct db *db,
    const struct sql_replay_get_row *row, const struct sql_sub_head_row *sub,
    bool listed, struct err *e)
{
	static const char *const STATES[] = {"running", "done", "stopped"};
	struct buf *b = &r->out;

	put_open(b, NULL, '{');
	put_uuid(b, "id", uuid_of(row->uid));
	put_uuid(b, "subscriptionId", uuid_of(sub->uid));
	put_z(b, "state", STATES[row->state > 2 ? 2 : row->state]);
	TRY(show_count(r, db, row, sub, listed, e));
	put_int(b, "fromSeq", row->from_seq + 1);
	put_int(b, "toSeq", row->until_seq);
	put_raw(b, "types", row->types);
	put_text(b, "key", row->pkey);
	TRY(tenants_put(db, b, "tenant", row->tenant, e));
	put_some(b, "ratePerSecond", row->rate > 0 ? row->rate : 0);
	put_bool(b, "exclusive", row->exclusive);
	put_time(b, "createdAt", row->created_at);
	put_text(b, "createdBy", row->created_by);
	put_time(b, "endedAt", row->ended_at);
	put_close(b, '}');
	return OK;
}

/* 1 when there is one of this id. */
static int
replay_find(struct req *r, struct db *db, struct str id,
    struct sql_replay_get_row *ret, struct err *e)
{
	struct uuid uid;

	return uuid_parse(id, &uid) ? sql_replay_get_one(db, r->arena, ret, e,
					  .uid = uuid_str(&uid))
				    : 0;
}

/* The one that the path names. */
static int
replay_get(struct req *r, struct db *db, struct sql_replay_get_row *ret,
    struct sql_sub_head_row *sub, struct err *e)
{
	if (TRY(replay_find(r, db, r->params[0], ret, e)) == 0 ||
	    TRY(seen_sub(r, db, ret->sub, sub, e)) == 0)
		return err_set(e, ERR_ABSENT, "there is no such replay");
	return OK;
}

int
api_replays_get(struct req *r, struct db *db, struct err *e)
{
	struct sql_replay_get_row row;
	struct sql_sub_head_row sub;

	TRY(replay_get(r, db, &row, &sub, e));
	return delivery_replay_show(r, db, &row, &sub, false, e);
}

struct listing {
	struct api_scan scan;
	int64_t before;
	struct uuid last;
};

static int
list_some(struct req *r, struct db *db, struct listing *l, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_replay_get_row row;
	struct sql_sub_head_row sub;

	TRY(sql_replay_page(
	    db, &rows, e, .before = l->before, .most = l->scan.page.limit + 1));
	while (TRY(sql_replay_get_next(rows, &row, e)) > 0 &&
	       api_scan_row(&l->scan, r)) {
		l->before = row.id;
		l->last = uuid_of(row.uid);
		if (TRY(seen_sub(r, db, row.sub, &sub, e)) == 0)
			continue;
		l->scan.shown++;
		TRY(delivery_replay_show(r, db, &row, &sub, true, e));
	}
	return OK;
}

int
api_replays_list(struct req *r, struct db *db, struct err *e)
{
	struct listing l = {.before = INT64_MAX};
	struct sql_replay_get_row row;

	TRY(api_scan(r, API_PAGE_ONLY, &l.scan.page, &l.scan, e));
	if (l.scan.page.after.p) {
		if (TRY(replay_find(r, db, l.scan.page.after, &row, e)) == 0)
			return api_no_cursor(e);
		l.before = row.id;
	}
	while (api_scan_on(&l.scan))
		TRY(list_some(r, db, &l, e));
	api_list_end_uuid(r, api_scan_more(&l.scan), l.last);
	return OK;
}

/* DELETE: it stops --------------------------------------------------------------------- */

struct stopping {
	struct append_job job;
	struct entry entry;
};

/* On the commit thread. */
static int
stop(struct db *db, void *ctx, struct err *e)
{
	struct req *r = ctx;
	struct stopping *s = r->ctx;
	struct sql_replay_get_row row;
	struct sql_sub_head_row sub;

	TRY(replay_get(r, db, &row, &sub, e));
	if (row.state != 0)
		return err_set(e, ERR_CONFLICT, "the replay has ended already");
	s->entry.to_sub = row.sub;
	TRY((int)sql_replay_stop(db, e, .uid = row.uid, .now = clock_now_us()));
	return OK;
}

static int
stopped(struct req *r, struct err *)
{
	return api_gone(r);
}

int
api_replays_delete(struct req *r, struct db *, struct err *e)
{
	struct stopping *s = arena_alloc(r->arena, sizeof(*s));

	control_entry(&s->entry, "replay");
	s->job = (struct append_job){.fn = stop, .entries = &s->entry, .n = 1};
	r->ctx = s;
	api_then(r, stopped);
	return api_append(r, &s->job, e);
}
