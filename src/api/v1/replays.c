/*
 * deliveries.h: replays. One is stored (its row, its reader and the audit's
 * row in one transaction of the commit thread), then the engine is told to
 * begin; should it not hear of it, whoever delivers next finds the reader.
 */
#include "api/api.h"
#include "api/limits.h"
#include "api/v1/deliveries.h"
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

	if (r->rc < 0)
		return api_said(r, e);
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
	struct rows *rows = NULL;
	int rc = sql_replay_rep(db, &rows, e, .sub = sub);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		sql_replay_rep_get(rows, &row);
	rows_close(rows);
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

	if (r->rc < 0)
		return api_said(r, e);
	/* What it has not come to yet it will deliver by itself, after this. */
	if (op->ask.exclusive && op->ask.until > op->look.look.front)
		op->ask.until = op->look.look.front;
	if (op->ask.until <= op->ask.pos)
		return err_at(e, ERR_CONFLICT, "/exclusive",
		    "the subscription has not come to these events yet: it delivers them by itself, in order");
	op->uid = uuid_v4();
	r->then = stored;
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
	r->then = awake;
	return api_ask(r, &op->look.ask, e);
}

/* POST /v1/replays ------------------------------------------------------------------ */

struct post {
	struct replay_op op;
	struct json *j;
	int64_t since_us, until_us; /* until -1: now */
};

static int
read_types(struct post *p, struct err *e)
{
	const struct json *j = json_get(p->j, "types");

	if (!j || json_is(j, JSON_NULL))
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
read_moment(const struct json *j, const char *name, const char *at,
    int64_t *ret, struct err *e)
{
	const struct json *t = json_get(j, name);

	if (!t || json_is(t, JSON_NULL))
		return OK;
	if (!json_is(t, JSON_STRING) || !time_parse(t->text, ret, NULL))
		return json_wrong(e, at,
		    "must be a time as in RFC 3339, 2030-01-31T12:00:00Z");
	return OK;
}

static int
read_body(struct req *r, struct post *p, struct err *e)
{
	static const char *const names[] = {"subscription", "since", "until",
	    "types", "ratePerSecond", "exclusive", NULL};
	const struct json *rate, *exclusive;
	int rc = json_parse(r->arena, r->body, &p->j, e);

	if (rc < 0)
		return rc;
	if (!json_is(p->j, JSON_OBJECT))
		return err_at(e, ERR_INVALID, "", "a replay is a JSON object");
	rc = json_known(p->j, "", names, e);
	if (rc == OK && !json_is(json_get(p->j, "subscription"), JSON_STRING))
		rc = json_wrong(e, "/subscription", "must be a uuid");
	p->since_us = p->until_us = -1;
	if (rc == OK)
		rc = read_moment(p->j, "since", "/since", &p->since_us, e);
	if (rc == OK && p->since_us < 0)
		rc = json_wrong(e, "/since", "is missing: from when on?");
	if (rc == OK)
		rc = read_moment(p->j, "until", "/until", &p->until_us, e);
	if (rc == OK && p->until_us >= 0 && p->until_us <= p->since_us)
		rc = json_wrong(e, "/until", "must be after since");
	rate = json_get(p->j, "ratePerSecond");
	if (rc == OK && rate && !json_is(rate, JSON_NULL) &&
	    (!json_int(rate, &p->op.rate) || p->op.rate < 1 ||
		p->op.rate > REPLAY_RATE_MAX))
		rc = json_wrong(e, "/ratePerSecond",
		    "must be a whole number from 1 to %d", REPLAY_RATE_MAX);
	exclusive = json_get(p->j, "exclusive");
	if (rc == OK && exclusive && !json_is_bool(exclusive))
		rc = json_wrong(e, "/exclusive", "must be true or false");
	p->op.ask.exclusive = json_is(exclusive, JSON_TRUE);
	return rc == OK ? read_types(p, e) : rc;
}

static int
post_read(struct req *r, struct db *db, struct err *e)
{
	struct post *p = r->ctx;
	int64_t first = 0, end = 0;
	int rc = sub_brief_find(r, db, json_get(p->j, "subscription")->text,
	    "/subscription", &p->op.sub, e);

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

	return r->rc < 0 ? api_said(r, e) : replay_op_begin(&p->op, e);
}

static void
post_show(struct replay_op *op)
{
	struct req *r = op->r;

	buf_clear(&r->out);
	buf_addz(&r->out, "{\"id\":\"");
	uuid_add(&r->out, op->uid);
	buf_fmt(&r->out, "\",\"state\":\"running\",\"total\":%lld,\"done\":0}",
	    (long long)(op->ask.until - op->ask.pos));
	r->status = 202;
}

int
api_replays_post(struct req *r, struct db *db, struct err *e)
{
	struct post *p = arena_alloc(r->arena, sizeof(*p));
	int rc;

	(void)db;
	if (!p)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = read_body(r, p, e);
	if (rc < 0)
		return rc;
	p->op.r = r;
	p->op.show = post_show;
	r->ctx = p;
	r->then = post_known;
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
show(struct req *r, const struct sql_replay_get_row *row,
    const struct sub_brief *sub)
{
	static const char *const STATES[] = {"running", "done", "stopped"};
	struct buf *b = &r->out;
	struct uuid id = {{0}};

	if (row->uid.n == sizeof(id.b))
		memcpy(id.b, row->uid.p, sizeof(id.b));
	buf_addz(b, "{\"id\":\"");
	uuid_add(b, id);
	buf_addz(b, "\",\"subscriptionId\":\"");
	uuid_add(b, sub->uid);
	buf_fmt(b, "\",\"state\":\"%s\",\"total\":%lld,\"done\":%lld",
	    STATES[row->state > 2 ? 2 : row->state],
	    (long long)(row->until_seq - row->from_seq),
	    (long long)done_of(row));
	buf_addz(b, ",\"types\":");
	if (row->types.p)
		buf_add(b, row->types);
	else
		buf_addz(b, "null");
	if (row->rate > 0)
		buf_fmt(b, ",\"ratePerSecond\":%lld", (long long)row->rate);
	else
		buf_addz(b, ",\"ratePerSecond\":null");
	buf_fmt(b, ",\"exclusive\":%s", row->exclusive ? "true" : "false");
	seen_time(b, "createdAt", row->created_at);
	buf_addz(b, ",\"createdBy\":");
	buf_json(b, row->created_by);
	seen_time(b, "endedAt", row->ended_at_null ? 0 : row->ended_at);
	buf_addc(b, '}');
}

/* The one that the path names, into *ret; its texts end with *ret_rows. */
static int
get(struct req *r, struct db *db, struct rows **ret_rows,
    struct sql_replay_get_row *ret, struct sub_brief *sub, struct err *e)
{
	struct uuid id;
	int rc = 0;

	if (uuid_parse(r->params[0], &id)) {
		rc = sql_replay_get(db, ret_rows, e, .uid = uuid_str(&id));
		if (rc == OK)
			rc = rows_next(*ret_rows, e);
		if (rc > 0) {
			sql_replay_get_get(*ret_rows, ret);
			rc = sub_brief_get(r, db, ret->sub, sub, e);
		}
	}
	if (rc == 0 || (rc > 0 && !sub->visible))
		return err_set(e, ERR_ABSENT, "there is no such replay");
	return rc < 0 ? rc : OK;
}

int
api_replays_get(struct req *r, struct db *db, struct err *e)
{
	struct sql_replay_get_row row;
	struct sub_brief sub;
	struct rows *rows = NULL;
	int rc = get(r, db, &rows, &row, &sub, e);

	if (rc == OK) {
		buf_clear(&r->out);
		show(r, &row, &sub);
	}
	rows_close(rows);
	return rc;
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
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		struct sub_brief sub;

		sql_replay_get_get(rows, &row); /* the same columns */
		l->more = (int64_t)l->shown == l->limit;
		if (l->more)
			break;
		++*ret_n;
		l->looked++;
		l->before = row.id;
		if (row.uid.n == sizeof(l->last.b))
			memcpy(l->last.b, row.uid.p, row.uid.n);
		rc = sub_brief_get(r, db, row.sub, &sub, e);
		if (rc <= 0 || !sub.visible)
			continue;
		if (l->shown++)
			buf_addc(&r->out, ',');
		show(r, &row, &sub);
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
api_replays_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const names[] = {"limit", "after", NULL};
	struct listing l = {.before = INT64_MAX};
	int64_t n = 0;
	struct str after;
	struct uuid id;
	int rc = req_query_only(r, names, e);

	if (rc == OK)
		rc = req_query_int(
		    r, "limit", 1, PAGE_MAX, PAGE_DEFAULT, &l.limit, e);
	if (rc == OK && req_query(r, "after", &after)) {
		struct rows *rows = NULL;

		rc = uuid_parse(after, &id)
			 ? sql_replay_get(db, &rows, e, .uid = uuid_str(&id))
			 : 0;
		if (rc == OK && rows)
			rc = rows_next(rows, e);
		if (rc > 0)
			l.before = rows_int(rows, 0);
		rows_close(rows);
		if (rc == 0)
			rc = err_at(e, ERR_INVALID, "after",
			    "after is no cursor of this list");
	}
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	do
		rc = list_some(r, db, &l, &n, e);
	while (rc == OK && !l.more && n == l.limit + 1 && l.looked < PAGE_SCAN);
	buf_addz(&r->out, "],\"next\":");
	if (l.more || n == l.limit + 1) {
		buf_addc(&r->out, '"');
		uuid_add(&r->out, l.last);
		buf_addz(&r->out, "\"}");
	} else {
		buf_addz(&r->out, "null}");
	}
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
	struct rows *rows = NULL;
	struct uuid id = {{0}};
	int rc = get(r, db, &rows, &row, &sub, e);

	if (rc == OK) {
		q->ask.sub = (uint32_t)row.sub;
		q->rep = (int)row.rep;
		memcpy(id.b, row.uid.p, sizeof(id.b));
		if (row.state != 0)
			rc = err_set(
			    e, ERR_CONFLICT, "the replay has ended already");
	}
	rows_close(rows);
	if (rc == OK && sql_replay_stop(db, e, .uid = uuid_str(&id),
			    .now = clock_now_us()) < 0)
		rc = e->code;
	return rc;
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
	if (r->rc < 0)
		return api_said(r, e);
	r->then = told;
	return api_ask(r, r->ctx, e) == REQ_WAIT ? REQ_WAIT : told(r, e);
}

int
api_replays_delete(struct req *r, struct db *db, struct err *e)
{
	struct ask_stop *q = arena_alloc(r->arena, sizeof(*q));

	(void)db;
	if (!q)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	q->ask.kind = ASK_STOP;
	r->ctx = q;
	r->then = stopped;
	return api_write(r, stop, e);
}
