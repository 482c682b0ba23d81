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
	struct flush_more *m = &f->next;

	m->decisions = mem_more(m->decisions, &m->cap_decisions, m->n_decisions,
	    sizeof(*m->decisions));
	return &m->decisions[m->n_decisions++];
}

void
flushing_range(struct flushing *f, const struct flush_range *g)
{
	struct flush_more *m = &f->next;

	m->ranges = mem_more(
	    m->ranges, &m->cap_ranges, m->n_ranges, sizeof(*m->ranges));
	m->ranges[m->n_ranges++] = *g;
	f->hurry = true;
}

/* Settled ------------------------------------------------------------------ */

static void
add_settled(
    struct flushing *f, uint32_t sub, int64_t seq, int rep, enum settled how)
{
	const struct wish *w = deliver_wish(f->d, sub);
	struct flush_more *m = &f->now;

	if (rep > 0 || !w || !w->directed)
		return;
	m->settled = mem_more(
	    m->settled, &m->cap_settled, m->n_settled, sizeof(*m->settled));
	m->settled[m->n_settled++] =
	    (struct flush_settled){.sub = sub, .seq = seq, .how = how};
}

/* What the set says of deliveries that another part keeps account of. */
static void
find_settled(struct flushing *f)
{
	const struct core_changes *ch = f->changes;

	for (size_t i = 0; i < f->now.n_decisions; i++) {
		const struct flush_decision *v = &f->now.decisions[i];

		if (v->state == 1)
			add_settled(f, v->sub, v->seq, v->rep, SETTLED_AGAIN);
	}
	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *v = &ch->attempts[i];

		if (v->verdict == CORE_OK)
			add_settled(f, v->sub, v->seq, v->rep, SETTLED_OK);
	}
	for (size_t i = 0; i < ch->n_deads; i++) {
		const struct core_dead *v = &ch->deads[i];

		add_settled(f, v->sub, v->seq, v->rep, SETTLED_DEAD);
	}
}

/* One set ------------------------------------------------------------------ */

static int
write_flush(struct db *db, void *ctx, struct err *e)
{
	return flush_write(db, ctx, e);
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
	struct flush_more spare = f->now;
	const struct core_changes *ch;

	if (f->changes) { /* one that failed */
		if (!f->busy && now >= f->again_us)
			post_flush(f, now);
		return false;
	}
	ch = core_flush(core, now, f->hurry);
	if (!ch && !asked && f->next.n_ranges == 0)
		return false;
	f->real = ch != NULL;
	/* With nothing to write, somebody waits all the same. */
	f->changes = ch ? ch : &NONE;
	f->hurry = false;
	spare.n_decisions = spare.n_ranges = spare.n_settled = 0;
	f->now = f->next;
	f->next = spare;
	f->epoch = epoch;
	f->number++;
	f->minute = clock_now_us() / US_PER_MIN;
	f->progress = !f->progressed && f->changes->n_attempts > 0;
	if (deliver_opts(f->d)->settled)
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
	const struct core_changes *ch = f->changes;

	for (size_t i = 0; i < ch->n_attempts; i++)
		free(ch->attempts[i].detail);
	for (size_t i = 0; i < ch->n_deads; i++)
		free(ch->deads[i].detail);
	metric_add(M_DEAD_LETTERS, (int64_t)ch->n_deads);
	if (ch->cursor >= 0)
		metric_set(M_DELIVER_CURSOR, ch->cursor);
	f->progressed = f->progressed || f->progress;
	f->changes = NULL;
	if (f->real)
		core_flushed(core, now);
}

void
flushing_drop(struct flushing *f)
{
	f->changes = NULL;
	f->next.n_decisions = f->next.n_ranges = 0;
}

static void
free_more(struct flush_more *m)
{
	free(m->decisions);
	free(m->ranges);
	free(m->settled);
}

void
flushing_done(struct flushing *f)
{
	free_more(&f->now);
	free_more(&f->next);
}
