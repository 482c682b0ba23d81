#include "event/append_queue.h"

#include <sched.h>

#include "event/append.h"
#include "event/limits.h"

#define GATHER_JOBS  4    /* a commit of fewer is not waited for */
#define GATHER_US    1000 /* at most */
#define GATHER_PARTS 4    /* of that, in each of which some must come */

void
queue_init(struct append_queue *q, struct mailbox *box)
{
	*q = (struct append_queue){.box = box};
	q->todo_end = &q->todo;
}

struct append_job *
queue_first(const struct append_queue *q)
{
	return q->todo ? MAIL_OF(q->todo, struct append_job, mail) : NULL;
}

void
queue_drop(struct append_queue *q)
{
	q->todo = q->todo->next;
	if (!q->todo)
		q->todo_end = &q->todo;
}

static void
append_queue_add(struct append_queue *q, struct mail *m)
{
	*q->todo_end = m;
	while (*q->todo_end)
		q->todo_end = &(*q->todo_end)->next;
}

void
queue_take(struct append_queue *q, int timeout_ms)
{
	append_queue_add(q, mailbox_take(q->box, timeout_ms));
}

void
queue_note(struct append_queue *q, size_t n_jobs, size_t n, int64_t us)
{
	q->last_jobs = n_jobs;
	q->last_n = n;
	q->last_us = us;
}

/* How many jobs wait to be committed together, up to `most`; 0 when one among
 * them is for a commit of its own, which is not to be delayed. */
static size_t
companions(struct append_queue *q, size_t most)
{
	size_t n = 0;

	for (struct mail *m = q->todo; m && n < most; m = m->next, n++) {
		const struct append_job *job =
		    MAIL_OF(m, struct append_job, mail);

		if (job->n == 0 || job->fn || job->after)
			return 0;
	}
	return n;
}

/*
 * It is a matter of microseconds, which a thread that sleeps would spend on
 * falling asleep and being woken: this one stays awake, and lets go before
 * whoever has something to do.
 */
void
queue_gather(struct append_queue *q)
{
	int64_t us = q->last_us < GATHER_US ? q->last_us : GATHER_US;
	int64_t now = clock_mono_us(), end = now + us, look = now;
	size_t have, had = 0, want, most;

	if (q->last_jobs < GATHER_JOBS)
		return;
	most = COMMIT_BATCH_MAX * q->last_jobs / q->last_n;
	have = companions(q, most);
	want = (q->last_jobs + have) / 2;
	if (want > most)
		want = most;
	while (have > 0 && have < want && now < end) {
		if (now >= look && have == had)
			break;
		if (now >= look) {
			had = have;
			look += us / GATHER_PARTS;
		}
		(void)sched_yield();
		queue_take(q, 0);
		have = companions(q, most);
		now = clock_mono_us();
	}
}
