/*
 * sink_driver.h - what a sink must be able to do, for those who write one.
 *
 * A sink takes deliveries out of the engine: over HTTP, to workers that come
 * and fetch, into a file. The engine does what is the same for all: it decides
 * what goes when (deliver/core/core.h), reads the event, asks filters and
 * versions, opens the subscription, renders the body. What is ready is called:
 *
 *   core ──▶ admit ──▶ event, subscription, body ──▶ call ──▶ … ──▶ attempt_end
 *              │ no room           │ too late, stale, …    └▶ attempt_handed
 *              └───────────────────┴──▶ the attempt ends ─────────▶ ended
 *
 * call() begins one try and returns at once; its end is told by attempt_end()
 * (deliver/engine/attempt.h), once, from the same thread. A sink that *leases*
 * says attempt_handed() instead and tells the core later what came of it: the
 * terms of its subscriptions have core_sub.pull, and its contract is "Pulling"
 * in deliver/core/core.h.
 *
 * WHO KNOWS WHOM. contract < sink.h, sink_driver.h < the engine < the sinks.
 * The engine knows this table and no sink; a sink knows what the engine offers
 * (deliver/engine/attempt.h); sink.c names the drivers alone, without their
 * headers. So no table has to be handed over at start, and no sink can be
 * forgotten there.
 *
 * A NEW SINK
 *   1. a folder here with its code and test, and in it a driver with the name
 *      that is in the table, `const struct sink_driver SINK_NAME`;
 *   2. a line in sinks.tbl;
 *   3. settings, when it has any: src/sink/settings.tbl.
 * sink/file/file.c is a small one that is complete.
 *
 * LIFE. Everything but check() and terms() runs on the deliver thread. open()
 * before there are deliveries, close() after all have ended.
 *
 * INVARIANTS
 *   1. Every call() leads to one attempt_end() or attempt_handed().
 *   2. A sink that others than tests use never blocks: the thread is shared.
 *   3. After drop() the sink holds nothing of the core's.
 */
#pragma once

#include "sink/sink.h"

struct attempt;
struct core_dead;
struct core_send;
struct core_sub;
struct deads;
struct deliver;
struct deliver_ask;
struct wish;

enum sink_answer {
	SINK_ANSWERS,   /* the sink answers, now or later */
	SINK_WITH_FLUSH /* the engine does, once what it changed is stored */
};

struct sink_driver {
	const char *scheme; /* of URLs, without the colon */
	bool leases;        /* see above */
	bool reads; /* a new subscription begins with a reader that is stored */
	bool quiet; /* its attempts make no line in the log */

	void *(*open)(struct deliver *d); /* what the others get as self */
	void (*call)(void *self, struct attempt *a);

	/* The others may be NULL: then there is nothing to do. */

	void (*close)(void *self);
	/* As sink_check(), for a URL with its scheme. */
	int (*check)(
	    const struct sub_conf *s, const struct conf *c, struct err *e);

	/* What the core has to know of it beside its policy. Any thread. */
	void (*terms)(const struct sub_conf *s, struct core_sub *ret);
	/* Before anything is read for it; false: not now. */
	bool (*admit)(void *self, struct attempt *a);
	/* It was admitted and is over, called or not. */
	void (*ended)(void *self, struct attempt *a);
	/* The engine stops or has lost its groups: end it soon. */
	void (*cancel)(void *self, struct attempt *a);
	/* A lease has ended: core_result() has to follow, at once. */
	void (*expired)(void *self, const struct core_send *s, int64_t now);
	/* What the API asks of the sink: a struct of its own, by its head. */
	enum sink_answer (*ask)(void *self, struct deliver_ask *q, int64_t now);
	/* Once in a turn of the loop; true: more may be sent at once. *ret_due:
	 * when it wants the next one, INT64_MAX: for what comes. */
	bool (*turn)(void *self, int64_t now, int64_t *ret_due);
	/* A subscription was made or changed, or with w NULL has ended. */
	void (*sub)(
	    void *self, uint32_t sub, const struct wish *w, int64_t now);
	/* A dead letter of its is stored. */
	void (*dead)(void *self, const struct core_dead *dead, int64_t now);
	/* The page that it asked for by fetch_deads(), now its own. */
	void (*deads)(void *self, struct deads *page, int64_t now);
	/* The groups are lost, or the engine ends: nobody waits any more. */
	void (*drop)(void *self, const struct err *e);
};

#define SINK(name) extern const struct sink_driver SINK_##name;
#include "sink/sinks.tbl"
#undef SINK

extern const struct sink_driver *const SINK_DRIVERS[SINKS];

/* Ends the process when a table lacks what it must have. */
void sink_drivers_check(void);
