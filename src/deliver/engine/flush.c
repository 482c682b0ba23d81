#include "deliver/engine/flush.h"

#include "audit/audit.h"
#include "audit/limits.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/str.h"
#include "contract/limits.h"
#include "contract/verdict.h"
#include "deliver/core/core.h"
#include "deliver/limits.h"
#include "sql.h"
#include "store/store.h"

#define FLUSH_MEM (4 * MIB)

static int64_t
as_int(uint64_t hash)
{
	int64_t v;

	memcpy(&v, &hash, sizeof(v));
	return v;
}

static struct str
detail_of(const struct flush_detail *d)
{
	return d && d->n > 0 ? (struct str){d->text, d->n}
			     : (struct str){.p = NULL};
}

/* Arrays of a call, in the order of their statement's columns. */
struct columns {
	struct arena *arena;
	int64_t *v[16];
	size_t n;
};

static int
columns_new(struct columns *c, size_t columns, size_t n, struct err *e)
{
	for (size_t i = 0; i < columns; i++) {
		c->v[i] = arena_array(c->arena, n, sizeof(int64_t));
		if (!c->v[i])
			return err_set(e, ERR_NOMEM, "no memory for a flush");
	}
	c->n = n;
	return OK;
}

static int
attempts_many(struct db *db, struct arena *a, const struct core_changes *ch,
    struct err *e)
{
	struct columns c = {.arena = a};
	struct str *details = arena_array(a, ch->n_attempts, sizeof(*details));
	int rc = columns_new(&c, 9, ch->n_attempts, e);

	if (rc < 0 || !details)
		return err_set(e, ERR_NOMEM, "no memory for a flush");
	for (size_t i = 0; i < c.n; i++) {
		const struct core_attempt *x = &ch->attempts[i];
		const int64_t row[] = {x->seq, x->sub, x->rep, x->n, x->at,
		    x->took_us, x->status, (int64_t)x->verdict, x->reason};

		for (size_t k = 0; k < COUNT_OF(row); k++)
			c.v[k][i] = row[k];
		details[i] = detail_of(x->detail);
	}
	return sql_attempt_put_many(db, c.v[0], c.v[1], c.v[2], c.v[3], c.v[4],
		   c.v[5], c.v[6], c.v[7], c.v[8], details, c.n, e) < 0
		   ? (int)e->code
		   : OK;
}

static int
put_attempts(struct db *db, struct arena *a, const struct core_changes *ch,
    struct err *e)
{
	if (ch->n_attempts > 0 && db_engine(db) == STORE_POSTGRES)
		return attempts_many(db, a, ch, e);
	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *x = &ch->attempts[i];

		if (sql_attempt_put(db, x->seq, x->sub, x->rep, x->n, x->at,
			x->took_us, x->status, (int64_t)x->verdict, x->reason,
			detail_of(x->detail), e) < 0)
			return e->code;
	}
	return OK;
}

static int
dels_many(struct db *db, struct arena *a, const struct core_changes *ch,
    struct err *e)
{
	struct columns c = {.arena = a};
	int rc = columns_new(&c, 3, ch->n_dels, e);

	for (size_t i = 0; rc == OK && i < c.n; i++) {
		c.v[0][i] = ch->dels[i].sub;
		c.v[1][i] = ch->dels[i].seq;
		c.v[2][i] = ch->dels[i].rep;
	}
	if (rc == OK &&
	    sql_row_del_many(db, c.v[0], c.v[1], c.v[2], c.n, e) < 0)
		rc = e->code;
	return rc;
}

/* recover.c knows which reasons say that the filter is to be asked. */
static int
row_reason(const struct core_row *r)
{
	return r->unjudged ? r->unjudged : r->last_reason;
}

static int
puts_many(struct db *db, struct arena *a, const struct flush *f, struct err *e)
{
	const struct core_changes *ch = f->changes;
	struct columns c = {.arena = a};
	int rc = columns_new(&c, 16, ch->n_puts, e);

	for (size_t i = 0; rc == OK && i < c.n; i++) {
		const struct core_row *r = &ch->puts[i];
		const int64_t row[] = {r->sub, r->seq, r->rep, as_int(r->okey),
		    as_int(r->skey), (int64_t)r->state, r->tries, r->n,
		    r->crashes, r->next_at, r->last_status, row_reason(r),
		    as_int(r->rec.a), as_int(r->rec.b), r->rv, r->asked};

		for (size_t k = 0; k < COUNT_OF(row); k++)
			c.v[k][i] = row[k];
	}
	if (rc == OK &&
	    sql_row_put_many(db, c.v[0], c.v[1], c.v[2], c.v[3], c.v[4], c.v[5],
		c.v[6], c.v[7], c.v[8], c.v[9], str_of(f->node), c.v[10],
		c.v[11], c.v[12], c.v[13], c.v[14], c.v[15], c.n, e) < 0)
		rc = e->code;
	return rc;
}

/* What is gone first: a row may come back under the same key. */
static int
put_rows(struct db *db, struct arena *a, const struct flush *f, struct err *e)
{
	const struct core_changes *ch = f->changes;
	bool many = db_engine(db) == STORE_POSTGRES;
	int rc = OK;

	if (many && ch->n_dels > 0)
		rc = dels_many(db, a, ch, e);
	for (size_t i = 0; !many && rc == OK && i < ch->n_dels; i++)
		if (sql_row_del(db, ch->dels[i].sub, ch->dels[i].seq,
			ch->dels[i].rep, e) < 0)
			rc = e->code;
	if (many && rc == OK && ch->n_puts > 0)
		rc = puts_many(db, a, f, e);
	for (size_t i = 0; !many && rc == OK && i < ch->n_puts; i++) {
		const struct core_row *r = &ch->puts[i];

		if (sql_row_put(db, r->sub, r->seq, r->rep, as_int(r->okey),
			as_int(r->skey), (int64_t)r->state, r->tries, r->n,
			r->crashes, r->next_at, str_of(f->node), r->last_status,
			row_reason(r), as_int(r->rec.a), as_int(r->rec.b),
			r->rv, r->asked, e) < 0)
			rc = e->code;
	}
	return rc;
}

/* Handed over, and somebody wants to know at which version: deliver/engine/stale.h. */
static bool
versioned(const struct core_attempt *x)
{
	return x->verdict == CORE_OK && (x->rec.a != 0 || x->rec.b != 0);
}

static int
versions_many(struct db *db, struct arena *a, const struct core_changes *ch,
    size_t n, struct err *e)
{
	struct columns c = {.arena = a};
	int rc = columns_new(&c, 5, n, e);
	size_t k = 0;

	for (size_t i = 0; rc == OK && i < ch->n_attempts; i++) {
		const struct core_attempt *x = &ch->attempts[i];

		if (!versioned(x))
			continue;
		c.v[0][k] = x->sub;
		c.v[1][k] = as_int(x->rec.a);
		c.v[2][k] = as_int(x->rec.b);
		c.v[3][k] = x->rv;
		c.v[4][k++] = x->seq;
	}
	if (rc == OK && sql_record_version_put_many(db, c.v[0], c.v[1], c.v[2],
			    c.v[3], c.v[4], c.n, e) < 0)
		rc = e->code;
	return rc;
}

static int
put_versions(struct db *db, struct arena *a, const struct core_changes *ch,
    struct err *e)
{
	bool many = db_engine(db) == STORE_POSTGRES;
	size_t n = 0;

	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *x = &ch->attempts[i];

		if (!versioned(x))
			continue;
		n++;
		if (!many &&
		    sql_record_version_put(db, x->sub, as_int(x->rec.a),
			as_int(x->rec.b), x->rv, x->seq, e) < 0)
			return e->code;
	}
	return many && n > 0 ? versions_many(db, a, ch, n, e) : OK;
}

static int
put_dead(struct db *db, const struct core_dead *d, struct err *e)
{
	return sql_dead_put(db, d->sub, d->seq, d->rep, d->seq, as_int(d->okey),
		   as_int(d->skey), d->reason, d->status, d->tries, d->n, d->at,
		   detail_of(d->detail), e) < 0
		   ? (int)e->code
		   : OK;
}

int
flush_deads(struct db *db, const struct core_dead *v, size_t n, int64_t minute,
    struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < n; i++) {
		const struct flush_detail *d = v[i].detail;

		rc = put_dead(db, &v[i], e);
		if (rc == OK && !(d && d->own) &&
		    sql_stat_add(db, v[i].sub, minute, 0, 0, 1, 0, 0, 0, 0, 0,
			0, 0, 0, 0, e) < 0)
			rc = e->code;
	}
	return rc;
}

static int
put_deads(struct db *db, const struct flush *f, struct err *e)
{
	const struct core_changes *ch = f->changes;

	for (size_t i = 0; i < ch->n_deads; i++)
		if (put_dead(db, &ch->deads[i], e) < 0)
			return e->code;
	for (size_t i = 0; i < f->n_ranges; i++) {
		const struct flush_range *g = &f->ranges[i];

		if (sql_dead_range(db, g->sub, g->seq, g->seq_to,
			as_int(g->okey), REASON_EXPIRED, g->at, e) < 0)
			return e->code;
	}
	return OK;
}

/* decided[i]: it was a dead letter that waited for a decision. */
static int
put_decisions(
    struct db *db, const struct flush *f, bool *decided, struct err *e)
{
	for (size_t i = 0; i < f->n_decisions; i++) {
		const struct flush_decision *d = &f->decisions[i];
		int64_t n = sql_dead_decide(db, d->sub, d->seq, d->rep,
		    d->state, d->at, d->who, d->note, e);

		if (n < 0)
			return e->code;
		decided[i] = n > 0;
	}
	return OK;
}

/* Last of all: the audit's head is locked from here on. */
static int
put_audit(
    struct db *db, const struct flush *f, const bool *decided, struct err *e)
{
	struct buf why = BUF(AUDIT_DETAILS_MAX);
	int rc = OK;

	for (size_t i = 0; rc == OK && i < f->n_decisions; i++) {
		const struct flush_decision *d = &f->decisions[i];
		struct audit_row row = {
		    .category = d->state == 1 ? AUDIT_DEAD_REQUEUED
					      : AUDIT_DEAD_SKIPPED,
		    .at_us = d->at,
		    .actor = d->who,
		    .target_type = STR("delivery"),
		    .webhook_id = str_of(d->webhook_id),
		    .delivery_id = str_of(d->delivery_id),
		};

		if (!decided[i])
			continue;
		buf_clear(&why);
		if (d->note.n > 0) {
			buf_addz(&why, "\"reason\":");
			buf_json(&why, d->note);
			row.details = buf_str(&why);
		}
		rc = audit_put(db, &row, e);
	}
	buf_done(&why);
	return rc;
}

static int
put_positions(struct db *db, const struct flush *f, struct err *e)
{
	const struct core_changes *ch = f->changes;
	int64_t now = f->minute * 60 * 1000000;
	int64_t n = 0;

	for (size_t i = 0; n >= 0 && i < ch->n_readers; i++) {
		const struct core_reader *r = &ch->readers[i];

		if (!r->gone)
			n = sql_reader_put(db, r->sub, as_int(r->okey), r->rep,
			    r->pos, r->until, e);
		else
			n = sql_reader_del(
			    db, r->sub, as_int(r->okey), r->rep, e);
		if (n >= 0 && r->gone && r->rep > 0)
			n = sql_replay_end(db, r->sub, r->rep, now, e);
	}
	for (size_t i = 0; n >= 0 && i < ch->n_endpoints; i++) {
		const struct core_endpoint *ep = &ch->endpoints[i];

		if (ep->open_until > 0 || ep->not_before > 0)
			n = sql_endpoint_put(db, as_int(ep->endpoint),
			    ep->open_until, ep->not_before, e);
		else
			n = sql_endpoint_del(db, as_int(ep->endpoint), e);
	}
	if (n >= 0 && f->progress)
		n = sql_grp_progress(db, str_of(f->node), f->epoch, e);
	if (n >= 0 && ch->cursor >= 0)
		n = sql_grp_cursor(
		    db, str_of(f->node), f->epoch, ch->cursor, e);
	return n < 0 ? (int)e->code : OK;
}

#define HIST (COUNT_OF(STAT_BOUNDS_MS))
static const int64_t STAT_BOUNDS_MS[] = {STAT_BOUNDS};

struct tally {
	uint32_t sub;
	int64_t ok, fail, dead, dropped, us, slow;
	int64_t hist[COUNT_OF(STAT_BOUNDS_MS)];
};

static struct tally *
tally_of(struct tally *v, size_t *n, uint32_t sub)
{
	/* The newest is the likeliest; there are few in a flush. */
	for (size_t i = *n; i > 0; i--)
		if (v[i - 1].sub == sub)
			return &v[i - 1];
	v[*n] = (struct tally){.sub = sub};
	return &v[(*n)++];
}

static void
count(struct tally *t, const struct core_attempt *x)
{
	if (x->verdict == CORE_DROP) { /* there was no call */
		t->dropped++;
		return;
	}
	*(x->verdict == CORE_OK ? &t->ok : &t->fail) += 1;
	t->us += x->took_us;
	if (x->took_us > t->slow)
		t->slow = x->took_us;
	for (size_t i = 0; i < HIST; i++)
		if (x->took_us <= STAT_BOUNDS_MS[i] * US_PER_MS) {
			t->hist[i]++;
			break;
		}
}

static bool
own(const struct core_attempt *x)
{
	const struct flush_detail *d = x->detail;

	return d && d->own;
}

/* An event of ours came to nothing: its last attempt is in the same set, if
 * there was any. */
static bool
own_dead(const struct core_changes *ch, const struct core_dead *d)
{
	const struct flush_detail *why = d->detail;

	if (why)
		return why->own;
	for (size_t i = ch->n_attempts; i > 0; i--) {
		const struct core_attempt *x = &ch->attempts[i - 1];

		if (x->seq == d->seq && x->sub == d->sub && x->rep == d->rep)
			return own(x);
	}
	return false;
}

static bool
failed(const struct core_attempt *x)
{
	return x->verdict != CORE_OK && x->verdict != CORE_DROP;
}

static int
put_reasons(struct db *db, const struct flush *f, struct err *e)
{
	const struct core_changes *ch = f->changes;
	int64_t n[REASONS_MAX] = {0};

	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *x = &ch->attempts[i];

		if (failed(x) && !own(x) && x->reason >= 0 &&
		    x->reason < REASONS_MAX)
			n[x->reason]++;
	}
	for (int r = 0; r < REASONS_MAX; r++)
		if (n[r] > 0 &&
		    sql_stat_reason_add(db, f->minute, r, n[r], e) < 0)
			return e->code;
	return OK;
}

/* One row of counters for each subscription that is in the set. */
static int
put_stats(struct db *db, struct arena *a, const struct flush *f, struct err *e)
{
	const struct core_changes *ch = f->changes;
	size_t n = 0, most = ch->n_attempts + ch->n_deads;
	struct tally *v = arena_array(a, most + 1, sizeof(*v));
	bool some = false;

	if (!v)
		return err_set(e, ERR_NOMEM, "no memory for a flush");
	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *x = &ch->attempts[i];

		some = some || failed(x);
		if (!own(x))
			count(tally_of(v, &n, x->sub), x);
	}
	for (size_t i = 0; i < ch->n_deads; i++)
		if (!own_dead(ch, &ch->deads[i]))
			tally_of(v, &n, ch->deads[i].sub)->dead++;
	for (size_t i = 0; i < n; i++) {
		const int64_t *h = v[i].hist;

		if (v[i].dropped > 0 &&
		    sql_stat_drop(db, v[i].sub, f->minute, v[i].dropped, e) < 0)
			return e->code;
		if (v[i].ok + v[i].fail + v[i].dead > 0 &&
		    sql_stat_add(db, v[i].sub, f->minute, v[i].ok, v[i].fail,
			v[i].dead, v[i].us, v[i].slow, h[0], h[1], h[2], h[3],
			h[4], h[5], h[6], e) < 0)
			return e->code;
	}
	return some ? put_reasons(db, f, e) : OK;
}

int
flush_fence(struct db *db, const char *node, int64_t epoch, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_grp_fence(db, str_of(node), epoch, &rows, e);

	if (rc == OK)
		rc = rows_next(rows, e);
	rows_close(rows);
	if (rc == 0)
		return err_set(e, ERR_DENIED,
		    "another node has taken over the deliveries");
	return rc < 0 ? rc : OK;
}

int
flush_write(struct db *db, const struct flush *f, struct err *e)
{
	struct arena *a = arena_new(FLUSH_MEM);
	bool *decided = a ? arena_array(a, f->n_decisions + 1, 1) : NULL;
	int64_t fresh = 0;
	int rc = decided ? flush_fence(db, f->node, f->epoch, e)
			 : err_set(e, ERR_NOMEM, "no memory for a flush");

	if (rc == OK) {
		fresh = sql_node_flush(db, str_of(f->node), f->number, e);
		rc = fresh < 0 ? (int)e->code : OK;
	}
	if (rc == OK && fresh > 0) {
		rc = put_attempts(db, a, f->changes, e);
		if (rc == OK)
			rc = put_versions(db, a, f->changes, e);
		if (rc == OK)
			rc = put_rows(db, a, f, e);
		/* What was put back may have failed again by now. */
		if (rc == OK)
			rc = put_decisions(db, f, decided, e);
		if (rc == OK)
			rc = put_deads(db, f, e);
		if (rc == OK)
			rc = put_positions(db, f, e);
		if (rc == OK)
			rc = put_stats(db, a, f, e);
		if (rc == OK && f->n_settlements > 0)
			rc =
			    f->settled(db, f->settlements, f->n_settlements, e);
		if (rc == OK)
			rc = put_audit(db, f, decided, e);
	}
	arena_free(a);
	return rc;
}
