#include <stdio.h>
#include <stdlib.h>

#include "deliver/engine/deliver_priv.h"
#include "deliver/engine/wish.h"

/* What a set of changes says of deliveries that another part keeps account of:
 * flush.h, "settled". */

static void
add(struct deliver *d, uint32_t sub, int64_t seq, enum settled how)
{
	struct flush *f = &d->flush_job.flush;
	const struct wish *w = deliver_wish(d, sub);

	if (!w || !w->directed)
		return;
	if (f->n_settlements == d->cap_settlements) {
		size_t cap = d->cap_settlements ? 2 * d->cap_settlements : 64;
		struct flush_settled *v =
		    reallocarray(d->settlements, cap, sizeof(*v));

		if (!v) {
			(void)fputs("hikyaku: no memory for a flush\n", stderr);
			abort();
		}
		d->settlements = v;
		d->cap_settlements = cap;
	}
	d->settlements[f->n_settlements++] =
	    (struct flush_settled){.sub = sub, .seq = seq, .how = how};
	f->settlements = d->settlements;
}

void
settled_find(struct deliver *d)
{
	const struct flush *f = &d->flush_job.flush;
	const struct core_changes *ch = f->changes;

	if (!f->settled)
		return;
	for (size_t i = 0; i < f->n_decisions; i++)
		if (f->decisions[i].rep == 0 && f->decisions[i].state == 1)
			add(d, f->decisions[i].sub, f->decisions[i].seq,
			    SETTLED_AGAIN);
	for (size_t i = 0; i < ch->n_attempts; i++)
		if (ch->attempts[i].rep == 0 &&
		    ch->attempts[i].verdict == CORE_OK)
			add(d, ch->attempts[i].sub, ch->attempts[i].seq,
			    SETTLED_OK);
	for (size_t i = 0; i < ch->n_deads; i++)
		if (ch->deads[i].rep == 0)
			add(d, ch->deads[i].sub, ch->deads[i].seq,
			    SETTLED_DEAD);
}
