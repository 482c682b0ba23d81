#include "sink/pull/pull.h"

#include "base/log/metric.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/detail.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/stale.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "http/server/limits.h"
#include "sink/sink_driver.h"

struct pulls {
	struct deliver *d;
	struct map *all; /* struct pull, by sub */
};

struct pull {
	struct pulls *all;
	uint32_t sub;
	struct list waiters; /* longest wait first */
	int64_t left_us;     /* the last of them went; 0: one is there */
	int allowed;
};

struct waiter {
	struct link in_waiters;
	struct pull
	    *p; /* NULL: it is lost, and answered when none is pending */
	struct pull_fetch *q;
	size_t pending; /* attempts under way for it */
	size_t bytes;
	int64_t until_us;
	bool full;
};

/* Waiting ------------------------------------------------------------------- */

/* True: more may start than before. */
static bool
demand(struct pull *p)
{
	struct core *core = deliver_core(p->all->d);
	struct core_pulled n = {0};
	size_t room = 0, want = 0;
	int was = p->allowed;

	(void)core_pulled(core, p->sub, &n);
	list_each (struct waiter, x, &p->waiters, in_waiters) {
		const struct pull_fetch *f = x->q;

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
	core_allow(core, p->sub, p->allowed);
	return p->allowed > was;
}

/* What it has got is its, whatever happened since. */
static void
answer_waiter(struct waiter *x, const struct err *e)
{
	struct pull_fetch *q = x->q;

	if (x->p)
		list_remove(&x->p->waiters, &x->in_waiters);
	free(x);
	if (e && e->code < 0 && q->n == 0)
		q->pull.ask.err = *e;
	else
		q->pull.ask.err.code = OK;
	q->pull.ask.done(&q->pull.ask);
}

static void
fetch_events(struct pulls *all, struct pull_fetch *q, int64_t now)
{
	uint32_t sub = q->pull.ask.sub;
	struct pull *p = map_find(all->all, SUB_KEY(&sub));
	struct waiter *x = mem_get(sizeof(*x));

	if (!p) {
		p = mem_get(sizeof(*p));
		p->all = all;
		p->sub = sub;
		list_init(&p->waiters);
		map_set(all->all, SUB_KEY(&p->sub), p);
	}
	q->n = 0;
	x->p = p;
	x->q = q;
	x->until_us = now + (q->wait_us > 0 ? q->wait_us : CONSUMER_SOON_US);
	list_add(&p->waiters, &x->in_waiters);
	p->left_us = 0;
	(void)demand(p);
}

/* Whoever waited long enough, or has what there is. */
static bool
is_over(const struct pulls *all, const struct waiter *x,
    const struct core_pulled *n, int64_t now)
{
	const struct pull_fetch *f = x->q;
	bool hurry = deliver_hurried(all->d);

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
turn_one(struct pull *p, int64_t now, int64_t *due)
{
	struct core_pulled n = {.idle = true};
	bool there = core_pulled(deliver_core(p->all->d), p->sub, &n);

	list_each (struct waiter, x, &p->waiters, in_waiters) {
		if (!there && x->pending == 0) {
			struct err e;

			(void)err_set(
			    &e, ERR_ABSENT, "the consumer was deleted");
			answer_waiter(x, &e);
		} else if (is_over(p->all, x, &n, now)) {
			answer_waiter(x, NULL);
		} else {
			int64_t at = now < x->until_us ? x->until_us
						       : now + 100 * US_PER_MS;

			*due = at < *due ? at : *due;
		}
	}
	if (p->waiters.n == 0 && p->left_us == 0)
		p->left_us = now;
	return there && demand(p);
}

static bool
pull_turn(void *self, int64_t now, int64_t *ret_due)
{
	struct pulls *all = self;
	struct pull *p, *idle = NULL;
	bool more = false;
	size_t at = 0;

	*ret_due = INT64_MAX;
	while ((p = map_each(all->all, &at))) {
		more = turn_one(p, now, ret_due) || more;
		if (p->waiters.n == 0 && now - p->left_us >= CONSUMER_REST_US)
			idle = p;
	}
	if (idle) { /* one a turn is enough */
		core_rest(deliver_core(all->d), idle->sub);
		(void)map_take(all->all, SUB_KEY(&idle->sub));
		free(idle);
	}
	return more;
}

static void
pull_drop(void *self, const struct err *e)
{
	struct pulls *all = self;
	struct pull *p;
	size_t at = 0;

	while ((p = map_each(all->all, &at)))
		list_each (struct waiter, x, &p->waiters, in_waiters) {
			if (x->pending == 0) {
				answer_waiter(x, e);
				continue;
			}
			list_remove(&p->waiters, &x->in_waiters);
			x->q->pull.ask.err = *e;
			x->p = NULL;
		}
}

/* Sending -------------------------------------------------------------------- */

static bool
pull_admit(void *self, struct attempt *a)
{
	const struct pulls *all = self;
	const struct pull *p = map_find(all->all, SUB_KEY(&a->s.row.sub));

	if (!p)
		return false;
	list_each (struct waiter, x, &p->waiters, in_waiters) {
		if (x->full || x->q->n + x->pending >= x->q->max)
			continue;
		x->pending++;
		a->own = x;
		return true;
	}
	return false;
}

static void
pull_ended(void *, struct attempt *a)
{
	struct waiter *x = a->own;

	x->pending--;
	if (!x->p && x->pending == 0) {
		struct err e = x->q->pull.ask.err;

		answer_waiter(x, &e);
	}
}

/* To the worker with it, when there is room. */
static void
pull_call(void *, struct attempt *a)
{
	struct waiter *x = a->own;
	struct pull_fetch *f = x ? x->q : NULL;
	size_t bytes = a->letter->body.n;

	if (f && f->n > 0 && x->bytes + bytes > PAGE_BYTES)
		x->full = true;
	if (!f || !x->p || x->full) {
		attempt_end_early(
		    a, CORE_HOLD, REASON_NONE, 0, "no worker waits for it");
		return;
	}
	x->bytes += bytes;
	f->v[f->n++] = (struct pull_got){
	    .letter = letter_ref(a->letter),
	    .seq = a->s.row.seq,
	    .rep = a->s.row.rep,
	    .n = a->s.row.n,
	    .until_us = a->s.row.next_at,
	};
	attempt_handed(a);
}

/* What became of it ------------------------------------------------------------ */

/* NULL when there is nothing to say. */
static struct flush_detail *
detail_note(const struct core_send *s, struct str note)
{
	struct flush_detail *x = note.p ? detail_error(note) : NULL;

	if (!x && s->mark)
		x = detail_new(STR_EMPTY, true);
	if (x)
		x->own = s->mark;
	return x;
}

/* When it comes again by the consumer's schedule, or that it does not. */
static void
schedule(const struct pulls *all, const struct core_send *s, int64_t delay_us,
    struct core_result *r)
{
	struct confs *confs = deliver_confs(all->d);
	struct err e = {0};
	struct kept_conf *k = confs_get(confs, s->row.sub, &e);

	r->verdict = CORE_LATER;
	r->delay_us = HOLD_US;
	if (k)
		attempt_schedule(&k->policy, s->row.tries, -1, r);
	if (delay_us >= 0)
		r->delay_us = delay_us;
	confs_put(confs, k);
}

static void
lease_failed(const struct pulls *all, const struct core_send *s,
    struct core_result *r, int64_t now)
{
	metric_add(M_ATTEMPTS_FAILED, 1);
	r->at = s->at;
	r->took_us = now - s->at;
	core_result(deliver_core(all->d), s->item, r, now);
}

/* Given again at once while it has tries left: its worker is gone. */
static void
pull_expired(void *self, const struct core_send *s, int64_t now)
{
	struct core_result r = {
	    .reason = REASON_LEASE_EXPIRED,
	    .detail = detail_note(s, (struct str){.p = NULL}),
	};

	schedule(self, s, 0, &r);
	lease_failed(self, s, &r, now);
}

static void
ack(const struct pulls *all, const struct core_send *s, bool late, int64_t now)
{
	const struct wish *w = deliver_wish(all->d, s->row.sub);
	struct core_result r = {
	    .verdict = CORE_OK,
	    .at = s->at,
	    .took_us = now - s->at,
	    .detail = detail_note(s, (struct str){.p = NULL}),
	};

	metric_add(M_ATTEMPTS_OK, 1);
	if (w && w->core.alone)
		stale_handed(deliver_stale(all->d), s->row.sub, &s->row.rec,
		    s->row.rv, &r);
	(late ? core_late : core_result)(
	    deliver_core(all->d), s->item, &r, now);
}

static void
nack(const struct pulls *all, const struct pull_answers *a,
    const struct core_send *s, struct pull_answer *one, int64_t now)
{
	struct core_result r = {
	    .verdict = CORE_DEAD,
	    .reason = REASON_NACKED,
	    .detail = detail_note(s, a->note),
	};

	if (!a->dead)
		schedule(all, s, a->delay_us, &r);
	one->how = r.verdict == CORE_LATER ? ANSWER_RETRY : ANSWER_DEAD;
	one->at_us = r.verdict == CORE_LATER ? now + r.delay_us : 0;
	lease_failed(all, s, &r, now);
}

static void
take_answer(const struct pulls *all, const struct pull_answers *a,
    struct pull_answer *one, int64_t now)
{
	uint32_t sub = a->pull.ask.sub;
	const struct wish *w = deliver_wish(all->d, sub);
	struct core *core = deliver_core(all->d);
	struct core_send s;
	enum core_lease lease =
	    core_lease(core, sub, one->seq, one->rep, one->n, &s);

	one->at_us = 0;
	one->how = ANSWERED;
	if (lease == CORE_LEASE_NONE || !w) {
		one->how = ANSWER_UNKNOWN;
	} else if (lease == CORE_LEASE_DEAD) {
		one->how = ANSWER_DEAD;
	} else if (lease == CORE_LEASE_LATE && a->kind == ANSWER_ACK) {
		ack(all, &s, true, now);
	} else if (lease != CORE_LEASE_MINE) {
		one->how = ANSWER_EXPIRED;
	} else if (a->kind == ANSWER_ACK) {
		ack(all, &s, false, now);
	} else if (a->kind == ANSWER_NACK) {
		nack(all, a, &s, one, now);
	} else {
		one->at_us =
		    now + (a->delay_us > 0 ? a->delay_us : w->core.lock_us);
		core_extend(core, s.item, one->at_us, now);
	}
}

static void
count_events(const struct pulls *all, struct pull_count *q)
{
	uint32_t sub = q->pull.ask.sub;
	const struct pull *p = map_find(all->all, SUB_KEY(&sub));
	struct core_pulled n = {0};

	(void)core_pulled(deliver_core(all->d), sub, &n);
	q->leases = n.leases;
	q->waiters = p ? p->waiters.n : 0;
}

static enum sink_answer
pull_ask(void *self, struct deliver_ask *ask, int64_t now)
{
	struct pulls *all = self;
	struct pull_answers *a;

	switch (((struct pull_ask *)ask)->what) {
	case PULL_FETCH:
		fetch_events(all, (struct pull_fetch *)ask, now);
		return SINK_ANSWERS;
	case PULL_COUNT:
		count_events(all, (struct pull_count *)ask);
		ask->err.code = OK;
		ask->done(ask);
		return SINK_ANSWERS;
	case PULL_ANSWER:
		a = (struct pull_answers *)ask;
		for (size_t i = 0; i < a->n; i++)
			if (a->v[i].how != ANSWER_NO_CURSOR)
				take_answer(all, a, &a->v[i], now);
		break;
	}
	return SINK_WITH_FLUSH;
}

/* The driver ----------------------------------------------------------------- */

static int
pull_check(const struct sub_conf *s, const struct conf *, struct err *)
{
	return s->managed.ack_wait_s > 0;
}

static void
pull_terms(const struct sub_conf *s, struct core_sub *ret)
{
	ret->pull = true;
	ret->lock_us = s->managed.ack_wait_s * US_PER_S;
	ret->breaker_fails = 0;
}

static void *
pull_open(struct deliver *d)
{
	struct pulls *all = mem_get(sizeof(*all));

	all->d = d;
	all->all = map_new(SIZE_MAX / 2);
	return all;
}

static void
pull_close(void *self)
{
	struct pulls *all = self;
	struct pull *p;
	size_t at = 0;

	while ((p = map_each(all->all, &at)))
		free(p);
	map_free(all->all);
	free(all);
}

const struct sink_driver SINK_PULL = {
    .scheme = "consumer",
    .leases = true,
    .reads = true,
    .quiet = true,
    .check = pull_check,
    .open = pull_open,
    .close = pull_close,
    .call = pull_call,
    .terms = pull_terms,
    .admit = pull_admit,
    .ended = pull_ended,
    .expired = pull_expired,
    .ask = pull_ask,
    .turn = pull_turn,
    .drop = pull_drop,
};
