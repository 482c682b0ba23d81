#include "reader/websub.h"

#include "account/limiter.h"
#include "account/lockout.h"
#include "api/api.h"
#include "api/handlers.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "reader/fetch/fetcher.h"
#include "reader/limits.h"
#include "seal/keyring.h"
#include "sql.h"

/*
 * Where hubs call us (reader/websub.h). The address is the secret that lets
 * somebody in, so an unknown one is 404 like any other.
 *
 * GET: did we ask for this? Then its challenge is the answer. POST: 202 when it
 * is written, and also when its signature is wrong, as the standard wants it:
 * who guesses learns nothing. 503 when too many wait.
 */

/* Buckets of the limiter: of lines in the log, apart from keys and sources. */
#define LINES_BUCKET (INT64_C(1) << 49)

struct hub_call {
	struct push push;
	struct req *r;
	struct uuid uid;
	struct sql_hub_find_row row;
	struct websub_call call;
	enum websub_answer answer;
	bool unsigned_;
};

static int
nothing(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is nothing here");
}

static int
limit(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct lockout_key network = lockout_network(r->peer);
	int64_t id;

	memcpy(&id, network.b, sizeof(id));
	/* Even: a bucket of its own beside that of people's routes. */
	id = (id & (INT64_MAX >> 1)) << 1 | 2;
	return limiter_take(
	    api->networks, id, HUB_CALLS_PER_MINUTE, 1, clock_mono_us(), e);
}

static int
call_new(struct req *r, struct hub_call **ret, struct err *e)
{
	struct hub_call *c = arena_alloc(r->arena, sizeof(*c));

	TRY(limit(r, e));
	if (!uuid_parse(r->params[0], &c->uid))
		return nothing(e);
	c->r = r;
	r->ctx = *ret = c;
	return OK;
}

/* On a read thread. */
static int
find_hub(struct hub_call *c, struct db *db, struct err *e)
{
	if (TRY(sql_hub_find_one(
		db, c->r->arena, &c->row, e, .uid = uuid_str(&c->uid))) == 0)
		return nothing(e);
	return OK;
}

/* Verification -------------------------------------------------------------- */

static int
hub_look_up(struct req *r, struct db *db, struct err *e)
{
	struct hub_call *c = r->ctx;

	TRY(find_hub(c, db, e));
	c->answer = websub_called(c->row.state, c->row.topic, &c->call);
	return c->answer == WEBSUB_NO ? nothing(e) : OK;
}

/* On the commit thread. */
static int
hub_settle(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct hub_call *c = r->ctx;
	int64_t now = clock_now_us(), n = 0, us;

	switch (c->answer) {
	case WEBSUB_SUBSCRIBED:
		us = websub_lease_s(c->call.lease) * US_PER_S /
		     api->conf->time_scale;
		n = sql_hub_verified(db, e, .id = c->row.id, .until = now + us,
		    .next = now + us / 3 * 2, .now = now);
		break;
	case WEBSUB_DENIED:
		us = (int64_t)HUB_DENIED_MIN * 60 * US_PER_S /
		     api->conf->time_scale;
		n = sql_hub_denied(db, e, .id = c->row.id,
		    .error = STR("the hub denied it"), .next = now + us,
		    .now = now);
		break;
	case WEBSUB_LEFT:
		n = sql_hub_left(db, e, .id = c->row.id);
		break;
	case WEBSUB_NO:
		break;
	}
	return TRY(n) == 0 ? nothing(e) : OK;
}

static int
confirm(struct req *r, struct err *)
{
	static const char *const SAYS[] = {
	    [WEBSUB_NO] = "",
	    [WEBSUB_SUBSCRIBED] = "hub verified",
	    [WEBSUB_LEFT] = "hub left",
	    [WEBSUB_DENIED] = "hub denied",
	};
	const struct hub_call *c = r->ctx;
	struct log_line l;

	log_begin(&l, LOG_INFO, SAYS[c->answer]);
	log_str(&l, "topic", c->row.topic);
	log_end(&l);
	if (c->answer != WEBSUB_DENIED)
		buf_add(&r->out, c->call.challenge);
	r->content_type = "text/plain; charset=utf-8";
	req_add_header(r, "X-Content-Type-Options", "nosniff");
	return OK;
}

static int
hub_looked_up(struct req *r, struct err *e)
{
	api_then(r, confirm);
	return api_write(r, hub_settle, e);
}

int
api_websub_get(struct req *r, struct db *, struct err *e)
{
	struct hub_call *c;

	TRY(call_new(r, &c, e));
	(void)req_query(r, "hub.mode", &c->call.mode);
	(void)req_query(r, "hub.topic", &c->call.topic);
	(void)req_query(r, "hub.challenge", &c->call.challenge);
	(void)req_query(r, "hub.lease_seconds", &c->call.lease);
	api_then(r, hub_looked_up);
	return api_read(r, hub_look_up, e);
}

/* Content --------------------------------------------------------------------- */

/* On a read thread: nothing of the body is read before this. */
static int
push_judge(struct req *r, struct db *db, struct err *e)
{
	const struct api *api = r->app;
	struct hub_call *c = r->ctx;
	struct str secret;

	TRY(find_hub(c, db, e));
	if (!websub_sends(c->row.state))
		return nothing(e);
	if (keyring_unseal(api->keyring, r->arena,
		keyring_where(r->arena, "feed_hub.secret", c->uid),
		c->row.secret, &secret, e) < 0)
		return err_set(
		    e, ERR_SEALED, "the hub's secret can't be opened");
	c->unsigned_ =
	    !websub_signed(req_header(r, "x-hub-signature"), secret, r->body);
	return OK;
}

static int
thank(struct req *r)
{
	r->status = 202;
	r->content_type = "text/plain; charset=utf-8";
	return OK;
}

/* The fetcher is through; on the http thread. */
static int
pushed(struct req *r, struct err *e)
{
	const struct hub_call *c = r->ctx;

	if (c->push.err.code == OK)
		return thank(r);
	/* Whatever it was, the hub may send it again. */
	(void)err_set(e, ERR_AWAY, "it can't be taken now");
	e->retry_after_s = 5;
	return ERR_AWAY;
}

static void
push_done(struct push *p)
{
	req_wake(MAIL_OF(p, struct hub_call, push)->r);
}

static void
tell_unsigned(struct api *api, const struct req *r, const struct hub_call *c)
{
	struct log_line l;
	struct err e;

	metric_add(M_HUB_UNSIGNED, 1);
	/* Some a second: a stranger must not fill the disk with our log. */
	if (limiter_take(api->limiter, LINES_BUCKET, HUB_LINES_PER_S, 1,
		clock_mono_us(), &e) < 0)
		return;
	log_begin(&l, LOG_WARN, "push not signed by its hub");
	log_str(&l, "traceId", str_of(r->trace_id));
	log_str(&l, "topic", c->row.topic);
	log_str(&l, "peer", str_of(r->peer));
	log_end(&l);
}

static int
push_judged(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct hub_call *c = r->ctx;

	if (c->unsigned_) {
		tell_unsigned(api, r, c);
		return thank(r);
	}
	metric_add(M_HUB_PUSHED, 1);
	c->push = (struct push){.hub = c->row.id,
	    .feed = c->row.feed,
	    .feed_uid = uuid_of(c->row.feed_uid),
	    .feed_url = c->row.feed_url,
	    .topic = c->row.topic,
	    .body = r->body,
	    .content_type = req_header(r, "content-type"),
	    .done = push_done};
	r->then = pushed;
	if (!api->fetcher)
		return err_set(e, ERR_AWAY, "this server reads no feeds");
	TRY(fetcher_push(api->fetcher, &c->push, e));
	return REQ_WAIT;
}

int
api_websub_post(struct req *r, struct db *, struct err *e)
{
	const struct api *api = r->app;
	struct hub_call *c;

	TRY(call_new(r, &c, e));
	if (r->body.n > (size_t)api->conf->fetch_max_size)
		return err_set(e, ERR_LIMIT, "a feed has at most %lld bytes",
		    (long long)api->conf->fetch_max_size);
	api_then(r, push_judged);
	return api_read(r, push_judge, e);
}
