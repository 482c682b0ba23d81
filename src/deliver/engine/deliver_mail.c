/* deliver_priv.h: what other threads tell the deliver thread. */

#include "base/log/log.h"
#include "base/log/metric.h"
#include "contract/preset.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/preset_store.h"
#include "deliver/engine/stale.h"
#include "deliver/engine/wish.h"
#include "sink/sink_driver.h"

void
deliver_sinks_drop(struct deliver *d, const struct err *e)
{
	for (int i = 0; i < SINKS; i++)
		if (d->sinks[i].self && SINK_DRIVERS[i]->drop)
			SINK_DRIVERS[i]->drop(d->sinks[i].self, e);
}

/* Subscriptions --------------------------------------------------------------- */

static void
take_sub(struct deliver *d, struct sub_note *n, int64_t now)
{
	struct wish *w = n->wish;
	uint32_t id = w ? w->core.id : n->sub;
	struct wish *old = map_take(d->wishes, SUB_KEY(&id));

	confs_forget(&d->confs, id);
	for (int i = 0; i < SINKS; i++)
		if (SINK_DRIVERS[i]->sub)
			SINK_DRIVERS[i]->sub(d->sinks[i].self, id,
			    w && (int)w->sink == i ? w : NULL, now);
	if (w) {
		map_set(d->wishes, SUB_KEY(&w->core.id), w);
		core_sub(d->core, &w->core, now);
		if (SINK_DRIVERS[w->sink]->reads && !old &&
		    d->owner.state == OWNER_YES)
			core_load_reader(
			    d->core, &(struct core_reader){
					 .sub = id, .pos = w->from_seq});
	} else {
		replays_forget(&d->replays, id);
		core_sub_end(d->core, id);
	}
	wish_unref(old);
	free(n);
}

/*
 * Read here and not by dispatch: what the core is done with is in the map until
 * it is written, and in the store no longer then. So nothing begins twice.
 */
static void
take_replays(struct deliver *d, struct sub_note *n, int64_t now)
{
	struct err e = {0};

	if (d->owner.state != OWNER_YES ||
	    deliver_load_replays(d, n->sub, &e) == OK) {
		free(n);
		return;
	}
	log_err(LOG_WARN, "replays can't be read now", &e);
	n->note.mail.next = d->replays.late;
	d->replays.late = &n->note.mail;
	d->replays.again_us = now + FLUSH_AGAIN_US;
}

void
deliver_replays_late(struct deliver *d, int64_t now)
{
	struct mail *m = d->replays.late;

	if (now < d->replays.again_us)
		return;
	d->replays.late = NULL;
	while (m) {
		struct note *n = MAIL_OF(m, struct note, mail);

		m = m->next;
		take_replays(d, (struct sub_note *)n, now);
	}
}

void
deliver_forget_subs(struct deliver *d)
{
	size_t at = 0;
	struct wish *w;

	while ((w = map_each(d->wishes, &at)))
		wish_unref(w);
	map_free(d->wishes);
	d->wishes = map_new(SIZE_MAX / 2);
	replays_forget(&d->replays, 0);
	confs_forget(&d->confs, 0);
}

/* Owning ------------------------------------------------------------------------ */

static struct note BEGIN = {.kind = NOTE_BEGIN};
static struct note HALT = {.kind = NOTE_HALT};

/* Everything of ours is void, once its pages have come back. */
static void
lose_groups(struct deliver *d)
{
	log_err(LOG_WARN, "another node delivers now", NULL);
	d->owner.state = OWNER_NONE;
	atomic_store(&d->owns, false);
	d->core_void = true;
	dispatch_tell(d->dispatch, &HALT);
}

/* Another node has the groups. Not while a flush is under way. */
static void
lose(struct deliver *d, const struct err *e)
{
	lose_groups(d);
	flush_drop(&d->flush);
	attempt_cancel_all(d, true);
	ask_drop(&d->asks, e);
	deliver_sinks_drop(d, e);
}

static void
loaded(struct deliver *d, int64_t now)
{
	struct err e = {0};
	int rc = presets_reload(d->confs.db, d->o.conf, &d->confs.presets, &e);

	if (rc == OK)
		rc = deliver_load(d, now, &e);
	if (rc < 0) {
		/* Half of a recovery is none: take the groups once more. */
		log_err(LOG_ERROR, "deliveries can't be read", &e);
		lose_groups(d);
		return;
	}
	if (d->owner.unclean >= 2)
		core_careful(d->core, append_last_seq(d->o.append));
	d->owner.state = OWNER_YES;
	atomic_store(&d->owns, true);
	metric_set(M_DELIVER_OWNER, 1);
	d->go = (struct go_note){.note.kind = NOTE_GO,
	    .cursor = d->owner.cursor,
	    .epoch = d->owner.epoch};
	dispatch_tell(d->dispatch, &d->go.note);
}

static void
owned(struct deliver *d, int64_t now)
{
	switch (owner_job_done(&d->owner, now)) {
	case OWNER_SAME:
		break;
	case OWNER_GOT:
		dispatch_tell(d->dispatch, &BEGIN);
		break;
	case OWNER_LOST: /* with a flush under way, that will tell */
		if (!d->flush.busy)
			lose(d, &d->owner.job.job.err);
		break;
	}
}

static void
flushed(struct deliver *d, int64_t now)
{
	const struct core_changes *ch = d->flush.changes;
	int rc = flush_ended(&d->flush, now);

	if (rc == ERR_DENIED)
		lose(d, &d->flush.job.err);
	if (rc < 0)
		return;
	for (size_t i = 0; i < ch->n_attempts; i++)
		stale_written(d->stale, &ch->attempts[i]);
	for (size_t i = 0; i < ch->n_readers; i++)
		replays_written(&d->replays, &ch->readers[i]);
	for (size_t i = 0; i < ch->n_deads; i++) {
		const struct core_dead *dead = &ch->deads[i];
		const struct wish *w = deliver_wish(d, dead->row.sub);

		if (w && SINK_DRIVERS[w->sink]->dead)
			SINK_DRIVERS[w->sink]->dead(
			    d->sinks[w->sink].self, dead, now);
	}
	flush_next(&d->flush, d->core, now);
	ask_flushed(&d->asks, OK, NULL);
}

/* Mail ------------------------------------------------------------------------------- */

static void
take_deads(struct deliver *d, struct deads *p, int64_t now)
{
	const struct wish *w = deliver_wish(d, p->sub);

	if (w && SINK_DRIVERS[w->sink]->deads)
		SINK_DRIVERS[w->sink]->deads(d->sinks[w->sink].self, p, now);
	else
		fetch_deads_free(p);
}

static void
take_note(struct deliver *d, struct note *n, int64_t now)
{
	assert(n->kind < NOTE_BEGIN); /* else it is one for dispatch */
	switch ((enum note_kind)n->kind) {
	case NOTE_SUB:
	case NOTE_SUB_END:
		take_sub(d, (struct sub_note *)n, now);
		break;
	case NOTE_REPLAY:
		take_replays(d, (struct sub_note *)n, now);
		break;
	case NOTE_PRESETS:
		/* Before the subscriptions that use it are told. */
		confs_take_presets(
		    &d->confs, ((struct presets_note *)n)->presets);
		free(n);
		break;
	case NOTE_LOADED:
		if (d->owner.state == OWNER_LOADING)
			loaded(d, now);
		break;
	case NOTE_FEED:
		feeding_feed(d, (struct feed *)n, now);
		break;
	case NOTE_PAGE:
		feeding_page(d, (struct page *)n, now);
		break;
	case NOTE_LETTER:
		attempt_letter((struct attempt *)n);
		break;
	case NOTE_VERSION:
		attempt_version((struct attempt *)n);
		break;
	case NOTE_DEADS:
		take_deads(d, (struct deads *)n, now);
		break;
	case NOTE_HOLD:
		hold_apply(
		    &d->holds, d->core, ((struct sub_note *)n)->wish, now);
		wish_unref(((struct sub_note *)n)->wish);
		free(n);
		break;
	case NOTE_HELD:
		hold_posted(&d->holds, n, now);
		break;
	case NOTE_FLUSHED:
		flushed(d, now);
		break;
	case NOTE_OWNED:
		owned(d, now);
		break;
	}
}

bool
deliver_mail(struct deliver *d)
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
	if (d->asks.later)
		ask_again(d, now);
	deliver_replays_late(d, now);
	return some;
}

/* Notes that came when nobody took them any more. */
void
deliver_mail_drop(struct deliver *d, const struct err *e)
{
	struct mail *m = mailbox_take(d->box, 0);

	d->owner.state = OWNER_NONE;
	deliver_replays_late(d, INT64_MAX); /* they are freed */
	while (m) {
		struct note *n = MAIL_OF(m, struct note, mail);

		m = m->next;
		if (n->kind == NOTE_SUB || n->kind == NOTE_SUB_END ||
		    n->kind == NOTE_REPLAY || n->kind == NOTE_HOLD) {
			wish_unref(((struct sub_note *)n)->wish);
			free(n);
		} else if (n->kind == NOTE_FEED) {
			feeding_drop((struct feed *)n);
			free(n);
		} else if (n->kind == NOTE_PAGE) {
			fetch_page_free((struct page *)n);
		} else if (n->kind == NOTE_DEADS) {
			fetch_deads_free((struct deads *)n);
		} else if (n->kind == NOTE_PRESETS) {
			presets_free(((struct presets_note *)n)->presets);
			free(n);
		}
	}
	m = mailbox_take(d->ask_box, 0);
	while (m) {
		struct deliver_ask *q = MAIL_OF(m, struct deliver_ask, mail);

		m = m->next;
		q->err = *e;
		q->done(q);
	}
}
