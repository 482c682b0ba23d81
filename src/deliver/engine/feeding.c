#include "base/arena.h"
#include "base/str.h"
#include "contract/request.h"
#include "contract/verdict.h"
#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/letter.h"
#include "deliver/engine/told.h"
#include "deliver/engine/wish.h"

/* Entries of the log into the core: dispatch's feeds, and readers' pages. */

bool
deliver_keys(struct deliver *d, const struct wish *w, struct letter *l,
    struct core_entry *en)
{
	struct request_event ev = {
	    .event_id = l->event_id,
	    .tenant = l->tenant,
	    .type = l->type,
	    .key = l->key,
	    .seq = l->seq,
	    .body = l->body,
	};
	struct kept_conf *k;
	struct str text = STR_EMPTY;
	bool wanted = true;
	struct err e = {0};

	if (l->key_hash == 0)
		l->key_hash = letter_hash(l->key);
	en->okey = l->key_hash;
	en->rv = l->rv;
	if (w->core.alone || w->core.coalesce)
		en->rec = letter_record(l, d->scratch);
	if (w->key == WISH_KEY_EVENT && !w->spaced && !w->picky)
		return true;
	k = conf_get(d, w->core.id, &e);
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
	conf_put(d, k);
	return wanted;
}

/* Its filter failed: the core has to know, and people why. */
static void
mark(const struct letter *l, struct core_entry *en)
{
	if (!l->failed)
		return;
	en->reason = l->failed;
	en->detail =
	    told_dead(l->why ? l->why : reason_text((enum reason)l->failed),
		str_starts(l->type, STR("ops.")));
}

void
feeding_feed(struct deliver *d, struct feed *f, int64_t now)
{
	for (size_t i = 0; i < f->n; i++) {
		struct letter *l = f->v[i].letter;
		struct wish *w = f->v[i].wish;
		struct core_entry en = {
		    .seq = l->seq, .sub = w->core.id, .ev = l};

		/* What nobody judged must not be sent. */
		if (d->owner == OWNER_YES && f->v[i].waits)
			hold_apply(d, w, now);
		if (d->owner == OWNER_YES && deliver_keys(d, w, l, &en)) {
			mark(l, &en);
			core_feed(d->core, &en, now);
		} else {
			letter_unref(l);
		}
		wish_unref(w);
	}
	if (d->owner == OWNER_YES)
		core_upto(d->core, f->upto);
	f->note.kind = NOTE_FREE;
	dispatch_tell(d->dispatch, &f->note);
}

void
feeding_page(struct deliver *d, struct page *p, int64_t now)
{
	int64_t upto = p->upto;

	for (size_t i = 0; d->owner == OWNER_YES && i < p->n; i++) {
		struct letter *l = p->letters[i];
		struct core_entry en = {
		    .seq = l->seq, .sub = p->read.sub, .ev = l};

		if (!deliver_keys(d, p->wish, l, &en) ||
		    (p->read.okey != 0 && en.okey != p->read.okey))
			continue;
		mark(l, &en);
		if (!core_read_feed(d->core, p->read.reader, &en, now)) {
			free(en.detail);
			upto = l->seq - 1;
			break;
		}
		p->letters[i] = NULL; /* the core has it */
	}
	if (d->owner == OWNER_YES) {
		if (p->lost_to > 0)
			lost_add(d, p, now);
		core_read_done(d->core, p->read.reader, upto);
		hold_apply(d, p->wish, now);
	}
	d->pages--;
	if (upto == p->read.after)
		d->read_again_us = now + FLUSH_AGAIN_US;
	fetch_page_free(p);
}
