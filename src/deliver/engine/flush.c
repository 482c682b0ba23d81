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
#include "deliver/engine/detail.h"
#include "deliver/limits.h"
#include "node/node.h"
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
kept_text(const struct flush_detail *d)
{
	return d && d->n > 0 ? (struct str){d->text, d->n}
			     : (struct str){.p = NULL};
}

static int
put_attempts(struct db *db, struct arena *a, const struct core_changes *ch,
    struct err *e)
{
	struct sql_attempt_put_args *v =
	    arena_array(a, ch->n_attempts, sizeof(*v));

	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *x = &ch->attempts[i];

		v[i] = (struct sql_attempt_put_args){.seq = x->seq,
		    .sub = x->sub,
		    .rep = x->rep,
		    .n = x->n,
		    .at = x->at,
		    .us = x->took_us,
		    .status = x->status,
		    .verdict = (int64_t)x->verdict,
		    .reason = x->reason,
		    .detail = kept_text(x->detail)};
	}
	return sql_attempt_put(db, v, ch->n_attempts, e) < 0 ? (int)e->code
							     : OK;
}

/* deliver_load.c knows which reasons say that the filter is to be asked. */
static int
row_reason(const struct core_row *r)
{
	return r->unjudged ? r->unjudged : r->last_reason;
}

/* What is gone first: a row may come back under the same key. */
static int
put_rows(struct db *db, struct arena *a, const struct flush *f, struct err *e)
{
	const struct core_changes *ch = f->changes;
	struct sql_row_del_args *dels =
	    arena_array(a, ch->n_dels, sizeof(*dels));
	struct sql_row_put_args *puts =
	    arena_array(a, ch->n_puts, sizeof(*puts));

	for (size_t i = 0; i < ch->n_dels; i++)
		dels[i] = (struct sql_row_del_args){.sub = ch->dels[i].sub,
		    .seq = ch->dels[i].seq,
		    .rep = ch->dels[i].rep};
	for (size_t i = 0; i < ch->n_puts; i++) {
		const struct core_row *r = &ch->puts[i];

		puts[i] = (struct sql_row_put_args){.sub = r->sub,
		    .seq = r->seq,
		    .rep = r->rep,
		    .okey = as_int(r->okey),
		    .skey = as_int(r->skey),
		    .state = (int64_t)r->state,
		    .tries = r->tries,
		    .n = r->n,
		    .crashes = r->crashes,
		    .next_at = r->next_at,
		    .token = node_id(f->node),
		    .last_status = r->last_status,
		    .last_reason = row_reason(r),
		    .rec_a = as_int(r->rec.a),
		    .rec_b = as_int(r->rec.b),
		    .rv = r->rv,
		    .asked = r->asked};
	}
	if (sql_row_del(db, dels, ch->n_dels, e) < 0 ||
	    sql_row_put(db, puts, ch->n_puts, e) < 0)
		return e->code;
	return OK;
}

/* Of what was handed over, where somebody wants to know at which version:
 * deliver/engine/stale.h. */
static int
put_versions(struct db *db, struct arena *a, const struct core_changes *ch,
    struct err *e)
{
	struct sql_record_version_put_args *v =
	    arena_array(a, ch->n_attempts, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *x = &ch->attempts[i];

		if (x->verdict == CORE_OK && (x->rec.a != 0 || x->rec.b != 0))
			v[n++] =
			    (struct sql_record_version_put_args){.sub = x->sub,
				.rec_a = as_int(x->rec.a),
				.rec_b = as_int(x->rec.b),
				.rv = x->rv,
				.seq = x->seq};
	}
	return sql_record_version_put(db, v, n, e) < 0 ? (int)e->code : OK;
}

static int
put_dead(struct db *db, const struct core_dead *d, struct err *e)
{
	return sql_dead_put(db, e, .sub = d->sub, .seq = d->seq, .rep = d->rep,
		   .seq_to = d->seq, .okey = as_int(d->okey),
		   .skey = as_int(d->skey), .reason = d->reason,
		   .status = d->status, .tries = d->tries, .n = d->n,
		   .at = d->at, .error = kept_text(d->detail)) < 0
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
		    sql_stat_add(db, e, .sub = v[i].sub, .minute = minute,
			.ok = 0, .fail = 0, .dead = 1, .us = 0, .slow = 0,
			.h0 = 0, .h1 = 0, .h2 = 0, .h3 = 0, .h4 = 0, .h5 = 0,
			.h6 = 0) < 0)
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

		if (sql_dead_range(db, e, .sub = g->sub, .seq = g->seq,
			.seq_to = g->seq_to, .okey = as_int(g->okey),
			.reason = REASON_EXPIRED, .at = g->at) < 0)
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
		int64_t n = sql_dead_decide(db, e, .sub = d->sub, .seq = d->seq,
		    .rep = d->rep, .state = d->state, .at = d->at,
		    .who = d->who, .note = d->note);

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
			n = sql_reader_put(db, e, .sub = r->sub,
			    .okey = as_int(r->okey), .rep = r->rep,
			    .pos = r->pos, .until_seq = r->until);
		else
			n = sql_reader_del(db, e, .sub = r->sub,
			    .okey = as_int(r->okey), .rep = r->rep);
		if (n >= 0 && r->gone && r->rep > 0)
			n = sql_replay_end(
			    db, e, .sub = r->sub, .rep = r->rep, .at = now);
	}
	for (size_t i = 0; n >= 0 && i < ch->n_endpoints; i++) {
		const struct core_endpoint *ep = &ch->endpoints[i];

		if (ep->open_until > 0 || ep->not_before > 0)
			n = sql_endpoint_put(db, e,
			    .endpoint = as_int(ep->endpoint),
			    .open_until = ep->open_until,
			    .not_before = ep->not_before);
		else
			n = sql_endpoint_del(
			    db, e, .endpoint = as_int(ep->endpoint));
	}
	if (n >= 0 && f->progress)
		n = sql_grp_progress(
		    db, e, .node = node_id(f->node), .epoch = f->epoch);
	if (n >= 0 && ch->cursor >= 0)
		n = sql_grp_cursor(db, e, .node = node_id(f->node),
		    .epoch = f->epoch, .cursor = ch->cursor);
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
count_attempt(struct tally *t, const struct core_attempt *x)
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
is_own(const struct core_attempt *x)
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
			return is_own(x);
	}
	return false;
}

static bool
attempt_failed(const struct core_attempt *x)
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

		if (attempt_failed(x) && !is_own(x) && x->reason >= 0 &&
		    x->reason < REASONS_MAX)
			n[x->reason]++;
	}
	for (int r = 0; r < REASONS_MAX; r++)
		if (n[r] > 0 && sql_stat_reason_add(db, e, .minute = f->minute,
				    .reason = r, .n = n[r]) < 0)
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

	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *x = &ch->attempts[i];

		some = some || attempt_failed(x);
		if (!is_own(x))
			count_attempt(tally_of(v, &n, x->sub), x);
	}
	for (size_t i = 0; i < ch->n_deads; i++)
		if (!own_dead(ch, &ch->deads[i]))
			tally_of(v, &n, ch->deads[i].sub)->dead++;
	for (size_t i = 0; i < n; i++) {
		const int64_t *h = v[i].hist;

		if (v[i].dropped > 0 &&
		    sql_stat_drop(db, e, .sub = v[i].sub, .minute = f->minute,
			.dropped = v[i].dropped) < 0)
			return e->code;
		if (v[i].ok + v[i].fail + v[i].dead > 0 &&
		    sql_stat_add(db, e, .sub = v[i].sub, .minute = f->minute,
			.ok = v[i].ok, .fail = v[i].fail, .dead = v[i].dead,
			.us = v[i].us, .slow = v[i].slow, .h0 = h[0],
			.h1 = h[1], .h2 = h[2], .h3 = h[3], .h4 = h[4],
			.h5 = h[5], .h6 = h[6]) < 0)
			return e->code;
	}
	return some ? put_reasons(db, f, e) : OK;
}

int
flush_write(struct db *db, const struct flush *f, struct err *e)
{
	struct arena *a = arena_new(FLUSH_MEM);
	bool *decided = arena_array(a, f->n_decisions, sizeof(*decided));
	int64_t fresh = 0;
	int rc = node_fence(db, f->node, f->epoch, e);

	if (rc == OK) {
		fresh = sql_node_flush(
		    db, e, .id = node_id(f->node), .flush = f->number);
		rc = fresh < 0 ? (int)e->code : OK;
	}
	/* What was put back may have failed again by now: decisions go before
	 * dead letters. */
	if (rc == OK && fresh > 0 &&
	    (put_attempts(db, a, f->changes, e) < 0 ||
		put_versions(db, a, f->changes, e) < 0 ||
		put_rows(db, a, f, e) < 0 ||
		put_decisions(db, f, decided, e) < 0 ||
		put_deads(db, f, e) < 0 || put_positions(db, f, e) < 0 ||
		put_stats(db, a, f, e) < 0 ||
		(f->n_settlements > 0 &&
		    f->settled(db, f->settlements, f->n_settlements, e) < 0) ||
		put_audit(db, f, decided, e) < 0))
		rc = e->code;
	arena_free(a);
	return rc;
}
