/*
 * fetcher.h - the thread that fetches feeds, and adds new ones.
 *
 * WHAT. One thread with an HTTP client of its own. With the role `fetch` it
 * takes feeds that are due, fetches them, up to fetch.max.concurrent at once,
 * and has the commit thread write what came of it. On every server it adds the
 * feeds that people name: looks at the address, finds the feed, its icon and
 * its articles, and writes all of it before anybody is answered. What a hub sends
 * (websub.h) goes the way of an answer, and is answered when it is written.
 *
 *   due_* ──claim──▶ queue ──host free: begin_mark──▶ ready ──▶ follow_start
 *                                                                      │
 *   feed row, articles, events ◀──commit thread── plan ◀── parse ◀── answer
 *
 * WHO FETCHES WHAT. A claim is a lease in the feed's row (claimed_by,
 * claimed_until), taken in one statement that skips what others are taking:
 * any number of servers may share a PostgreSQL. What a killed one had is taken
 * over when its leases end; a node that starts again frees its own at once.
 *
 * WHAT KILLS US. A document that ends the process must not end it at every
 * start. Before a feed is asked for, its row says which run of a server has
 * begun with it (begun_by). The result takes that away, and so does a clean end
 * or a result that can't be written. Who claims a feed that another run began
 * does not fetch it: that is a failed fetch with the outcome `crashed`, which
 * backs off like any other. The price is that a kill -9 of a healthy server
 * backs off what it was fetching or about to: at most three times
 * fetch.max.concurrent.
 *
 * MEMORY. An answer is at most fetch.max.size; those that wait to be read
 * count as being fetched. FETCH_STORING_MAX of them are read and written at
 * once, each in an arena of FEED_ARENA_MAX.
 *
 * What comes is read in a process of its own (doc/caged.h): a document that ends
 * it is a fetch that failed, like any other, and says so.
 *
 * LIFE. Threads talk to it by fetcher_register() and fetcher_poke(). A
 * registration belongs to it from fetcher_register() until done().
 *
 * INVARIANTS
 *   1. Whatever is written goes through the commit thread; events and articles
 *      in one transaction.
 *   2. Every fetch that had an outcome is a row in feed_fetch, with when the
 *      next one is and why.
 *   3. Nothing is asked for before the mark that it is begun is committed.
 *   4. Never two requests at once to one host (http/client/follow.h).
 */
#pragma once

#include "loop/mailbox.h"

struct append;
struct conf;
struct discover_feed;
struct fetcher;
struct guard;
struct node;
struct keyring;
struct store;
struct tail;

struct fetcher_opts {
	const struct conf *conf;
	struct store *store;
	struct append *append;
	const struct guard *guard;
	struct keyring *keyring; /* seals what hubs are told; outlives it */
	const struct node *node; /* who claims */
	struct tail *tail;       /* is told of changes */
	bool schedule;           /* the role `fetch`; else it only adds feeds */
	const char *fault;       /* for tests: doc/caged.h; or NULL */
};

int fetcher_start(const struct fetcher_opts *o, struct fetcher **ret,
    struct err *e) MUST_CHECK;
/* From now on nothing is added: who waits for it is told so. NULL is fine. */
void fetcher_hurry(struct fetcher *f);
/* Ends the thread; then fetcher_free() behind append_stop(). NULL is fine. */
void fetcher_stop(struct fetcher *f);
void fetcher_free(struct fetcher *f);

/* Something became due: look now. Any thread; NULL is fine. */
void fetcher_poke(struct fetcher *f);

/* What the thread is to do, posted to it. */
struct fetch_note {
	struct mail mail;
	void (*take)(struct fetcher *f, struct fetch_note *n);
};

struct registration {
	int64_t user;
	struct uuid user_uid;
	struct str url;   /* as it was typed, without … */
	struct str login; /* … what it is asked for with: feed_login.h */
	int64_t instead;  /* of this feed, which the person has; 0: of none */
	bool private;     /* as feeds_mark() has it, while they are alone */
	/* Only look which feeds are there, and add none: `found` is made in
	 * it. NULL: add it. */
	struct arena *look;
	/* The answer: err.code OK, and which feed it is, or what was found.
	 * ALREADY_SUBSCRIBED tells which feed, too. */
	struct err err;
	int64_t feed;
	struct uuid feed_uid;
	struct discover_feed *found;
	size_t n_found;
	void (*done)(struct registration *r); /* on a thread of ours */
	void *arg;                            /* done()'s */

	/* the fetcher's own */
	struct fetch_note note;
	struct link link;
};

/*
 * ERR_AWAY when too many wait. What done() is told: ERR_INVALID at /url, or one
 * of the words of api/people/person.tbl.
 */
int fetcher_register(
    struct fetcher *f, struct registration *r, struct err *e) MUST_CHECK;

/* What a feed's hub sent, when its signature is right (websub.h). All of it is
 * borrowed until done(). */
struct push {
	int64_t hub, feed;
	struct uuid feed_uid;
	struct str feed_url, topic, body, content_type;
	/* The answer: err.code OK when it is written, or is nothing for us. */
	struct err err;
	void (*done)(struct push *p); /* on a thread of ours */

	struct fetch_note note; /* the fetcher's own */
};

/* ERR_AWAY when too many wait. */
int fetcher_push(struct fetcher *f, struct push *p, struct err *e) MUST_CHECK;
