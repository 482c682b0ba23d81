/* delivery.h: the list, one delivery, and sending it again. */
#include "api/v1/delivery.h"

#include "api/api.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
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

struct list {
	struct append_job job;
	struct append_find find;
	struct req *r;
	struct seen_page page;
	/* the query */
	struct str subscription, after;
	int64_t from, to;
};

#define LIST(field) offsetof(struct list, field)
static const struct member LIST_QUERY[] = {
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
by_event(const struct list *l)
{
	return !uuid_eq(l->find.event_id, (struct uuid){{0}});
}

/* The event's place; 1 when the caller may see it. */
static int
find_event(struct list *l, struct db *db, int64_t *ret_seq, struct err *e)
{
	struct sql_event_head_row row;
	int rc;

	for (int i = 0; i < l->find.n; i++) {
		rc = sql_event_head_one(
		    db, l->r->arena, &row, e, .seq = l->find.seqs[i]);
		if (rc < 0)
			return rc;
		*ret_seq = l->find.seqs[i];
		if (rc > 0 &&
		    uuid_eq(uuid_of(row.event_id), l->find.event_id) &&
		    api_tenant_ok(&l->r->who, uuid_of(row.tenant)))
			return 1;
	}
	return 0;
}

static int
read_range(struct list *l, struct db *db, struct err *e)
{
	struct seen_page *p = &l->page;
	int64_t seq = 0;
	int rc = OK;

	if (l->from >= 0)
		rc = when_seq(db, l->from, &p->lo, e);
	p->before = (struct spot){.seq = DELIVERY_SEQ_MAX};
	if (rc == OK && l->to >= 0)
		rc = when_seq(db, l->to, &p->before.seq, e);
	if (rc == OK && by_event(l)) {
		rc = find_event(l, db, &seq, e);
		if (rc == 0)
			return err_at(
			    e, ERR_ABSENT, "event", "no event has this id");
		if (rc > 0 && (seq < p->lo || seq >= p->before.seq))
			seq = 0; /* of another time: nothing is shown */
		p->lo = seq;
		p->before = (struct spot){.seq = seq + 1};
	}
	return rc < 0 ? rc : OK;
}

static int
read_after(struct list *l, struct err *e)
{
	struct api *api = l->r->app;
	struct seen_page *p = &l->page;
	struct spot at;
	struct uuid id;
	uint16_t rep;

	if (!l->after.p)
		return OK;
	if (!uuid_parse(l->after, &id) ||
	    !delivery_id_open(&api->id_key, id, &at.seq, &at.sub, &rep))
		return api_no_cursor(e);
	at.rep = rep;
	if (at.seq < p->before.seq)
		p->before = at;
	return OK;
}

static int
list_read(struct req *r, struct db *db, struct err *e)
{
	struct list *l = r->ctx;
	struct seen_page *p = &l->page;
	struct sub_brief sub = {0};
	int rc = read_range(l, db, e);

	if (rc == OK)
		rc = read_after(l, e);
	if (rc == OK && l->subscription.p) {
		rc = sub_brief_find(
		    r, db, l->subscription, "subscription", &sub, e);
		p->sub = (uint32_t)sub.id;
	}
	if (rc < 0)
		return rc;
	api_list(r);
	rc = seen_page(r, db, p, &r->out, e);
	if (rc == OK && by_event(l) && p->lo > 0 && !p->more &&
	    (p->statuses & 1U << STATUS_PENDING) && !l->after.p)
		rc = seen_waiting(r, db, p->lo, p->sub, &r->out, e);
	api_list_end_uuid(r, p->more, spot_id(r->app, p->last));
	return rc;
}

static int
list_found(struct req *r, struct err *e)
{
	return api_read(r, list_read, e);
}

int
api_deliveries_list(struct req *r, struct db *db, struct err *e)
{
	struct list *l = arena_alloc(r->arena, sizeof(*l));
	int rc;

	(void)db;
	l->from = l->to = -1;
	l->page.statuses = (1U << STATUS_COUNT) - 1;
	rc = api_query(r, LIST_QUERY, l, e);
	if (rc < 0)
		return rc;
	l->r = r;
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

static int
absent(struct err *e)
{
	return err_set(e, ERR_ABSENT, "there is no such delivery");
}

/* The event itself, so that the engine finds its keys. */
static int
read_letter(struct retry *t, struct db *db, struct err *e)
{
	struct sql_log_feed_row row;
	struct rows *rows = NULL;
	int rc = sql_log_feed(db, &rows, e, .after = t->spot.seq - 1,
	    .upto = t->spot.seq, .most = 1);

	if (rc == OK)
		rc = sql_log_feed_next(rows, &row, e);
	if (rc > 0) {
		if (row.kind == 0)
			t->ask.letter = letter_new(&row);
	}
	rows_close(rows);
	if (rc > 0 && !t->ask.letter)
		rc = absent(e);
	if (rc == 0)
		rc = err_set(e, ERR_CONFLICT,
		    "the log no longer holds the event: it can't be sent again");
	return rc < 0 ? rc : OK;
}

static int
retry_read(struct req *r, struct db *db, struct err *e)
{
	struct retry *t = r->ctx;
	struct sub_brief *sub = &t->op.sub;
	struct seen s;
	int rc = sub_brief_get(r, db, t->spot.sub, sub, e);

	if (rc == 0 || (rc > 0 && !sub->visible))
		return absent(e);
	if (rc > 0)
		rc = seen_get(r, db, t->spot, &s, e);
	if (rc < 0)
		return rc;
	if (sub->until_seq > 0)
		return err_set(e, ERR_CONFLICT, "its subscription is gone");
	if (!seen_any(&s))
		return absent(e);
	if (s.dead.there && s.dead.seq_to > t->spot.seq)
		return err_set(e, ERR_CONFLICT,
		    "this is a stretch of the log that is gone: nothing of it can be sent");
	t->ask.n = s.attempt.there ? s.attempt.n : 0;
	if (s.row.there && s.row.n > t->ask.n)
		t->ask.n = s.row.n;
	if (!t->new_id && s.row.there) {
		memcpy(&t->ask.okey, &s.row.okey, sizeof(t->ask.okey));
		memcpy(&t->ask.skey, &s.row.skey, sizeof(t->ask.skey));
		return OK;
	}
	if (!t->new_id && s.dead.there) {
		memcpy(&t->ask.okey, &s.dead.okey, sizeof(t->ask.okey));
		memcpy(&t->ask.skey, &s.dead.skey, sizeof(t->ask.skey));
		t->ask.reason = s.dead.reason;
		return OK;
	}
	return read_letter(t, db, e);
}

static void
retry_show(struct replay_op *op)
{
	struct req *r = op->r;
	struct spot now = op->old;

	now.rep = op->ask.rep;
	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_uuid(&r->out, "id", spot_id(r->app, now));
	put_uuid(&r->out, "retryOf", spot_id(r->app, op->old));
	put_uuid(&r->out, "replay", op->uid);
	put_close(&r->out, '}');
	r->status = 202;
}

static int
retry_done(struct req *r, struct err *e)
{
	const struct retry *t = r->ctx;

	(void)e;
	buf_clear(&r->out);
	put_open(&r->out, NULL, '{');
	put_uuid(&r->out, "id", spot_id(r->app, t->spot));
	put_close(&r->out, '}');
	r->status = 202;
	return OK;
}

static int
retry_known(struct req *r, struct err *e)
{
	struct retry *t = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	if (!t->new_id) {
		api_then(r, retry_done);
		return api_ask(r, &t->ask.decide.ask, e);
	}
	t->op.r = r;
	t->op.old = t->spot;
	t->op.show = retry_show;
	t->op.ask.pos = t->spot.seq - 1;
	t->op.ask.until = t->spot.seq;
	return replay_op_begin(&t->op, e);
}

static void
retry_end(struct req *r)
{
	const struct retry *t = r->ctx;

	letter_unref(t->ask.letter);
}

int
api_deliveries_retry(struct req *r, struct db *db, struct err *e)
{
	static const struct member QUERY[] = {
	    {"newId", MEMBER_BOOL, offsetof(struct retry, new_id)},
	    {.name = NULL},
	};
	struct retry *t = arena_alloc(r->arena, sizeof(*t));
	int rc = api_query(r, QUERY, t, e);

	(void)db;
	if (rc == OK)
		rc = spot_read(r, &t->spot, e);
	if (rc < 0)
		return rc;
	t->ask.decide.ask.kind = ASK_REQUEUE;
	t->ask.decide.ask.sub = t->spot.sub;
	t->ask.decide.seq = t->spot.seq;
	t->ask.decide.rep = t->spot.rep;
	t->ask.decide.who = api_actor(r);
	t->ask.decide.note = STR("retried by hand");
	r->ctx = t;
	api_then(r, retry_known);
	r->done = retry_end;
	return api_read(r, retry_read, e);
}
