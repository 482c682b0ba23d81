#include "deliver/batch/ring.h"

#include "base/mem.h"

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
grow_ring(struct ring *r, size_t most)
{
	size_t cap = r->cap ? 2 * r->cap : 8;
	int64_t *v;

	if (cap > most)
		cap = most;
	v = mem_array(cap, sizeof(*v));
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
		grow_ring(r, most);
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
