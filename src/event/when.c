#include "event/when.h"

#include "base/clock.h"
#include "sql.h"

#define US_PER_MIN (60 * US_PER_S)

/* The entry at or behind seq: 1 and what it is, 0 at the end of the log. */
static int
entry_from(
    struct db *db, int64_t seq, struct sql_seq_from_row *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_seq_from(db, &rows, e, .seq = seq);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		sql_seq_from_get(rows, ret);
	rows_close(rows);
	return rc;
}

/* The first mark from a minute on; where there is none, one past the log. */
static int
mark_from(struct db *db, int64_t minute, int64_t *ret, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_mark_first_from(db, &rows, e, .minute = minute);
	bool there;

	if (rc == OK)
		rc = rows_next(rows, e);
	there = rc > 0;
	if (there)
		*ret = rows_int(rows, 1);
	rows_close(rows);
	if (rc < 0 || there)
		return rc < 0 ? rc : OK;
	rows = NULL;
	rc = sql_log_last(db, &rows, e);
	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0)
		*ret = rows_int(rows, 0) + 1;
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
when_seq(struct db *db, int64_t at_us, int64_t *ret, struct err *e)
{
	int64_t minute = at_us / US_PER_MIN, lo = 0, hi = 0;
	int rc = mark_from(db, minute, &lo, e);

	if (rc == OK)
		rc = mark_from(db, minute + 1, &hi, e);
	while (rc >= 0 && lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;
		struct sql_seq_from_row row = {0};

		rc = entry_from(db, mid, &row, e);
		if (rc > 0 && row.received_at < at_us)
			lo = row.seq + 1;
		else
			hi = mid;
	}
	if (rc >= 0)
		*ret = lo;
	return rc < 0 ? rc : OK;
}
