/*
 * deliver.h - the delivery engine: from the log to the receivers.
 *
 *   commit ──tail──▶ dispatch ──feeds──▶ deliver ──────────▶ receivers
 *    ▲                reads the log,       owns the core; its sinks
 *    │                matches, filters        │    ▲
 *    └───────────── flush: one transaction ◀──┘    └── fetch: pages of the log
 *
 * dispatch, deliver and fetch are threads; they talk by mail alone. What is
 * sent when is decided by core.h, how it is sent by a sink (sink/sink_driver.h);
 * here is the I/O around them.
 *
 * OWNING. On PostgreSQL several nodes may run; one at a time delivers. It holds
 * the groups by a lease, renewed each second by the database's clock; the
 * others stand by and take over when the lease has ended. A flush checks the
 * epoch, and no send starts LEASE_SEND_US after the last good renewal.
 *
 * LIFE. deliver_start() after append and tail; deliver_stop() before them: it
 * waits for what is in flight, at most `drain_ms`, and flushes.
 */
#pragma once

#include "deliver/core/core.h"
#include "deliver/engine/delivery_id.h"
#include "deliver/engine/flush.h"
#include "loop/mailbox.h"

struct append;
struct conf;
struct deliver;
struct guard;
struct keyring;
struct letter;
struct node;
struct store;
struct tail;

struct deliver_opts {
	const struct conf *conf;
	struct store *store;
	struct append *append;
	struct tail *tail;
	const struct guard *guard;
	struct keyring *keyring;
	const struct node *node;
	struct delivery_id_key id_key;
	flush_settled_fn settled; /* of directed subscriptions; may be NULL */
};

int deliver_start(const struct deliver_opts *o, struct deliver **ret,
    struct err *e) MUST_CHECK;
void deliver_stop(struct deliver *d, int drain_ms); /* NULL is fine */

/*
 * Something that a person asks of the deliver thread: one struct for each kind,
 * all with struct deliver_ask as their head. It belongs to the engine from
 * deliver_post() until done(), on another thread, after what it changed is
 * committed. At a start it waits a moment; ERR_AWAY when this node does not
 * deliver then.
 */
enum deliver_ask_kind {
	ASK_REQUEUE, /* struct ask_requeue */
	ASK_SKIP,    /* struct ask_decide: a dead letter is given up */
	ASK_LOOK,    /* struct ask_look */
	ASK_TEST,    /* struct ask_test */
	ASK_NOW,     /* forget what `sub` has not been sent: skip to now */
	ASK_SINK,    /* a struct of the sink that `sub` has: sink_driver.ask */
};

struct deliver_ask {
	struct mail mail;
	enum deliver_ask_kind kind;
	uint32_t sub;
	int64_t behind; /* first let dispatch read the log up to here */
	bool anyway;    /* … but not for long: a known `sub` is enough */
	bool here;      /* of this node alone: never handed on (api/hand.h) */
	bool elsewhere; /* ERR_AWAY: nothing was done; another node may */
	struct err err; /* the answer: OK, or why not */
	int64_t give_up_us; /* the engine's own */
	void (*done)(struct deliver_ask *q);
	void *arg;
};

/* What a person, or a rule, decided about a delivery; who and why are for the
 * record. */
struct ask_decide {
	struct deliver_ask ask;
	int64_t seq;
	int rep;
	struct str who, note;
};

/* Send again, tries from 0; also a dead letter. */
struct ask_requeue {
	struct ask_decide decide;
	/* What its row would have, from the dead letter or attempts: */
	uint64_t okey, skey;
	int n;
	int reason; /* why it died; 0: it did not */
	/* … or the event itself, when nobody knows its keys; the asker's */
	struct letter *letter;
	bool rule; /* no person asks, so it may be stale */
};

/* What is known of a delivery. */
struct deliver_look {
	bool known;
	struct core_seen seen; /* row.next_at is 0 but for a retry */
	int64_t front;         /* of its subscription: see core_front() */
};
struct ask_look {
	struct deliver_ask ask;
	int64_t seq;
	int rep;
	struct deliver_look look;
};

/* Send `body`, an envelope, to `sub` now, outside of the log; or to a
 * subscription that no row has. */
struct deliver_test {
	bool success;
	int status;
	int64_t took_us;
	char error[256];
};
struct ask_test {
	struct deliver_ask ask;
	struct str type, body;
	bool made;           /* by us, not by who asks */
	struct str rendered; /* what its template makes of it; .p NULL: the
			      * engine has to run that */
	struct str conf;     /* `sub` 0: as sub_store() makes it, */
	struct uuid uid;     /* sealed for this one; empty: `sub` */
	struct deliver_test test;
};

/* False: the engine has ended; the question stays with the asker. */
bool deliver_post(struct deliver *d, struct deliver_ask *q) MUST_CHECK;
/* It delivers now, or did a moment ago. */
bool deliver_owns(const struct deliver *d);
/* The server is stopping: nobody waits for events any more. NULL is fine. */
void deliver_hurry(struct deliver *d);
/* … nor for tests: those that are under way end. */
void deliver_cut_tests(struct deliver *d);
