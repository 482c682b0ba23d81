#include "api/api.h"

#include "account/auth.h"
#include "account/limiter.h"
#include "account/lockout.h"
#include "account/rates.h"
#include "account/scopes.h"
#include "api/hand.h"
#include "api/handlers.h"
#include "api/people/people.h"
#include "api/people/person.h"
#include "api/v1/sub.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "deliver/engine/deliver.h"
#include "event/append.h"
#include "event/envelope.h"
#include "event/tail.h"
#include "event/type/types.h"
#include "http/server/reply.h"
#include "loop/pool.h"
#include "seal/tenant.h"
#include "sql.h"
#include "store/store.h"

/* Seed 004. */
static int
task_error(struct buf *b, const struct http_error *x)
{
	struct http_error mine = *x;

	if (x->hidden) {
		mine.name = "INTERNAL_ERROR";
		(void)snprintf(mine.e.text, sizeof(mine.e.text),
		    "An unexpected error occurred");
	}
	http_error_write(b, &mine);
	return x->status;
}

static int
miniflux_error(struct buf *b, const struct http_error *x)
{
	struct str text = str_of(x->e.text);

	text.n = str_utf8_bad(text); /* it may be cut in mid-character */
	buf_addz(b, "{\"error_message\":");
	buf_json(b, text);
	buf_addc(b, '}');
	return x->status == 422 ? 400 : x->status;
}

const struct route_group FOR_TASKS = {.error = task_error};
const struct route_group FOR_PEOPLE = {
    .error = person_error, .schema = "PersonError", .by_browsers = true};
const struct route_group FOR_MINIFLUX = {
    .error = miniflux_error, .schema = "MinifluxError", .by_apps = true};
const struct route_group FOR_APPS = {.by_apps = true};
const struct route_group FOR_BOTH = {
    .error = person_error, .by_browsers = true, .by_apps = true};

const struct route API_ROUTES[] = {
#define ROUTE(method, path, scope, limit, on, run, body, summary)              \
	{method, path, scope, on, run, body, summary, GROUP, limit, ALIAS,     \
	    PUSHED},
#include "api/routes.tbl"
#undef ROUTE
};
const size_t API_ROUTE_COUNT = COUNT_OF(API_ROUTES);

void *
api_reader_enter(void *store)
{
	struct db *db = NULL;
	struct err e = {0};

	if (db_open(store, DB_READ, &db, &e) < 0)
		log_err(LOG_ERROR, "a read thread has no connection", &e);
	return db;
}

void
api_reader_leave(void *db)
{
	db_close(db);
}

static void
read_job(struct pool_job *job, void *ctx)
{
	struct req *r = MAIL_OF(job, struct req, job);

	buf_clear(&r->out);
	r->rc = ctx ? r->work(r, ctx, &r->err)
		    : err_set(&r->err, ERR_AWAY, "no connection to the store");
	req_wake(r);
}

int
api_said(struct req *r, struct err *e)
{
	*e = r->err;
	return r->rc;
}

struct buf *
api_object(struct req *r)
{
	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	return &r->out;
}

int
api_gone(struct req *r)
{
	buf_clear(&r->out);
	r->status = 204;
	return OK;
}

static int
succeeded(struct req *r, struct err *e)
{
	r->then = NULL;
	return r->rc < 0 ? api_said(r, e) : r->next(r, e);
}

void
api_then(struct req *r, int (*next)(struct req *r, struct err *e))
{
	r->then = succeeded;
	r->next = next;
}

int
api_next(struct req *r, int (*next)(struct req *r, struct err *e))
{
	api_then(r, next);
	return REQ_WAIT;
}

void
api_wake(struct req *r, const struct err *result)
{
	r->rc = result->code;
	r->err = *result;
	req_wake(r);
}

int
api_too_busy(struct err *e)
{
	(void)err_set(e, ERR_AWAY, "too many requests are waiting");
	e->retry_after_s = 1;
	return ERR_AWAY;
}

int
api_read(struct req *r, handler_fn fn, struct err *e)
{
	struct api *api = r->app;

	r->work = fn;
	r->job.run = read_job;
	if (!r->then)
		r->then = api_said;
	return pool_post(api->read, &r->job) ? REQ_WAIT : api_too_busy(e);
}

static int
write_fn(struct db *db, void *ctx, struct err *e)
{
	struct req *r = ctx;

	buf_clear(&r->out); /* it may run twice */
	return r->work(r, db, e);
}

static void
append_done(struct append_job *job)
{
	const struct req *r = job->ctx;
	const struct route_group *for_whom = r->route->group;
	const struct api *api = r->app;

	/* What people and their apps write is what they see. */
	if (job->err.code == OK && api->tail && for_whom &&
	    (for_whom->by_browsers || for_whom->by_apps))
		tail_changed(api->tail);
	api_wake(job->ctx, &job->err);
}

int
api_append(struct req *r, struct append_job *job, struct err *e)
{
	struct api *api = r->app;

	if (!r->then)
		r->then = api_said;
	job->ctx = r;
	job->done = append_done;
	return append_post(api->append, job, e) < 0 ? (int)e->code : REQ_WAIT;
}

int
api_write(struct req *r, handler_fn fn, struct err *e)
{
	struct append_job *job = arena_alloc(r->arena, sizeof(*job));

	r->work = fn;
	job->fn = write_fn;
	return api_append(r, job, e);
}

static void
asked(struct deliver_ask *q)
{
	api_wake(q->arg, &q->err);
}

int
api_ask(struct req *r, struct deliver_ask *q, struct err *e)
{
	struct api *api = r->app;
	int64_t changed = append_config_seq(api->append);

	/* The engine learns of a subscription from the log: first that. */
	if (q->behind < changed)
		q->behind = changed;
	if (!r->then)
		r->then = api_said;
	q->done = asked;
	q->arg = r;
	if (hand_post(api, q))
		return REQ_WAIT;
	(void)err_set(e, ERR_AWAY, "%s",
	    api->held
		? "nothing is delivered from this store, which was restored, until hikyaku resume gives leave"
		: "no server delivers: webhook.enabled or server.roles switch it off");
	e->retry_after_s = 1;
	return ERR_AWAY;
}

int
api_behind(
    const struct req *r, struct db *db, struct deliver_ask *q, struct err *e)
{
	const struct api *api = r->app;
	struct sql_log_last_row row;

	if (api->errands && TRY(sql_log_last_one(db, &row, e)) > 0 &&
	    row.seq > q->behind)
		q->behind = row.seq;
	return OK;
}

int
api_ask_anyway(struct req *r, struct deliver_ask *q,
    int (*then)(struct req *r, struct err *e), struct err *e)
{
	int rc;

	r->then = then;
	rc = api_ask(r, q, e);
	/* Once it is asked, r->rc is the answer's, which may be there already. */
	if (rc == REQ_WAIT)
		return REQ_WAIT;
	r->rc = rc;
	return then(r, e);
}

static bool
hook_work(void *, struct req *r)
{
	static int (*const GIVE[])(struct req *, handler_fn, struct err *) = {
	    [ON_READ] = api_read,
	    [ON_WRITE] = api_write,
	    [ON_CHECK] = api_check,
	};
	struct err e;

	return GIVE[r->route->on](r, r->route->run, &e) == REQ_WAIT;
}

static void
hook_begin(void *arg, struct req *r)
{
	const struct api *api = arg;

	origin_headers(&api->origins, r);
}

int
api_cross_origin(struct err *e)
{
	(void)err_set(e, ERR_DENIED,
	    "what a browser changes by a cookie or a kept password must come from a page of ours");
	return err_word(e, "CROSS_ORIGIN");
}

/* What the owner of the data folder does is not counted. */
static int
take_person(const struct req *r, enum rates_kind kind, int64_t rate,
    int64_t cost, struct err *e)
{
	const struct api *api = r->app;

	return r->who.user
		   ? limiter_take(api->people, rates_id(r->who.user, kind),
			 rate, cost, clock_mono_us(), e)
		   : OK;
}

int
api_count_call(struct req *r, struct err *e)
{
	const struct api *api = r->app;

	return take_person(r, RATES_CALLS, api->conf->rate_limit_general, 1, e);
}

int
api_count_feeds(struct req *r, int64_t n, struct err *e)
{
	const struct api *api = r->app;

	return take_person(
	    r, RATES_FEEDS, api->conf->rate_limit_feed_reg, n, e);
}

static int
limit_person(struct req *r, struct err *e)
{
	TRY(api_count_call(r, e));
	return r->route->limit == LIMIT_FEED ? api_count_feeds(r, 1, e) : OK;
}

static int
limit_network(struct api *api, const struct req *r, struct err *e)
{
	struct lockout_key network = lockout_network(r->peer);
	int64_t id;

	/* Whoever looks for paths that are not there takes no login from his
	 * neighbours. */
	memcpy(&id, network.b, sizeof(id));
	id = (id & (INT64_MAX - 3)) | 2 | (r->route ? 1 : 0);
	return limiter_take(api->networks, id, api->conf->rate_limit_general, 1,
	    clock_mono_us(), e);
}

/* By the minute, what people's browsers call, and paths that nobody has. */
static int
hook_open(void *arg, struct req *r, struct err *e)
{
	struct api *api = arg;

	if (strcmp(r->peer, "unix") == 0)
		return OK;
	if (!r->route)
		return limit_network(api, r, e);
	if (r->route->limit != LIMIT_PERSON && r->route->limit != LIMIT_FEED)
		return OK;
	return r->who.user ? limit_person(r, e) : limit_network(api, r, e);
}

/* To fetch events under a lease is a change, although it is a GET. */
static bool
changes(const struct route *route)
{
	return route->method != GET || (route->scope & SCOPE_CONSUME);
}

/* Who calls, from where, and not too often. */
static int
known(struct api *api, struct req *r, struct err *e)
{
	int rc = auth_who(api->auth, r, e);

	if (rc != OK)
		return rc;
	if (r->who.renewed)
		api_renew_cookie(r);
	if (changes(r->route) &&
	    (r->who.by_cookie ? !origin_trusts(&api->origins, r)
			      : origin_foreign(&api->origins, r)))
		return api_cross_origin(e);
	if (r->who.kind != WHO_KEY)
		return hook_open(api, r, e);
	if (r->route->limit == LIMIT_EVENTS)
		return OK;
	return limiter_take(api->limiter, r->who.id, r->who.rate_per_second, 1,
	    clock_mono_us(), e);
}

static int
hook_who(void *arg, struct req *r, struct err *e)
{
	struct api *api = arg;
	int rc;

	if ((r->route->scope & SCOPE_METRICS) && api->conf->metrics_open)
		return OK;
	rc = known(api, r, e);
	return rc == OK ? scopes_may(&r->who, r->route->scope, e) : rc;
}

static bool
hook_stopping(void *arg)
{
	struct api *api = arg;

	return atomic_load(&api->stopping);
}

static void
hook_answered(void *, const struct req *r, int status, int64_t took_us)
{
	static const enum metric BY_CLASS[] = {
	    M_HTTP_2XX, M_HTTP_3XX, M_HTTP_4XX, M_HTTP_5XX};
	enum log_level level = status >= 500 ? LOG_WARN : LOG_DEBUG;
	char user[UUID_LEN + 1];
	struct log_line l;

	if (status >= 200 && status < 600)
		metric_add(BY_CLASS[status / 100 - 2], 1);
	metric_observe(M_HTTP_SECONDS, took_us);
	if (!log_on(level))
		return;
	log_begin(&l, level, "request");
	log_str(&l, "traceId", str_of(r->trace_id));
	log_str(&l, "path", r->path);
	log_int(&l, "status", status);
	log_int(&l, "us", took_us);
	log_str(&l, "who", str_of(r->who.name));
	if (r->who.user) {
		uuid_format(r->who.user_uid, user);
		log_str(&l, "user_id", str_of(user));
	}
	log_str(&l, "peer", str_of(r->peer));
	if (r->err.inside) /* its client was told less */
		log_str(&l, "error", str_of(r->err.text));
	log_end(&l);
}

struct server_hooks
api_hooks(struct api *api)
{
	return (struct server_hooks){
	    .arg = api,
	    .begin = hook_begin,
	    .who = hook_who,
	    .open = hook_open,
	    .stray = hook_open,
	    .work = hook_work,
	    .answered = hook_answered,
	    .stopping = hook_stopping,
	};
}

struct str
api_actor(const struct req *r)
{
	const char *kind = r->who.kind == WHO_KEY    ? "key:"
			   : r->who.kind == WHO_USER ? "user:"
						     : "";

	return arena_fmt(r->arena, "%s%s", kind, r->who.name);
}

struct event_defaults
api_defaults(const struct req *r, struct arena *a, struct str service)
{
	struct event_defaults d = {.tenant_name = STR_EMPTY};
	const struct api *api = r->app;
	const char *instance = api->instance ? api->instance : "-";

	if (!r->who.tenants) {
		d.tenant = tenant_default();
		d.tenant_name = STR(TENANT_DEFAULT);
	} else if (r->who.n_tenants == 1) {
		d.tenant = r->who.tenants[0];
		d.tenant_name = r->who.tenant_names;
	}
	if (service.n == 0)
		service = r->who.name[0] ? str_of(r->who.name) : STR("-");
	d.producer = envelope_producer(a, service, str_of(instance));
	return d;
}

struct envelope_opts
api_envelope(const struct api *api, int64_t now_us,
    const struct event_defaults *defaults)
{
	return (struct envelope_opts){
	    .now_us = now_us,
	    .strict = api->strict,
	    .exact = api->exact,
	    .defaults = defaults,
	    .types = types_now(api->types),
	    .mask = api->mask,
	    .body_max = (size_t)api->conf->webhook_max_payload_size,
	};
}

bool
api_tenant_ok(const struct principal *who, struct uuid tenant)
{
	if (!who->tenants)
		return true;
	for (size_t i = 0; i < who->n_tenants; i++)
		if (uuid_eq(who->tenants[i], tenant))
			return true;
	return false;
}
