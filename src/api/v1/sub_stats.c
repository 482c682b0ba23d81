/* sub.h: how a subscription fares, from its counters. */
#include "api/api.h"
#include "api/io.h"
#include "api/limits.h"
#include "api/v1/sub.h"
#include "base/clock.h"
#include "base/str.h"
#include "contract/preset.h"
#include "deliver/engine/preset_store.h"
#include "sql.h"

#define US_PER_MIN (60 * US_PER_S)

struct sums {
	int64_t ok, fail, dead, dropped, us, slow;
};

struct span {
	int64_t from, to; /* minutes; to is not in it */
	int64_t step;     /* minutes */
};

static void
sub_stats_add(struct sums *s, const struct sql_stat_seen_row *row)
{
	s->ok += row->ok;
	s->fail += row->fail;
	s->dead += row->dead;
	s->dropped += row->dropped;
	s->us += row->us;
	s->slow = row->slow > s->slow ? row->slow : s->slow;
}

static void
sub_stats_show(const struct sums *s, struct buf *b)
{
	double n = (double)(s->ok + s->fail), ms = (double)US_PER_MS;

	put_int(b, "success", s->ok);
	put_int(b, "failure", s->fail);
	put_int(b, "deadLetter", s->dead);
	put_int(b, "dropped", s->dropped);
	if (s->ok + s->fail == 0) {
		put_null(b, "successRate");
		put_null(b, "averageMs");
		put_null(b, "slowestMs");
		return;
	}
	put_name(b, "successRate");
	buf_fmt(b, "%.4f", (double)s->ok / n);
	put_name(b, "averageMs");
	buf_fmt(b, "%.1f", (double)s->us / n / ms);
	put_name(b, "slowestMs");
	buf_fmt(b, "%.1f", (double)s->slow / ms);
}

struct query {
	int64_t from, to;
	unsigned step;
};

static int
read_span(struct req *r, struct span *s, struct err *e)
{
	enum { MINUTE, HOUR, ANY };
	static const char *const STEP_WORDS[] = {"minute", "hour", NULL};
	static const struct member QUERY[] = {
	    {"from", MEMBER_TIME, offsetof(struct query, from)},
	    {"to", MEMBER_TIME, offsetof(struct query, to)},
	    {"step", MEMBER_CHOICE, offsetof(struct query, step),
		.words = STEP_WORDS},
	    {.name = NULL},
	};
	struct query q = {.from = -1, .to = -1, .step = ANY};
	int64_t most;

	TRY(api_query(r, QUERY, &q, e));
	s->to = (q.to < 0 ? clock_now_us() + US_PER_MIN : q.to) / US_PER_MIN;
	s->from = q.from < 0 ? s->to - 60 : q.from / US_PER_MIN;
	if (q.step == ANY)
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
	sub_stats_show(s, b);
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
		sub_stats_add(&one, &row);
		sub_stats_add(total, &row);
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
	sub_stats_show(&total, b);
	put_close(b, '}');
	put_close(b, '}');
	return OK;
}
