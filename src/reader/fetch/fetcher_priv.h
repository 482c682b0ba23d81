/*
 * fetcher_priv.h - the parts of the fetcher's thread.
 *
 *   fetcher.c           the loop; one fetch from its request to its answer
 *   fetcher_due.c       which feeds are due, whose they are, which are begun
 *   fetcher_store.c     what an answer means, and writing it
 *   fetcher_register.c  adding a feed that a person names
 *   fetcher_find.c      … which feed an address leads to
 *   fetcher_hub.c       subscribing at the hubs that feeds name, what they send
 *   hatebu.c            counts of bookmarks
 *
 * All of it is the one thread's, but for what a job's fn and done() touch
 * while the commit thread has it.
 */
#pragma once

#include <stdatomic.h>

#include "base/version.h"
#include "event/append.h"
#include "feed/discover.h"
#include "http/client/follow.h"
#include "reader/fetch/fetcher.h"
#include "reader/fetch/typed.h"
#include "reader/fetch/verdict.h"
#include "reader/items.h"
#include "seal/digest.h"
#include "store/store.h"

struct caged;
struct feed;
struct hatebu;
struct reg;
struct thread;

struct fetch_job;

typedef int (*fetch_fn)(struct db *db, void *ctx, struct err *e);
typedef void (*fetch_take)(struct fetcher *f, struct fetch_job *j);

/* What the commit thread is to do; ctx is the fetcher unless it is set. */
struct fetch_job {
	struct append_job job;
	struct fetch_note note;
	struct fetcher *f;
	void *ctx;
	struct entry *entries; /* that are written with it */
	size_t n_entries;
	fetch_take take;
	bool busy;    /* posted and not taken */
	bool changed; /* its fn noted a change: reader/changes.h */
};

/* One feed that is fetched. */
struct fetch {
	struct fetcher *f;
	/* of the queue, those begun, the answers, or those written */
	struct link link;
	struct arena *arena; /* small things, for as long as it lives */
	struct arena *heavy; /* body, feed and plan, until they are written */
	int64_t id;
	struct uuid uid;
	struct str url, host, etag, last_modified, body_hash;
	struct fetch_before before;
	int64_t lease_us;
	bool own;             /* a person's: feed_login.h … */
	struct str login;     /* … sealed; .p NULL: none … */
	struct uuid login_of; /* … of this subscription */
	bool crashed;         /* a run of a server before us died with it */
	bool begun;           /* its row says so */
	struct follow follow;
	struct client_header headers[4];

	/* what came */
	int64_t at_us, took_us, bytes;
	struct fetch_seen seen;
	struct fetch_verdict verdict;
	struct str body, content_type, final_url;
	struct str new_etag, new_modified, title, site_url;
	bool moved; /* for good: final_url is where it is now … */
	bool taken; /* … and another feed has that address */
	unsigned char hash[DIGEST_LEN];
	char error[FETCH_WORDS_MAX];

	/* writing it */
	struct feed *parsed;
	struct items_plan plan;
	size_t inserted, updated;
	size_t part;        /* of the feed, that the next plan begins with */
	size_t heavy_bytes; /* of x->heavy, while it is being written */
	int conflicts;
	struct fetch_job j;
	struct reg *reg;   /* that it is part of, or NULL */
	struct push *push; /* a hub's, or NULL: it was fetched */

	/* The hub that it names now, when we don't know it: else .p NULL. */
	struct str hub, topic, hub_secret;
	struct uuid hub_uid;
};

/* The claim that is under way, or its last. */
struct claim {
	struct fetch_job j;
	struct list got; /* struct fetch, made by the commit thread */
	size_t want;
	int64_t now_us, until_us;
};

/* A change of begun_by, many at once. */
struct marks {
	struct fetch_job j;
	struct list list; /* struct fetch, with the job */
	bool begin;       /* else it is taken away */
};

/* Results that need no plan are written many at once. */
struct batch {
	struct fetch_job j;
	struct list list; /* struct fetch */
	bool single;
};

/* Hubs with something to do: taken some at a time, the next when all of them
 * were asked. */
struct hubs {
	struct fetch_job j;
	struct list got; /* struct hub_ask, made by the commit thread */
	size_t n_asks;
	bool more;
	int64_t now_us, until_us;
};

struct fetcher {
	struct fetcher_opts o;
	struct client *client;
	struct follows *follows;
	struct mailbox *box;
	struct db *db;
	struct thread *thread;
	struct uuid run; /* of this process alone; o.node: of all its lives */
	_Atomic bool stopping, hurry, poked;
	_Atomic int n_regs; /* registered and not done */
	size_t n_jobs;      /* with the commit thread */

	/* fetches */
	struct claim claim;
	struct marks begin, forget;
	struct list queue;     /* claimed */
	struct list ready;     /* and begun; of each host one at most */
	struct list blameless; /* begun, without a result: to be forgotten */
	struct list answers, pending;
	size_t n_running, n_storing, storing_bytes;
	bool slow;         /* what was read last held us up */
	bool more_answers; /* to be read at once, behind a look at transfers */
	struct batch batch;
	int64_t tick_us;  /* when to look again */
	bool more;        /* there may be more that is due */
	int64_t retry_us; /* a post was refused: not before */
	struct fetch_job tidy;
	bool dead; /* what is released is of a run before this one */

	/* registrations */
	struct list regs_waiting, regs;

	struct hubs hubs;
	_Atomic int n_pushes; /* posted and not done */

	struct hatebu *hatebu;
	struct caged *caged; /* reads documents */
};

/* A registration that is under way. */
enum reg_step { TYPED, NAMED, PATHS, SITE, ICON };

struct reg {
	struct fetcher *f;
	struct registration *r; /* NULL: whoever waited was told */
	int64_t user, instead;  /* of r, which may be gone */
	bool private;           /* the same */
	struct uuid user_uid;   /* the same */
	struct str login;       /* the same, in the arena */
	struct link link;
	struct arena *arena;
	struct follow follow;
	struct client_header headers[2];
	enum reg_step step;
	int64_t begin_us, until_us; /* monotonic */
	struct str urls[TYPED_MAX];
	size_t n_urls, tried, icons_tried;
	struct discover *page; /* NULL: none was seen */
	struct str page_url, asked;
	bool sent_on;   /* a refresh was followed */
	struct err why; /* what to say when nothing is found */
	int http_status;

	struct fetch *x; /* the feed that was found */
	const char *icon_mime;
	struct str icon;

	struct fetch_job j; /* feed and subscription */
	bool known, stored;
	int64_t feed;
	struct uuid uid;
};

#define FETCHER_AGENT "Hikyaku/" HIKYAKU_VERSION " (feed reader)"
#define FETCH_ACCEPT                                                           \
	"application/atom+xml, application/rss+xml, application/feed+json, "   \
	"application/xml;q=0.9, text/xml;q=0.9, text/html;q=0.8, */*;q=0.5"
/* Past FETCH_STORING_MAX, so long as what is being written is no more: most
 * feeds are small, and the commit thread need not wait for us in between. */
#define FETCH_STORING_BYTES ((size_t)32 * 1024 * 1024)
#define FETCH_FORGET_STEP   1000 /* rows of feed_fetch that one tick looks at */

/* fetcher.c */
/* `fn` on the commit thread, with j->ctx; then `take` here. e may be NULL. */
int fetcher_post(struct fetcher *f, struct fetch_job *j, fetch_fn fn,
    fetch_take take, struct err *e);
int64_t fetcher_scaled_us(const struct fetcher *f, int64_t ms);
struct fetch *fetch_new(struct fetcher *f);
void fetch_free(struct fetch *x);
void fetch_free_all(struct list *l);
/* What the answer says, but for its body. */
void fetch_look(struct fetch *x, const struct follow_answer *a);

/* fetcher_due.c */
void due_run(struct fetcher *f); /* a turn: ticks, claims, starts */
int due_patience_ms(const struct fetcher *f);
/* All claims of this node. Dead: those of a run before this one, which may have
 * died of them. */
void due_release(struct fetcher *f, bool dead);

/* Takes it: it was begun, has no result, and is not to blame. */
void due_forget(struct fetch *x);

/* fetcher_store.c */
/* What is in f->answers is read and written, in turns. */
void fetch_store_parsed(
    struct fetch *x); /* of a registration: x->parsed is there */
void fetch_store_run(struct fetcher *f);

/* fetcher_register.c */
void register_run(struct fetcher *f);
void register_drop(struct fetcher *f); /* all of them are told to come again */
/* Tells whoever waits; why NULL: it is there. Frees it. */
void register_end(struct reg *g, const struct err *why);
/* Feed and subscription go to the store, then its articles. */
void register_store(struct reg *g);
/* Behind its articles, which why says can't be written; NULL: they are. */
void register_stored(struct reg *g, const struct err *why);
/* The same when the feed at g->asked is ours already; else false. */
bool register_known(struct reg *g);

/* fetcher_find.c */
void find_next(struct reg *g); /* the next address that it may be */

/* fetcher_hub.c */
void hub_run(struct fetcher *f);
void hub_drop(struct fetcher *f); /* what was not begun, at the end */
/* Is there a hub in x->parsed, or in what x->hub and x->topic have from the
 * head, that we don't know yet? Then all of x->hub_* is set. */
void hub_look(struct fetch *x);
void hub_pushed(struct fetch *x, const struct err *why); /* why NULL: all */

/* hatebu.c */
struct hatebu *hatebu_new(struct fetcher *f); /* NULL: not here */
void hatebu_run(struct hatebu *h);
int hatebu_patience_ms(const struct hatebu *h);
void hatebu_free(struct hatebu *h); /* NULL is fine */
