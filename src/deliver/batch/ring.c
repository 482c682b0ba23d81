#include "deliver/batch/ring.h"

bool
ring_full(const struct ring *r, size_t most, int64_t now, int64_t span)
{
	return r->n == most && now - r->v[r->at] < span;
}

int64_t
ring_free_at(const struct ring *r, size_t most, int64_t now, int64_t span)
{
	return ring_full(r, most, now, span) ? r->v[r->at] + span : now;
}

void
ring_add(struct ring *r, size_t most, int64_t now)
{
	if (r->n < most) { /* not round yet: the oldest is the first */
		r->v = mem_more(r->v, &r->cap, r->n, sizeof(*r->v));
		r->v[r->n++] = now;
		return;
	}
	r->v[r->at] = now;
	r->at = (r->at + 1) % most;
}

void
ring_done(struct ring *r)
{
	free(r->v);
	*r = (struct ring){.v = NULL};
}
