#include "ops/jobs.h"

#include "audit/audit.h"
#include "base/log/log.h"
#include "base/log/log_folder.h"
#include "base/log/metric.h"
#include "event/append.h"
#include "loop/mailbox.h"
#include "loop/thread.h"
#include "ops/alerts.h"
#include "ops/ended.h"
#include "ops/expire.h"
#include "ops/limits.h"
#include "ops/tidy.h"
#include "reader/clean.h"
#include "reader/reterm.h"
#include "sql.h"
#include "store/limits.h"
#include "task/limits.h"
#include "task/target.h"
#include "task/task.h"

#define CHECKPOINT_MS 250
#define BUSY_MS       20       /* while much is written */
#define ARTICLES_MS   86400000 /* a day; sooner when little is kept */
#define ARTICLES_PART 100
#define TASKS_MS      60000
#define TASKS_SOON_MS 1000 /* there is more, or little is kept */

enum {
	PIECES,
	AUDIT,
	ENDED,
	EXPIRED,
	TASKS,
	SESSIONS,
	ARTICLES,
	WORDS,
	LOGS,
	KINDS
};

struct jobs {
	struct jobs_opts o;
	struct db *db;
	struct mailbox *box; /* closed to end the thread; never gets mail */
	struct thread *thread;
	int64_t at_ms[KINDS]; /* when each comes next */
	bool logs_failed;     /* told once */
	int64_t checkpoint_at_ms;
	int64_t busy_until_ms; /* much is being written */
};

/*
 * All that is in the WAL; under load as soon as there is a share of it, so that
 * the writer finds little to do when it restarts the file.
 */
static void
checkpoint(struct jobs *j)
{
	int64_t behind = db_wal_behind(j->db), now_ms = clock_mono_ms();
	int64_t wal = 0;
	struct err e = {0};

	/* Just after a restart there is little, which means nothing. */
	if (behind > (int64_t)WAL_SHARE_BYTES / 4)
		j->busy_until_ms = now_ms + 4 * CHECKPOINT_MS;
	if (now_ms < j->checkpoint_at_ms &&
	    (behind < (int64_t)WAL_SHARE_BYTES || db_wal_due(j->db)))
		return;
	j->checkpoint_at_ms = now_ms + CHECKPOINT_MS;
	if (db_checkpoint(j->db, CHECKPOINT_COPY, &wal, &e) == OK) {
		metric_set(M_WAL_BYTES, wal);
		return;
	}
	log_err(LOG_WARN, "checkpoint failed", &e);
	/* A full disk is not asked fifty times a second. */
	j->busy_until_ms = 0;
}

struct pieces {
	int64_t upto, before_us; /* retain_may() */
};

/* By time, and never more than was meant: clocks are not that exact. */
static int
detach(struct db *db, void *ctx, struct err *e)
{
	const struct pieces *p = ctx;
	struct sql_pieces_detach_row n;
	struct sql_log_first_row first;

	TRY(sql_pieces_detach_one(db, &n, e, .cut = p->before_us));
	if (TRY(sql_log_first_one(db, &first, e)) > 0 &&
	    first.seq - 1 > p->upto)
		return err_set(e, ERR_CONFLICT, "somebody waits for them");
	return OK;
}

static int
detach_old(struct jobs *j, struct err *e)
{
	const struct retain_keep *keep = append_keep(j->o.append);
	struct retain_pending now;
	struct sql_seq_from_row after;
	struct pieces p;
	int64_t now_us = clock_now_us();

	if (TRY(retain_look(j->db, keep, now_us, &now, e)) == 0 ||
	    !retain_may(keep, &now, now_us, &p.upto, &p.before_us))
		return OK;
	if (p.upto < INT64_MAX &&
	    TRY(sql_seq_from_one(j->db, &after, e, .seq = p.upto + 1)) > 0 &&
	    after.received_at < p.before_us)
		p.before_us = after.received_at;
	return db_tx(j->db, detach, &p, e);
}

static void
drop_pieces(struct jobs *j)
{
	struct sql_pieces_drop_row dropped = {0};
	struct err e = {0};
	int rc;

	if (!db_has_pieces(j->db))
		return;
	rc = detach_old(j, &e);
	if (rc >= 0)
		rc = sql_pieces_drop_one(j->db, &dropped, &e);
	if (rc < 0)
		log_err(LOG_WARN, "old pieces of the log stay", &e);
	else if (dropped.n > 0)
		log_fmt(LOG_INFO, "old pieces of the log dropped", "%lld",
		    (long long)dropped.n);
}

/* Work in steps on the commit thread; it outlives the jobs thread. */
struct chore {
	struct append_job job;
	struct append *append;
	const char *failed; /* what is told when a step fails */
	int64_t cut_us, removed;
	int left;           /* of its steps; the next look goes on */
	struct clean clean; /* of articles, which all go */
};

static int
audit_step(struct db *db, void *ctx, struct err *e)
{
	struct chore *s = ctx;

	return audit_retain(db, s->cut_us, &s->removed, e);
}

static int
ended_one(struct db *db, void *ctx, struct err *e)
{
	struct chore *s = ctx;

	return ended_step(db, clock_now_us(), &s->removed, e);
}

/* The next step is posted anew: what waits meanwhile comes first. */
static void
stepped(struct append_job *job)
{
	struct chore *s = job->ctx;
	struct err e = job->err;

	if (e.code < 0)
		log_err(LOG_WARN, s->failed, &e);
	else if (s->removed > 0 && --s->left > 0 &&
		 append_post(s->append, job, &e) == OK)
		return;
	free(s);
}

static void
post_chore(struct jobs *j, int (*step)(struct db *, void *, struct err *),
    void (*done)(struct append_job *), const char *failed, int64_t cut_us)
{
	struct chore *s = mem_get(sizeof(*s));
	struct err e;

	*s = (struct chore){
	    .job = {.fn = step, .ctx = s, .done = done},
	    .append = j->o.append,
	    .failed = failed,
	    .cut_us = cut_us,
	    .left = AUDIT_JOB_STEPS,
	    .clean = {.cut_us = cut_us},
	};
	if (append_post(s->append, &s->job, &e) < 0)
		free(s); /* the next look finds them again */
}

static void
drop_audit(struct jobs *j)
{
	int64_t cut_us = clock_now_us() - j->o.audit_keep_us;
	struct err e = {0};
	bool old = false;

	if (audit_old(j->db, cut_us, &old, &e) == OK && old)
		post_chore(
		    j, audit_step, stepped, "old audit rows stay", cut_us);
}

static void
drop_ended(struct jobs *j)
{
	struct err e = {0};
	bool any = false;

	if (ended_any(j->db, &any, &e) == OK && any)
		post_chore(j, ended_one, stepped,
		    "rows of ended subscriptions stay", 0);
}

static void
end_expired(struct jobs *j)
{
	struct err e = {0};

	if (expire_look(j->o.append, j->db, clock_now_us(), &e) < 0)
		log_err(LOG_WARN, "consumers whose time is over stay", &e);
}

static int
results_step(struct db *db, void *ctx, struct err *e)
{
	struct chore *s = ctx;
	int64_t minute = s->cut_us / (60 * US_PER_S);

	/* Nobody looks at reasons that are older than an hour. */
	TRY((int)sql_stat_reason_drop(
	    db, e, .before = minute - 2 * ALERT_HOUR_M));
	return task_expire(db, s->cut_us, &s->removed, e);
}

static void
end_callbacks(struct jobs *j)
{
	int64_t keep_us = j->o.callbacks_keep_us;
	struct err e = {0};
	int n =
	    target_end_idle(j->o.append, j->db, clock_now_us() - keep_us, &e);

	if (n < 0)
		log_err(LOG_WARN, "callbacks that nobody needs stay", &e);
	else if (n == TASK_IDLE_STEP || keep_us < TASKS_MS * US_PER_MS)
		j->at_ms[TASKS] = clock_mono_ms() + TASKS_SOON_MS;
}

static void
drop_results(struct jobs *j)
{
	post_chore(j, results_step, stepped, "old results of tasks stay",
	    clock_now_us());
	end_callbacks(j);
}

static int
sessions_step(struct db *db, void *ctx, struct err *e)
{
	struct chore *s = ctx;

	s->removed =
	    sql_session_expire(db, e, .now = s->cut_us, .most = RETAIN_STEP);
	return s->removed < 0 ? (int)s->removed : OK;
}

static void
drop_sessions(struct jobs *j)
{
	int64_t now_us = clock_now_us();
	struct sql_session_expired_row row;
	struct err e = {0};

	if (sql_session_expired_one(j->db, &row, &e, .now = now_us) > 0)
		post_chore(j, sessions_step, stepped,
		    "sessions past their end stay", now_us);
}

static void
turn_logs(struct jobs *j)
{
	struct err e = {0};

	if (!j->o.logs)
		return;
	if (log_folder_turn(j->o.logs, clock_now_us(), &e) == OK)
		j->logs_failed = false;
	else if (!j->logs_failed) {
		j->logs_failed = true;
		log_err(LOG_ERROR, "the log's folder is in trouble", &e);
	}
}

static int
articles_step(struct db *db, void *ctx, struct err *e)
{
	struct chore *s = ctx;

	return clean_step(db, &s->clean, clock_now_us(), e);
}

static void
articles_stepped(struct append_job *job)
{
	struct chore *s = job->ctx;
	struct err e = job->err;

	if (e.code < 0) {
		log_err(LOG_WARN, s->failed, &e);
	} else {
		s->removed += s->clean.removed;
		clean_next(&s->clean);
		if (s->clean.more && append_post(s->append, job, &e) == OK)
			return;
		if (s->removed > 0)
			log_fmt(LOG_INFO, "old articles removed", "%lld",
			    (long long)s->removed);
	}
	free(s);
}

static void
drop_articles(struct jobs *j)
{
	int64_t rest = j->o.articles_keep_us / US_PER_MS / ARTICLES_PART;
	int64_t cut_us = clock_now_us() - j->o.articles_keep_us;
	struct err e = {0};
	bool any = false;

	if (j->o.articles_keep_us <= 0)
		return;
	if (rest < ARTICLES_MS)
		j->at_ms[ARTICLES] = clock_mono_ms() + rest;
	if (clean_any(j->db, cut_us, &any, &e) == OK && any)
		post_chore(j, articles_step, articles_stepped,
		    "old articles stay", cut_us);
}

static int
words_step(struct db *db, void *ctx, struct err *e)
{
	struct chore *s = ctx;

	s->left = AUDIT_JOB_STEPS; /* to the end */
	return reterm_step(db, &s->removed, e);
}

static void
cut_words_anew(struct jobs *j)
{
	struct err e = {0};
	bool any = false;

	if (reterm_any(j->db, &any, &e) == OK && any)
		post_chore(
		    j, words_step, stepped, "articles keep their old words", 0);
}

static const struct {
	int64_t every_ms;
	void (*run)(struct jobs *j);
} JOBS[KINDS] = {
    [PIECES] = {60000, drop_pieces},
    [AUDIT] = {AUDIT_JOB_MS, drop_audit},
    [ENDED] = {ENDED_JOB_MS, drop_ended},
    [EXPIRED] = {EXPIRE_MS, end_expired},
    [TASKS] = {TASKS_MS, drop_results},
    [SESSIONS] = {60000, drop_sessions},
    [ARTICLES] = {ARTICLES_MS, drop_articles},
    [WORDS] = {60000, cut_words_anew},
    [LOGS] = {1000, turn_logs}, /* a new day; also when the last try failed */
};

static void
jobs_run(void *arg)
{
	struct jobs *j = arg;

	do {
		bool busy = clock_mono_ms() < j->busy_until_ms;

		(void)mailbox_take(j->box, busy ? BUSY_MS : CHECKPOINT_MS);
		if (db_has_wal(j->db))
			checkpoint(j);
		for (size_t i = 0; i < KINDS; i++) {
			int64_t now_ms = clock_mono_ms();

			if (now_ms < j->at_ms[i])
				continue;
			j->at_ms[i] = now_ms + JOBS[i].every_ms;
			JOBS[i].run(j);
		}
		tidy_look(j->o.tidy);
		if (j->o.alerts)
			alerts_turn(j->o.alerts, j->db);
		j->o.look(j->o.arg, j->db, false);
	} while (!mailbox_closed(j->box));
	j->o.look(j->o.arg, j->db, true);
}

int
jobs_start(const struct jobs_opts *o, struct jobs **ret, struct err *e)
{
	struct jobs *j = mem_get(sizeof(*j));
	int rc = db_open(o->store, DB_JOBS, &j->db, e);

	j->o = *o;
	j->box = mailbox_new();
	if (rc == OK)
		rc = thread_start("jobs", jobs_run, j, &j->thread, e);
	if (rc < 0)
		jobs_stop(j);
	else
		*ret = j;
	return rc;
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
