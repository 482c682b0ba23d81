#include "api/api.h"
#include "api/handlers.h"
#include "api/live.h"
#include "api/v1/log_page.h"
#include "event/cursor.h"
#include "event/envelope.h"
#include "http/server/limits.h"

/* GET /v1/events/stream: the log as server-sent events (live.h). */

/* A line break in JSON is a blank, so each line becomes a data field. */
static void
events_stream_show(
    struct buf *b, struct str body, int64_t seq, int64_t received_us, size_t)
{
	struct buf text CLEANUP(buf_done) = BUF(PAGE_BYTES);
	char cursor[CURSOR_LEN + 1];
	struct str rest;

	envelope_show(&text, body, seq, received_us);
	cursor_format(seq, cursor);
	buf_addz(b, "id: ");
	buf_addz(b, cursor);
	buf_addc(b, '\n');
	for (rest = buf_str(&text); rest.n > 0;) {
		size_t n = 0;

		while (n < rest.n && rest.p[n] != '\n' && rest.p[n] != '\r')
			n++;
		buf_addz(b, "data: ");
		buf_add(b, (struct str){rest.p, n});
		buf_addc(b, '\n');
		if (n + 1 < rest.n && rest.p[n] == '\r' &&
		    rest.p[n + 1] == '\n')
			n++;
		rest = str_from(rest, n + 1);
	}
	buf_addc(b, '\n');
	b->failed = b->failed || text.failed;
}

static int
read_log(struct live *l, struct db *db, struct err *e)
{
	struct log_filter *f = l->state;
	struct log_view v = {l->api->keyring, &l->who, f, events_stream_show};
	struct log_page page = {0};

	TRY(log_page_read(db, &v, &l->ready, &page, e));
	f->after = page.next;
	return OK;
}

static bool
has_all(struct live *l, struct tail_waiter *w)
{
	const struct log_filter *f = l->state;

	w->after = f->after;
	return f->after >= tail_last_seq(l->api->tail);
}

static const struct live_kind LOG = {
    .read = read_log, .rests = has_all, .life_ms = 300000, .check_ms = 300000};

/* Nothing of the request may be needed when it is over. */
static void
keep_filter(struct live *l, const struct principal *who)
{
	struct log_filter *f = l->state;
	struct str *texts[] = {&f->type, &f->prefix, &f->key};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (texts[i]->p)
			*texts[i] = arena_dup(l->arena, *texts[i]);
	if (who->tenants) {
		struct uuid *v = arena_array(
		    l->arena, who->n_tenants, sizeof(*who->tenants));

		memcpy(v, who->tenants, who->n_tenants * sizeof(*v));
		l->who.tenants = v;
		l->who.n_tenants = who->n_tenants;
		if (f->tenant.p)
			f->tenant = arena_dup(l->arena, f->tenant);
	}
}

struct query {
	struct log_words words;
	struct str after;
};

const struct member STREAM_QUERY[] = {
    {"after", MEMBER_STRING, offsetof(struct query, after), 0, API_CURSOR_MAX},
    LOG_WORDS(struct query),
    {.name = NULL},
};

static int
events_stream_begin(struct live *l, struct req *r, struct err *e)
{
	struct query q = {.after = {.p = NULL}};
	struct log_filter *f = l->state;
	struct str last = req_header(r, "Last-Event-ID");

	TRY(api_query(r, STREAM_QUERY, &q, e));
	TRY(log_filter_read(r, &q.words, f, e));
	f->after = tail_last_seq(l->api->tail);
	f->limit = PAGE_DEFAULT;
	if (last.n > 0)
		TRY(log_cursor_read(last, "Last-Event-ID", &f->after, e));
	else if (q.after.p)
		TRY(log_cursor_read(q.after, "after", &f->after, e));
	keep_filter(l, &r->who);
	return OK;
}

int
api_events_stream(struct req *r, struct db *, struct err *e)
{
	struct live *l = live_new(r, &LOG, sizeof(struct log_filter));
	int rc = events_stream_begin(l, r, e);

	if (rc == OK)
		return live_begin(r, l, e);
	live_drop(l);
	return rc;
}
