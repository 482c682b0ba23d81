#include "ops/jobs.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/metric.h"
#include "loop/mailbox.h"
#include "loop/thread.h"
#include "sql.h"

#define CHECKPOINT_MS 250
#define PIECES_MS     60000

struct jobs {
	struct jobs_opts o;
	struct db *db;
	struct mailbox *box; /* closed to end the thread; never gets mail */
	struct thread *thread;
	int64_t pieces_at_ms;
};

static void
checkpoint(struct jobs *j)
{
	struct err e = {0};
	int64_t wal = 0;

	if (db_checkpoint(j->db, false, &wal, &e) < 0)
		log_err(LOG_WARN, "checkpoint failed", &e);
	else
		metric_set(M_WAL_BYTES, wal);
}

/* One call that answers a number. */
static int
number(int rc, struct rows *rows, int64_t *ret, struct err *e)
{
	*ret = 0;
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static void
drop_pieces(struct jobs *j)
{
	int64_t now_ms = clock_mono_ms(), detached, dropped = 0;
	struct rows *rows = NULL;
	struct err e = {0};
	int rc;

	if (j->o.keep_us <= 0 || now_ms < j->pieces_at_ms)
		return;
	j->pieces_at_ms = now_ms + PIECES_MS;
	rc = sql_pieces_detach(j->db, clock_now_us() - j->o.keep_us, &rows, &e);
	rc = number(rc, rows, &detached, &e);
	rows = NULL;
	if (rc == OK)
		rc = sql_pieces_drop(j->db, &rows, &e);
	if (rc == OK)
		rc = number(rc, rows, &dropped, &e);
	if (rc < 0)
		log_err(LOG_WARN, "old pieces of the log stay", &e);
	else if (detached > 0 || dropped > 0)
		log_fmt(LOG_INFO, "old pieces of the log dropped", "%lld",
		    (long long)dropped);
}

static void
run(void *arg)
{
	struct jobs *j = arg;

	do {
		(void)mailbox_take(j->box, CHECKPOINT_MS);
		if (db_engine(j->db) == STORE_SQLITE)
			checkpoint(j);
		else
			drop_pieces(j);
	} while (!mailbox_closed(j->box));
}

int
jobs_start(const struct jobs_opts *o, struct jobs **ret, struct err *e)
{
	struct jobs *j = calloc(1, sizeof(*j));
	int rc = OK;

	if (!j)
		return err_set(e, ERR_NOMEM, "no memory for the jobs thread");
	j->o = *o;
	j->box = mailbox_new();
	if (!j->box)
		rc = err_set(e, ERR_NOMEM, "no memory for the jobs thread");
	if (rc == OK)
		rc = db_open(o->store, DB_JOBS, &j->db, e);
	if (rc == OK)
		rc = thread_start("jobs", run, j, &j->thread, e);
	if (rc < 0) {
		db_close(j->db);
		mailbox_free(j->box);
		free(j);
		return rc;
	}
	*ret = j;
	return OK;
}

void
jobs_stop(struct jobs *j)
{
	if (!j)
		return;
	mailbox_close(j->box);
	thread_join(j->thread);
	db_close(j->db);
	mailbox_free(j->box);
	free(j);
}
