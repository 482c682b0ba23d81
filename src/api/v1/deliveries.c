/* deliveries.h: the list, one delivery, and sending it again. */
#include "api/v1/deliveries.h"

#include "api/api.h"
#include "api/limits.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/str.h"
#include "deliver/engine/letter.h"
#include "event/append.h"
#include "event/sealed.h"
#include "event/when.h"
#include "http/server/limits.h"
#include "sql.h"

/* What others use too --------------------------------------------------------- */

static void
asked(struct deliver_ask *q)
{
	struct req *r = q->arg;

	r->rc = q->err.code;
	r->err = q->err;
	req_wake(r);
}

int
api_ask(struct req *r, struct deliver_ask *q, struct err *e)
{
	struct api *api = r->app;
	int64_t changed = append_config_seq(api->append);

	/* The engine learns of a subscription from the log: first that. */
	if (q->behind < changed)
		q->behind = changed;
	q->done = asked;
	q->arg = r;
	if (api->deliver && deliver_post(api->deliver, q))
		return REQ_WAIT;
	(void)err_set(e, ERR_AWAY, "this server does not deliver now");
	e->retry_after_s = 1;
	return ERR_AWAY;
}

int
body_open(struct req *r, struct str tenant, struct str event_id,
    struct str body, struct str *ret, struct err *e)
{
	const struct api *api = r->app;
	struct str copy = arena_dup(r->arena, body);
	char *to;

	if (!copy.p)
		return err_set(e, ERR_NOMEM, "no memory for an event");
	*ret = copy;
	if (!sealed_is(body))
		return OK;
	to = arena_try(r->arena, body.n);
	return to ? sealed_open(
			api->keyring, tenant, event_id, body, to, ret, e)
		  : err_set(e, ERR_NOMEM, "no memory for an event");
}

int
query_time(const struct req *r, const char *name, int64_t *ret, struct err *e)
{
	struct str s;

	if (req_query(r, name, &s) && !time_parse(s, ret, NULL))
		return err_at(e, ERR_INVALID, name,
		    "%s must be a time as in RFC 3339, 2030-01-31T12:00:00Z",
		    name);
	return OK;
}

int
note_read(struct req *r, const char *const *names, struct str *ret_note,
    struct json **ret_doc, struct err *e)
{
	struct json *j = NULL;
	const struct json *note;
	int rc;

	*ret_note = (struct str){.p = NULL};
	*ret_doc = NULL;
	if (r->body.n == 0)
		return OK;
	rc = json_parse(r->arena, r->body, &j, e);
	if (rc < 0)
		return rc;
	if (!json_is(j, JSON_OBJECT))
		return err_at(e, ERR_INVALID, "", "must be a JSON object");
	rc = json_known(j, "", names, e);
	if (rc < 0)
		return rc;
	note = json_get(j, "reason");
	if (note && !json_is(note, JSON_NULL)) {
		if (!json_is(note, JSON_STRING) || note->text.n > NOTE_MAX)
			return json_wrong(e, "/reason",
			    "must be a string of at most %d bytes", NOTE_MAX);
		*ret_note = note->text;
	}
	*ret_doc = j;
	return OK;
}

/* GET /v1/deliveries -------------------------------------------------------------- */

struct list {
	struct append_job job;
	struct append_find find;
	struct req *r;
	bool by_event;
	struct seen_page page;
};

static int
read_status(const struct req *r, unsigned *ret, struct err *e)
{
	struct str s;

	*ret = (1U << STATUS_COUNT) - 1;
	if (!req_query(r, "status", &s))
		return OK;
	*ret = 0;
	while (s.n > 0) {
		struct str word = str_cut(&s, ',');
		unsigned was = *ret;

		for (int i = 0; i < STATUS_COUNT; i++)
			if (str_eq(word, str_of(delivery_status_name(
					     (enum delivery_status)i))))
				*ret |= 1U << i;
		if (*ret == was)
			return err_at(e, ERR_INVALID, "status",
			    "status is PENDING, PROCESSING, RETRY_PENDING, SUCCESS or DEAD_LETTER");
	}
	return OK;
}

/* The event's place; 1 when the caller may see it. */
static int
find_event(struct list *l, struct db *db, int64_t *ret_seq, struct err *e)
{
	for (int i = 0; i < l->find.n; i++) {
		struct sql_event_head_row row;
		struct rows *rows = NULL;
		struct uuid id = {{0}}, tenant = {{0}};
		int rc = sql_event_head(db, &rows, e, .seq = l->find.seqs[i]);

		if (rc == OK)
			rc = rows_next(rows, e);
		if (rc > 0) {
			sql_event_head_get(rows, &row);
			if (row.event_id.n == sizeof(id.b))
				memcpy(id.b, row.event_id.p, sizeof(id.b));
			if (row.tenant.n == sizeof(tenant.b))
				memcpy(
				    tenant.b, row.tenant.p, sizeof(tenant.b));
			*ret_seq = l->find.seqs[i];
		}
		rows_close(rows);
		if (rc < 0)
			return rc;
		if (rc > 0 && uuid_eq(id, l->find.event_id) &&
		    api_tenant_ok(&l->r->who, tenant))
			return 1;
	}
	return 0;
}

static int
read_range(struct list *l, struct db *db, struct err *e)
{
	struct req *r = l->r;
	struct seen_page *p = &l->page;
	int64_t from = -1, to = -1, seq = 0;
	int rc = query_time(r, "from", &from, e);

	if (rc == OK)
		rc = query_time(r, "to", &to, e);
	if (rc == OK && from >= 0)
		rc = when_seq(db, from, &p->lo, e);
	p->before = (struct spot){.seq = DELIVERY_SEQ_MAX};
	if (rc == OK && to >= 0)
		rc = when_seq(db, to, &p->before.seq, e);
	if (rc == OK && l->by_event) {
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
	struct str s;
	uint16_t rep;

	if (!req_query(l->r, "after", &s))
		return OK;
	if (!uuid_parse(s, &id) ||
	    !delivery_id_open(&api->id_key, id, &at.seq, &at.sub, &rep))
		return err_at(
		    e, ERR_INVALID, "after", "after is no cursor of this list");
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
	struct str s;
	int rc = read_range(l, db, e);

	if (rc == OK)
		rc = read_after(l, e);
	if (rc == OK && req_query(r, "subscription", &s)) {
		rc = sub_brief_find(r, db, s, "subscription", &sub, e);
		p->sub = (uint32_t)sub.id;
	}
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	rc = seen_page(r, db, p, &r->out, e);
	if (rc == OK && l->by_event && p->lo > 0 && !p->more &&
	    (p->statuses & 1U << STATUS_PENDING) && !req_query(r, "after", &s))
		rc = seen_waiting(r, db, p->lo, p->sub, &p->shown, &r->out, e);
	buf_addz(&r->out, "],\"next\":");
	if (p->more) {
		buf_addc(&r->out, '"');
		uuid_add(&r->out, spot_id(r->app, p->last));
		buf_addz(&r->out, "\"}");
	} else {
		buf_addz(&r->out, "null}");
	}
	return rc;
}

static int
list_found(struct req *r, struct err *e)
{
	if (r->rc < 0)
		return api_said(r, e);
	r->then = api_said;
	return api_read(r, list_read, e);
}

static void
find_done(struct append_job *job)
{
	struct list *l = MAIL_OF(job, struct list, job);

	l->r->rc = job->err.code;
	l->r->err = job->err;
	req_wake(l->r);
}

int
api_deliveries_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"subscription", "event", "status",
	    "from", "to", "limit", "after", NULL};
	struct api *api = r->app;
	struct list *l = arena_alloc(r->arena, sizeof(*l));
	struct str s;
	int rc;

	(void)db;
	if (!l)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = req_query_only(r, NAMES, e);
	if (rc == OK)
		rc = read_status(r, &l->page.statuses, e);
	if (rc == OK)
		rc = req_query_int(
		    r, "limit", 1, PAGE_MAX, PAGE_DEFAULT, &l->page.limit, e);
	if (rc < 0)
		return rc;
	l->r = r;
	r->ctx = l;
	l->by_event = req_query(r, "event", &s);
	if (!l->by_event)
		return api_read(r, list_read, e);
	if (!uuid_parse(s, &l->find.event_id))
		return err_at(e, ERR_INVALID, "event", "event must be a uuid");
	l->job.find = &l->find;
	l->job.done = find_done;
	r->then = list_found;
	rc = append_post(api->append, &l->job, e);
	return rc < 0 ? rc : REQ_WAIT;
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
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_log_feed_get(rows, &row);
		if (row.kind == 0)
			t->ask.letter = letter_new(&row);
	}
	rows_close(rows);
	if (rc > 0 && !t->ask.letter)
		rc = row.kind == 0
			 ? err_set(e, ERR_NOMEM, "no memory for an event")
			 : absent(e);
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
	buf_addz(&r->out, "{\"id\":\"");
	uuid_add(&r->out, spot_id(r->app, now));
	buf_addz(&r->out, "\",\"retryOf\":\"");
	uuid_add(&r->out, spot_id(r->app, op->old));
	buf_addz(&r->out, "\",\"replay\":\"");
	uuid_add(&r->out, op->uid);
	buf_addz(&r->out, "\"}");
	r->status = 202;
}

static int
retry_done(struct req *r, struct err *e)
{
	const struct retry *t = r->ctx;

	if (r->rc < 0)
		return api_said(r, e);
	buf_clear(&r->out);
	buf_addz(&r->out, "{\"id\":\"");
	uuid_add(&r->out, spot_id(r->app, t->spot));
	buf_addz(&r->out, "\"}");
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
		r->then = retry_done;
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
	static const char *const NAMES[] = {"newId", NULL};
	struct retry *t = arena_alloc(r->arena, sizeof(*t));
	struct str s;
	int rc;

	(void)db;
	if (!t)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = req_query_only(r, NAMES, e);
	if (rc == OK)
		rc = spot_read(r, &t->spot, e);
	if (rc == OK && req_query(r, "newId", &s)) {
		t->new_id = str_eq(s, STR("true"));
		if (!t->new_id && !str_eq(s, STR("false")))
			rc = err_at(e, ERR_INVALID, "newId",
			    "newId must be true or false");
	}
	if (rc < 0)
		return rc;
	t->ask.decide.ask.kind = ASK_REQUEUE;
	t->ask.decide.ask.sub = t->spot.sub;
	t->ask.decide.seq = t->spot.seq;
	t->ask.decide.rep = t->spot.rep;
	t->ask.decide.who = api_actor(r);
	t->ask.decide.note = STR("retried by hand");
	r->ctx = t;
	r->then = retry_known;
	r->done = retry_end;
	return api_read(r, retry_read, e);
}
