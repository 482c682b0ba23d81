#include <assert.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/conf.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/str.h"
#include "deliver/deliver_priv.h"
#include "deliver/letter.h"
#include "deliver/request.h"
#include "deliver/told.h"
#include "deliver/wish.h"
#include "http/oauth.h"
#include "match/jq.h"

/*
 * One attempt:
 *
 *   sending_start ─▶ letter ─▶ conf ─▶ render ─▶ token ─▶ preflight ─▶ call
 *                      │         │        │        │          │         │
 *                      └─────────┴────────┴────────┴──────────┴─────────┴▶ end
 *
 * Each step may be the last: end() tells the core, once. An attempt lives from
 * sending_start() to end(), and its arena with it.
 */

#define HOLD_US (1 * US_PER_S) /* for what is ours to get in order */
#define SHUT_MS 60000          /* a key comes with a restart, if at all */
#define SAMPLE  128            /* one success in so many keeps its heads */

struct attempt {
	struct link in_list;
	struct deliver *d;
	struct core_send s;
	struct deliver_ask *test; /* NULL: a delivery */
	bool void_; /* nobody wants its end: the groups were lost */
	struct arena *arena;
	struct kept_conf *conf;
	struct letter *letter;
	struct request_event ev;
	struct request_attempt at;
	struct request req;
	struct client_send send;
	bool sending; /* the client has it */
	struct oauth_ask token;
	bool asking;
	int64_t began_us;
};

static void call(struct attempt *a);
static void token_conf(const struct attempt *a, struct oauth_conf *ret);

/* Life ---------------------------------------------------------------------- */

static struct attempt *
attempt_new(struct deliver *d)
{
	struct link *k = list_first(&d->spare);
	struct attempt *a;

	if (k) {
		struct arena *arena;

		list_remove(&d->spare, k);
		a = LINK_OF(k, struct attempt, in_list);
		arena = a->arena;
		*a = (struct attempt){.arena = arena};
	} else {
		a = calloc(1, sizeof(*a));
		if (!a)
			return NULL;
		a->arena = arena_new(ATTEMPT_MEM);
		if (!a->arena) {
			free(a);
			return NULL;
		}
	}
	a->d = d;
	list_add(&d->attempts, &a->in_list);
	return a;
}

static void
attempt_free(struct attempt *a)
{
	struct deliver *d = a->d;

	list_remove(&d->attempts, &a->in_list);
	conf_put(d, a->conf);
	letter_unref(a->letter);
	arena_reset(a->arena);
	if (d->spare.n < ATTEMPTS_SPARE) {
		list_add(&d->spare, &a->in_list);
		return;
	}
	arena_free(a->arena);
	free(a);
}

void
sending_done(struct deliver *d)
{
	struct link *k, *next;

	for (k = list_first(&d->spare); k; k = next) {
		struct attempt *a = LINK_OF(k, struct attempt, in_list);

		next = list_next(&d->spare, k);
		arena_free(a->arena);
		free(a);
	}
	list_init(&d->spare);
}

/* The end ------------------------------------------------------------------- */

static void
tell(const struct attempt *a, const struct core_result *r, const char *error)
{
	const struct sub_conf *c = a->conf ? a->conf->conf : NULL;

	told_log(&(struct told_line){
	    .delivery_id = a->at.delivery_id,
	    .event_id = a->ev.event_id,
	    .type = a->ev.type,
	    .task =
		c && str_eq(c->managed.by, STR("task")) ? a->ev.key : STR_EMPTY,
	    .url = c ? c->url : STR_EMPTY,
	    .result = r,
	    .error = error,
	});
}
/* Of events of our own nothing more is told: flush.h. */
static bool
ours(const struct attempt *a)
{
	return str_starts(a->ev.type, STR("ops."));
}

static void
mark_own(struct core_result *r)
{
	struct flush_detail *d = r->detail;

	if (!d)
		d = calloc(1, sizeof(*d));
	if (d)
		d->own = true;
	r->detail = d;
}

static void
end(struct attempt *a, struct core_result *r, const char *error)
{
	struct deliver *d = a->d;
	int64_t now = deliver_now(d);
	bool ok = r->verdict == CORE_OK;

	r->at = a->began_us;
	tell(a, r, error);
	if (a->test) {
		struct deliver_ask *q = a->test;

		q->test.success = ok;
		q->test.status = r->status;
		q->test.took_us = r->took_us;
		(void)snprintf(
		    q->test.error, sizeof(q->test.error), "%s", error);
		q->err.code = OK;
		free(r->detail);
		attempt_free(a);
		q->done(q);
		return;
	}
	if (a->void_) {
		free(r->detail);
	} else {
		if (ours(a))
			mark_own(r);
		if (r->verdict != CORE_HOLD && r->verdict != CORE_NEVER) {
			metric_add(ok ? M_ATTEMPTS_OK : M_ATTEMPTS_FAILED, 1);
			metric_observe(M_ATTEMPT_SECONDS, r->took_us);
		}
		core_result(d->core, a->s.item, r, now);
	}
	attempt_free(a);
}

/* Before anything was tried. */
static void
end_early(struct attempt *a, enum core_verdict v, enum reason reason,
    int64_t delay_us, const char *error)
{
	struct core_result r = {
	    .verdict = v, .reason = (int)reason, .delay_us = delay_us};

	end(a, &r, error);
}

/* When the next try would come too late, this was the last. */
static bool
too_late(const struct attempt *a, int64_t at_us)
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
	    too_late(a, deliver_now(a->d) + r->delay_us)) {
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
log_hub_error(struct attempt *a, const struct outcome *o)
{
	struct str text = STR_EMPTY, trace = STR_EMPTY;
	UNINIT struct log_line l;
	size_t n;
	char *mem;
	struct err e;

	if (request_log_error(a->arena, a->conf->conf, &a->ev, &a->at, o, &text,
		&trace, &e) < 0 ||
	    text.n == 0)
		return;
	n = 2 * (text.n + trace.n) + sizeof(l.text); /* escaped once more */
	mem = arena_raw(a->arena, n);
	if (!mem)
		return;
	log_begin_long(&l, LOG_WARN, "error of a call", mem, n);
	log_str(&l, "mt", text);
	if (trace.n > 0)
		log_str(&l, "traceId", trace);
	log_end(&l);
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
	};
	/* What is held leaves no attempt that could have it. */
	bool kept = j.verdict != VERDICT_OK || a->s.seq % SAMPLE == 0 ||
		    str_eq(a->conf->conf->managed.by, STR("task"));
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
			control_gone(a->d, a->s.sub, !ours(a));
		break;
	case VERDICT_DEAD:
		r.verdict = CORE_DEAD;
		break;
	}
	if (kept && r.verdict != CORE_HOLD)
		r.detail = told_detail(a->arena, &a->req, ans, error);
	end(a, &r, error);
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
		end_early(a, CORE_HOLD, REASON_NETWORK, HOLD_US,
		    "the server is stopping");
		return;
	}
	told_outcome(ans, &o);
	if (o.net != NET_ANSWER || o.status != 200) {
		struct outcome told = o;

		told.body = told_hidden(
		    a->arena, &a->req, a->conf->conf->auth.password, o.body);
		log_hub_error(a, &told);
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
		end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "it is not sure that this node delivers");
		return;
	}
	if (!conf_send(a->d, a->arena, a->conf, &a->req, &a->send)) {
		end_early(a, CORE_NEVER, REASON_RENDER, 0,
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
		end_early(a, CORE_NEVER, REASON_TOO_LARGE, 0, e->text);
	else
		end_early(a, CORE_NEVER, reason, 0, e->text);
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
		end_early(a, CORE_HOLD, REASON_NETWORK, HOLD_US,
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

/* The beginning ----------------------------------------------------------------- */

static int
render(struct attempt *a, struct err *e)
{
	if (a->conf->template <0)
		return OK;
	return jq_render(a->d->jq, a->conf->template, a->ev.body, a->arena,
	    &a->ev.rendered, e);
}

static void
fill(struct attempt *a)
{
	const struct wish *w = deliver_wish(a->d, a->s.sub);
	const struct letter *l = a->letter;

	a->ev = (struct request_event){
	    .event_id = l->event_id,
	    .tenant = l->tenant,
	    .type = l->type,
	    .key = l->key,
	    .received_us = l->received_us,
	    .seq = l->seq,
	    .body = l->body,
	};
	a->at = (struct request_attempt){
	    .delivery_id = delivery_id_make(
		&a->d->o.id_key, a->s.seq, a->s.sub, (uint16_t)a->s.rep),
	    .number = (unsigned)a->s.n + 1,
	    .now_us = clock_now_us(),
	};
	if (w)
		a->at.subscription_id = w->uid;
}

static void
begin(struct attempt *a)
{
	struct deliver *d = a->d;
	struct err e = {0};
	int rc;

	a->began_us = deliver_now(d);
	fill(a);
	a->conf = conf_get(d, a->s.sub, &e);
	if (!a->conf) {
		log_err(LOG_ERROR, "a subscription can't be opened", &e);
		end_early(a, CORE_HOLD, REASON_RENDER, 10 * HOLD_US, e.text);
		return;
	}
	if (a->letter->shut) {
		end_early(a, CORE_HOLD, REASON_SEALED,
		    retry_scaled(SHUT_MS, d->o.conf->time_scale) * US_PER_MS,
		    "the event is sealed, and no key of this server opens it");
		return;
	}
	if (a->s.crashes > CRASHES_MAX) {
		end_early(a, CORE_NEVER, REASON_WORKER_CRASH, 0,
		    "the server ended each time it sent this");
		return;
	}
	if (!a->test && too_late(a, a->began_us)) {
		end_early(a, CORE_NEVER, REASON_DEADLINE, 0,
		    "its deadline has passed");
		return;
	}
	rc = render(a, &e);
	if (rc == ERR_AWAY) {
		end_early(a, CORE_HOLD, REASON_RENDER, HOLD_US, e.text);
		return;
	}
	if (rc < 0) {
		end_early(a, CORE_NEVER, REASON_RENDER, 0, e.text);
		return;
	}
	if (a->conf->conf->auth.type == AUTH_OAUTH2) {
		struct oauth_conf oc;

		token_conf(a, &oc);
		a->token.done = tokened;
		a->asking = true;
		oauth_get(d->oauth, &oc, clock_mono_ms(), &a->token);
		return;
	}
	preflight(a);
}

void
sending_start(struct deliver *d, const struct core_send *s, int64_t now)
{
	struct attempt *a = attempt_new(d);

	if (!a) {
		core_result(d->core, s->item,
		    &(struct core_result){
			.verdict = CORE_HOLD, .delay_us = HOLD_US},
		    now);
		return;
	}
	a->s = *s;
	if (s->ev) {
		a->letter = letter_ref(s->ev);
		begin(a);
	} else if (!fetch_letter(d, a, NULL, s,
		       s->n == 0 ? deliver_wish(d, s->sub) : NULL)) {
		a->began_us = now;
		end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "too much is read from the log");
	}
}

void
sending_letter(struct deliver *d, struct one_letter *one)
{
	struct attempt *a = one->attempt;

	a->letter = one->letter;
	one->letter = NULL;
	a->began_us = deliver_now(d);
	if (one->left_out && !one->failed && !a->void_) {
		fill(a);
		end_early(a, CORE_NEVER, REASON_FILTER, 0,
		    "the filter leaves it out, now that it could be opened");
		return;
	}
	if (a->letter && !one->failed && !a->void_) {
		begin(a);
		return;
	}
	if (one->failed || a->void_)
		end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "the log can't be read now");
	else
		end_early(a, CORE_NEVER, REASON_EXPIRED, 0,
		    "the log no longer holds the event");
}

/* The same way as any delivery, for an event that is in no log. */
void
sending_test(struct deliver *d, struct deliver_ask *q, struct letter *l)
{
	struct attempt *a = attempt_new(d);

	if (!a) {
		(void)err_set(&q->err, ERR_NOMEM, "no memory for a test");
		letter_unref(l);
		q->done(q);
		return;
	}
	a->s = (struct core_send){.sub = q->sub, .seq = 0};
	a->test = q;
	a->letter = l;
	begin(a);
}

/* The groups are lost or the server stops: what is under way is cut off. */
void
sending_cancel_all(struct deliver *d, bool lost)
{
	struct link *k, *next;

	for (k = list_first(&d->attempts); k; k = next) {
		struct attempt *a = LINK_OF(k, struct attempt, in_list);

		next = list_next(&d->attempts, k);
		a->void_ = a->void_ || (lost && !a->test);
		if (a->sending) {
			client_cancel(d->client, &a->send);
		} else if (a->asking) {
			oauth_drop(&a->token);
			a->asking = false;
			end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
			    "the server is stopping");
		}
	}
}
