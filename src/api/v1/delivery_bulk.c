/*
 * delivery.h: deciding on many dead letters.
 *
 * A call decides on up to BULK_MAX of those that fit, and looks at PAGE_SCAN;
 * its answer says where it stopped, which is where the next one goes on. What
 * is put back waits in rows: BULK_ROWS_MAX of a subscription at most, and each
 * so is put back BULK_TIMES_MAX times.
 *
 * What sources handed over is published again as it is, in one transaction; what
 * still is no event is counted and stays.
 */
#include <stdatomic.h>

#include "api/api.h"
#include "api/hand.h"
#include "api/v1/delivery.h"
#include "audit/audit.h"
#include "event/append.h"
#include "http/server/limits.h"

struct bulk {
	struct req *r;
	struct deads deads;
	bool dry, skip;
	const struct json *filter;
	struct str note, after;
	struct ask_requeue *asks;
	size_t n_asks;
	struct handed *handed;
	struct entry *entries; /* of these, to put back */
	struct append_job job;
	size_t n_handed, bytes;
	struct arena *scratch;
	_Atomic int left;
	_Atomic int failed;
	int64_t would; /* be decided on */
	int64_t matched, tired, gone, waiting, of_sources, invalid;
	int64_t first; /* of the log */
	struct bulk_sub {
		int64_t id;
		bool seen; /* by the caller */
		bool ended;
		int64_t rows; /* that wait; -1: not known yet */
	} subs[SUBS_SEEN_MAX];
	size_t n_subs;
};

static int
bulk_sub(struct req *r, struct db *db, int64_t id, struct bulk_sub **ret,
    struct err *e)
{
	struct bulk *b = r->ctx;
	struct sql_sub_head_row row = {0};
	struct bulk_sub *x;

	for (size_t i = b->n_subs; i > 0; i--)
		if (b->subs[i - 1].id == id) {
			*ret = &b->subs[i - 1];
			return OK;
		}
	if (b->n_subs == COUNT_OF(b->subs))
		b->n_subs = 0;
	x = &b->subs[b->n_subs];
	x->seen = TRY(seen_sub(r, db, id, &row, e)) > 0;
	x->ended = row.until_seq > 0;
	x->rows = -1;
	x->id = id;
	b->n_subs++;
	*ret = x;
	return OK;
}

/* Whether one more row of this subscription may wait. */
static int
room(struct bulk_sub *x, struct db *db, struct err *e)
{
	struct sql_rows_of_sub_row row = {0};

	if (x->rows < 0) {
		TRY(sql_rows_of_sub_one(
		    db, &row, e, .sub = x->id, .most = BULK_ROWS_MAX));
		x->rows = row.n;
	}
	return x->rows++ < BULK_ROWS_MAX;
}

/* 1 when it is to be decided on. */
static int
bulk_one(struct req *r, struct db *db, const struct sql_dead_page_row *d,
    struct err *e)
{
	struct bulk *b = r->ctx;
	struct bulk_sub *x;

	TRY(bulk_sub(r, db, d->sub, &x, e));
	if (!x->seen)
		return 0;
	b->matched++;
	if (b->skip)
		return 1;
	if (d->requeues >= BULK_TIMES_MAX) {
		b->tired++;
		return 0;
	}
	if (d->seq_to > d->seq || x->ended || (!d->kept && d->seq < b->first)) {
		b->gone++;
		return 0;
	}
	if (b->dry || TRY(room(x, db, e)) > 0)
		return 1;
	b->waiting++;
	return 0;
}

/* The same of what a source handed over; `h` is what will be written. */
static int
bulk_handed(struct req *r, struct db *db, const struct sql_dead_page_row *d,
    struct handed *h, struct err *e)
{
	struct bulk *b = r->ctx;
	struct str body = {.p = NULL};
	struct entry *en = &h->entry;
	struct err wrong;

	if (r->who.tenants)
		return 0;
	b->matched++;
	b->of_sources++;
	*h = (struct handed){.spot = dead_spot(d),
	    .requeue = !b->skip,
	    .reason = b->note,
	    .now_us = clock_now_us()};
	if (b->skip)
		return 1;
	TRY(dead_event(r, db, h->spot, &body, e));
	b->bytes += body.n;
	if (!body.p) {
		b->gone++;
		return 0;
	}
	arena_reset(b->scratch);
	if (handed_entry(r, b->scratch, h, body, &wrong) < 0) {
		b->invalid++;
		return 0;
	}
	en->body = arena_dup(r->arena, en->body);
	en->type = arena_dup(r->arena, en->type);
	en->key = arena_dup(r->arena, en->key);
	return 1;
}

static int
bulk_take(struct req *r, struct db *db, const struct sql_dead_page_row *d,
    struct err *e)
{
	struct bulk *b = r->ctx;
	struct handed h;

	if (TRY(d->sub == 0 ? bulk_handed(r, db, d, &h, e)
			    : bulk_one(r, db, d, e)) == 0)
		return OK;
	b->would++;
	if (b->dry)
		return OK;
	if (d->sub == 0) {
		b->entries[b->n_handed] = h.entry;
		b->handed[b->n_handed++] = h;
		return OK;
	}
	b->asks[b->n_asks++] = (struct ask_requeue){
	    .decide = spot_decide(
		r, dead_spot(d), b->skip ? ASK_SKIP : ASK_REQUEUE, b->note),
	    .n = (int)d->n,
	    .reason = (int)d->reason,
	    .okey = (uint64_t)d->okey,
	    .skey = (uint64_t)d->skey,
	};
	return OK;
}

static bool
bulk_full(const struct bulk *b)
{
	return b->n_asks + b->n_handed == BULK_MAX || b->bytes > BULK_BYTES;
}

static int
bulk_some(
    struct req *r, struct db *db, struct sql_dead_page_row *v, struct err *e)
{
	struct bulk *b = r->ctx;
	size_t n = 0;

	TRY(deads_next(db, &b->deads, BULK_MAX, v, &n, e));
	for (size_t i = 0; i < n; i++) {
		TRY(bulk_take(r, db, &v[i], e));
		if (!bulk_full(b))
			continue;
		b->deads.end = b->deads.end && i + 1 == n;
		b->deads.at = v[i].at;
		b->deads.spot = dead_spot(&v[i]);
		break;
	}
	return OK;
}

static int
bulk_show(struct req *r, struct err *)
{
	const struct bulk *b = r->ctx;
	struct buf *out = api_object(r);
	int64_t failed = atomic_load(&b->failed);

	put_bool(out, "dryRun", b->dry);
	put_int(out, "matched", b->matched);
	put_int(out, b->skip ? "skipped" : "requeued", b->would - failed);
	put_int(out, "failed", failed);
	if (!b->skip) {
		put_int(out, "requeuedTooOften", b->tired);
		put_int(out, "gone", b->gone);
		put_int(out, "mustWait", b->waiting);
		put_int(out, "stillInvalid", b->invalid);
	}
	put_int(out, "ofSources", b->of_sources);
	put_int(out, "looked", (int64_t)b->deads.looked);
	put_bool(out, "more", !b->deads.end || b->waiting > 0);
	put_text(out, "next",
	    b->deads.end ? (struct str){.p = NULL}
			 : deads_cursor(r, &b->deads));
	put_close(out, '}');
	return OK;
}

static void
bulk_asked(struct deliver_ask *q)
{
	struct bulk *b = q->arg;

	if (q->err.code < 0)
		atomic_fetch_add(&b->failed, 1);
	if (atomic_fetch_sub(&b->left, 1) == 1)
		req_wake(b->r);
}

static int
bulk_ask(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct bulk *b = r->ctx;
	size_t n = b->n_asks;

	if (n == 0)
		return bulk_show(r, e);
	r->then = bulk_show;
	b->left = (int)n;
	for (size_t i = 0; i < n; i++) {
		struct deliver_ask *q = &b->asks[i].decide.ask;

		q->arg = b;
		q->done = bulk_asked;
		if (!hand_post(api, q)) {
			(void)err_set(&q->err, ERR_AWAY, "it does not deliver");
			bulk_asked(q);
		}
	}
	return REQ_WAIT;
}

/* What sources handed over ----------------------------------------------------- */

/* On the commit thread, behind the entries. One whose id the log has with
 * other content stays. */
static int
write_handed(struct db *db, void *ctx, struct err *e)
{
	struct req *r = ctx;
	struct bulk *b = r->ctx;
	struct arena *a CLEANUP(arena_freep) = arena_new(BULK_BYTES);
	struct audit_row *rows = arena_array(a, b->n_handed, sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; i < b->n_handed; i++) {
		struct handed *h = &b->handed[i];

		h->entry = b->entries[i];
		if (h->requeue && h->entry.state == ENTRY_DIFFERS)
			continue;
		TRY(handed_write(db, r, h, e));
		TRY(handed_audit(db, r, h, STR_EMPTY, &rows[n++], e));
	}
	return audit_put_many(db, rows, n, e);
}

static int
handed_written(struct req *r, struct err *e)
{
	struct bulk *b = r->ctx;
	int failed = r->rc < 0 ? (int)b->n_handed : 0;

	for (size_t i = 0; r->rc >= 0 && !b->skip && i < b->n_handed; i++)
		failed += b->entries[i].state == ENTRY_DIFFERS;
	atomic_fetch_add(&b->failed, failed);
	return bulk_ask(r, e);
}

static int
bulk_known(struct req *r, struct err *e)
{
	struct bulk *b = r->ctx;

	if (b->n_handed == 0)
		return bulk_ask(r, e);
	if (b->skip)
		b->job.fn = write_handed;
	else
		b->job = (struct append_job){.after = write_handed,
		    .entries = b->entries,
		    .n = b->n_handed};
	r->then = handed_written;
	return api_append(r, &b->job, e);
}

static void
bulk_end(struct req *r)
{
	const struct bulk *b = r->ctx;

	arena_free(b->scratch);
}

static const struct member BULK_FILTER[] = {
    DEADS_WORDS(0),
    {.name = NULL},
};

const struct member BULK_BODY[] = {
    {"filter", MEMBER_OBJECT, offsetof(struct bulk, filter), .must = true,
	.part = BULK_FILTER, .about = "an empty one means all dead letters"},
    {"dryRun", MEMBER_BOOL, offsetof(struct bulk, dry)},
    {"after", MEMBER_STRING, offsetof(struct bulk, after), 0, API_CURSOR_MAX,
	.about = "the next of the call before"},
    NOTE_REASON(struct bulk, note),
    {.name = NULL},
};

static int
bulk_begin(struct req *r, struct db *db, bool skip, struct err *e)
{
	const struct member_io io = {.arena = r->arena};
	struct bulk *b = arena_alloc(r->arena, sizeof(*b));
	struct sql_dead_page_row *v =
	    arena_array(r->arena, BULK_MAX, sizeof(*v));
	struct sql_log_first_row first = {.seq = INT64_MAX};

	TRY(api_body_maybe(r, BULK_BODY, NULL, b, e));
	TRY(deads_need_reason(skip && !b->dry, b->note, e));
	b->r = r;
	b->skip = skip;
	b->deads = DEADS_ALL;
	b->asks = arena_array(r->arena, BULK_MAX, sizeof(*b->asks));
	b->handed = arena_array(r->arena, BULK_MAX, sizeof(*b->handed));
	b->entries = arena_array(r->arena, BULK_MAX, sizeof(*b->entries));
	b->scratch = arena_new(HTTP_ARENA_MAX);
	r->ctx = b;
	r->done = bulk_end;
	TRY(member_read(
	    &io, BULK_FILTER, b->filter, "/filter", NULL, &b->deads, e));
	TRY(deads_find(r, db, &b->deads, "/filter/", e));
	if (b->after.p)
		TRY(deads_after(r, &b->deads, b->after, e));
	TRY(sql_log_first_one(db, &first, e));
	b->first = first.seq;
	while (!b->deads.end && !bulk_full(b) && b->deads.looked < PAGE_SCAN)
		TRY(bulk_some(r, db, v, e));
	return api_next(r, bulk_known);
}

int
api_deads_bulk(struct req *r, struct db *db, struct err *e)
{
	return bulk_begin(r, db, false, e);
}

int
api_deads_bulk_skip(struct req *r, struct db *db, struct err *e)
{
	return bulk_begin(r, db, true, e);
}
