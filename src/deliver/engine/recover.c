#include "deliver/engine/recover.h"

#include "base/str.h"
#include "contract/verdict.h"
#include "deliver/core/core.h"
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

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_load_endpoints_get(rows, &row);
		core_load_endpoint(c, &(struct core_endpoint){
					  .endpoint = as_hash(row.endpoint),
					  .open_until = row.open_until,
					  .not_before = row.not_before,
				      });
	}
	rows_close(rows);
	return rc;
}

static int
load_settled(struct core *c, struct db *db, int64_t cursor, struct err *e)
{
	struct sql_load_settled_row row;
	struct rows *rows = NULL;
	int rc = sql_load_settled(db, &rows, e, .cursor = cursor);

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_load_settled_get(rows, &row);
		core_load_settled(c, (uint32_t)row.sub, row.seq, (int)row.rep);
	}
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
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_load_rows_get(rows, &row);
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

static int
load_readers(struct core *c, struct db *db, int64_t now,
    int (*replay)(
	void *arg, const struct sql_load_readers_row *row, struct err *e),
    void *arg, struct err *e)
{
	struct sql_load_readers_row row;
	struct rows *rows = NULL;
	int rc = sql_load_readers(db, &rows, e);

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		sql_load_readers_get(rows, &row);
		if (row.rep > 0) {
			rc = replay(arg, &row, e);
			continue;
		}
		core_load_reader(c,
		    &(struct core_reader){
			.sub = (uint32_t)row.sub,
			.okey = as_hash(row.okey),
			.rep = (int)row.rep,
			.pos = row.pos,
			.until = row.until_seq,
		    },
		    now);
	}
	rows_close(rows);
	return rc;
}

int
recover(struct core *c, struct db *db, int64_t cursor, int64_t now,
    int (*replay)(
	void *arg, const struct sql_load_readers_row *row, struct err *e),
    void *arg, struct err *e)
{
	struct core_row last = {.sub = 0, .seq = -1, .rep = -1};
	int n = ROWS_A_PAGE, rc;

	core_load_cursor(c, cursor);
	rc = load_endpoints(c, db, e);
	if (rc >= 0)
		rc = load_settled(c, db, cursor, e);
	while (rc >= 0 && n == ROWS_A_PAGE)
		rc = load_page(c, db, &last, now, &n, e);
	if (rc >= 0)
		rc = load_readers(c, db, now, replay, arg, e);
	return rc < 0 ? rc : OK;
}
