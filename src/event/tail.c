#include "event/tail.h"

#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log/metric.h"
#include "loop/thread.h"
#include "sql.h"

#define TAIL_POLL_MS 50   /* for AWAKE_MS after another node did something */
#define SLOW_POLL_MS 1000 /* else */
#define AWAKE_MS     2000
#define TELL_MS      1000 /* between two words to the others: below AWAKE_MS */
#define REST_MS      1000 /* an upper bound for a sleep without waiters */

struct tail {
	struct mailbox *box;
	struct thread *thread;
	struct db *db; /* of a shared store: its other nodes, for … */
	struct thread *nodes;
	int kick;          /* … which this wakes; -1: it is not shared */
	_Atomic bool ours; /* we committed, and the others are to know */
	_Atomic bool ends;
	_Atomic int64_t last_seq;
	_Atomic bool hurry;
	_Atomic int waiters;
	_Atomic int watchers; /* of these: for changes */
	_Atomic int64_t changes;
	int64_t known_change; /* of all nodes; nodes_run()'s own */
	_Atomic bool told;    /* the news are in the box */
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

static void
kick_nodes(struct tail *t)
{
	uint64_t one = 1;

	/* It can only be full of kicks. */
	if (write(t->kick, &one, sizeof(one)) < 0)
		return;
}

void
tail_committed(struct tail *t, int64_t last_seq)
{
	raise(t, last_seq);
	metric_set(M_LOG_LAST, last_seq);
	if (t->db && !atomic_exchange(&t->ours, true))
		kick_nodes(t);
	if (atomic_load(&t->waiters) > 0)
		nudge(t);
}

void
tail_changed(struct tail *t)
{
	(void)atomic_fetch_add(&t->changes, 1);
	if (t->db && !atomic_exchange(&t->ours, true))
		kick_nodes(t);
	if (atomic_load(&t->watchers) > 0)
		nudge(t);
}

int64_t
tail_changes(const struct tail *t)
{
	return atomic_load(&t->changes);
}

void
tail_hurry(struct tail *t)
{
	atomic_store(&t->hurry, true);
	nudge(t);
}

static void
count_waiter(struct tail *t, const struct tail_waiter *w, int n)
{
	(void)atomic_fetch_add(&t->waiters, n);
	if (w->for_changes)
		(void)atomic_fetch_add(&t->watchers, n);
}

bool
tail_wait(struct tail *t, struct tail_waiter *w)
{
	/* Counted before it is posted: a commit that comes in between either
	 * sees the count, or is seen by the thread when it takes the waiter. */
	count_waiter(t, w, 1);
	if (mailbox_post(t->box, &w->mail))
		return true;
	count_waiter(t, w, -1);
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

		if (!all && w->after >= seq && w->until_ms > now &&
		    !(w->for_changes && w->changes != tail_changes(t))) {
			if (w->until_ms < earliest)
				earliest = w->until_ms;
			at = &w->next;
			continue;
		}
		*at = w->next;
		count_waiter(t, w, -1);
		w->wake(w);
	}
	return earliest;
}

static void
tail_run(void *arg)
{
	struct tail *t = arg;
	int64_t until = clock_mono_ms() + REST_MS;

	for (;;) {
		int64_t ms = until - clock_mono_ms();
		bool ending;

		take_mail(t, mailbox_take(t->box, ms > 0 ? (int)ms : 0));
		ending = mailbox_closed(t->box);
		if (ending)
			take_mail(t, mailbox_take(t->box, 0));
		until = wake_due(t, ending || atomic_load(&t->hurry));
		if (ending)
			return;
	}
}

/* The same of changes, which are counted in the store by themselves. */
static bool
look_for_changes(struct tail *t)
{
	struct err e = {0};
	struct sql_change_last_row row = {0};

	if (sql_change_last_one(t->db, &row, &e) <= 0 ||
	    row.n == t->known_change)
		return false;
	t->known_change = row.n;
	(void)atomic_fetch_add(&t->changes, 1);
	nudge(t);
	return true;
}

/* What another node has committed, if anything. Trouble is the commit thread's
 * to tell. */
static bool
look(struct tail *t)
{
	int64_t was = tail_last_seq(t);
	struct err e = {0};
	struct sql_log_last_row row = {0};

	if (sql_log_last_one(t->db, &row, &e) <= 0 || row.seq <= was)
		return false;
	raise(t, row.seq);
	nudge(t);
	return true;
}

static void
nodes_run(void *arg)
{
	struct tail *t = arg;
	int64_t awake_ms = 0, tell_ms = 0, look_ms = 0;

	while (!atomic_load(&t->ends)) {
		int64_t now_ms = clock_mono_ms(), wait_ms;
		bool waits = atomic_load(&t->waiters) > 0;
		struct err e = {0};
		uint64_t kicks;

		if (now_ms >= tell_ms && atomic_exchange(&t->ours, false)) {
			tell_ms = now_ms + TELL_MS;
			if (db_tell(t->db, &e) < 0)
				atomic_store(&t->ours, true); /* again */
		}
		if (waits && now_ms >= look_ms) {
			bool news = look(t);

			if (atomic_load(&t->watchers) > 0 &&
			    look_for_changes(t))
				news = true;
			if (news)
				awake_ms = now_ms + AWAKE_MS;
			look_ms = now_ms + (now_ms < awake_ms ? TAIL_POLL_MS
							      : SLOW_POLL_MS);
		}
		wait_ms = waits               ? look_ms - now_ms
			  : now_ms < awake_ms ? TAIL_POLL_MS
					      : SLOW_POLL_MS;
		if (atomic_load(&t->ours) && tell_ms - now_ms < wait_ms)
			wait_ms = tell_ms - now_ms;
		if (db_hear(t->db, t->kick, wait_ms, &e) > 0) {
			awake_ms = clock_mono_ms() + AWAKE_MS;
			look_ms = 0;
		}
		if (read(t->kick, &kicks, sizeof(kicks)) < 0)
			continue; /* nobody kicked */
	}
}

static void
release(struct tail *t)
{
	db_close(t->db);
	if (t->kick >= 0)
		(void)close(t->kick);
	mailbox_free(t->box);
	free(t);
}

int
tail_start(struct store *s, struct tail **ret, struct err *e)
{
	struct tail *t = mem_get(sizeof(*t));
	int rc = OK;

	t->box = mailbox_new();
	t->kick = -1;
	if (store_shared(s)) {
		t->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		rc = t->kick < 0 ? err_set(e, ERR_IO, "eventfd: %m")
				 : db_open(s, DB_READ, &t->db, e);
	}
	if (rc == OK)
		rc = thread_start("tail", tail_run, t, &t->thread, e);
	if (rc == OK && t->db)
		rc = thread_start("nodes", nodes_run, t, &t->nodes, e);
	if (rc == OK)
		*ret = t;
	else
		tail_stop(t);
	return rc;
}

void
tail_stop(struct tail *t)
{
	if (!t)
		return;
	atomic_store(&t->ends, true);
	if (t->db)
		kick_nodes(t);
	thread_join(t->nodes);
	mailbox_close(t->box);
	thread_join(t->thread);
	release(t);
}
