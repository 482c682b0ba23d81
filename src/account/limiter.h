/*
 * limiter.h - how often somebody may call: a token bucket for each.
 *
 * WHY GCRA. Several http threads serve one key. A bucket of (tokens, time)
 * would need a lock; the generic cell rate algorithm keeps the same bucket as
 * one number, the time at which it will be full again ("theoretical arrival
 * time"), which is moved on by compare-and-swap. A request of cost n moves it
 * by n/rate; it may lie at most one span ahead, which is the burst: keys have
 * so many a second, people so many a minute, and all of them at once.
 *
 * A cost above a span's worth (a batch of 1000 at 100 a second) can never
 * fit. It passes when the bucket is full and puts it into debt: the mean rate
 * holds, and no batch size is impossible.
 *
 * LIFE. One table of slots, allocated once, shared by all threads. A slot
 * belongs to whoever it is by id; one whose bucket is full says nothing that a
 * fresh slot would not, so it may be taken over: nothing needs to be cleaned
 * up. Those whom strangers can be many of (networks) have a table of their own,
 * so that they take no slot from people and keys.
 *
 * SEVERAL NODES have a table each. What was taken here is told to the others and
 * theirs learnt by limiter_untold() and limiter_told(): see rates.h.
 *
 * INVARIANTS
 *   1. What passes in any s spans costs at most rate × (s + 1), plus
 *      one batch in debt. Two threads that meet a key for the first time in
 *      the same instant may give it two slots, and a slot taken over in that
 *      instant may be charged once for its old key; both end in a span.
 *   2. A refusal changes nothing, so that whoever keeps asking is not punished.
 */
#pragma once

#include "base/base.h"

struct limiter;

/* `slots` is a power of two; rates are by the span. */
struct limiter *limiter_new(size_t slots, int span_s);
void limiter_free(struct limiter *l); /* NULL is fine */
/*
 * OK, or ERR_BUSY with retry_after_s. rate <= 0 is no limit. key_id > 0.
 * now_us is of a clock that never goes back (clock_mono_us). From any thread.
 */
int limiter_take(struct limiter *l, int64_t key_id, int64_t rate, int64_t cost,
    int64_t now_us, struct err *e) MUST_CHECK;

/*
 * The next slot from *at on (0 at first) with something taken that was not told
 * yet, as the time its bucket needs to get it back; it counts as told. False at
 * the table's end, with *at 0 again. From one thread.
 */
bool limiter_untold(
    struct limiter *l, size_t *at, int64_t *ret_key_id, int64_t *ret_us);
/* With what others took its bucket is full in ahead_us from now, or later. */
void limiter_told(
    struct limiter *l, int64_t key_id, int64_t ahead_us, int64_t now_us);
