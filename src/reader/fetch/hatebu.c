#include "reader/fetch/hatebu.h"

#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "http/client/guard.h"
#include "http/percent.h"
#include "node/node.h"
#include "reader/fetch/fetcher_priv.h"
#include "reader/limits.h"
#include "sql.h"

#define DAY_US     (INT64_C(86400) * US_PER_S)
#define TIMEOUT_MS 10000
#define TURN_US    (60 * US_PER_S)

/* BUSY: somebody else has it, the commit thread or the network. */
enum state { IDLE, PAUSING, BUSY };

struct hatebu {
	struct fetcher *f;
	enum state state;
	int64_t due_us;    /* monotonic: the next round, or call */
	int64_t calls;     /* of this round */
	int64_t failures;  /* in a row */
	int64_t day_calls; /* as they stood when the turn was taken */
	bool mine;         /* the turn is ours */

	struct arena *arena;
	struct buf query;
	struct follow follow;
	int64_t ids[HATEBU_URLS_MAX], counts[HATEBU_URLS_MAX];
	struct str links[HATEBU_URLS_MAX];
	size_t n;
	bool good;

	struct fetch_job j;
	int64_t next_us; /* wall: what the job writes */
};

/* ---- what is pure ---- */

int64_t
hatebu_pause_ms(int64_t failures)
{
	static const struct {
		int64_t failures, minutes;
	} PAUSES[] = {{10, 360}, {5, 60}, {3, 30}};

	for (size_t i = 0; i < COUNT_OF(PAUSES); i++)
		if (failures >= PAUSES[i].failures)
			return PAUSES[i].minutes * 60000;
	return 0;
}

bool
hatebu_add_url(struct buf *query, struct str link)
{
	if (query->n + 3 * link.n + 8 > HATEBU_QUERY_MAX)
		return false;
	buf_addz(query, query->n > 0 ? "&url=" : "url=");
	percent_add(query, link);
	return !query->failed;
}

int
hatebu_counts(struct arena *a, struct str answer, const struct str *links,
    size_t n, int64_t *counts, struct err *e)
{
	struct json *doc;

	TRY(json_parse(a, answer, &doc, e));
	if (!json_is(doc, JSON_OBJECT))
		return err_set(e, ERR_INVALID, "the answer is no object");
	for (size_t i = 0; i < n; i++) {
		const struct json *j = json_step(doc, links[i]);

		counts[i] = 0;
		if (j && (!json_int(j, &counts[i]) || counts[i] < 0 ||
			     counts[i] > INT32_MAX))
			return err_set(e, ERR_INVALID,
			    "the answer has a count that is none");
	}
	return OK;
}

/* ---- rounds ---- */

static int64_t
in(int64_t ms)
{
	return clock_mono_us() + ms * US_PER_MS;
}

static void
go_idle(struct hatebu *h, int64_t ms)
{
	h->state = IDLE;
	h->due_us = in(ms);
}

/* How long until it is looked again whether there is something to do. */
static int64_t
look_ms(const struct hatebu *h)
{
	int64_t round = h->f->o.conf->hatebu_batch_interval_ms;

	return round < 30000 ? round : 30000;
}

static void
post_job(struct hatebu *h, fetch_fn fn, fetch_take take)
{
	h->state = BUSY;
	h->j.ctx = h;
	if (fetcher_post(h->f, &h->j, fn, take, NULL) < 0)
		go_idle(h, 1000);
}

/* ---- the end of a round ---- */

static int
leave_fn(struct db *db, void *ctx, struct err *e)
{
	struct hatebu *h = ctx;

	TRY(sql_hatebu_leave(
	    db, e, .me = uuid_str(&h->f->o.node->uuid), .next = h->next_us));
	return OK;
}

static void
left(struct fetcher *f, struct fetch_job *)
{
	struct hatebu *h = f->hatebu;

	h->mine = false;
	go_idle(h, f->o.conf->hatebu_batch_interval_ms);
}

static void
leave_turn(struct hatebu *h, int64_t wait_ms)
{
	int64_t round = h->f->o.conf->hatebu_batch_interval_ms;

	h->next_us =
	    clock_now_us() + (wait_ms > round ? wait_ms : round) * US_PER_MS;
	post_job(h, leave_fn, left);
}

/* ---- what a call brought ---- */

static int
put_fn(struct db *db, void *ctx, struct err *e)
{
	struct hatebu *h = ctx;
	struct sql_hatebu_put_args v[HATEBU_URLS_MAX];
	int64_t now = clock_now_us();

	for (size_t i = 0; i < h->n; i++)
		v[i] = (struct sql_hatebu_put_args){
		    .id = h->ids[i], .n = h->counts[i], .now = now};
	if (h->good)
		TRY(sql_hatebu_put(db, v, h->n, e));
	/* Else somebody took the turn meanwhile. */
	h->mine =
	    TRY(sql_hatebu_called(db, e, .me = uuid_str(&h->f->o.node->uuid),
		.until = now + TURN_US, .next = h->next_us,
		.failures = h->failures)) > 0;
	return OK;
}

static void
hatebu_put(struct fetcher *f, struct fetch_job *j)
{
	struct hatebu *h = f->hatebu;
	int64_t pause = hatebu_pause_ms(h->failures) / f->o.conf->time_scale;

	if (j->job.err.code != OK)
		log_err(LOG_WARN, "counts of bookmarks can't be stored",
		    &j->job.err);
	if (j->job.err.code != OK || !h->mine) {
		go_idle(h, f->o.conf->hatebu_batch_interval_ms);
	} else if (pause > 0 ||
		   h->calls >= f->o.conf->hatebu_max_calls_per_cycle) {
		leave_turn(h, pause);
	} else {
		h->state = PAUSING;
		h->due_us = in(f->o.conf->hatebu_api_interval_ms);
	}
}

static void
answered(struct follow *fo, const struct follow_answer *a)
{
	struct hatebu *h = MAIL_OF(fo, struct hatebu, follow);
	struct fetcher *f = h->f;
	struct err e = {0};
	int rc;

	if (a->result == FOLLOW_FAILED && a->last.result == CLIENT_CANCELLED) {
		h->state = IDLE;
		return;
	}
	h->calls++;
	h->day_calls++;
	metric_add(M_HATEBU_CALLS, 1);
	if (a->result != FOLLOW_ANSWERED)
		rc = err_set(&e, ERR_IO, "%s", a->last.error);
	else if (a->last.status != 200)
		rc = err_set(&e, ERR_IO, "it answered %d", a->last.status);
	else
		rc = hatebu_counts(
		    h->arena, a->last.body, h->links, h->n, h->counts, &e);
	h->good = rc == OK;
	h->failures = h->good ? 0 : h->failures + 1;
	if (!h->good) {
		metric_add(M_HATEBU_FAILED, 1);
		log_err(LOG_WARN, "counts of bookmarks can't be fetched", &e);
	}
	h->next_us =
	    clock_now_us() + f->o.conf->hatebu_api_interval_ms * US_PER_MS;
	post_job(h, put_fn, hatebu_put);
}

/* ---- what to ask for ---- */

static bool
take_row(struct hatebu *h, int64_t id, struct str link)
{
	/* One without a link, or with one that is not others' to know. */
	if (link.n > 0 && !guard_public(h->f->o.guard, link))
		link.n = 0;
	if (link.n > 0 && !hatebu_add_url(&h->query, link))
		return false;
	h->ids[h->n] = id;
	h->links[h->n++] = link.n > 0 ? arena_dup(h->arena, link) : STR_EMPTY;
	return true;
}

static int
read_rows(struct hatebu *h, bool old, int64_t before, struct err *e)
{
	int64_t most = HATEBU_URLS_MAX - (int64_t)h->n;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_hatebu_new_row row;
	bool room = true;

	TRY(old ? sql_hatebu_old(
		      h->f->db, &rows, e, .before = before, .most = most)
		: sql_hatebu_new(h->f->db, &rows, e, .most = most));
	while (room && TRY(sql_hatebu_new_next(rows, &row, e)))
		room = take_row(h, row.id, row.link);
	return OK;
}

static void
ask_counts(struct hatebu *h)
{
	struct fetcher *f = h->f;

	h->follow = (struct follow){.done = answered};
	h->follow.send = (struct client_send){.method = GET,
	    .url =
		arena_fmt(h->arena, "%s/count/entries", f->o.conf->hatebu_url),
	    .query = buf_str(&h->query),
	    .keep_max = HATEBU_ANSWER_MAX,
	    .total_ms = TIMEOUT_MS,
	    .user_agent = FETCHER_AGENT};
	h->state = BUSY;
	follow_start(f->follows, &h->follow);
}

static void
pick(struct hatebu *h)
{
	int64_t before =
	    clock_now_us() - h->f->o.conf->hatebu_ttl_ms * US_PER_MS;
	struct err e;
	int rc;

	arena_reset(h->arena);
	buf_clear(&h->query);
	h->n = 0;
	rc = read_rows(h, false, 0, &e);
	if (rc == OK && h->n < HATEBU_URLS_MAX)
		rc = read_rows(h, true, before, &e);
	if (rc < 0 || h->n == 0) {
		leave_turn(h, 0);
	} else if (h->query.n > 0) {
		ask_counts(h);
	} else {
		/* None of them has a link to tell: nobody is asked. */
		memset(h->counts, 0, sizeof(h->counts));
		h->good = true;
		h->next_us = clock_now_us();
		post_job(h, put_fn, hatebu_put);
	}
}

/* ---- the beginning of a round ---- */

static int
take_fn(struct db *db, void *ctx, struct err *e)
{
	struct hatebu *h = ctx;
	struct sql_hatebu_state_row row;
	int64_t now = clock_now_us();

	h->mine =
	    TRY(sql_hatebu_take(db, e, .me = uuid_str(&h->f->o.node->uuid),
		.now = now, .until = now + TURN_US, .day = now / DAY_US)) > 0 &&
	    TRY(sql_hatebu_state_one(db, &row, e)) > 0;
	if (h->mine) {
		h->failures = row.failures;
		h->day_calls = row.calls;
	}
	return OK;
}

static void
taken(struct fetcher *f, struct fetch_job *j)
{
	struct hatebu *h = f->hatebu;

	h->calls = 0;
	if (j->job.err.code != OK || !h->mine)
		/* Somebody else's, or too early: look again soon. */
		go_idle(h, look_ms(h));
	else if (h->day_calls >= HATEBU_DAY_CALLS)
		leave_turn(h, (DAY_US - clock_now_us() % DAY_US) / US_PER_MS);
	else
		pick(h);
}

/* Without feeds there is nobody to ask for. */
static bool
any_feed(struct hatebu *h)
{
	struct sql_fetch_any_row row;
	struct err e;

	return sql_fetch_any_one(h->f->db, &row, &e) > 0 && row.n > 0;
}

void
hatebu_run(struct hatebu *h)
{
	if (!h || clock_mono_us() < h->due_us)
		return;
	if (h->state == PAUSING && h->day_calls < HATEBU_DAY_CALLS) {
		pick(h);
	} else if (h->state == PAUSING) {
		leave_turn(h, (DAY_US - clock_now_us() % DAY_US) / US_PER_MS);
	} else if (h->state == IDLE && !any_feed(h)) {
		go_idle(h, look_ms(h));
	} else if (h->state == IDLE) {
		post_job(h, take_fn, taken);
	}
}

int
hatebu_patience_ms(const struct hatebu *h)
{
	int64_t left;

	if (!h || h->state == BUSY)
		return 60000;
	left = (h->due_us - clock_mono_us() + US_PER_MS - 1) / US_PER_MS;
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

struct hatebu *
hatebu_new(struct fetcher *f)
{
	struct hatebu *h;

	if (!f->o.schedule || !f->o.conf->hatebu_enabled)
		return NULL;
	h = mem_get(sizeof(*h));
	h->arena = arena_new(8 * MIB);
	h->f = f;
	h->query = BUF(HATEBU_QUERY_MAX + 64);
	h->due_us = clock_mono_us();
	return h;
}

void
hatebu_free(struct hatebu *h)
{
	if (!h)
		return;
	buf_done(&h->query);
	arena_free(h->arena);
	free(h);
}
