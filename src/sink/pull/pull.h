/*
 * pull.h - the sink of those who come and fetch: consumers and their workers.
 *
 * A worker's GET is a waiter. The core may start as many sends as all waiters
 * want; each goes to the first who has room, and a waiter is answered when what
 * was started for it has come. One that has got something asks for no more: so
 * a batch is what one flush locked, and nobody waits for a full one.
 *
 * A lease is named by its delivery and the attempts before it; no handle of
 * the core's is kept from one call to the next.
 *
 * A subscription is this sink's when it is managed as a consumer: it has a time
 * that a lease lasts (sub_managed.ack_wait_s), and `consumer:NAME` for a URL.
 *
 * The structs below are what the API asks: kind ASK_SINK, with `what` to tell
 * them apart.
 */
#pragma once

#include "deliver/engine/deliver.h"

enum pull_what { PULL_FETCH, PULL_ANSWER, PULL_COUNT };

struct pull_ask {
	struct deliver_ask ask;
	enum pull_what what;
};

/* One event for a worker. */
struct pull_got {
	struct letter *letter; /* a reference, the asker's */
	int64_t seq, until_us; /* the lease ends */
	int rep, n;            /* n: attempts before this one */
};

/* A worker wants events. */
struct pull_fetch {
	struct pull_ask pull;
	size_t max;
	int64_t wait_us;    /* 0: what is there now */
	struct pull_got *v; /* the asker's, room for max */
	size_t n;
};

enum pull_answer_kind { ANSWER_ACK, ANSWER_NACK, ANSWER_EXTEND };
enum pull_answer_how {
	ANSWERED,         /* as it was asked for */
	ANSWER_RETRY,     /* nack: again at at_us */
	ANSWER_DEAD,      /* it is a dead letter */
	ANSWER_EXPIRED,   /* another worker has it, or had it */
	ANSWER_UNKNOWN,   /* settled before, or never there: the store knows */
	ANSWER_NO_CURSOR, /* the sink never says this, and leaves such alone */
};
struct pull_answer {
	int64_t seq;
	int rep, n;
	enum pull_answer_how how;
	int64_t at_us; /* the next try, or the lease's end; 0: none */
};

/* What a worker made of them. */
struct pull_answers {
	struct pull_ask pull;
	enum pull_answer_kind kind;
	struct pull_answer *v;
	size_t n;
	int64_t delay_us; /* nack, extend; -1: as the consumer has it */
	bool dead;        /* nack: never again */
	struct str note;  /* nack: why; .p NULL: nobody said */
};

/* How many of its events are with workers, and how many of these wait. */
struct pull_count {
	struct pull_ask pull;
	size_t leases, waiters;
};
