#include <assert.h>

#include "api/api.h"
#include "api/v1/deliveries.h"
#include "api/v1/events.h"
#include "api/v1/log_page.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "contract/limits.h"
#include "event/append.h"
#include "event/catalog.h"
#include "event/cursor.h"
#include "event/envelope.h"
#include "event/sealed.h"
#include "event/tail.h"
#include "http/server/limits.h"
#include "sql.h"

/* GET /v1/events */

struct list {
	struct log_filter filter;
	struct log_page page;
	struct tail_waiter waiter;
	struct req *r;
	bool waits; /* ?wait= was given: a follower, who always gets a cursor */
	int64_t until_ms;
};

static void
show_item(struct buf *b, struct str body, int64_t seq, int64_t received_us,
    size_t nth)
{
	if (nth > 0)
		buf_addc(b, ',');
	envelope_show(b, body, seq, received_us);
}

static int
list_page(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct list *l = r->ctx;
	char cursor[CURSOR_LEN + 1];
	int rc;

	buf_clear(&r->out);
	buf_addz(&r->out, "{\"data\":[");
	rc = log_page_read(db, api->keyring, &r->who, &l->filter, show_item,
	    &r->out, &l->page, e);
	if (rc < 0)
		return rc;
	buf_addz(&r->out, "],\"next\":");
	if (l->page.at_end && !l->waits) {
		buf_addz(&r->out, "null}");
		return OK;
	}
	cursor_format(l->page.next, cursor);
	buf_json(&r->out, str_of(cursor));
	buf_addc(&r->out, '}');
	return OK;
}

static int list_again(struct req *r, struct err *e);

static void
list_woken(struct tail_waiter *w)
{
	struct list *l = MAIL_OF(w, struct list, waiter);

	req_wake(l->r);
}

static void
list_done(struct req *r)
{
	api_uncount_stream(r);
}

/* Back on the http thread with a page: answer it, or wait for more. */
static int
list_then(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct list *l = r->ctx;
	bool wait = r->rc == OK && l->page.shown == 0 && l->page.at_end &&
		    clock_mono_ms() < l->until_ms &&
		    !atomic_load(&api->stopping);

	if (wait) {
		l->filter.after = l->page.next;
		l->waiter = (struct tail_waiter){.after = l->page.next,
		    .until_ms = l->until_ms,
		    .wake = list_woken};
		r->then = list_again;
		if (tail_wait(api->tail, &l->waiter))
			return REQ_WAIT;
	}
	return api_said(r, e);
}

static int
list_again(struct req *r, struct err *e)
{
	r->then = list_then;
	return api_read(r, list_page, e);
}

int
api_events_list(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {
	    "after", "type", "key", "tenant", "limit", "wait", NULL};
	struct list *l = arena_alloc(r->arena, sizeof(*l));
	int64_t wait_s = 0;
	struct str after;
	int rc;

	(void)db;
	if (!l)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = req_query_only(r, NAMES, e);
	if (rc == OK)
		rc = log_filter_read(r, &l->filter, e);
	if (rc == OK && req_query(r, "after", &after))
		rc = log_cursor_read(after, "after", &l->filter.after, e);
	if (rc == OK)
		rc = req_query_int(
		    r, "limit", 1, PAGE_MAX, PAGE_DEFAULT, &l->filter.limit, e);
	if (rc == OK)
		rc = req_query_int(r, "wait", 0, WAIT_MAX_S, -1, &wait_s, e);
	if (rc == OK && wait_s > 0) {
		rc = api_count_stream(r, e);
		if (rc == OK)
			r->done = list_done;
	}
	if (rc < 0)
		return rc;
	l->r = r;
	l->waits = wait_s >= 0;
	l->until_ms = clock_mono_ms() + wait_s * 1000;
	r->ctx = l;
	return list_again(r, e);
}

/* GET /v1/events/{eventId} */

struct get {
	struct append_job job;
	struct append_find find;
	struct req *r;
	struct uuid tenant;
	bool has_tenant;
};

static int
get_show(struct req *r, struct db *db, const struct sql_log_get_row *row,
    struct err *e)
{
	struct buf b = BUF(PAGE_BYTES);
	struct api *api = r->app;
	struct str body = row->body;
	char *to;
	int rc = OK;

	if (sealed_is(row->body)) {
		to = arena_try(r->arena, row->body.n);
		rc = to ? sealed_open(api->keyring, row->tenant, row->event_id,
			      row->body, to, &body, e)
			: err_set(e, ERR_NOMEM, "no memory for an event");
	}
	if (rc == OK)
		rc = seen_of_event(r, db, row->seq, &b, e);
	if (rc == OK)
		envelope_show_all(
		    &r->out, body, row->seq, row->received_at, buf_str(&b));
	buf_done(&b);
	return rc;
}

/* 1 when this row is the one and the caller may see it. */
static int
get_row(struct req *r, struct db *db, int64_t seq, struct err *e)
{
	struct get *g = r->ctx;
	struct rows *rows = NULL;
	struct sql_log_get_row row;
	struct uuid tenant, id;
	bool ok = false;
	int rc = sql_log_get(db, &rows, e, .seq = seq);

	if (rc == OK)
		rc = rows_next(rows, e);
	if (rc > 0) {
		sql_log_get_get(rows, &row);
		ok = row.tenant.n == 16 && row.event_id.n == 16;
	}
	if (ok) {
		memcpy(tenant.b, row.tenant.p, 16);
		memcpy(id.b, row.event_id.p, 16);
		ok = uuid_eq(id, g->find.event_id) &&
		     (!g->has_tenant || uuid_eq(tenant, g->tenant)) &&
		     api_tenant_ok(&r->who, tenant);
	}
	if (ok)
		rc = get_show(r, db, &row, e);
	rows_close(rows);
	return rc < 0 ? rc : ok;
}

static int
get_read(struct req *r, struct db *db, struct err *e)
{
	struct get *g = r->ctx;

	buf_clear(&r->out);
	for (int i = 0; i < g->find.n; i++) {
		int rc = get_row(r, db, g->find.seqs[i], e);

		if (rc != 0)
			return rc < 0 ? rc : OK;
	}
	return err_set(e, ERR_ABSENT, "no event has this id");
}

static int
get_found(struct req *r, struct err *e)
{
	if (r->rc < 0)
		return api_said(r, e);
	r->then = api_said;
	return api_read(r, get_read, e);
}

static void
get_done(struct append_job *job)
{
	struct get *g = MAIL_OF(job, struct get, job);

	g->r->rc = job->err.code;
	g->r->err = job->err;
	req_wake(g->r);
}

int
api_events_get(struct req *r, struct db *db, struct err *e)
{
	static const char *const NAMES[] = {"tenant", NULL};
	struct api *api = r->app;
	struct get *g = arena_alloc(r->arena, sizeof(*g));
	struct str tenant;
	int rc;

	(void)db;
	if (!g)
		return err_set(e, ERR_NOMEM, "no memory for a request");
	rc = req_query_only(r, NAMES, e);
	if (rc < 0)
		return rc;
	if (!uuid_parse(r->params[0], &g->find.event_id))
		return err_at(
		    e, ERR_INVALID, "eventId", "the event id must be a uuid");
	g->has_tenant = req_query(r, "tenant", &tenant);
	if (g->has_tenant && !uuid_parse(tenant, &g->tenant))
		return err_at(
		    e, ERR_INVALID, "tenant", "tenant must be a uuid");
	g->r = r;
	g->job.find = &g->find;
	g->job.done = get_done;
	r->ctx = g;
	r->then = get_found;
	rc = append_post(api->append, &g->job, e);
	return rc < 0 ? rc : REQ_WAIT;
}

/* GET /v1/event-types */

int
api_types_list(struct req *r, struct db *db, struct err *e)
{
	(void)db;
	(void)e;
	buf_addz(&r->out, "{\"data\":");
	catalog_write_all(&r->out);
	buf_addz(&r->out, ",\"next\":null}");
	return OK;
}

int
api_types_get(struct req *r, struct db *db, struct err *e)
{
	const struct event_type *t = catalog_find(r->params[0]);

	(void)db;
	if (!t)
		return err_set(e, ERR_ABSENT, "no such event type");
	catalog_write(t, &r->out);
	return OK;
}
