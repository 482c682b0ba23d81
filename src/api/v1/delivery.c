/* delivery.h: the list, one delivery, and sending it again. */
#include "api/v1/delivery.h"

#include "api/api.h"
#include "deliver/engine/letter.h"
#include "event/append.h"
#include "event/sealed.h"
#include "event/when.h"
#include "sql.h"

/* What others use too --------------------------------------------------------- */

int
delivery_body(struct req *r, struct str tenant, struct str event_id,
    struct str body, struct str *ret, struct err *e)
{
	const struct api *api = r->app;
	struct str copy = arena_dup(r->arena, body);

	*ret = copy;
	if (!sealed_is(body))
		return OK;
	return sealed_open(api->keyring, tenant, event_id, body,
	    arena_alloc(r->arena, body.n), ret, e);
}

struct list_query {
	struct append_job job;
	struct append_find find;
	struct seen_page page;
	/* the query */
	struct str subscription, after;
	int64_t from, to;
};

#define LIST(field) offsetof(struct list_query, field)
const struct member DELIVERIES_QUERY[] = {
    {"subscription", MEMBER_STRING, LIST(subscription), 0, UUID_LEN},
    {"event", MEMBER_UUID, LIST(find.event_id)},
    {"status", MEMBER_WORDS, LIST(page.statuses), .words = DELIVERY_STATUS},
    {"from", MEMBER_TIME, LIST(from)},
    {"to", MEMBER_TIME, LIST(to)},
    {"limit", MEMBER_INT, LIST(page.limit), 1, PAGE_MAX,
	.absent = PAGE_DEFAULT},
    {"after", MEMBER_STRING, LIST(after), 0, API_CURSOR_MAX},
    {.name = NULL},
};

static bool
by_event(const struct list_query *l)
{
	return !uuid_eq(l->find.event_id, (struct uuid){{0}});
}

/* The event's place; 1 when the caller may see it. */
static int
find_event(struct req *r, struct db *db, int64_t *ret_seq, struct err *e)
{
	const struct list_query *l = r->ctx;
	struct sql_event_head_row row;

	for (int i = 0; i < l->find.n; i++) {
		*ret_seq = l->find.seqs[i];
		if (TRY(sql_event_head_one(
			db, r->arena, &row, e, .seq = *ret_seq)) > 0 &&
		    uuid_eq(uuid_of(row.event_id), l->find.event_id) &&
		    api_tenant_ok(&r->who, uuid_of(row.tenant)))
			return 1;
	}
	return 0;
}

static int
read_range(struct req *r, struct db *db, struct err *e)
{
	struct list_query *l = r->ctx;
	struct seen_page *p = &l->page;
	int64_t seq = 0;

	if (l->from >= 0)
		TRY(when_seq(db, l->from, &p->lo, e));
	p->before = (struct spot){.seq = DELIVERY_SEQ_MAX};
	if (l->to >= 0)
		TRY(when_seq(db, l->to, &p->before.seq, e));
	if (!by_event(l))
		return OK;
	if (TRY(find_event(r, db, &seq, e)) == 0)
		return err_at(e, ERR_ABSENT, "event", "no event has this id");
	if (seq < p->lo || seq >= p->before.seq)
		seq = 0; /* of another time: nothing is shown */
	p->lo = seq;
	p->before = (struct spot){.seq = seq + 1};
	return OK;
}

static int
list_read(struct req *r, struct db *db, struct err *e)
{
	struct list_query *l = r->ctx;
	struct seen_page *p = &l->page;
	struct sql_sub_head_row sub;
	struct spot after;

	TRY(read_range(r, db, e));
	if (l->after.p) {
		if (!spot_open(r->app, l->after, &after))
			return api_no_cursor(e);
		if (after.seq < p->before.seq)
			p->before = after;
	}
	if (l->subscription.p) {
		TRY(seen_sub_find(
		    r, db, l->subscription, "subscription", &sub, e));
		p->sub = (uint32_t)sub.id;
	}
	api_list(r);
	TRY(seen_page(r, db, p, &r->out, e));
	if (by_event(l) && p->lo > 0 && !p->more &&
	    (p->statuses & 1U << STATUS_PENDING) && !l->after.p)
		TRY(seen_waiting(r, db, p->lo, p->sub, &r->out, e));
	api_list_end_uuid(r, p->more, spot_id(r->app, p->last));
	return OK;
}

static int
list_found(struct req *r, struct err *e)
{
	return api_read(r, list_read, e);
}

int
api_deliveries_list(struct req *r, struct db *, struct err *e)
{
	struct list_query *l = arena_alloc(r->arena, sizeof(*l));

	l->from = l->to = -1;
	l->page.statuses = (1U << STATUS_COUNT) - 1;
	TRY(api_query(r, DELIVERIES_QUERY, l, e));
	r->ctx = l;
	if (!by_event(l))
		return api_read(r, list_read, e);
	l->job.find = &l->find;
	api_then(r, list_found);
	return api_append(r, &l->job, e);
}

/* POST /v1/deliveries/{id}/retry --------------------------------------------------- */

struct retry {
	struct replay_op op; /* newId; first, so that it is r->ctx too */
	struct ask_requeue ask;
	struct spot spot;
	bool new_id;
};

/* The event itself, so that the engine finds its keys. */
static int
read_letter(struct retry *t, struct db *db, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_log_feed_row row;

	TRY(sql_log_feed(db, &rows, e, .after = t->spot.seq - 1,
	    .upto = t->spot.seq, .most = 1));
	if (TRY(sql_log_feed_next(rows, &row, e)) == 0)
		return err_set(e, ERR_CONFLICT,
		    "the log no longer holds the event: it can't be sent again");
	if (row.kind != 0)
		return spot_absent(e);
	t->ask.letter = letter_new(&row);
	return OK;
}

static int
retry_read(struct req *r, struct db *db, struct err *e)
{
	struct retry *t = r->ctx;
	struct sql_sub_head_row *sub = &t->op.sub;
	struct ask_requeue *q = &t->ask;
	struct seen s;

	if (TRY(seen_sub(r, db, t->spot.sub, sub, e)) == 0)
		return spot_absent(e);
	TRY(seen_get(r, db, t->spot, &s, e));
	if (sub->until_seq > 0)
		return err_set(e, ERR_CONFLICT, "its subscription is gone");
	if (!seen_any(&s))
		return spot_absent(e);
	if (s.has_dead && s.dead.seq_to > t->spot.seq)
		return err_set(e, ERR_CONFLICT,
		    "this is a stretch of the log that is gone: nothing of it can be sent");
	q->n = s.has_attempt ? (int)s.attempt.n : 0;
	if (s.has_row && s.row.n > q->n)
		q->n = (int)s.row.n;
	if (t->new_id || (!s.has_row && !s.has_dead))
		return read_letter(t, db, e);
	q->okey = (uint64_t)(s.has_row ? s.row.okey : s.dead.okey);
	q->skey = (uint64_t)(s.has_row ? s.row.skey : s.dead.skey);
	q->reason = s.has_row ? 0 : (int)s.dead.reason;
	return OK;
}

static void
retry_show(struct replay_op *op)
{
	struct req *r = op->r;
	struct buf *b = api_object(r);
	struct spot now = op->old;

	now.rep = op->reader.rep;
	put_uuid(b, "id", spot_id(r->app, now));
	put_uuid(b, "retryOf", spot_id(r->app, op->old));
	put_uuid(b, "replay", op->uid);
	put_close(b, '}');
	r->status = 202;
}

static int
retry_done(struct req *r, struct err *)
{
	const struct retry *t = r->ctx;
	struct buf *b = api_object(r);

	put_uuid(b, "id", spot_id(r->app, t->spot));
	put_close(b, '}');
	r->status = 202;
	return OK;
}

static int
retry_known(struct req *r, struct err *e)
{
	struct retry *t = r->ctx;

	if (!t->new_id) {
		api_then(r, retry_done);
		return api_ask(r, &t->ask.decide.ask, e);
	}
	t->op.r = r;
	t->op.old = t->spot;
	t->op.show = retry_show;
	t->op.total = -1;
	t->op.reader.pos = t->spot.seq - 1;
	t->op.reader.until = t->spot.seq;
	return replay_op_begin(&t->op, e);
}

static void
retry_end(struct req *r)
{
	const struct retry *t = r->ctx;

	letter_unref(t->ask.letter);
}

const struct member RETRY_QUERY[] = {
    {"newId", MEMBER_BOOL, offsetof(struct retry, new_id)},
    {.name = NULL},
};

int
api_deliveries_retry(struct req *r, struct db *db, struct err *e)
{
	struct retry *t = arena_alloc(r->arena, sizeof(*t));

	TRY(api_query(r, RETRY_QUERY, t, e));
	TRY(spot_read(r, &t->spot, e));
	t->ask.decide =
	    spot_decide(r, t->spot, ASK_REQUEUE, STR("retried by hand"));
	r->ctx = t;
	r->done = retry_end;
	TRY(retry_read(r, db, e));
	TRY(api_behind(r, db, &t->ask.decide.ask, e));
	return api_next(r, retry_known);
}
