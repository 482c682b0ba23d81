/*
 * Pull consumers over HTTP: making, changing, ending and looking at them; their
 * work is in consumer_work.c.
 *
 * A consumer is a subscription that is managed here and has no URL: workers
 * come and fetch (sink/pull/pull.h). So its deliveries, attempts, dead letters
 * and replays are those of any other, under its id. A PUT may come as often as
 * one likes: the same once more changes nothing.
 *
 * A CURSOR names a delivery and an attempt of it (deliver/engine/delivery_id.h), and
 * is told what became of it by itself: one that is late or made up does not
 * fail the others. An answer is sent when it is committed.
 *
 * WHO MAY. Taking part in a consumer's work takes `consume`: whoever fetches
 * keeps an event from the other workers, which is more than to look at it. To
 * look at a consumer takes `read`, to make or end one `manage`. A key that is
 * limited to tenants finds those consumers whose tenants are within its own.
 */
#include "api/api.h"
#include "api/handlers.h"
#include "api/io.h"
#include "api/limits.h"
#include "api/v1/delivery.h"
#include "api/v1/sub.h"
#include "contract/limits.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
#include "deliver/limits.h"
#include "event/append.h"
#include "event/when.h"
#include "http/server/limits.h"
#include "sink/pull/pull.h"
#include "sql.h"

static int
check_name(struct str name, struct err *e)
{
	bool ok = name.n > 0 && name.n <= CONSUMER_NAME_MAX;

	for (size_t i = 0; ok && i < name.n; i++)
		ok = str_is_letter(name.p[i]) || str_is_digit(name.p[i]) ||
		     str_has(STR("._-"), name.p[i]);
	return ok ? OK
		  : err_at(e, ERR_INVALID, "name",
			"a consumer's name has 1 to %d letters, digits, dots, dashes and underscores",
			CONSUMER_NAME_MAX);
}

/* PUT ------------------------------------------------------------------------ */

/* Where a new one begins: the seq before the first that it gets; -1: now. */
static int
read_from(struct db *db, const struct json *j, int64_t *ret, struct err *e)
{
	struct sql_log_first_row first = {.seq_null = true};
	int64_t at_us, seq = -1;

	*ret = -1;
	if (!j || (json_is(j, JSON_STRING) && str_eq(j->text, STR("now"))))
		return OK;
	TRY(sql_log_first_one(db, &first, e));
	if (json_is(j, JSON_STRING) && str_eq(j->text, STR("start")))
		seq = 0;
	else if (json_is(j, JSON_STRING) && time_parse(j->text, &at_us, NULL))
		TRY(when_seq(db, at_us, &seq, e));
	else if (!json_int(j, &seq) || seq < 0)
		return json_wrong(e, "/from",
		    "must be now, start, a time as in RFC 3339, or the seq of the first event");
	if (!first.seq_null && seq < first.seq)
		seq = first.seq;
	*ret = seq > 0 ? seq - 1 : 0;
	return OK;
}

/* What a consumer has in common with a subscription is read there. */
enum { SAME_RETRY, SAME_ORDER, SAME_COUNT = 10 };
struct put {
	const struct json *from, *same[SAME_COUNT];
	int64_t ack_wait_s, flight, attempts, expires_us;
};

#define PUT_AT(field) offsetof(struct put, field)
#define SAME(i, name)                                                          \
	[i] = {name, MEMBER_JSON, PUT_AT(same[i]), .part = SUB_BODY}
const struct member CONSUMER_BODY[] = {
    SAME(SAME_RETRY, "retry"),
    SAME(SAME_ORDER, "order"),
    SAME(2, "types"),
    SAME(3, "tenants"),
    SAME(4, "filter"),
    SAME(5, "onDead"),
    SAME(6, "dropStale"),
    SAME(7, "coalesce"),
    SAME(8, "deadlineSeconds"),
    SAME(9, "enabled"),
    {"ackWaitSeconds", MEMBER_INT, PUT_AT(ack_wait_s), 1, CONSUMER_WAIT_MAX_S},
    {"maxInFlight", MEMBER_INT, PUT_AT(flight), 1, CONSUMER_FLIGHT_MAX},
    {"maxAttempts", MEMBER_INT, PUT_AT(attempts), 1, RETRY_DELAYS_MAX},
    {"expiresAt", MEMBER_TIME, PUT_AT(expires_us),
	.about =
	    "it ends then, unless a later PUT says another; absent: never"},
    {"from", MEMBER_JSON, PUT_AT(from), .schema = "ConsumerFrom",
	.about = "now, start, a time, or the seq of the first event"},
    {.name = NULL},
};

/* The consumer as a subscription. */
static int
translate(struct req *r, const struct put *p, struct str *ret, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(SUB_STORED_MAX);

	if (p->attempts > 0 && p->same[SAME_RETRY])
		return json_wrong(e, "/maxAttempts",
		    "is said by retry already: give one of them");
	put_open(&b, NULL, '{');
	put_text(&b, "name", r->params[0]);
	put_text(&b, "url",
	    arena_fmt(r->arena, "consumer:%.*s", STR_ARG(r->params[0])));
	put_z(&b, "preset", "standard");
	put_raw(&b, "batch", STR("{\"mode\":\"immediate\"}"));
	put_int(&b, "concurrency", p->flight);
	if (p->attempts > 0)
		put_raw(&b, "retry",
		    arena_fmt(r->arena, "{\"count\":%lld}",
			(long long)p->attempts - 1));
	if (!p->same[SAME_ORDER])
		put_z(&b, "order", "key");
	for (size_t i = 0; i < SAME_COUNT; i++)
		if (p->same[i])
			put_raw(&b, CONSUMER_BODY[i].name, p->same[i]->raw);
	put_close(&b, '}');
	if (b.failed)
		return err_set(e, ERR_LIMIT, "a consumer has at most %zu bytes",
		    SUB_STORED_MAX);
	*ret = arena_dup(r->arena, buf_str(&b));
	return OK;
}

static void
show_retry(const struct sub_seen *s, struct buf *b)
{
	const struct retry_schedule *t = &s->conf->retry.list;
	struct sub_policy p;

	sub_policy(s->conf, 1, &p);
	put_int(b, "maxAttempts", p.retry.retries + 1);
	if (s->conf->retry.has_list) {
		put_open(b, "retry", '{');
		put_open(b, "delaysMs", '[');
		for (unsigned i = 0; i < t->retries; i++)
			put_int(b, NULL, t->delays_ms[i]);
		put_close(b, ']');
		put_int(b, "jitterMs", t->jitter_to_ms);
		put_close(b, '}');
	} else {
		put_null(b, "retry");
	}
}

/* What a subscription of this kind has to say, and what it is called here. */
static void
consumers_show(const struct sub_seen *s, struct buf *b)
{
	const struct sub_conf *c = s->conf;

	put_open(b, NULL, '{');
	put_text(b, "name", c->name);
	put_uuid(b, "id", s->uid);
	put_texts(b, "types", c->types, c->n_types);
	put_texts(b, "tenants", c->tenants.names, c->tenants.n);
	put_text(
	    b, "filter", c->filter.n > 0 ? c->filter : (struct str){.p = NULL});
	put_z(b, "order", c->has_order && !c->ordered ? "none" : "key");
	put_z(b, "onDead", c->block ? "block" : "continue");
	put_bool(b, "dropStale", c->drop_stale);
	put_bool(b, "coalesce", c->coalesce);
	put_some(b, "deadlineSeconds", c->deadline_s > 0 ? c->deadline_s : 0);
	put_int(b, "ackWaitSeconds", c->managed.ack_wait_s);
	put_time(b, "expiresAt", c->managed.expires_us);
	put_int(b, "maxInFlight", c->concurrency);
	put_bool(b, "enabled", s->enabled);
	put_text(b, "heldReason", s->held);
	show_retry(s, b);
	put_int(b, "version", s->version);
	put_time(b, "createdAt", s->created_us);
	put_time(b, "changedAt", s->changed_us);
}

/* After a PUT: what was asked for, and no numbers yet. */
static void
show_put(const struct sub_op *op, struct buf *b)
{
	consumers_show(&op->seen, b);
	put_close(b, '}');
}

/* Nothing in it is secret, so the same is stored as the same. */
static bool
same(struct sub_op *op, const struct sub_conf *a, const struct sub_conf *b)
{
	const struct api *api = op->r->app;
	struct sub_seal by =
	    sub_seal_by(api->keyring, op->r->arena, op->seen.uid);
	struct str x, y;
	struct err e;

	return sub_store(a, &by, op->r->arena, &x, &e) == OK &&
	       sub_store(b, &by, op->r->arena, &y, &e) == OK && str_eq(x, y);
}

static void
fill_op(struct sub_op *op, struct sub_conf *fresh, bool there, int64_t from_seq)
{
	/* The same once more lets go of one that is held. */
	if (there && !op->seen.held.p && same(op, op->seen.conf, fresh)) {
		sub_free(fresh);
		op->same = true;
		return;
	}
	sub_seen_done(&op->seen);
	op->seen.conf = fresh;
	op->seen.why = STR_EMPTY;
	op->seen.held = (struct str){.p = NULL};
	op->seen.enabled = fresh->enabled;
	if (there) {
		sub_op_fill(op, SUB_CHANGE, AUDIT_SUBSCRIPTION_CHANGED);
		return;
	}
	op->seen.uid = uuid_v4();
	op->status = 201;
	sub_op_fill(op, SUB_MAKE, AUDIT_SUBSCRIPTION_CREATED);
	op->change.managed_by = STR("consumer");
	op->change.reads = true;
	op->change.from_seq = from_seq;
}

int
api_consumers_put(struct req *r, struct db *db, struct err *e)
{
	struct put p = {
	    .ack_wait_s = CONSUMER_WAIT_S, .flight = CONSUMER_FLIGHT};
	struct sub_managed m = {.by = STR("consumer"),
	    .object_id = STR_EMPTY,
	    .object_path = STR_EMPTY,
	    .webhook_id = STR_EMPTY};
	struct sub_conf *fresh = NULL;
	struct str text = STR_EMPTY;
	int64_t from_seq = -1;
	struct sub_op *op;
	int there;

	TRY(check_name(r->params[0], e));
	TRY(sub_op_new(r, db, &op, e));
	TRY(api_body_maybe(r, CONSUMER_BODY, NULL, &p, e));
	if (p.expires_us && p.expires_us <= clock_now_us())
		return json_wrong(e, "/expiresAt", "must be in the future");
	m.ack_wait_s = p.ack_wait_s;
	m.expires_us = p.expires_us;
	op->show = show_put;
	TRY(read_from(db, p.from, &from_seq, e));
	TRY(translate(r, &p, &text, e));
	there = TRY(
	    sub_seen_consumer(r, db, op->presets, r->params[0], &op->seen, e));
	if (there > 0 && !sub_seen_may(r, &op->seen))
		return err_set(e, ERR_CONFLICT, "this name is taken");
	TRY(sub_op_read(op, text, NULL, &m, &fresh, e));
	fill_op(op, fresh, there > 0, from_seq);
	return api_next(r, sub_op_commit);
}

/*
 * How far behind. Up to the group's cursor all is settled that no row and no
 * reader stands for; the hindmost of these three is where it stands.
 */
static int
show_lag(struct req *r, struct db *db, const struct sub_seen *s, struct err *e)
{
	struct api *api = r->app;
	struct buf *b = &r->out;
	struct sql_consumer_oldest_row old = {
	    .row_seq_null = true, .key_pos_null = true};
	struct sql_consumer_dead_row dead = {0};
	struct sql_seq_from_row first = {0}; /* 0: none waits */
	int64_t last = append_last_seq(api->append), pos = last;
	int64_t now_us = clock_now_us();

	TRY(sql_consumer_dead_one(
	    db, &dead, e, .sub = s->id, .most = PAGE_SCAN));
	TRY(sql_consumer_oldest_one(db, &old, e, .sub = s->id));
	if (s->behind && s->pos < pos)
		pos = s->pos;
	if (!old.key_pos_null && old.key_pos < pos)
		pos = old.key_pos;
	if (!old.row_seq_null && old.row_seq - 1 < pos)
		pos = old.row_seq - 1;
	if (pos < last)
		TRY(sql_seq_from_one(db, &first, e, .seq = pos + 1));
	put_open(b, "lag", '{');
	put_int(b, "events", last - pos);
	if (first.received_at == 0)
		put_null(b, "oldestSeconds");
	else if (first.received_at > now_us)
		put_int(b, "oldestSeconds", 0);
	else
		put_int(b, "oldestSeconds",
		    (now_us - first.received_at) / US_PER_S);
	put_close(b, '}');
	put_int(b, "dead", dead.n);
	return OK;
}

/* DELETE --------------------------------------------------------------------- */

/* The one that the path names, if the caller may see it. */
static int
consumers_find(struct req *r, struct db *db, const struct presets *presets,
    struct sub_seen *ret, struct err *e)
{
	if (TRY(sub_seen_consumer(r, db, presets, r->params[0], ret, e)) == 0 ||
	    !sub_seen_may(r, ret))
		return err_set(e, ERR_ABSENT, "there is no such consumer");
	return OK;
}

int
api_consumers_delete(struct req *r, struct db *db, struct err *e)
{
	struct sub_op *op;

	TRY(sub_op_new(r, db, &op, e));
	TRY(consumers_find(r, db, op->presets, &op->seen, e));
	op->status = 204;
	sub_op_fill(op, SUB_FINISH, AUDIT_SUBSCRIPTION_DELETED);
	return api_next(r, sub_op_commit);
}

/* GET ------------------------------------------------------------------------ */

/* Another node delivers, or none: the rest can be told all the same. */
static int
get_shown(struct req *r, struct err *)
{
	const struct pull_count *q = r->ctx;

	if (r->rc < 0) {
		put_null(&r->out, "inFlight");
		put_null(&r->out, "waiting");
	} else {
		put_int(&r->out, "inFlight", (int64_t)q->leases);
		put_int(&r->out, "waiting", (int64_t)q->waiters);
	}
	put_close(&r->out, '}');
	return OK;
}

static int
get_ask(struct req *r, struct err *e)
{
	struct pull_count *q = r->ctx;

	return api_ask_anyway(r, &q->pull.ask, get_shown, e);
}

int
api_consumers_get(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct pull_count *q = arena_alloc(r->arena, sizeof(*q));
	struct presets *presets CLEANUP(presets_freep) = NULL;
	struct sub_seen s CLEANUP(sub_seen_done) = {.id = 0};

	TRY(api_query_none(r, e));
	TRY(presets_open(db, api->conf, &presets, e));
	TRY(consumers_find(r, db, presets, &s, e));
	q->pull = (struct pull_ask){
	    .ask = {.kind = ASK_SINK, .sub = (uint32_t)s.id, .here = true},
	    .what = PULL_COUNT};
	consumers_show(&s, &r->out);
	TRY(show_lag(r, db, &s, e));
	r->ctx = q;
	return api_next(r, get_ask);
}

/* The list ------------------------------------------------------------------- */

static int
list_row(struct req *r, struct db *db, struct api_scan *scan,
    const struct sub_seen *s, struct err *e)
{
	scan->page.after = arena_dup(r->arena, s->conf->name);
	if (!sub_seen_may(r, s))
		return OK;
	scan->shown++;
	consumers_show(s, &r->out);
	TRY(show_lag(r, db, s, e));
	put_close(&r->out, '}');
	return OK;
}

static int
list_some(struct req *r, struct db *db, const struct presets *presets,
    struct api_scan *scan, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	bool more = true;

	TRY(sql_consumers_seen(db, &rows, e, .after = scan->page.after,
	    .most = scan->page.limit + 1));
	while (more) {
		struct sub_seen s CLEANUP(sub_seen_done) = {.id = 0};

		more = TRY(sub_seen_next(r, db, presets, rows, &s, e)) > 0 &&
		       api_scan_row(scan, r);
		if (more)
			TRY(list_row(r, db, scan, &s, e));
	}
	return OK;
}

int
api_consumers_list(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) = NULL;
	struct api_scan scan = {.shown = 0};

	TRY(api_scan(r, API_PAGE_ONLY, &scan.page, &scan, e));
	if (scan.page.after.p)
		TRY(check_name(scan.page.after, e));
	else
		scan.page.after = STR_EMPTY;
	TRY(presets_open(db, api->conf, &presets, e));
	while (api_scan_on(&scan))
		TRY(list_some(r, db, presets, &scan, e));
	api_list_end(r,
	    api_scan_more(&scan) ? scan.page.after : (struct str){.p = NULL});
	return OK;
}
