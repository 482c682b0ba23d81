/*
 * core.h - what is delivered when: the engine's heart, without any I/O.
 *
 * A pure state machine. In come entries of the log that a subscription wants,
 * results of sends, ticks, and after a start the rows that were stored. Out go
 * sends, pages of the log to read, and changes to store. Clock, network, store
 * and random are the caller's, so that a simulator can crash it at every step.
 *
 * WORDS. An item is a delivery held in memory. A lane is the items of one
 * subscription with one order key (and one rep): at most one is in flight, in
 * order of seq. A row is an item that the store knows of: it waits for a retry,
 * is parked, is being sent under a lock, or is held behind a dead letter. A
 * reader is a position in the log from which a subscription, or one key of it,
 * is still to be served; while it has one, entries that dispatch feeds are left
 * to it. The cursor: everything up to it is settled, or has a row or a reader.
 *
 *             core_feed                core_next_send          core_result
 *   (nothing) ────────▶ WAIT ─────────────────────────▶ FLIGHT ──────▶ settled
 *        ▲               ▲ │ lock: row first, then send   │ LATER          (attempt,
 *        │ too much      │ └─▶ LOCK ─▶ core_flushed ──────┘                dead letter)
 *        ▼               │                                ▼
 *      reader ───────────┴────────── core_tick ◀──────── RETRY (row)
 *        core_next_read, core_read_feed
 *
 * Healthy deliveries leave an attempt and nothing else. An item that is not
 * settled DELIVER_WINDOW_US or DELIVER_WINDOW_SEQS after it was fed gets a row
 * or its subscription a reader, so the cursor never waits for anybody.
 *
 * RECORDS. An entry may be about a record, at a version of it. With `alone` at
 * most one of a record is under way, so that who sends it can tell from what was
 * handed over whether it is stale (CORE_DROP). With `coalesce` only the newest
 * of those that wait in memory is sent: an older one is settled as a drop when
 * a newer one is fed, or when either comes to its turn. What a reader has not
 * read yet is not waiting. Replays, and what a person asked for, take no part.
 *
 * UNJUDGED. An entry whose filter failed comes with a reason. It is a dead
 * letter at once, without a send; in a lane, when its turn comes: put back, it
 * must not overtake older ones. Its reason stays with it, in its row too: whoever
 * sends it asks the filter once more before (core_row.unjudged, core_judged).
 * While a subscription is held (core_hold) nobody asks its filter, so whatever
 * is fed meanwhile is left to its reader.
 *
 * LIFE. One thread owns a core. Endpoints and subscriptions are made by
 * core_sub(). An item's `ev` is the caller's, given back through free_ev().
 * Memory: CORE_ITEMS_MAX items; more waits in the log. When the machine has no
 * memory for these bounds the process ends: a start recovers everything.
 *
 * INVARIANTS (numbers of ENGINE.md; the simulator checks them)
 *   2. Up to the stored cursor every wanted entry has a success attempt, a
 *      drop, a row, a reader or a dead letter, in one and the same set of
 *      changes. What is dropped by `coalesce` has a newer one of its record.
 *   3. At most one in flight per lane; first arrivals of a key are in order.
 *      The rows of a lane are the oldest of what is unsettled in it.
 *   4. The cursor follows dispatch within the window, whatever endpoints do.
 *   5. LANE_ROWS_MAX and SUB_ROWS_MAX rows, beyond them a reader. What was
 *      tried always has a row: its tries must survive.
 *   6. No send starts while UNFLUSHED_MAX results are unflushed or the oldest
 *      is UNFLUSHED_US old. Drops are none: nothing was sent. Yet they have
 *      the same bound, since they take memory.
 */
#pragma once

#include "base/base.h"

struct core;
struct item;

struct core_opts {
	int slots;     /* in flight at once, all together */
	int coalesced; /* reason of what was dropped for a newer one */
	void (*free_ev)(void *ev);
	void (*free_detail)(void *detail); /* of results that were not stored */
};

struct core *core_new(const struct core_opts *o);
void core_free(struct core *c); /* NULL is fine */

/* Subscriptions ----------------------------------------------------------- */

enum { CORE_ORDER_NONE, CORE_ORDER_KEY };

struct core_sub {
	uint32_t id;
	/* Those with the same number share its limits and its breaker, so
	 * those without one had better have a number of their own. */
	uint64_t endpoint;
	int order;
	int concurrency; /* > 0 */
	int floor;       /* calls at once that no failure takes away; 0: as 1 */
	int64_t rate_us; /* between two sends; 0: no limit */
	int64_t url_rate_us; /* the same for the whole endpoint */
	int64_t lock_us;     /* > 0: a row SENDING is stored before each send */
	int64_t spacing_us; /* from the end of a call to the next of its skey */
	/*
	 * After failures of so many deliveries of its endpoint in a row, the
	 * last of them its own, it opens the endpoint's breaker for so long;
	 * 0: it never does. The tries of one delivery count once: what fails
	 * again and again may be the event's fault. Those who share an endpoint
	 * each have their own terms: who gives up first opens it, and only for
	 * as long as its own terms say, so that nobody is held for longer than
	 * one that saw it fail wants.
	 */
	int breaker_fails;
	int64_t breaker_us;
	/* An open breaker holds first tries alone: what was tried keeps its
	 * schedule, and no try of it is free. */
	bool breaker_first;
	bool block;   /* a dead letter stops its lane until somebody decides */
	bool enabled; /* false: a reader that stands still */
	bool held;    /* with enabled false: by us, see core_hold() */
	bool alone;   /* one of a record at a time */
	bool coalesce;
	bool pull; /* its sends are taken on demand: see "Pulling" */
};

/* Makes or changes it. What is in flight ends under its old terms. */
void core_sub(struct core *c, const struct core_sub *s, int64_t now);
/*
 * It is gone, and all that waits for it. Its rows and readers are the caller's
 * to delete; changes that are under way may still name it. No id comes twice.
 */
void core_sub_end(struct core *c, uint32_t sub);
/* It is as if it were disabled, from here on and until core_sub(). */
void core_hold(struct core *c, uint32_t sub);
/*
 * Forgets its readers and whatever was never tried, up to now. It survives a
 * crash from the next set of changes on that is stored.
 */
void core_sub_skip(struct core *c, uint32_t sub, int64_t now);

/* Feeding ----------------------------------------------------------------- */

/* 128 bits of a hash that tells one record from all others; zero: none. */
struct core_rec {
	uint64_t a, b;
};
#define CORE_NO_RV INT64_MIN /* it has no version: the log's order counts */

struct core_entry {
	int64_t seq;
	uint32_t sub;
	uint64_t okey; /* hash of the order key, whatever the order; 0: none */
	uint64_t skey; /* hash of the spacing key; 0: none */
	struct core_rec rec;
	int64_t rv;
	void *ev;     /* moves to the core, also when the entry is refused */
	int reason;   /* its filter failed; 0: it is wanted */
	void *detail; /* of that dead letter; moves as ev does */
};

/* From dispatch, in order of seq. */
void core_feed(struct core *c, const struct core_entry *en, int64_t now);
/* Dispatch has matched everything up to seq, and fed all of it. */
void core_upto(struct core *c, int64_t seq);

struct core_read {
	void *reader; /* the core's handle; valid until core_read_done() */
	uint32_t sub;
	uint64_t okey; /* 0: all keys */
	int rep;
	int64_t after, upto; /* entries after < seq <= upto */
	int most;            /* entries wanted */
};

/* A page that a reader needs now; one at a time for each reader. */
bool core_next_read(struct core *c, int64_t now, struct core_read *ret);
/* An entry of that page, in order. False: no more room, end it before this,
 * and the entry's ev and detail stay the caller's. */
bool core_read_feed(
    struct core *c, void *reader, const struct core_entry *en, int64_t now);
/*
 * A reader that stands below `first`, where the log begins by now, as if this
 * page had been asked for; core_read_done() moves it. `upto`: what is gone.
 */
bool core_next_lost(struct core *c, int64_t first, struct core_read *ret);
/* Everything up to `upto` was looked at. */
void core_read_done(struct core *c, void *reader, int64_t upto);

/* Sending ----------------------------------------------------------------- */

enum core_row_state { ROW_PARKED, ROW_RETRY, ROW_SENDING, ROW_HELD };

struct core_row {
	uint32_t sub;
	int rep;
	uint64_t okey, skey;
	int64_t seq;
	enum core_row_state state;
	int tries;       /* that counted */
	int n;           /* attempts made */
	int crashes;     /* of the process in careful mode, with it in flight */
	int64_t next_at; /* RETRY: when; SENDING: until when it is locked */
	int last_status, last_reason;
	int unjudged; /* its filter failed: ask it first; 0: it did not */
	struct core_rec rec; /* of its entry; zero: none */
	int64_t rv;
	bool asked; /* by a person */
};

struct core_send {
	struct item *item;   /* handle for core_result() */
	struct core_row row; /* as it was before; but for its state */
	bool probe; /* of an open breaker; but for breaker_first a free try */
	void *ev;   /* NULL: has to be read from the log */
	bool pull;  /* as its subscription is; then also: */
	bool mark;  /* see core_handed() */
	int64_t at; /* the lease began; row.next_at: it ends */
};

bool core_next_send(struct core *c, int64_t now, struct core_send *ret);
/* Its filter was asked, and wants it. */
void core_judged(struct item *it);

enum core_verdict {
	CORE_OK,
	CORE_LATER, /* failed, try again after delay_us */
	CORE_DEAD,  /* failed for good */
	CORE_SPENT, /* failed, and there is no try left */
	CORE_HOLD,  /* nothing was tried: again after delay_us */
	CORE_NEVER, /* nothing was tried and nothing will be: a dead letter */
	CORE_DROP,  /* nothing was tried, and nobody misses it */
};

struct core_result {
	enum core_verdict verdict;
	int64_t delay_us;
	int64_t endpoint_wait_us; /* Retry-After: the endpoint wants a rest */
	bool sick;                /* the endpoint's fault: its breaker counts */
	bool unasked;             /* it failed before the endpoint was asked */
	int64_t at, took_us;      /* when it began, how long it took */
	int status;               /* HTTP status or 0 */
	int reason;               /* contract/verdict.h */
	int dead_reason;          /* of the dead letter, when another */
	bool holds; /* … which stops its lane, as if it were `block` */
	struct core_rec rec; /* CORE_OK: at this version it was handed */
	int64_t rv;          /* over; rec zero: nobody asks */
	void *detail; /* the caller's; comes back with the attempt, or, when
		       * nothing was tried, with the dead letter */
};

void core_result(
    struct core *c, struct item *it, const struct core_result *r, int64_t now);

/* Pulling ------------------------------------------------------------------ */

/*
 * A subscription with `pull` sends nothing by itself: core_allow() says how
 * many may start. Each is a lease of lock_us, its row SENDING stored first, so
 * that it outlives a crash; a lease takes no slot and knows no breaker, only
 * `concurrency` bounds them. What comes out of core_next_send() is handed to a
 * worker (core_handed), whose answer is found by core_lease() and told by
 * core_result(); or the lease ends, and core_next_expired() asks what comes of
 * it. A lease is named by its delivery and n, the attempts made before it: any
 * item of it may go at any call, so nobody keeps its handle.
 *
 *   core_next_send ─▶ FLIGHT ── core_lease, core_result ──▶ settled, RETRY …
 *                      │  ▲ core_extend
 *                      └──┴─ core_tick ─▶ core_next_expired ─▶ core_result
 */

/* So many more may start now. */
void core_allow(struct core *c, uint32_t sub, int n);
/* Nobody is there: what was never tried is left to a reader. */
void core_rest(struct core *c, uint32_t sub);
/* The worker has it. `mark` comes back with the lease; a crash forgets it. */
void core_handed(struct core *c, struct item *it, bool mark);
/* Its lease has ended: core_result() has to follow, at once. */
bool core_next_expired(struct core *c, struct core_send *ret);

enum core_lease {
	CORE_LEASE_NONE, /* the core has no such delivery: settled, or gone */
	CORE_LEASE_MINE, /* in force: core_result() or core_extend() */
	CORE_LEASE_LATE, /* over, and nobody has it since: core_late() */
	CORE_LEASE_LOST, /* over: another one has it or had it */
	CORE_LEASE_DEAD, /* a dead letter that holds its key */
};
enum core_lease core_lease(const struct core *c, uint32_t sub, int64_t seq,
    int rep, int n, struct core_send *ret);
/* A success that came after the lease. */
void core_late(
    struct core *c, struct item *it, const struct core_result *r, int64_t now);
void core_extend(struct core *c, struct item *it, int64_t until, int64_t now);

struct core_pulled {
	size_t leases;   /* with workers */
	size_t starting; /* on their way to one */
	bool idle;       /* nothing can start, and nothing is read for it */
};
/* False: there is no such subscription. */
bool core_pulled(const struct core *c, uint32_t sub, struct core_pulled *ret);
/* Entries that the hindmost of them has not looked at. */
int64_t core_lag(const struct core *c);

/* Time -------------------------------------------------------------------- */

/* Timers whose time has come. */
void core_tick(struct core *c, int64_t now);
/* When core_tick() or core_flush() has something to do; INT64_MAX: never. */
int64_t core_next_due(const struct core *c, int64_t now);

/* Changes to store -------------------------------------------------------- */

struct core_attempt {
	int64_t seq;
	uint32_t sub;
	int rep, n;
	struct core_result result;
};

struct core_dead {
	struct core_row row; /* as it was then */
	int64_t at;
	int reason;
	void *detail; /* NULL when its last attempt has it */
};

struct core_reader {
	uint32_t sub;
	uint64_t okey; /* 0: the whole subscription */
	int rep;
	int64_t pos, until; /* until 0: it goes on with the log */
	bool exclusive;     /* a replay that the subscription waits for */
	bool gone;
};

struct core_endpoint {
	uint64_t endpoint;
	int64_t open_until, not_before; /* 0: none */
};

/* One transaction, in this order: dels before puts. May be written twice. */
struct core_changes {
	int64_t cursor; /* -1: as it was */
	struct core_attempt *attempts;
	struct core_row *dels, *puts; /* of dels only the key counts */
	struct core_dead *deads;
	struct core_reader *readers;
	struct core_endpoint *endpoints;
	size_t n_attempts, n_dels, n_puts, n_deads, n_readers, n_endpoints;
};

/* NULL: nothing to store now, or the last ones are not flushed yet. */
const struct core_changes *core_flush(struct core *c, int64_t now, bool hurry);
/* They are committed. Until then they stay, to be written again. */
void core_flushed(struct core *c, int64_t now);

/* After a start, before anything is fed ------------------------------------ */

void core_load_cursor(struct core *c, int64_t cursor);
void core_load_endpoint(struct core *c, const struct core_endpoint *ep);
/* ROW_SENDING: it waits until its lock ends. Unknown subs are ignored. */
void core_load_row(struct core *c, const struct core_row *row, int64_t now);
void core_load_reader(struct core *c, const struct core_reader *rd);
/* Above the cursor or a reader's position this one is settled already. */
void core_load_settled(struct core *c, uint32_t sub, int64_t seq, int rep);
/*
 * The process died twice without progress: entries up to `upto` are sent one
 * at a time, each with a row that counts crashes; see WORKER_CRASH.
 */
void core_careful(struct core *c, int64_t upto);

/* By a person's hand ------------------------------------------------------- */

/*
 * Sends it again, tries counted from 0: a dead letter, one that is held, one
 * that waits, or one that was delivered. `n`: attempts made so far.
 */
void core_requeue(struct core *c, const struct core_row *row, int64_t now);
/* A held dead letter is given up: its lane goes on. */
void core_skip(struct core *c, uint32_t sub, int64_t seq, int rep, int64_t now);
/*
 * A replay: reader rep of (pos, until]; at most one read in interval_us. It is
 * stored already. While an exclusive one has anything left that is not settled,
 * the subscription starts nothing of its own: all that is newer comes after it.
 * There is one such at a time; a second is as any other.
 */
void core_replay(
    struct core *c, const struct core_reader *rd, int64_t interval_us);

/* Looking at it ------------------------------------------------------------ */

struct core_count {
	size_t items, rows, readers, in_flight, unflushed, lanes, drops;
	size_t leases, starting; /* of all that pull */
	int64_t cursor, upto;
};
void core_counts(const struct core *c, struct core_count *ret);
/* All of the log up to here was fed to it; above it, nothing was sent. */
int64_t core_front(const struct core *c, uint32_t sub);

/* What the core knows of a delivery. */
struct core_seen {
	struct core_row row; /* PARKED also while it is in flight */
	bool in_flight;
	const char *why; /* it is not delivered yet, for people */
	int64_t due;     /* until when that lasts; 0: nobody knows */
};
/* False: the core holds none. */
bool core_look(const struct core *c, uint32_t sub, int64_t seq, int rep,
    struct core_seen *ret);
