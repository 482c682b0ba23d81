/*
 * deliver_priv.h - what the threads of the engine tell each other.
 *
 *   deliver.c    start and stop, the deliver thread's loop, its mail
 *   feeding.c    entries into the core
 *   owner.c      taking, holding and losing the groups
 *   dispatch.c   the dispatch thread
 *   batch.c      gathers events for batches, on the dispatch thread
 *   fetch.c      the fetch thread: pages and single entries of the log
 *   flushing.c   changes of the core on their way into the store
 *   sending.c    one attempt, from the core's wish to its result
 *   calling.c    its calls: token, health check, request
 *   confs.c      whole subscriptions, kept while they are in use
 *   ask.c        what people ask of the engine
 *   replay.c     replays under way
 *   lost.c       readers whose place in the log is gone
 *   stale.c      the last version of each record that was handed over
 *   settled.c    what became of deliveries that others keep account of
 *   hold.c       subscriptions whose programs go wrong too often
 *   revive.c     dead letters of a health check, put back when it is good
 *   pull.c       workers that fetch events, and what they answer
 *
 * A note is a letter box's slip: each struct below begins with one. Who posts a
 * note gives it away; feeds circulate between dispatch and deliver, so that
 * dispatch can't run ahead of it by more than there are feeds.
 */
#ifndef DELIVER_ENGINE_DELIVER_PRIV_H
#define DELIVER_ENGINE_DELIVER_PRIV_H

#include <stdatomic.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/uuid.h"
#include "contract/subscription.h"
#include "deliver/core/core.h"
#include "deliver/core/limits.h"
#include "deliver/engine/deliver.h"
#include "deliver/engine/flush.h"
#include "deliver/limits.h"
#include "event/append.h"
#include "event/tail.h"
#include "http/client/client.h"

struct arena;
struct db;
struct jq;
struct jq_said;
struct letter;
struct map;
struct oauth;
struct outcome;
struct presets;
struct replay;
struct request;
struct waiter;
struct wish;

#define FLUSH_AGAIN_US (100 * US_PER_MS) /* after the store or log failed */

enum note_kind {
	/* to deliver */
	NOTE_SUB,     /* made or changed */
	NOTE_SUB_END, /* gone */
	NOTE_PRESETS, /* a preset was changed: here are all */
	NOTE_LOADED,  /* all subscriptions were told */
	NOTE_FEED,
	NOTE_PAGE,    /* of a reader */
	NOTE_LETTER,  /* for an attempt */
	NOTE_VERSION, /* the same */
	NOTE_DEADS,   /* a page of dead letters */
	NOTE_JOB,     /* the commit thread did it */
	NOTE_HOLD,    /* a subscription is to be held */
	NOTE_HELD,    /* … and that is stored, or can't be */
	NOTE_ASK,
	/* to dispatch */
	NOTE_BEGIN, /* tell all subscriptions */
	NOTE_GO,    /* read the log from here on */
	NOTE_HALT,  /* forget all */
	NOTE_NEWS,  /* the log has grown, or time has passed */
	NOTE_FREE,  /* a feed comes back */
	NOTE_BATCH, /* a job of the batcher is done */
};

struct note {
	struct mail mail;
	enum note_kind kind;
};

struct sub_note {
	struct note note;
	struct wish *wish; /* SUB, HOLD; a reference */
	uint32_t sub;      /* SUB_END */
};

struct presets_note {
	struct note note;
	struct presets *presets;
};

/* A part of a page of the log, matched. */
struct feed {
	struct note note;
	int64_t upto; /* all up to here has been fed with this */
	size_t n;
	struct {
		struct letter *letter; /* references */
		struct wish *wish;
		bool waits; /* its filter was not asked: its reader will */
	} v[FEED_MAX];
};

struct page {
	struct note note;
	struct core_read read;
	struct wish *wish;
	struct replay *replay; /* NULL: none; a reference */
	int64_t upto;          /* looked at; read.after when it failed */
	int64_t lost_to; /* the log begins behind it; 0: nothing is lost */
	size_t n;
	struct letter *letters[READ_PAGE_MAX];
};

/* The log entry of an attempt whose letter is gone from memory. */
struct one_letter {
	struct note note;
	uint32_t sub;
	int rep;
	int64_t seq;
	bool failed;             /* the store is away: ask again */
	bool unjudged;           /* its filter failed before: ask it again */
	bool left_out;           /* by the filter, now that it could be asked */
	struct wish *wish;       /* whose filter that is; NULL: not asked */
	struct letter *letter;   /* NULL: the log has it no more */
	struct attempt *attempt; /* NULL: for a worker */
	struct waiter *waiter;   /* … pull.c */
	int n;                   /* and which attempt it will be */
};

/* The last version of a record, for an attempt that may be stale. */
struct one_version {
	struct note note;
	uint32_t sub;
	struct core_rec rec;
	int64_t rv;  /* CORE_NO_RV: none was handed over */
	bool failed; /* the store is away */
	struct attempt *attempt;
};

/* A place among the dead letters of a subscription: by when they died. */
struct dead_at {
	int64_t at, seq;
	int rep;
};

/* Dead letters of a health check that failed, and their events. */
struct deads {
	struct note note;
	uint32_t sub;
	int64_t turn;  /* of revive.c: who asked for it */
	bool failed;   /* the store is away */
	bool crowded;  /* too much of it waits to be sent */
	bool more;     /* there may be */
	int64_t until; /* those that died by then */
	struct dead_at after;
	size_t n;
	struct {
		struct dead_at at;
		uint64_t okey, skey;
		int n;
		struct letter *letter;
	} v[REVIVE_PAGE];
};

struct go_note {
	struct note note;
	int64_t cursor, epoch;
};

/* A whole subscription, and who uses it: attempts, and the cache. */
struct kept_conf {
	int refs;
	bool old; /* out of the cache */
	uint32_t sub;
	struct link in_order;
	struct sub_conf *conf;
	struct sub_policy policy;
	int template; /* jq program; -1: none */
};

enum owner_state {
	OWNER_NONE,    /* stands by */
	OWNER_TAKING,  /* has asked the store */
	OWNER_LOADING, /* dispatch tells the subscriptions */
	OWNER_YES,
	OWNER_LEAVING,
};

struct deliver {
	struct deliver_opts o;
	char node[UUID_LEN + 1];
	char host[65];
	struct presets *presets; /* the deliver thread's */
	/* A clock that never jumps, and goes on while the machine sleeps: a
	 * lease ends meanwhile. */
	int64_t wall_us; /* at boot_us */
	int64_t boot_us;

	struct mailbox *box;
	struct thread *thread;
	struct dispatch *dispatch;
	struct pool *fetch;
	struct client *client;
	struct oauth *oauth;
	struct jq *jq;
	struct db *db; /* reads of the deliver thread: subscriptions */
	struct core *core;
	struct map *wishes; /* by sub */
	struct map *confs;
	struct map *replays;    /* struct replay, by their key */
	struct list conf_order; /* least used first */
	struct stale *stale;
	_Atomic bool sleeping;
	_Atomic bool stopping;
	int64_t stop_by_us;

	enum owner_state owner;
	int64_t epoch, cursor, unclean;
	int64_t renewed_us, try_us;
	bool renewing;
	struct {
		struct note note;
		struct append_job job;
		struct flush flush; /* changes NULL: none to write */
		bool real;          /* they are the core's */
		bool busy;
	} flush_job;
	struct {
		struct note note;
		struct append_job job;
		int64_t epoch, cursor, unclean;
		int64_t posted_us;
		bool busy;
	} owner_job;
	int64_t flush_again_us; /* after one that failed */
	int told_rc;

	struct list attempts; /* in flight */
	struct list spare;
	size_t n_spare;
	struct mail *later; /* asks that wait for dispatch */
	/* Asks whose changes are in the next flush, and in the one under way. */
	struct mail *asked, *asked_now;
	struct flush_decision *decisions, *decisions_now;
	size_t n_decisions, n_decisions_now, cap_decisions, cap_decisions_now;
	/* Stretches of the log that went unread; the same two. */
	struct flush_range *ranges, *ranges_now;
	size_t n_ranges, n_ranges_now, cap_ranges, cap_ranges_now;
	bool hurry;                        /* somebody waits for a flush */
	struct flush_settled *settlements; /* of the flush under way */
	size_t cap_settlements;
	struct {
		struct map *ill; /* by sub */
		struct heap due; /* those at rest */
		size_t busy;     /* those that are looked after */
		int64_t turn;
	} revive;

	struct {
		struct map *all;    /* struct pull, by sub */
		size_t letters;     /* that are being read for workers */
		int64_t due;        /* when pull_turn() has something to do */
		_Atomic bool hurry; /* nobody is to wait any more */
	} pull;

	struct list holds; /* hold.c */
	int holds_busy;

	struct mailbox *ask_box;
	struct go_note go;
	struct arena *scratch;
	int64_t flush_number;
	size_t pages; /* under way in fetch */
	int64_t read_again_us, load_again_us;
	bool progressed; /* results were written since the start */
	bool core_void;  /* of groups that were lost: begin anew */
	int stop_stage;
};

int64_t deliver_now(const struct deliver *d);
void deliver_tell(struct deliver *d, struct note *n);
/* Another node has the groups. Not while a flush is under way. */
void deliver_lose(struct deliver *d, const struct err *e);
struct wish *deliver_wish(const struct deliver *d, uint32_t sub);

/* flushing.c */
void flushing_begin(struct deliver *d, int64_t now);
void flushing_ended(struct deliver *d, int64_t now);

/* owner.c */
int owner_name(const char *folder, char ret[UUID_LEN + 1], struct err *e);
void owner_turn(struct deliver *d, int64_t now);
void owner_job_done(struct deliver *d, int64_t now);
void owner_lost(struct deliver *d);
bool owner_may_send(const struct deliver *d, int64_t now);
void owner_leave(struct deliver *d);

/* dispatch.c */
struct dispatch;
int dispatch_start(
    struct deliver *d, struct dispatch **ret, struct err *e) MUST_CHECK;
void dispatch_stop(struct dispatch *x);
void dispatch_tell(struct dispatch *x, struct note *n);

/* feeding.c */
void feeding_feed(struct deliver *d, struct feed *f, int64_t now);
void feeding_page(struct deliver *d, struct page *p, int64_t now);
/* Order and spacing keys of an entry; false: it is not wanted after all. */
bool deliver_keys(struct deliver *d, const struct wish *w, struct letter *l,
    struct core_entry *en);

/* fetch.c */
int fetch_start(struct deliver *d, struct err *e) MUST_CHECK;
bool fetch_page(struct deliver *d, const struct core_read *r, struct wish *w);
void fetch_page_free(struct page *p);
void fetch_letter_free(struct one_letter *one);
/* With `w` its filter is asked about an entry that was sealed, or whose filter
 * failed before (s->unjudged); or NULL. */
bool fetch_letter(struct deliver *d, struct attempt *at, struct waiter *waiter,
    const struct core_send *s, struct wish *w);

/* NOTE_VERSION comes back. False: not now. */
bool fetch_version(struct deliver *d, struct attempt *at, uint32_t sub,
    const struct core_rec *rec);
void fetch_version_free(struct one_version *one);

bool fetch_deads(struct deliver *d, const struct deads *want);
void fetch_deads_free(struct deads *p);

/* confs.c */
struct kept_conf *conf_get(struct deliver *d, uint32_t sub, struct err *e);
void conf_put(struct deliver *d, struct kept_conf *k);
void conf_forget(struct deliver *d, uint32_t sub);
void confs_done(struct deliver *d);
/* The parts of a send that all sends to a subscription have in common. */
bool conf_send(struct deliver *d, struct arena *a, const struct kept_conf *k,
    const struct request *r, struct client_send *ret);

/* sending.c */
void sending_start(struct deliver *d, const struct core_send *s, int64_t now);
void sending_letter(struct deliver *d, struct one_letter *one);
void sending_version(struct deliver *d, struct one_version *one);
void sending_test(struct deliver *d, struct deliver_ask *q, struct letter *l);
void sending_cancel_all(struct deliver *d, bool lost);
void sending_done(struct deliver *d);

/* revive.c */
int revive_start(struct deliver *d, struct err *e) MUST_CHECK;
/* It has, or may have, dead letters of a health check. */
void revive_note(struct deliver *d, uint32_t sub, int64_t now);
void revive_turn(struct deliver *d, int64_t now);
int64_t revive_due(const struct deliver *d); /* INT64_MAX: never */
void revive_deads(struct deliver *d, struct deads *p, int64_t now);
void revive_forget(struct deliver *d, uint32_t sub);
void revive_forget_all(struct deliver *d);
void revive_done(struct deliver *d);

/* pull.c */
int pull_start(struct deliver *d, struct err *e) MUST_CHECK;
void pull_fetch(struct deliver *d, struct deliver_ask *q, int64_t now);
void pull_send(struct deliver *d, const struct core_send *s, int64_t now);
void pull_version(struct deliver *d, const struct one_version *one);
void pull_letter(struct deliver *d, struct one_letter *one, int64_t now);
void pull_expired(struct deliver *d, const struct core_send *s, int64_t now);
void pull_answers(struct deliver *d, struct deliver_ask *q, int64_t now);
void pull_numbers(struct deliver *d, struct deliver_ask *q);
/* Whoever can be answered is; true: more may be sent now. */
bool pull_turn(struct deliver *d, int64_t now);
/* The groups are lost, or the engine ends: nobody waits any more. */
void pull_drop(struct deliver *d, const struct err *e);
void pull_done(struct deliver *d);

/* hold.c */
/* What a filter said: a reason when it failed, and then it is counted. Any
 * thread; when wish_held() now, the deliver thread is to hear of it. */
enum reason hold_strike(
    struct deliver *d, struct wish *w, const struct jq_said *said);
void hold_tell(struct deliver *d, struct wish *w); /* another thread */
/* Its letter is in memory, with what its filter says of it now. */
bool hold_knows(const struct deliver *d, const struct core_send *s);
/* When the wish is held and is still that of its subscription, so is that. */
void hold_apply(struct deliver *d, struct wish *w, int64_t now);
void hold_posted(struct deliver *d, struct note *n, int64_t now);
void hold_turn(struct deliver *d, int64_t now);
int64_t hold_due(const struct deliver *d); /* INT64_MAX: never */
void hold_done(struct deliver *d);

/* control.c: the receiver said that it is gone for good. */
void control_gone(struct deliver *d, uint32_t sub, bool tell);

/* replay.c */
struct replay *replays_find(const struct deliver *d, uint32_t sub, int rep);
/* Stored already; again is nothing. */
int replays_begin(struct deliver *d, const struct core_reader *rd, int64_t rate,
    bool stopped, struct str types, int64_t now, struct err *e) MUST_CHECK;
void replays_written(struct deliver *d, const struct core_reader *rd);
void replays_forget(struct deliver *d, uint32_t sub); /* 0: all */

/* lost.c */
void lost_add(struct deliver *d, const struct page *p, int64_t now);
void lost_take(struct deliver *d);

/* ask.c */
void ask_take(struct deliver *d, struct deliver_ask *q, int64_t now);
void ask_again(struct deliver *d, int64_t now);
void ask_flushed(struct deliver *d, int rc, const struct err *e);
void ask_drop(struct deliver *d, const struct err *e);

/* settled.c: fills in the flush that is about to be posted. */
void settled_find(struct deliver *d);

#endif
