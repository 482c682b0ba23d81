/*
 * retry.h - when to try a failed delivery again, and when to stop.
 *
 * WHY A MODULE OF ITS OWN. Receivers fail together: one outage makes every
 * delivery to them fail in the same second, and if all came back in the same
 * later second we would be the next outage. So delays double, or follow a list
 * that a contract names, and are spread by jitter.
 *
 * A schedule is a plain value and retry_next() a pure function: no clock, no
 * random source. The caller brings `dice`, tests bring zero.
 *
 *   doubling   retry n waits min(base × 2^n, most): 2 s, 4 s, 8 s … for 1 s
 *   list       retry n waits the list's n-th
 *
 * SCALE. The setting time.scale divides every wait of the engine, so that tests
 * run the real schedules quickly. Numbers are kept as they were written; what
 * is about to be waited goes through retry_scaled(), once, here and for
 * spacing, locks and breakers. Time-outs, expiries and one-time codes do not.
 *
 * INVARIANTS
 *   1. Jitter only lengthens: it brings no two tries closer.
 *   2. Retry-After lengthens a wait, never past the schedule's longest; with
 *      `heed` off it counts for nothing.
 *   3. After RETRY_STOP no later answer for that delivery is RETRY_LATER.
 */
#pragma once

#include "contract/limits.h"

enum retry_kind { RETRY_DOUBLING, RETRY_LIST };

struct retry_schedule {
	enum retry_kind kind;
	int64_t retries; /* after the first try; the list's length */
	int64_t base_ms; /* doubling */
	int64_t most_ms; /* the longest wait, without jitter */
	int64_t delays_ms[RETRY_DELAYS_MAX]; /* list */
	/* Added: from..to in whole steps, evenly; or 0..pct of the wait. */
	int64_t jitter_from_ms, jitter_to_ms, jitter_step_ms;
	int64_t jitter_pct;
	bool heed; /* Retry-After counts */
};

enum retry_answer {
	RETRY_LATER, /* *ret_delay_ms is set */
	RETRY_STOP,  /* the tries are used up */
};

/* A list of waits, in place of what *s had. */
int retry_delays_read(const struct json *list, const char *at,
    struct retry_schedule *s, struct err *e) MUST_CHECK;

/*
 * `tries` were made so far, the failed one counted: >= 1. `retry_after_ms` is
 * what the receiver asked for, -1 for nothing. `dice` is any 32 random bits.
 * The delay is scaled already.
 */
enum retry_answer retry_next(const struct retry_schedule *s, unsigned tries,
    int64_t retry_after_ms, uint32_t dice, int64_t scale,
    int64_t *ret_delay_ms) MUST_CHECK;

/* Divided by time.scale, rounded up: what is to be waited is never 0. */
int64_t retry_scaled(int64_t ms, int64_t scale);
