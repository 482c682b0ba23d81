/* sub.h: subscriptions as they are seen: one, a list, their numbers. */
#include "account/scopes.h"
#include "api/api.h"
#include "api/io.h"
#include "api/limits.h"
#include "api/v1/sub.h"
#include "base/log/log.h"
#include "contract/sub.h"
#include "deliver/engine/preset_store.h"
#include "deliver/engine/wish.h"
#include "event/append.h"
#include "seal/keyring.h"
#include "sql.h"

void
sub_seen_done(struct sub_seen *s)
{
	sub_free(s->conf);
	s->conf = NULL;
}

/*
 * Opened, so that masks show which secrets there are. One whose key is gone
 * is shown all the same, closed.
 */
static int
open_conf(const struct api *api, struct arena *a, struct str conf,
    const struct presets *presets, struct sub_seen *s, struct err *e)
{
	struct sub_seal by = sub_seal_by(api->keyring, a, s->uid);
	int rc = sub_load(conf, presets, &by, &s->conf, e);

	if (rc == ERR_INVALID) {
		log_err(LOG_WARN, "a subscription's secrets can't be read", e);
		s->closed = true;
		rc = sub_load(conf, presets, NULL, &s->conf, e);
	}
	return rc;
}

/* All statements have these columns. */
static int
seen_take(struct req *r, struct db *db, const struct presets *presets,
    const struct sql_sub_seen_row *row, struct sub_seen *ret, struct err *e)
{
	struct sub_seen s = {
	    .id = row->id,
	    .version = row->version,
	    .uid = uuid_of(row->uid),
	    .enabled = row->enabled != 0,
	    .managed = row->managed_by.p != NULL,
	    .why = arena_dup(r->arena, row->why),
	    .held = row->held.p ? arena_dup(r->arena, row->held) : row->held,
	    .created_us = row->created_at,
	    .changed_us = row->changed_at,
	    .behind = !row->pos_null,
	    .pos = row->pos,
	};
	struct sql_endpoint_seen_row at = {0};
	int rc;

	TRY(open_conf(r->app, r->arena, row->conf, presets, &s, e));
	s.kind = wish_kind_of(s.conf);
	s.conf->enabled = s.enabled; /* it may have been switched since */
	rc = sql_endpoint_seen_one(
	    db, &at, e, .endpoint = (int64_t)wish_endpoint(s.conf->url));
	if (rc < 0) {
		sub_seen_done(&s);
		return rc;
	}
	s.open_until = at.open_until;
	s.not_before = at.not_before;
	*ret = s;
	return OK;
}

bool
sub_seen_may(const struct req *r, const struct sub_seen *s)
{
	return s->conf && scopes_tenants_within(
			      s->conf->tenants.n ? s->conf->tenants.v : NULL,
			      s->conf->tenants.n, &r->who);
}

int
sub_seen_next(struct req *r, struct db *db, const struct presets *presets,
    struct rows *rows, struct sub_seen *ret, struct err *e)
{
	struct sql_sub_seen_row row;

	if (TRY(sql_sub_seen_next(rows, &row, e)) == 0)
		return 0;
	TRY(seen_take(r, db, presets, &row, ret, e));
	return 1;
}

int
sub_seen_get(struct req *r, struct db *db, const struct presets *presets,
    struct sub_seen *ret, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sub_seen s = {.id = 0};
	struct uuid uid;
	int rc = 0;

	if (uuid_parse(r->params[0], &uid)) {
		TRY(sql_sub_seen(db, &rows, e, .uid = uuid_str(&uid)));
		rc = TRY(sub_seen_next(r, db, presets, rows, &s, e));
	}
	if (rc == 0 || !sub_seen_may(r, &s)) {
		sub_seen_done(&s);
		return err_set(e, ERR_ABSENT, "there is no such subscription");
	}
	*ret = s;
	return OK;
}

int
sub_seen_consumer(struct req *r, struct db *db, const struct presets *presets,
    struct str name, struct sub_seen *ret, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;

	TRY(sql_consumer_seen(db, &rows, e, .name = name));
	return sub_seen_next(r, db, presets, rows, ret, e);
}

static void
add_delivery(const struct api *api, const struct sub_seen *s, struct buf *b)
{
	int64_t now = clock_now_us(), lag = 0;

	if (s->behind)
		lag = append_last_seq(api->append) - s->pos;
	put_open(b, "delivery", '{');
	put_z(b, "state",
	    !s->enabled            ? "disabled"
	    : s->held.p            ? "held"
	    : s->open_until > now  ? "open"
	    : s->not_before > now  ? "waiting"
	    : s->behind && lag > 0 ? "behind"
				   : "live");
	put_int(b, "lag", lag > 0 ? lag : 0);
	put_time(b, "openUntil", s->open_until > now ? s->open_until : 0);
	put_time(b, "notBefore", s->not_before > now ? s->not_before : 0);
	put_close(b, '}');
}

void
sub_seen_show(
    const struct api *api, const struct sub_seen *s, bool once, struct buf *b)
{
	put_open(b, NULL, '{');
	put_uuid(b, "id", s->uid);
	put_name(b, NULL);
	sub_show(s->conf, once, b);
	put_int(b, "version", s->version);
	put_text(b, "disabledReason",
	    !s->enabled && s->why.n > 0 ? s->why : (struct str){.p = NULL});
	put_text(b, "heldReason", s->held);
	put_time(b, "createdAt", s->created_us);
	put_time(b, "changedAt", s->changed_us);
	add_delivery(api, s, b);
	put_close(b, '}');
}

int
api_subs_get(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) = NULL;
	struct sub_seen s CLEANUP(sub_seen_done) = {.id = 0};

	TRY(presets_open(db, api->conf, &presets, e));
	TRY(sub_seen_get(r, db, presets, &s, e));
	sub_seen_show(api, &s, false, &r->out);
	return OK;
}

/* The list ---------------------------------------------------------------- */

struct list_query {
	struct req *r;
	struct presets *presets;
	struct api_scan scan;
	int64_t after;
	unsigned enabled; /* a word's index */
	struct str q, managed_by;
	struct uuid last;
};

#define LIST(field) offsetof(struct list_query, field)
enum { NO, YES, ANY };
static const char *const ENABLED[] = {"false", "true", NULL};
const struct member SUBS_QUERY[] = {
    API_PAGE_AT(LIST(scan.page)),
    {"enabled", MEMBER_CHOICE, LIST(enabled), .words = ENABLED},
    {"q", MEMBER_STRING, LIST(q), 0, API_CURSOR_MAX,
	.about = "part of a name or URL"},
    {"managedBy", MEMBER_STRING, LIST(managed_by), 0, API_CURSOR_MAX},
    {.name = NULL},
};

/* Anywhere in it, ASCII letters of either case. */
static bool
has(struct str in, struct str part)
{
	for (size_t at = 0; at + part.n <= in.n; at++)
		if (str_starts_nocase(str_from(in, at), part))
			return true;
	return false;
}

static bool
fits(const struct list_query *l, const struct sql_sub_seen_row *row)
{
	if (l->enabled < ANY && (row->enabled != 0) != l->enabled)
		return false;
	return !l->managed_by.p ||
	       (row->managed_by.p && str_eq(row->managed_by, l->managed_by));
}

static int
list_row(struct list_query *l, struct db *db,
    const struct sql_sub_seen_row *row, struct err *e)
{
	struct req *r = l->r;
	struct sub_seen s CLEANUP(sub_seen_done) = {.id = 0};
	int rc;

	if (!fits(l, row))
		return OK;
	rc = seen_take(r, db, l->presets, row, &s, e);
	if (rc == ERR_ABSENT || rc == ERR_INVALID || rc == ERR_SYNTAX) {
		log_err(LOG_ERROR, "a subscription can't be shown", e);
		return OK;
	}
	if (rc < 0)
		return rc;
	if (sub_seen_may(r, &s) && (l->q.n == 0 || has(s.conf->name, l->q) ||
				       has(s.conf->url, l->q))) {
		l->scan.shown++;
		sub_seen_show(r->app, &s, false, &r->out);
	}
	return OK;
}

static int
list_some(struct list_query *l, struct db *db, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_sub_seen_row row;

	TRY(sql_subs_seen(
	    db, &rows, e, .after = l->after, .most = l->scan.page.limit + 1));
	while (TRY(sql_sub_seen_next(rows, &row, e)) > 0 &&
	       api_scan_row(&l->scan, l->r)) {
		l->after = row.id;
		l->last = uuid_of(row.uid);
		TRY(list_row(l, db, &row, e));
	}
	return OK;
}

static int
list_after(struct list_query *l, struct db *db, struct err *e)
{
	struct sql_sub_row_of_row row;
	struct uuid uid;

	if (!uuid_parse(l->scan.page.after, &uid) ||
	    TRY(sql_sub_row_of_one(db, &row, e, .uid = uuid_str(&uid))) == 0)
		return api_no_cursor(e);
	l->after = row.id;
	return OK;
}

int
api_subs_list(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) = NULL;
	struct list_query l = {.r = r, .enabled = ANY};

	TRY(api_scan(r, SUBS_QUERY, &l, &l.scan, e));
	if (l.scan.page.after.p)
		TRY(list_after(&l, db, e));
	TRY(presets_open(db, api->conf, &presets, e));
	l.presets = presets;
	while (api_scan_on(&l.scan))
		TRY(list_some(&l, db, e));
	api_list_end_uuid(r, api_scan_more(&l.scan), l.last);
	return OK;
}

/* How it fares, from its counters ------------------------------------------ */

#define US_PER_MIN (60 * US_PER_S)

struct sums {
	int64_t ok, fail, dead, dropped, us, slow;
};

struct span {
	int64_t from, to; /* minutes; to is not in it */
	int64_t step;     /* minutes */
};

static void
stats_add(struct sums *s, const struct sql_stat_seen_row *row)
{
	s->ok += row->ok;
	s->fail += row->fail;
	s->dead += row->dead;
	s->dropped += row->dropped;
	s->us += row->us;
	s->slow = row->slow > s->slow ? row->slow : s->slow;
}

static void
stats_show(const struct sums *s, struct buf *b)
{
	double n = (double)(s->ok + s->fail), ms = (double)US_PER_MS;

	put_int(b, "success", s->ok);
	put_int(b, "failure", s->fail);
	put_int(b, "deadLetter", s->dead);
	put_int(b, "dropped", s->dropped);
	/* Of deliveries that ended, as everywhere; tries are no part of it. */
	if (s->ok + s->dead == 0)
		put_null(b, "successRate");
	else
		put_percent(b, "successRate", s->ok, s->ok + s->dead);
	if (s->ok + s->fail == 0) {
		put_null(b, "averageMs");
		put_null(b, "slowestMs");
		return;
	}
	put_name(b, "averageMs");
	buf_fmt(b, "%.1f", (double)s->us / n / ms);
	put_name(b, "slowestMs");
	buf_fmt(b, "%.1f", (double)s->slow / ms);
}

struct stats_query {
	int64_t from, to;
	unsigned step;
};

static const char *const STEP_WORDS[] = {"minute", "hour", NULL};
const struct member STATS_QUERY[] = {
    {"from", MEMBER_TIME, offsetof(struct stats_query, from)},
    {"to", MEMBER_TIME, offsetof(struct stats_query, to)},
    {"step", MEMBER_CHOICE, offsetof(struct stats_query, step),
	.words = STEP_WORDS},
    {.name = NULL},
};

static int
read_span(struct req *r, struct span *s, struct err *e)
{
	enum { MINUTE, HOUR, BY_SPAN };
	struct stats_query q = {.from = -1, .to = -1, .step = BY_SPAN};
	int64_t most;

	TRY(api_query(r, STATS_QUERY, &q, e));
	s->to = (q.to < 0 ? clock_now_us() + US_PER_MIN : q.to) / US_PER_MIN;
	s->from = q.from < 0 ? s->to - 60 : q.from / US_PER_MIN;
	if (q.step == BY_SPAN)
		q.step = s->to - s->from > 180 ? HOUR : MINUTE;
	s->step = q.step == HOUR ? 60 : 1;
	most = s->step == 1 ? STATS_MINUTES_MAX : STATS_HOURS_MAX * 60;
	if (s->from >= s->to || s->to - s->from > most)
		return err_set(e, ERR_INVALID,
		    "from must be before to, by at most %s",
		    s->step == 1 ? "a day for step minute"
				 : "31 days for step hour");
	return OK;
}

static void
show_step(struct buf *b, int64_t at, const struct sums *s)
{
	put_open(b, NULL, '{');
	put_time(b, "at", at * US_PER_MIN);
	stats_show(s, b);
	put_close(b, '}');
}

/* Steps without a single attempt are left out. */
static int
walk(struct req *r, struct db *db, int64_t sub, const struct span *span,
    struct sums *total, struct err *e)
{
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_stat_seen_row row;
	struct sums one = {0};
	int64_t at = -1;

	TRY(sql_stat_seen(db, &rows, e, .sub = sub, .since = span->from,
	    .upto = span->to, .most = STATS_HOURS_MAX * 60));
	while (TRY(sql_stat_seen_next(rows, &row, e)) > 0) {
		int64_t step = row.minute - row.minute % span->step;

		if (at >= 0 && step != at) {
			show_step(&r->out, at, &one);
			one = (struct sums){0};
		}
		at = step;
		stats_add(&one, &row);
		stats_add(total, &row);
	}
	if (at >= 0)
		show_step(&r->out, at, &one);
	return OK;
}

int
api_subs_stats(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets CLEANUP(presets_freep) = NULL;
	struct sub_seen s CLEANUP(sub_seen_done) = {.id = 0};
	struct sums total = {0};
	struct span span = {.step = 1};
	struct buf *b;

	TRY(read_span(r, &span, e));
	TRY(presets_open(db, api->conf, &presets, e));
	TRY(sub_seen_get(r, db, presets, &s, e));
	b = api_object(r);
	put_time(b, "from", span.from * US_PER_MIN);
	put_time(b, "to", span.to * US_PER_MIN);
	put_z(b, "step", span.step == 1 ? "minute" : "hour");
	put_open(b, "data", '[');
	TRY(walk(r, db, s.id, &span, &total, e));
	put_close(b, ']');
	put_open(b, "totals", '{');
	stats_show(&total, b);
	put_close(b, '}');
	put_close(b, '}');
	return OK;
}
