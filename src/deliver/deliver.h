/*
 * deliver.h - the delivery engine: from the log to the receivers.
 *
 *   commit ──tail──▶ dispatch ──feeds──▶ deliver ──────────▶ receivers
 *    ▲                reads the log,       owns the core and the HTTP client
 *    │                matches, filters        │    ▲
 *    └───────────── flush: one transaction ◀──┘    └── fetch: pages of the log
 *
 * dispatch, deliver and fetch are threads; they talk by mail alone. What is
 * sent when is decided by core.h, what is sent by request.h, what an answer
 * means by verdict.h; here is the I/O around them.
 *
 * OWNING. On PostgreSQL several nodes may run; one at a time delivers. It holds
 * the groups by a lease, renewed each second by the database's clock; the
 * others stand by and take over when the lease has ended. A flush checks the
 * epoch, and no send starts LEASE_SEND_US after the last good renewal.
 *
 * LIFE. deliver_start() after append and tail; deliver_stop() before them: it
 * waits for what is in flight, at most `drain_ms`, and flushes.
 */
#ifndef DELIVER_DELIVER_H
#define DELIVER_DELIVER_H

#include "base/base.h"
#include "deliver/delivery_id.h"
#include "deliver/flush.h"
#include "loop/mailbox.h"

struct append;
struct conf;
struct deliver;
struct guard;
struct keyring;
struct letter;
struct store;
struct tail;

struct deliver_opts {
	const struct conf *conf;
	struct store *store;
	struct append *append;
	struct tail *tail;
	const struct guard *guard;
	struct keyring *keyring;
	struct delivery_id_key id_key;
	flush_settled_fn settled; /* of directed subscriptions; may be NULL */
};

int deliver_start(const struct deliver_opts *o, struct deliver **ret,
    struct err *e) MUST_CHECK;
void deliver_stop(struct deliver *d, int drain_ms); /* NULL is fine */

/*
 * Something that a person asks of the deliver thread. It belongs to the engine
 * from deliver_ask() until done(), on another thread, after what it changed is
 * committed. ERR_AWAY when this node does not deliver now.
 */
enum deliver_ask_kind {
	ASK_REQUEUE, /* send again, tries from 0; also a dead letter */
	ASK_SKIP,    /* a dead letter is given up */
	ASK_LOOK,    /* what is known of it: look is filled in */
	ASK_TEST,    /* send `body` to `sub` now, outside of the log */
	ASK_REPLAY,  /* a replay was stored: begin it */
	ASK_STOP,    /* a replay was stopped: read no more */
	ASK_NOW,     /* forget what `sub` has not been sent: skip to now */
};

struct deliver_look {
	bool known, in_flight;
	int state; /* enum core_row_state */
	int tries, n, last_status, last_reason;
	int64_t next_at, due; /* 0: none */
	const char *why;      /* a constant text */
	int64_t front;        /* of its subscription: see core_front() */
};

struct deliver_test {
	bool success;
	int status;
	int64_t took_us;
	char error[256];
};

struct deliver_ask {
	struct mail mail;
	enum deliver_ask_kind kind;
	uint32_t sub;
	int64_t seq;
	int rep;
	/* REQUEUE: what its row would have, from the dead letter or attempts */
	uint64_t okey, skey;
	int n;
	/* … or the event itself, when nobody knows its keys; the asker's */
	struct letter *letter;
	struct str who, note; /* REQUEUE, SKIP: for the record */
	struct str body;      /* TEST: the envelope */
	int64_t behind;       /* first let dispatch read the log up to here */
	/* REPLAY: entries in (pos, until]; types as stored, .p NULL: all */
	int64_t pos, until, rate;
	bool exclusive;
	struct str types;
	struct deliver_look look;
	struct deliver_test test;
	struct err err;     /* the answer: OK, or why not */
	int64_t give_up_us; /* the engine's own */
	void (*done)(struct deliver_ask *q);
	void *arg;
};

/* False: the engine has ended; the question stays with the asker. */
bool deliver_post(struct deliver *d, struct deliver_ask *q) MUST_CHECK;

#endif
