/* delivery.h: dead letters, a page of them, one, and putting back many. */
#include <stdatomic.h>

#include "api/api.h"
#include "api/v1/delivery.h"
#include "contract/verdict.h"
#include "event/limits.h"
#include "event/sealed.h"
#include "http/server/limits.h"

/* Pages --------------------------------------------------------------------------- */

int
deads_find(struct req *r, struct db *db, struct deads *d, const char *at,
    struct err *e)
{
	struct sql_sub_head_row sub;
	enum reason reason;

	d->at = d->to;
	if (d->reason_word.p) {
		if (!reason_find(d->reason_word, &reason))
			return err_at(e, ERR_INVALID,
			    arena_fmt(r->arena, "%sreason", at).p,
			    "there is no such reason; HTTP_STATUS, EXHAUSTED and EXPIRED are some");
		d->reason = (int)reason;
	}
	if (d->subscription.p) {
		TRY(seen_sub_find(r, db, d->subscription,
		    arena_fmt(r->arena, "%ssubscription", at).p, &sub, e));
		d->sub = sub.id;
	}
	return OK;
}

static int
deads_query(struct db *db, const struct deads *d, int64_t most,
    struct rows **ret, struct err *e)
{
	struct sql_dead_page_args a = {.lo = d->from,
	    .at = d->at,
	    .sub = d->sub ? d->sub : d->spot.sub,
	    .seq = d->spot.seq,
	    .rep = d->spot.rep,
	    .most = most};

	return d->sub ? sql_dead_page_sub_run(db, &a, ret, e)
		      : sql_dead_page_run(db, &a, ret, e);
}

static struct spot
dead_spot(const struct sql_dead_page_row *row)
{
	return (struct spot){row->seq, (uint32_t)row->sub, (int)row->rep};
}

static int
type_fits(struct db *db, const struct deads *d, int64_t seq, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_event_head_row row;

	if (!d->type.p)
		return 1;
	TRY(sql_event_head(db, &rows, e, .seq = seq));
	return TRY(sql_event_head_next(rows, &row, e)) > 0 &&
	       str_eq(row.type, d->type);
}

/* One query of it; the end is where less came than was asked for. */
static int
deads_some(struct db *db, struct deads *d, size_t most,
    struct sql_dead_page_row *v, size_t *n, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_dead_page_row row;
	size_t got = 0;

	TRY(deads_query(db, d, (int64_t)most + 1, &rows, e));
	while (*n < most && TRY(sql_dead_page_next(rows, &row, e)) > 0) {
		got++;
		d->looked++;
		d->at = row.at;
		d->spot = dead_spot(&row);
		if ((d->reason < 0 || row.reason == d->reason) &&
		    TRY(type_fits(db, d, row.seq, e)))
			v[(*n)++] = row;
	}
	d->end = *n < most && got < most + 1;
	return OK;
}

int
deads_next(struct db *db, struct deads *d, size_t most,
    struct sql_dead_page_row *v, size_t *ret_n, struct err *e)
{
	*ret_n = 0;
	while (*ret_n < most && !d->end && d->looked < PAGE_SCAN)
		TRY(deads_some(db, d, most, v, ret_n, e));
	return OK;
}

/* GET /v1/dead-letters --------------------------------------------------------------- */

struct deads_list {
	struct api_page page;
	struct deads deads;
};

#define LIST(field) offsetof(struct deads_list, field)
static const struct member LIST_QUERY[] = {
    {"subscription", MEMBER_STRING, LIST(deads.subscription), 0, UUID_LEN},
    {"reason", MEMBER_STRING, LIST(deads.reason_word), 0, API_CURSOR_MAX},
    {"from", MEMBER_TIME, LIST(deads.from)},
    {"to", MEMBER_TIME, LIST(deads.to)},
    API_PAGE(struct deads_list),
    {.name = NULL},
};

/* The one that is named, if the caller may see it: 1, 0 or < 0. */
static int
dead_look(struct req *r, struct db *db, struct spot spot, struct seen *s,
    struct sql_sub_head_row *sub, struct err *e)
{
	*sub = (struct sql_sub_head_row){0};
	if (spot.sub == 0 ? r->who.tenants != NULL
			  : TRY(seen_sub(r, db, spot.sub, sub, e)) == 0)
		return 0;
	TRY(seen_get(r, db, spot, s, e));
	return 1;
}

int
dead_get(struct req *r, struct db *db, struct spot spot, struct seen *s,
    struct sql_sub_head_row *sub, struct err *e)
{
	if (TRY(dead_look(r, db, spot, s, sub, e)) == 0 || !s->has_dead)
		return err_set(e, ERR_ABSENT, "there is no such dead letter");
	return OK;
}

static int
dead_show(struct req *r, struct db *db, const struct seen *s,
    const struct sql_sub_head_row *sub, struct err *e)
{
	return seen_show(
	    r, db, s, s->spot.sub == 0 ? NULL : sub, NULL, &r->out, e);
}

int
api_deads_list(struct req *r, struct db *db, struct err *e)
{
	struct deads_list l = {.deads = DEADS_ALL};
	struct deads *d = &l.deads;
	struct sql_dead_page_row *v;
	struct str next = {.p = NULL};
	size_t n = 0, limit;
	bool more;

	TRY(api_query(r, LIST_QUERY, &l, e));
	TRY(deads_find(r, db, d, "", e));
	if (l.page.after.p) { /* at.deliveryId */
		struct str id = l.page.after, at = str_cut(&id, '.');

		if (!str_int(at, &d->at) || !spot_open(r->app, id, &d->spot))
			return api_no_cursor(e);
	}
	limit = (size_t)l.page.limit;
	v = arena_array(r->arena, limit + 1, sizeof(*v));
	api_list(r);
	TRY(deads_next(db, d, limit + 1, v, &n, e));
	more = n > limit || !d->end;
	if (n > limit) {
		n = limit;
		d->at = v[n - 1].at;
		d->spot = dead_spot(&v[n - 1]);
	}
	for (size_t i = 0; i < n; i++) {
		struct sql_sub_head_row sub;
		struct seen s;

		if (TRY(dead_look(r, db, dead_spot(&v[i]), &s, &sub, e)) == 0)
			continue;
		TRY(dead_show(r, db, &s, &sub, e));
		buf_addc(&r->out, '}');
	}
	if (more) {
		char id[UUID_LEN + 1];

		uuid_format(spot_id(r->app, d->spot), id);
		next = arena_fmt(r->arena, "%lld.%s", (long long)d->at, id);
	}
	api_list_end(r, next);
	return OK;
}

/* One --------------------------------------------------------------------------------- */

int
dead_event(struct req *r, struct db *db, struct spot spot, struct str *ret,
    struct err *e)
{
	struct sql_log_get_row row;
	struct sql_dead_body_row dead;

	*ret = (struct str){.p = NULL};
	if (TRY(sql_log_get_one(db, r->arena, &row, e, .seq = spot.seq)) > 0)
		return delivery_body(
		    r, row.tenant, row.event_id, row.body, ret, e);
	/* A sealed one opens by what the log said of it alone: it is gone. */
	if (TRY(sql_dead_body_one(db, r->arena, &dead, e, .sub = spot.sub,
		.seq = spot.seq, .rep = spot.rep)) > 0 &&
	    dead.body.p && !sealed_is(dead.body))
		*ret = dead.body;
	return OK;
}

int
api_deads_get(struct req *r, struct db *db, struct err *e)
{
	struct sql_sub_head_row sub;
	struct spot spot;
	struct seen s;
	struct str event = {.p = NULL};

	TRY(spot_read(r, &spot, e));
	TRY(dead_get(r, db, spot, &s, &sub, e));
	TRY(dead_event(r, db, spot, &event, e));
	TRY(dead_show(r, db, &s, &sub, e));
	TRY(seen_attempts(db, spot, &r->out, e));
	put_raw(&r->out, "event", event);
	put_close(&r->out, '}');
	return OK;
}

/*
 * POST /v1/dead-letters/requeue ---------------------------------------------
 *
 * Up to BULK_MAX of those that fit, unless they were put back so often, their
 * event is gone, or BULK_ROWS_MAX of their subscription wait already. What is
 * left is put back by calling again: nothing is kept of a call but its work.
 * What sources handed over (sub 0) is counted, and decided on one by one: it
 * has to be mended first.
 */

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
bulk_some(
    struct req *r, struct db *db, struct sql_dead_page_row *v, struct err *e)
{
	struct bulk *b = r->ctx;
	size_t n = 0;

	TRY(deads_next(db, &b->deads, BULK_MAX, v, &n, e));
	for (size_t i = 0; i < n; i++) {
		const struct sql_dead_page_row *d = &v[i];

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
		    .decide =
			spot_decide(r, dead_spot(d), ASK_REQUEUE, b->note),
		    .n = (int)d->n,
		    .reason = (int)d->reason,
		    .okey = (uint64_t)d->okey,
		    .skey = (uint64_t)d->skey,
		};
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
