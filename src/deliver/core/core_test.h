/*
 * core_test.h - a core and its simplest moves, for the tests of the core,
 * which bring base/test.h.
 */
#pragma once

#include "deliver/core/core.h"

#define SEC        ((int64_t)1000 * 1000)
#define BREAKER_US (300 * SEC)
#define T0         (1000 * SEC)

static inline void
no_ev(void *)
{
}

static inline struct core *
make(int slots)
{
	struct core_opts o = {
	    .slots = slots, .free_ev = no_ev, .free_detail = free};

	return core_new(&o);
}

static inline struct core_sub
terms(uint32_t id)
{
	return (struct core_sub){
	    .id = id,
	    .endpoint = id,
	    .order = CORE_ORDER_NONE,
	    .concurrency = 100,
	    .breaker_us = BREAKER_US,
	    .enabled = true,
	};
}

static inline void
feed(struct core *c, uint32_t sub, int64_t seq, uint64_t okey, int64_t now)
{
	struct core_entry en = {.seq = seq, .sub = sub, .okey = okey};

	core_feed(c, &en, now);
	core_upto(c, seq);
}

static inline struct core_send
send_one(struct core *c, int64_t now)
{
	struct core_send x;

	assert_true(core_next_send(c, now, &x));
	return x;
}

static inline void
send_none(struct core *c, int64_t now)
{
	struct core_send x;

	assert_false(core_next_send(c, now, &x));
}

static inline void
result(struct core *c, struct item *it, enum core_verdict v, int64_t now)
{
	struct core_result r = {.verdict = v,
	    .sick = v == CORE_LATER || v == CORE_SPENT,
	    .delay_us = SEC,
	    .at = now};

	core_result(c, it, &r, now);
}

static inline const struct core_changes *
flush(struct core *c, int64_t now)
{
	const struct core_changes *ch = core_flush(c, now, true);

	assert_non_null(ch);
	return ch;
}

static inline void
settle(struct core *c, int64_t now)
{
	(void)flush(c, now);
	core_flushed(c, now);
}

static inline void
fail_five(struct core *c, int64_t now)
{
	for (int64_t i = 1; i <= 6; i++)
		feed(c, 1, i, 0, now);
	for (int i = 0; i < 5; i++) {
		struct core_send x = send_one(c, now + i * 2 * SEC);

		result(c, x.item, CORE_LATER, now + i * 2 * SEC);
		if (i < 4)
			settle(c, now + i * 2 * SEC);
		core_tick(c, now + (i + 1) * 2 * SEC);
	}
}
