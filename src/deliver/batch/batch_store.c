/* batch.h: what the store knows of it, and what comes back from there. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/mem.h"
#include "deliver/batch/batch_priv.h"
#include "sql.h"

/* What is stored ------------------------------------------------------------ */

static int
restore(struct gather *g, const struct sql_batch_all_row *row, int64_t cursor,
    struct err *e)
{
	struct arena *a;
	int rc = OK;

	g->step = row->step;
	g->seen = g->handled = g->last = row->pos;
	g->dirty = false;
	batch_drop_window(g);
	batch_forget_fails(g);
	if (row->idle) {
		g->stored = STORED_IDLE;
		return OK;
	}
	g->stored = STORED_ENGAGED;
	if (row->state.n > 0) {
		child_limit_free(g->limit);
		batch_limiter(g);
		a = arena_new(BATCH_SCRATCH);
		rc = child_limit_load(g->limit, a, row->state, e);
		arena_free(a);
	}
	if (row->pos < cursor)
		batch_fall_behind(g);
	batch_set_due(g, deliver_now(g->b->d));
	return rc;
}

int
batcher_go(struct batcher *b, int64_t cursor, int64_t epoch, struct err *e)
{
	struct sql_batch_all_row row;
	struct rows *rows = NULL;
	int rc = sql_batch_all(b->db, &rows, e);

	b->epoch = epoch;
	while (rc >= 0 && (rc = sql_batch_all_next(rows, &row, e)) > 0) {
		struct gather *g = batch_find(b, (uint32_t)row.sub);

		if (g)
			rc = restore(g, &row, cursor, e);
	}
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

/* As after a start: what the limiter said is void. */
void
batch_reload(struct gather *g, int64_t now)
{
	struct sql_batch_all_row row;
	struct rows *rows = NULL;
	struct err e = {0};
	int rc = sql_batch_one(g->b->db, &rows, &e, .sub = g->sub);

	if (rc == OK)
		rc = sql_batch_one_next(
		    rows, (struct sql_batch_one_row *)(void *)&row, &e);
	if (rc > 0) {
		child_limit_free(g->limit);
		g->limit = NULL;
		rc = restore(g, &row, INT64_MAX, &e);
	}
	rows_close(rows);
	g->reload = rc < 0;
	g->retry_us = now + BATCH_RETRY_US;
}

/* Engaging ------------------------------------------------------------------ */

static void
engage_add(struct batcher *b, uint32_t sub, int64_t pos)
{
	b->engage.next = mem_more(b->engage.next, &b->engage.cap_next,
	    b->engage.n_next, sizeof(*b->engage.next));
	b->engage.next[b->engage.n_next++] =
	    (struct engage){.sub = sub, .pos = pos};
}

void
batch_engage(struct gather *g, int64_t seq)
{
	switch (g->stored) {
	case STORED_IDLE:
		g->stored = STORED_ENGAGING;
		g->handled = seq - 1;
		engage_add(g->b, g->sub, seq - 1);
		break;
	case STORED_LEAVING:
		if (g->again >= 0)
			break;
		g->again = seq - 1;
		g->b->unsettled++;
		break;
	case STORED_ENGAGING:
	case STORED_ENGAGED:
		break;
	}
}

bool
batcher_settled(const struct batcher *b)
{
	return b->engage.n == 0 && b->engage.n_next == 0 && b->unsettled == 0;
}

void
batcher_push(struct batcher *b)
{
	struct engage *v = b->engage.v;
	size_t cap = b->engage.cap;

	if (b->engage.busy)
		return;
	if (b->engage.n > 0) { /* one that failed */
		if (deliver_now(b->d) >= b->engage.retry_us)
			batch_engage_post(b);
		return;
	}
	if (b->engage.n_next == 0)
		return;
	b->engage.v = b->engage.next;
	b->engage.n = b->engage.n_next;
	b->engage.cap = b->engage.cap_next;
	b->engage.next = v;
	b->engage.cap_next = cap;
	b->engage.n_next = 0;
	b->engage.epoch = b->epoch;
	batch_engage_post(b);
}

void
batch_tell(struct batcher *b, const struct err *e)
{
	if (e->code < 0 && !b->told)
		log_err(LOG_WARN, "batches can't be written now", e);
	else if (e->code == OK && b->told)
		log_err(LOG_INFO, "batches are written again", NULL);
	b->told = e->code < 0;
}

static void
engage_ended(struct batcher *b)
{
	int64_t now = deliver_now(b->d);

	b->engage.busy = false;
	if (b->engage.stale) {
		b->engage.stale = false;
		b->engage.n = 0;
		return;
	}
	batch_tell(b, &b->engage.job.err);
	if (b->engage.job.err.code < 0) {
		b->engage.retry_us = now + BATCH_RETRY_US;
		return;
	}
	for (size_t i = 0; i < b->engage.n; i++) {
		struct gather *g = batch_find(b, b->engage.v[i].sub);

		if (!g || g->stored != STORED_ENGAGING)
			continue;
		g->stored = STORED_ENGAGED;
		batch_set_due(g, now);
	}
	b->engage.n = 0;
}

/* Jobs ----------------------------------------------------------------------- */

static void
job_ended(struct batcher *b, struct batch_job *j)
{
	struct gather *g = j->g;
	int64_t now = deliver_now(b->d);

	g->busy = false;
	if (batch_find(b, g->sub) != g) {
		list_remove(&b->gone, &g->in_list);
		batch_gather_free(g);
		return;
	}
	batch_tell(b, &j->job.err);
	/* It is not known what the store has: nothing goes on without it. */
	if (j->job.err.code < 0) {
		g->retry_us = now + BATCH_RETRY_US;
		batch_set_due(g, now);
		return;
	}
	metric_add(M_BATCHES, (int64_t)j->n_entries);
	metric_add(M_CHILD_DROPPED, j->dropped);
	metric_add(M_DEAD_LETTERS, (int64_t)j->n_fails);
	batch_job_free(j);
	g->job = NULL;
	if (g->stored == STORED_LEAVING) {
		g->stored = STORED_IDLE;
		if (g->again >= 0) {
			b->unsettled--;
			batch_engage(g, g->again + 1);
			g->again = -1;
		}
	}
	batch_set_due(g, now);
}

void
batcher_note(struct batcher *b, struct note *n)
{
	if (n == &b->engage.note)
		engage_ended(b);
	else
		job_ended(b, (struct batch_job *)n);
}
