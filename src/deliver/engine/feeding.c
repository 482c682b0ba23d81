#include "deliver/engine/feeding.h"

#include "base/log/log.h"
#include "base/log/metric.h"
#include "contract/request.h"
#include "contract/verdict.h"
#include "deliver/engine/control.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/detail.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/wish.h"

bool
feeding_keys(struct deliver *d, const struct wish *w, struct letter *l,
    struct core_entry *en)
{
	struct request_event ev = letter_event(l);
	struct kept_conf *k;
	struct str text = STR_EMPTY;
	bool wanted = true;
	struct err e = {0};

	if (l->key_hash == 0)
		l->key_hash = letter_lane(l);
	en->okey = l->key_hash;
	en->rv = l->rv;
	if (w->core.alone || w->core.coalesce)
		en->rec = letter_record(l, d->scratch);
	if (w->key == WISH_KEY_EVENT && !w->spaced && !w->picky)
		return true;
	k = confs_get(&d->confs, w->core.id, &e);
	if (!k)
		return true; /* it can't be sent either: that will tell of it */
	if (w->picky)
		wanted = request_wanted(k->conf, l->type);
	arena_reset(d->scratch);
	if (wanted && !l->shut && w->key == WISH_KEY_PRESET &&
	    request_key(d->scratch, k->conf, &ev, &k->conf->preset->order_key,
		&text, &e) == OK)
		en->okey = letter_hash(text);
	if (wanted && !l->shut && w->spaced &&
	    request_key(d->scratch, k->conf, &ev, &k->conf->preset->spacing_key,
		&text, &e) == OK &&
	    text.n > 0)
		en->skey = letter_hash(text);
	confs_put(&d->confs, k);
	return wanted;
}

/* Its filter failed: the core has to know, and people why. */
static void
mark_failed(const struct wish *w, const struct letter *l, struct core_entry *en)
{
	struct flush_detail *why;

	if (!l->failed)
		return;
	why = detail_dead(l->why ? l->why : reason_text((enum reason)l->failed),
	    letter_ours(l));
	why->audit = w->audited && !why->own;
	en->reason = l->failed;
	en->detail = why;
}

void
feeding_feed(struct deliver *d, struct feed *f, int64_t now)
{
	bool ours = d->owner.state == OWNER_YES;

	for (size_t i = 0; ours && i < f->n; i++) {
		struct letter *l = f->v[i].letter;
		struct wish *w = f->v[i].wish;
		struct core_entry en = {
		    .seq = l->seq, .sub = w->core.id, .ev = l};

		/* What nobody judged must not be sent. */
		if (f->v[i].waits)
			hold_apply(&d->holds, d->core, w, now);
		if (!feeding_keys(d, w, l, &en))
			continue;
		mark_failed(w, l, &en);
		core_feed(d->core, &en, now);
		f->v[i].letter = NULL; /* the core has it */
	}
	feeding_drop(f);
	if (ours)
		core_upto(d->core, f->upto);
	f->note.kind = NOTE_FREE;
	dispatch_tell(d->dispatch, &f->note);
}

void
feeding_drop(struct feed *f)
{
	for (size_t i = 0; i < f->n; i++) {
		letter_unref(f->v[i].letter);
		wish_unref(f->v[i].wish);
	}
	f->n = 0;
}

/* An event for whoever watches; to lose one is no loss: the log line stays. */
static void
tell_lost(struct append *append, struct uuid uid, const struct flush_range *g)
{
	struct buf b CLEANUP(buf_done) = BUF(1 * KIB);

	buf_addz(&b, "{\"subscriptionId\":\"");
	uuid_add(&b, uid);
	buf_fmt(&b,
	    "\",\"seqFrom\":%lld,\"seqTo\":%lld,\"reason\":\"EXPIRED\"}",
	    (long long)g->seq, (long long)g->seq_to);
	control_tell(append, "ops.events.expired", buf_str(&b), g->at);
}

static void
add_lost(
    struct deliver *d, const struct core_read *r, int64_t lost_to, int64_t now)
{
	const struct wish *w = deliver_wish(d, r->sub);
	struct flush_range g = {
	    .sub = r->sub,
	    .okey = r->okey,
	    .seq = r->after + 1,
	    .seq_to = lost_to,
	    .at = now,
	    .audit = w && w->audited,
	};
	struct log_line l;

	log_begin(&l, LOG_WARN, "events went before they were delivered");
	log_int(&l, "subscription", r->sub);
	log_int(&l, "rep", r->rep);
	log_int(&l, "seqFrom", g.seq);
	log_int(&l, "seqTo", g.seq_to);
	log_end(&l);
	metric_add(M_EVENTS_LOST, g.seq_to - g.seq + 1);
	if (r->rep > 0)
		return; /* a replay of what is gone: its answer says so */
	flush_range(&d->flush, &g);
	if (w)
		tell_lost(d->flush.append, w->uid, &g);
}

static int64_t
feed_page(struct deliver *d, struct page *p, int64_t now)
{
	for (size_t i = 0; i < p->n; i++) {
		struct letter *l = p->letters[i];
		struct core_entry en = {
		    .seq = l->seq, .sub = p->read.sub, .ev = l};

		if (!feeding_keys(d, p->wish, l, &en) ||
		    (p->read.okey != 0 && en.okey != p->read.okey))
			continue;
		mark_failed(p->wish, l, &en);
		if (!core_read_feed(d->core, p->read.reader, &en, now)) {
			free(en.detail);
			return l->seq - 1;
		}
		p->letters[i] = NULL; /* the core has it */
	}
	return p->upto;
}

void
feeding_page(struct deliver *d, struct page *p, int64_t now)
{
	int64_t upto = p->upto;

	if (d->owner.state == OWNER_YES) {
		upto = feed_page(d, p, now);
		if (p->lost_to > 0)
			add_lost(d, &p->read, p->lost_to, now);
		core_read_done(d->core, p->read.reader, upto);
		hold_apply(&d->holds, d->core, p->wish, now);
	}
	d->feeding.pages--;
	if (upto == p->read.after)
		d->feeding.again_us = now + FLUSH_AGAIN_US;
	fetch_page_free(p);
}

void
feeding_read(struct deliver *d, int64_t now)
{
	struct core_read r;

	while (now >= d->feeding.again_us && core_next_read(d->core, now, &r)) {
		if (fetch_page(d, &r, deliver_wish(d, r.sub),
			replays_find(&d->replays, r.sub, r.rep))) {
			d->feeding.pages++;
		} else {
			core_read_done(d->core, r.reader, r.after);
			d->feeding.again_us = now + FLUSH_AGAIN_US;
		}
	}
}

void
feeding_lost(struct deliver *d, int64_t now)
{
	int64_t first = metric_value(M_LOG_FIRST);
	struct core_read r;

	if (now < d->feeding.lost_us)
		return;
	d->feeding.lost_us = now + US_PER_S;
	for (int n = 0; n < LOST_MAX && core_next_lost(d->core, first, &r);
	     n++) {
		add_lost(d, &r, r.upto, now);
		core_read_done(d->core, r.reader, r.upto);
	}
}
