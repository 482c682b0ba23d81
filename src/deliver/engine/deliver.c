#include "deliver/engine/deliver.h"

#include <assert.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/conf/conf.h"
#include "base/log/log.h"
#include "base/log/metric.h"
#include "base/map.h"
#include "base/str.h"
#include "contract/preset.h"
#include "contract/verdict.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/preset_store.h"
#include "deliver/engine/recover.h"
#include "deliver/engine/replay.h"
#include "deliver/engine/stale.h"
#include "deliver/engine/wish.h"
#include "http/client/oauth.h"
#include "http/server/limits.h"
#include "loop/pool.h"
#include "loop/thread.h"
#include "match/jq/jq.h"
#include "sql.h"

#define TURN_MAX_MS 500
#define US_PER_MIN  (60 * US_PER_S)

/* The wall clock as it was at the start, and on from there: it never jumps. */
int64_t
deliver_now(const struct deliver *d)
{
	return d->wall_us + (clock_boot_us() - d->boot_us);
}

void
deliver_tell(struct deliver *d, struct note *n)
{
	if (!mailbox_post(d->box, &n->mail))
		return; /* only after its thread has ended: see finish() */
	if (atomic_load(&d->sleeping))
		client_wake(d->client);
}

static struct str
sub_key(const uint32_t *id)
{
	return (struct str){(const char *)id, sizeof(*id)};
}

struct wish *
deliver_wish(const struct deliver *d, uint32_t sub)
{
	return map_find(d->wishes, sub_key(&sub));
}

/* Subscriptions --------------------------------------------------------------- */

static void
take_sub(struct deliver *d, struct sub_note *n, int64_t now)
{
	uint32_t id = n->wish ? n->wish->core.id : n->sub;
	struct wish *old = map_take(d->wishes, sub_key(&id));
	struct err e;

	conf_forget(d, id);
	if (!n->wish)
		replays_forget(d, id);
	if (n->wish) {
		if (map_put(d->wishes, sub_key(&n->wish->core.id), n->wish,
			NULL, &e) < 0) {
			(void)fputs(
			    "hikyaku: no memory for subscriptions\n", stderr);
			abort();
		}
		core_sub(d->core, &n->wish->core, now);
		/* A new consumer begins with a reader, which is stored. */
		if (n->wish->core.pull && !old && d->owner == OWNER_YES)
			core_load_reader(d->core,
			    &(struct core_reader){
				.sub = id, .pos = n->wish->from_seq},
			    now);
		if (n->wish->checked)
			revive_note(d, id, now);
	} else {
		revive_forget(d, id);
		core_sub_end(d->core, id);
	}
	wish_unref(old);
	free(n);
}

static void
forget_subs(struct deliver *d)
{
	size_t at = 0;
	struct wish *w;

	while ((w = map_each(d->wishes, &at)))
		wish_unref(w);
	map_free(d->wishes);
	d->wishes = map_new(SIZE_MAX / 2);
	replays_forget(d, 0);
	confs_done(d);
	list_init(&d->conf_order);
	d->confs = map_new(SIZE_MAX / 2);
	if (!d->wishes || !d->confs)
		abort();
}

static int
load_presets(struct deliver *d, struct err *e)
{
	struct presets *fresh = NULL;
	int rc = presets_open(d->db, d->o.conf, &fresh, e);

	if (rc == OK) {
		presets_free(d->presets);
		d->presets = fresh;
	}
	return rc;
}

/* Before the subscriptions that use it are told, so none sees the old one. */
static void
take_presets(struct deliver *d, struct presets_note *n)
{
	presets_free(d->presets);
	d->presets = n->presets;
	free(n);
}

/* Mail ------------------------------------------------------------------------------- */

static int
load_replay(void *arg, const struct sql_load_readers_row *row, struct err *e)
{
	struct core_reader rd = {
	    .sub = (uint32_t)row->sub,
	    .rep = (int)row->rep,
	    .pos = row->pos,
	    .until = row->until_seq,
	    .exclusive = row->exclusive != 0,
	};

	return replays_begin(arg, &rd, row->rate, row->stopped != 0, row->types,
	    deliver_now(arg), e);
}

static void
loaded(struct deliver *d, int64_t now)
{
	struct err e = {0};
	int rc = load_presets(d, &e);

	if (rc == OK)
		rc =
		    recover(d->core, d->db, d->cursor, now, load_replay, d, &e);
	if (rc < 0) {
		/* Half of a recovery is none: take the groups once more. */
		log_err(LOG_ERROR, "deliveries can't be read", &e);
		owner_lost(d);
		d->core_void = true;
		return;
	}
	if (d->unclean >= 2)
		core_careful(d->core, append_last_seq(d->o.append));
	d->owner = OWNER_YES;
	metric_set(M_DELIVER_OWNER, 1);
	d->go.note.kind = NOTE_GO;
	d->go.cursor = d->cursor;
	d->go.epoch = d->epoch;
	dispatch_tell(d->dispatch, &d->go.note);
}

static void
take_note(struct deliver *d, struct note *n, int64_t now)
{
	switch (n->kind) {
	case NOTE_SUB:
	case NOTE_SUB_END:
		take_sub(d, (struct sub_note *)n, now);
		break;
	case NOTE_PRESETS:
		take_presets(d, (struct presets_note *)n);
		break;
	case NOTE_LOADED:
		if (d->owner == OWNER_LOADING)
			loaded(d, now);
		break;
	case NOTE_FEED:
		feeding_feed(d, (struct feed *)n, now);
		break;
	case NOTE_PAGE:
		feeding_page(d, (struct page *)n, now);
		break;
	case NOTE_LETTER:
		if (((struct one_letter *)n)->attempt)
			sending_letter(d, (struct one_letter *)n);
		else
			pull_letter(d, (struct one_letter *)n, now);
		fetch_letter_free((struct one_letter *)n);
		break;
	case NOTE_VERSION:
		if (((struct one_version *)n)->attempt)
			sending_version(d, (struct one_version *)n);
		else
			pull_version(d, (const struct one_version *)n);
		fetch_version_free((struct one_version *)n);
		break;
	case NOTE_DEADS:
		revive_deads(d, (struct deads *)n, now);
		break;
	case NOTE_HOLD:
		hold_apply(d, ((struct sub_note *)n)->wish, now);
		wish_unref(((struct sub_note *)n)->wish);
		free(n);
		break;
	case NOTE_HELD:
		hold_posted(d, n, now);
		break;
	case NOTE_JOB:
		if (n == &d->flush_job.note)
			flushing_ended(d, now);
		else
			owner_job_done(d, now);
		break;
	case NOTE_ASK:
	case NOTE_BEGIN:
	case NOTE_GO:
	case NOTE_HALT:
	case NOTE_NEWS:
	case NOTE_FREE:
	case NOTE_BATCH:
		abort(); /* a note for another */
	}
}

static bool
take_mail(struct deliver *d)
{
	struct mail *m = mailbox_take(d->box, 0);
	struct mail *q = mailbox_take(d->ask_box, 0);
	int64_t now = deliver_now(d);
	bool some = m || q;

	while (m) {
		struct mail *next = m->next;

		take_note(d, MAIL_OF(m, struct note, mail), now);
		m = next;
	}
	while (q) {
		struct mail *next = q->next;

		ask_take(d, MAIL_OF(q, struct deliver_ask, mail), now);
		q = next;
	}
	if (d->later)
		ask_again(d, now);
	return some;
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
do_work(struct deliver *d, int64_t now)
{
	struct core_send s;
	struct core_read r;
	struct core_count n;

	core_tick(d->core, now);
	while (!atomic_load(&d->stopping) && core_next_expired(d->core, &s))
		pull_expired(d, &s, now);
again:
	/* The clock is read for each: the process may have stood still. */
	while (owner_may_send(d, deliver_now(d)) &&
	       !atomic_load(&d->stopping) && core_next_send(d->core, now, &s)) {
		if (s.pull)
			pull_send(d, &s, now);
		else
			sending_start(d, &s, now);
	}
	while (!atomic_load(&d->stopping) && now >= d->read_again_us &&
	       core_next_read(d->core, now, &r)) {
		if (fetch_page(d, &r, deliver_wish(d, r.sub))) {
			d->pages++;
		} else {
			core_read_done(d->core, r.reader, r.after, now);
			d->read_again_us = now + FLUSH_AGAIN_US;
		}
	}
	if (pull_turn(d, now))
		goto again;
	if (!atomic_load(&d->stopping)) {
		revive_turn(d, now);
		hold_turn(d, now);
	}
	flushing_begin(d, now);
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
	if (!d->core_void || d->pages > 0 || d->attempts.n > 0 ||
	    d->pull.letters > 0)
		return;
	core_free(d->core);
	d->core = new_core(d);
	revive_forget_all(d);
	stale_forget_all(d->stale);
	forget_subs(d);
	d->core_void = false;
	metric_set(M_DELIVER_OWNER, 0);
}

static int
sleep_ms(const struct deliver *d, int64_t now)
{
	int64_t due = now + TURN_MAX_MS * US_PER_MS;

	if (d->owner == OWNER_YES) {
		int64_t next = core_next_due(d->core, now);

		due = next < due ? next : due;
		if (d->flush_job.flush.changes && !d->flush_job.busy &&
		    d->flush_again_us < due)
			due = d->flush_again_us;
		if (now < d->read_again_us && d->read_again_us < due)
			due = d->read_again_us;
		next = revive_due(d);
		due = next < due ? next : due;
		next = hold_due(d);
		due = next < due ? next : due;
		due = d->pull.due < due ? d->pull.due : due;
	}
	if (d->try_us < due)
		due = d->try_us;
	if (due <= now)
		return d->flush_job.busy ? 1 : 0;
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

	if (d->attempts.n > 0 || d->pages > 0 || d->pull.letters > 0) {
		if (now >= d->stop_by_us)
			sending_cancel_all(d, false);
		return false;
	}
	if (d->flush_job.busy || d->owner_job.busy || d->holds_busy > 0)
		return false;
	if (d->owner != OWNER_YES || late)
		return true;
	core_counts(d->core, &n);
	if (d->flush_job.flush.changes || n.unflushed > 0 || n.drops > 0 ||
	    d->stop_stage++ == 0) {
		d->hurry = true;
		return false;
	}
	if (n.in_flight + n.starting > 0) {
		unlock(d, n.in_flight + n.starting, now);
		d->hurry = true;
		return false;
	}
	owner_leave(d);
	return !d->owner_job.busy;
}

static void
run(void *arg)
{
	struct deliver *d = arg;

	for (;;) {
		int64_t now;

		(void)take_mail(d);
		now = deliver_now(d);
		owner_turn(d, now);
		if (d->owner == OWNER_YES)
			do_work(d, now);
		renew_core(d);
		if (atomic_load(&d->stopping) && finished(d, now))
			break;
		atomic_store(&d->sleeping, true);
		if (take_mail(d)) {
			atomic_store(&d->sleeping, false);
			continue;
		}
		(void)client_wait(d->client,
		    atomic_load(&d->stopping) ? 10 : sleep_ms(d, now));
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

void
deliver_hurry(struct deliver *d)
{
	if (!d)
		return;
	atomic_store(&d->pull.hurry, true);
	client_wake(d->client);
}

/* Notes that came when nobody took them any more. */
static void
drain(struct deliver *d)
{
	struct mail *m = d->box ? mailbox_take(d->box, 0) : NULL;

	while (m) {
		struct note *n = MAIL_OF(m, struct note, mail);

		m = m->next;
		if (n->kind == NOTE_SUB || n->kind == NOTE_SUB_END ||
		    n->kind == NOTE_HOLD) {
			wish_unref(((struct sub_note *)n)->wish);
			free(n);
		} else if (n->kind == NOTE_FEED) {
			struct feed *f = (struct feed *)n;

			for (size_t i = 0; i < f->n; i++) {
				letter_unref(f->v[i].letter);
				wish_unref(f->v[i].wish);
			}
			free(f);
		} else if (n->kind == NOTE_PAGE) {
			fetch_page_free((struct page *)n);
		} else if (n->kind == NOTE_DEADS) {
			fetch_deads_free((struct deads *)n);
		} else if (n->kind == NOTE_PRESETS) {
			presets_free(((struct presets_note *)n)->presets);
			free(n);
		}
	}
	m = d->ask_box ? mailbox_take(d->ask_box, 0) : NULL;
	while (m) {
		struct deliver_ask *q = MAIL_OF(m, struct deliver_ask, mail);

		m = m->next;
		(void)err_set(&q->err, ERR_AWAY, "the server is stopping");
		q->done(q);
	}
}

static void
release(struct deliver *d)
{
	struct err e = {0};

	if (d->ask_box)
		mailbox_close(d->ask_box);
	dispatch_stop(d->dispatch);
	pool_stop(d->fetch);
	drain(d);
	(void)err_set(&e, ERR_AWAY, "the server is stopping");
	ask_drop(d, &e);
	pull_drop(d, &e);
	pull_done(d);
	revive_done(d);
	hold_done(d);
	client_free(d->client);
	oauth_free(d->oauth);
	core_free(d->core);
	if (d->wishes)
		forget_subs(d);
	confs_done(d);
	map_free(d->wishes);
	sending_done(d);
	jq_free(d->jq);
	presets_free(d->presets);
	db_close(d->db);
	arena_free(d->scratch);
	free(d->decisions);
	free(d->decisions_now);
	free(d->ranges);
	free(d->ranges_now);
	map_free(d->replays);
	stale_free(d->stale);
	free(d->settlements);
	mailbox_free(d->box);
	mailbox_free(d->ask_box);
	free(d);
}

static int
make_parts(struct deliver *d, struct err *e)
{
	struct client_opts c = client_opts_of(d->o.conf, d->o.guard);
	int rc;

	c.connections_max = d->o.conf->webhook_slots;
	c.connections_each = CONCURRENCY_MAX;
	c.body_max = ANSWER_MAX;
	d->box = mailbox_new();
	d->ask_box = mailbox_new();
	d->wishes = map_new(SIZE_MAX / 2);
	d->confs = map_new(SIZE_MAX / 2);
	d->replays = map_new(SIZE_MAX / 2);
	d->scratch = arena_new(HTTP_ARENA_MAX); /* what was published fits */
	d->core = new_core(d);
	d->stale = stale_new();
	if (!d->box || !d->ask_box || !d->wishes || !d->confs || !d->replays ||
	    !d->scratch || !d->stale)
		return err_set(e, ERR_NOMEM, "no memory for deliveries");
	rc = revive_start(d, e);
	if (rc == OK)
		rc = pull_start(d, e);
	if (rc == OK)
		rc = client_new(&c, &d->client, e);
	if (rc == OK)
		d->oauth = oauth_new(d->client);
	if (rc == OK)
		d->jq = jq_new("/proc/self/exe");
	if (rc == OK)
		rc = db_open(d->o.store, DB_READ, &d->db, e);
	if (rc == OK)
		rc = fetch_start(d, e);
	if (rc == OK)
		rc = dispatch_start(d, &d->dispatch, e);
	return rc;
}

int
deliver_start(const struct deliver_opts *o, struct deliver **ret, struct err *e)
{
	struct deliver *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return err_set(e, ERR_NOMEM, "no memory for deliveries");
	d->o = *o;
	d->wall_us = clock_now_us();
	d->boot_us = clock_boot_us();
	if (gethostname(d->host, sizeof(d->host) - 1) < 0)
		d->host[0] = '\0';
	list_init(&d->attempts);
	list_init(&d->spare);
	list_init(&d->conf_order);
	list_init(&d->holds);
	rc = make_parts(d, e);
	if (rc == OK)
		rc = owner_name(o->conf->data, d->node, e);
	if (rc == OK)
		rc = thread_start("deliver", run, d, &d->thread, e);
	if (rc < 0) {
		release(d);
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
	release(d);
}
