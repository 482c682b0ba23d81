/*
 * ask.h - what people ask of the engine (deliver.h), on the deliver thread.
 *
 * Whatever changes something is answered when the flush that holds it is
 * committed; the rest at once, or by the sink that was asked.
 */
#pragma once

#include "deliver/engine/deliver.h"

struct asks {
	struct mail *later; /* those that wait for dispatch, or for a start */
	/* Those whose changes are in the next flush, and in the one under way. */
	struct mail *asked, *asked_now;
	int tests; /* under way */
};

void ask_take(struct deliver *d, struct deliver_ask *q, int64_t now);
/* Those that waited; some may have to go on. */
void ask_again(struct deliver *d, int64_t now);
/* A flush has begun, with what was asked until now. */
void ask_flushing(struct asks *a);
/* The flush under way has ended: well, or never to be. */
void ask_flushed(struct asks *a, int rc, const struct err *e);
/* Nothing of it will be written any more. */
void ask_drop(struct asks *a, const struct err *e);
