#include "base/arena.h"
#include "base/buf.h"
#include "base/conf/conf.h"
#include "base/log/metric.h"
#include "base/map.h"
#include "base/str.h"
#include "contract/verdict.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/stale.h"
#include "deliver/engine/told.h"
#include "deliver/engine/wish.h"
#include "http/server/limits.h"

/*
 * Workers of pull consumers: those who wait for events, and what they answer.
 *
 * A worker's GET is a waiter. The core may start as many sends as all waiters
 * want; each send goes to the first who has room, and a waiter is answered when
 * what was started for it has come. One that has got something asks for no
 * more: so a batch is what one flush locked, and nobody waits for a full one.
 *
 * A lease is named by its delivery and the attempts before it; no handle of
 * the core's is kept from one call to the next.
 */

#define HOLD_US (1 * US_PER_S)   /* for what is ours to get in order */
#define ASK_US  (20 * US_PER_MS) /* about what a look into the store takes */
#define SHUT_MS 60000            /* a key comes with a restart, if at all */

struct pull {
	uint32_t sub;
	struct list waiters; /* longest wait first */
	int64_t left_us;     /* the last of them went; 0: one is there */
	int allowed;
};

struct waiter {
	struct link in_waiters;
	struct deliver_ask *q;
	size_t pending; /* letters that are being read for it */
	size_t bytes;
	int64_t until_us;
	bool full;
	bool lost; /* it is answered when nothing is pending */
};

#define WAITER_OF(k) LINK_OF(k, struct waiter, in_waiters)

static struct str
key_of(const uint32_t *sub)
{
	return (struct str){(const char *)sub, sizeof(*sub)};
}

int
pull_start(struct deliver *d, struct err *e)
{
	d->pull.due = INT64_MAX;
	d->pull.all = map_new(SIZE_MAX / 2);
	return d->pull.all ? OK : err_set(e, ERR_NOMEM, "no memory for pulls");
}

static struct pull *
pull_get(struct deliver *d, uint32_t sub)
{
	struct pull *p = map_find(d->pull.all, key_of(&sub));
	struct err e;

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->sub = sub;
	list_init(&p->waiters);
	if (map_put(d->pull.all, key_of(&p->sub), p, NULL, &e) < 0) {
		free(p);
		return NULL;
	}
	return p;
}

/* Waiting ------------------------------------------------------------------- */

/* True: more may start than before. */
static bool
demand(struct deliver *d, struct pull *p)
{
	struct core_pulled n = {0};
	size_t room = 0, want = 0;
	int was = p->allowed;

	(void)core_pulled(d->core, p->sub, &n);
	for (struct link *k = list_first(&p->waiters); k;
	     k = list_next(&p->waiters, k)) {
		const struct waiter *x = WAITER_OF(k);
		const struct deliver_fetch *f = &x->q->fetch;

		if (x->full)
			continue;
		if (f->n + x->pending > 0)
			room += f->max - f->n - x->pending;
		else
			want += f->max;
	}
	/* What is on its way goes to those who have got something, first. */
	if (n.starting > room)
		want -= n.starting - room < want ? n.starting - room : want;
	p->allowed =
	    want < CONSUMER_FLIGHT_MAX ? (int)want : CONSUMER_FLIGHT_MAX;
	core_allow(d->core, p->sub, p->allowed);
	return p->allowed > was;
}

/* What it has got is its, whatever happened since. */
static void
answer(struct pull *p, struct waiter *x, const struct err *e)
{
	struct deliver_ask *q = x->q;

	if (p)
		list_remove(&p->waiters, &x->in_waiters);
	free(x);
	if (e && e->code < 0 && q->fetch.n == 0)
		q->err = *e;
	else
		q->err.code = OK;
	q->done(q);
}

void
pull_fetch(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	const struct wish *w = deliver_wish(d, q->sub);
	bool there = w && w->core.pull;
	struct pull *p = there ? pull_get(d, q->sub) : NULL;
	struct waiter *x = p ? calloc(1, sizeof(*x)) : NULL;
	int64_t wait_us = q->fetch.wait_us;

	q->fetch.n = 0;
	if (!p || !x) {
		if (there)
			(void)err_set(&q->err, ERR_NOMEM, "no memory to wait");
		else
			(void)err_set(
			    &q->err, ERR_ABSENT, "there is no such consumer");
		q->done(q);
		return;
	}
	x->q = q;
	x->until_us = now + (wait_us > 0 ? wait_us : CONSUMER_SOON_US);
	list_add(&p->waiters, &x->in_waiters);
	p->left_us = 0;
	(void)demand(d, p);
}

/* Sending -------------------------------------------------------------------- */

static void
give_back(struct deliver *d, struct item *it, enum core_verdict v,
    enum reason reason, int64_t delay_us, int64_t now)
{
	core_result(d->core, it,
	    &(struct core_result){
		.verdict = v, .reason = (int)reason, .delay_us = delay_us},
	    now);
}

/* Nobody will get it. */
static void
give_up(struct deliver *d, const struct core_send *s, const struct letter *l,
    enum reason reason, int64_t now)
{
	const char *why = l && l->why ? l->why : reason_text(reason);

	core_result(d->core, s->item,
	    &(struct core_result){
		.verdict = CORE_NEVER,
		.reason = (int)reason,
		.detail = told_dead(why, l && str_starts(l->type, STR("ops."))),
	    },
	    now);
}

static bool
too_late(struct deliver *d, const struct core_send *s, const struct letter *l,
    int64_t now)
{
	struct err e;
	struct kept_conf *k = conf_get(d, s->sub, &e);
	int64_t deadline_s = k ? k->conf->deadline_s : 0;

	conf_put(d, k);
	return deadline_s > 0 && now > l->received_us + deadline_s * US_PER_S;
}

/*
 * False: it is stale, or the store has to be asked first. The answer of the
 * store is in memory when its turn comes again.
 */
static bool
fresh(
    struct deliver *d, const struct core_send *s, struct letter *l, int64_t now)
{
	const struct wish *w = deliver_wish(d, s->sub);
	struct core_rec rec;

	if (!w || !w->core.alone)
		return true;
	rec = letter_record(l, d->scratch);
	switch (stale_look(d->stale, s, &rec, l->rv)) {
	case STALE_DROP:
		give_back(d, s->item, CORE_DROP, REASON_STALE, 0, now);
		return false;
	case STALE_ASK:
		give_back(d, s->item, CORE_HOLD, REASON_NONE,
		    fetch_version(d, NULL, s->sub, &rec) ? ASK_US : HOLD_US,
		    now);
		return false;
	case STALE_SEND:
		break;
	}
	return true;
}

/* It is there: to the worker with it, when there is room. */
static void
hand_over(struct deliver *d, struct waiter *x, const struct core_send *s,
    struct letter *l, int64_t now)
{
	struct deliver_fetch *f = &x->q->fetch;

	if (l->failed) {
		give_up(d, s, l, (enum reason)l->failed, now);
		return;
	}
	if (l->shut) {
		give_back(d, s->item, CORE_HOLD, REASON_SEALED,
		    retry_scaled(SHUT_MS, d->o.conf->time_scale) * US_PER_MS,
		    now);
		return;
	}
	if (too_late(d, s, l, now)) {
		give_up(d, s, l, REASON_DEADLINE, now);
		return;
	}
	if (!fresh(d, s, l, now))
		return;
	if (f->n > 0 && x->bytes + l->body.n > PAGE_BYTES)
		x->full = true;
	if (x->full || f->n >= f->max) {
		give_back(d, s->item, CORE_HOLD, REASON_NONE, 0, now);
		return;
	}
	x->bytes += l->body.n;
	f->v[f->n++] = (struct deliver_got){
	    .letter = letter_ref(l),
	    .seq = s->seq,
	    .rep = s->rep,
	    .n = s->n,
	    .until_us = s->until,
	};
	core_handed(d->core, s->item, str_starts(l->type, STR("ops.")));
}

void
pull_send(struct deliver *d, const struct core_send *s, int64_t now)
{
	struct pull *p = map_find(d->pull.all, key_of(&s->sub));
	struct waiter *to = NULL;

	for (struct link *k = p ? list_first(&p->waiters) : NULL; k && !to;
	     k = list_next(&p->waiters, k)) {
		struct waiter *x = WAITER_OF(k);

		if (!x->full && x->q->fetch.n + x->pending < x->q->fetch.max)
			to = x;
	}
	if (!to) {
		give_back(d, s->item, CORE_HOLD, REASON_NONE, 0, now);
		return;
	}
	if (hold_knows(d, s)) {
		hand_over(d, to, s, s->ev, now);
		return;
	}
	if (fetch_letter(d, NULL, to, s, deliver_wish(d, s->sub))) {
		to->pending++;
		d->pull.letters++;
		return;
	}
	give_back(d, s->item, CORE_HOLD, REASON_NONE, HOLD_US, now);
}

void
pull_letter(struct deliver *d, struct one_letter *one, int64_t now)
{
	struct waiter *x = one->waiter;
	struct core_send s;

	d->pull.letters--;
	x->pending--;
	if (x->lost) {
		struct err e = x->q->err;

		if (x->pending == 0)
			answer(NULL, x, &e);
		return;
	}
	if (d->owner != OWNER_YES ||
	    core_lease(d->core, one->sub, one->seq, one->rep, one->n, &s) !=
		CORE_LEASE_MINE)
		return; /* its subscription has ended */
	if (one->failed) {
		give_back(d, s.item, CORE_HOLD, REASON_NONE, HOLD_US, now);
	} else if (one->left_out) {
		give_back(d, s.item, CORE_DROP, REASON_FILTERED, 0, now);
	} else if (!one->letter) {
		give_up(d, &s, NULL, REASON_EXPIRED, now);
	} else {
		if (s.unjudged && !one->letter->failed && !one->letter->shut)
			core_judged(d->core, s.item);
		hand_over(d, x, &s, one->letter, now);
	}
	if (one->wish)
		hold_apply(d, one->wish, now);
}

void
pull_version(struct deliver *d, const struct one_version *one)
{
	if (!one->failed && d->owner == OWNER_YES)
		stale_learn(d->stale, one->sub, &one->rec, one->rv);
}

/* Whoever waited long enough, or has what there is. */
static bool
over(const struct deliver *d, const struct waiter *x,
    const struct core_pulled *n, int64_t now)
{
	const struct deliver_fetch *f = &x->q->fetch;
	bool hurry = atomic_load(&d->pull.hurry) || atomic_load(&d->stopping);

	if (x->pending > 0)
		return false;
	if (x->full || f->n == f->max)
		return true;
	/* What is on its way is a flush away; a store may be away, too. */
	if (n->starting > 0 && !hurry)
		return now >= x->until_us + US_PER_S;
	return f->n > 0 || hurry || now >= x->until_us ||
	       (f->wait_us == 0 && n->idle);
}

static bool
turn(struct deliver *d, struct pull *p, int64_t now)
{
	struct core_pulled n = {.idle = true};
	bool there = core_pulled(d->core, p->sub, &n);
	struct link *k, *next;

	for (k = list_first(&p->waiters); k; k = next) {
		struct waiter *x = WAITER_OF(k);

		next = list_next(&p->waiters, k);
		if (!there && x->pending == 0) {
			struct err e;

			(void)err_set(
			    &e, ERR_ABSENT, "the consumer was deleted");
			answer(p, x, &e);
		} else if (over(d, x, &n, now)) {
			answer(p, x, NULL);
		} else {
			int64_t due = x->until_us;

			if (now >= due)
				due = now + 100 * US_PER_MS;
			d->pull.due = due < d->pull.due ? due : d->pull.due;
		}
	}
	if (p->waiters.n == 0 && p->left_us == 0)
		p->left_us = now;
	return there && demand(d, p);
}

bool
pull_turn(struct deliver *d, int64_t now)
{
	struct pull *p, *idle = NULL;
	bool more = false;
	size_t at = 0;

	d->pull.due = INT64_MAX;
	while ((p = map_each(d->pull.all, &at))) {
		more = turn(d, p, now) || more;
		if (p->waiters.n == 0 && now - p->left_us >= CONSUMER_REST_US)
			idle = p;
	}
	if (idle) { /* one a turn is enough */
		core_rest(d->core, idle->sub);
		(void)map_take(d->pull.all, key_of(&idle->sub));
		free(idle);
	}
	return more;
}

void
pull_drop(struct deliver *d, const struct err *e)
{
	struct pull *p;
	size_t at = 0;

	while (d->pull.all && (p = map_each(d->pull.all, &at))) {
		struct link *k;

		while ((k = list_first(&p->waiters))) {
			struct waiter *x = WAITER_OF(k);

			if (x->pending == 0) {
				answer(p, x, e);
				continue;
			}
			list_remove(&p->waiters, k);
			x->q->err = *e;
			x->lost = true;
		}
	}
}

void
pull_done(struct deliver *d)
{
	struct pull *p;
	size_t at = 0;

	while (d->pull.all && (p = map_each(d->pull.all, &at)))
		free(p);
	map_free(d->pull.all);
}

/* What became of it ------------------------------------------------------------ */

/* As told.h has it; NULL when there is nothing to say. */
static struct flush_detail *
detail(const struct core_send *s, struct str note)
{
	struct buf b = BUF(DETAIL_MAX);
	struct flush_detail *x = NULL;

	if (note.p) {
		buf_addz(&b, "{\"error\":");
		buf_json(&b, note);
		buf_addz(&b, ",\"requestHeaders\":\"\",\"responseHead\":\"\","
			     "\"responseBody\":\"\"}");
	}
	if (!b.failed && (b.n > 0 || s->mark))
		x = malloc(sizeof(*x) + b.n);
	if (x) {
		x->own = s->mark;
		x->n = b.n;
		if (b.n > 0)
			memcpy(x->text, b.p, b.n);
	}
	buf_done(&b);
	return x;
}

/* When it comes again by the consumer's schedule, or that it does not. */
static void
schedule(struct deliver *d, const struct core_send *s, int64_t delay_us,
    struct core_result *r)
{
	struct err e = {0};
	struct kept_conf *k = conf_get(d, s->sub, &e);
	int64_t ms = HOLD_US / US_PER_MS;
	uint32_t dice;

	rand_bytes(&dice, sizeof(dice));
	r->verdict = CORE_LATER;
	if (k && retry_next(&k->policy.retry, (unsigned)s->tries + 1, -1, dice,
		     k->policy.scale, &ms) == RETRY_STOP) {
		r->verdict = CORE_SPENT;
		r->dead_reason = REASON_EXHAUSTED;
	}
	r->delay_us = delay_us >= 0 ? delay_us : ms * US_PER_MS;
	conf_put(d, k);
}

static void
failed(struct deliver *d, const struct core_send *s, struct core_result *r,
    int64_t now)
{
	metric_add(M_ATTEMPTS_FAILED, 1);
	r->at = s->at;
	r->took_us = now - s->at;
	core_result(d->core, s->item, r, now);
}

/* Given again at once while it has tries left: its worker is gone. */
void
pull_expired(struct deliver *d, const struct core_send *s, int64_t now)
{
	struct core_result r = {
	    .reason = REASON_LEASE_EXPIRED,
	    .detail = detail(s, (struct str){.p = NULL}),
	};

	schedule(d, s, 0, &r);
	failed(d, s, &r, now);
}

static void
ack(struct deliver *d, const struct core_send *s, bool late, int64_t now)
{
	const struct wish *w = deliver_wish(d, s->sub);
	struct core_result r = {
	    .verdict = CORE_OK,
	    .at = s->at,
	    .took_us = now - s->at,
	    .detail = detail(s, (struct str){.p = NULL}),
	};

	metric_add(M_ATTEMPTS_OK, 1);
	if (w && w->core.alone)
		stale_handed(d->stale, s->sub, &s->rec, s->rv, &r);
	if (late)
		core_late(d->core, s->item, &r, now);
	else
		core_result(d->core, s->item, &r, now);
}

static void
nack(struct deliver *d, const struct deliver_answers *a,
    const struct core_send *s, struct deliver_answer *one, int64_t now)
{
	struct core_result r = {
	    .verdict = CORE_DEAD,
	    .reason = REASON_NACKED,
	    .detail = detail(s, a->note),
	};

	if (!a->dead)
		schedule(d, s, a->delay_us, &r);
	one->how = r.verdict == CORE_LATER ? ANSWER_RETRY : ANSWER_DEAD;
	one->at_us = r.verdict == CORE_LATER ? now + r.delay_us : 0;
	failed(d, s, &r, now);
}

static void
take_answer(struct deliver *d, const struct deliver_ask *q,
    struct deliver_answer *one, int64_t now)
{
	const struct deliver_answers *a = &q->answers;
	const struct wish *w = deliver_wish(d, q->sub);
	struct core_send s;
	enum core_lease lease =
	    core_lease(d->core, q->sub, one->seq, one->rep, one->n, &s);

	one->at_us = 0;
	one->how = ANSWERED;
	if (lease == CORE_LEASE_NONE || !w) {
		one->how = ANSWER_UNKNOWN;
	} else if (lease == CORE_LEASE_DEAD) {
		one->how = ANSWER_DEAD;
	} else if (lease == CORE_LEASE_LATE && a->kind == ANSWER_ACK) {
		ack(d, &s, true, now);
	} else if (lease != CORE_LEASE_MINE) {
		one->how = ANSWER_EXPIRED;
	} else if (a->kind == ANSWER_ACK) {
		ack(d, &s, false, now);
	} else if (a->kind == ANSWER_NACK) {
		nack(d, a, &s, one, now);
	} else {
		one->at_us =
		    now + (a->delay_us > 0 ? a->delay_us : w->core.lock_us);
		core_extend(d->core, s.item, one->at_us, now);
	}
}

void
pull_answers(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	for (size_t i = 0; i < q->answers.n; i++)
		if (q->answers.v[i].how != ANSWER_NO_CURSOR)
			take_answer(d, q, &q->answers.v[i], now);
}

void
pull_numbers(struct deliver *d, struct deliver_ask *q)
{
	const struct pull *p = map_find(d->pull.all, key_of(&q->sub));
	struct core_pulled n = {0};

	(void)core_pulled(d->core, q->sub, &n);
	q->pulled = (struct deliver_pulled){
	    .leases = n.leases,
	    .waiters = p ? p->waiters.n : 0,
	};
	q->err.code = OK;
	q->done(q);
}
