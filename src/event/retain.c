#include "event/retain.h"

#include "base/log/metric.h"
#include "event/append_priv.h"
#include "event/limits.h"
#include "event/when.h"
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
	    sql_retain_mark(db, e, .minute = cut->first_us / US_PER_MIN,
		.most = RETAIN_STEP) < 0 ||
	    sql_retain_log_key(db, e, .hour = cut->first_us / US_PER_HOUR,
		.seq = cut->first) < 0)
		return e->code;
	metric_add(M_EVENTS_EXPIRED, n);
	return OK;
}

/* What these weigh, from some of them. */
static int
weigh(struct db *db, struct retain_pending *p, int64_t upto, struct err *e)
{
	int64_t n = upto - p->from + 1;
	struct sql_log_sample_row row = {0};

	if (n <= 0)
		return OK;
	TRY(sql_log_sample_one(db, &row, e, .lo = p->from, .hi = upto,
	    .gap = n / RETAIN_SAMPLES + 1));
	p->each = RETAIN_ENTRY_BYTES + (row.n > 0 ? row.bytes / row.n : 0);
	p->bytes = n * p->each;
	return OK;
}

int
retain_look(struct db *db, const struct retain_keep *keep, int64_t now_us,
    struct retain_pending *ret, struct err *e)
{
	struct sql_log_first_row first;
	struct sql_log_needed_row needed = {0};
	struct sql_seq_from_row from;
	struct retain_pending p = {.from = INT64_MAX, .each = 1};
	int64_t young = 0;

	if (TRY(sql_log_first_one(db, &first, e)) == 0)
		return 0;
	p.first = first.seq;
	p.first_us = first.received_at;
	TRY(sql_log_needed_one(db, &needed, e, .first = first.seq));
	if (!needed.pos_null) {
		if (needed.pos < first.seq)
			needed.pos = first.seq - 1;
		if (TRY(sql_seq_from_one(db, &from, e, .seq = needed.pos + 1)) >
		    0) {
			p.from = from.seq;
			p.from_us = from.received_at;
		}
	}
	if (p.from < INT64_MAX && p.from_us < now_us - keep->us) {
		TRY(when_seq(db, now_us - keep->us, &young, e));
		TRY(weigh(db, &p, young - 1, e));
	}
	*ret = p;
	return 1;
}

bool
retain_may(const struct retain_keep *keep, const struct retain_pending *p,
    int64_t now_us, int64_t *ret_upto, int64_t *ret_before_us)
{
	*ret_before_us = now_us - keep->us;
	if (keep->us <= 0 || p->first_us >= *ret_before_us)
		return false;
	if (p->from > p->first) {
		*ret_upto = p->from - 1;
	} else if (p->first_us < now_us - keep->pending_us) {
		*ret_upto = INT64_MAX;
		*ret_before_us = now_us - keep->pending_us;
	} else if (p->bytes > keep->pending_bytes) {
		*ret_upto =
		    p->from + (p->bytes - keep->pending_bytes) / p->each;
	} else {
		return false;
	}
	return true;
}

double
retain_used(const struct retain_keep *keep, const struct retain_pending *p,
    int64_t now_us)
{
	double age, weight;

	if (keep->us <= 0 || p->from == INT64_MAX)
		return 0;
	age = (double)(now_us - p->from_us) / (double)keep->pending_us;
	weight = (double)p->bytes / (double)keep->pending_bytes;
	return 100 * (age > weight ? age : weight);
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

/*
 * What is waited for stays. Who waits is looked for once a second: meanwhile a
 * replay alone can come to wait for what is past its time.
 */
static int
spare(struct retain *x, struct db *db, struct retain_cut *cut, struct err *e)
{
	int64_t now_ms = cut->now_us / US_PER_MS, upto;

	if (now_ms >= x->look_ms || x->look_ms > now_ms + RETAIN_REST_MS) {
		TRY(retain_look(db, &x->keep, cut->now_us, &x->pending, e));
		x->look_ms = now_ms + RETAIN_REST_MS;
	}
	x->pending.first = cut->first;
	x->pending.first_us = cut->first_us;
	if (!retain_may(
		&x->keep, &x->pending, cut->now_us, &upto, &cut->before_us))
		upto = 0;
	if (cut->upto > upto)
		cut->upto = upto;
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
	    .cut = {.before_us = now_us - x->keep.us, .now_us = now_us}};
	struct retain_cut *cut = &step.cut;
	int64_t now_ms = now_us / US_PER_MS, most = rows_now(x, last_seq);
	int rc;

	if (x->keep.us <= 0 || (now_ms < x->not_before_ms &&
				   !(x->behind && x->credit >= RETAIN_STEP)))
		return OK;
	x->behind = false;
	rc = oldest(db, cut, e);
	if (rc > 0) {
		cut->upto = cut->first + most - 1;
		if (cut->upto >= last_seq)
			cut->upto = last_seq - 1;
		TRY(edge(db, cut, e));
		TRY(spare(x, db, cut, e));
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
