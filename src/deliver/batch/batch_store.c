/* batch.h: what the store knows of it, and what comes back from there. */
#include "base/log/log.h"
#include "base/log/metric.h"
#include "deliver/batch/batch_priv.h"
#include "sql.h"

/* What is stored ------------------------------------------------------------ */

static int
restore(struct gather *g, const struct sql_batch_all_row *row, int64_t cursor,
    struct err *e)
{
	struct arena *a CLEANUP(arena_freep) = arena_new(BATCH_SCRATCH);
	int rc = OK;

	g->step = row->step;
	g->seen = g->handled = g->last = row->pos;
	g->dirty = false;
	batch_drop_window(g);
	batch_fails_done(&g->fails);
	if (row->idle) {
		g->stored = STORED_IDLE;
		return OK;
	}
	g->stored = STORED_ENGAGED;
	if (row->state.n > 0) {
		child_limit_free(g->limit);
		batch_limiter(g);
		rc = child_limit_load(g->limit, a, row->state, e);
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
	struct rows *rows CLEANUP(rows_closep) = NULL;

	b->epoch = epoch;
	TRY(sql_batch_all(b->db, &rows, e));
	while (TRY(sql_batch_all_next(rows, &row, e)) > 0) {
		struct gather *g = batch_find(b, (uint32_t)row.sub);

		if (g)
			TRY(restore(g, &row, cursor, e));
	}
	return OK;
}

/* As after a start: what the limiter said is void. */
void
batch_reload(struct gather *g, int64_t now)
{
	struct sql_batch_all_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
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
	g->reload = rc < 0;
	g->retry_us = now + BATCH_RETRY_US;
}

/* Engaging ------------------------------------------------------------------ */

void
batch_engage(struct gather *g, int64_t seq)
{
	if (g->stored == STORED_IDLE) {
		g->stored = STORED_ENGAGING;
		g->handled = seq - 1;
		g->b->unsettled++;
	} else if (g->stored == STORED_LEAVING && g->again < 0) {
		g->again = seq - 1;
		g->b->unsettled++;
	}
}

bool
batcher_settled(const struct batcher *b)
{
	return b->unsettled == 0;
}

void
batcher_push(struct batcher *b)
{
	struct gather *g;
	size_t at = 0;

	if (b->engage.busy || b->unsettled == 0 ||
	    deliver_now(b->d) < b->engage.retry_us)
		return;
	b->engage.n = 0;
	while ((g = map_each(b->gathers, &at))) {
		if (g->stored != STORED_ENGAGING)
			continue;
		b->engage.v = mem_more(b->engage.v, &b->engage.cap, b->engage.n,
		    sizeof(*b->engage.v));
		b->engage.v[b->engage.n++] =
		    (struct engage){.sub = g->sub, .pos = g->handled};
	}
	b->engage.epoch = b->epoch;
	if (b->engage.n > 0)
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
		return;
	}
	batch_tell(b, &b->engage.post.job.err);
	if (b->engage.post.job.err.code < 0) {
		b->engage.retry_us = now + BATCH_RETRY_US;
		return;
	}
	for (size_t i = 0; i < b->engage.n; i++) {
		const struct engage *x = &b->engage.v[i];
		struct gather *g = batch_find(b, x->sub);

		if (!g || g->stored != STORED_ENGAGING || g->handled != x->pos)
			continue;
		g->stored = STORED_ENGAGED;
		b->unsettled--;
		batch_set_due(g, now);
	}
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
	batch_tell(b, &j->post.job.err);
	/* It is not known what the store has: nothing goes on without it. */
	if (j->post.job.err.code < 0) {
		g->retry_us = now + BATCH_RETRY_US;
		batch_set_due(g, now);
		return;
	}
	metric_add(M_BATCHES, (int64_t)j->n_entries);
	metric_add(M_CHILD_DROPPED, j->dropped);
	metric_add(M_DEAD_LETTERS, (int64_t)j->fails.n);
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
	if (n == &b->engage.post.note)
		engage_ended(b);
	else
		job_ended(b, (struct batch_job *)n);
}
