#include "deliver/engine/attempt.h"

#include "audit/audit.h"
#include "audit/limits.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "deliver/engine/control.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/detail.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/stale.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "event/cloud/trace.h"
#include "event/envelope.h"
#include "http/url.h"
#include "match/jq/jq.h"
#include "sink/sink_driver.h"

#define SHUT_MS 60000 /* a key comes with a restart, if at all */

static const struct sink_driver *
driver(const struct attempt *a)
{
	return SINK_DRIVERS[a->sink];
}

static void *
self(const struct attempt *a)
{
	return a->d->sinks[a->sink].self;
}

/* Life ---------------------------------------------------------------------- */

static struct attempt *
attempt_new(struct deliver *d, uint32_t sub)
{
	const struct wish *w = deliver_wish(d, sub);
	struct attempt *a = mem_get(sizeof(*a));

	a->d = d;
	a->sink = w ? w->sink : (enum sink_kind)0;
	a->arena = arena_new(ATTEMPT_MEM);
	list_add(&d->attempts, &a->in_list);
	return a;
}

static void
attempt_free(struct attempt *a)
{
	list_remove(&a->d->attempts, &a->in_list);
	if (a->admitted)
		driver(a)->ended(self(a), a);
	confs_put(&a->d->confs, a->conf);
	letter_unref(a->letter);
	wish_unref(a->found.wish);
	arena_free(a->arena);
	free(a);
}

/* The end ------------------------------------------------------------------- */

/* One line for each. */
static void
log_attempt(
    const struct attempt *a, const struct core_result *r, const char *error)
{
	static const char *const WORDS[] = {
	    [CORE_OK] = "delivered",
	    [CORE_LATER] = "will be tried again",
	    [CORE_DEAD] = "given up",
	    [CORE_SPENT] = "given up, no try is left",
	    [CORE_HOLD] = "held",
	    [CORE_NEVER] = "given up before it was tried",
	    [CORE_DROP] = "dropped",
	};
	const struct sub_conf *c = a->conf ? a->conf->conf : NULL;
	struct str key_name = c ? sub_managed_by(c).key_name : STR_EMPTY;
	enum log_level level = r->verdict == CORE_OK || r->verdict == CORE_DROP
				   ? LOG_INFO
				   : LOG_WARN;
	UNINIT struct log_line l;
	char id[UUID_LEN + 1];

	if (driver(a)->quiet || !log_on(level))
		return;
	log_begin(&l, level, "attempt");
	uuid_format(a->at.delivery_id, id);
	log_str(&l, "deliveryId", (struct str){id, UUID_LEN});
	uuid_format(a->ev.event_id, id);
	log_str(&l, "eventId", (struct str){id, UUID_LEN});
	if (a->letter)
		log_uuid(&l, "correlationId", letter_correlation(a->letter));
	log_str(&l, "event", a->ev.type);
	if (key_name.n > 0 && a->ev.key.n > 0)
		log_str(&l, key_name.p, a->ev.key);
	url_log(&l, "targetUrl", c ? c->url : STR_EMPTY);
	log_str(&l, "status", str_of(WORDS[r->verdict]));
	log_int(&l, "httpStatus", r->status);
	log_int(&l, "responseTime", r->took_us / US_PER_MS);
	if (r->reason)
		log_str(
		    &l, "reason", str_of(reason_name((enum reason)r->reason)));
	if (error[0])
		log_str(&l, "error", str_of(error));
	log_end(&l);
}

bool
attempt_ours(const struct attempt *a)
{
	return a->letter && letter_ours(a->letter);
}

/* What of it the audit tells, by its preset; false: nothing, or nothing more
 * than its dead letter does (dead_detail()). */
static bool
audited(const struct attempt *a, enum core_verdict v, enum audit_category *ret)
{
	enum preset_audit how =
	    a->conf ? a->conf->conf->preset->audit : PRESET_AUDIT_OFF;

	if (how == PRESET_AUDIT_OFF || driver(a)->quiet || !a->letter ||
	    attempt_ours(a) || v == CORE_HOLD || v == CORE_DROP)
		return false;
	*ret = AUDIT_WEBHOOK_DELIVERY_FAILURE;
	if (v == CORE_LATER)
		*ret = AUDIT_WEBHOOK_DELIVERY_RETRY;
	if (v == CORE_OK)
		*ret = AUDIT_WEBHOOK_DELIVERY_SUCCESS;
	return v != CORE_OK || how == PRESET_AUDIT_ALL;
}

static struct str
uuid_text(struct arena *a, struct uuid u)
{
	char text[UUID_LEN + 1];

	uuid_format(u, text);
	return arena_dup(a, (struct str){text, UUID_LEN});
}

static void
audit_attempt(
    const struct attempt *a, const struct core_result *r, const char *error)
{
	enum audit_category c;
	struct audit_row *row;
	struct arena *mem;
	struct str *names;
	struct buf b CLEANUP(buf_done) = BUF(AUDIT_DETAILS_MAX);

	if (!audited(a, r->verdict, &c))
		return;
	row = flush_audited(&a->d->flush, &mem);
	*row = (struct audit_row){
	    .category = c,
	    .at_us = clock_now_us(),
	    .target_type = STR("event"),
	    .object_id = arena_dup(mem, a->ev.key),
	    .webhook_id = uuid_text(mem, a->at.subscription_id),
	    .url = arena_dup(mem, a->conf ? a->conf->conf->url : STR_EMPTY),
	    .event_type = arena_dup(mem, a->ev.type),
	    .delivery_id = uuid_text(mem, a->at.delivery_id),
	    .has_result = true,
	    .success = r->verdict == CORE_OK,
	    .status = r->status,
	    .attempts = a->s.row.n + (r->verdict == CORE_NEVER ? 0 : 1),
	    .ms = r->took_us / US_PER_MS,
	    .error = arena_dup(mem, str_of(error)),
	};
	put_open(&b, NULL, '{');
	put_text(&b, "changeType", a->ev.type);
	put_uuid(&b, "eventId", a->ev.event_id);
	envelope_put_tenant(&b, "tenantId", a->ev.body, a->ev.tenant);
	put_uuid(&b, "correlationId", letter_correlation(a->letter));
	put_close(&b, '}');
	row->trigger = arena_dup(mem, buf_str(&b));
	if (!a->sent)
		return;
	row->payload_bytes = (int64_t)a->sent->body.n;
	names = arena_array(mem, a->sent->n, sizeof(*names));
	for (size_t i = 0; i < a->sent->n; i++)
		names[i] = arena_dup(mem, a->sent->headers[i].name);
	row->header_names = names;
	row->n_header_names = a->sent->n;
}

static void
end_test(struct attempt *a, const struct core_result *r, const char *error)
{
	struct ask_test *q = a->test;

	q->test.success = r->verdict == CORE_OK;
	q->test.status = r->status;
	q->test.took_us = r->took_us;
	(void)snprintf(q->test.error, sizeof(q->test.error), "%s", error);
	q->ask.err.code = OK;
	free(r->detail);
	a->d->asks.tests--;
	attempt_free(a);
	q->ask.done(&q->ask);
}

/* Of one that ended before its subscription was opened the flush tells. */
static struct flush_detail *
dead_detail(const struct attempt *a, const char *error)
{
	const struct wish *w = deliver_wish(a->d, a->s.row.sub);
	struct flush_detail *why = detail_dead(error, attempt_ours(a));

	why->audit = !a->conf && w && w->audited && !why->own;
	return why;
}

void
attempt_end(struct attempt *a, struct core_result *r, const char *error)
{
	struct deliver *d = a->d;
	bool ok = r->verdict == CORE_OK;

	r->at = a->began_us;
	log_attempt(a, r, error);
	if (a->test) {
		end_test(a, r, error);
		return;
	}
	if (!a->void_)
		audit_attempt(a, r, error);
	if (a->void_) {
		free(r->detail);
	} else {
		if (r->verdict == CORE_NEVER)
			r->detail = dead_detail(a, error);
		else if (attempt_ours(a))
			detail_own(r);
		if (ok)
			stale_handed(
			    d->stale, a->s.row.sub, &a->rec, a->letter->rv, r);
		if (r->verdict != CORE_HOLD && r->verdict != CORE_NEVER &&
		    r->verdict != CORE_DROP) {
			metric_add(ok ? M_ATTEMPTS_OK : M_ATTEMPTS_FAILED, 1);
			metric_observe(M_ATTEMPT_SECONDS, r->took_us);
		}
		core_result(d->core, a->s.item, r, deliver_now(d));
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

void
attempt_handed(struct attempt *a)
{
	core_handed(a->d->core, a->s.item, attempt_ours(a));
	attempt_free(a);
}

/* Again -------------------------------------------------------------------- */

static bool
too_late(const struct attempt *a, int64_t at_us)
{
	int64_t s = a->conf->conf->deadline_s;

	return s > 0 && at_us > a->letter->received_us + s * US_PER_S;
}

void
attempt_schedule(const struct sub_policy *p, int tries, int64_t retry_after_ms,
    struct core_result *r)
{
	int64_t delay_ms = 0;
	uint32_t dice;

	rand_bytes(&dice, sizeof(dice));
	r->verdict = CORE_LATER;
	if (retry_next(&p->retry, (unsigned)tries + 1, retry_after_ms, dice,
		p->scale, &delay_ms) == RETRY_STOP) {
		r->verdict = CORE_SPENT;
		r->dead_reason = REASON_EXHAUSTED;
		delay_ms = HOLD_US / US_PER_MS;
	}
	r->delay_us = delay_ms * US_PER_MS;
}

void
attempt_retry(
    const struct attempt *a, int64_t retry_after_ms, struct core_result *r)
{
	const struct sub_policy *p = &a->conf->policy;

	attempt_schedule(p, a->s.row.tries, retry_after_ms, r);
	r->sick = true;
	if (r->verdict == CORE_LATER &&
	    too_late(a, deliver_now(a->d) + r->delay_us)) {
		r->verdict = CORE_DEAD;
		r->dead_reason = REASON_DEADLINE;
	}
	if (retry_after_ms > 0 && p->retry.heed) {
		int64_t ms = retry_after_ms;

		if (ms > p->retry.most_ms)
			ms = p->retry.most_ms;
		r->endpoint_wait_us = retry_scaled(ms, p->scale) * US_PER_MS;
	}
}

void
attempt_gone(const struct attempt *a)
{
	const struct wish *w = deliver_wish(a->d, a->s.row.sub);

	if (w && !a->test)
		control_gone(
		    a->d->o.append, w, !attempt_ours(a), deliver_now(a->d));
}

/* The beginning ----------------------------------------------------------------- */

static void
fill_attempt(struct attempt *a)
{
	const struct wish *w = deliver_wish(a->d, a->s.row.sub);
	struct str trace;

	a->ev = letter_event(a->letter);
	a->at = (struct request_attempt){
	    .delivery_id = a->test
			       ? uuid_v4() /* a receiver may know the last */
			       : delivery_id_make(&a->d->o.id_key, a->s.row.seq,
				     a->s.row.sub, (uint16_t)a->s.row.rep),
	    .original_id = delivery_id_make(
		&a->d->o.id_key, a->s.row.seq, a->s.row.sub, 0),
	    .repeats = a->s.row.rep > 0,
	    .number = (unsigned)a->s.row.n + 1,
	    .now_us = clock_now_us(),
	    .made = a->test && a->test->made,
	};
	if (w)
		a->at.subscription_id = w->uid;
	if (a->test)
		a->ev.rendered = a->test->rendered;
	if (a->test && a->test->conf.n > 0)
		a->at.subscription_id = a->test->uid;
	if (trace_of(a->ev.body, &trace)) {
		char *next = arena_alloc(a->arena, TRACE_LEN + 1);

		trace_next(trace, next);
		a->at.trace = (struct str){next, TRACE_LEN};
	}
}

static struct kept_conf *
conf_of(struct attempt *a, struct err *e)
{
	struct confs *c = &a->d->confs;

	return a->test && a->test->conf.n > 0
		   ? confs_open(c, a->test->conf, a->test->uid, e)
		   : confs_get(c, a->s.row.sub, e);
}

/* False: it is stale, or the store has to be asked first. */
static bool
is_fresh(struct attempt *a)
{
	struct deliver *d = a->d;
	const struct wish *w = deliver_wish(d, a->s.row.sub);

	if (a->test || !w || !w->core.alone)
		return true;
	a->rec = letter_record(a->letter, d->scratch);
	switch (stale_look(d->stale, &a->s, &a->rec, a->letter->rv)) {
	case STALE_DROP:
		attempt_end_early(
		    a, CORE_DROP, REASON_STALE, 0, reason_text(REASON_STALE));
		return false;
	case STALE_ASK:
		if (!fetch_version(a))
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
render_failed(struct attempt *a, const struct err *e)
{
	struct deliver *d = a->d;
	enum reason r = e->code == ERR_LIMIT ? REASON_TEMPLATE_OVERRAN
					     : REASON_TEMPLATE_FAILED;
	struct wish *w = a->test ? NULL : deliver_wish(d, a->s.row.sub);

	if (e->code == ERR_AWAY) {
		attempt_end_early(
		    a, CORE_HOLD, REASON_RENDER, HOLD_US, e->text);
		return;
	}
	if (w)
		(void)wish_strike(w, r, a->began_us);
	attempt_end_early(a, CORE_NEVER, r, 0, e->text);
	if (w)
		hold_apply(&d->holds, d->core, w, deliver_now(d));
}

static void
begin_attempt(struct attempt *a)
{
	struct deliver *d = a->d;
	struct err e = {0};

	a->began_us = deliver_now(d);
	fill_attempt(a);
	if (a->letter->failed) {
		enum reason r = (enum reason)a->letter->failed;

		attempt_end_early(a, CORE_NEVER, r, 0,
		    a->letter->why ? a->letter->why : reason_text(r));
		return;
	}
	if (!is_fresh(a))
		return;
	a->conf = conf_of(a, &e);
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
	if (a->s.row.crashes > CRASHES_MAX) {
		attempt_end_early(a, CORE_NEVER, REASON_WORKER_CRASH, 0,
		    "the server ended each time it sent this");
		return;
	}
	if (!a->test && too_late(a, a->began_us)) {
		attempt_end_early(a, CORE_NEVER, REASON_DEADLINE, 0,
		    "its deadline has passed");
		return;
	}
	if (a->conf->template >= 0 && !a->ev.rendered.p &&
	    jq_render(d->confs.jq, a->conf->template, a->ev.body, a->arena,
		&a->ev.rendered, &e) < 0) {
		render_failed(a, &e);
		return;
	}
	driver(a)->call(self(a), a);
}

/* Its letter is in memory, with what its filter says of it now. */
static bool
knows(const struct deliver *d, const struct core_send *s)
{
	const struct letter *l = s->ev;
	const struct wish *w = deliver_wish(d, s->row.sub);

	if (!l || !s->row.unjudged)
		return l != NULL;
	return l->failed && w && l->judged_by == w->version;
}

void
attempt_start(struct deliver *d, const struct core_send *s, int64_t now)
{
	struct attempt *a = attempt_new(d, s->row.sub);

	a->s = *s;
	a->began_us = now;
	if (driver(a)->admit) {
		a->admitted = driver(a)->admit(self(a), a);
		if (!a->admitted) {
			attempt_end_early(a, CORE_HOLD, REASON_NONE, 0,
			    "its receiver takes no more now");
			return;
		}
	}
	if (knows(d, s)) {
		a->letter = letter_ref(s->ev);
		begin_attempt(a);
	} else if (!fetch_letter(a, deliver_wish(d, s->row.sub))) {
		attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "too much is read from the log");
	}
}

/* It has waited: a lease may be over, or its subscription. */
static void
find_again(struct attempt *a)
{
	struct core_send s;

	if (!driver(a)->leases || a->void_)
		return;
	if (core_lease(a->d->core, a->s.row.sub, a->s.row.seq, a->s.row.rep,
		a->s.row.n, &s) == CORE_LEASE_MINE)
		a->s = s;
	else
		a->void_ = true;
}

void
attempt_letter(struct attempt *a)
{
	struct deliver *d = a->d;
	struct wish *asked;

	find_again(a);
	a->began_us = deliver_now(d);
	if (a->found.failed || a->void_) {
		attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "the log can't be read now");
	} else if (a->found.left_out) {
		fill_attempt(a);
		attempt_end_early(a, CORE_DROP, REASON_FILTERED, 0,
		    reason_text(REASON_FILTERED));
	} else if (!a->letter) {
		attempt_end_early(a, CORE_NEVER, REASON_EXPIRED, 0,
		    reason_text(REASON_EXPIRED));
	} else {
		if (a->s.row.unjudged && !a->letter->failed && !a->letter->shut)
			core_judged(a->s.item);
		asked = a->found.wish ? wish_ref(a->found.wish) : NULL;
		begin_attempt(a);
		if (asked)
			hold_apply(&d->holds, d->core, asked, deliver_now(d));
		wish_unref(asked);
	}
}

void
attempt_version(struct attempt *a)
{
	find_again(a);
	if (a->found.failed || a->void_) {
		attempt_end_early(a, CORE_HOLD, REASON_NONE, HOLD_US,
		    "the version of its record can't be read now");
		return;
	}
	stale_learn(a->d->stale, a->s.row.sub, &a->rec, a->found.rv);
	begin_attempt(a);
}

/* The same way as any delivery, for an event that is in no log. */
void
attempt_test(struct deliver *d, struct ask_test *q, struct letter *l)
{
	struct attempt *a = attempt_new(d, q->ask.sub);

	a->s = (struct core_send){.row.sub = q->ask.sub, .row.seq = 0};
	a->test = q;
	a->letter = l;
	begin_attempt(a);
}

static void
attempt_cancel(struct attempt *a)
{
	if (driver(a)->cancel && a->own)
		driver(a)->cancel(self(a), a);
}

void
attempt_cancel_all(struct deliver *d, bool lost)
{
	list_each (struct attempt, a, &d->attempts, in_list) {
		a->void_ = a->void_ || (lost && !a->test);
		attempt_cancel(a);
	}
}

void
attempt_cancel_tests(struct deliver *d)
{
	list_each (struct attempt, a, &d->attempts, in_list)
		if (a->test)
			attempt_cancel(a);
}
