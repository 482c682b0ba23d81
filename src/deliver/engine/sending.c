#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/str.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/sending_priv.h"
#include "deliver/engine/stale.h"
#include "deliver/engine/told.h"
#include "deliver/engine/wish.h"
#include "match/jq/jq.h"

/*
 * One attempt:
 *
 *   sending_start ─▶ letter ─▶ conf ─▶ render ─▶ token ─▶ preflight ─▶ call
 *                      │         │        │        │          │         │
 *                      └─────────┴────────┴────────┴──────────┴─────────┴▶ end
 *
 * Each step may be the last: attempt_end() tells the core, once. An attempt lives from
 * sending_start() to attempt_end(), and its arena with it.
 */

#define SHUT_MS 60000 /* a key comes with a restart, if at all */

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
	struct str key_name = c ? sub_managed_by(c).key_name : STR_EMPTY;

	told_log(&(struct told_line){
	    .delivery_id = a->at.delivery_id,
	    .event_id = a->ev.event_id,
	    .type = a->ev.type,
	    .key_name = key_name,
	    .key = a->ev.key,
	    .url = c ? c->url : STR_EMPTY,
	    .result = r,
	    .error = error,
	});
}

bool
attempt_ours(const struct attempt *a)
{
	return str_starts(a->ev.type, STR("ops."));
}

void
attempt_end(struct attempt *a, struct core_result *r, const char *error)
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
		if (r->verdict == CORE_NEVER)
			r->detail = told_dead(error, attempt_ours(a));
		else if (attempt_ours(a))
			told_own(r);
		if (ok)
			stale_handed(
			    d->stale, a->s.sub, &a->rec, a->letter->rv, r);
		if (r->verdict != CORE_HOLD && r->verdict != CORE_NEVER &&
		    r->verdict != CORE_DROP) {
			metric_add(ok ? M_ATTEMPTS_OK : M_ATTEMPTS_FAILED, 1);
			metric_observe(M_ATTEMPT_SECONDS, r->took_us);
		}
		core_result(d->core, a->s.item, r, now);
	}
	attempt_free(a);
}

void
attempt_end_early(struct attempt *a, enum core_verdict v, enum reason reason,
    int64_t delay_us, const char *error)
{
	struct core_result r = {
	    .verdict = v, .reason = (int)reason, .delay_us = delay_us};

	attempt_end(a, &r, error);
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
	    .original_id =
		delivery_id_make(&a->d->o.id_key, a->s.seq, a->s.sub, 0),
	    .repeats = a->s.rep > 0,
	    .number = (unsigned)a->s.n + 1,
	    .now_us = clock_now_us(),
	};
	if (w)
		a->at.subscription_id = w->uid;
}

/* False: it is stale, or the store has to be asked first. */
static bool
fresh(struct attempt *a)
{
	struct deliver *d = a->d;
	const struct wish *w = deliver_wish(d, a->s.sub);

	if (a->test || !w || !w->core.alone)
		return true;
	a->rec = letter_record(a->letter, d->scratch);
	switch (stale_look(d->stale, &a->s, &a->rec, a->letter->rv)) {
	case STALE_DROP:
		attempt_end_early(
		    a, CORE_DROP, REASON_STALE, 0, reason_text(REASON_STALE));
		return false;
	case STALE_ASK:
		if (!fetch_version(d, a, a->s.sub, &a->rec))
			attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
			    "too much is read from the store");
		return false;
	case STALE_SEND:
		break;
	}
	return true;
}

/* What becomes of it, and of its subscription when that was too often. */
static void
render_failed(struct attempt *a, int rc, const struct err *e)
{
	struct deliver *d = a->d;
	enum reason r = rc == ERR_LIMIT   ? REASON_TEMPLATE_OVERRAN
			: rc == ERR_NOMEM ? REASON_TOO_LARGE
					  : REASON_TEMPLATE_FAILED;
	struct wish *w = a->test ? NULL : deliver_wish(d, a->s.sub);

	if (rc == ERR_AWAY) {
		attempt_end_early(
		    a, CORE_HOLD, REASON_RENDER, HOLD_US, e->text);
		return;
	}
	if (w && r != REASON_TOO_LARGE)
		(void)wish_strike(w, r, a->began_us);
	attempt_end_early(a, CORE_NEVER, r, 0, e->text);
	if (w)
		hold_apply(d, w, deliver_now(d));
}

static void
begin(struct attempt *a)
{
	struct deliver *d = a->d;
	struct err e = {0};
	int rc;

	a->began_us = deliver_now(d);
	fill(a);
	if (a->letter->failed) {
		enum reason r = (enum reason)a->letter->failed;

		attempt_end_early(a, CORE_NEVER, r, 0,
		    a->letter->why ? a->letter->why : reason_text(r));
		return;
	}
	if (!fresh(a))
		return;
	a->conf = conf_get(d, a->s.sub, &e);
	if (!a->conf) {
		log_err(LOG_ERROR, "a subscription can't be opened", &e);
		attempt_end_early(
		    a, CORE_HOLD, REASON_RENDER, 10 * HOLD_US, e.text);
		return;
	}
	if (a->letter->shut) {
		attempt_end_early(a, CORE_HOLD, REASON_SEALED,
		    retry_scaled(SHUT_MS, d->o.conf->time_scale) * US_PER_MS,
		    "the event is sealed, and no key of this server opens it");
		return;
	}
	if (a->s.crashes > CRASHES_MAX) {
		attempt_end_early(a, CORE_NEVER, REASON_WORKER_CRASH, 0,
		    "the server ended each time it sent this");
		return;
	}
	if (!a->test && attempt_too_late(a, a->began_us)) {
		attempt_end_early(a, CORE_NEVER, REASON_DEADLINE, 0,
		    "its deadline has passed");
		return;
	}
	rc = render(a, &e);
	if (rc < 0) {
		render_failed(a, rc, &e);
		return;
	}
	attempt_call(a);
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
	if (hold_knows(d, s)) {
		a->letter = letter_ref(s->ev);
		begin(a);
	} else if (!fetch_letter(d, a, NULL, s, deliver_wish(d, s->sub))) {
		a->began_us = now;
		attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
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
		attempt_end_early(a, CORE_DROP, REASON_FILTERED, 0,
		    reason_text(REASON_FILTERED));
		return;
	}
	if (a->letter && !one->failed && !a->void_) {
		if (a->s.unjudged && !a->letter->failed && !a->letter->shut)
			core_judged(a->s.item);
		begin(a);
		if (one->wish)
			hold_apply(d, one->wish, deliver_now(d));
		return;
	}
	if (one->failed || a->void_)
		attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "the log can't be read now");
	else
		attempt_end_early(a, CORE_NEVER, REASON_EXPIRED, 0,
		    "the log no longer holds the event");
}

void
sending_version(struct deliver *d, struct one_version *one)
{
	struct attempt *a = one->attempt;

	if (one->failed || a->void_) {
		attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "the version of its record can't be read now");
		return;
	}
	stale_learn(d->stale, one->sub, &one->rec, one->rv);
	begin(a);
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
			attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
			    "the server is stopping");
		}
	}
}
