/*
 * ring.h - the times of the last few of something: "at most so many within".
 *
 * Exact, not in steps of a clock, and no larger than what really happened: it
 * grows up to `most`, which each call names and which must not change.
 *
 * A zeroed struct is empty; ring_done() frees it.
 */
#pragma once

#include "base/base.h"

struct ring {
	int64_t *v;
	size_t n, cap, at; /* at: the oldest */
};

/* Are there `most` within `span` before now? */
bool ring_full(const struct ring *r, size_t most, int64_t now, int64_t span);
/* From when on there is room for one more; now at the earliest. */
int64_t ring_free_at(
    const struct ring *r, size_t most, int64_t now, int64_t span);
void ring_add(struct ring *r, size_t most, int64_t now);
void ring_done(struct ring *r);
