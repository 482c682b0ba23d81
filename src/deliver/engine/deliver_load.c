#include "contract/verdict.h"
#include "deliver/engine/deliver_priv.h"
#include "sql.h"

#define ROWS_A_PAGE 1000

static int
load_endpoints(struct core *c, struct db *db, struct err *e)
{
	struct sql_load_endpoints_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_load_endpoints(db, &rows, e));
	while (TRY(sql_load_endpoints_next(rows, &row, e)) > 0)
		core_load_endpoint(c, &(struct core_endpoint){
					  .endpoint = (uint64_t)row.endpoint,
					  .open_until = row.open_until,
					  .not_before = row.not_before,
				      });
	return OK;
}

static int
load_settled(struct core *c, struct db *db, int64_t cursor, struct err *e)
{
	struct sql_load_settled_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_load_settled(db, &rows, e, .cursor = cursor));
	while (TRY(sql_load_settled_next(rows, &row, e)) > 0)
		core_load_settled(c, (uint32_t)row.sub, row.seq, (int)row.rep);
	return OK;
}

/* How many; *last is the last one. */
static int
load_page(struct core *c, struct db *db, struct core_row *last, int64_t now,
    struct err *e)
{
	struct sql_load_rows_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	int n = 0;

	TRY(sql_load_rows(db, &rows, e, .sub = last->sub, .seq = last->seq,
	    .rep = last->rep, .most = ROWS_A_PAGE));
	for (; TRY(sql_load_rows_next(rows, &row, e)) > 0; n++) {
		*last = (struct core_row){
		    .sub = (uint32_t)row.sub,
		    .rep = (int)row.rep,
		    .okey = (uint64_t)row.okey,
		    .skey = (uint64_t)row.skey,
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
		    .rec = {(uint64_t)row.rec_a, (uint64_t)row.rec_b},
		    .rv = row.rv,
		    .asked = row.asked != 0,
		};
		core_load_row(c, last, now);
	}
	return n;
}

/* One of a subscription that there is no more is left alone. */
static int
load_reader(
    struct deliver *d, const struct sql_load_readers_row *row, struct err *e)
{
	struct core_reader rd = {
	    .sub = (uint32_t)row->sub,
	    .okey = (uint64_t)row->okey,
	    .rep = (int)row->rep,
	    .pos = row->pos,
	    .until = row->until_seq,
	    .exclusive = row->exclusive != 0,
	};
	struct replay_terms t = {.rate = row->rate,
	    .types = row->types,
	    .order_key = row->pkey,
	    .tenant = row->tenant.p ? uuid_of(row->tenant) : (struct uuid){{0}},
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
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_load_readers(d->confs.db, &rows, e));
	while (TRY(sql_load_readers_next(rows, &row, e)) > 0)
		TRY(load_reader(d, &row, e));
	return OK;
}

int
deliver_load_replays(struct deliver *d, uint32_t sub, struct err *e)
{
	struct sql_load_readers_row row;
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_load_replays(d->confs.db, &rows, e, .sub = sub));
	while (TRY(sql_load_readers_next(rows, &row, e)) > 0)
		TRY(load_reader(d, &row, e));
	return OK;
}

int
deliver_load(struct deliver *d, int64_t now, struct err *e)
{
	struct core_row last = {.sub = 0, .seq = -1, .rep = -1};
	struct db *db = d->confs.db;

	core_load_cursor(d->core, d->owner.cursor);
	TRY(load_endpoints(d->core, db, e));
	TRY(load_settled(d->core, db, d->owner.cursor, e));
	while (TRY(load_page(d->core, db, &last, now, e)) == ROWS_A_PAGE)
		continue;
	return load_readers(d, e);
}
