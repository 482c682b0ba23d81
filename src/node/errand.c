#include "node/errand.h"

#include <stdatomic.h>

#include "base/list.h"
#include "base/log/log.h"
#include "loop/thread.h"
#include "node/limits.h"
#include "node/node.h"
#include "sql.h"
#include "store/store.h"

struct errands {
	struct errands_opts o;
	struct mailbox *asked, *ended; /* struct errand; struct errand_task */
	struct thread *thread;
	_Atomic bool hurry, stopping;
	_Atomic bool swept;

	/* the thread's own */
	struct db *db;
	struct list waiting; /* struct errand: stored, or about to be */
	struct list running; /* struct errand_task */
	int64_t busy_ms;     /* there was one */
	/* Up to here all are running or done, as far as is known: rows may be
	 * committed in another order than they are numbered, so now and then
	 * all are looked at. */
	int64_t known_id, all_ms;
	bool told;
};

/* Rows that nobody waits for: a node died while it asked. */
static int
sweep(struct db *db, struct errands *all, struct err *e)
{
	if (atomic_load(&all->swept))
		return OK;
	TRY((int)sql_errand_sweep(
	    db, e, .now = clock_now_us(), .late_us = ERRAND_WAIT_US));
	return OK;
}

/* Asking ------------------------------------------------------------------- */

static int
store_row(struct db *db, void *ctx, struct err *e)
{
	struct errand *x = ctx;
	struct sql_errand_add_row row;

	TRY(sweep(db, x->all, e));
	if (TRY(sql_errand_add_one(db, &row, e,
		.asker = node_id(x->all->o.node), .question = x->question,
		.now = clock_now_us(),
		.wait_us = ERRAND_WAIT_US + x->takes_us)) > 0)
		x->id = row.id;
	return OK;
}

static void
stored(struct append_job *job)
{
	struct errand *x = job->ctx;
	struct errands *all = x->all;
	bool posted;

	if (job->err.code == OK)
		atomic_store(&all->swept, true);
	posted = mailbox_post(all->asked, &x->mail);
	assert(posted); /* it is never closed */
}

void
errands_post(struct errands *all, struct errand *x)
{
	x->all = all;
	x->id = 0;
	x->err = (struct err){.code = OK};
	if (atomic_load(&all->stopping)) {
		(void)err_set(&x->err, ERR_AWAY, "the server is stopping");
		x->done(x);
		return;
	}
	x->until_us = clock_mono_us() + ERRAND_WAIT_US + x->takes_us;
	x->job = (struct append_job){.fn = store_row, .ctx = x, .done = stored};
	if (append_post(all->o.append, &x->job, &x->job.err) < 0)
		stored(&x->job);
}

struct removal {
	struct append_job job;
	int64_t id;
};

static int
remove_row(struct db *db, void *ctx, struct err *e)
{
	const struct removal *m = ctx;

	TRY((int)sql_errand_drop(db, e, .id = m->id));
	return OK;
}

static void
removed(struct append_job *job)
{
	free(job->ctx);
}

/* What is left behind is swept some day. */
static void
forget_row(struct errands *all, int64_t id)
{
	struct removal *m = mem_get(sizeof(*m));
	struct err e;

	m->id = id;
	m->job =
	    (struct append_job){.fn = remove_row, .ctx = m, .done = removed};
	if (append_post(all->o.append, &m->job, &e) < 0)
		removed(&m->job);
}

static void
end_errand(struct errands *all, struct errand *x, struct str answer)
{
	if (link_on(&x->in_list))
		list_remove(&all->waiting, &x->in_list);
	if (x->id > 0)
		forget_row(all, x->id);
	x->answer = answer;
	x->err.retry_after_s = x->err.code < 0 ? 1 : 0;
	x->done(x);
}

static void
take_asked(struct errands *all, struct mail *m)
{
	while (m) {
		struct errand *x = MAIL_OF(m, struct errand, mail);

		m = m->next;
		all->busy_ms = clock_mono_ms();
		x->err = x->job.err;
		if (x->err.code < 0)
			end_errand(all, x, STR_EMPTY);
		else
			list_add(&all->waiting, &x->in_list);
	}
}

static struct errand *
waiting_find(struct errands *all, int64_t id)
{
	list_each (struct errand, x, &all->waiting, in_list)
		if (x->id == id)
			return x;
	return NULL;
}

static int
read_answers(struct errands *all, struct err *e)
{
	struct sql_errand_answers_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_errand_answers(
	    all->db, &rows, e, .asker = node_id(all->o.node)));
	while (TRY(sql_errand_answers_next(rows, &row, e)) > 0) {
		struct errand *x = waiting_find(all, row.id);

		if (x)
			end_errand(all, x, row.answer);
	}
	return OK;
}

static void
give_up(struct errands *all)
{
	int64_t now = clock_mono_us();
	bool hurry = atomic_load(&all->hurry);

	list_each (struct errand, x, &all->waiting, in_list) {
		if (hurry && x->until_us > now + ERRAND_HURRY_US)
			x->until_us = now + ERRAND_HURRY_US;
		if (x->until_us > now)
			continue;
		(void)err_set(&x->err, ERR_AWAY,
		    hurry
			? "the server is stopping: look whether it was done, or ask again"
			: "no server that delivers answered in time: look whether it was done, or ask again");
		end_errand(all, x, STR_EMPTY);
	}
}

/* Running ------------------------------------------------------------------ */

static int
store_answer(struct db *db, void *ctx, struct err *e)
{
	struct errand_task *t = ctx;

	TRY((int)sql_errand_answer(
	    db, e, .id = t->id, .answer = buf_str(&t->answer)));
	return OK;
}

static void
tell_ended(struct append_job *job)
{
	struct errand_task *t = job->ctx;
	struct errands *all = t->all;
	bool posted = mailbox_post(all->ended, &t->mail);

	assert(posted);
}

void
errands_leave(struct errand_task *t)
{
	t->job.ctx = t;
	tell_ended(&t->job);
}

void
errands_answer(struct errand_task *t)
{
	struct err e;

	t->job = (struct append_job){
	    .fn = store_answer, .ctx = t, .done = tell_ended};
	if (t->answer.failed || append_post(t->all->o.append, &t->job, &e) < 0)
		tell_ended(&t->job);
}

static void
take_ended(struct errands *all)
{
	struct mail *m = mailbox_take(all->ended, 0);

	while (m) {
		struct errand_task *t = MAIL_OF(m, struct errand_task, mail);

		m = m->next;
		list_remove(&all->running, &t->in_list);
		buf_done(&t->answer);
		arena_free(t->arena);
		free(t);
	}
}

static bool
runs(struct errands *all, int64_t id)
{
	list_each (struct errand_task, t, &all->running, in_list)
		if (t->id == id)
			return true;
	return false;
}

static int
read_questions(struct errands *all, struct err *e)
{
	struct errand_task *fresh[ERRANDS_MAX];
	size_t n = 0;
	struct sql_errand_todo_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int64_t now = clock_mono_ms();
	int rc = OK;

	if (now >= all->all_ms) {
		all->all_ms = now + ERRAND_REST_MS;
		all->known_id = 0;
	}
	TRY(sql_errand_todo(all->db, &rows, e, .after = all->known_id,
	    .now = clock_now_us(), .most = 2 * ERRANDS_MAX));
	while (n + all->running.n < ERRANDS_MAX &&
	       (rc = sql_errand_todo_next(rows, &row, e)) > 0) {
		struct errand_task *t;

		all->known_id = row.id;
		if (runs(all, row.id))
			continue;
		t = mem_get(sizeof(*t));
		t->all = all;
		t->id = row.id;
		t->arena = arena_new(ERRAND_MEM + 16 * row.question.n);
		t->question = arena_dup(t->arena, row.question);
		t->answer = BUF(ERRAND_MEM);
		fresh[n++] = t;
	}
	for (size_t i = 0; i < n; i++)
		list_add(&all->running, &fresh[i]->in_list);
	/* They may read with the same db, and end at once. */
	rows_close(rows);
	rows = NULL;
	for (size_t i = 0; i < n; i++) {
		all->busy_ms = clock_mono_ms();
		all->o.run(all->o.arg, fresh[i], all->db);
	}
	return rc < 0 ? rc : OK;
}

/* The thread --------------------------------------------------------------- */

static int
look(struct errands *all, struct err *e)
{
	if (!all->db)
		TRY(db_open(all->o.store, DB_READ, &all->db, e));
	if (all->waiting.n > 0)
		TRY(read_answers(all, e));
	if (all->o.owns && !atomic_load(&all->stopping) &&
	    all->o.owns(all->o.arg))
		TRY(read_questions(all, e));
	return OK;
}

static int
rest_ms(const struct errands *all)
{
	bool busy = all->waiting.n > 0 || all->running.n > 0 ||
		    atomic_load(&all->stopping) ||
		    clock_mono_ms() - all->busy_ms < ERRAND_BUSY_MS;

	return busy ? ERRAND_LOOK_MS : ERRAND_REST_MS;
}

static void
run_errands(void *arg)
{
	struct errands *all = arg;

	for (;;) {
		struct err e = {0};
		bool failed;

		take_asked(all, mailbox_take(all->asked, rest_ms(all)));
		failed = look(all, &e) < 0;
		if (failed && !all->told)
			log_err(LOG_WARN, "errands can't be read now", &e);
		all->told = failed;
		give_up(all);
		take_ended(all);
		if (atomic_load(&all->stopping) && all->waiting.n == 0)
			break;
	}
}

void
errands_free(struct errands *all)
{
	struct mail *m;

	if (!all)
		return;
	take_ended(all);
	m = mailbox_take(all->asked, 0);
	while (m) { /* whoever asked too late */
		struct errand *x = MAIL_OF(m, struct errand, mail);

		m = m->next;
		(void)err_set(&x->err, ERR_AWAY, "the server is stopping");
		x->done(x);
	}
	db_close(all->db);
	mailbox_free(all->asked);
	mailbox_free(all->ended);
	free(all);
}

int
errands_start(const struct errands_opts *o, struct errands **ret, struct err *e)
{
	struct errands *all = mem_get(sizeof(*all));
	int rc;

	all->o = *o;
	all->asked = mailbox_new();
	all->ended = mailbox_new();
	list_init(&all->waiting);
	list_init(&all->running);
	rc = thread_start("errand", run_errands, all, &all->thread, e);
	if (rc < 0)
		errands_free(all);
	else
		*ret = all;
	return rc;
}

void
errands_hurry(struct errands *all)
{
	if (all)
		atomic_store(&all->hurry, true);
}

void
errands_stop(struct errands *all)
{
	if (!all)
		return;
	atomic_store(&all->hurry, true);
	atomic_store(&all->stopping, true);
	thread_join(all->thread);
}
