#include "event/retain.h"

#include "base/log/metric.h"
#include "event/append_priv.h"
#include "event/limits.h"
#include "sql.h"
#include "store/limits.h"

#define RETAIN_BUSY_MS 100  /* between steps while there is other work */
#define RETAIN_REST_MS 1000 /* after a look that found nothing old */
#define US_PER_MIN     (60 * US_PER_S)

struct step {
	const struct append_engine *engine;
	struct retain_cut cut;
};

static int
delete_some(struct db *db, void *ctx, struct err *e)
{
	const struct step *s = ctx;
	const struct retain_cut *cut = &s->cut;
	int64_t n;

	if (sql_keep_rows(db, e, .lo = cut->first, .hi = cut->upto,
		.now = cut->now_us) < 0 ||
	    sql_keep_deads(db, e, .lo = cut->first, .hi = cut->upto) < 0 ||
	    s->engine->retain_ids(db, cut, e) < 0)
		return e->code;
	n = sql_retain_log(db, e, .upto = cut->upto, .cut = cut->before_us);
	if (n < 0 ||
	    sql_retain_mark(db, e, .minute = cut->before_us / US_PER_MIN,
		.most = RETAIN_STEP) < 0 ||
	    sql_retain_log_key(db, e, .hour = cut->first_us / US_PER_HOUR,
		.seq = cut->first) < 0)
		return e->code;
	metric_add(M_EVENTS_EXPIRED, n);
	return OK;
}

/* 1 when the oldest entry is past its time. */
static int
oldest(struct db *db, struct retain_cut *cut, struct err *e)
{
	struct sql_log_first_row row;
	int rc = sql_log_first_one(db, &row, e);

	if (rc <= 0)
		return rc;
	metric_set(M_LOG_FIRST, row.seq);
	cut->first = row.seq;
	cut->first_us = row.received_at;
	return row.received_at < cut->before_us;
}

/* Where deliveries are, when somebody delivers: dispatch never waits long. */
static int
edge(struct db *db, struct retain_cut *cut, struct err *e)
{
	struct sql_grp_edge_row row;

	if (TRY(sql_grp_edge_one(db, &row, e)) > 0 && !row.cursor_null &&
	    cut->upto > row.cursor)
		cut->upto = row.cursor;
	return OK;
}

/* For each entry that comes two may go: the old end is always the faster. Of a
 * shared store, where to delete costs more, whole pieces will go. */
static int64_t
rows_now(struct retain *x, int64_t last_seq)
{
	if (x->engine->alone && x->seen > 0)
		x->credit += 2 * (last_seq - x->seen);
	x->seen = last_seq;
	if (x->credit > RETAIN_STEP_MAX)
		x->credit = RETAIN_STEP_MAX;
	return x->credit > RETAIN_STEP ? x->credit : RETAIN_STEP;
}

int
retain_step(struct retain *x, struct db *db, int64_t last_seq, int64_t now_us,
    bool idle, struct err *e)
{
	struct step step = {.engine = x->engine,
	    .cut = {.before_us = now_us - x->keep_us, .now_us = now_us}};
	struct retain_cut *cut = &step.cut;
	int64_t now_ms = now_us / US_PER_MS, most = rows_now(x, last_seq);
	int rc;

	if (x->keep_us <= 0 || (now_ms < x->not_before_ms &&
				   !(x->behind && x->credit >= RETAIN_STEP)))
		return OK;
	x->behind = false;
	rc = oldest(db, cut, e);
	if (rc > 0) {
		cut->upto = cut->first + most - 1;
		if (cut->upto >= last_seq)
			cut->upto = last_seq - 1;
		TRY(edge(db, cut, e));
	}
	if (rc <= 0 || cut->upto < cut->first) {
		x->not_before_ms = now_ms + RETAIN_REST_MS;
		return rc < 0 ? rc : OK;
	}
	rc = db_tx(db, delete_some, &step, e);
	x->behind = rc == OK;
	x->credit = 0;
	x->not_before_ms = now_ms + (idle ? 0 : RETAIN_BUSY_MS);
	return rc;
}
