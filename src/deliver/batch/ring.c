#include "deliver/batch/ring.h"

#include <stdio.h>
#include <stdlib.h>

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

static void
grow(struct ring *r, size_t most)
{
	size_t cap = r->cap ? 2 * r->cap : 8;
	int64_t *v;

	if (cap > most)
		cap = most;
	v = calloc(cap, sizeof(*v));
	if (!v) {
		(void)fputs("hikyaku: no memory for a limit\n", stderr);
		abort();
	}
	for (size_t i = 0; i < r->n; i++)
		v[i] = r->v[(r->at + i) % r->cap];
	free(r->v);
	r->v = v;
	r->cap = cap;
	r->at = 0;
}

void
ring_add(struct ring *r, size_t most, int64_t now)
{
	if (r->n == r->cap && r->cap < most)
		grow(r, most);
	if (r->n < r->cap) {
		r->v[(r->at + r->n++) % r->cap] = now;
		return;
	}
	r->v[r->at] = now;
	r->at = (r->at + 1) % r->cap;
}

void
ring_done(struct ring *r)
{
	free(r->v);
	*r = (struct ring){.v = NULL};
}
