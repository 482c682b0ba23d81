/* subs.h: how a subscription fares, from its counters. */
#include "api/api.h"
#include "api/limits.h"
#include "api/v1/subs.h"
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
add(struct sums *s, const struct sql_stat_seen_row *row)
{
	s->ok += row->ok;
	s->fail += row->fail;
	s->dead += row->dead;
	s->dropped += row->dropped;
	s->us += row->us;
	s->slow = row->slow > s->slow ? row->slow : s->slow;
}

static void
show(const struct sums *s, struct buf *b)
{
	int64_t n = s->ok + s->fail;

	buf_fmt(b,
	    "\"success\":%lld,\"failure\":%lld,\"deadLetter\":%lld,"
	    "\"dropped\":%lld,\"successRate\":",
	    (long long)s->ok, (long long)s->fail, (long long)s->dead,
	    (long long)s->dropped);
	if (n == 0) {
		buf_addz(b, "null,\"averageMs\":null,\"slowestMs\":null");
		return;
	}
	buf_fmt(b, "%.4f,\"averageMs\":%.1f,\"slowestMs\":%.1f",
	    (double)s->ok / (double)n,
	    (double)s->us / (double)n / (double)US_PER_MS,
	    (double)s->slow / (double)US_PER_MS);
}

static void
add_time(struct buf *b, const char *name, int64_t minute)
{
	char text[TIME_LEN + 1];

	time_format(minute * US_PER_MIN, text);
	buf_fmt(b, "\"%s\":\"%s\"", name, text);
}

static int
read_time(const struct req *r, const char *name, int64_t absent, int64_t *ret,
    struct err *e)
{
	struct str s;
	int64_t us;

	*ret = absent;
	if (!req_query(r, name, &s))
		return OK;
	if (!time_parse(s, &us, NULL) || us < 0)
		return err_set(e, ERR_INVALID,
		    "%s must be a time as in RFC 3339, 2030-01-31T12:00:00Z",
		    name);
	*ret = us / US_PER_MIN;
	return OK;
}

static int
read_span(const struct req *r, struct span *s, struct err *e)
{
	static const char *const names[] = {"from", "to", "step", NULL};
	int64_t most;
	struct str step = STR_EMPTY;
	int rc = req_query_only(r, names, e);

	if (rc == OK)
		rc = read_time(
		    r, "to", clock_now_us() / US_PER_MIN + 1, &s->to, e);
	if (rc == OK)
		rc = read_time(r, "from", s->to - 60, &s->from, e);
	if (rc != OK)
		return rc;
	s->step = s->to - s->from > 180 ? 60 : 1;
	if (req_query(r, "step", &step)) {
		s->step = str_eq(step, STR("hour")) ? 60 : 1;
		if (s->step == 1 && !str_eq(step, STR("minute")))
			return err_set(
			    e, ERR_INVALID, "step must be minute or hour");
	}
	most = s->step == 1 ? STATS_MINUTES_MAX : STATS_HOURS_MAX * 60;
	if (s->from >= s->to || s->to - s->from > most)
		return err_set(e, ERR_INVALID,
		    "from must be before to, by at most %s",
		    s->step == 1 ? "a day for step minute"
				 : "31 days for step hour");
	return OK;
}

static void
show_step(struct buf *b, int64_t at, const struct sums *s, bool first)
{
	buf_addz(b, first ? "{" : ",{");
	add_time(b, "at", at);
	buf_addc(b, ',');
	show(s, b);
	buf_addc(b, '}');
}

/* Steps without a single attempt are left out. */
static int
walk(struct req *r, struct db *db, int64_t sub, const struct span *span,
    struct sums *total, struct err *e)
{
	struct sql_stat_seen_row row;
	struct rows *rows = NULL;
	struct sums one = {0};
	int64_t at = -1, shown = 0;
	int rc = sql_stat_seen(db, &rows, e, .sub = sub, .since = span->from,
	    .upto = span->to, .most = STATS_HOURS_MAX * 60);

	while (rc >= 0 && (rc = rows_next(rows, e)) > 0) {
		int64_t step;

		sql_stat_seen_get(rows, &row);
		step = row.minute - row.minute % span->step;
		if (at >= 0 && step != at) {
			show_step(&r->out, at, &one, shown++ == 0);
			one = (struct sums){0};
		}
		at = step;
		add(&one, &row);
		add(total, &row);
	}
	rows_close(rows);
	if (at >= 0)
		show_step(&r->out, at, &one, shown == 0);
	return rc < 0 ? rc : OK;
}

int
api_subs_stats(struct req *r, struct db *db, struct err *e)
{
	struct api *api = r->app;
	struct presets *presets = NULL;
	struct sub_seen s = {.id = 0};
	struct sums total = {0};
	struct span span = {.step = 1};
	int rc = read_span(r, &span, e);

	if (rc == OK)
		rc = presets_open(db, api->conf, &presets, e);
	if (rc == OK)
		rc = sub_seen_get(r, db, presets, &s, e);
	presets_free(presets);
	if (rc < 0)
		return rc;
	buf_clear(&r->out);
	buf_addc(&r->out, '{');
	add_time(&r->out, "from", span.from);
	buf_addc(&r->out, ',');
	add_time(&r->out, "to", span.to);
	buf_fmt(&r->out, ",\"step\":\"%s\",\"data\":[",
	    span.step == 1 ? "minute" : "hour");
	rc = walk(r, db, s.id, &span, &total, e);
	buf_addz(&r->out, "],\"totals\":{");
	show(&total, &r->out);
	buf_addz(&r->out, "}}");
	sub_seen_done(&s);
	return rc;
}
