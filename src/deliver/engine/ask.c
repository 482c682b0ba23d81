#include "base/str.h"
#include "contract/verdict.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/replay.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "sql.h"

/*
 * What people ask of the engine. Whatever changes something is answered when
 * the flush that holds it is committed.
 */

static void
answer(struct deliver_ask *q, int rc, const char *text)
{
	int retry_after_s = q->err.retry_after_s;

	q->err.code = OK;
	if (rc < 0)
		(void)err_set(&q->err, (enum err_code)rc, "%s", text);
	q->err.retry_after_s = retry_after_s;
	q->done(q);
}

static void
wait_for_flush(struct deliver *d, struct deliver_ask *q)
{
	q->mail.next = d->asked;
	d->asked = &q->mail;
	d->hurry = true;
}

static void
decide(struct deliver *d, const struct deliver_ask *q, int state, int64_t now)
{
	const struct wish *w = deliver_wish(d, q->sub);
	struct flush_decision *v;

	if (d->n_decisions == d->cap_decisions) {
		size_t cap = d->cap_decisions ? 2 * d->cap_decisions : 16;

		v = reallocarray(d->decisions, cap, sizeof(*v));

		if (!v) {
			(void)fputs(
			    "hikyaku: no memory for decisions\n", stderr);
			abort();
		}
		d->decisions = v;
		d->cap_decisions = cap;
	}
	v = &d->decisions[d->n_decisions++];
	*v = (struct flush_decision){
	    .sub = q->sub,
	    .rep = q->rep,
	    .seq = q->seq,
	    .at = now,
	    .state = state,
	    .who = q->who,
	    .note = q->note,
	};
	if (w)
		uuid_format(w->uid, v->webhook_id);
	uuid_format(
	    delivery_id_make(&d->o.id_key, q->seq, q->sub, (uint16_t)q->rep),
	    v->delivery_id);
}

static void
look(struct deliver *d, struct deliver_ask *q)
{
	struct core_row row;
	struct deliver_look *l = &q->look;

	*l = (struct deliver_look){
	    .why = "", .front = core_front(d->core, q->sub)};
	l->known = core_look(d->core, q->sub, q->seq, q->rep, &row,
	    &l->in_flight, &l->why, &l->due);
	if (l->known) {
		l->state = (int)row.state;
		l->tries = row.tries;
		l->n = row.n;
		l->last_status = row.last_status;
		l->last_reason = row.last_reason;
		l->next_at = row.state == ROW_RETRY ? row.next_at : 0;
	}
	answer(q, OK, "");
}

static void
test(struct deliver *d, struct deliver_ask *q)
{
	struct uuid id = uuid_v4();
	struct sql_log_feed_row row = {
	    .received_at = deliver_now(d),
	    .tenant = {.p = "", .n = 0},
	    .event_id = uuid_str(&id),
	    .type = STR("TEST"),
	    .pkey = STR("test"),
	    .body = q->body,
	};
	struct letter *l = letter_new(&row);

	if (!l)
		answer(q, ERR_NOMEM, "no memory for a test");
	else
		sending_test(d, q, l);
}

static int
requeue(struct deliver *d, const struct deliver_ask *q, int64_t now)
{
	const struct wish *w = deliver_wish(d, q->sub);
	struct core_entry en = {.okey = q->okey, .skey = q->skey};

	if (!w)
		return ERR_CONFLICT;
	if (q->letter)
		(void)deliver_keys(d, w, q->letter, &en);
	if (q->rule) {
		en.okey = q->okey;
		en.skey = q->skey;
	}
	core_requeue(d->core,
	    &(struct core_row){
		.sub = q->sub,
		.seq = q->seq,
		.rep = q->rep,
		.okey = en.okey,
		.skey = en.skey,
		.n = q->n,
		.unjudged = reason_unjudged(q->reason) ? q->reason : 0,
		.rec = en.rec,
		.rv = en.rv,
		.asked = !q->rule,
	    },
	    now);
	decide(d, q, 1, now);
	return OK;
}

static int
replay(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	struct core_reader rd = {
	    .sub = q->sub,
	    .rep = q->rep,
	    .pos = q->pos,
	    .until = q->until,
	    .exclusive = q->exclusive,
	};

	if (!deliver_wish(d, q->sub))
		return err_set(
		    &q->err, ERR_CONFLICT, "its subscription is gone");
	return replays_begin(d, &rd, q->rate, false, q->types, now, &q->err);
}

static void
stop(const struct deliver *d, const struct deliver_ask *q)
{
	struct replay *p = replays_find(d, q->sub, q->rep);

	if (p)
		p->stopped = true;
}

/*
 * What was committed before somebody asks must count: a test goes where the
 * last change says, and "now" is not before what was published.
 */
static bool
too_early(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	struct core_count n;

	core_counts(d->core, &n);
	if (n.upto >= q->behind)
		return false;
	/* A worker that waits anyway needs not wait for that first. */
	if (q->kind == ASK_FETCH &&
	    (q->give_up_us > 0 && now >= q->give_up_us) &&
	    deliver_wish(d, q->sub))
		return false;
	if (q->give_up_us == 0)
		q->give_up_us = now + ASK_WAIT_US;
	if (now < q->give_up_us) {
		q->mail.next = d->later;
		d->later = &q->mail;
	} else {
		q->err.retry_after_s = 1;
		answer(q, ERR_AWAY, "the log is still being read");
	}
	return true;
}

/* A start takes a moment: workers come back before it is over. */
static bool
soon(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	if ((q->kind != ASK_FETCH && q->kind != ASK_ANSWER) ||
	    now - d->wall_us >= ASK_WAIT_US || atomic_load(&d->stopping))
		return false;
	q->mail.next = d->later;
	d->later = &q->mail;
	return true;
}

void
ask_take(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	if (d->owner != OWNER_YES && soon(d, q, now))
		return;
	if (d->owner != OWNER_YES) {
		q->err.retry_after_s = 1;
		answer(q, ERR_AWAY, "this server does not deliver now");
		return;
	}
	if (too_early(d, q, now))
		return;
	switch (q->kind) {
	case ASK_LOOK:
		look(d, q);
		return;
	case ASK_TEST:
		test(d, q);
		return;
	case ASK_REQUEUE:
		if (requeue(d, q, now) < 0) {
			answer(q, ERR_CONFLICT, "its subscription is gone");
			return;
		}
		break;
	case ASK_SKIP:
		core_skip(d->core, q->sub, q->seq, q->rep, now);
		decide(d, q, 2, now);
		break;
	case ASK_REPLAY:
		if (replay(d, q, now) < 0) {
			q->done(q);
			return;
		}
		break;
	case ASK_STOP:
		stop(d, q);
		break;
	case ASK_NOW:
		core_sub_skip(d->core, q->sub, now);
		break;
	case ASK_FETCH:
		pull_fetch(d, q, now);
		return;
	case ASK_PULLED:
		pull_numbers(d, q);
		return;
	case ASK_ANSWER:
		pull_answers(d, q, now);
		break;
	}
	wait_for_flush(d, q);
}

/* Those that waited for dispatch; some may have to go on. */
void
ask_again(struct deliver *d, int64_t now)
{
	struct mail *m = d->later;

	d->later = NULL;
	while (m) {
		struct deliver_ask *q = MAIL_OF(m, struct deliver_ask, mail);

		m = m->next;
		if (atomic_load(&d->stopping))
			q->give_up_us = now;
		ask_take(d, q, now);
	}
}

/* The flush under way has ended: well, or never to be. */
void
ask_flushed(struct deliver *d, int rc, const struct err *e)
{
	struct mail *m = d->asked_now;

	d->asked_now = NULL;
	d->n_decisions_now = 0;
	while (m) {
		struct deliver_ask *q = MAIL_OF(m, struct deliver_ask, mail);

		m = m->next;
		answer(q, rc, rc < 0 ? e->text : "");
	}
}

/* The thread has ended; the store was away to the last. */
void
ask_drop(struct deliver *d, const struct err *e)
{
	ask_flushed(d, ERR_AWAY, e);
	d->asked_now = d->asked;
	d->asked = NULL;
	ask_flushed(d, ERR_AWAY, e);
}
