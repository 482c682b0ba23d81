/*
 * attempt.h - one attempt, and what the engine offers its sinks.
 *
 *   attempt_start ─▶ admit ─▶ event ─▶ fresh? ─▶ subscription ─▶ render ─▶ call
 *                      │        │        │            │            │       │
 *                      └────────┴────────┴────────────┴────────────┴───────┴▶ end
 *
 * Each step may be the last: attempt_end() tells the core, once. An attempt
 * lives from attempt_start() until its end, and its arena with it; admit, call
 * and what follows are its sink's (sink/sink_driver.h).
 *
 * A sink that leases has its item found anew by core_lease() whenever the
 * attempt has waited for something: the core may have dropped it meanwhile.
 *
 * LIFE. The deliver thread's.
 */
#pragma once

#include "contract/request.h"
#include "contract/sub.h"
#include "contract/verdict.h"
#include "deliver/core/core.h"
#include "deliver/engine/confs.h"
#include "deliver/engine/deliver.h"
#include "deliver/engine/fetch.h"
#include "sink/sink.h"

struct client;
struct core;
struct letter;
struct stale;
struct wish;

#define HOLD_US (1 * US_PER_S) /* for what is ours to get in order */

struct attempt {
	struct fetched fetch; /* of its letter, of its version */
	struct link in_list;
	struct deliver *d;
	enum sink_kind sink;
	struct core_send s;
	struct ask_test *test; /* NULL: a delivery */
	bool void_;            /* nobody wants its end: the groups were lost */
	bool admitted;         /* its sink is told of its end */
	struct arena *arena;
	struct kept_conf *conf;
	struct letter *letter;
	struct {
		bool failed;       /* the store is away: ask again */
		bool left_out;     /* by its filter, now that it was asked */
		struct wish *wish; /* whose filter that is; NULL: not asked */
		int64_t
		    rv; /* of its record; CORE_NO_RV: none was handed over */
	} found;        /* by the fetch thread */
	struct core_rec rec; /* with dropStale */
	struct request_event ev;
	struct request_attempt at;
	int64_t began_us;
	const struct request *sent; /* to its receiver; NULL: nothing was */
	void *own;                  /* the sink's, from admit or call on */
};

/* All three end it: it is gone. The first two tell the core. */
void attempt_end(struct attempt *a, struct core_result *r, const char *error);
/* Before anything was tried. */
void attempt_end_early(struct attempt *a, enum core_verdict v,
    enum reason reason, int64_t delay_us, const char *error);
/* Its lease is with a worker. */
void attempt_handed(struct attempt *a);

/* Of events of our own nothing more is told: detail.h. */
bool attempt_ours(const struct attempt *a);
/* It failed: when it comes again, by its schedule and deadline, or that it does
 * not. retry_after_ms: what its receiver asked for; -1: nothing. */
void attempt_retry(
    const struct attempt *a, int64_t retry_after_ms, struct core_result *r);
/* The same by a schedule alone, after `tries` that counted. */
void attempt_schedule(const struct sub_policy *p, int tries,
    int64_t retry_after_ms, struct core_result *r);
/* The receiver said that it is gone for good: its subscription is disabled. */
void attempt_gone(const struct attempt *a);

/* The engine, as its sinks see it ------------------------------------------- */

int64_t deliver_now(const struct deliver *d); /* the wall clock; never jumps */
const struct deliver_opts *deliver_opts(const struct deliver *d);
struct client *deliver_client(const struct deliver *d);
struct confs *deliver_confs(struct deliver *d);
struct core *deliver_core(const struct deliver *d);
struct stale *deliver_stale(const struct deliver *d);
/* NULL: there is no such subscription. */
struct wish *deliver_wish(const struct deliver *d, uint32_t sub);
/* The groups are ours, and that is sure: a call may start. */
bool deliver_may_send(const struct deliver *d);
/* The server stops: nothing new begins. */
bool deliver_stopping(const struct deliver *d);
/* … or will soon: nobody is to wait for events. */
bool deliver_hurried(const struct deliver *d);
/* A question of the deliver thread itself. */
void deliver_take(struct deliver *d, struct deliver_ask *q, int64_t now);
