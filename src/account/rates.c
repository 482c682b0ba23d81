#include "account/rates.h"

#include "account/limiter.h"
#include "account/limits.h"
#include "base/log/log.h"
#include "sql.h"

int64_t
rates_id(int64_t user, enum rates_kind kind)
{
	return user * RATES_KINDS + (int64_t)kind;
}

/* What one person took, and how far ahead that is with what all took. */
struct taken {
	int64_t id, us;
	struct sql_rate_take_row row;
	int found; /* 0: the person has left */
};

/* A transaction for each: in one, two nodes could wait for each other. */
static int
tell(struct db *db, void *ctx, struct err *e)
{
	struct taken *t = ctx;

	t->found = TRY(sql_rate_take_one(db, &t->row, e,
	    .user_id = t->id / RATES_KINDS, .kind = t->id % RATES_KINDS,
	    .spent = t->us, .now = clock_now_us()));
	return OK;
}

void
rates_look(struct rates *r, struct db *db, int64_t now_us)
{
	struct taken t = {.id = 0};
	struct err e;

	if (now_us < r->due_us)
		return;
	r->due_us = now_us + RATES_MS * US_PER_MS;
	for (int i = 0; i < RATES_MOST; i++) {
		if (!limiter_untold(r->people, &r->at, &t.id, &t.us))
			return;
		if (db_tx(db, tell, &t, &e) < 0) {
			log_err(LOG_WARN,
			    "what people asked for is not told to other nodes",
			    &e);
			return;
		}
		if (t.found)
			limiter_told(
			    r->people, t.id, t.row.ahead, clock_mono_us());
	}
	r->due_us = now_us; /* there is more */
}
