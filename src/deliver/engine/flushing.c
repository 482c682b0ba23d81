#include "base/clock.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/map.h"
#include "base/str.h"
#include "contract/verdict.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/replay.h"
#include "deliver/engine/stale.h"
#include "deliver/engine/wish.h"

/*
 * Results, rows and positions on their way into the store: one set of changes
 * at a time, written again until it is in, or until another node has the
 * groups.
 */

#define US_PER_MIN (60 * US_PER_S)

static int
write_flush(struct db *db, void *ctx, struct err *e)
{
	struct deliver *d = ctx;

	return flush_write(db, &d->flush_job.flush, e);
}

static void
flush_job_done(struct append_job *job)
{
	struct deliver *d = job->ctx;

	deliver_tell(d, &d->flush_job.note);
}

static void
post_flush(struct deliver *d, int64_t now)
{
	struct err e;

	d->flush_job.note.kind = NOTE_JOB;
	d->flush_job.job = (struct append_job){
	    .fn = write_flush, .ctx = d, .done = flush_job_done};
	d->flush_job.busy =
	    append_post(d->o.append, &d->flush_job.job, &e) == OK;
	d->flush_again_us = now + FLUSH_AGAIN_US;
}

void
flushing_begin(struct deliver *d, int64_t now)
{
	static const struct core_changes NONE = {.cursor = -1};
	const struct core_changes *ch;
	struct flush_decision *v = d->decisions_now;
	size_t cap = d->cap_decisions_now;

	if (d->flush_job.flush.changes) { /* one that failed */
		if (!d->flush_job.busy && now >= d->flush_again_us)
			post_flush(d, now);
		return;
	}
	ch = core_flush(d->core, now, d->hurry);
	if (!ch && !d->asked && d->n_ranges == 0)
		return;
	d->flush_job.real = ch != NULL;
	if (!ch) /* nothing to write, somebody waits all the same */
		ch = &NONE;
	d->hurry = false;
	d->asked_now = d->asked;
	d->asked = NULL;
	d->decisions_now = d->decisions;
	d->cap_decisions_now = d->cap_decisions;
	d->n_decisions_now = d->n_decisions;
	d->decisions = v;
	d->cap_decisions = cap;
	d->n_decisions = 0;
	lost_take(d);
	d->flush_job.flush = (struct flush){
	    .node = d->node,
	    .epoch = d->epoch,
	    .number = ++d->flush_number,
	    .minute = clock_now_us() / US_PER_MIN,
	    .progress = !d->progressed && ch->n_attempts > 0,
	    .changes = ch,
	    .decisions = d->decisions_now,
	    .n_decisions = d->n_decisions_now,
	    .ranges = d->ranges_now,
	    .n_ranges = d->n_ranges_now,
	    .settled = d->o.settled,
	};
	settled_find(d);
	post_flush(d, now);
}

static void
flush_written(struct deliver *d, int64_t now)
{
	const struct core_changes *ch = d->flush_job.flush.changes;

	for (size_t i = 0; i < ch->n_attempts; i++) {
		stale_written(d->stale, &ch->attempts[i]);
		free(ch->attempts[i].detail);
	}
	for (size_t i = 0; i < ch->n_readers; i++)
		replays_written(d, &ch->readers[i]);
	for (size_t i = 0; i < ch->n_deads; i++) {
		if (ch->deads[i].reason == REASON_PREFLIGHT)
			revive_note(d, ch->deads[i].sub, now);
		free(ch->deads[i].detail);
	}
	metric_add(M_DEAD_LETTERS, (int64_t)ch->n_deads);
	if (ch->cursor >= 0)
		metric_set(M_DELIVER_CURSOR, ch->cursor);
	d->progressed = d->progressed || d->flush_job.flush.progress;
	d->flush_job.flush.changes = NULL;
	if (d->flush_job.real)
		core_flushed(d->core, now);
}

void
deliver_lose(struct deliver *d, const struct err *e)
{
	d->flush_job.flush.changes = NULL;
	owner_lost(d);
	sending_cancel_all(d, true);
	revive_forget_all(d);
	ask_drop(d, e);
	pull_drop(d, e);
	d->n_decisions = 0;
	d->n_ranges = 0;
	d->core_void = true; /* once its pages have come back */
}

void
flushing_ended(struct deliver *d, int64_t now)
{
	const struct err *e = &d->flush_job.job.err;
	int rc = e->code;

	d->flush_job.busy = false;
	if (rc != d->told_rc && rc < 0)
		log_err(LOG_WARN, "results can't be written now", e);
	else if (rc == OK && d->told_rc < 0)
		log_err(LOG_INFO, "results are written again", NULL);
	d->told_rc = rc;
	if (rc == ERR_DENIED) {
		deliver_lose(d, e);
		return;
	}
	if (rc < 0) {
		d->flush_again_us = now + FLUSH_AGAIN_US;
		return;
	}
	flush_written(d, now);
	ask_flushed(d, OK, NULL);
}
