#include "event/when.h"

#include "sql.h"

#define US_PER_MIN (60 * US_PER_S)

/* The first mark from a minute on; where there is none, one past the log. */
static int
mark_from(struct db *db, int64_t minute, int64_t *ret, struct err *e)
{
	struct sql_mark_first_from_row mark;
	struct sql_log_last_row last = {0};

	if (TRY(sql_mark_first_from_one(db, &mark, e, .minute = minute)) > 0) {
		*ret = mark.seq;
		return OK;
	}
	TRY(sql_log_last_one(db, &last, e));
	*ret = last.seq + 1;
	return OK;
}

int
when_seq(struct db *db, int64_t at_us, int64_t *ret, struct err *e)
{
	int64_t minute = at_us / US_PER_MIN, lo = 0, hi = 0;

	TRY(mark_from(db, minute, &lo, e));
	TRY(mark_from(db, minute + 1, &hi, e));
	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;
		struct sql_seq_from_row row = {0};

		if (TRY(sql_seq_from_one(db, &row, e, .seq = mid)) > 0 &&
		    row.received_at < at_us)
			lo = row.seq + 1;
		else
			hi = mid;
	}
	*ret = lo;
	return OK;
}
