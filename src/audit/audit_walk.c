#include "audit/audit_priv.h"
#include "audit/limits.h"
#include "base/buf.h"
#include "base/str.h"
#include "sql.h"
#include "store/limits.h"

static void
broken(struct audit_walk *w, int64_t n, const char *why)
{
	w->broken = true;
	w->broken_n = n;
	(void)snprintf(w->why, sizeof(w->why), "%s", why);
}

/* Begins at the cut, also when retention moved it past us. */
static int
find_start(
    struct db *db, struct audit_walk *w, struct audit_head *h, struct err *e)
{
	int rc = audit_head_get(db, false, h, e);

	if (rc < 0)
		return rc;
	w->head = h->n;
	if (!w->begun || h->cut_n > w->n) {
		w->begun = true;
		w->n = h->cut_n;
		memcpy(w->hash, h->cut_hash, DIGEST_LEN);
	}
	return OK;
}

/* True: it is good, and the walk is behind it. */
static bool
audit_walk_look(struct audit_walk *w, const struct sql_audit_walk_row *row)
{
	unsigned char hash[DIGEST_LEN];

	memcpy(hash, w->hash, DIGEST_LEN);
	audit_chain(hash, row->n, row->at, row->category, row->row);
	if (row->hash.n != DIGEST_LEN ||
	    memcmp(hash, row->hash.p, DIGEST_LEN) != 0) {
		broken(w, row->n,
		    "it or the row before it is not what was written");
		return false;
	}
	memcpy(w->hash, hash, DIGEST_LEN);
	w->n = row->n;
	w->rows++;
	return true;
}

/* A gap is one, unless retention has just made it. */
static int
gap(struct db *db, struct audit_walk *w, struct err *e)
{
	struct audit_head h;
	int rc = audit_head_get(db, false, &h, e);

	if (rc == OK && h.cut_n <= w->n)
		broken(w, w->n + 1, "it is missing");
	return rc;
}

int
audit_walk(struct db *db, struct audit_walk *w, struct err *e)
{
	struct sql_audit_walk_row row;
	struct rows *rows = NULL;
	struct audit_head h;
	bool good = true, any = false;
	int rc = find_start(db, w, &h, e);

	if (rc == OK && w->n >= h.n) {
		w->done = true;
		if (w->n > h.n || memcmp(w->hash, h.hash, DIGEST_LEN) != 0)
			broken(w, h.n, "it is not what the head says");
		return OK;
	}
	if (rc == OK)
		rc = sql_audit_walk(db, &rows, e, .after = w->n, .upto = h.n,
		    .most = AUDIT_WALK_MAX);
	while (
	    rc == OK && good && (rc = sql_audit_walk_next(rows, &row, e)) > 0) {
		any = true;
		rc = OK;
		if (row.n != w->n + 1)
			good = false;
		else if (!audit_walk_look(w, &row))
			break;
	}
	rows_close(rows);
	if (rc == OK && (!good || !any))
		rc = gap(db, w, e);
	return rc;
}

void
audit_walk_json(const struct audit_walk *w, struct buf *b)
{
	buf_fmt(b, "{\"n\":%lld,\"hash\":\"", (long long)w->n);
	buf_hex(b, (struct str){(const char *)w->hash, DIGEST_LEN});
	buf_fmt(b, "\",\"rows\":%lld,\"head\":%lld,\"done\":%s,\"broken\":",
	    (long long)w->rows, (long long)w->head, w->done ? "true" : "false");
	if (!w->broken) {
		buf_addz(b, "null}");
		return;
	}
	buf_fmt(b, "{\"n\":%lld,\"why\":", (long long)w->broken_n);
	buf_json(b, str_of(w->why));
	buf_addz(b, "}}");
}

int
audit_old(struct db *db, int64_t cut_us, bool *ret, struct err *e)
{
	struct sql_audit_oldest_row row;
	struct rows *rows = NULL;
	int rc = sql_audit_oldest(db, &rows, e, .most = 1);

	if (rc == OK)
		rc = sql_audit_oldest_next(rows, &row, e);
	*ret = rc > 0 && row.at < cut_us;
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

int
audit_retain(struct db *db, int64_t cut_us, int64_t *ret_removed, struct err *e)
{
	struct sql_audit_oldest_row row;
	struct audit_head h;
	struct rows *rows = NULL;
	int64_t upto = 0, n = 0;
	int64_t rc = audit_head_get(db, true, &h, e);

	if (rc == OK)
		rc = sql_audit_oldest(db, &rows, e, .most = RETAIN_STEP);
	while (rc == OK && (rc = sql_audit_oldest_next(rows, &row, e)) > 0) {
		rc = OK;
		if (row.at >= cut_us || row.hash.n != DIGEST_LEN)
			break;
		upto = row.n;
		memcpy(h.cut_hash, row.hash.p, DIGEST_LEN);
		n++;
	}
	rows_close(rows);
	if (rc == OK && n > 0) {
		rc = sql_audit_remove(db, e, .upto = upto);
		if (rc >= 0)
			rc = sql_audit_cut_put(db, e, .n = upto,
			    .hash =
				(struct str){(char *)h.cut_hash, DIGEST_LEN});
	}
	if (rc < 0)
		return (int)rc;
	*ret_removed = n;
	return OK;
}
