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
#ifndef DELIVER_ENGINE_DELIVER_H
#define DELIVER_ENGINE_DELIVER_H

#include "base/base.h"
#include "deliver/engine/delivery_id.h"
#include "deliver/engine/flush.h"
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
	ASK_FETCH,   /* a worker wants events of the consumer `sub`: `fetch` */
	ASK_ANSWER,  /* what it made of them: `answers` */
	ASK_PULLED,  /* how many of its events are with workers: `pulled` */
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

/* One event for a worker: deliver/engine/pull.c. */
struct deliver_got {
	struct letter *letter; /* a reference, the asker's */
	int64_t seq, until_us; /* the lease ends */
	int rep, n;            /* n: attempts before this one */
};

struct deliver_fetch {
	size_t max;
	int64_t wait_us;       /* 0: what is there now */
	struct deliver_got *v; /* the asker's, room for max */
	size_t n;
};

enum answer_kind { ANSWER_ACK, ANSWER_NACK, ANSWER_EXTEND };
enum answer_how {
	ANSWERED,         /* as it was asked for */
	ANSWER_RETRY,     /* nack: again at at_us */
	ANSWER_DEAD,      /* it is a dead letter */
	ANSWER_EXPIRED,   /* another worker has it, or had it */
	ANSWER_UNKNOWN,   /* settled before, or never there: the store knows */
	ANSWER_NO_CURSOR, /* the engine never says this */
};
struct deliver_answer {
	int64_t seq;
	int rep, n;
	enum answer_how how;
	int64_t at_us; /* the next try, or the lease's end; 0: none */
};
struct deliver_answers {
	enum answer_kind kind;
	struct deliver_answer *v;
	size_t n;
	int64_t delay_us; /* nack, extend; -1: as the consumer has it */
	bool dead;        /* nack: never again */
	struct str note;  /* nack: why; .p NULL: nobody said */
};

struct deliver_pulled {
	size_t leases, waiters;
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
	int reason; /* … why it died; 0: it did not */
	/* … or the event itself, when nobody knows its keys; the asker's */
	struct letter *letter;
	bool rule;            /* REQUEUE: no person asks, so it may be stale */
	struct str who, note; /* REQUEUE, SKIP: for the record */
	struct str body;      /* TEST: the envelope */
	int64_t behind;       /* first let dispatch read the log up to here */
	/* REPLAY: entries in (pos, until]; types as stored, .p NULL: all */
	int64_t pos, until, rate;
	bool exclusive;
	struct str types;
	struct deliver_fetch fetch;
	struct deliver_answers answers;
	struct deliver_pulled pulled;
	struct deliver_look look;
	struct deliver_test test;
	struct err err;     /* the answer: OK, or why not */
	int64_t give_up_us; /* the engine's own */
	void (*done)(struct deliver_ask *q);
	void *arg;
};

/* False: the engine has ended; the question stays with the asker. */
bool deliver_post(struct deliver *d, struct deliver_ask *q) MUST_CHECK;
/* The server is stopping: nobody waits for events any more. NULL is fine. */
void deliver_hurry(struct deliver *d);

#endif
