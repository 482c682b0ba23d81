#include "deliver/engine/flushing.h"

#include "base/clock.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/mem.h"
#include "deliver/core/core.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/wish.h"

#define US_PER_MIN (60 * US_PER_S)

struct flush_decision *
flushing_decide(struct flushing *f)
{
	struct flush_decisions *l = &f->decisions;

	l->v = mem_more(l->v, &l->cap, l->n, sizeof(*l->v));
	return &l->v[l->n++];
}

void
flushing_range(struct flushing *f, const struct flush_range *g)
{
	struct flush_ranges *l = &f->ranges;

	l->v = mem_more(l->v, &l->cap, l->n, sizeof(*l->v));
	l->v[l->n++] = *g;
	f->hurry = true;
}

/* Settled ------------------------------------------------------------------ */

static void
add_settled(struct flushing *f, uint32_t sub, int64_t seq, enum settled how)
{
	const struct wish *w = deliver_wish(f->d, sub);

	if (!w || !w->directed)
		return;
	f->settlements = mem_more(f->settlements, &f->cap_settlements,
	    f->flush.n_settlements, sizeof(*f->settlements));
	f->settlements[f->flush.n_settlements++] =
	    (struct flush_settled){.sub = sub, .seq = seq, .how = how};
	f->flush.settlements = f->settlements;
}

/* What the set says of deliveries that another part keeps account of. */
static void
find_settled(struct flushing *f)
{
	const struct flush_decisions *l = &f->decisions_now;
	const struct core_changes *ch = f->flush.changes;

	if (!f->flush.settled)
		return;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].rep == 0 && l->v[i].state == 1)
			add_settled(f, l->v[i].sub, l->v[i].seq, SETTLED_AGAIN);
	for (size_t i = 0; i < ch->n_attempts; i++)
		if (ch->attempts[i].rep == 0 &&
		    ch->attempts[i].verdict == CORE_OK)
			add_settled(f, ch->attempts[i].sub, ch->attempts[i].seq,
			    SETTLED_OK);
	for (size_t i = 0; i < ch->n_deads; i++)
		if (ch->deads[i].rep == 0)
			add_settled(f, ch->deads[i].sub, ch->deads[i].seq,
			    SETTLED_DEAD);
}

/* One set ------------------------------------------------------------------ */

static int
write_flush(struct db *db, void *ctx, struct err *e)
{
	const struct flushing *f = ctx;

	return flush_write(db, &f->flush, e);
}

static void
job_done(struct append_job *job)
{
	struct flushing *f = job->ctx;

	deliver_tell(f->d, &f->note);
}

static void
post_flush(struct flushing *f, int64_t now)
{
	struct err e;

	f->note.kind = NOTE_FLUSHED;
	f->job =
	    (struct append_job){.fn = write_flush, .ctx = f, .done = job_done};
	f->busy = append_post(f->append, &f->job, &e) == OK;
	f->again_us = now + FLUSH_AGAIN_US;
}

bool
flushing_begin(struct flushing *f, struct core *core, int64_t epoch, bool asked,
    int64_t now)
{
	static const struct core_changes NONE = {.cursor = -1};
	const struct deliver_opts *o = deliver_opts(f->d);
	struct flush_decisions decisions = f->decisions_now;
	struct flush_ranges ranges = f->ranges_now;
	const struct core_changes *ch;

	if (f->flush.changes) { /* one that failed */
		if (!f->busy && now >= f->again_us)
			post_flush(f, now);
		return false;
	}
	ch = core_flush(core, now, f->hurry);
	if (!ch && !asked && f->ranges.n == 0)
		return false;
	f->real = ch != NULL;
	if (!ch) /* nothing to write, somebody waits all the same */
		ch = &NONE;
	f->hurry = false;
	f->decisions_now = f->decisions;
	f->ranges_now = f->ranges;
	decisions.n = ranges.n = 0;
	f->decisions = decisions;
	f->ranges = ranges;
	f->flush = (struct flush){
	    .node = o->node,
	    .epoch = epoch,
	    .number = f->flush.number + 1,
	    .minute = clock_now_us() / US_PER_MIN,
	    .progress = !f->progressed && ch->n_attempts > 0,
	    .changes = ch,
	    .decisions = f->decisions_now.v,
	    .n_decisions = f->decisions_now.n,
	    .ranges = f->ranges_now.v,
	    .n_ranges = f->ranges_now.n,
	    .settled = o->settled,
	};
	find_settled(f);
	post_flush(f, now);
	return true;
}

int
flushing_ended(struct flushing *f, int64_t now)
{
	const struct err *e = &f->job.err;
	int rc = e->code;

	f->busy = false;
	if (rc != f->told_rc && rc < 0)
		log_err(LOG_WARN, "results can't be written now", e);
	else if (rc == OK && f->told_rc < 0)
		log_err(LOG_INFO, "results are written again", NULL);
	f->told_rc = rc;
	f->again_us = now + FLUSH_AGAIN_US;
	return rc;
}

void
flushing_next(struct flushing *f, struct core *core, int64_t now)
{
	const struct core_changes *ch = f->flush.changes;

	for (size_t i = 0; i < ch->n_attempts; i++)
		free(ch->attempts[i].detail);
	for (size_t i = 0; i < ch->n_deads; i++)
		free(ch->deads[i].detail);
	metric_add(M_DEAD_LETTERS, (int64_t)ch->n_deads);
	if (ch->cursor >= 0)
		metric_set(M_DELIVER_CURSOR, ch->cursor);
	f->progressed = f->progressed || f->flush.progress;
	f->flush.changes = NULL;
	if (f->real)
		core_flushed(core, now);
}

void
flushing_drop(struct flushing *f)
{
	f->flush.changes = NULL;
	f->decisions.n = 0;
	f->ranges.n = 0;
}

void
flushing_done(struct flushing *f)
{
	free(f->decisions.v);
	free(f->decisions_now.v);
	free(f->ranges.v);
	free(f->ranges_now.v);
	free(f->settlements);
}
