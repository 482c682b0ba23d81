#include "ops/alerts.h"

#include "base/log/log.h"
#include "base/log/metric.h"
#include "contract/verdict.h"
#include "event/append.h"
#include "ops/alert_priv.h"
#include "ops/limits.h"
#include "sql.h"

#define KNOWN_MAX  5000
#define TOTALS_MS  15000
#define US_PER_MIN (60 * US_PER_S)

/* One look. */
struct look {
	struct alerts *a;
	struct db *db;
	int64_t now_us, since, hour, minute; /* minutes, but for the first */
	struct sql_alert_known_row *told;    /* what was, by sub and rule */
	size_t n_told;
	int64_t *subs; /* room for KNOWN_MAX ids */
	struct alert_news news[ALERT_NEWS_MAX];
	size_t n_news;
};

struct alerts *
alerts_new(struct append *append, int64_t time_scale)
{
	struct alerts *a = mem_get(sizeof(*a));

	a->append = append;
	a->scale = time_scale;
	return a;
}

void
alerts_free(struct alerts *a)
{
	free(a);
}

static int
load_told(struct look *k, struct err *e)
{
	struct rows *rows = NULL;
	int64_t since = k->now_us - (ALERT_WINDOW_M + 5) * US_PER_MIN;
	int rc =
	    sql_alert_known(k->db, &rows, e, .since = since, .most = KNOWN_MAX);

	while (rc >= 0 && k->n_told < KNOWN_MAX &&
	       (rc = sql_alert_known_next(rows, &k->told[k->n_told], e)) > 0)
		k->n_told++;
	rows_close(rows);
	return rc < 0 ? rc : OK;
}

static int
by_key(const void *x, const void *y)
{
	const struct sql_alert_known_row *a = x, *b = y;

	if (a->sub != b->sub)
		return a->sub < b->sub ? -1 : 1;
	return (a->rule > b->rule) - (a->rule < b->rule);
}

static const struct sql_alert_known_row *
find_told(const struct look *k, int64_t sub, enum alert_rule rule)
{
	struct sql_alert_known_row key = {.sub = sub, .rule = (int)rule};

	return k->n_told
		   ? bsearch(&key, k->told, k->n_told, sizeof(key), by_key)
		   : NULL;
}

static void
add_news(struct look *k, const struct alert_news *x,
    const struct sql_alert_known_row *t)
{
	bool soon = t && t->changed_at > k->now_us - alert_minute_us(k->a);

	/* What has no room, or comes too soon, the next look finds again. */
	if (!soon && k->n_news < ALERT_NEWS_MAX)
		k->news[k->n_news++] = *x;
}

static void
judge(
    struct look *k, int64_t sub, enum alert_rule r, const struct alert_sums *s)
{
	const struct sql_alert_known_row *t = find_told(k, sub, r);
	struct alert_news x = {
	    .sub = sub, .rule = r, .firing = alert_fires(r, s)};

	if (x.firing == (t && t->firing != 0))
		return;
	(void)alert_value(r, s, &x.value);
	add_news(k, &x, t);
}

/* Dead letters that were not told yet. */
static int
judge_dead(
    struct look *k, int64_t sub, const struct alert_sums *s, struct err *e)
{
	const struct sql_alert_known_row *t = find_told(k, sub, ALERT_DEAD);
	struct alert_news x = {.sub = sub, .rule = ALERT_DEAD};
	struct sql_alert_dead_since_row all = {0}, now = {0};
	int64_t since = t && t->minute > k->since ? t->minute : k->since;

	if (s->dead == 0)
		return OK;
	TRY(sql_alert_dead_since_one(
	    k->db, &all, e, .sub = sub, .minute = since));
	TRY(sql_alert_dead_since_one(
	    k->db, &now, e, .sub = sub, .minute = k->minute));
	x.count = all.n - (t && t->minute == since ? t->n : 0);
	x.n = now.n;
	x.minute = k->minute;
	if (x.count > 0)
		add_news(k, &x, t);
	return OK;
}

/* The three newest of its attempts failed. */
static int
in_a_row(struct look *k, int64_t sub, bool *ret, struct err *e)
{
	struct {
		int64_t at, verdict;
	} newest[3] = {{0}};
	struct sql_alert_latest_row row;
	struct rows *rows = NULL;
	int n = 0;
	int rc =
	    sql_alert_latest(k->db, &rows, e, .sub = sub, .most = ALERT_LATEST);

	while (rc >= 0 && (rc = sql_alert_latest_next(rows, &row, e)) > 0) {
		size_t i = 0;

		while (i < 3 && newest[i].at >= row.at)
			i++;
		for (size_t j = 2; i < 3 && j > i; j--)
			newest[j] = newest[j - 1];
		if (i < 3) {
			newest[i].at = row.at;
			newest[i].verdict = row.verdict;
		}
		n++;
	}
	rows_close(rows);
	*ret = n >= 3 && newest[0].verdict && newest[1].verdict &&
	       newest[2].verdict;
	return rc < 0 ? rc : OK;
}

static struct alert_sums
sums_of(const struct sql_alert_sums_row *r)
{
	return (struct alert_sums){
	    .ok = r->ok,
	    .fail = r->fail,
	    .dead = r->dead,
	    .slow_us = r->slow,
	    .hist = {r->h0, r->h1, r->h2, r->h3, r->h4, r->h5, r->h6},
	    .dead_hour = r->dead_hour,
	};
}

/* Of a subscription, and of all together. */
static const enum alert_rule EACH[] = {ALERT_SUCCESS_99, ALERT_SUCCESS_95,
    ALERT_LATENCY, ALERT_RETRIES, ALERT_FAILURES, ALERT_IN_A_ROW};

static int
look_at(struct look *k, int64_t sub, struct err *e)
{
	struct sql_alert_sums_row row = {0};
	struct alert_sums s;

	TRY(sql_alert_sums_one(
	    k->db, &row, e, .sub = sub, .since = k->since, .hour = k->hour));
	s = sums_of(&row);
	if (s.fail > 0)
		TRY(in_a_row(k, sub, &s.in_a_row, e));
	for (size_t i = 0; i < COUNT_OF(EACH); i++)
		judge(k, sub, EACH[i], &s);
	return judge_dead(k, sub, &s, e);
}

/* The ids of a list that was asked for, into k->subs; how many. */
static int
read_subs(struct look *k, int rc, struct rows *rows, size_t most, struct err *e)
{
	size_t n = 0;

	while (rc >= 0 && n < most && (rc = rows_next(rows, e)) > 0)
		k->subs[n++] = rows_int(rows, 0);
	rows_close(rows);
	return rc < 0 ? rc : (int)n;
}

/* Those that are busy, a page a look. */
static int
look_at_busy(struct look *k, struct err *e)
{
	struct rows *rows = NULL;
	int rc = sql_alert_subs(k->db, &rows, e, .after = k->a->after,
	    .since = k->since, .most = ALERT_SUBS_MAX);
	int n = TRY(read_subs(k, rc, rows, ALERT_SUBS_MAX, e));

	for (int i = 0; i < n; i++)
		TRY(look_at(k, k->subs[i], e));
	k->a->after = n == ALERT_SUBS_MAX ? k->subs[n - 1] : 0;
	return OK;
}

/* Those that are held, and those that no longer are. */
static int
look_at_held(struct look *k, struct err *e)
{
	static const struct alert_sums HELD = {.held = true}, FREE = {0};
	struct rows *rows = NULL;
	int rc = sql_alert_held(k->db, &rows, e, .after = 0, .most = KNOWN_MAX);
	int n = TRY(read_subs(k, rc, rows, KNOWN_MAX, e)), at = 0;

	for (int i = 0; i < n; i++)
		judge(k, k->subs[i], ALERT_HELD, &HELD);
	for (size_t i = 0; i < k->n_told; i++) {
		int64_t sub = k->told[i].sub;

		if (k->told[i].rule != ALERT_HELD)
			continue;
		while (at < n && k->subs[at] < sub) /* both are by id */
			at++;
		if (at == n ? n < KNOWN_MAX : k->subs[at] != sub)
			judge(k, sub, ALERT_HELD, &FREE);
	}
	return OK;
}

/* Those that fall silent while something is said of them: it ends. */
static int
look_at_firing(struct look *k, struct err *e)
{
	int64_t last = 0;

	for (size_t i = 0; i < k->n_told; i++) {
		int64_t sub = k->told[i].sub;
		struct sql_alert_subs_row next = {0};

		if (!k->told[i].firing || sub == 0 || sub == last)
			continue;
		last = sub;
		if (sql_alert_subs_one(k->db, &next, e, .after = sub - 1,
			.since = k->since, .most = 1) < 0 ||
		    next.sub != sub)
			TRY(look_at(k, sub, e));
	}
	return OK;
}

static const struct {
	enum alert_rule rule;
	const char *help;
} GAUGES[] = {
    {ALERT_SUCCESS_99,
	"Percent of finished deliveries that succeeded, last 15 min."},
    {ALERT_LATENCY, "Seconds that 95 % of attempts stayed below, last 15 min."},
    {ALERT_RETRIES, "Retries a finished delivery, last 15 min."},
    {ALERT_FAILURES, "Deliveries that were given up, last hour."},
    {ALERT_WAITING, "Deliveries that wait for a try."},
    {ALERT_PENDING, "Percent of what is kept for those who wait: the age or "
		    "the bytes."},
};

static int
look_at_pending(struct look *k, double *ret, struct err *e)
{
	const struct retain_keep *keep = append_keep(k->a->append);
	struct retain_pending p;

	if (TRY(retain_look(k->db, keep, k->now_us, &p, e)) > 0)
		*ret = retain_used(keep, &p, k->now_us);
	return OK;
}

/* Over all of them: gauges, and what waits. */
static int
look_at_all(struct look *k, struct err *e)
{
	struct alerts *a = k->a;
	struct sql_alert_sums_row row = {0};
	struct sql_alert_behind_row behind = {0};
	struct sql_dead_open_row open = {0};
	struct alert_sums s;
	struct rows *rows = NULL;
	int64_t reasons[REASONS_MAX] = {0};
	int rc;

	TRY(sql_alert_totals_one(
	    k->db, &row, e, .since = k->since, .hour = k->hour));
	TRY(sql_alert_behind_one(
	    k->db, &behind, e, .last = append_last_seq(a->append)));
	TRY(sql_dead_open_one(k->db, &open, e, .most = DEAD_OPEN_MAX));
	metric_set(M_DEAD_OPEN, open.n);
	metric_set(M_REFUSED_OPEN, open.refused);
	rc = sql_alert_reasons(k->db, &rows, e, .since = k->hour);
	while (rc >= 0 && (rc = rows_next(rows, e)) > 0)
		if (rows_int(rows, 0) >= 0 && rows_int(rows, 0) < REASONS_MAX)
			reasons[rows_int(rows, 0)] = rows_int(rows, 1);
	rows_close(rows);
	TRY(rc);
	s = sums_of(&row);
	s.waiting = metric_value(M_DELIVER_ROWS) + behind.n;
	TRY(look_at_pending(k, &s.pending, e));
	judge(k, 0, ALERT_WAITING, &s);
	judge(k, 0, ALERT_PENDING, &s);
	for (size_t i = 0; i < COUNT_OF(EACH); i++)
		judge(k, 0, EACH[i], &s); /* in a row: of one alone */
	for (size_t i = 0; i < COUNT_OF(GAUGES); i++) {
		enum alert_rule rule = GAUGES[i].rule;
		double v;

		(void)alert_value(rule, &s, &v);
		atomic_store(&a->gauges[rule], (int64_t)(v * 1000));
	}
	for (int r = 0; r < REASONS_MAX; r++)
		atomic_store(&a->reasons[r], reasons[r]);
	atomic_store(&a->looked, true);
	return OK;
}

static int
look_at_each(struct look *k, int64_t now_ms, struct err *e)
{
	struct alerts *a = k->a;

	TRY(load_told(k, e));
	TRY(look_at_busy(k, e));
	TRY(look_at_firing(k, e));
	TRY(look_at_held(k, e));
	if (now_ms < a->totals_ms)
		return OK;
	a->totals_ms = now_ms + TOTALS_MS / (a->scale > 10 ? 10 : a->scale);
	return look_at_all(k, e);
}

void
alerts_turn(struct alerts *a, struct db *db)
{
	int64_t now_ms = clock_mono_ms();
	struct look k = {.a = a, .db = db, .now_us = clock_now_us()};
	struct err e = {0};
	int rc;

	/* One node delivers at a time; it is the one that looks. */
	if (now_ms < a->next_ms || atomic_load(&a->busy) ||
	    metric_value(M_DELIVER_OWNER) != 1)
		return;
	a->next_ms = now_ms + ALERT_MS / (a->scale > 10 ? 10 : a->scale);
	k.minute = k.now_us / US_PER_MIN;
	k.since = k.minute - ALERT_WINDOW_M;
	k.hour = k.minute - ALERT_HOUR_M;
	k.told = mem_array(KNOWN_MAX, sizeof(*k.told));
	k.subs = mem_array(KNOWN_MAX, sizeof(*k.subs));
	rc = look_at_each(&k, now_ms, &e);
	if (rc < 0 && rc != ERR_AWAY)
		log_err(LOG_WARN, "alerts can't be looked for", &e);
	if (rc == OK && k.n_news > 0)
		alert_tell(a, db, k.news, k.n_news);
	free(k.told);
	free(k.subs);
}

void
alerts_write(struct alerts *a, struct buf *b)
{
	static const enum reason REASONS[] = {
#define REASON(name, number, text) REASON_##name,
#include "contract/reasons.tbl"
#undef REASON
	};

	if (!atomic_load(&a->looked))
		return;
	for (size_t i = 0; i < COUNT_OF(GAUGES); i++) {
		const char *name = RULES[GAUGES[i].rule].name;
		double v =
		    (double)atomic_load(&a->gauges[GAUGES[i].rule]) / 1e3;

		buf_fmt(b, "# HELP %s %s\n# TYPE %s %s\n%s %g\n", name,
		    GAUGES[i].help, name,
		    str_ends(str_of(name), STR("_count")) ? "untyped" : "gauge",
		    name, v);
	}
	buf_addz(b, "# HELP webhook_failures Attempts that failed, by reason, "
		    "last hour.\n# TYPE webhook_failures gauge\n");
	for (size_t i = 0; i < COUNT_OF(REASONS); i++)
		buf_fmt(b, "webhook_failures{reason=\"%s\"} %lld\n",
		    reason_name(REASONS[i]),
		    (long long)atomic_load(&a->reasons[REASONS[i]]));
}
