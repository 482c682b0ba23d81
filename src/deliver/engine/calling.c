#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/str.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/sending_priv.h"
#include "deliver/engine/told.h"

/*
 * The calls of an attempt: an access token when there has to be one, a health
 * check, the request itself; and what its answer means.
 */

#define SAMPLE 128 /* one success in so many keeps its heads */

static void call(struct attempt *a);
static void token_conf(const struct attempt *a, struct oauth_conf *ret);

bool
attempt_too_late(const struct attempt *a, int64_t at_us)
{
	int64_t s = a->conf->conf->deadline_s;

	return s > 0 && at_us > a->letter->received_us + s * US_PER_S;
}

static void
schedule(
    struct attempt *a, const struct client_answer *ans, struct core_result *r)
{
	const struct sub_policy *p = &a->conf->policy;
	int64_t delay_ms = 0;
	uint32_t dice;

	rand_bytes(&dice, sizeof(dice));
	r->sick = true;
	r->verdict = CORE_LATER;
	if (retry_next(&p->retry, (unsigned)a->s.tries + 1, ans->retry_after_ms,
		dice, p->scale, &delay_ms) == RETRY_STOP) {
		r->verdict = CORE_SPENT;
		r->dead_reason = REASON_EXHAUSTED;
		delay_ms = HOLD_US / US_PER_MS;
	}
	r->delay_us = delay_ms * US_PER_MS;
	if (r->verdict == CORE_LATER &&
	    attempt_too_late(a, deliver_now(a->d) + r->delay_us)) {
		r->verdict = CORE_DEAD;
		r->dead_reason = REASON_DEADLINE;
	}
	if (ans->retry_after_ms > 0 && p->retry.heed) {
		int64_t ms = ans->retry_after_ms;

		if (ms > p->retry.most_ms)
			ms = p->retry.most_ms;
		r->endpoint_wait_us = retry_scaled(ms, p->scale) * US_PER_MS;
	}
}

static void
judged(
    struct attempt *a, struct judgement j, const struct client_answer *answer)
{
	struct client_answer clean = *answer;
	const struct client_answer *ans = &clean;
	struct core_result r = {
	    .took_us = ans->took_us,
	    .status = ans->result == CLIENT_ANSWERED ? ans->status : 0,
	    .reason = (int)j.reason,
	    .unasked = !a->called,
	};
	/* What is held leaves no attempt that could have it. */
	bool kept = j.verdict != VERDICT_OK || a->s.seq % SAMPLE == 0 ||
		    sub_managed_by(a->conf->conf).keep_answers;
	const char *error = "";

	if (kept) {
		struct str password = a->conf->conf->auth.password;

		clean.head =
		    told_hidden(a->arena, &a->req, password, clean.head);
		clean.body =
		    told_hidden(a->arena, &a->req, password, clean.body);
	}
	if (j.verdict != VERDICT_OK)
		error = told_error(a->arena, ans);

	switch (j.verdict) {
	case VERDICT_OK:
		r.verdict = CORE_OK;
		break;
	case VERDICT_RETRY:
		schedule(a, ans, &r);
		break;
	case VERDICT_HOLD:
		r.verdict = CORE_HOLD;
		r.delay_us =
		    a->conf->policy.retry.delays_ms[0] > 0
			? retry_scaled(a->conf->policy.retry.delays_ms[0],
			      a->conf->policy.scale) *
			      US_PER_MS
			: HOLD_US;
		break;
	case VERDICT_GONE:
		r.verdict = CORE_DEAD;
		if (!a->test)
			control_gone(a->d, a->s.sub, !attempt_ours(a));
		break;
	case VERDICT_DEAD:
		r.verdict = CORE_DEAD;
		break;
	}
	if (kept && r.verdict != CORE_HOLD)
		r.detail = told_detail(a->arena, &a->req, ans, error);
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
answered(struct client_send *send, const struct client_answer *ans)
{
	struct attempt *a = LINK_OF(send, struct attempt, send);
	const struct preset *p = a->conf->conf->preset;
	struct outcome o;
	struct judgement j;

	a->sending = false;
	if (ans->result == CLIENT_CANCELLED) {
		attempt_end_early(a, CORE_HOLD, REASON_NETWORK, HOLD_US,
		    "the server is stopping");
		return;
	}
	told_outcome(ans, &o);
	if (o.net != NET_ANSWER || o.status != 200) {
		struct outcome told = o;

		told.body = told_hidden(
		    a->arena, &a->req, a->conf->conf->auth.password, o.body);
		told_hub_error(a->arena, a->conf->conf, &a->ev, &a->at, &told);
	}
	j = verdict_of(a->arena, p->verdicts, p->n_verdicts, &o);
	if (o.status == 401 && a->at.access_token.n > 0) {
		struct oauth_conf oc;

		token_conf(a, &oc);
		oauth_refused(a->d->oauth, &oc, a->at.access_token);
		/* The next try has another token. */
		if (j.verdict == VERDICT_DEAD)
			j.verdict = VERDICT_RETRY;
	}
	judged(a, j, ans);
}

static void
start_send(struct attempt *a, enum method method,
    void (*done)(struct client_send *, const struct client_answer *))
{
	/* Its letter or token took a while: are the groups still ours? */
	if (!a->test && !owner_may_send(a->d, deliver_now(a->d))) {
		attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "it is not sure that this node delivers");
		return;
	}
	if (!conf_send(a->d, a->arena, a->conf, &a->req, &a->send)) {
		attempt_end_early(a, CORE_NEVER, REASON_RENDER, 0,
		    "no memory for its headers");
		return;
	}
	a->send.method = method;
	/* What is locked must not be called twice in one attempt. */
	a->send.fresh = method == POST && a->conf->policy.lock_ms > 0;
	a->send.total_ms = total_ms(a);
	a->send.done = done;
	a->sending = true;
	client_start(a->d->client, &a->send);
}

static void
make_failed(struct attempt *a, int rc, enum reason reason, const struct err *e)
{
	if (rc == ERR_NOMEM)
		attempt_end_early(a, CORE_NEVER, REASON_TOO_LARGE, 0, e->text);
	else
		attempt_end_early(a, CORE_NEVER, reason, 0, e->text);
}

static void
call(struct attempt *a)
{
	enum reason reason = REASON_RENDER;
	struct err e = {0};
	int rc = request_make(
	    a->arena, a->conf->conf, &a->ev, &a->at, &a->req, &reason, &e);

	if (rc < 0) {
		make_failed(a, rc, reason, &e);
		return;
	}
	if (a->req.log_call.n > 0) {
		struct log_line l;

		log_begin(&l, LOG_INFO, "call");
		log_str(&l, "mt", a->req.log_call);
		log_end(&l);
	}
	a->called = true;
	start_send(a, POST, answered);
}

static void
preflown(struct client_send *send, const struct client_answer *ans)
{
	struct attempt *a = LINK_OF(send, struct attempt, send);
	struct outcome o;
	struct judgement j;

	a->sending = false;
	if (ans->result == CLIENT_CANCELLED) {
		attempt_end_early(a, CORE_HOLD, REASON_NETWORK, HOLD_US,
		    "the server is stopping");
		return;
	}
	told_outcome(ans, &o);
	j = preflight_judge(a->arena, a->conf->conf, &o);
	if (j.verdict == VERDICT_OK)
		call(a);
	else
		judged(a, j, ans);
}

static void
preflight(struct attempt *a)
{
	enum reason reason = REASON_RENDER;
	struct err e = {0};
	int rc = preflight_make(
	    a->arena, a->conf->conf, &a->ev, &a->at, &a->req, &reason, &e);

	if (rc < 0)
		make_failed(a, rc, reason, &e);
	else if (rc > 0)
		start_send(a, GET, preflown);
	else
		call(a);
}

/* Tokens ---------------------------------------------------------------------- */

static void
token_conf(const struct attempt *a, struct oauth_conf *ret)
{
	const struct sub_auth *auth = &a->conf->conf->auth;

	*ret = (struct oauth_conf){
	    .token_url = auth->token_url,
	    .client_id = auth->client_id,
	    .client_secret = auth->client_secret,
	    .scope = auth->scope,
	    .connect_ms = (int)a->conf->policy.connect_ms,
	    .total_ms = total_ms(a),
	    .proxy = a->d->o.conf->webhook_proxy[0]
			 ? a->d->o.conf->webhook_proxy
			 : NULL,
	};
}

static void
tokened(struct oauth_ask *q, struct str token, const struct err *e)
{
	struct attempt *a = LINK_OF(q, struct attempt, token);
	static const struct client_answer NONE = {
	    .result = CLIENT_CONNECT, .retry_after_ms = -1, .error = ""};

	a->asking = false;
	if (token.n == 0) {
		struct client_answer ans = NONE;

		ans.error = e->text;
		judged(a,
		    (struct judgement){
			e->code == ERR_AWAY ? VERDICT_RETRY : VERDICT_DEAD,
			REASON_AUTH},
		    &ans);
		return;
	}
	a->at.access_token = arena_dup(a->arena, token);
	preflight(a);
}

void
attempt_call(struct attempt *a)
{
	struct oauth_conf oc;

	if (a->conf->conf->auth.type != AUTH_OAUTH2) {
		preflight(a);
		return;
	}
	token_conf(a, &oc);
	a->token.done = tokened;
	a->asking = true;
	oauth_get(a->d->oauth, &oc, clock_mono_ms(), &a->token);
}
