#include "ops/tidy.h"

#include <stdatomic.h>

#include "base/log/log.h"
#include "event/append.h"
#include "event/when.h"
#include "ops/limits.h"
#include "sql.h"
#include "store/limits.h"

#define US_PER_MIN (60 * US_PER_S)
#define REST_PARTS 100

struct key {
	int64_t a, b, c, d;
};

/* Where a pass is: one of PHASES, and the key that it is at there. */
struct place {
	size_t phase;
	struct key key;
};

struct tidy {
	struct append *append;
	int64_t keep_us;
	int64_t not_before_ms;
	_Atomic bool busy;
	struct append_job job;
	int left; /* steps of this look */
	bool more;
	int64_t now_us; /* 0: the clock's */
	/* where the pass is; what a step that failed left is done again */
	struct place at;
	struct place next; /* where it will be once the step is committed */
};

struct tidy *
tidy_new(struct append *append, int64_t keep_us)
{
	struct tidy *t = mem_get(sizeof(*t));

	t->append = append;
	t->keep_us = keep_us;
	return t;
}

void
tidy_free(struct tidy *t)
{
	free(t);
}

/* Where attempts may be old: below what is young, and what is delivered. */
static int
edge(struct db *db, int64_t cut_us, int64_t *ret, struct err *e)
{
	struct sql_grp_edge_row row = {.cursor_null = true};

	TRY(when_seq(db, cut_us, ret, e));
	if (TRY(sql_grp_edge_one(db, &row, e)) > 0 && !row.cursor_null &&
	    row.cursor + 1 < *ret)
		*ret = row.cursor + 1;
	return OK;
}

/* 1: *to is where this step ends; 0: the table ends with it. */
static int
end_of(int rc, struct rows *rows, int columns, struct key *to, struct err *e)
{
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*to = (struct key){rows_int(rows, 0), rows_int(rows, 1),
		    rows_int(rows, 2), columns > 3 ? rows_int(rows, 3) : 0};
	rows_close(rows);
	return rc;
}

/*
 * A step of a phase: 1 when there is more of it behind t->next.key, 0 when it
 * is through.
 */
static int
attempts(struct tidy *t, struct db *db, int64_t now_us, struct err *e)
{
	struct key k = t->at.key, to = {0};
	struct rows *rows = NULL;
	int64_t top = 0, cut_us = now_us - t->keep_us;
	int rc;

	TRY(edge(db, cut_us, &top, e));
	rc = sql_tidy_attempts_end(db, &rows, e, .seq = k.a, .sub = k.b,
	    .rep = k.c, .n = k.d, .edge = top, .skip = RETAIN_STEP - 1);
	rc = TRY(end_of(rc, rows, 4, &to, e));
	if (rc == 0)
		to = (struct key){.a = top};
	t->next.key = to;
	TRY((int)sql_tidy_attempts(db, e, .seq = k.a, .sub = k.b, .rep = k.c,
	    .n = k.d, .to_seq = to.a, .to_sub = to.b, .to_rep = to.c,
	    .to_n = to.d, .cut = cut_us));
	return rc;
}

static int
deads(struct tidy *t, struct db *db, int64_t now_us, struct err *e)
{
	struct key k = t->at.key, to = {0};
	struct rows *rows = NULL;
	int rc = sql_tidy_deads_end(db, &rows, e, .sub = k.a, .seq = k.b,
	    .rep = k.c, .skip = RETAIN_STEP - 1);

	rc = TRY(end_of(rc, rows, 3, &to, e));
	if (rc == 0)
		to = (struct key){.a = INT64_MAX};
	t->next.key = to;
	TRY((int)sql_tidy_deads(db, e, .sub = k.a, .seq = k.b, .rep = k.c,
	    .to_sub = to.a, .to_seq = to.b, .to_rep = to.c,
	    .cut = now_us - t->keep_us));
	return rc;
}

/* Of what the log has lost nothing older can come, but from a row. */
static int
versions(struct tidy *t, struct db *db, int64_t, struct err *e)
{
	struct sql_log_first_row first = {0};
	struct sql_tidy_versions_end_row end = {0};
	int64_t from = t->at.key.a, to;
	int rc;

	TRY(sql_log_first_one(db, &first, e));
	rc = TRY(sql_tidy_versions_end_one(db, &end, e, .seq = from,
	    .edge = first.seq, .skip = RETAIN_STEP - 1));
	to = rc > 0 ? end.seq : first.seq - 1;
	t->next.key = (struct key){.a = to};
	TRY((int)sql_tidy_versions(db, e, .seq = from, .to_seq = to));
	return rc;
}

static int
fold(struct tidy *t, struct db *db, int64_t now_us, struct err *e)
{
	int64_t upto = now_us / US_PER_MIN - STAT_MINUTES;
	struct sql_tidy_stat_next_row row = {.minute_null = true};

	TRY(sql_tidy_stat_next_one(db, &row, e, .from_minute = t->at.key.a,
	    .to_minute = upto - upto % 60));
	if (row.minute_null)
		return 0;
	t->next.key = (struct key){.a = row.minute};
	TRY((int)sql_tidy_stat_fold(
	    db, e, .minute = row.minute, .most = RETAIN_STEP));
	TRY((int)sql_tidy_stat_drop(
	    db, e, .minute = row.minute, .most = RETAIN_STEP));
	return 1;
}

static int
old_stats(struct tidy *t, struct db *db, int64_t now_us, struct err *e)
{
	return TRY((int)sql_tidy_stat_old(db, e,
		   .before = (now_us - t->keep_us) / US_PER_MIN,
		   .most = RETAIN_STEP)) == RETAIN_STEP;
}

static int
replays(struct tidy *t, struct db *db, int64_t now_us, struct err *e)
{
	return TRY((int)sql_tidy_replays(db, e, .cut = now_us - t->keep_us,
		   .most = RETAIN_STEP)) == RETAIN_STEP;
}

static int (*const PHASES[])(struct tidy *t, struct db *db, int64_t now_us,
    struct err *e) = {attempts, deads, versions, fold, old_stats, replays};

static int
step(struct db *db, void *ctx, struct err *e)
{
	struct tidy *t = ctx;
	int64_t now_us = t->now_us ? t->now_us : clock_now_us();

	t->next = t->at;
	if (TRY(PHASES[t->at.phase](t, db, now_us, e)) == 0)
		t->next = (struct place){.phase = t->at.phase + 1};
	t->more = t->next.phase < COUNT_OF(PHASES);
	return OK;
}

static void
move_on(struct tidy *t)
{
	t->at = t->more ? t->next : (struct place){0};
}

int
tidy_run(struct tidy *t, struct db *db, int64_t now_us, bool *ret_more,
    struct err *e)
{
	int rc;

	t->now_us = now_us;
	rc = db_tx(db, step, t, e);
	t->now_us = 0;
	TRY(rc);
	move_on(t);
	*ret_more = t->more;
	return OK;
}

static void
rest(struct tidy *t)
{
	int64_t ms = t->keep_us / US_PER_MS / REST_PARTS;

	if (ms < TIDY_MS)
		ms = TIDY_MS;
	if (ms > TIDY_REST_MAX_MS)
		ms = TIDY_REST_MAX_MS;
	t->not_before_ms = clock_mono_ms() + ms;
}

/* On the commit thread; `busy` hands the rest back to the jobs thread. */
static void
stepped(struct append_job *job)
{
	struct tidy *t = job->ctx;
	struct err e = job->err;

	if (e.code < 0) {
		log_err(LOG_WARN, "old deliveries stay", &e);
	} else {
		move_on(t);
		if (!t->more)
			rest(t);
		else if (--t->left > 0 && append_post(t->append, job, &e) == OK)
			return;
	}
	atomic_store(&t->busy, false);
}

void
tidy_look(struct tidy *t)
{
	struct err e;

	if (atomic_load(&t->busy) || clock_mono_ms() < t->not_before_ms)
		return;
	t->not_before_ms = clock_mono_ms() + TIDY_MS;
	t->left = TIDY_STEPS;
	t->job = (struct append_job){.fn = step, .ctx = t, .done = stepped};
	atomic_store(&t->busy, true);
	if (append_post(t->append, &t->job, &e) < 0)
		atomic_store(&t->busy, false);
}
