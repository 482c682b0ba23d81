#include "event/tail.h"

#include <stdatomic.h>

#include "base/log/metric.h"
#include "loop/thread.h"
#include "sql.h"

#define TAIL_POLL_MS 50
#define REST_MS      1000 /* an upper bound for a sleep without waiters */

struct tail {
	struct mailbox *box;
	struct thread *thread;
	struct db *db; /* of a shared store: to see others' commits */
	_Atomic int64_t last_seq;
	_Atomic bool hurry;
	_Atomic int waiters;
	_Atomic bool told; /* the news are in the box */
	struct mail news;

	struct tail_waiter *list; /* the thread's own */
};

int64_t
tail_last_seq(const struct tail *t)
{
	return atomic_load_explicit(&t->last_seq, memory_order_acquire);
}

/* One message at most is under way, however many commits there are. */
static void
nudge(struct tail *t)
{
	if (!atomic_exchange(&t->told, true) && !mailbox_post(t->box, &t->news))
		atomic_store(&t->told, false);
}

static void
raise(struct tail *t, int64_t seq)
{
	int64_t was = tail_last_seq(t);

	while (
	    seq > was && !atomic_compare_exchange_weak(&t->last_seq, &was, seq))
		;
}

void
tail_committed(struct tail *t, int64_t last_seq)
{
	raise(t, last_seq);
	metric_set(M_LOG_LAST, last_seq);
	if (atomic_load(&t->waiters) > 0)
		nudge(t);
}

void
tail_hurry(struct tail *t)
{
	atomic_store(&t->hurry, true);
	nudge(t);
}

bool
tail_wait(struct tail *t, struct tail_waiter *w)
{
	/* Counted before it is posted: a commit that comes in between either
	 * sees the count, or is seen by the thread when it takes the waiter. */
	(void)atomic_fetch_add(&t->waiters, 1);
	if (mailbox_post(t->box, &w->mail))
		return true;
	(void)atomic_fetch_sub(&t->waiters, 1);
	return false;
}

static void
take_mail(struct tail *t, struct mail *m)
{
	while (m) {
		struct mail *next = m->next;

		if (m == &t->news) {
			atomic_store(&t->told, false);
		} else {
			struct tail_waiter *w =
			    MAIL_OF(m, struct tail_waiter, mail);

			w->next = t->list;
			t->list = w;
		}
		m = next;
	}
}

/* Wakes those whose time has come; the earliest of the others' times. */
static int64_t
wake_due(struct tail *t, bool all)
{
	int64_t seq = tail_last_seq(t), now = clock_mono_ms();
	int64_t earliest = now + REST_MS;
	struct tail_waiter **at = &t->list;

	while (*at) {
		struct tail_waiter *w = *at;

		if (!all && w->after >= seq && w->until_ms > now) {
			if (w->until_ms < earliest)
				earliest = w->until_ms;
			at = &w->next;
			continue;
		}
		*at = w->next;
		(void)atomic_fetch_sub(&t->waiters, 1);
		w->wake(w);
	}
	return earliest;
}

/* What another node has committed. Trouble is the commit thread's to tell. */
static void
tail_look(struct tail *t)
{
	struct err e = {0};
	struct sql_log_last_row row;

	if (sql_log_last_one(t->db, &row, &e) > 0)
		raise(t, row.seq);
}

static void
tail_run(void *arg)
{
	struct tail *t = arg;
	int64_t until = clock_mono_ms() + REST_MS;

	for (;;) {
		int64_t ms = until - clock_mono_ms();
		bool ending;

		if (t->db && t->list && ms > TAIL_POLL_MS)
			ms = TAIL_POLL_MS;
		take_mail(t, mailbox_take(t->box, ms > 0 ? (int)ms : 0));
		if (t->db && t->list)
			tail_look(t);
		ending = mailbox_closed(t->box);
		if (ending)
			take_mail(t, mailbox_take(t->box, 0));
		until = wake_due(t, ending || atomic_load(&t->hurry));
		if (ending)
			return;
	}
}

static void
release(struct tail *t)
{
	db_close(t->db);
	mailbox_free(t->box);
	free(t);
}

int
tail_start(struct store *s, struct tail **ret, struct err *e)
{
	struct tail *t = mem_get(sizeof(*t));
	int rc = OK;

	t->box = mailbox_new();
	if (store_shared(s))
		rc = db_open(s, DB_READ, &t->db, e);
	if (rc == OK)
		rc = thread_start("tail", tail_run, t, &t->thread, e);
	if (rc < 0)
		release(t);
	else
		*ret = t;
	return rc;
}

void
tail_stop(struct tail *t)
{
	if (!t)
		return;
	mailbox_close(t->box);
	thread_join(t->thread);
	release(t);
}
