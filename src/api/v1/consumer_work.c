/* consumers.h: fetching events and answering for them. */
#include "account/scopes.h"
#include "api/api.h"
#include "api/limits.h"
#include "api/v1/consumers.h"
#include "api/v1/deliveries.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "contract/limits.h"
#include "deliver/engine/letter.h"
#include "event/append.h"
#include "event/envelope.h"
#include "sink/pull/pull.h"
#include "sql.h"

/* Both kinds of requests. */
struct work {
	struct req *r;
	uint32_t sub;
	struct pull_fetch fetch;
	struct pull_answers answers;
	bool counted;             /* among the long polls */
	const struct json *names; /* of the cursors, as they were given */
	bool looked;
	bool away; /* the engine is, and who has it was looked up */
};

/* The consumer of the path, when the caller may see it ---------------------- */

static bool
visible(struct req *r, struct str tenants)
{
	struct json *j = NULL;
	struct uuid id;
	struct err e;

	if (!r->who.tenants)
		return true;
	if (!tenants.p || json_parse(r->arena, tenants, &j, &e) < 0 ||
	    !json_is(j, JSON_ARRAY))
		return false;
	for (const struct json *t = j->child; t; t = t->next)
		if (!json_is(t, JSON_STRING) || !uuid_parse(t->text, &id) ||
		    !api_tenant_ok(&r->who, id))
			return false;
	return j->n > 0;
}

static int
find(struct req *r, struct db *db, struct err *e)
{
	struct work *w = r->ctx;
	struct sql_consumer_id_row row;
	struct rows *rows = NULL;
	bool there = false;
	int rc = sql_consumer_id(db, &rows, e, .name = r->params[0]);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_consumer_id_get(rows, &row);
		w->sub = (uint32_t)row.id;
		there = visible(r, row.tenants);
	}
	rows_close(rows);
	if (rc < 0)
		return rc;
	return there ? OK : err_set(e, ERR_ABSENT, "there is no such consumer");
}

static struct work *
begin(struct req *r, int (*then)(struct req *r, struct err *e), struct err *e)
{
	struct work *w = arena_alloc(r->arena, sizeof(*w));

	if (!w) {
		(void)err_set(e, ERR_NOMEM, "no memory for a request");
		return NULL;
	}
	w->r = r;
	r->ctx = w;
	r->then = then;
	return w;
}

/* This node does not deliver: which one does? */
static int
find_node(struct req *r, struct db *db, struct err *e)
{
	struct sql_deliver_node_row row;
	struct rows *rows = NULL;
	int rc = sql_deliver_node(db, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_deliver_node_get(rows, &row);
		(void)err_set(e, ERR_AWAY,
		    "this server does not deliver now, but node %.64s does: ask there",
		    arena_z(r->arena, row.name));
	} else if (rc == 0) {
		(void)err_set(e, ERR_AWAY, "no server delivers now: try again");
	}
	rows_close(rows);
	e->retry_after_s = 1;
	return e->code;
}

/* What the engine said when it failed. */
static int
failed(struct req *r, struct err *e)
{
	struct work *w = r->ctx;

	if (r->rc != ERR_AWAY || w->away)
		return api_said(r, e);
	w->away = true;
	return api_read(r, find_node, e);
}

/* GET …/events ---------------------------------------------------------------- */

static void
show(const struct work *w, const struct pull_got *g, struct buf *b)
{
	struct api *api = w->r->app;
	struct delivery_cursor c = {
	    .seq = g->seq,
	    .sub = w->sub,
	    .rep = (uint16_t)g->rep,
	    .n = (uint32_t)g->n,
	};
	char cursor[DELIVERY_CURSOR_LEN + 1];

	delivery_cursor_make(&api->id_key, &c, cursor);
	envelope_show_open(b, g->letter->body, g->seq, g->letter->received_us);
	buf_fmt(b, ",\"cursor\":\"%s\",\"deliveryId\":\"", cursor);
	uuid_add(b, delivery_id_make(&api->id_key, c.seq, c.sub, c.rep));
	buf_fmt(b, "\",\"attempt\":%d,\"leaseUntil\":\"", g->n + 1);
	time_add(b, g->until_us);
	buf_addz(b, "\"}");
}

static int
fetched(struct req *r, struct err *e)
{
	const struct work *w = r->ctx;
	const struct pull_fetch *f = &w->fetch;

	if (r->rc < 0)
		return failed(r, e);
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	for (size_t i = 0; i < f->n; i++) {
		if (i > 0)
			buf_addc(&r->out, ',');
		show(w, &f->v[i], &r->out);
	}
	buf_addz(&r->out, "]}");
	return OK;
}

static int
fetch(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct work *w = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	w->fetch.pull = (struct pull_ask){
	    .ask = {.kind = ASK_SINK,
		.sub = w->sub,
		.behind = append_last_seq(api->append),
		.anyway = true, /* who waits needs not wait for that first */
		.patient = true},
	    .what = PULL_FETCH};
	r->then = fetched;
	return api_ask(r, &w->fetch.pull.ask, e);
}

static void
events_done(struct req *r)
{
	const struct work *w = r->ctx;

	for (size_t i = 0; i < w->fetch.n; i++)
		letter_unref(w->fetch.v[i].letter);
	if (w->counted)
		api_uncount_stream(r);
}

int
api_consumers_events(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"max", "wait", NULL};
	struct work *w = begin(r, fetch, e);
	int64_t max = 0, wait_s = 0;
	int rc;

	(void)db;
	if (!w)
		return e->code;
	rc = req_query_only(r, NAMES, e);
	if (rc == OK)
		rc = req_query_int(
		    r, "max", 1, CONSUMER_FETCH_MAX, CONSUMER_FETCH, &max, e);
	if (rc == OK)
		rc = req_query_int(r, "wait", 0, WAIT_MAX_S, 0, &wait_s, e);
	if (rc < 0)
		return rc;
	w->fetch.max = (size_t)max;
	w->fetch.wait_us = wait_s * US_PER_S;
	w->fetch.v = arena_array(r->arena, (size_t)max, sizeof(*w->fetch.v));
	if (!w->fetch.v)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	if (wait_s > 0) {
		rc = api_count_stream(r, e);
		if (rc < 0)
			return rc;
		w->counted = true;
	}
	r->done = events_done;
	return api_read(r, find, e);
}

/* POST …/ack, …/nack, …/extend --------------------------------------------------- */

/* Those that the engine no longer has: the store knows what became of them. */
static int
look_up(struct req *r, struct db *db, struct err *e)
{
	struct work *w = r->ctx;
	int rc = OK;

	for (size_t i = 0; rc >= 0 && i < w->answers.n; i++) {
		struct pull_answer *a = &w->answers.v[i];
		struct sql_consumer_settled_row row = {0};
		struct rows *rows = NULL;

		if (a->how != ANSWER_UNKNOWN)
			continue;
		rc = sql_consumer_settled(
		    db, &rows, e, .seq = a->seq, .sub = w->sub, .rep = a->rep);
		if (rc == OK)
			rc = rows_next(rows, e);
		if (rc > 0)
			sql_consumer_settled_get(rows, &row);
		rows_close(rows);
		if (row.ok == 0)
			a->how = row.dead > 0 ? ANSWER_DEAD : ANSWER_EXPIRED;
	}
	return rc < 0 ? rc : OK;
}

static const char *
word(const struct pull_answers *a, enum pull_answer_how how)
{
	static const char *const DID[] = {
	    [ANSWER_ACK] = "acked",
	    [ANSWER_NACK] = "retry",
	    [ANSWER_EXTEND] = "extended",
	};
	static const char *const WORDS[] = {
	    [ANSWER_RETRY] = "retry",
	    [ANSWER_DEAD] = "dead",
	    [ANSWER_EXPIRED] = "expired",
	    [ANSWER_UNKNOWN] = "done",
	    [ANSWER_NO_CURSOR] = "invalid",
	};

	return how == ANSWERED ? DID[a->kind] : WORDS[how];
}

static int
answered(struct req *r, struct err *e)
{
	struct work *w = r->ctx;
	const struct pull_answers *a = &w->answers;
	const struct json *name = w->names->child;
	bool unknown = false;

	if (r->rc < 0)
		return failed(r, e);
	for (size_t i = 0; i < a->n; i++)
		unknown = unknown || a->v[i].how == ANSWER_UNKNOWN;
	if (unknown && !w->looked) {
		w->looked = true;
		return api_read(r, look_up, e);
	}
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"results\":[");
	for (size_t i = 0; i < a->n; i++, name = name->next) {
		buf_addz(&r->out, i ? ",{\"cursor\":" : "{\"cursor\":");
		buf_json(&r->out, name->text);
		buf_fmt(&r->out, ",\"status\":\"%s\"", word(a, a->v[i].how));
		if (a->v[i].at_us > 0)
			seen_time(&r->out,
			    a->kind == ANSWER_EXTEND ? "leaseUntil"
						     : "nextAttemptAt",
			    a->v[i].at_us);
		buf_addc(&r->out, '}');
	}
	buf_addz(&r->out, "]}");
	return OK;
}

static int
tell(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct work *w = r->ctx;
	struct pull_answers *a = &w->answers;
	size_t i = 0;

	if (r->rc < 0)
		return api_said(r, e);
	for (const struct json *j = w->names->child; j; j = j->next, i++) {
		struct delivery_cursor c = {0};
		bool ours = delivery_cursor_open(&api->id_key, j->text, &c) &&
			    c.sub == w->sub;

		a->v[i] = (struct pull_answer){
		    .seq = c.seq,
		    .rep = c.rep,
		    .n = (int)c.n,
		    .how = ours ? ANSWERED : ANSWER_NO_CURSOR,
		};
	}
	a->pull = (struct pull_ask){
	    .ask = {.kind = ASK_SINK, .sub = w->sub, .patient = true},
	    .what = PULL_ANSWER};
	r->then = answered;
	return api_ask(r, &a->pull.ask, e);
}

static int
read_cursors(struct work *w, const struct json *doc, struct err *e)
{
	struct pull_answers *a = &w->answers;

	w->names = json_get(doc, "cursors");
	if (!json_is(w->names, JSON_ARRAY) || w->names->n < 1 ||
	    w->names->n > CONSUMER_CURSORS_MAX)
		return json_wrong(e, "/cursors",
		    "must be an array of 1 to %d cursors",
		    CONSUMER_CURSORS_MAX);
	for (const struct json *j = w->names->child; j; j = j->next, a->n++)
		if (!json_is(j, JSON_STRING)) {
			char at[JSON_POINTER_MAX + 1];

			(void)snprintf(at, sizeof(at), "/cursors/%zu", a->n);
			return json_wrong(e, at, "must be a string");
		}
	a->v = arena_array(w->r->arena, a->n, sizeof(*a->v));
	return a->v ? OK : err_set(e, ERR_NOMEM, "no memory for a request");
}

static int
read_number(const struct json *doc, const char *name, const char *at,
    int64_t least, int64_t most, int64_t *ret, struct err *e)
{
	const struct json *j = json_get(doc, name);

	if (!j || json_is(j, JSON_NULL))
		return OK;
	if (!json_int(j, ret) || *ret < least || *ret > most)
		return json_wrong(e, at,
		    "must be a whole number from %lld to %lld",
		    (long long)least, (long long)most);
	return OK;
}

static int
read_nack(struct work *w, const struct json *doc, struct err *e)
{
	struct pull_answers *a = &w->answers;
	const struct json *dead = json_get(doc, "dead");
	int64_t delay_ms = -1;
	int rc = read_number(
	    doc, "delayMs", "/delayMs", 0, RETRY_DELAY_MAX_MS, &delay_ms, e);

	if (rc == OK && dead && !json_is_bool(dead))
		rc = json_wrong(e, "/dead", "must be true or false");
	a->dead = json_is(dead, JSON_TRUE);
	if (rc == OK && a->dead && delay_ms >= 0)
		rc = json_wrong(e, "/delayMs",
		    "is of no use with dead: it is never tried again");
	if (rc == OK && delay_ms >= 0)
		a->delay_us = delay_ms * US_PER_MS;
	return rc;
}

static int
answer(struct req *r, enum pull_answer_kind kind, const char *const *names,
    struct err *e)
{
	struct work *w = begin(r, tell, e);
	struct pull_answers *a;
	struct json *doc = NULL;
	int64_t seconds = -1;
	int rc;

	if (!w)
		return e->code;
	a = &w->answers;
	a->kind = kind;
	a->delay_us = -1;
	rc = req_query_only(r, (const char *const[]){NULL}, e);
	if (rc == OK && r->body.n == 0)
		rc = json_wrong(e, "/cursors", "is required");
	if (rc == OK)
		rc = note_read(r, names, &a->note, &doc, e);
	if (rc == OK)
		rc = read_cursors(w, doc, e);
	if (rc == OK && kind == ANSWER_NACK)
		rc = read_nack(w, doc, e);
	if (rc == OK && kind == ANSWER_EXTEND)
		rc = read_number(doc, "seconds", "/seconds", 1,
		    CONSUMER_WAIT_MAX_S, &seconds, e);
	if (seconds > 0)
		a->delay_us = seconds * US_PER_S;
	return rc < 0 ? rc : api_read(r, find, e);
}

int
api_consumers_ack(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"cursors", NULL};

	(void)db;
	return answer(r, ANSWER_ACK, NAMES, e);
}

int
api_consumers_nack(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {
	    "cursors", "delayMs", "dead", "reason", NULL};

	(void)db;
	return answer(r, ANSWER_NACK, NAMES, e);
}

int
api_consumers_extend(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"cursors", "seconds", NULL};

	(void)db;
	return answer(r, ANSWER_EXTEND, NAMES, e);
}
