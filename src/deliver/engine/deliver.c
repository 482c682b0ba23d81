#include "deliver/engine/deliver.h"

#include "base/conf/conf.h"
#include "base/log/metric.h"
#include "contract/verdict.h"
#include "deliver/core/limits.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/stale.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "http/client/client.h"
#include "http/server/limits.h"
#include "loop/pool.h"
#include "loop/thread.h"
#include "match/jq/jq.h"
#include "sink/sink_driver.h"
#include "store/store.h"

#define TURN_MAX_MS 500

/* What others see of it ------------------------------------------------------- */

/* The wall clock as it was at the start, and on from there: it never jumps. */
int64_t
deliver_now(const struct deliver *d)
{
	return d->wall_us + (clock_boot_us() - d->boot_us);
}

const struct deliver_opts *
deliver_opts(const struct deliver *d)
{
	return &d->o;
}

struct client *
deliver_client(const struct deliver *d)
{
	return d->client;
}

struct confs *
deliver_confs(struct deliver *d)
{
	return &d->confs;
}

struct core *
deliver_core(const struct deliver *d)
{
	return d->core;
}

struct stale *
deliver_stale(const struct deliver *d)
{
	return d->stale;
}

struct wish *
deliver_wish(const struct deliver *d, uint32_t sub)
{
	return map_find(d->wishes, SUB_KEY(&sub));
}

bool
deliver_may_send(const struct deliver *d)
{
	return owner_may_send(&d->owner, deliver_now(d));
}

bool
deliver_stopping(const struct deliver *d)
{
	return atomic_load(&d->stopping);
}

bool
deliver_hurried(const struct deliver *d)
{
	return atomic_load(&d->hurried) || deliver_stopping(d);
}

void
deliver_take(struct deliver *d, struct deliver_ask *q, int64_t now)
{
	ask_take(d, q, now);
}

void
deliver_tell(struct deliver *d, struct note *n)
{
	if (!mailbox_post(d->box, &n->mail))
		return; /* only after its thread has ended: see deliver_mail_drop() */
	if (atomic_load(&d->sleeping))
		client_wake(d->client);
}

void
deliver_tell_sub(
    struct deliver *d, enum note_kind kind, struct wish *w, uint32_t sub)
{
	struct sub_note *n = mem_get(sizeof(*n));

	n->note.kind = kind;
	n->wish = w ? wish_ref(w) : NULL;
	n->sub = sub;
	deliver_tell(d, &n->note);
}

/* Sinks ----------------------------------------------------------------------- */

/* True: more may be sent now. */
static bool
sinks_turn(struct deliver *d, int64_t now)
{
	bool more = false;

	for (int i = 0; i < SINKS; i++)
		if (SINK_DRIVERS[i]->turn &&
		    SINK_DRIVERS[i]->turn(
			d->sinks[i].self, now, &d->sinks[i].due))
			more = true;
	return more;
}

/* The loop ------------------------------------------------------------------------------ */

static struct core *
new_core(const struct deliver *d)
{
	struct core_opts o = {
	    .slots = (int)d->o.conf->webhook_slots,
	    .coalesced = REASON_COALESCED,
	    .free_ev = letter_unref,
	    .free_detail = free,
	};

	return core_new(&o);
}

static void
send_all(struct deliver *d, int64_t now)
{
	struct core_send s;

	do {
		/* The clock is read for each: the process may have stood
		 * still. */
		while (!deliver_stopping(d) && deliver_may_send(d) &&
		       core_next_send(d->core, now, &s))
			attempt_start(d, &s, now);
		if (!deliver_stopping(d))
			feeding_read(d, now);
	} while (sinks_turn(d, now));
}

static void
do_work(struct deliver *d, int64_t now)
{
	struct core_send s;
	struct core_count n;

	core_tick(d->core, now);
	while (!deliver_stopping(d) && core_next_expired(d->core, &s)) {
		enum sink_kind k = deliver_wish(d, s.row.sub)->sink;

		SINK_DRIVERS[k]->expired(d->sinks[k].self, &s, now);
	}
	send_all(d, now);
	if (!deliver_stopping(d)) {
		hold_turn(&d->holds, now);
		feeding_lost(d, now);
	}
	if (flush_begin(
		&d->flush, d->core, d->owner.epoch, d->asks.asked != NULL, now))
		ask_flushing(&d->asks);
	core_counts(d->core, &n);
	metric_set(M_DELIVER_ITEMS, (int64_t)n.items);
	metric_set(M_DELIVER_ROWS, (int64_t)n.rows);
	metric_set(M_DELIVER_READERS, (int64_t)n.readers);
	metric_set(M_DELIVER_FLIGHT, (int64_t)n.in_flight);
	metric_set(M_DELIVER_LEASES, (int64_t)n.leases);
	metric_set(M_CONSUMER_LAG, core_lag(d->core));
}

/* What a lost core left behind has come back: begin anew. */
static void
renew_core(struct deliver *d)
{
	struct err e = {.code = ERR_AWAY};

	if (!d->core_void || d->feeding.pages > 0 || d->attempts.n > 0)
		return;
	deliver_sinks_drop(d, &e);
	core_free(d->core);
	d->core = new_core(d);
	stale_forget_all(d->stale);
	deliver_forget_subs(d);
	d->core_void = false;
	metric_set(M_DELIVER_OWNER, 0);
}

static void
sooner(int64_t *due, int64_t at)
{
	*due = at < *due ? at : *due;
}

static int
sleep_ms(const struct deliver *d, int64_t now)
{
	const struct flush *f = &d->flush;
	int64_t due = now + TURN_MAX_MS * US_PER_MS;

	if (d->owner.state == OWNER_YES) {
		sooner(&due, core_next_due(d->core, now));
		if (f->changes && !f->busy)
			sooner(&due, f->again_us);
		if (now < d->feeding.again_us)
			sooner(&due, d->feeding.again_us);
		sooner(&due, hold_due(&d->holds));
		for (int i = 0; i < SINKS; i++)
			sooner(&due, d->sinks[i].due);
	}
	sooner(&due, d->owner.try_us);
	if (due <= now)
		return f->busy ? 1 : 0;
	return (int)((due - now + US_PER_MS - 1) / US_PER_MS);
}

/*
 * Nothing is sent any more, and all that waited to be locked is in the store:
 * what the core has in flight are locks without a call. They come first.
 */
static void
unlock(struct deliver *d, size_t n, int64_t now)
{
	static const struct core_result NOTHING = {.verdict = CORE_HOLD};
	struct core_send s;

	while (n-- > 0 && core_next_send(d->core, now, &s))
		core_result(d->core, s.item, &NOTHING, now);
}

/*
 * Stopping: what is under way may end, results and positions are written, the
 * groups are given back. A store that does not answer is not waited for.
 */
static bool
finished(struct deliver *d, int64_t now)
{
	bool late = now >= d->stop_by_us + US_PER_S;
	struct core_count n;

	if (d->attempts.n > 0 || d->feeding.pages > 0) {
		if (now >= d->stop_by_us)
			attempt_cancel_all(d, false);
		return false;
	}
	if (d->flush.busy || d->owner.job.busy || d->holds.busy > 0)
		return false;
	if (d->owner.state != OWNER_YES || late)
		return true;
	core_counts(d->core, &n);
	if (d->flush.changes || n.unflushed > 0 || n.drops > 0 ||
	    d->stop_stage++ == 0) {
		d->flush.hurry = true;
		return false;
	}
	if (n.in_flight + n.starting > 0) {
		unlock(d, n.in_flight + n.starting, now);
		d->flush.hurry = true;
		return false;
	}
	owner_leave(&d->owner);
	return !d->owner.job.busy;
}

static void
run_deliver(void *arg)
{
	struct deliver *d = arg;

	for (;;) {
		int64_t now;

		(void)deliver_mail(d);
		if (atomic_load(&d->cut_tests))
			attempt_cancel_tests(d);
		now = deliver_now(d);
		/* What was lost has to be cleared away first. */
		if (!deliver_stopping(d) && !d->core_void)
			owner_turn(&d->owner, now);
		if (d->owner.state == OWNER_YES)
			do_work(d, now);
		renew_core(d);
		if (deliver_stopping(d) && finished(d, now))
			break;
		atomic_store(&d->sleeping, true);
		if (deliver_mail(d)) {
			atomic_store(&d->sleeping, false);
			continue;
		}
		(void)client_wait(
		    d->client, deliver_stopping(d) ? 10 : sleep_ms(d, now));
		atomic_store(&d->sleeping, false);
	}
}

/* Life ------------------------------------------------------------------------------------ */

bool
deliver_post(struct deliver *d, struct deliver_ask *q)
{
	if (!mailbox_post(d->ask_box, &q->mail))
		return false;
	if (atomic_load(&d->sleeping))
		client_wake(d->client);
	return true;
}

bool
deliver_owns(const struct deliver *d)
{
	return atomic_load(&d->owns);
}

void
deliver_hurry(struct deliver *d)
{
	if (!d)
		return;
	atomic_store(&d->hurried, true);
	client_wake(d->client);
}

void
deliver_cut_tests(struct deliver *d)
{
	if (!d)
		return;
	atomic_store(&d->cut_tests, true);
	client_wake(d->client);
}

static void
free_deliver(struct deliver *d)
{
	struct err e = {0};

	(void)err_set(&e, ERR_AWAY, "the server is stopping");
	mailbox_close(d->ask_box);
	dispatch_stop(d->dispatch);
	pool_stop(d->fetch);
	deliver_mail_drop(d, &e);
	ask_drop(&d->asks, &e);
	deliver_sinks_drop(d, &e);
	client_free(d->client); /* its last answers go to the sinks */
	for (int i = 0; i < SINKS; i++)
		if (d->sinks[i].self && SINK_DRIVERS[i]->close)
			SINK_DRIVERS[i]->close(d->sinks[i].self);
	hold_done(&d->holds);
	core_free(d->core);
	deliver_forget_subs(d);
	confs_done(&d->confs);
	flush_done(&d->flush);
	map_free(d->wishes);
	map_free(d->replays.map);
	arena_free(d->scratch);
	stale_free(d->stale);
	mailbox_free(d->box);
	mailbox_free(d->ask_box);
	free(d);
}

static int
open_parts(struct deliver *d, struct err *e)
{
	struct client_opts c = client_opts_of(d->o.conf, d->o.guard);

	c.connections_max = d->o.conf->webhook_slots;
	c.connections_each = CONCURRENCY_MAX;
	c.body_max = ANSWER_MAX;
	TRY(client_new(&c, &d->client, e));
	TRY(db_open(d->o.store, DB_READ, &d->confs.db, e));
	for (int i = 0; i < SINKS; i++) {
		d->sinks[i].due = INT64_MAX;
		d->sinks[i].self = SINK_DRIVERS[i]->open(d);
	}
	TRY(fetch_start(d, &d->fetch, e));
	TRY(dispatch_start(d, &d->dispatch, e));
	return thread_start("deliver", run_deliver, d, &d->thread, e);
}

int
deliver_start(const struct deliver_opts *o, struct deliver **ret, struct err *e)
{
	struct deliver *d = mem_get(sizeof(*d));
	int rc;

	sink_drivers_check();
	d->o = *o;
	d->wall_us = clock_now_us();
	d->boot_us = clock_boot_us();
	d->box = mailbox_new();
	d->ask_box = mailbox_new();
	d->wishes = map_new(SIZE_MAX / 2);
	d->replays.map = map_new(SIZE_MAX / 2);
	d->scratch = arena_new(HTTP_ARENA_MAX); /* what was published fits */
	d->core = new_core(d);
	d->stale = stale_new();
	list_init(&d->attempts);
	d->confs.conf = o->conf;
	d->confs.keyring = o->keyring;
	d->confs.jq = jq_new("/proc/self/exe");
	confs_init(&d->confs);
	d->holds = (struct holds){.d = d, .append = o->append};
	list_init(&d->holds.list);
	d->flush = (struct flush){.d = d, .append = o->append};
	d->owner = (struct owner){.d = d,
	    .append = o->append,
	    .node = o->node,
	    .shared = store_shared(o->store)};
	rc = open_parts(d, e);
	if (rc < 0) {
		free_deliver(d);
		return rc;
	}
	*ret = d;
	return OK;
}

void
deliver_stop(struct deliver *d, int drain_ms)
{
	if (!d)
		return;
	d->stop_by_us = deliver_now(d) + drain_ms * US_PER_MS;
	atomic_store(&d->stopping, true);
	client_wake(d->client);
	thread_join(d->thread);
	free_deliver(d);
}
