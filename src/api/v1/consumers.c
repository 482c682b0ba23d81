/* consumers.h: making, changing, ending and looking at them. */
#include "api/v1/consumers.h"

#include "api/api.h"
#include "api/limits.h"
#include "api/v1/deliveries.h"
#include "api/v1/subs.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
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

	for (size_t i = 0; ok && i < name.n; i++) {
		char c = name.p[i], low = (char)(c | 0x20);

		ok = (low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') ||
		     c == '.' || c == '_' || c == '-';
	}
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
	struct rows *rows = NULL;
	int64_t at_us, seq = -1;
	int rc;

	*ret = -1;
	if (!j || json_is(j, JSON_NULL) ||
	    (json_is(j, JSON_STRING) && str_eq(j->text, STR("now"))))
		return OK;
	rc = sql_log_first(db, &rows, e);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		sql_log_first_get(rows, &first);
	rows_close(rows);
	if (rc < 0)
		return rc;
	rc = OK;
	if (json_is(j, JSON_STRING) && str_eq(j->text, STR("start")))
		seq = 0;
	else if (json_is(j, JSON_STRING) && time_parse(j->text, &at_us, NULL))
		rc = when_seq(db, at_us, &seq, e);
	else if (!json_int(j, &seq) || seq < 0)
		return json_wrong(e, "/from",
		    "must be now, start, a time as in RFC 3339, or the seq of the first event");
	if (rc < 0)
		return rc;
	if (!first.seq_null && seq < first.seq)
		seq = first.seq;
	*ret = seq > 0 ? seq - 1 : 0;
	return OK;
}

static int
read_int(const struct json *doc, const char *name, const char *at,
    int64_t least, int64_t most, int64_t absent, int64_t *ret, struct err *e)
{
	const struct json *j = json_get(doc, name);

	*ret = absent;
	if (!j || json_is(j, JSON_NULL))
		return OK;
	if (!json_int(j, ret) || *ret < least || *ret > most)
		return json_wrong(e, at,
		    "must be a whole number from %lld to %lld",
		    (long long)least, (long long)most);
	return OK;
}

/* The consumer as a subscription: what they have in common is read there. */
static int
translate(struct req *r, const struct json *doc, struct sub_managed *m,
    struct str *ret, struct err *e)
{
	static const char *const SAME[] = {"types", "tenants", "filter",
	    "order", "onDead", "dropStale", "coalesce", "deadlineSeconds",
	    "retry", "enabled", NULL};
	struct buf b = BUF(SUB_STORED_MAX);
	int64_t flight = 0, attempts = 0;
	int rc = read_int(doc, "ackWaitSeconds", "/ackWaitSeconds", 1,
	    CONSUMER_WAIT_MAX_S, CONSUMER_WAIT_S, &m->ack_wait_s, e);

	if (rc == OK)
		rc = read_int(doc, "maxInFlight", "/maxInFlight", 1,
		    CONSUMER_FLIGHT_MAX, CONSUMER_FLIGHT, &flight, e);
	if (rc == OK)
		rc = read_int(doc, "maxAttempts", "/maxAttempts", 1,
		    RETRY_DELAYS_MAX, 0, &attempts, e);
	if (rc == OK && attempts > 0 && json_get(doc, "retry"))
		rc = json_wrong(e, "/maxAttempts",
		    "is said by retry already: give one of them");
	if (rc < 0)
		return rc;
	buf_addz(&b, "{\"name\":");
	buf_json(&b, r->params[0]);
	buf_addz(&b, ",\"url\":\"consumer:");
	buf_add(&b, r->params[0]);
	buf_fmt(&b,
	    "\",\"preset\":\"standard\",\"batch\":{\"mode\":\"immediate\"},"
	    "\"concurrency\":%lld",
	    (long long)flight);
	if (attempts > 0)
		buf_fmt(
		    &b, ",\"retry\":{\"count\":%lld}", (long long)attempts - 1);
	if (!json_get(doc, "order"))
		buf_addz(&b, ",\"order\":\"key\"");
	for (const char *const *n = SAME; *n; n++) {
		const struct json *j = json_get(doc, *n);

		if (!j)
			continue;
		buf_fmt(&b, ",\"%s\":", *n);
		buf_add(&b, j->raw);
	}
	buf_addc(&b, '}');
	if (b.failed)
		rc = err_set(e, ERR_LIMIT, "a consumer has at most %zu bytes",
		    SUB_STORED_MAX);
	else
		*ret = arena_dup(r->arena, buf_str(&b));
	buf_done(&b);
	return rc < 0 || ret->p ? rc
				: err_set(e, ERR_NOMEM, "no memory for it");
}

/* Nothing in it is secret, so the same is stored as the same. */
static bool
same(struct sub_op *op, const struct sub_conf *a, const struct sub_conf *b)
{
	struct sub_sealer sealer;
	struct sub_seal by;
	struct str x, y;
	struct err e;

	return sub_sealer(op->r->app, op->r->arena, op->seen.uid, &sealer, &by,
		   &e) == OK &&
	       sub_store(a, &by, op->r->arena, &x, &e) == OK &&
	       sub_store(b, &by, op->r->arena, &y, &e) == OK && str_eq(x, y);
}

static int
prepare(struct sub_op *op, struct sub_conf *fresh, bool there, int64_t from_seq,
    struct err *e)
{
	int rc;

	/* The same once more lets go of one that is held. */
	if (there && !op->seen.held.p && same(op, op->seen.conf, fresh)) {
		sub_free(fresh);
		op->same = true;
		return OK;
	}
	sub_seen_done(&op->seen);
	op->seen.conf = fresh;
	op->seen.why = STR_EMPTY;
	op->seen.held = (struct str){.p = NULL};
	op->seen.enabled = fresh->enabled;
	if (there)
		return sub_op_fill(
		    op, SUB_CHANGE, AUDIT_SUBSCRIPTION_CHANGED, e);
	op->seen.uid = uuid_v4();
	op->status = 201;
	rc = sub_op_fill(op, SUB_MAKE, AUDIT_SUBSCRIPTION_CREATED, e);
	op->change.managed_by = STR("consumer");
	op->change.reads = true;
	op->change.from_seq = from_seq;
	return rc;
}

static int
check_put(struct sub_op *op, struct checker *k, struct err *e)
{
	static const char *const NAMES[] = {"types", "tenants", "filter",
	    "order", "onDead", "dropStale", "coalesce", "deadlineSeconds",
	    "retry", "enabled", "ackWaitSeconds", "maxInFlight", "maxAttempts",
	    "from", NULL};
	struct sub_managed m = {.by = STR("consumer"),
	    .object_id = STR_EMPTY,
	    .object_path = STR_EMPTY,
	    .webhook_id = STR_EMPTY};
	struct req *r = op->r;
	struct presets *presets = NULL;
	struct sub_conf *fresh = NULL;
	struct json *doc = NULL;
	struct str text = STR_EMPTY;
	int64_t from_seq = -1;
	int there = 0, rc;

	rc = json_parse(r->arena, r->body.n ? r->body : STR("{}"), &doc, e);
	if (rc == OK && !json_is(doc, JSON_OBJECT))
		rc = err_at(e, ERR_INVALID, "", "a consumer is a JSON object");
	if (rc == OK)
		rc = json_known(doc, "", NAMES, e);
	if (rc == OK)
		rc = read_from(k->db, json_get(doc, "from"), &from_seq, e);
	if (rc == OK)
		rc = translate(r, doc, &m, &text, e);
	if (rc == OK)
		rc = presets_open(k->db, k->api->conf, &presets, e);
	if (rc == OK)
		rc = there = sub_seen_consumer(
		    r, k->db, presets, r->params[0], &op->seen, e);
	if (rc > 0 && !sub_seen_may(r, &op->seen))
		rc = err_set(e, ERR_CONFLICT, "this name is taken");
	if (rc >= 0)
		rc = sub_op_read(op, k, presets, text, NULL, &m, &fresh, e);
	presets_free(presets);
	return rc < 0 ? rc : prepare(op, fresh, there > 0, from_seq, e);
}

/* Showing -------------------------------------------------------------------- */

struct lag {
	int64_t events, oldest_us; /* 0: none */
	int64_t dead;
};

/* What a subscription of this kind has to say, and what it is called here. */
static void
show(const struct sub_seen *s, struct buf *b)
{
	const struct sub_conf *c = s->conf;

	buf_addz(b, "{\"name\":");
	buf_json(b, c->name);
	buf_addz(b, ",\"id\":\"");
	uuid_add(b, s->uid);
	buf_addz(b, "\",\"types\":");
	for (size_t i = 0; i < c->n_types; i++) {
		buf_addc(b, i ? ',' : '[');
		buf_json(b, c->types[i]);
	}
	buf_addz(b, c->n_types ? "],\"tenants\":" : "null,\"tenants\":");
	for (size_t i = 0; i < c->n_tenants; i++) {
		buf_addz(b, i ? ",\"" : "[\"");
		uuid_add(b, c->tenants[i]);
		buf_addc(b, '"');
	}
	buf_addz(b, c->n_tenants ? "],\"filter\":" : "null,\"filter\":");
	if (c->filter.n > 0)
		buf_json(b, c->filter);
	else
		buf_addz(b, "null");
	buf_fmt(b,
	    ",\"order\":\"%s\",\"onDead\":\"%s\",\"dropStale\":%s,\"coalesce\":%s",
	    c->has_order && !c->ordered ? "none" : "key",
	    c->block ? "block" : "continue", c->drop_stale ? "true" : "false",
	    c->coalesce ? "true" : "false");
	buf_addz(b, ",\"deadlineSeconds\":");
	if (c->deadline_s > 0)
		buf_int(b, c->deadline_s);
	else
		buf_addz(b, "null");
	buf_fmt(b,
	    ",\"ackWaitSeconds\":%lld,\"maxInFlight\":%lld,\"enabled\":%s,"
	    "\"heldReason\":",
	    (long long)c->managed.ack_wait_s, (long long)c->concurrency,
	    s->enabled ? "true" : "false");
	if (s->held.p)
		buf_json(b, s->held);
	else
		buf_addz(b, "null");
}

static void
show_retry(const struct sub_seen *s, struct buf *b)
{
	const struct retry_schedule *t = &s->conf->retry.list;
	struct sub_policy p;

	sub_policy(s->conf, 1, &p);
	buf_fmt(b, ",\"maxAttempts\":%u,\"retry\":", p.retry.retries + 1);
	if (!s->conf->retry.has_list) {
		buf_addz(b, "null");
		return;
	}
	buf_addz(b, "{\"delaysMs\":[");
	for (unsigned i = 0; i < t->retries; i++) {
		buf_addz(b, i ? "," : "");
		buf_int(b, t->delays_ms[i]);
	}
	buf_fmt(b, "],\"jitterMs\":%lld}", (long long)t->jitter_to_ms);
}

static void
show_lag(const struct sub_seen *s, const struct lag *l, struct buf *b)
{
	int64_t age_us = l->oldest_us ? clock_now_us() - l->oldest_us : 0;

	buf_fmt(b, ",\"version\":%lld", (long long)s->version);
	seen_time(b, "createdAt", s->created_us);
	seen_time(b, "changedAt", s->changed_us);
	buf_fmt(b, ",\"lag\":{\"events\":%lld,\"oldestSeconds\":",
	    (long long)l->events);
	if (l->oldest_us)
		buf_int(b, age_us > 0 ? age_us / US_PER_S : 0);
	else
		buf_addz(b, "null");
	buf_fmt(b, "},\"dead\":%lld", (long long)l->dead);
}

static int
one_int(struct rows *rows, int rc, int64_t *ret, struct err *e)
{
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/*
 * How far behind. Up to the group's cursor all is settled that no row and no
 * reader stands for; the hindmost of these three is where it stands.
 */
static int
find_lag(struct req *r, struct db *db, const struct sub_seen *s,
    struct lag *ret, struct err *e)
{
	struct api *api = r->app;
	struct sql_consumer_oldest_row old = {
	    .row_seq_null = true, .key_pos_null = true};
	struct sql_seq_from_row first = {0};
	struct rows *rows = NULL;
	int64_t last = append_last_seq(api->append), pos = last;
	int rc;

	*ret = (struct lag){.events = 0};
	rc = sql_consumer_dead(db, &rows, e, .sub = s->id, .most = PAGE_SCAN);
	rc = one_int(rows, rc, &ret->dead, e);
	if (rc < 0)
		return rc;
	rows = NULL;
	rc = sql_consumer_oldest(db, &rows, e, .sub = s->id);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		sql_consumer_oldest_get(rows, &old);
	rows_close(rows);
	if (rc < 0)
		return rc;
	if (s->behind && s->pos < pos)
		pos = s->pos;
	if (!old.key_pos_null && old.key_pos < pos)
		pos = old.key_pos;
	if (!old.row_seq_null && old.row_seq - 1 < pos)
		pos = old.row_seq - 1;
	if (pos >= last)
		return OK;
	ret->events = last - pos;
	rows = NULL;
	rc = sql_seq_from(db, &rows, e, .seq = pos + 1);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_seq_from_get(rows, &first);
		ret->oldest_us = first.received_at;
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/* After a PUT: what was asked for, and no numbers yet. */
static int
put_answer(struct req *r, struct err *e)
{
	const struct sub_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	r->status = op->status;
	buf_clear(&r->out);
	if (op->status == 204)
		return OK;
	show(&op->seen, &r->out);
	show_retry(&op->seen, &r->out);
	buf_fmt(&r->out, ",\"version\":%lld", (long long)op->seen.version);
	seen_time(&r->out, "createdAt", op->seen.created_us);
	seen_time(&r->out, "changedAt", op->seen.changed_us);
	buf_addc(&r->out, '}');
	return OK;
}

static int
put_commit(struct req *r, struct err *e)
{
	struct sub_op *op = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	if (op->same)
		return put_answer(r, e);
	r->then = put_answer;
	return sub_op_post(op, e);
}

int
api_consumers_put(struct req *r, struct db *db, struct err *e)
{
	int rc = check_name(r->params[0], e);

	(void)db;
	return rc < 0 ? rc : sub_op_begin(r, check_put, put_commit, e);
}

/* DELETE --------------------------------------------------------------------- */

static int
check_delete(struct sub_op *op, struct checker *k, struct err *e)
{
	struct presets *presets = NULL;
	int rc = presets_open(k->db, k->api->conf, &presets, e);

	if (rc == OK)
		rc = sub_seen_consumer(
		    op->r, k->db, presets, op->r->params[0], &op->seen, e);
	presets_free(presets);
	if (rc == 0 || (rc > 0 && !sub_seen_may(op->r, &op->seen)))
		rc = err_set(e, ERR_ABSENT, "there is no such consumer");
	if (rc < 0)
		return rc;
	op->status = 204;
	return sub_op_fill(op, SUB_FINISH, AUDIT_SUBSCRIPTION_DELETED, e);
}

int
api_consumers_delete(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	return sub_op_begin(r, check_delete, put_commit, e);
}

/* GET ------------------------------------------------------------------------ */

struct get {
	struct pull_count ask;
};

static int
get_read(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct get *g = r->ctx;
	struct presets *presets = NULL;
	struct sub_seen s = {.id = 0};
	struct lag lag;
	int rc = presets_open(db, api->conf, &presets, e);

	if (rc == OK)
		rc = sub_seen_consumer(r, db, presets, r->params[0], &s, e);
	if (rc == 0 || (rc > 0 && !sub_seen_may(r, &s)))
		rc = err_set(e, ERR_ABSENT, "there is no such consumer");
	if (rc > 0)
		rc = find_lag(r, db, &s, &lag, e);
	if (rc == OK) {
		g->ask.pull.ask.sub = (uint32_t)s.id;
		buf_clear(&r->out);
		show(&s, &r->out);
		show_retry(&s, &r->out);
		show_lag(&s, &lag, &r->out);
	}
	sub_seen_done(&s);
	presets_free(presets);
	return rc;
}

/* Another node delivers, or none: the rest can be told all the same. */
static int
get_shown(struct req *r, struct err *e)
{
	const struct get *g = r->ctx;

	(void)e;
	if (r->rc < 0)
		buf_addz(&r->out, ",\"inFlight\":null,\"waiting\":null}");
	else
		buf_fmt(&r->out, ",\"inFlight\":%zu,\"waiting\":%zu}",
		    g->ask.leases, g->ask.waiters);
	return OK;
}

static int
get_ask(struct req *r, struct err *e)
{
	struct get *g = r->ctx;
	int rc;

	if (r->rc < 0)
		return api_said(r, e);
	g->ask.pull.ask.kind = ASK_SINK;
	g->ask.pull.what = PULL_COUNT;
	r->then = get_shown;
	rc = api_ask(r, &g->ask.pull.ask, e);
	/* Once it is asked, r->rc is the answer's, which may be there already. */
	if (rc == REQ_WAIT)
		return REQ_WAIT;
	r->rc = rc;
	return get_shown(r, e);
}

int
api_consumers_get(struct req *r, struct db *db, struct err *e)
{
	struct get *g = arena_alloc(r->arena, sizeof(*g));
	int rc = req_query_only(r, (const char *const[]){NULL}, e);

	(void)db;
	if (rc < 0)
		return rc;
	if (!g)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	r->ctx = g;
	r->then = get_ask;
	return api_read(r, get_read, e);
}

/* The list ------------------------------------------------------------------- */

struct page {
	struct req *r;
	struct db *db;
	int64_t limit, shown, looked;
	struct str last;
	bool more;
};

static int
page_row(void *arg, const struct sub_seen *s, struct err *e)
{
	struct page *p = arg;
	struct req *r = p->r;
	struct lag lag;
	int rc;

	p->looked++;
	if (p->more || p->shown == p->limit || r->out.n > PAGE_BYTES) {
		p->more = true;
		return OK;
	}
	p->last = arena_dup(r->arena, s->conf->name);
	if (!p->last.p)
		return err_set(e, ERR_NOMEM, "no memory for a list");
	if (!sub_seen_may(r, s))
		return OK;
	rc = find_lag(r, p->db, s, &lag, e);
	if (rc < 0)
		return rc;
	if (p->shown++)
		buf_addc(&r->out, ',');
	show(s, &r->out);
	show_retry(s, &r->out);
	show_lag(s, &lag, &r->out);
	buf_addc(&r->out, '}');
	return OK;
}

int
api_consumers_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"limit", "after", NULL};
	struct api *api = r->app;
	struct presets *presets = NULL;
	struct page p = {.r = r, .db = db, .last = STR_EMPTY};
	int64_t n = 0, before;
	int rc = req_query_only(r, NAMES, e);

	if (rc == OK)
		rc = req_query_int(
		    r, "limit", 1, PAGE_MAX, PAGE_DEFAULT, &p.limit, e);
	if (rc == OK && req_query(r, "after", &p.last))
		rc = check_name(p.last, e);
	if (rc == OK)
		rc = presets_open(db, api->conf, &presets, e);
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	do {
		before = p.looked;
		if (rc == OK)
			rc = sub_seen_consumers(r, db, presets, p.last,
			    p.limit + 1, page_row, &p, e);
		n = p.looked - before;
	} while (
	    rc == OK && !p.more && n == p.limit + 1 && p.looked < PAGE_SCAN);
	presets_free(presets);
	buf_addz(&r->out, "],\"next\":");
	if (p.more || n == p.limit + 1)
		buf_json(&r->out, p.last);
	else
		buf_addz(&r->out, "null");
	buf_addc(&r->out, '}');
	return rc;
}
