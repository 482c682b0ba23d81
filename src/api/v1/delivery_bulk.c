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
#include "api/limits.h"
#include "api/v1/delivery.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "event/limits.h"
#include "http/server/limits.h"
#include "sql.h"

struct bulk {
	struct req *r;
	struct deads deads;
	bool dry;
	const struct json *filter;
	struct str note, reason, subscription; /* the latter of the filter */
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

static int
bulk_filter(struct bulk *b, struct db *db, struct err *e)
{
	static const struct member FILTER[] = {
	    {"subscription", MEMBER_STRING, offsetof(struct bulk, subscription),
		0, UUID_LEN},
	    {"reason", MEMBER_STRING, offsetof(struct bulk, reason), 0,
		NOTE_MAX},
	    {"from", MEMBER_TIME, offsetof(struct bulk, deads.from)},
	    {"to", MEMBER_TIME, offsetof(struct bulk, deads.to)},
	    {"type", MEMBER_STRING, offsetof(struct bulk, deads.type), 0,
		EVENT_TYPE_MAX},
	    {.name = NULL},
	};
	const struct member_io io = {.arena = b->r->arena};
	struct deads *d = &b->deads;
	int rc;

	*d = (struct deads){.reason = -1, .to = INT64_MAX};
	rc = member_read(&io, FILTER, b->filter, "/filter", NULL, b, e);
	d->at = d->to;
	if (rc == OK && b->reason.p)
		rc = deads_reason(b->reason, "/filter/reason", &d->reason, e);
	if (rc == OK && b->subscription.p) {
		d->by_sub = true;
		rc = sub_brief_find(b->r, db, b->subscription,
		    "/filter/subscription", &d->sub, e);
	}
	return rc;
}

/* Whether one more row of this subscription may wait. */
static int
room(struct bulk *b, struct db *db, uint32_t sub, struct err *e)
{
	struct rows *rows = NULL;
	size_t i = 0;
	int rc = OK;

	while (i < b->n_full && b->full[i].sub != sub)
		i++;
	if (i == COUNT_OF(b->full))
		return 0;
	if (i == b->n_full) {
		rc = sql_rows_of_sub(
		    db, &rows, e, .sub = sub, .most = BULK_ROWS_MAX);
		if (rc == OK)
			rc = rows_next(rows, e);
		b->full[i].sub = sub;
		b->full[i].rows = rc > 0 ? rows_int(rows, 0) : 0;
		b->n_full++;
		rows_close(rows);
	}
	return rc < 0 ? rc : b->full[i].rows++ < BULK_ROWS_MAX;
}

static int
in_log(struct db *db, int64_t seq, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_event_head(db, &rows, e, .seq = seq);

	if (rc == OK)
		rc = rows_next(rows, e);
	rows_close(rows);
	return rc;
}

/* 1 when it is to be put back. */
static int
bulk_one(struct bulk *b, struct db *db, const struct seen *s, struct err *e)
{
	struct sub_brief sub;
	int rc;

	if (s->spot.sub == 0) {
		b->of_sources += b->r->who.tenants ? 0 : 1;
		return 0;
	}
	rc = sub_brief_get(b->r, db, s->spot.sub, &sub, e);
	if (rc <= 0 || !sub.visible)
		return rc < 0 ? rc : 0;
	b->matched++;
	if (s->dead.requeues >= BULK_TIMES_MAX) {
		b->tired++;
		return 0;
	}
	if (s->dead.seq_to > s->spot.seq || sub.until_seq > 0) {
		b->gone++;
		return 0;
	}
	if (!s->dead.kept) {
		rc = in_log(db, s->spot.seq, e);
		if (rc <= 0) {
			b->gone++;
			return rc;
		}
	}
	rc = room(b, db, s->spot.sub, e);
	if (rc == 0)
		b->waiting++;
	return rc;
}

static int
bulk_read(struct req *r, struct db *db, struct err *e)
{
	struct bulk *b = r->ctx;
	size_t n = 0, most = BULK_MAX;
	struct seen *v = arena_array(r->arena, most, sizeof(*v));
	int rc = bulk_filter(b, db, e);

	b->asks = arena_array(r->arena, most, sizeof(*b->asks));
	while (rc == OK && !b->deads.end && b->n_asks < most &&
	       b->deads.looked < PAGE_SCAN) {
		rc = deads_next(db, &b->deads, most, v, &n, e);
		for (size_t i = 0; rc >= 0 && i < n; i++) {
			const struct seen *s = &v[i];
			struct ask_requeue *q = &b->asks[b->n_asks];

			if (b->n_asks == most) {
				b->more = true;
				break;
			}
			rc = bulk_one(b, db, s, e);
			if (rc <= 0)
				continue;
			*q = (struct ask_requeue){
			    .decide.ask.kind = ASK_REQUEUE,
			    .decide.ask.sub = s->spot.sub,
			    .decide.seq = s->spot.seq,
			    .decide.rep = s->spot.rep,
			    .n = s->dead.n,
			    .reason = s->dead.reason,
			};
			memcpy(&q->okey, &s->dead.okey, sizeof(q->okey));
			memcpy(&q->skey, &s->dead.skey, sizeof(q->skey));
			/* A dry run counts on. */
			if (b->dry)
				b->left++;
			else
				b->n_asks++;
		}
		rc = rc < 0 ? rc : OK;
	}
	b->more = b->more || !b->deads.end || b->waiting > 0;
	return rc;
}

static int
bulk_show(struct req *r, struct err *e)
{
	struct bulk *b = r->ctx;
	int64_t done =
	    b->dry ? b->left : (int64_t)b->n_asks - atomic_load(&b->failed);

	(void)e;
	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_bool(&r->out, "dryRun", b->dry);
	put_int(&r->out, "matched", b->matched);
	put_int(&r->out, "requeued", done);
	put_int(&r->out, "failed", atomic_load(&b->failed));
	put_int(&r->out, "requeuedTooOften", b->tired);
	put_int(&r->out, "gone", b->gone);
	put_int(&r->out, "mustWait", b->waiting);
	put_int(&r->out, "ofSources", b->of_sources);
	put_bool(&r->out, "more", b->more);
	put_close(&r->out, '}');
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

	if (b->dry || n == 0)
		return bulk_show(r, e);
	r->then = bulk_show;
	b->left = (int)n;
	for (size_t i = 0; i < n; i++) {
		struct deliver_ask *q = &b->asks[i].decide.ask;

		b->asks[i].decide.who = api_actor(r);
		b->asks[i].decide.note = b->note;
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
	struct bulk *b = arena_alloc(r->arena, sizeof(*b));
	int rc = api_body_maybe(r, BODY, NULL, b, e);

	(void)db;
	if (rc == OK && !b->filter)
		rc = json_wrong(e, "/filter",
		    "must be an object; an empty one means all dead letters");
	if (rc < 0)
		return rc;
	b->r = r;
	r->ctx = b;
	api_then(r, bulk_known);
	return api_read(r, bulk_read, e);
}
