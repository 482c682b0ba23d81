#include "reader/fetch/fetcher.h"

#include <limits.h>
#include <unistd.h>

#include "base/conf/conf.h"
#include "base/log/metric.h"
#include "doc/caged.h"
#include "doc/limits.h"
#include "event/tail.h"
#include "loop/thread.h"
#include "reader/fetch/fetcher_priv.h"
#include "reader/limits.h"
#include "reader/websub.h"

/* ---- jobs and notes ---- */

int64_t
fetcher_scaled_us(const struct fetcher *f, int64_t ms)
{
	return ms * US_PER_MS / f->o.conf->time_scale;
}

static void
job_done(struct append_job *job)
{
	struct fetch_job *j = MAIL_OF(job, struct fetch_job, job);
	struct fetcher *f = j->f;
	bool posted;

	if (job->err.code == OK && j->changed)
		tail_changed(f->o.tail);
	posted = mailbox_post(f->box, &j->note.mail);

	assert(posted); /* it is closed when no job is out any more */
	(void)posted;
	client_wake(f->client);
}

static void
take_job(struct fetcher *f, struct fetch_note *n)
{
	struct fetch_job *j = MAIL_OF(n, struct fetch_job, note);

	f->n_jobs--;
	j->busy = false;
	j->take(f, j);
}

int
fetcher_post(struct fetcher *f, struct fetch_job *j, fetch_fn fn,
    fetch_take take, struct err *e)
{
	struct err none;

	j->f = f;
	j->take = take;
	j->changed = false;
	j->note.take = take_job;
	j->job = (struct append_job){.fn = fn,
	    .ctx = j->ctx ? j->ctx : f,
	    .entries = j->entries,
	    .n = j->n_entries,
	    .done = job_done};
	TRY(append_post(f->o.append, &j->job, e ? e : &none));
	j->busy = true;
	f->n_jobs++;
	return OK;
}

static void
take_mail(struct fetcher *f, int wait_ms)
{
	struct mail *m = mailbox_take(f->box, wait_ms);

	while (m) {
		struct fetch_note *n = MAIL_OF(m, struct fetch_note, mail);

		m = m->next;
		n->take(f, n);
	}
}

/* ---- one fetch ---- */

struct fetch *
fetch_new(struct fetcher *f)
{
	struct fetch *x = mem_get(sizeof(*x));

	x->f = f;
	x->arena = arena_new(FETCH_ARENA_MAX);
	x->seen.retry_after_ms = x->seen.max_age_s = -1;
	return x;
}

void
fetch_free(struct fetch *x)
{
	arena_free(x->heavy);
	arena_free(x->arena);
	free(x);
}

void
fetch_free_all(struct list *l)
{
	struct fetch *x;

	while ((x = list_take(l, struct fetch, link)))
		fetch_free(x);
}

static struct str
fetcher_keep(struct fetch *x, struct str s, size_t most)
{
	return s.p && s.n > 0 && s.n <= most && str_utf8_bad(s) == s.n
		   ? arena_dup(x->arena, s)
		   : (struct str){.p = NULL};
}

static enum fetch_outcome
outcome_of(const struct follow_answer *a)
{
	switch (a->result) {
	case FOLLOW_FAILED:
		return a->last.result == CLIENT_TIMEOUT     ? FETCH_TIMEOUT
		       : a->last.result == CLIENT_REFUSED   ? FETCH_REFUSED
		       : a->last.result == CLIENT_TOO_LARGE ? FETCH_TOO_LARGE
							    : FETCH_UNREACHABLE;
	case FOLLOW_LOST:
		return FETCH_REDIRECTS;
	case FOLLOW_TOO_LARGE:
		return a->last.status == 200 ? FETCH_TOO_LARGE
					     : FETCH_HTTP_ERROR;
	case FOLLOW_ANSWERED:
		break;
	}
	return a->last.status == 304   ? FETCH_NOT_MODIFIED
	       : a->last.status == 200 ? FETCH_UPDATED
				       : FETCH_HTTP_ERROR;
}

void
fetch_look(struct fetch *x, const struct follow_answer *a)
{
	struct str cache = follow_header(a->last.head, "cache-control");
	struct str hub = {.p = NULL}, self = {.p = NULL};

	x->took_us = a->last.took_us;
	x->bytes = a->last.wire_bytes;
	(void)snprintf(x->error, sizeof(x->error), "%s", a->last.error);
	x->seen = (struct fetch_seen){.outcome = outcome_of(a),
	    .status = a->last.status,
	    .retry_after_ms = a->last.retry_after_ms,
	    .max_age_s = cache.p ? verdict_max_age(cache) : -1,
	    .error = str_of(x->error)};
	metric_status(M_FETCH_STATUS, a->last.status);
	metric_observe(M_FETCH_LATENCY, a->last.took_us);
	x->final_url = fetcher_keep(x, a->url, URL_MAX);
	x->moved = a->permanent && x->final_url.p && !x->own;
	if (x->seen.outcome != FETCH_UPDATED &&
	    x->seen.outcome != FETCH_NOT_MODIFIED)
		return;
	x->new_etag = fetcher_keep(
	    x, follow_header(a->last.head, "etag"), FETCH_VALIDATOR_MAX);
	x->new_modified = fetcher_keep(x,
	    follow_header(a->last.head, "last-modified"), FETCH_VALIDATOR_MAX);
	x->content_type = fetcher_keep(
	    x, follow_header(a->last.head, "content-type"), URL_MAX);
	websub_links(a->last.head, &hub, &self);
	x->hub = fetcher_keep(x, hub, URL_MAX);
	x->topic = fetcher_keep(x, self, URL_MAX);
	if (x->seen.outcome == FETCH_NOT_MODIFIED)
		return;
	x->heavy = arena_new(FEED_ARENA_MAX);
	x->body = arena_dup(x->heavy, a->last.body);
}

/* ---- the loop ---- */

static int
least(int a, int b)
{
	return a < b ? a : b;
}

/* A document held us up: handshakes and bodies of others go on first. */
static void
catch_up(struct fetcher *f)
{
	int64_t until_ms = clock_mono_ms() + DOC_TURN_MS, left = DOC_TURN_MS;

	while (left > 0 && client_running(f->client) > 0 &&
	       !atomic_load(&f->stopping)) {
		(void)client_wait(f->client, (int)left);
		left = until_ms - clock_mono_ms();
	}
}

static void
fetcher_run(void *arg)
{
	struct fetcher *f = arg;

	due_release(f, true);
	while (!atomic_load(&f->stopping)) {
		int wait;

		take_mail(f, 0);
		if (atomic_load(&f->hurry))
			register_drop(f);
		register_run(f);
		due_run(f);
		fetch_store_run(f);
		hub_run(f);
		hatebu_run(f->hatebu);
		wait = least(due_patience_ms(f), hatebu_patience_ms(f->hatebu));
		wait = least(wait, caged_rest(f->caged));
		if (f->batch.list.n == 0 && f->pending.n > 0)
			wait = least(wait, 100); /* a post was refused */
		if (f->slow)
			catch_up(f);
		if (f->more_answers)
			wait = 0;
		(void)client_wait(f->client, wait);
	}
	/* What is under way is given up: the feeds are anybody's again. */
	register_drop(f);
	follows_close(f->follows);
	while (f->n_jobs > 0 || client_running(f->client) > 0) {
		(void)client_wait(f->client, 100);
		take_mail(f, 0);
	}
	due_release(f, false);
	while (f->n_jobs > 0)
		take_mail(f, 100);
}

/* ---- life ---- */

static int
make_parts(struct fetcher *f, struct err *e)
{
	const struct conf *c = f->o.conf;
	struct client_opts o = client_opts_of(c, f->o.guard);

	o.connections_max = (long)c->fetch_max_concurrent + REGISTER_MAX + 2;
	o.connections_each = 2;
	o.body_max = (size_t)c->fetch_max_size > DISCOVER_IN_MAX
			 ? (size_t)c->fetch_max_size
			 : DISCOVER_IN_MAX;
	f->box = mailbox_new();
	f->hatebu = hatebu_new(f);
	TRY(client_new(&o, &f->client, e));
	f->follows = follows_new(
	    f->client, c->webhook_proxy[0] ? c->webhook_proxy : NULL);
	TRY(db_open(f->o.store, DB_READ, &f->db, e));
	TRY(caged_new("/proc/self/exe", f->o.fault, &f->caged, e));
	return thread_start("reader", fetcher_run, f, &f->thread, e);
}

static void
free_fetches(struct fetcher *f)
{
	struct list *all[] = {&f->claim.got, &f->queue, &f->ready,
	    &f->begin.list, &f->blameless, &f->forget.list, &f->answers,
	    &f->pending, &f->batch.list};

	for (size_t i = 0; i < COUNT_OF(all); i++)
		fetch_free_all(all[i]);
}

void
fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	client_free(f->client);
	follows_free(f->follows);
	free_fetches(f);
	hub_drop(f);
	hatebu_free(f->hatebu);
	caged_free(f->caged);
	db_close(f->db);
	mailbox_free(f->box);
	free(f);
}

int
fetcher_start(const struct fetcher_opts *o, struct fetcher **ret, struct err *e)
{
	struct fetcher *f = mem_get(sizeof(*f));
	struct list *lists[] = {&f->queue, &f->ready, &f->claim.got,
	    &f->hubs.got, &f->begin.list, &f->blameless, &f->forget.list,
	    &f->answers, &f->pending, &f->batch.list, &f->regs,
	    &f->regs_waiting};
	int rc;

	f->o = *o;
	f->run = uuid_v4();
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		list_init(lists[i]);
	rc = make_parts(f, e);
	if (rc < 0) {
		fetcher_free(f);
		return rc;
	}
	*ret = f;
	return OK;
}

void
fetcher_hurry(struct fetcher *f)
{
	if (!f)
		return;
	atomic_store(&f->hurry, true);
	client_wake(f->client);
}

void
fetcher_stop(struct fetcher *f)
{
	if (!f)
		return;
	atomic_store(&f->stopping, true);
	client_wake(f->client);
	thread_join(f->thread);
}

void
fetcher_poke(struct fetcher *f)
{
	if (!f)
		return;
	atomic_store(&f->poked, true);
	client_wake(f->client);
}
