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
	    "\"seqAfter\":%lld,\"seqUpto\":%lld,\"exclusive\":%s",
	    (long long)rd->pos, (long long)rd->until,
	    rd->exclusive ? "true" : "false");
	if (sql_replay_add(db, e, .uid = uuid_str(&op->uid), .sub = op->sub.id,
		.rep = rd->rep, .from_seq = rd->pos, .until_seq = rd->until,
		.types = terms->types, .rate = terms->rate,
		.exclusive = rd->exclusive, .now = row.at_us, .who = who) < 0 ||
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

	if (rd->until > op->look.look.front)
		rd->until = op->look.look.front;
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
	int64_t since_us, until_us; /* until -1: now */
};

#define POST_AT(field) offsetof(struct post, field)
static const struct member BODY[] = {
    {"subscription", MEMBER_STRING, POST_AT(subscription), 0, UUID_LEN,
	.must = true, .about = "whose events are sent again"},
    {"since", MEMBER_TIME, POST_AT(since_us), .must = true},
    {"until", MEMBER_TIME, POST_AT(until_us), .about = "absent: now"},
    {"types", MEMBER_JSON, POST_AT(types),
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
	put_int(b, "total", op->reader.until - op->reader.pos);
	put_int(b, "done", 0);
	put_close(b, '}');
	r->status = 202;
}

static int
post_known(struct req *r, struct err *e)
{
	return replay_op_begin(r->ctx, e);
}

int
api_replays_post(struct req *r, struct db *db, struct err *e)
{
	struct post *p = arena_alloc(r->arena, sizeof(*p));
	struct replay_op *op = &p->op;
	int64_t first = 0, end = 0;

	p->until_us = -1;
	TRY(api_body(r, BODY, NULL, p, e));
	if (p->until_us >= 0 && p->until_us <= p->since_us)
		return json_wrong(e, "/until", "must be after since");
	TRY(read_types(p, e));
	TRY(seen_sub_find(
	    r, db, p->subscription, "/subscription", &op->sub, e));
	if (op->reader.exclusive && !op->sub.enabled)
		return err_at(e, ERR_CONFLICT, "/exclusive",
		    "the subscription is disabled: it would wait for a replay that does not go on");
	if (op->sub.until_seq > 0)
		return err_at(e, ERR_CONFLICT, "/subscription",
		    "the subscription is gone");
	TRY(when_seq(db, p->since_us, &first, e));
	TRY(when_seq(db,
	    p->until_us < 0 ? clock_now_us() + US_PER_S : p->until_us, &end,
	    e));
	if (end <= first)
		return err_at(e, ERR_INVALID, "/since",
		    "there is nothing in the log from then on");
	op->reader.pos = first - 1;
	op->reader.until = end - 1;
	op->r = r;
	op->show = post_show;
	r->ctx = op;
	TRY(api_behind(r, db, &op->look.ask, e));
	return api_next(r, post_known);
}

/* GET ------------------------------------------------------------------------------- */

static int64_t
done_of(const struct sql_replay_get_row *row)
{
	int64_t pos = row->state == 1 ? row->until_seq : row->from_seq;

	if (!row->pos_null)
		pos = row->pos;
	if (pos > row->until_seq)
		pos = row->until_seq;
	return pos > row->from_seq ? pos - row->from_seq : 0;
}

static void
delivery_replay_show(struct req *r, const struct sql_replay_get_row *row,
    const struct sql_sub_head_row *sub)
{
	static const char *const STATES[] = {"running", "done", "stopped"};
	struct buf *b = &r->out;

	put_open(b, NULL, '{');
	put_uuid(b, "id", uuid_of(row->uid));
	put_uuid(b, "subscriptionId", uuid_of(sub->uid));
	put_z(b, "state", STATES[row->state > 2 ? 2 : row->state]);
	put_int(b, "total", row->until_seq - row->from_seq);
	put_int(b, "done", done_of(row));
	put_raw(b, "types", row->types);
	put_some(b, "ratePerSecond", row->rate > 0 ? row->rate : 0);
	put_bool(b, "exclusive", row->exclusive);
	put_time(b, "createdAt", row->created_at);
	put_text(b, "createdBy", row->created_by);
	put_time(b, "endedAt", row->ended_at);
	put_close(b, '}');
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
	delivery_replay_show(r, &row, &sub);
	return OK;
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
		delivery_replay_show(r, &row, &sub);
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
