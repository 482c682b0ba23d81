/*
 * strikes.h - how often the programs of a subscription went wrong lately, and
 * whether that is too often.
 *
 * A filter or a template that overruns (match/jq/jq.h) costs time that all share:
 * STRIKE_OVERRUNS within STRIKE_MS, and its subscription is held. One that only
 * raises errors costs a dead letter each: STRIKE_FAILURES of these within as
 * long, counted from the first, hold it too, so that one wrong program fills
 * no table.
 *
 * LIFE. A part of the wish, which dispatch, fetch and deliver share: any of
 * them adds, without a lock. Two that add at the same moment may be counted one
 * late. A changed subscription is another wish, and begins with none.
 */
#pragma once

#include <stdatomic.h>

#include "contract/verdict.h"
#include "deliver/limits.h"

struct strikes {
	_Atomic int64_t overran_us[STRIKE_OVERRUNS - 1]; /* the last of them */
	_Atomic unsigned overruns;
	_Atomic int64_t failed_us; /* the first of those that are counted */
	_Atomic int failed;
	_Atomic int held; /* enum reason of the last one; 0: not held */
};

/* now_us is above 0. True: this one was too many, and nobody saw it before. */
bool strikes_add(
    struct strikes *s, enum reason r, int64_t now_us, int64_t window_us);
/* Why it is held, for people; a constant text. */
const char *strikes_text(enum reason r);
