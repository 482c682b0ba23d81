/*
 * deliveries.h: POST /v1/dead-letters/requeue.
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
#include "api/v1/deliveries.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "http/server/limits.h"
#include "sql.h"

struct bulk {
	struct req *r;
	struct deads deads;
	bool dry;
	struct json *filter;
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

static int
filter_time(const struct json *j, const char *name, const char *at,
    int64_t *ret, struct err *e)
{
	const struct json *t = json_get(j, name);

	if (!t || json_is(t, JSON_NULL))
		return OK;
	if (!json_is(t, JSON_STRING) || !time_parse(t->text, ret, NULL))
		return json_wrong(e, at,
		    "must be a time as in RFC 3339, 2030-01-31T12:00:00Z");
	return OK;
}

static int
bulk_filter(struct bulk *b, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {
	    "subscription", "reason", "from", "to", "type", NULL};
	const struct json *f = b->filter, *x;
	struct deads *d = &b->deads;
	int rc = json_known(f, "/filter", NAMES, e);

	*d = (struct deads){.reason = -1, .to = INT64_MAX};
	if (rc == OK)
		rc = filter_time(f, "from", "/filter/from", &d->from, e);
	if (rc == OK)
		rc = filter_time(f, "to", "/filter/to", &d->to, e);
	d->at = d->to;
	x = json_get(f, "reason");
	if (rc == OK && x)
		rc =
		    json_is(x, JSON_STRING)
			? deads_reason(x->text, "/filter/reason", &d->reason, e)
			: json_wrong(e, "/filter/reason", "must be a string");
	x = json_get(f, "type");
	if (rc == OK && x) {
		if (!json_is(x, JSON_STRING))
			rc = json_wrong(e, "/filter/type", "must be a string");
		d->type = x->text;
	}
	x = json_get(f, "subscription");
	if (rc == OK && x) {
		d->by_sub = true;
		rc = sub_brief_find(b->r, db,
		    json_is(x, JSON_STRING) ? x->text : STR_EMPTY,
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
	if (!v || !b->asks)
		return err_set(e, ERR_NOMEM, "no memory for a request");
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
	buf_fmt(&r->out,
	    "{\"dryRun\":%s,\"matched\":%lld,\"requeued\":%lld,"
	    "\"failed\":%d,\"requeuedTooOften\":%lld,\"gone\":%lld,"
	    "\"mustWait\":%lld,\"ofSources\":%lld,\"more\":%s}",
	    b->dry ? "true" : "false", (long long)b->matched, (long long)done,
	    atomic_load(&b->failed), (long long)b->tired, (long long)b->gone,
	    (long long)b->waiting, (long long)b->of_sources,
	    b->more ? "true" : "false");
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

	if (r->rc < 0)
		return api_said(r, e);
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
	static const char *const NAMES[] = {"filter", "dryRun", "reason", NULL};
	struct bulk *b = arena_alloc(r->arena, sizeof(*b));
	const struct json *dry;
	struct json *j = NULL;
	int rc;

	(void)db;
	if (!b)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = note_read(r, NAMES, &b->note, &j, e);
	if (rc < 0)
		return rc;
	b->filter = j ? json_get(j, "filter") : NULL;
	if (!json_is(b->filter, JSON_OBJECT))
		return json_wrong(e, "/filter",
		    "must be an object; an empty one means all dead letters");
	dry = json_get(j, "dryRun");
	if (dry && !json_is_bool(dry))
		return json_wrong(e, "/dryRun", "must be true or false");
	b->dry = json_is(dry, JSON_TRUE);
	b->r = r;
	r->ctx = b;
	r->then = bulk_known;
	return api_read(r, bulk_read, e);
}
