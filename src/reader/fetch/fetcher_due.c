#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "http/url.h"
#include "node/node.h"
#include "reader/feed_login.h"
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
	x->own = row->own;
	x->login = fetcher_due_keep(x, row->login);
	if (row->login_of.p)
		x->login_of = uuid_of(row->login_of);
	x->before = (struct fetch_before){.errors = row->errors,
	    .parse_errors = row->parse_errors,
	    .interval_min = row->interval_min,
	    .hub = row->hubs > 0,
	    .login = row->login.p != NULL};
	x->lease_us = c->until_us;
	x->crashed =
	    row->begun_by.p && !str_eq(row->begun_by, uuid_str(&x->f->run));
	list_add(&c->got, &x->link);
}

static int
claim_fn(struct db *db, void *ctx, struct err *e)
{
	struct fetcher *f = ctx;
	struct claim *c = &f->claim;
	struct rows *rows CLEANUP(rows_closep) = NULL;
	struct sql_fetch_claim_row row;

	fetch_free_all(&c->got); /* it may run twice */
	TRY(sql_fetch_claim(db, &rows, e, .now = c->now_us,
	    .until = c->until_us, .by = uuid_str(&f->o.node->uuid),
	    .most = (int64_t)c->want));
	while (TRY(sql_fetch_claim_next(rows, &row, e)))
		take_row(c, &row);
	return OK;
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
	list_add(&x->f->answers, &x->link);
}

static void
claimed(struct fetcher *f, struct fetch_job *j)
{
	struct claim *c = &f->claim;
	struct fetch *x;

	if (j->job.err.code != OK) {
		fetch_free_all(&c->got);
		log_err(LOG_WARN, "feeds can't be claimed", &j->job.err);
		f->retry_us = clock_mono_us() + US_PER_S;
		return;
	}
	f->more = c->got.n == c->want;
	while ((x = list_take(&c->got, struct fetch, link)))
		if (x->crashed)
			blame(x);
		else
			list_add(&f->queue, &x->link);
}

static void
claim(struct fetcher *f, size_t want)
{
	struct claim *c = &f->claim;

	c->now_us = clock_now_us();
	c->until_us = c->now_us + lease_us(f);
	c->want = want;
	if (fetcher_post(f, &c->j, claim_fn, claimed, NULL) < 0)
		f->retry_us = clock_mono_us() + US_PER_S / 10;
}

/* ---- the mark of what is begun (begun_by) ---- */

/*
 *   queue ──begin_mark──▶ begin.list ──committed──▶ ready
 *   due_forget ──▶ blameless ──▶ forget.list ──committed──▶ freed
 */

/* On the commit thread. */
static int
marks_fn(struct db *db, void *ctx, struct err *e)
{
	const struct marks *m = ctx;
	struct sql_fetch_begin_args *v = mem_array(m->list.n, sizeof(*v));
	size_t i = 0;
	int64_t n;

	list_each (struct fetch, x, &m->list, link)
		v[i++] = (struct sql_fetch_begin_args){
		    .id = x->id, .run = uuid_str(&x->f->run)};
	n = m->begin ? sql_fetch_begin(db, v, i, e)
		     : sql_fetch_unbegin(db, v, i, e);
	free(v);
	return n < 0 ? (int)n : OK;
}

static void
move_all(struct list *from, struct list *to)
{
	struct link *k;

	while ((k = list_shift(from)))
		list_add(to, k);
}

/* The change can't be made now: back to where they were. */
static void
put_back(struct fetcher *f, struct marks *m, int64_t wait_us)
{
	move_all(&m->list, m->begin ? &f->queue : &f->blameless);
	f->retry_us = clock_mono_us() + wait_us;
}

static void
post_marks(struct fetcher *f, struct marks *m, fetch_take take)
{
	m->j.ctx = m;
	if (m->list.n > 0 && fetcher_post(f, &m->j, marks_fn, take, NULL) < 0)
		put_back(f, m, US_PER_S / 10);
}

static void
marked(struct fetcher *f, struct fetch_job *j)
{
	struct list *l = &f->begin.list;

	if (j->job.err.code != OK) {
		log_err(
		    LOG_WARN, "feeds can't be marked as begun", &j->job.err);
		put_back(f, &f->begin, US_PER_S);
		return;
	}
	list_each (struct fetch, x, l, link)
		x->begun = true;
	move_all(l, &f->ready);
}

static void
begin_mark(struct fetcher *f)
{
	f->begin.begin = true;
	post_marks(f, &f->begin, marked);
}

static void
forgotten(struct fetcher *f, struct fetch_job *j)
{
	if (j->job.err.code == OK)
		fetch_free_all(&f->forget.list);
	else
		put_back(f, &f->forget, US_PER_S);
}

void
due_forget(struct fetch *x)
{
	arena_free(x->heavy);
	x->heavy = NULL;
	list_add(&x->f->blameless, &x->link);
}

static void
begin_run(struct fetcher *f)
{
	struct marks *m = &f->forget;

	if (m->j.busy || clock_mono_us() < f->retry_us)
		return;
	move_all(&f->blameless, &m->list);
	post_marks(f, m, forgotten);
}

/* ---- starting ---- */

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
	if (a->result == FOLLOW_FAILED && a->last.result == CLIENT_CANCELLED) {
		fetch_free(x);
		return;
	}
	fetch_look(x, a);
	list_add(&x->f->answers, &x->link);
}

static void
add_header(struct fetch *x, struct str name, struct str value)
{
	x->headers[x->follow.send.n_headers++] =
	    (struct client_header){name, value};
}

/* False: it can't be opened here, and is not asked for without. */
static bool
add_login(struct fetch *x)
{
	struct str login;
	struct err e = {0};

	if (feed_login_open(x->f->o.keyring, x->arena, x->login_of, x->login,
		&login, &e) < 0) {
		(void)snprintf(x->error, sizeof(x->error),
		    "its user name and password can't be opened: %.200s",
		    e.text);
		x->seen = (struct fetch_seen){
		    FETCH_NOT_READ, 0, -1, -1, str_of(x->error)};
		list_add(&x->f->answers, &x->link);
		return false;
	}
	add_header(x, STR("Authorization"), feed_login_header(x->arena, login));
	x->follow.n_own = 1;
	return true;
}

static void
start_fetch(struct fetch *x)
{
	struct fetcher *f = x->f;

	x->follow = (struct follow){.done = answered};
	x->follow.send = (struct client_send){.method = GET,
	    .url = x->url,
	    .headers = x->headers,
	    .keep_max = (size_t)f->o.conf->fetch_max_size,
	    .total_ms = (int)f->o.conf->fetch_timeout_ms,
	    .user_agent = FETCHER_AGENT};
	add_header(x, STR("Accept"), STR(FETCH_ACCEPT));
	if (x->etag.p && x->etag.n > 0)
		add_header(x, STR("If-None-Match"), x->etag);
	if (x->last_modified.p && x->last_modified.n > 0)
		add_header(x, STR("If-Modified-Since"), x->last_modified);
	x->at_us = clock_now_us();
	if (x->login.p && !add_login(x))
		return;
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
	list_each (struct fetch, x, l, link) {
		if (str_eq(x->host, host))
			return true;
	}
	return false;
}

static void
start_some(struct fetcher *f)
{
	list_each (struct fetch, x, &f->ready, link) {
		if (!room(f))
			return;
		if (is_late(x)) {
			list_remove(&f->ready, &x->link);
			due_forget(x);
			f->more = true;
		} else if (follow_free_host(f->follows, x->url)) {
			list_remove(&f->ready, &x->link);
			start_fetch(x);
		}
	}
}

/* Those that could start now if there were room, some ahead: it is a commit. */
static void
begin_some(struct fetcher *f)
{
	size_t most = (size_t)f->o.conf->fetch_max_concurrent;
	struct list *some = &f->begin.list;

	if (f->ready.n >= most || f->begin.j.busy ||
	    clock_mono_us() < f->retry_us)
		return;
	list_each (struct fetch, x, &f->queue, link) {
		if (some->n >= most)
			break;
		if (is_late(x)) {
			/* Its host was busy for too long: anybody's again. */
			list_remove(&f->queue, &x->link);
			fetch_free(x);
			f->more = true;
		} else if (follow_free_host(f->follows, x->url) &&
			   !has_host(&f->ready, x->host) &&
			   !has_host(some, x->host)) {
			list_remove(&f->queue, &x->link);
			list_add(some, &x->link);
		}
	}
	begin_mark(f);
}

static int
tidy_fn(struct db *db, void *ctx, struct err *e)
{
	const struct fetcher *f = ctx;
	int64_t before =
	    clock_now_us() - f->o.conf->fetch_history_ms * US_PER_MS;

	TRY(sql_fetch_forget(
	    db, e, .before = before, .most = FETCH_FORGET_STEP));
	return OK;
}

static void
tidied(struct fetcher *f, struct fetch_job *j)
{
	(void)f, (void)j;
}

void
due_run(struct fetcher *f)
{
	int64_t now = clock_mono_us();
	/* Some ahead: a claim is a commit. */
	size_t most = 6 * (size_t)f->o.conf->fetch_max_concurrent, left;
	bool idle;

	if (!f->o.schedule)
		return;
	if (now >= f->tick_us) {
		f->tick_us = now + f->o.conf->fetch_interval_ms * US_PER_MS;
		f->more = f->hubs.more = true;
		/* What came of fetches long ago goes, some with each tick. */
		if (!f->tidy.busy)
			(void)fetcher_post(f, &f->tidy, tidy_fn, tidied, NULL);
	}
	if (atomic_exchange(&f->poked, false))
		f->more = true;
	start_some(f);
	begin_some(f);
	begin_run(f);
	idle = room(f) && f->ready.n == 0 && !f->begin.j.busy;
	if (!f->more || f->claim.j.busy || now < f->retry_us ||
	    f->queue.n >= FETCH_QUEUE_MAX)
		return;
	left = FETCH_QUEUE_MAX - f->queue.n;
	/* With room, and all that waits waiting for its host, look further. */
	if (f->queue.n < most / 2 || idle)
		claim(f, most < left ? most : left);
}

int
due_patience_ms(const struct fetcher *f)
{
	int64_t left = (f->tick_us - clock_mono_us()) / US_PER_MS;

	if (!f->o.schedule)
		return 60000;
	if (f->queue.n + f->ready.n > 0 && left > 1000)
		left = 1000; /* leases run out */
	if (((f->more && !f->claim.j.busy) ||
		f->blameless.n > 0 /* a post was refused */) &&
	    left > 100)
		left = 100;
	return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

/* ---- life ---- */

static int
release_fn(struct db *db, void *ctx, struct err *e)
{
	const struct fetcher *f = ctx;
	struct str by = uuid_str(&f->o.node->uuid);

	TRY(f->dead ? sql_fetch_release_dead(db, e, .by = by)
		    : sql_fetch_release(db, e, .by = by));
	return OK;
}

/* At the start these are what this node had when it was killed: its name is
 * that of its folder, which nobody else has. */
void
due_release(struct fetcher *f, bool dead)
{
	if (!f->o.schedule || f->tidy.busy)
		return;
	f->dead = dead;
	(void)fetcher_post(f, &f->tidy, release_fn, tidied, NULL);
}
