/*
 * run.h - the services at work: each consumer a thread that fetches its events
 * from a pull consumer of the server, and one that carries the outboxes.
 *
 *   PUT  /v1/consumers/crm-search        with the types of the catalog
 *   GET  …/events?max=&wait=             some events, under a lease
 *   take each                            crm.h: one transaction each
 *   POST …/ack                           only now: a crash in between is a
 *                                        repeat, which is known by its id
 *   POST …/nack                          Core or the disk is away: again later
 *   POST …/nack {"dead":true}            it is wrong for good: a dead letter,
 *                                        and everything else goes on
 *
 * `forget` shows what a crash between the two would do: of so many events one
 * is applied and not acknowledged, so that it comes again.
 *
 * LIFE. Threads share nothing; each has its own database connection, its own to
 * the server, its own to Core.
 */
#ifndef CRM_RUN_H
#define CRM_RUN_H

#include "base/base.h"
#include "crm/crm.h"
#include "crm/outbox.h"

struct run;

/* Who is asked for events. Each thread opens one of its own. */
struct run_link {
	int (*open)(void *arg, struct crm_server *ret, struct err *e);
	void (*close)(struct crm_server *s);
	void *arg;
};

struct run_opts {
	const char *dir; /* of the databases */
	struct str tenant;
	struct run_link link;
	int64_t forget; /* 0: never */
	bool relayed;   /* Core's outbox is carried by the server */
};

/* Makes the pull consumers, and starts everything. */
int run_start(
    const struct run_opts *o, struct run **ret, struct err *e) MUST_CHECK;
void run_stop(struct run *r); /* waits for the threads; NULL is fine */
/* Ends the pull consumers on the server; after run_stop()'s threads ended. */
int run_forget(const struct run_opts *o, struct err *e) MUST_CHECK;

/* Where Core is asked. */
int run_port(const struct run *r);

/* Events in the outboxes that the service gets and has not processed yet. */
int run_missing(const char *dir, const struct crm_service *s, int64_t *ret,
    struct err *e) MUST_CHECK;

/* "crm-search" */
void run_name(const struct crm_service *s, char ret[32]);

#endif
