#include "sink/http/http.h"

#include "base/conf/conf.h"
#include "base/log/log.h"
#include "contract/preset.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "http/client/client.h"
#include "http/client/oauth.h"
#include "sink/http/revive.h"
#include "sink/http/told.h"
#include "sink/sink_driver.h"

#define SAMPLE 128 /* one success in so many keeps its heads */

struct http {
	struct deliver *d;
	struct oauth *oauth;
	struct revive *revive;
};

/* What an attempt has of its own here: attempt.own. */
struct call {
	struct attempt *a;
	struct http *h;
	struct request req;
	struct client_send send;
	bool sending; /* the client has it */
	struct oauth_ask token;
	bool asking;
	bool called; /* the subscription's own URL, not one before it */
};

void
http_send(struct deliver *d, struct arena *a, const struct kept_conf *k,
    const struct request *r, struct client_send *ret)
{
	const char *proxy = deliver_opts(d)->conf->webhook_proxy;
	const struct sub_conf *s = k->conf;
	struct client_header *h = arena_array(a, r->n + 1, sizeof(*h));
	bool mtls = s->auth.type == AUTH_MTLS;

	for (size_t i = 0; i < r->n; i++)
		h[i] = (struct client_header){
		    r->headers[i].name, r->headers[i].value};
	*ret = (struct client_send){
	    .url = r->url,
	    .headers = h,
	    .n_headers = r->n,
	    .body = r->body,
	    .use = GUARD_WEBHOOK,
	    .connect_ms = (int)k->policy.connect_ms,
	    .total_ms = (int)k->policy.total_ms,
	    .keep_max = told_keep(s->preset),
	    .proxy = proxy[0] ? proxy : NULL,
	    .tls_cert_pem = mtls ? arena_z(a, s->auth.certificate) : NULL,
	    .tls_key_pem = mtls ? arena_z(a, s->auth.key) : NULL,
	};
}

static struct str
hidden(const struct call *c, struct str s)
{
	return told_hidden(
	    c->a->arena, &c->req, c->a->conf->conf->auth.password, s);
}

/* Of a success the heads and the beginning of the answer: for who has to show
 * that it came, as its preset or the server says; else of one in SAMPLE. */
static bool
keeps_success(const struct attempt *a)
{
	const struct sub_conf *s = a->conf->conf;

	return s->preset->keep_answers || a->s.row.seq % SAMPLE == 0 ||
	       strcmp(deliver_opts(a->d)->conf->delivery_keep_bodies, "all") ==
		   0;
}

/* What is held comes again soon, whatever its schedule says of failures. */
static int64_t
hold_us(const struct sub_policy *p)
{
	int64_t ms = p->retry.delays_ms[0];

	return ms > 0 ? retry_scaled(ms, p->scale) * US_PER_MS : HOLD_US;
}

static void
judged(struct call *c, struct judgement j, const struct client_answer *answer)
{
	struct attempt *a = c->a;
	struct client_answer ans = *answer;
	struct core_result r = {
	    .took_us = ans.took_us,
	    .status = ans.result == CLIENT_ANSWERED ? ans.status : 0,
	    .reason = (int)j.reason,
	    .unasked = !c->called,
	    .holds = j.reason == REASON_PREFLIGHT,
	};
	/* What is held leaves no attempt that could have it. */
	bool kept = j.verdict != VERDICT_OK || keeps_success(a);
	const char *error = "";

	if (kept) {
		ans.head = hidden(c, ans.head);
		ans.body = hidden(c, ans.body);
	}
	if (c->called)
		a->sent = &c->req;
	if (j.verdict != VERDICT_OK)
		error = told_error(a->arena, &ans);
	switch (j.verdict) {
	case VERDICT_OK:
		r.verdict = CORE_OK;
		break;
	case VERDICT_RETRY:
		attempt_retry(a, ans.retry_after_ms, &r);
		/* Somebody else failed, or wants a rest: that opens no
		 * breaker, and of a probe it says no more than before. */
		r.sick = c->called || a->s.probe;
		if (!c->called)
			r.endpoint_wait_us = 0;
		break;
	case VERDICT_HOLD:
		r.verdict = CORE_HOLD;
		r.delay_us = hold_us(&a->conf->policy);
		break;
	case VERDICT_GONE:
		r.verdict = CORE_DEAD;
		attempt_gone(a);
		break;
	case VERDICT_DEAD:
		r.verdict = CORE_DEAD;
		break;
	}
	if (kept && r.verdict != CORE_HOLD)
		r.detail = told_detail(a->arena, &c->req, &ans, error);
	attempt_end(a, &r, error);
}

/* Calls ---------------------------------------------------------------------- */

/* Somebody waits for a test, and a server that stops waits for him. */
static int
total_ms(const struct attempt *a)
{
	int ms = (int)a->conf->policy.total_ms;

	return a->test && ms > TEST_SEND_MS ? TEST_SEND_MS : ms;
}

static void
token_conf(const struct attempt *a, struct oauth_conf *ret)
{
	const struct sub_auth *auth = &a->conf->conf->auth;
	const char *proxy = deliver_opts(a->d)->conf->webhook_proxy;

	*ret = (struct oauth_conf){
	    .token_url = auth->token_url,
	    .client_id = auth->client_id,
	    .client_secret = auth->client_secret,
	    .scope = auth->scope,
	    .connect_ms = (int)a->conf->policy.connect_ms,
	    .total_ms = total_ms(a),
	    .proxy = proxy[0] ? proxy : NULL,
	};
}

/* The answer to one of its sends; NULL: it was cut off, and has ended. */
static struct call *
call_of(struct client_send *send, const struct client_answer *ans,
    struct outcome *ret)
{
	struct call *c = LINK_OF(send, struct call, send);

	c->sending = false;
	if (ans->result == CLIENT_CANCELLED) {
		attempt_end_early(c->a, CORE_HOLD, REASON_NETWORK, HOLD_US,
		    "the server is stopping");
		return NULL;
	}
	told_outcome(ans, ret);
	return c;
}

static void
posted(struct client_send *send, const struct client_answer *ans)
{
	struct outcome o;
	struct call *c = call_of(send, ans, &o);
	struct attempt *a;
	const struct preset *p;
	struct judgement j;

	if (!c)
		return;
	a = c->a;
	p = a->conf->conf->preset;
	if (o.net != NET_ANSWER || o.status != 200) {
		struct outcome told = o;

		told.body = hidden(c, o.body);
		told_hub_error(a->arena, a->conf->conf, &a->ev, &a->at, &told);
	}
	j = verdict_of(a->arena, p->verdicts, p->n_verdicts, &o);
	if (o.status == 401 && a->at.access_token.n > 0) {
		struct oauth_conf oc;

		token_conf(a, &oc);
		oauth_refused(c->h->oauth, &oc, a->at.access_token);
		/* The next try has another token. */
		if (j.verdict == VERDICT_DEAD)
			j.verdict = VERDICT_RETRY;
	}
	judged(c, j, ans);
}

static void
start_send(struct call *c, enum method method,
    void (*done)(struct client_send *, const struct client_answer *))
{
	struct attempt *a = c->a;

	/* Its event or token took a while: are the groups still ours? */
	if (!a->test && !deliver_may_send(a->d)) {
		attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "it is not sure that this node delivers");
		return;
	}
	http_send(a->d, a->arena, a->conf, &c->req, &c->send);
	c->send.method = method;
	/* What is locked must not be called twice in one attempt. */
	c->send.fresh = method == POST && a->conf->policy.lock_ms > 0;
	c->send.total_ms = total_ms(a);
	c->send.done = done;
	c->sending = true;
	client_start(deliver_client(a->d), &c->send);
}

static void
make_failed(struct attempt *a, enum reason reason, const struct err *e)
{
	attempt_end_early(a, CORE_NEVER, reason, 0, e->text);
}

static void
post(struct call *c)
{
	struct attempt *a = c->a;
	enum reason reason = REASON_RENDER;
	struct err e = {0};
	int rc;

	a->at.now_us = clock_now_us(); /* what came before it took a while */
	rc = request_make(
	    a->arena, a->conf->conf, &a->ev, &a->at, &c->req, &reason, &e);
	if (rc < 0) {
		make_failed(a, reason, &e);
		return;
	}
	if (c->req.log_call.n > 0) {
		struct log_line l;

		log_begin(&l, LOG_INFO, "call");
		log_str(&l, "mt", c->req.log_call);
		log_end(&l);
	}
	c->called = true;
	start_send(c, POST, posted);
}

static void
preflown(struct client_send *send, const struct client_answer *ans)
{
	struct outcome o;
	struct call *c = call_of(send, ans, &o);
	struct judgement j;

	if (!c)
		return;
	j = preflight_judge(c->a->arena, c->a->conf->conf, &o);
	if (j.verdict == VERDICT_OK)
		post(c);
	else
		judged(c, j, ans);
}

static void
preflight(struct call *c)
{
	struct attempt *a = c->a;
	enum reason reason = REASON_RENDER;
	struct err e = {0};
	int rc = preflight_make(
	    a->arena, a->conf->conf, &a->ev, &a->at, &c->req, &reason, &e);

	if (rc < 0)
		make_failed(a, reason, &e);
	else if (rc > 0)
		start_send(c, GET, preflown);
	else
		post(c);
}

static void
tokened(struct oauth_ask *q, struct str token, const struct err *e)
{
	struct call *c = LINK_OF(q, struct call, token);
	struct client_answer ans = {.result = CLIENT_CONNECT,
	    .retry_after_ms = -1,
	    .error = e ? e->text : ""};

	c->asking = false;
	if (token.n > 0) {
		c->a->at.access_token = arena_dup(c->a->arena, token);
		preflight(c);
		return;
	}
	assert(e);
	judged(c,
	    (struct judgement){
		e->code == ERR_AWAY ? VERDICT_RETRY : VERDICT_DEAD,
		REASON_AUTH},
	    &ans);
}

static void
http_call(void *self, struct attempt *a)
{
	struct call *c = arena_alloc(a->arena, sizeof(*c));
	struct oauth_conf oc;

	a->own = c;
	c->a = a;
	c->h = self;
	if (a->conf->conf->auth.type != AUTH_OAUTH2) {
		preflight(c);
		return;
	}
	token_conf(a, &oc);
	c->token.done = tokened;
	c->asking = true;
	oauth_get(c->h->oauth, &oc, clock_mono_ms(), &c->token);
}

static void
http_cancel(void *, struct attempt *a)
{
	struct call *c = a->own;

	if (c->sending) {
		client_cancel(deliver_client(a->d), &c->send);
	} else if (c->asking) {
		oauth_drop(&c->token);
		c->asking = false;
		attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "the server is stopping");
	}
}

/* The driver ----------------------------------------------------------------- */

static void *
http_open(struct deliver *d)
{
	struct http *h = mem_get(sizeof(*h));

	h->d = d;
	h->oauth = oauth_new(deliver_client(d));
	h->revive = revive_new(d);
	return h;
}

static void
http_close(void *self)
{
	struct http *h = self;

	revive_free(h->revive);
	oauth_free(h->oauth);
	free(h);
}

static bool
http_turn(void *self, int64_t now, int64_t *ret_due)
{
	const struct http *h = self;

	if (!deliver_stopping(h->d))
		revive_turn(h->revive, now);
	*ret_due = revive_due(h->revive);
	return false;
}

static void
http_sub(void *self, uint32_t sub, const struct wish *w, int64_t now)
{
	const struct http *h = self;

	if (!w)
		revive_forget(h->revive, sub);
	else if (w->checked)
		revive_note(h->revive, sub, now);
}

static void
http_dead(void *self, const struct core_dead *dead, int64_t now)
{
	const struct http *h = self;

	if (dead->reason == REASON_PREFLIGHT)
		revive_note(h->revive, dead->row.sub, now);
}

static void
http_deads(void *self, struct deads *page, int64_t now)
{
	const struct http *h = self;

	revive_deads(h->revive, page, now);
}

static void
http_drop(void *self, const struct err *)
{
	const struct http *h = self;

	revive_forget_all(h->revive);
}

const struct sink_driver SINK_HTTP = {
    .scheme = "https",
    /* No check: the contract knows what a URL of the web has to be. */
    .open = http_open,
    .close = http_close,
    .call = http_call,
    .cancel = http_cancel,
    .turn = http_turn,
    .sub = http_sub,
    .dead = http_dead,
    .deads = http_deads,
    .drop = http_drop,
};
