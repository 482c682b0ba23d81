#include "base/str.h"
#include "contract/verdict.h"
#include "deliver/engine/deliver_priv.h"
#include "sql.h"

#define ROWS_A_PAGE 1000

static uint64_t
as_hash(int64_t v)
{
	uint64_t h;

	memcpy(&h, &v, sizeof(h));
	return h;
}

static int
load_endpoints(struct core *c, struct db *db, struct err *e)
{
	struct sql_load_endpoints_row row;
	struct rows *rows = NULL;
	int rc = sql_load_endpoints(db, &rows, e);

	while (rc >= 0 && (rc = sql_load_endpoints_next(rows, &row, e)) > 0)
		core_load_endpoint(c, &(struct core_endpoint){
					  .endpoint = as_hash(row.endpoint),
					  .open_until = row.open_until,
					  .not_before = row.not_before,
				      });
	rows_close(rows);
	return rc;
}

static int
load_settled(struct core *c, struct db *db, int64_t cursor, struct err *e)
{
	struct sql_load_settled_row row;
	struct rows *rows = NULL;
	int rc = sql_load_settled(db, &rows, e, .cursor = cursor);

	while (rc >= 0 && (rc = sql_load_settled_next(rows, &row, e)) > 0)
		core_load_settled(c, (uint32_t)row.sub, row.seq, (int)row.rep);
	rows_close(rows);
	return rc;
}

static int
load_page(struct core *c, struct db *db, struct core_row *last, int64_t now,
    int *ret_n, struct err *e)
{
	struct sql_load_rows_row row;
	struct rows *rows = NULL;
	int rc = sql_load_rows(db, &rows, e, .sub = last->sub, .seq = last->seq,
	    .rep = last->rep, .most = ROWS_A_PAGE);

	*ret_n = 0;
	while (rc >= 0 && (rc = sql_load_rows_next(rows, &row, e)) > 0) {
		*last = (struct core_row){
		    .sub = (uint32_t)row.sub,
		    .rep = (int)row.rep,
		    .okey = as_hash(row.okey),
		    .skey = as_hash(row.skey),
		    .seq = row.seq,
		    .state = (enum core_row_state)row.state,
		    .tries = (int)row.tries,
		    .n = (int)row.n,
		    .crashes = (int)row.crashes,
		    .next_at = row.next_at,
		    .last_status = (int)row.last_status,
		    .last_reason = (int)row.last_reason,
		    .unjudged = reason_unjudged((int)row.last_reason)
				    ? (int)row.last_reason
				    : 0,
		    .rec = {as_hash(row.rec_a), as_hash(row.rec_b)},
		    .rv = row.rv,
		    .asked = row.asked != 0,
		};
		core_load_row(c, last, now);
		++*ret_n;
	}
	rows_close(rows);
	return rc;
}

/* One of a subscription that there is no more is left alone. */
static int
load_reader(
    struct deliver *d, const struct sql_load_readers_row *row, struct err *e)
{
	struct core_reader rd = {
	    .sub = (uint32_t)row->sub,
	    .okey = as_hash(row->okey),
	    .rep = (int)row->rep,
	    .pos = row->pos,
	    .until = row->until_seq,
	    .exclusive = row->exclusive != 0,
	};
	struct replay_terms t = {.rate = row->rate,
	    .types = row->types,
	    .stopped = row->stopped != 0};

	if (rd.rep == 0)
		core_load_reader(d->core, &rd);
	else if (deliver_wish(d, rd.sub))
		return replays_begin(&d->replays, d->core, &rd, &t, e);
	return OK;
}

static int
load_readers(struct deliver *d, struct err *e)
{
	struct sql_load_readers_row row;
	struct rows *rows = NULL;
	int rc = sql_load_readers(d->confs.db, &rows, e);

	while (rc >= 0 && (rc = sql_load_readers_next(rows, &row, e)) > 0)
		rc = load_reader(d, &row, e);
	rows_close(rows);
	return rc;
}

int
deliver_load(struct deliver *d, int64_t now, struct err *e)
{
	struct core_row last = {.sub = 0, .seq = -1, .rep = -1};
	struct db *db = d->confs.db;
	int n = ROWS_A_PAGE, rc;

	core_load_cursor(d->core, d->owner.cursor);
	rc = load_endpoints(d->core, db, e);
	if (rc >= 0)
		rc = load_settled(d->core, db, d->owner.cursor, e);
	while (rc >= 0 && n == ROWS_A_PAGE)
		rc = load_page(d->core, db, &last, now, &n, e);
	if (rc >= 0)
		rc = load_readers(d, e);
	return rc < 0 ? rc : OK;
}
