#include "deliver/engine/flush.h"

#include "audit/audit.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "contract/limits.h"
#include "contract/verdict.h"
#include "deliver/core/core.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/detail.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "node/node.h"
#include "sql.h"
#include "store/store.h"

#define FLUSH_MEM  (4 * MIB)
#define US_PER_MIN (60 * US_PER_S)

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
		    .at = x->result.at,
		    .us = x->result.took_us,
		    .status = x->result.status,
		    .verdict = (int64_t)x->result.verdict,
		    .reason = x->result.reason,
		    .detail = kept_text(x->result.detail)};
	}
	return (int)sql_attempt_put(db, v, ch->n_attempts, e);
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
		    .okey = (int64_t)r->okey,
		    .skey = (int64_t)r->skey,
		    .state = (int64_t)r->state,
		    .tries = r->tries,
		    .n = r->n,
		    .crashes = r->crashes,
		    .next_at = r->next_at,
		    .token = node_id(deliver_opts(f->d)->node),
		    .last_status = r->last_status,
		    .last_reason = row_reason(r),
		    .rec_a = (int64_t)r->rec.a,
		    .rec_b = (int64_t)r->rec.b,
		    .rv = r->rv,
		    .asked = r->asked};
	}
	TRY((int)sql_row_del(db, dels, ch->n_dels, e));
	return (int)sql_row_put(db, puts, ch->n_puts, e);
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

		if (x->result.verdict == CORE_OK &&
		    (x->result.rec.a != 0 || x->result.rec.b != 0))
			v[n++] =
			    (struct sql_record_version_put_args){.sub = x->sub,
				.rec_a = (int64_t)x->result.rec.a,
				.rec_b = (int64_t)x->result.rec.b,
				.rv = x->result.rv,
				.seq = x->seq};
	}
	return (int)sql_record_version_put(db, v, n, e);
}

/* The last attempt of what came to nothing is in the same set, if there was
 * any. */
static const struct core_attempt *
last_attempt(const struct core_changes *ch, const struct core_dead *d)
{
	for (size_t i = ch->n_attempts; i > 0; i--) {
		const struct core_attempt *x = &ch->attempts[i - 1];

		if (x->seq == d->row.seq && x->sub == d->row.sub &&
		    x->rep == d->row.rep)
			return x;
	}
	return NULL;
}

/* `ch` has the last attempt of what was tried; NULL: it was not. */
static int
put_dead(struct db *db, const struct core_changes *ch,
    const struct core_dead *d, struct err *e)
{
	char room[DETAIL_ERROR * 4];
	const struct core_attempt *x =
	    d->detail || !ch ? NULL : last_attempt(ch, d);
	struct str error = x ? detail_said(x->result.detail, room, sizeof(room))
			     : kept_text(d->detail);

	return (int)sql_dead_put(db, e, .sub = d->row.sub, .seq = d->row.seq,
	    .rep = d->row.rep, .seq_to = d->row.seq,
	    .okey = (int64_t)d->row.okey, .skey = (int64_t)d->row.skey,
	    .reason = d->reason, .status = d->row.last_status,
	    .tries = d->row.tries, .n = d->row.n, .at = d->at, .error = error);
}

int
flush_deads(struct db *db, const struct core_dead *v, size_t n, int64_t minute,
    struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		const struct flush_detail *d = v[i].detail;

		TRY(put_dead(db, NULL, &v[i], e));
		if (!(d && d->own))
			TRY((int)sql_stat_add(db, e, .sub = v[i].row.sub,
			    .minute = minute, .ok = 0, .fail = 0, .dead = 1,
			    .us = 0, .slow = 0, .h0 = 0, .h1 = 0, .h2 = 0,
			    .h3 = 0, .h4 = 0, .h5 = 0, .h6 = 0));
	}
	return OK;
}

static int
put_deads(struct db *db, const struct flush *f, struct err *e)
{
	for (size_t i = 0; i < f->changes->n_deads; i++)
		TRY(put_dead(db, f->changes, &f->changes->deads[i], e));
	for (size_t i = 0; i < f->now.n_ranges; i++) {
		const struct flush_range *g = &f->now.ranges[i];

		TRY((int)sql_dead_range(db, e, .sub = g->sub, .seq = g->seq,
		    .seq_to = g->seq_to, .okey = (int64_t)g->okey,
		    .reason = REASON_EXPIRED, .at = g->at));
	}
	return OK;
}

/* decided[i]: it was a dead letter that waited for a decision. */
static int
put_decisions(
    struct db *db, const struct flush *f, bool *decided, struct err *e)
{
	for (size_t i = 0; i < f->now.n_decisions; i++) {
		const struct flush_decision *d = &f->now.decisions[i];

		decided[i] =
		    TRY((int)sql_dead_decide(db, e, .sub = d->sub,
			.seq = d->seq, .rep = d->rep, .state = d->state,
			.at = d->at, .who = d->who, .note = d->note)) > 0;
	}
	return OK;
}

static int
put_reader(
    struct db *db, const struct core_reader *r, int64_t now_us, struct err *e)
{
	if (!r->gone)
		return (int)sql_reader_put(db, e, .sub = r->sub,
		    .okey = (int64_t)r->okey, .rep = r->rep, .pos = r->pos,
		    .until_seq = r->until);
	TRY((int)sql_reader_del(
	    db, e, .sub = r->sub, .okey = (int64_t)r->okey, .rep = r->rep));
	return r->rep > 0 ? (int)sql_replay_end(db, e, .sub = r->sub,
				.rep = r->rep, .at = now_us)
			  : OK;
}

static int
put_endpoint(struct db *db, const struct core_endpoint *ep, struct err *e)
{
	int64_t id = (int64_t)ep->endpoint;

	if (ep->open_until == 0 && ep->not_before == 0)
		return (int)sql_endpoint_del(db, e, .endpoint = id);
	return (int)sql_endpoint_put(db, e, .endpoint = id,
	    .open_until = ep->open_until, .not_before = ep->not_before);
}

static int
put_positions(struct db *db, const struct flush *f, struct err *e)
{
	const struct core_changes *ch = f->changes;
	struct str node = node_id(deliver_opts(f->d)->node);

	for (size_t i = 0; i < ch->n_readers; i++)
		TRY(put_reader(db, &ch->readers[i], f->at_us, e));
	for (size_t i = 0; i < ch->n_endpoints; i++)
		TRY(put_endpoint(db, &ch->endpoints[i], e));
	if (f->progress)
		TRY((int)sql_grp_progress(
		    db, e, .node = node, .epoch = f->epoch));
	if (ch->cursor >= 0)
		TRY((int)sql_grp_cursor(db, e, .node = node, .epoch = f->epoch,
		    .cursor = ch->cursor));
	return OK;
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
	if (x->result.verdict == CORE_DROP) { /* there was no call */
		t->dropped++;
		return;
	}
	*(x->result.verdict == CORE_OK ? &t->ok : &t->fail) += 1;
	t->us += x->result.took_us;
	if (x->result.took_us > t->slow)
		t->slow = x->result.took_us;
	for (size_t i = 0; i < HIST; i++)
		if (x->result.took_us <= STAT_BOUNDS_MS[i] * US_PER_MS) {
			t->hist[i]++;
			break;
		}
}

static bool
is_own(const struct core_attempt *x)
{
	const struct flush_detail *d = x->result.detail;

	return d && d->own;
}

/* An event of ours came to nothing. */
static bool
own_dead(const struct core_changes *ch, const struct core_dead *d)
{
	const struct flush_detail *why = d->detail;
	const struct core_attempt *x = why ? NULL : last_attempt(ch, d);

	return why ? why->own : x && is_own(x);
}

static bool
attempt_failed(const struct core_attempt *x)
{
	return x->result.verdict != CORE_OK && x->result.verdict != CORE_DROP;
}

static int
put_reasons(struct db *db, const struct flush *f, struct err *e)
{
	const struct core_changes *ch = f->changes;
	int64_t n[REASONS_MAX] = {0};

	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *x = &ch->attempts[i];

		if (attempt_failed(x) && !is_own(x) && x->result.reason >= 0 &&
		    x->result.reason < REASONS_MAX)
			n[x->result.reason]++;
	}
	for (int r = 0; r < REASONS_MAX; r++)
		if (n[r] > 0)
			TRY((int)sql_stat_reason_add(db, e, .minute = f->minute,
			    .reason = r, .n = n[r]));
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
			tally_of(v, &n, ch->deads[i].row.sub)->dead++;
	for (size_t i = 0; i < n; i++) {
		const int64_t *h = v[i].hist;

		if (v[i].dropped > 0)
			TRY((int)sql_stat_drop(db, e, .sub = v[i].sub,
			    .minute = f->minute, .dropped = v[i].dropped));
		if (v[i].ok + v[i].fail + v[i].dead > 0)
			TRY((int)sql_stat_add(db, e, .sub = v[i].sub,
			    .minute = f->minute, .ok = v[i].ok,
			    .fail = v[i].fail, .dead = v[i].dead, .us = v[i].us,
			    .slow = v[i].slow, .h0 = h[0], .h1 = h[1],
			    .h2 = h[2], .h3 = h[3], .h4 = h[4], .h5 = h[5],
			    .h6 = h[6]));
	}
	return some ? put_reasons(db, f, e) : OK;
}

/* Commit thread. ERR_DENIED when the groups belong to another node. */
static int
write_set(struct db *db, void *ctx, struct err *e)
{
	const struct flush *f = ctx;
	const struct deliver_opts *o = deliver_opts(f->d);
	struct arena *a CLEANUP(arena_freep) = arena_new(FLUSH_MEM);
	bool *decided = arena_array(a, f->now.n_decisions, sizeof(*decided));

	TRY(node_fence(db, o->node, f->epoch, e));
	if (TRY((int)sql_node_flush(
		db, e, .id = node_id(o->node), .flush = f->number)) == 0)
		return OK;
	TRY(put_attempts(db, a, f->changes, e));
	TRY(put_versions(db, a, f->changes, e));
	TRY(put_rows(db, a, f, e));
	/* What was put back may have failed again by now: decisions go before
	 * dead letters. */
	TRY(put_decisions(db, f, decided, e));
	TRY(put_deads(db, f, e));
	TRY(put_positions(db, f, e));
	TRY(put_stats(db, a, f, e));
	if (f->now.n_settled > 0)
		TRY(o->settled(db, f->now.settled, f->now.n_settled, e));
	return flush_audit(db, a, f, decided, e);
}

/* What goes with the next set ------------------------------------------------ */

struct flush_decision *
flush_decide(struct flush *f)
{
	struct flush_more *m = &f->next;

	m->decisions = mem_more(m->decisions, &m->cap_decisions, m->n_decisions,
	    sizeof(*m->decisions));
	return &m->decisions[m->n_decisions++];
}

void
flush_range(struct flush *f, const struct flush_range *g)
{
	struct flush_more *m = &f->next;

	m->ranges = mem_more(
	    m->ranges, &m->cap_ranges, m->n_ranges, sizeof(*m->ranges));
	m->ranges[m->n_ranges++] = *g;
	f->hurry = true;
}

struct audit_row *
flush_audited(struct flush *f, struct arena **ret_mem)
{
	struct flush_more *m = &f->next;

	if (!m->mem)
		m->mem = arena_new(FLUSH_MEM);
	m->audits = mem_more(
	    m->audits, &m->cap_audits, m->n_audits, sizeof(*m->audits));
	*ret_mem = m->mem;
	return &m->audits[m->n_audits++];
}

static void
more_clear(struct flush_more *m)
{
	m->n_decisions = m->n_ranges = m->n_settled = m->n_audits = 0;
	if (m->mem)
		arena_reset(m->mem);
}

/* Settled ------------------------------------------------------------------ */

static void
add_settled(
    struct flush *f, uint32_t sub, int64_t seq, int rep, enum settled how)
{
	const struct wish *w = deliver_wish(f->d, sub);
	struct flush_more *m = &f->now;

	if (rep > 0 || !w || !w->directed)
		return;
	m->settled = mem_more(
	    m->settled, &m->cap_settled, m->n_settled, sizeof(*m->settled));
	m->settled[m->n_settled++] =
	    (struct flush_settled){.sub = sub, .seq = seq, .how = how};
}

/* What the set says of deliveries that another part keeps account of. */
static void
find_settled(struct flush *f)
{
	const struct core_changes *ch = f->changes;

	for (size_t i = 0; i < f->now.n_decisions; i++) {
		const struct flush_decision *v = &f->now.decisions[i];

		if (v->state == 1)
			add_settled(f, v->sub, v->seq, v->rep, SETTLED_AGAIN);
	}
	for (size_t i = 0; i < ch->n_attempts; i++) {
		const struct core_attempt *v = &ch->attempts[i];

		if (v->result.verdict == CORE_OK)
			add_settled(f, v->sub, v->seq, v->rep, SETTLED_OK);
	}
	for (size_t i = 0; i < ch->n_deads; i++) {
		const struct core_dead *v = &ch->deads[i];

		add_settled(
		    f, v->row.sub, v->row.seq, v->row.rep, SETTLED_DEAD);
	}
}

/* One set ------------------------------------------------------------------ */

static void
set_written(struct append_job *job)
{
	struct flush *f = job->ctx;

	deliver_tell(f->d, &f->note);
}

static void
post_flush(struct flush *f, int64_t now)
{
	struct err e;

	f->note.kind = NOTE_FLUSHED;
	f->job =
	    (struct append_job){.fn = write_set, .ctx = f, .done = set_written};
	f->busy = append_post(f->append, &f->job, &e) == OK;
	f->again_us = now + FLUSH_AGAIN_US;
}

bool
flush_begin(
    struct flush *f, struct core *core, int64_t epoch, bool asked, int64_t now)
{
	static const struct core_changes NONE = {.cursor = -1};
	struct flush_more spare = f->now;
	const struct core_changes *ch;

	if (f->changes) { /* one that failed */
		if (!f->busy && now >= f->again_us)
			post_flush(f, now);
		return false;
	}
	ch = core_flush(core, now, f->hurry);
	if (!ch && !asked && f->next.n_ranges == 0)
		return false;
	f->real = ch != NULL;
	/* With nothing to write, somebody waits all the same. */
	f->changes = ch ? ch : &NONE;
	f->hurry = false;
	more_clear(&spare);
	f->now = f->next;
	f->next = spare;
	f->epoch = epoch;
	f->number++;
	f->at_us = clock_now_us();
	f->minute = f->at_us / US_PER_MIN;
	f->progress = !f->progressed && f->changes->n_attempts > 0;
	if (deliver_opts(f->d)->settled)
		find_settled(f);
	post_flush(f, now);
	return true;
}

int
flush_ended(struct flush *f, int64_t now)
{
	const struct err *e = &f->job.err;
	int rc = e->code;

	f->busy = false;
	if (rc != f->told_rc && rc < 0)
		log_err(LOG_WARN, "results can't be written now", e);
	else if (rc == OK && f->told_rc < 0)
		log_err(LOG_INFO, "results are written again", NULL);
	f->told_rc = rc;
	f->again_us = now + FLUSH_AGAIN_US;
	return rc;
}

void
flush_next(struct flush *f, struct core *core, int64_t now)
{
	const struct core_changes *ch = f->changes;

	for (size_t i = 0; i < ch->n_attempts; i++)
		free(ch->attempts[i].result.detail);
	for (size_t i = 0; i < ch->n_deads; i++)
		free(ch->deads[i].detail);
	metric_add(M_DEAD_LETTERS, (int64_t)ch->n_deads);
	if (ch->cursor >= 0)
		metric_set(M_DELIVER_CURSOR, ch->cursor);
	f->progressed = f->progressed || f->progress;
	f->changes = NULL;
	if (f->real)
		core_flushed(core, now);
}

void
flush_drop(struct flush *f)
{
	f->changes = NULL;
	more_clear(&f->next);
}

static void
free_more(struct flush_more *m)
{
	free(m->decisions);
	free(m->ranges);
	free(m->settled);
	free(m->audits);
	arena_free(m->mem);
}

void
flush_done(struct flush *f)
{
	free_more(&f->now);
	free_more(&f->next);
}
