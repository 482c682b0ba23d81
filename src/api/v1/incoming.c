/* sources.h: taking a hook, and trying one out. */

#include "account/limiter.h"
#include "api/api.h"
#include "api/io.h"
#include "api/v1/sources.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "contract/limits.h"
#include "event/append.h"
#include "event/cloud/cloudevent.h"
#include "event/envelope.h"
#include "http/server/reply.h"
#include "source/hook_store.h"
#include "source/limits.h"
#include "source/refused.h"
#include "store/store.h"

/* Buckets of the limiter: ids of sources, apart from those of keys. */
#define LIMIT_BASE (INT64_C(1) << 48)

struct hooker {
	const struct api *api;
	struct db *db;
	struct hooks *hooks;
	int64_t told_ms; /* unverified hooks of that second: */
	int told;        /* in the log, */
	int64_t untold;  /* and since then not */
};

struct incoming {
	struct append_job job;
	struct req *r;
	struct hook_request q;
	const struct hook *hook; /* on the hooks thread: its source */
	struct arena *arena;     /* of all that is made of it */
	bool binary;             /* attributes of a CloudEvent are headers */
	bool any_refused;
	struct hook_made made;
	struct err *
	    *refused; /* NULL: it is an event; else its entry tells why not */
	int (*work)(struct incoming *in, struct hooker *k, struct err *e);
	/* a sample's */
	const struct json *headers, *query, *body;
	struct str text;
};

void *
api_hooks_enter(void *arg)
{
	const struct api *api = arg;
	struct hooker *k = mem_get(sizeof(*k));
	struct err e = {0};

	k->api = api;
	k->hooks = hooks_new(api->conf, api->keyring);
	if (db_open(api->store, DB_READ, &k->db, &e) == OK)
		return k;
	log_err(LOG_ERROR, "the hooks thread can't work", &e);
	api_hooks_leave(k);
	return NULL;
}

void
api_hooks_leave(void *ctx)
{
	struct hooker *k = ctx;

	if (!k)
		return;
	hooks_free(k->hooks);
	db_close(k->db);
	free(k);
}

/* The request ------------------------------------------------------------------ */

static int
gather(struct incoming *in, struct err *e)
{
	struct req *r = in->r;
	size_t n;
	struct str_pair *headers = api_headers(r, r->arena, &n);

	if (n > REQUEST_HEADERS_MAX)
		return err_set(e, ERR_LIMIT, "a request has at most %d headers",
		    REQUEST_HEADERS_MAX);
	in->q = (struct hook_request){
	    .in = {.headers = headers, .n = n, .body = r->body},
	    .query = r->query,
	    .n_query = r->n_query,
	    .peer = str_of(r->peer),
	    .now_us = clock_now_us(),
	};
	return OK;
}

/* On the hooks thread ------------------------------------------------------------ */

/* Some a second: a stranger must not fill the disk with our log. */
static void
tell_unverified(struct hooker *k, const struct req *r, const struct hook *h,
    const char *why)
{
	int64_t now_ms = clock_mono_ms();
	struct log_line l;

	metric_add(M_HOOKS_UNVERIFIED, 1);
	if (now_ms - k->told_ms >= 1000) {
		k->told_ms = now_ms;
		k->told = 0;
	}
	if (k->told++ >= HOOK_LINES_PER_S) {
		k->untold++;
		return;
	}
	log_begin(&l, LOG_INFO, "hook not verified");
	log_str(&l, "traceId", str_of(r->trace_id));
	log_str(&l, "source", h->name);
	log_str(&l, "peer", str_of(r->peer));
	log_str(&l, "reason", str_of(why));
	if (k->untold > 0)
		log_int(&l, "untold", k->untold);
	log_end(&l);
	k->untold = 0;
}

/* The source, when the request is its provider's. */
static int
admit(struct incoming *in, struct hooker *k, struct err *e)
{
	struct req *r = in->r;
	enum receive_result v = RECEIVE_WRONG;
	const struct hook *h;
	int rc;

	TRY(hooks_refresh(k->hooks, k->db, e));
	in->hook = h = hooks_find(k->hooks, r->params[0]);
	if (!h || !h->enabled)
		return err_set(e, ERR_ABSENT, "there is nothing here");
	if (h->closed)
		return err_set(
		    e, ERR_SEALED, "the source's secrets can't be opened");
	if (!hook_peer_ok(h, in->q.peer)) {
		tell_unverified(
		    k, r, h, "its address is in none of the networks");
		return err_set(e, ERR_UNKNOWN, "not verified");
	}
	TRY(hook_verify(h, &in->q, &v, e));
	if (v != RECEIVE_OK) {
		tell_unverified(k, r, h, receive_text(v));
		return err_set(e, ERR_UNKNOWN, "not verified");
	}
	rc = limiter_take(k->api->limiter, LIMIT_BASE + h->id, h->rate_per_s, 1,
	    clock_mono_us(), e);
	if (rc == ERR_BUSY)
		(void)snprintf(e->text, sizeof(e->text),
		    "this source takes %lld requests a second",
		    (long long)h->rate_per_s);
	return rc;
}

static int
make_events(struct incoming *in, struct hooker *k, struct err *e)
{
	in->arena = arena_new(HOOK_SCRATCH_MAX);
	return hook_events(
	    in->hook, &in->q, hooks_jq(k->hooks), in->arena, &in->made, e);
}

static int
parse_item(
    const struct incoming *in, size_t i, struct event *ret, struct err *e)
{
	const struct event_defaults d =
	    api_defaults(in->r, in->arena, in->hook->name);
	const struct envelope_opts o =
	    api_envelope(in->r->app, in->q.now_us, &d);
	const struct hook_item *it = &in->made.items[i];
	int rc;

	if (it->wrong.code != OK) {
		*e = it->wrong;
		return e->code;
	}
	rc = envelope_parse(in->arena, it->text, &o, ret, e);
	if (rc < 0 && in->hook->template.n == 0 &&
	    str_starts(in->hook->scheme_name, STR("cloudevents")))
		cloudevent_blame(e, in->binary);
	return rc;
}

/* What is no event gets the entry of a dead letter. */
static int
refuse_item(struct incoming *in, size_t i, const struct err *why, struct err *e)
{
	const struct api *api = in->r->app;
	struct str ref = in->made.ref;
	struct refused x = {
	    .source = in->hook->name,
	    .pointer = str_of(why->at),
	    .reason = str_of(why->text),
	    .copy = in->made.items[i].text,
	};

	if (ref.n > REFUSED_REF_MAX / 2)
		ref = str_chars(ref, REFUSED_REF_MAX / 8);
	x.ref = in->made.many
		    ? arena_fmt(in->arena, "%.*s#%zu", STR_ARG(ref), i)
		    : ref;
	in->refused[i] = arena_alloc(in->arena, sizeof(*why));
	*in->refused[i] = *why;
	in->any_refused = true;
	return refused_entry(
	    in->arena, &x, api->mask, in->q.now_us, &in->job.entries[i], e);
}

static int
take_in(struct incoming *in, struct hooker *k, struct err *e)
{
	size_t n;

	TRY(admit(in, k, e));
	metric_add(M_HOOKS_TAKEN, 1);
	TRY(make_events(in, k, e));
	n = in->made.n;
	in->job.entries =
	    arena_array(in->arena, n + 1, sizeof(*in->job.entries));
	in->refused = arena_array(in->arena, n + 1, sizeof(struct err *));
	for (size_t i = 0; i < n; i++) {
		struct err why = {0};
		struct event ev;
		int rc = parse_item(in, i, &ev, &why);

		in->job.n = i + 1;
		if (rc == OK) {
			entry_fill(&in->job.entries[i], &ev, in->q.in.body);
		} else if (rc == ERR_INVALID || rc == ERR_SYNTAX ||
			   rc == ERR_LIMIT) {
			TRY(refuse_item(in, i, &why, e));
		} else {
			*e = why;
			return rc;
		}
	}
	return OK;
}

static void
hook_job(struct pool_job *job, void *ctx)
{
	struct req *r = MAIL_OF(job, struct req, job);
	struct incoming *in = r->ctx;

	r->rc = ctx ? in->work(in, ctx, &r->err)
		    : err_set(&r->err, ERR_AWAY, "hooks can't be taken now");
	req_wake(r);
}

static int
post_hook(struct req *r, struct err *e)
{
	struct api *api = r->app;

	r->job.run = hook_job;
	return pool_post(api->hooks, &r->job) ? REQ_WAIT : api_too_busy(e);
}

/* The answer ---------------------------------------------------------------------- */

/* The log has this id with other bytes: a provider's retry may differ in what
 * it says of itself. It is the same delivery all the same. */
static void
add_result(struct buf *b, const struct incoming *in, size_t i)
{
	const struct entry *en = &in->job.entries[i];

	put_open(b, NULL, '{');
	if (in->refused[i]) {
		put_name(b, "refused");
		http_error_json(b, in->refused[i]);
	} else {
		put_uuid(b, "eventId", en->event_id);
		put_int(b, "seq", en->seq);
		put_bool(b, "duplicate", en->state != ENTRY_NEW);
	}
	put_close(b, '}');
}

static int
incoming_answer(struct req *r, struct err *)
{
	const struct incoming *in = r->ctx;
	struct buf *b = &r->out;

	r->status = 202;
	buf_clear(b);
	if (in->made.n > 0 && !in->made.many) {
		add_result(b, in, 0);
		return OK;
	}
	put_open(b, NULL, '{');
	if (in->made.n == 0) {
		put_z(b, "ignored", in->made.why);
	} else {
		put_open(b, "results", '[');
		for (size_t i = 0; i < in->made.n; i++)
			add_result(b, in, i);
		put_close(b, ']');
	}
	put_close(b, '}');
	return OK;
}

/* On the commit thread. */
static int
store_refused(struct db *db, void *ctx, struct err *e)
{
	const struct req *r = ctx;
	const struct incoming *in = r->ctx;

	return refused_store(db, in->job.entries, in->job.n, in->q.now_us, e);
}

static void
committed(struct append_job *job)
{
	struct req *r = job->ctx;
	const struct incoming *in = r->ctx;

	if (job->err.code == OK && in->any_refused)
		(void)refused_told(job->entries, job->n);
	api_wake(r, &job->err);
}

static int
commit(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct incoming *in = r->ctx;

	if (in->made.n == 0)
		return incoming_answer(r, e);
	in->job.done = committed;
	in->job.ctx = r;
	if (in->any_refused)
		in->job.after = store_refused;
	api_then(r, incoming_answer);
	return append_post(api->append, &in->job, e) < 0 ? (int)e->code
							 : REQ_WAIT;
}

static void
in_done(struct req *r)
{
	struct incoming *in = r->ctx;

	arena_free(in->arena);
}

static struct incoming *
incoming_new(struct req *r)
{
	struct incoming *in = arena_alloc(r->arena, sizeof(*in));

	in->r = r;
	r->ctx = in;
	r->done = in_done;
	return in;
}

int
api_in_post(struct req *r, struct db *, struct err *e)
{
	struct incoming *in = incoming_new(r);

	TRY(gather(in, e));
	in->binary = req_header(r, "ce-specversion").n > 0;
	in->work = take_in;
	api_then(r, commit);
	return post_hook(r, e);
}

/* Trying out ------------------------------------------------------------------------ */

/* {"a": "b"} as pairs, for headers and the query alike. */
static int
read_pairs(const struct json *j, const char *at, struct arena *a,
    struct str_pair **ret, size_t *ret_n, struct err *e)
{
	struct str_pair *v;
	size_t n = 0;

	*ret_n = 0;
	if (!j)
		return OK;
	if (j->n > REQUEST_HEADERS_MAX)
		return json_wrong(e, at,
		    "must be an object of at most %d texts",
		    REQUEST_HEADERS_MAX);
	v = arena_array(a, j->n + 1, sizeof(*v));
	for (const struct json *c = j->child; c; c = c->next, n++) {
		char here[JSON_POINTER_MAX + 1];

		(void)snprintf(here, sizeof(here), "%s", at);
		json_point(here, c->key);
		if (c->type != JSON_STRING)
			return json_wrong(e, here, "must be a string");
		v[n] = (struct str_pair){c->key, c->text};
	}
	*ret = v;
	*ret_n = n;
	return OK;
}

const struct member SOURCE_TEST_BODY[] = {
    {"headers", MEMBER_OBJECT, offsetof(struct incoming, headers)},
    {"query", MEMBER_OBJECT, offsetof(struct incoming, query)},
    {"body", MEMBER_JSON, offsetof(struct incoming, body), .schema = "{}"},
    {"bodyText", MEMBER_STRING, offsetof(struct incoming, text), 0, INT32_MAX,
	.about = "instead of body, when it is no JSON"},
    {.name = NULL},
};

static int
read_sample(struct incoming *in, struct err *e)
{
	struct req *r = in->r;
	struct str_pair *headers = NULL, *query = NULL;
	size_t n = 0;

	TRY(api_body(r, SOURCE_TEST_BODY, NULL, in, e));
	TRY(read_pairs(in->headers, "/headers", r->arena, &headers, &n, e));
	TRY(read_pairs(
	    in->query, "/query", r->arena, &query, &in->q.n_query, e));
	if (in->body && in->text.p)
		return json_wrong(e, "/bodyText", "and body are one too many");
	in->q.in = (struct received){.headers = headers,
	    .n = n,
	    .body = in->text.p ? in->text
		    : in->body ? in->body->raw
			       : STR_EMPTY};
	in->q.query = query;
	in->q.now_us = clock_now_us();
	in->binary = receive_header(&in->q.in, "ce-specversion").n > 0;
	return OK;
}

/* [{"event": …} or {"error": …}] */
static void
show_items(const struct incoming *in, struct buf *b)
{
	put_open(b, "events", '[');
	for (size_t i = 0; i < in->made.n; i++) {
		struct err why = {0};
		struct event ev;
		int rc = parse_item(in, i, &ev, &why);

		put_open(b, NULL, '{');
		if (rc == OK) {
			put_raw(b, "event", ev.body);
		} else {
			put_name(b, "error");
			http_error_json(b, &why);
		}
		put_close(b, '}');
	}
	put_close(b, ']');
}

static int
try_out(struct incoming *in, struct hooker *k, struct err *e)
{
	struct req *r = in->r;
	enum receive_result v = RECEIVE_WRONG;
	struct buf *b;

	TRY(hooks_refresh(k->hooks, k->db, e));
	in->hook = hooks_find(k->hooks, r->params[0]);
	if (!in->hook)
		return err_set(e, ERR_ABSENT, "there is no such source");
	TRY(hook_verify(in->hook, &in->q, &v, e));
	TRY(make_events(in, k, e));
	b = api_object(r);
	put_bool(b, "verified", v == RECEIVE_OK);
	put_z(b, "verification", receive_text(v));
	put_text(b, "ref", in->made.ref);
	put_z(b, "ignored", in->made.n == 0 ? in->made.why : NULL);
	show_items(in, b);
	put_close(b, '}');
	return OK;
}

int
api_sources_test(struct req *r, struct db *, struct err *e)
{
	struct incoming *in = incoming_new(r);

	TRY(read_sample(in, e));
	in->work = try_out;
	r->then = api_said;
	return post_hook(r, e);
}
