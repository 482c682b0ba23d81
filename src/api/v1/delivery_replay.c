/*
 * delivery.h: replays. One is stored (its row, its reader and the audit's
 * row in one transaction of the commit thread), then the engine is told to
 * begin; should it not hear of it, whoever delivers next finds the reader.
 */
#include "api/api.h"
#include "api/limits.h"
#include "api/v1/delivery.h"
#include "audit/audit.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "deliver/limits.h"
#include "event/when.h"
#include "http/server/limits.h"
#include "match/types.h"
#include "sql.h"

/* Beginning one ------------------------------------------------------------------ */

static int
begun(struct req *r, struct err *e)
{
	struct replay_op *op = r->ctx;

	(void)e;
	/* It is stored: a node that lost the groups just now is no failure. */
	op->show(op);
	return OK;
}

static int
stored(struct req *r, struct err *e)
{
	struct replay_op *op = r->ctx;

	op->ask.ask.kind = ASK_REPLAY;
	op->ask.ask.sub = op->look.ask.sub;
	op->ask.ask.behind = op->look.ask.behind;
	op->ask.types = op->types;
	op->ask.rate = op->rate;
	r->then = begun;
	return api_ask(r, &op->ask.ask, e) == REQ_WAIT ? REQ_WAIT : begun(r, e);
}

static int
choose_rep(struct db *db, int64_t sub, bool exclusive, int *ret, struct err *e)
{
	struct sql_replay_rep_row row;
	int rc = sql_replay_rep_one(db, &row, e, .sub = sub);

	if (rc <= 0)
		return rc;
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
store(struct req *r, struct db *db, struct err *e)
{
	struct replay_op *op = r->ctx;
	struct str who = api_actor(r);
	char uid[UUID_LEN + 1];
	struct audit_row row = {
	    .category = AUDIT_REPLAY_STARTED,
	    .at_us = clock_now_us(),
	    .actor = who,
	    .target_type = STR("subscription"),
	    .object_name = op->sub.name,
	};
	int rc = choose_rep(db, op->sub.id, op->ask.exclusive, &op->ask.rep, e);

	if (rc < 0)
		return rc;
	uuid_format(op->sub.uid, uid);
	row.webhook_id = str_of(uid);
	row.details = arena_fmt(r->arena,
	    "\"seqAfter\":%lld,\"seqUpto\":%lld,\"exclusive\":%s",
	    (long long)op->ask.pos, (long long)op->ask.until,
	    op->ask.exclusive ? "true" : "false");
	if (sql_replay_add(db, e, .uid = uuid_str(&op->uid), .sub = op->sub.id,
		.rep = op->ask.rep, .from_seq = op->ask.pos,
		.until_seq = op->ask.until, .types = op->types,
		.rate = op->rate, .exclusive = op->ask.exclusive,
		.now = row.at_us, .who = who) < 0 ||
	    sql_reader_put(db, e, .sub = op->sub.id, .okey = 0,
		.rep = op->ask.rep, .pos = op->ask.pos,
		.until_seq = op->ask.until) < 0)
		return e->code;
	return audit_put(db, &row, e);
}

/* The engine is awake: nothing is stored that nobody would begin. */
static int
awake(struct req *r, struct err *e)
{
	struct replay_op *op = r->ctx;

	/* What it has not come to yet it will deliver by itself, after this. */
	if (op->ask.exclusive && op->ask.until > op->look.look.front)
		op->ask.until = op->look.look.front;
	if (op->ask.until <= op->ask.pos)
		return err_at(e, ERR_CONFLICT, "/exclusive",
		    "the subscription has not come to these events yet: it delivers them by itself, in order");
	op->uid = uuid_v4();
	api_then(r, stored);
	return api_write(r, store, e);
}

int
replay_op_begin(struct replay_op *op, struct err *e)
{
	struct req *r = op->r;

	op->look.ask.kind = ASK_LOOK;
	op->look.ask.sub = (uint32_t)op->sub.id;
	op->look.ask.behind =
	    op->sub.from_seq; /* another node may have made it */
	api_then(r, awake);
	return api_ask(r, &op->look.ask, e);
}

/* POST /v1/replays ------------------------------------------------------------------ */

struct post {
	struct replay_op op;
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
    {"ratePerSecond", MEMBER_INT, POST_AT(op.rate), 1, REPLAY_RATE_MAX},
    {"exclusive", MEMBER_BOOL, POST_AT(op.ask.exclusive)},
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
	p->op.types = j->raw;
	return OK;
}

static int
post_read(struct req *r, struct db *db, struct err *e)
{
	struct post *p = r->ctx;
	int64_t first = 0, end = 0;
	int rc = sub_brief_find(
	    r, db, p->subscription, "/subscription", &p->op.sub, e);

	if (rc == OK && p->op.ask.exclusive && !p->op.sub.enabled)
		rc = err_at(e, ERR_CONFLICT, "/exclusive",
		    "the subscription is disabled: it would wait for a replay that does not go on");
	if (rc == OK && p->op.sub.until_seq > 0)
		rc = err_at(e, ERR_CONFLICT, "/subscription",
		    "the subscription is gone");
	if (rc == OK)
		rc = when_seq(db, p->since_us, &first, e);
	if (rc == OK)
		rc = when_seq(db,
		    p->until_us < 0 ? clock_now_us() + US_PER_S : p->until_us,
		    &end, e);
	if (rc == OK && end <= first)
		rc = err_at(e, ERR_INVALID, "/since",
		    "there is nothing in the log from then on");
	p->op.ask.pos = first - 1;
	p->op.ask.until = end - 1;
	return rc;
}

static int
post_known(struct req *r, struct err *e)
{
	struct post *p = r->ctx;

	return replay_op_begin(&p->op, e);
}

static void
post_show(struct replay_op *op)
{
	struct req *r = op->r;

	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_uuid(&r->out, "id", op->uid);
	put_z(&r->out, "state", "running");
	put_int(&r->out, "total", op->ask.until - op->ask.pos);
	put_int(&r->out, "done", 0);
	put_close(&r->out, '}');
	r->status = 202;
}

int
api_replays_post(struct req *r, struct db *db, struct err *e)
{
	struct post *p = arena_alloc(r->arena, sizeof(*p));
	int rc;

	(void)db;
	p->until_us = -1;
	rc = api_body(r, BODY, NULL, p, e);
	if (rc == OK && p->until_us >= 0 && p->until_us <= p->since_us)
		rc = json_wrong(e, "/until", "must be after since");
	if (rc == OK)
		rc = read_types(p, e);
	if (rc < 0)
		return rc;
	p->op.r = r;
	p->op.show = post_show;
	r->ctx = p;
	api_then(r, post_known);
	return api_read(r, post_read, e);
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
    const struct sub_brief *sub)
{
	static const char *const STATES[] = {"running", "done", "stopped"};
	struct buf *b = &r->out;

	put_open(b, NULL, '{');
	put_uuid(b, "id", uuid_of(row->uid));
	put_uuid(b, "subscriptionId", sub->uid);
	put_z(b, "state", STATES[row->state > 2 ? 2 : row->state]);
	put_int(b, "total", row->until_seq - row->from_seq);
	put_int(b, "done", done_of(row));
	put_raw(b, "types", row->types);
	put_some(b, "ratePerSecond", row->rate > 0 ? row->rate : 0);
	put_bool(b, "exclusive", row->exclusive);
	put_time(b, "createdAt", row->created_at);
	put_text(b, "createdBy", row->created_by);
	put_time(b, "endedAt", row->ended_at_null ? 0 : row->ended_at);
	put_close(b, '}');
}

/* The one that the path names. */
static int
replay_get(struct req *r, struct db *db, struct sql_replay_get_row *ret,
    struct sub_brief *sub, struct err *e)
{
	struct uuid id;
	int rc = 0;

	if (uuid_parse(r->params[0], &id))
		rc = sql_replay_get_one(
		    db, r->arena, ret, e, .uid = uuid_str(&id));
	if (rc > 0)
		rc = sub_brief_get(r, db, ret->sub, sub, e);
	if (rc == 0 || (rc > 0 && !sub->visible))
		return err_set(e, ERR_ABSENT, "there is no such replay");
	return rc < 0 ? rc : OK;
}

int
api_replays_get(struct req *r, struct db *db, struct err *e)
{
	struct sql_replay_get_row row;
	struct sub_brief sub;
	int rc = replay_get(r, db, &row, &sub, e);

	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	delivery_replay_show(r, &row, &sub);
	return OK;
}

struct listing {
	int64_t before, limit;
	size_t shown, looked;
	bool more;
	struct uuid last;
};

static int
list_some(struct req *r, struct db *db, struct listing *l, int64_t *ret_n,
    struct err *e)
{
	struct sql_replay_get_row row;
	struct rows *rows = NULL;
	int rc = sql_replay_page(
	    db, &rows, e, .before = l->before, .most = l->limit + 1);

	*ret_n = 0;
	while (rc >= 0 && (rc = sql_replay_get_next(rows, &row, e)) > 0) {
		struct sub_brief sub;

		l->more = (int64_t)l->shown == l->limit;
		if (l->more)
			break;
		++*ret_n;
		l->looked++;
		l->before = row.id;
		l->last = uuid_of(row.uid);
		rc = sub_brief_get(r, db, row.sub, &sub, e);
		if (rc <= 0 || !sub.visible)
			continue;
		l->shown++;
		delivery_replay_show(r, &row, &sub);
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static int
find_after(struct db *db, struct arena *a, struct str after, struct listing *l,
    struct err *e)
{
	struct sql_replay_get_row row;
	struct uuid id;
	int rc = 0;

	if (uuid_parse(after, &id))
		rc = sql_replay_get_one(db, a, &row, e, .uid = uuid_str(&id));
	if (rc > 0)
		l->before = row.id;
	return rc == 0 ? api_no_cursor(e) : rc;
}

int
api_replays_list(struct req *r, struct db *db, struct err *e)
{
	struct listing l = {.before = INT64_MAX};
	struct api_page page = {.after = {.p = NULL}};
	int64_t n = 0;
	int rc = api_query(r, API_PAGE_ONLY, &page, e);

	l.limit = page.limit;
	if (rc == OK && page.after.p)
		rc = find_after(db, r->arena, page.after, &l, e);
	if (rc < 0)
		return rc;
	api_list(r);
	do
		rc = list_some(r, db, &l, &n, e);
	while (rc == OK && !l.more && n == l.limit + 1 && l.looked < PAGE_SCAN);
	api_list_end_uuid(r, l.more || n == l.limit + 1, l.last);
	return rc;
}

/* DELETE: it stops --------------------------------------------------------------------- */

/* On the commit thread. */
static int
stop(struct req *r, struct db *db, struct err *e)
{
	struct ask_stop *q = r->ctx;
	struct sql_replay_get_row row;
	struct sub_brief sub;
	int rc = replay_get(r, db, &row, &sub, e);

	if (rc < 0)
		return rc;
	q->ask.sub = (uint32_t)row.sub;
	q->rep = (int)row.rep;
	if (row.state != 0)
		return err_set(e, ERR_CONFLICT, "the replay has ended already");
	return sql_replay_stop(db, e, .uid = row.uid, .now = clock_now_us()) < 0
		   ? (int)e->code
		   : OK;
}

static int
told(struct req *r, struct err *e)
{
	(void)e;
	buf_clear(&r->out);
	r->status = 204;
	return OK;
}

static int
stopped(struct req *r, struct err *e)
{
	r->then = told;
	return api_ask(r, r->ctx, e) == REQ_WAIT ? REQ_WAIT : told(r, e);
}

int
api_replays_delete(struct req *r, struct db *db, struct err *e)
{
	struct ask_stop *q = arena_alloc(r->arena, sizeof(*q));

	(void)db;
	q->ask.kind = ASK_STOP;
	r->ctx = q;
	api_then(r, stopped);
	return api_write(r, stop, e);
}
