#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/str.h"
#include "base/version.h"
#include "http/url.h"
#include "node/node.h"
#include "reader/fetch/fetcher_priv.h"
#include "reader/limits.h"
#include "sql.h"

/* A lease outlives any one fetch, however time is scaled in tests. */
static int64_t
lease_us(const struct fetcher *f)
{
	int64_t least = (f->o.conf->fetch_timeout_ms + 5000) * US_PER_MS;
	int64_t us = fetcher_scaled_us(f, FETCH_LEASE_MS);

	return us > least ? us : least;
}

/* ---- the claim: on the commit thread ---- */

static struct str
fetcher_due_keep(struct fetch *x, struct str s)
{
	return s.p ? arena_dup(x->arena, s) : s;
}

static void
take_row(struct claim *c, const struct sql_fetch_claim_row *row)
{
	struct fetch *x = fetch_new(MAIL_OF(c, struct fetcher, claim));
	struct url url;
	struct err none;

	x->id = row->id;
	x->uid = uuid_of(row->uid);
	x->url = fetcher_due_keep(x, row->feed_url);
	if (url_parse(x->url, &url, &none) == OK)
		x->host = fetcher_due_keep(x, str_of(url.host));
	x->etag = fetcher_due_keep(x, row->etag);
	x->last_modified = fetcher_due_keep(x, row->last_modified);
	x->body_hash = fetcher_due_keep(x, row->body_hash);
	x->before = (struct fetch_before){.errors = row->errors,
	    .parse_errors = row->parse_errors,
	    .interval_min = row->interval_min,
	    .hub = row->hubs > 0};
	x->lease_us = c->until_us;
	x->crashed =
	    row->begun_by.p && !str_eq(row->begun_by, uuid_str(&x->f->run));
	list_add(&c->got, &x->link);
	c->n++;
}

static void
drop_got(struct claim *c)
{
	fetch_free_all(&c->got);
	c->n = 0;
}

static int
claim_fn(struct db *db, void *ctx, struct err *e)
{
	struct fetcher *f = ctx;
	struct claim *c = &f->claim;
	struct sql_fetch_claim_row row;
	struct rows *rows = NULL;
	int rc;

	drop_got(c); /* it may run twice */
	rc = sql_fetch_claim(db, &rows, e, .now = c->now_us,
	    .until = c->until_us, .by = uuid_str(&f->o.node->uuid),
	    .most = c->want);
	while (rc >= 0 && (rc = sql_fetch_claim_next(rows, &row, e)) > 0)
		take_row(c, &row);
	rows_close(rows);
	return rc;
}

/* ---- the thread ---- */

/* It is not fetched now: that is what came of it. */
static void
blame(struct fetch *x)
{
	(void)snprintf(x->error, sizeof(x->error),
	    "the server died while it was fetching or reading it");
	x->seen.outcome = FETCH_CRASHED;
	x->seen.error = str_of(x->error);
	x->at_us = clock_now_us();
	fetch_store_answer(x);
}

static void
claimed(struct fetcher *f, struct fetch_note *n)
{
	struct claim *c = MAIL_OF(n, struct claim, j.note);
	struct link *k;

	c->busy = false;
	if (c->j.job.err.code != OK) {
		drop_got(c);
		log_err(LOG_WARN, "feeds can't be claimed", &c->j.job.err);
		f->retry_us = clock_mono_us() + US_PER_S;
		return;
	}
	f->more = c->n == c->want;
	while ((k = list_first(&c->got))) {
		struct fetch *x = LINK_OF(k, struct fetch, link);

		list_remove(&c->got, k);
		if (x->crashed)
			blame(x);
		else
			list_add(&f->queue, k);
	}
	c->n = 0;
}

static void
claim(struct fetcher *f, int want)
{
	struct claim *c = &f->claim;
	struct err e;

	c->now_us = clock_now_us();
	c->until_us = c->now_us + lease_us(f);
	c->want = want;
	c->busy = fetcher_post(f, &c->j, claim_fn, claimed, &e) == OK;
	if (!c->busy)
		f->retry_us = clock_mono_us() + US_PER_S / 10;
}

static void
count_running(struct fetcher *f, size_t n)
{
	f->n_running = n;
	metric_set(M_FETCH_RUNNING, (int64_t)n);
}

static void
answered(struct follow *fo, const struct follow_answer *a)
{
	struct fetch *x = MAIL_OF(fo, struct fetch, follow);

	count_running(x->f, x->f->n_running - 1);
	if (a->result == FOLLOW_FAILED && a->why == CLIENT_CANCELLED) {
		fetch_free(x);
		return;
	}
	fetch_look(x, a);
	fetch_store_answer(x);
}

static void
add_header(struct fetch *x, struct str name, struct str value)
{
	x->headers[x->follow.n_headers++] = (struct client_header){name, value};
}

static void
start_fetch(struct fetch *x)
{
	struct fetcher *f = x->f;

	x->follow = (struct follow){.method = GET,
	    .url = x->url,
	    .headers = x->headers,
	    .body_max = (size_t)f->o.conf->fetch_max_size,
	    .total_ms = (int)f->o.conf->fetch_timeout_ms,
	    .user_agent = FETCHER_AGENT,
	    .done = answered};
	add_header(x, STR("Accept"), STR(FETCH_ACCEPT));
	if (x->etag.p && x->etag.n > 0)
		add_header(x, STR("If-None-Match"), x->etag);
	if (x->last_modified.p && x->last_modified.n > 0)
		add_header(x, STR("If-Modified-Since"), x->last_modified);
	x->at_us = clock_now_us();
	count_running(f, f->n_running + 1);
	follow_start(f->follows, &x->follow);
}

static bool
room(const struct fetcher *f)
{
	return f->n_running + f->answers.n + f->n_storing <
		   (size_t)f->o.conf->fetch_max_concurrent &&
	       f->pending.n < FETCH_BATCH_MAX;
}

/* Half a lease is left for the fetch itself. */
static bool
is_late(const struct fetch *x)
{
	return x->lease_us < clock_now_us() + lease_us(x->f) / 2;
}

static bool
has_host(const struct list *l, struct str host)
{
	for (struct link *k = list_first(l); k; k = list_next(l, k))
		if (str_eq(LINK_OF(k, struct fetch, link)->host, host))
			return true;
	return false;
}

static void
start_some(struct fetcher *f)
{
	struct link *k = list_first(&f->ready), *next;

	for (; k && room(f); k = next) {
		struct fetch *x = LINK_OF(k, struct fetch, link);

		next = list_next(&f->ready, k);
		if (is_late(x)) {
			list_remove(&f->ready, k);
			begin_forget(x);
			f->more = true;
		} else if (follow_free_host(f->follows, x->url)) {
			list_remove(&f->ready, k);
			start_fetch(x);
		}
	}
}

/* Those that could start now if there were room, some ahead: it is a commit. */
static void
begin_some(struct fetcher *f)
{
	size_t most = (size_t)f->o.conf->fetch_max_concurrent;
	struct link *k = list_first(&f->queue), *next;
	struct list some;

	if (f->ready.n >= most || f->begin.busy ||
	    clock_mono_us() < f->retry_us)
		return;
	list_init(&some);
	for (; k && some.n < most; k = next) {
		struct fetch *x = LINK_OF(k, struct fetch, link);

		next = list_next(&f->queue, k);
		if (is_late(x)) {
			/* Its host was busy for too long: anybody's again. */
			list_remove(&f->queue, k);
			fetch_free(x);
			f->more = true;
		} else if (follow_free_host(f->follows, x->url) &&
			   !has_host(&f->ready, x->host) &&
			   !has_host(&some, x->host)) {
			list_remove(&f->queue, k);
			list_add(&some, k);
		}
	}
	begin_mark(f, &some);
}

static int
tidy_fn(struct db *db, void *ctx, struct err *e)
{
	const struct fetcher *f = ctx;
	int64_t before =
	    clock_now_us() - f->o.conf->fetch_history_ms * US_PER_MS;
	int64_t n = sql_fetch_forget(
	    db, e, .before = before, .most = FETCH_FORGET_STEP);

	return n < 0 ? (int)n : OK;
}

static void
tidied(struct fetcher *f, struct fetch_note *n)
{
	(void)n;
	f->tidy_busy = false;
}

/* What came of fetches long ago goes, some with each tick. */
static void
tidy(struct fetcher *f)
{
	struct err e;

	if (f->tidy_busy)
		return;
	f->tidy_busy = fetcher_post(f, &f->tidy, tidy_fn, tidied, &e) == OK;
}

void
due_run(struct fetcher *f)
{
	int64_t now = clock_mono_us();
	/* Some ahead: a claim is a commit. */
	int most = 6 * (int)f->o.conf->fetch_max_concurrent;
	bool idle;

	if (!f->o.schedule)
		return;
	if (now >= f->tick_us) {
		f->tick_us = now + f->o.conf->fetch_interval_ms * US_PER_MS;
		f->more = f->hubs.more = true;
		tidy(f);
	}
	if (atomic_exchange(&f->poked, false))
		f->more = true;
	start_some(f);
	begin_some(f);
	begin_run(f);
	idle = room(f) && f->ready.n == 0 && !f->begin.busy;
	if (!f->more || f->claim.busy || now < f->retry_us ||
	    f->queue.n >= FETCH_QUEUE_MAX)
		return;
	/* With room, and all that waits waiting for its host, look further. */
	if (f->queue.n < (size_t)most / 2 || idle)
		claim(f, (size_t)most > FETCH_QUEUE_MAX - f->queue.n
			     ? (int)(FETCH_QUEUE_MAX - f->queue.n)
			     : most);
}

int
due_patience_ms(const struct fetcher *f)
{
	int64_t left = (f->tick_us - clock_mono_us()) / US_PER_MS;

	if (!f->o.schedule)
		return 60000;
	if (f->queue.n + f->ready.n > 0 && left > 1000)
		left = 1000; /* leases run out */
	if (f->more && !f->claim.busy && left > 100)
		left = 100;
	if (f->forget.waiting.n > 0 && left > 100)
		left = 100; /* a post was refused */
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

/* ---- life ---- */

static int
release_fn(struct db *db, void *ctx, struct err *e)
{
	const struct fetcher *f = ctx;
	int64_t n = sql_fetch_release(db, e, .by = uuid_str(&f->o.node->uuid));

	return n < 0 ? (int)n : OK;
}

static int
release_dead_fn(struct db *db, void *ctx, struct err *e)
{
	const struct fetcher *f = ctx;
	int64_t n =
	    sql_fetch_release_dead(db, e, .by = uuid_str(&f->o.node->uuid));

	return n < 0 ? (int)n : OK;
}

void
due_done(struct fetcher *f)
{
	drop_got(&f->claim);
	fetch_free_all(&f->queue);
	fetch_free_all(&f->ready);
	fetch_free_all(&f->begin.list);
	fetch_free_all(&f->forget.waiting);
	fetch_free_all(&f->forget.list);
}

/* At the start these are what this node had when it was killed: its name is
 * that of its folder, which nobody else has. */
void
due_release(struct fetcher *f, bool dead)
{
	struct err e;

	if (!f->o.schedule || f->tidy_busy)
		return;
	f->tidy_busy =
	    fetcher_post(f, &f->tidy, dead ? release_dead_fn : release_fn,
		tidied, &e) == OK;
}
