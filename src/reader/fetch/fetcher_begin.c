#include "base/arena.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "reader/fetch/fetcher_priv.h"
#include "reader/limits.h"
#include "sql.h"

/*
 * The mark of what is begun (begun_by).
 *
 *   queue ──begin_mark──▶ begin.list ──committed──▶ ready
 *   begin_forget ──▶ forget.waiting ──▶ forget.list ──committed──▶ freed
 */

/* ---- on the commit thread ---- */

/* The arguments of either change, for each of the list. */
static struct sql_fetch_begin_args *
marks_of(const struct fetcher *f, const struct list *l)
{
	struct sql_fetch_begin_args *v = mem_array(l->n, sizeof(*v));
	size_t n = 0;

	for (struct link *k = list_first(l); k; k = list_next(l, k))
		v[n++] = (struct sql_fetch_begin_args){
		    .id = LINK_OF(k, struct fetch, link)->id,
		    .run = uuid_str(&f->run)};
	return v;
}

static int
mark_fn(struct db *db, void *ctx, struct err *e)
{
	const struct fetcher *f = ctx;
	struct sql_fetch_begin_args *v = marks_of(f, &f->begin.list);
	int64_t n = sql_fetch_begin(db, v, f->begin.list.n, e);

	free(v);
	return n < 0 ? (int)n : OK;
}

static int
forget_fn(struct db *db, void *ctx, struct err *e)
{
	const struct fetcher *f = ctx;
	struct sql_fetch_begin_args *v = marks_of(f, &f->forget.list);
	int64_t n = sql_fetch_unbegin(db, v, f->forget.list.n, e);

	free(v);
	return n < 0 ? (int)n : OK;
}

/* ---- the thread ---- */

static void
move_all(struct list *from, struct list *to)
{
	struct link *k;

	while ((k = list_first(from))) {
		list_remove(from, k);
		list_add(to, k);
	}
}

static void
marked(struct fetcher *f, struct fetch_note *n)
{
	struct marks *m = &f->begin;

	(void)n;
	m->busy = false;
	if (m->j.job.err.code == OK) {
		for (struct link *k = list_first(&m->list); k;
		     k = list_next(&m->list, k))
			LINK_OF(k, struct fetch, link)->begun = true;
		move_all(&m->list, &f->ready);
		return;
	}
	log_err(LOG_WARN, "feeds can't be marked as begun", &m->j.job.err);
	move_all(&m->list, &f->queue);
	f->retry_us = clock_mono_us() + US_PER_S;
}

static void
post_marks(struct fetcher *f, struct marks *m, fetch_fn fn, fetch_take take)
{
	struct err e;

	m->busy = fetcher_post(f, &m->j, fn, take, &e) == OK;
	if (!m->busy)
		f->retry_us = clock_mono_us() + US_PER_S / 10;
}

void
begin_mark(struct fetcher *f, struct list *some)
{
	struct marks *m = &f->begin;

	if (some->n == 0)
		return;
	move_all(some, &m->list);
	post_marks(f, m, mark_fn, marked);
	if (!m->busy)
		move_all(&m->list, &f->queue);
}

static void
forgotten(struct fetcher *f, struct fetch_note *n)
{
	struct marks *m = &f->forget;

	(void)n;
	m->busy = false;
	if (m->j.job.err.code == OK) {
		fetch_free_all(&m->list);
		return;
	}
	move_all(&m->list, &m->waiting);
	f->retry_us = clock_mono_us() + US_PER_S;
}

void
begin_forget(struct fetch *x)
{
	arena_free(x->heavy);
	x->heavy = NULL;
	list_add(&x->f->forget.waiting, &x->link);
}

void
begin_run(struct fetcher *f)
{
	struct marks *m = &f->forget;

	if (m->busy || m->waiting.n == 0 || clock_mono_us() < f->retry_us)
		return;
	move_all(&m->waiting, &m->list);
	post_marks(f, m, forget_fn, forgotten);
	if (!m->busy)
		move_all(&m->list, &m->waiting);
}
