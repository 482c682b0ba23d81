/*
 * company.h - the company at work: each consumer a thread that takes its events
 * from a pull consumer of the server, and one that carries the outboxes.
 *
 *   hk_consumer_open()    makes the pull consumer, with the types of its scripts
 *   hk_consumer_next()    an event, under a lease
 *   taker_take()          service.h: one transaction
 *   hk_consumer_ack()     only now: a crash in between is a repeat, which is
 *                         known by its id
 *   hk_consumer_nack()    Core or the disk is away: again later
 *   hk_consumer_dead()    it is wrong for good: a dead letter, and everything
 *                         else goes on
 *
 * hk_consume() does the same in one call. Here the steps are taken one by one,
 * to act now and then as if we had been killed before the acknowledgement.
 *
 * The outboxes are read in the order of their ids; a row is marked when the
 * server says that it is in the log. Published twice is one event: the log knows
 * its id. The server's own relay does the same for the one outbox that it is
 * told of.
 *
 * LIFE. Threads share nothing; each has its own database connection, its own to
 * the server, its own to Core.
 */
#pragma once

#include "service.h"

struct company;

struct company_opts {
	const char *dir; /* of the databases */
	const char *tenant;
	const char *url, *key;   /* of the server, */
	const char *unix_socket; /* … or its socket, with no key */
	bool relayed;            /* Core's outbox is carried by the server */
};

/* Makes the databases, if need be, and *ret_tenant. */
int company_make(
    const char *dir, char ret_tenant[HK_ID_LEN + 1], struct hk_error *e);
/* HK_NETWORK: there is no server. */
int company_start(
    const struct company_opts *o, struct company **ret, struct hk_error *e);
void company_stop(struct company *c); /* waits for the threads; NULL is fine */
/* Where Core is asked. */
int company_port(const struct company *c);
/* Ends the pull consumers on the server, after the threads ended. */
int company_forget(const struct company_opts *o, struct hk_error *e);
