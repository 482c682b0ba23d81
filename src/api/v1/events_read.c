#include "api/api.h"
#include "api/handlers.h"
#include "api/v1/delivery.h"
#include "api/v1/log_page.h"
#include "contract/limits.h"
#include "event/append.h"
#include "event/cursor.h"
#include "event/envelope.h"
#include "event/tail.h"
#include "http/server/limits.h"
#include "sql.h"

/* GET /v1/events */

struct list_query {
	struct log_filter filter;
	struct log_page page;
	struct tail_waiter waiter;
	struct req *r;
	bool waits; /* ?wait= was given: a follower, who always gets a cursor */
	int64_t until_ms;
	/* the query */
	struct log_words words;
	struct str after;
	int64_t wait_s;
};

#define LIST(field) offsetof(struct list_query, field)
const struct member EVENTS_QUERY[] = {
    {"after", MEMBER_STRING, LIST(after), 0, API_CURSOR_MAX},
    LOG_WORDS(struct list_query),
    {"limit", MEMBER_INT, LIST(filter.limit), 1, PAGE_MAX,
	.absent = PAGE_DEFAULT},
    {"wait", MEMBER_INT, LIST(wait_s), 0, WAIT_MAX_S, .absent = -1,
	.about = "seconds to wait for an event when there is none"},
    {.name = NULL},
};

static void
show_item(
    struct buf *b, struct str body, int64_t seq, int64_t received_us, size_t)
{
	put_name(b, NULL);
	envelope_show(b, body, seq, received_us);
}

static int
list_page(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct list_query *l = r->ctx;
	struct log_view v = {api->keyring, &r->who, &l->filter, show_item};
	char cursor[CURSOR_LEN + 1];
	bool end;

	api_list(r);
	TRY(log_page_read(db, &v, &r->out, &l->page, e));
	end = l->page.at_end && !l->waits;
	cursor_format(l->page.next, cursor);
	api_list_end(r, end ? (struct str){.p = NULL} : str_of(cursor));
	return OK;
}

static int list_again(struct req *r, struct err *e);

static void
list_woken(struct tail_waiter *w)
{
	struct list_query *l = MAIL_OF(w, struct list_query, waiter);

	req_wake(l->r);
}

/* Back on the http thread with a page: answer it, or wait for more. */
static int
list_then(struct req *r, struct err *e)
{
	struct api *api = r->app;
	struct list_query *l = r->ctx;
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
api_events_list(struct req *r, struct db *, struct err *e)
{
	struct list_query *l = arena_alloc(r->arena, sizeof(*l));

	TRY(api_query(r, EVENTS_QUERY, l, e));
	TRY(log_filter_read(r, &l->words, &l->filter, e));
	if (l->after.p)
		TRY(log_cursor_read(l->after, "after", &l->filter.after, e));
	if (l->wait_s > 0) {
		TRY(api_count_stream(r, e));
		r->done = api_uncount_stream;
	}
	l->r = r;
	l->waits = l->wait_s >= 0;
	l->until_ms = clock_mono_ms() + l->wait_s * 1000;
	r->ctx = l;
	return list_again(r, e);
}

/* GET /v1/events/{eventId} */

struct get {
	struct append_job job;
	struct append_find find;
	struct uuid tenant; /* all zero: any */
};

static int
get_show(struct req *r, struct db *db, const struct sql_log_get_row *row,
    struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(PAGE_BYTES);
	struct str body = STR_EMPTY;

	TRY(delivery_body(r, row->tenant, row->event_id, row->body, &body, e));
	TRY(seen_of_event(r, db, row->seq, &b, e));
	envelope_show_all(
	    &r->out, body, row->seq, row->received_at, buf_str(&b));
	return OK;
}

/* 1 when this row is the one and the caller may see it. */
static int
get_row(struct req *r, struct db *db, int64_t seq, struct err *e)
{
	struct get *g = r->ctx;
	struct sql_log_get_row row;
	struct uuid tenant;

	if (TRY(sql_log_get_one(db, r->arena, &row, e, .seq = seq)) == 0 ||
	    !uuid_eq(uuid_of(row.event_id), g->find.event_id))
		return 0;
	tenant = uuid_of(row.tenant);
	if ((!uuid_eq(g->tenant, (struct uuid){{0}}) &&
		!uuid_eq(tenant, g->tenant)) ||
	    !api_tenant_ok(&r->who, tenant))
		return 0;
	TRY(get_show(r, db, &row, e));
	return 1;
}

static int
get_read(struct req *r, struct db *db, struct err *e)
{
	struct get *g = r->ctx;

	for (int i = 0; i < g->find.n; i++)
		if (TRY(get_row(r, db, g->find.seqs[i], e)) > 0)
			return OK;
	return err_set(e, ERR_ABSENT, "no event has this id");
}

static int
get_found(struct req *r, struct err *e)
{
	return api_read(r, get_read, e);
}

const struct member EVENT_QUERY[] = {
    {"tenant", MEMBER_TENANT, offsetof(struct get, tenant)},
    {.name = NULL},
};

int
api_events_get(struct req *r, struct db *, struct err *e)
{
	struct get *g = arena_alloc(r->arena, sizeof(*g));

	TRY(api_query(r, EVENT_QUERY, g, e));
	if (!uuid_parse(r->params[0], &g->find.event_id))
		return err_at(
		    e, ERR_INVALID, "eventId", "the event id must be a uuid");
	g->job.find = &g->find;
	r->ctx = g;
	api_then(r, get_found);
	return api_append(r, &g->job, e);
}
