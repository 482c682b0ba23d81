#include "deliver/engine/ask.h"

#include "contract/verdict.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "sink/sink_driver.h"
#include "sql.h"

static void
answer_ask(struct deliver_ask *q, int rc, const char *text)
{
	int retry_after_s = q->err.retry_after_s;

	q->err.code = OK;
	if (rc < 0)
		(void)err_set(&q->err, (enum err_code)rc, "%s", text);
	q->err.retry_after_s = retry_after_s;
	q->done(q);
}

static void
put_off(struct mail **list, struct deliver_ask *q)
{
	q->mail.next = *list;
	*list = &q->mail;
}

static struct flush_decision *
decide(struct deliver *d, const struct ask_decide *q, int state, int64_t now)
{
	const struct wish *w = deliver_wish(d, q->ask.sub);
	struct flush_decision *v = flush_decide(&d->flush);

	*v = (struct flush_decision){
	    .sub = q->ask.sub,
	    .rep = q->rep,
	    .seq = q->seq,
	    .at = now,
	    .state = state,
	    .who = q->who,
	    .note = q->note,
	};
	if (w)
		uuid_format(w->uid, v->webhook_id);
	uuid_format(delivery_id_make(
			&d->o.id_key, q->seq, q->ask.sub, (uint16_t)q->rep),
	    v->delivery_id);
	return v;
}

static void
ask_look(const struct deliver *d, struct ask_look *q)
{
	struct deliver_look *l = &q->look;

	*l = (struct deliver_look){.front = core_front(d->core, q->ask.sub)};
	l->known = core_look(d->core, q->ask.sub, q->seq, q->rep, &l->seen);
	if (l->seen.row.state != ROW_RETRY)
		l->seen.row.next_at = 0;
	answer_ask(&q->ask, OK, "");
}

static void
ask_test(struct deliver *d, struct ask_test *q)
{
	struct uuid id = uuid_v4();
	struct sql_log_feed_row row = {
	    .received_at = deliver_now(d),
	    .tenant = {.p = "", .n = 0},
	    .event_id = uuid_str(&id),
	    .type = q->type,
	    .pkey = STR("test"),
	    .body = q->body,
	};

	if (d->asks.tests >= TESTS_MAX) {
		q->ask.err.retry_after_s = 1;
		answer_ask(
		    &q->ask, ERR_BUSY, "too many test sends are under way");
		return;
	}
	d->asks.tests++;
	attempt_test(d, q, letter_new(&row));
}

static int
ask_requeue(struct deliver *d, struct ask_requeue *q, int64_t now)
{
	uint32_t sub = q->decide.ask.sub;
	const struct wish *w = deliver_wish(d, sub);
	struct core_entry en = {.okey = q->okey, .skey = q->skey};

	if (!w)
		return err_set(&q->decide.ask.err, ERR_CONFLICT,
		    "its subscription is gone");
	if (q->letter)
		(void)feeding_keys(d, w, q->letter, &en);
	if (q->rule) {
		en.okey = q->okey;
		en.skey = q->skey;
	}
	core_requeue(d->core,
	    &(struct core_row){
		.sub = sub,
		.seq = q->decide.seq,
		.rep = q->decide.rep,
		.okey = en.okey,
		.skey = en.skey,
		.n = q->n,
		.unjudged = reason_unjudged(q->reason) ? q->reason : 0,
		.rec = en.rec,
		.rv = en.rv,
		.asked = !q->rule,
	    },
	    now);
	decide(d, &q->decide, 1, now)->person = !q->rule;
	return OK;
}

static enum sink_answer
ask_sink(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	const struct wish *w = deliver_wish(d, q->sub);
	const struct sink_driver *s = w ? SINK_DRIVERS[w->sink] : NULL;

	if (s && s->ask)
		return s->ask(d->sinks[w->sink].self, q, now);
	answer_ask(q, ERR_ABSENT, "its subscription is gone");
	return SINK_ANSWERS;
}

/* Whoever asks has found it in the store; another node may have made it, and
 * dispatch not have read so far. */
static bool
sub_known(const struct deliver *d, const struct deliver_ask *q)
{
	return !d->owner.shared || q->kind == ASK_LOOK || q->kind == ASK_SKIP ||
	       q->sub == 0 || deliver_wish(d, q->sub);
}

/*
 * What was committed before somebody asks must count: a test goes where the
 * last change says, and "now" is not before what was published.
 */
static bool
too_early(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	bool late = q->give_up_us > 0 && now >= q->give_up_us;
	struct core_count n;

	core_counts(d->core, &n);
	if (n.upto >= q->behind && (late || sub_known(d, q)))
		return false;
	if (q->anyway && late && deliver_wish(d, q->sub))
		return false;
	if (q->give_up_us == 0)
		q->give_up_us = now + ASK_WAIT_US;
	if (now < q->give_up_us) {
		put_off(&d->asks.later, q);
	} else {
		q->err.retry_after_s = 1;
		answer_ask(q, ERR_AWAY, "the log is still being read");
	}
	return true;
}

/* Not for this node now. A start takes a moment, and without others there is
 * nobody else to ask. */
static void
turn_away(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	bool soon = !d->owner.shared || d->owner.state == OWNER_TAKING ||
		    d->owner.state == OWNER_LOADING;

	if (soon && now - d->wall_us < ASK_WAIT_US && !deliver_stopping(d)) {
		put_off(&d->asks.later, q);
		return;
	}
	q->elsewhere = true;
	q->err.retry_after_s = 1;
	answer_ask(q, ERR_AWAY, "this server does not deliver now");
}

void
ask_take(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	const struct ask_decide *skip;
	int rc = OK;

	if (d->owner.state != OWNER_YES) {
		turn_away(d, q, now);
		return;
	}
	if (too_early(d, q, now))
		return;
	switch (q->kind) {
	case ASK_LOOK:
		ask_look(d, (struct ask_look *)q);
		return;
	case ASK_TEST:
		ask_test(d, (struct ask_test *)q);
		return;
	case ASK_REQUEUE:
		rc = ask_requeue(d, (struct ask_requeue *)q, now);
		break;
	case ASK_SKIP:
		skip = (const struct ask_decide *)q;
		core_skip(d->core, q->sub, skip->seq, skip->rep, now);
		(void)decide(d, skip, 2, now);
		break;
	case ASK_NOW:
		core_sub_skip(d->core, q->sub, now);
		break;
	case ASK_SINK:
		if (ask_sink(d, q, now) == SINK_ANSWERS)
			return;
		break;
	}
	if (rc < 0) {
		q->done(q);
		return;
	}
	put_off(&d->asks.asked, q);
	d->flush.hurry = true;
}

void
ask_again(struct deliver *d, int64_t now)
{
	struct mail *m = d->asks.later;

	d->asks.later = NULL;
	while (m) {
		struct deliver_ask *q = MAIL_OF(m, struct deliver_ask, mail);

		m = m->next;
		if (deliver_stopping(d))
			q->give_up_us = now;
		ask_take(d, q, now);
	}
}

void
ask_flushing(struct asks *a)
{
	a->asked_now = a->asked;
	a->asked = NULL;
}

void
ask_flushed(struct asks *a, int rc, const struct err *e)
{
	struct mail *m = a->asked_now;

	a->asked_now = NULL;
	while (m) {
		struct deliver_ask *q = MAIL_OF(m, struct deliver_ask, mail);

		m = m->next;
		answer_ask(q, rc, rc < 0 ? e->text : "");
	}
}

void
ask_drop(struct asks *a, const struct err *e)
{
	for (int i = 0; i < 2; i++) {
		for (struct mail *m = a->asked_now; m; m = m->next)
			MAIL_OF(m, struct deliver_ask, mail)->elsewhere = true;
		ask_flushed(a, ERR_AWAY, e);
		ask_flushing(a);
	}
}
