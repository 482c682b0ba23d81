/*
 * delivery.h: POST /v1/dead-letters/requeue.
 *
 * Up to BULK_MAX of those that fit, unless they were put back so often, their
 * event is gone, or BULK_ROWS_MAX of their subscription wait already. What is
 * left is put back by calling again: nothing is kept of a call but its work.
 * What sources handed over (sub 0) is counted, and decided on one by one: it
 * has to be mended first.
 */
#include <stdatomic.h>

#include "api/api.h"
#include "api/v1/delivery.h"
#include "base/arena.h"
#include "base/json.h"
#include "event/limits.h"
#include "http/server/limits.h"

struct bulk {
	struct req *r;
	struct deads deads;
	bool dry;
	const struct json *filter;
	struct str note;
	struct ask_requeue *asks;
	size_t n_asks;
	_Atomic int left;
	_Atomic int failed;
	int64_t matched, tired, gone, waiting, of_sources;
	bool more;
	struct {
		uint32_t sub;
		int64_t rows;
	} full[SUBS_SEEN_MAX];
	size_t n_full;
};

/* Whether one more row of this subscription may wait. */
static int
room(struct bulk *b, struct db *db, uint32_t sub, struct err *e)
{
	struct sql_rows_of_sub_row row = {0};
	size_t i = 0;

	while (i < b->n_full && b->full[i].sub != sub)
		i++;
	if (i == COUNT_OF(b->full))
		return 0;
	if (i == b->n_full) {
		TRY(sql_rows_of_sub_one(
		    db, &row, e, .sub = sub, .most = BULK_ROWS_MAX));
		b->full[i].sub = sub;
		b->full[i].rows = row.n;
		b->n_full++;
	}
	return b->full[i].rows++ < BULK_ROWS_MAX;
}

static int
in_log(struct db *db, int64_t seq, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_event_head(db, &rows, e, .seq = seq));
	return rows_next(rows, e);
}

/* 1 when it is to be put back. */
static int
bulk_one(struct req *r, struct db *db, const struct sql_dead_page_row *d,
    struct err *e)
{
	struct bulk *b = r->ctx;
	struct sql_sub_head_row sub;
	bool there;

	if (d->sub == 0) {
		b->of_sources += r->who.tenants ? 0 : 1;
		return 0;
	}
	if (TRY(seen_sub(r, db, d->sub, &sub, e)) == 0)
		return 0;
	b->matched++;
	if (d->requeues >= BULK_TIMES_MAX) {
		b->tired++;
		return 0;
	}
	there = d->seq_to <= d->seq && sub.until_seq == 0;
	if (there && !d->kept)
		there = TRY(in_log(db, d->seq, e)) > 0;
	if (!there) {
		b->gone++;
		return 0;
	}
	if (TRY(room(b, db, (uint32_t)d->sub, e)) > 0)
		return 1;
	b->waiting++;
	return 0;
}

static int
bulk_some(struct req *r, struct db *db, struct sql_dead_page_row *v,
    struct err *e)
{
	struct bulk *b = r->ctx;
	size_t n = 0;

	TRY(deads_next(db, &b->deads, BULK_MAX, v, &n, e));
	for (size_t i = 0; i < n; i++) {
		const struct sql_dead_page_row *d = &v[i];
		struct spot spot = {d->seq, (uint32_t)d->sub, (int)d->rep};

		if (b->n_asks == BULK_MAX) {
			b->more = true;
			break;
		}
		if (TRY(bulk_one(r, db, d, e)) == 0)
			continue;
		if (b->dry) { /* it counts on */
			b->left++;
			continue;
		}
		b->asks[b->n_asks++] = (struct ask_requeue){
		    .decide = spot_decide(r, spot, ASK_REQUEUE, b->note),
		    .n = (int)d->n,
		    .reason = (int)d->reason,
		    .okey = (uint64_t)d->okey,
		    .skey = (uint64_t)d->skey,
		};
	}
	return OK;
}

static int
bulk_show(struct req *r, struct err *e)
{
	const struct bulk *b = r->ctx;
	struct buf *out = api_object(r);
	int64_t failed = atomic_load(&b->failed);

	(void)e;
	put_bool(out, "dryRun", b->dry);
	put_int(out, "matched", b->matched);
	put_int(out, "requeued",
	    b->dry ? atomic_load(&b->left) : (int64_t)b->n_asks - failed);
	put_int(out, "failed", failed);
	put_int(out, "requeuedTooOften", b->tired);
	put_int(out, "gone", b->gone);
	put_int(out, "mustWait", b->waiting);
	put_int(out, "ofSources", b->of_sources);
	put_bool(out, "more", b->more);
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
bulk_known(struct req *r, struct err *e)
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
		if (!api->deliver || !deliver_post(api->deliver, q)) {
			(void)err_set(&q->err, ERR_AWAY, "it does not deliver");
			bulk_asked(q);
		}
	}
	return REQ_WAIT;
}

int
api_deads_bulk(struct req *r, struct db *db, struct err *e)
{
	static const struct member BODY[] = {
	    {"filter", MEMBER_OBJECT, offsetof(struct bulk, filter),
		.about = "an empty one means all dead letters"},
	    {"dryRun", MEMBER_BOOL, offsetof(struct bulk, dry)},
	    NOTE_REASON(struct bulk, note),
	    {.name = NULL},
	};
	static const struct member FILTER[] = {
	    {"subscription", MEMBER_STRING,
		offsetof(struct deads, subscription), 0, UUID_LEN},
	    {"reason", MEMBER_STRING, offsetof(struct deads, reason_word), 0,
		NOTE_MAX},
	    {"from", MEMBER_TIME, offsetof(struct deads, from)},
	    {"to", MEMBER_TIME, offsetof(struct deads, to)},
	    {"type", MEMBER_STRING, offsetof(struct deads, type), 0,
		EVENT_TYPE_MAX},
	    {.name = NULL},
	};
	const struct member_io io = {.arena = r->arena};
	struct bulk *b = arena_alloc(r->arena, sizeof(*b));
	struct sql_dead_page_row *v =
	    arena_array(r->arena, BULK_MAX, sizeof(*v));

	TRY(api_body_maybe(r, BODY, NULL, b, e));
	if (!b->filter)
		return json_wrong(e, "/filter",
		    "must be an object; an empty one means all dead letters");
	b->r = r;
	b->deads = DEADS_ALL;
	b->asks = arena_array(r->arena, BULK_MAX, sizeof(*b->asks));
	r->ctx = b;
	TRY(member_read(&io, FILTER, b->filter, "/filter", NULL, &b->deads, e));
	TRY(deads_find(r, db, &b->deads, "/filter/", e));
	while (!b->deads.end && b->n_asks < BULK_MAX &&
	       b->deads.looked < PAGE_SCAN)
		TRY(bulk_some(r, db, v, e));
	b->more = b->more || !b->deads.end || b->waiting > 0;
	return api_next(r, bulk_known);
}
