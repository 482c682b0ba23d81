/*
 * core_priv.h - the parts of the core, for its own files.
 *
 *   core.c        life, subscriptions, items and where they are listed
 *   core_feed.c   entries that come in
 *   core_read.c   readers, pages
 *   core_send.c   who may send now
 *   core_peers.c  those of one record
 *   core_result.c results, breaker, timers
 *   core_flush.c  rows, positions, the set of changes
 *   core_load.c   recovery, and what people ask for
 *   core_pull.c   sends on demand, leases
 *
 * WHERE AN ITEM IS. In its subscription's list; in its lane's queue by seq
 * (order key); in one *origin* by seq as long as no row covers it: the live
 * list, which holds the cursor back, or a reader's, which holds that reader's
 * position back; in `ready` when it may be sent; in `dirty` when its row is to
 * be written.
 *
 * A GAP. A reader that comes near dispatch is given an end (until) before its
 * last page is read, and what dispatch feeds from then on is taken. Until the
 * page has come those items wait behind the gap (read_pos, until]: that is how
 * a reader meets a stream that never stands still. When there is no room for
 * the page, what is behind the gap goes, and the reader is open again.
 *
 * WHAT A TURN COSTS. A hundred thousand subscriptions may each have a reader
 * that stands still, so nothing walks all readers: who has something to do is
 * in a list. `check`: something changed that it may wait for; `want`: a page;
 * `starving`: room; `moved`: its position went on; `urgent`: the
 * next flush must write it; `lagging`: it is held back for too long.
 */
#pragma once

#include "base/heap.h"
#include "deliver/core/core.h"

/* A delivery's name; the map's key. */
struct spot {
	int64_t seq;
	uint32_t sub, rep;
};

struct lane_key {
	uint64_t okey;
	uint32_t sub, rep;
};

struct peers_key {
	struct core_rec rec;
	uint32_t sub, none;
};

enum timer_kind { TIMER_ITEM, TIMER_ENDPOINT, TIMER_SUB, TIMER_READER };

struct timer {
	struct heap_node node;
	enum timer_kind kind;
};

enum item_state { IT_WAIT, IT_LOCK, IT_FLIGHT, IT_RETRY, IT_HELD };

struct item {
	struct spot spot;
	struct link in_sub, in_lane, in_origin, in_ready, in_dirty, in_peers;
	struct link in_expired;
	struct sub *sub;
	struct lane *lane;     /* NULL: order none */
	struct peers *peers;   /* NULL: it has no record, or is exempt */
	struct reader *origin; /* NULL: live */
	struct timer timer;
	struct core_row row; /* as it is stored, but for `state` */
	enum item_state state;
	bool has_row; /* the store has one, or will with the next flush */
	bool probe;   /* in flight for an open breaker */
	bool free;    /* and failing costs no try */
	bool again;   /* ready, and no breaker holds it: breaker_first */
	bool orphan;  /* in flight, and its subscription is gone */
	bool counted; /* careful: its row says one crash more than there was */
	bool handed;  /* pull: a worker has it */
	bool mark;    /* pull: see core_handed() */
	int breaker_fails; /* as its subscription was when it was sent */
	int64_t breaker_us;
	uint64_t fail_run; /* of its endpoint, when its failure was counted */
	int64_t fed_at;
	int64_t flew_at; /* pull */
	struct endpoint *sent_to;
	void *ev;
};

struct lane {
	struct lane_key key;
	struct sub *sub;
	struct list items;
	struct reader *rd;
	size_t rows;
	int flying;
	int64_t past; /* newest that was settled: it is not read again */
};

/* The items of one subscription and record. */
struct peers {
	struct peers_key key;
	struct list items;
	int flying;
};

struct reader {
	struct sub *sub;
	struct lane *lane; /* NULL: the whole subscription */
	uint32_t rep;
	struct list items; /* that hold its position back, by seq */
	int64_t read_pos, until;
	bool stored, reading, stale, exclusive;
	bool stuck; /* its next entry found no room in its lane */
	int64_t stored_pos, stored_until;
	int64_t hold; /* it stays stored until the cursor is there */
	struct link in_want, in_check, in_starved, in_all, in_sub, in_replays;
	struct link in_moved, in_urgent, in_lagging;
	struct timer timer; /* replays: not before */
	int64_t interval_us, next_read;
};

struct rate {
	int64_t interval_us, next;
};

struct sub {
	struct core_sub o;
	struct endpoint *ep;
	struct list items;
	struct list ready, again;     /* that may be sent: item.again */
	struct list readers, replays; /* replays are in both */
	struct list starved;          /* readers that found no room */
	struct reader *rd;
	struct reader *excl; /* the replay that it waits for */
	size_t excl_items;   /* of that replay */
	size_t own;          /* items of no replay */
	struct list settled; /* after a start: see core_load_settled() */
	int64_t settled_upto;
	int64_t fed; /* newest that dispatch fed */
	size_t rows, lanes, lane_readers;
	int in_flight;
	int demand, starting; /* pull: may start, are not handed over yet */
	int64_t flown;        /* pull: newest that was ever sent or settled */
	int64_t spaced_from;  /* calls may have ended just before a start */
	struct rate rate;
	struct timer timer;
	struct link in_ep;    /* it has items that are ready */
	struct link in_again; /* … though the breaker is open */
	struct link in_members, in_settling, in_starving, in_pulls;
	bool ended;
};

struct endpoint {
	uint64_t id;
	struct list ready, again, members; /* subs */
	int in_flight, cap, cap_max, floor;
	struct rate rate;
	int64_t not_before, open_until;
	bool open, dirty, sick;
	bool pull;    /* of those who pull; not shared with others */
	int fails;    /* deliveries that failed since the last success */
	uint64_t run; /* which changes with each success; unique */
	struct timer timer;
	struct link in_run, in_sick;
	struct link in_dirty;
};

/* One that is delivered already, though it will be fed again. */
struct settled {
	struct spot spot;
	struct link in_sub;
};

/* The last call of a spacing key. */
struct space {
	uint64_t key;
	int64_t not_before;
	bool busy;
	struct link in_spaces;
};

struct changes {
	struct core_changes v;
	struct {
		size_t attempts, dels, puts, deads, readers, endpoints;
	} cap;
	size_t drops;  /* of its attempts */
	int64_t since; /* its oldest result; 0: none */
};

struct core {
	struct core_opts o;
	struct map *subs, *endpoints, *items, *lanes, *spaces, *settled;
	struct map *peers;
	struct list space_list; /* idle ones, by when they end, about */
	struct list live, dirty, dirty_eps, run, sick, locked, settling;
	struct list pull_run, expired, pulls;
	struct list readers, closing, want, check, starving;
	struct list moved, urgent, lagging;
	struct heap timers;
	uint64_t runs;             /* of all endpoints */
	int64_t upto;              /* dispatch came so far */
	int64_t cursor, cursor_at; /* stored, when */
	int64_t settled_upto;      /* newest of any; 0: dispatch is past them */
	int64_t careful_upto;
	int in_flight, sick_in_flight, reads;
	int leases, starting; /* pull */
	size_t rows;
	bool started;

	struct changes next, now; /* being filled; being written */
	bool flushing;
	/* LOCK items: whose row is to be written, is being written */
	struct list locking, lock_now;
};

#define ITEM_OF(link, member) LINK_OF(link, struct item, member)

#define KEY(x) ((struct str){(const char *)&(x), sizeof(x)}) /* of a map */

/* core.c */
struct sub *sub_find(const struct core *c, uint32_t id);
struct item *item_find(
    const struct core *c, uint32_t sub, int64_t seq, uint32_t rep);
struct item *item_new(struct core *c, struct sub *s, const struct core_row *row,
    void *ev, int64_t now);
void item_free(struct core *c, struct item *it);
void item_origin(struct core *c, struct item *it, struct reader *rd);
void item_no_origin(struct core *c, struct item *it);
void item_has_row(struct core *c, struct item *it);
void item_row(struct core *c, struct item *it);
void item_no_ev(struct core *c, struct item *it);
struct lane *lane_find(
    const struct core *c, const struct sub *s, uint64_t okey, uint32_t rep);
struct lane *lane_get(
    struct core *c, struct sub *s, uint64_t okey, uint32_t rep);
void lane_drop_idle(struct core *c, struct lane *lane);
size_t sub_used(const struct sub *s);
bool sub_room(const struct core *c, const struct sub *s);
struct endpoint *endpoint_get(struct core *c, uint64_t id);
void endpoint_drop_idle(struct core *c, struct endpoint *ep);
void timer_set(struct core *c, struct timer *t, int64_t due);
void timer_off(struct core *c, struct timer *t);
void sub_forget_settled(struct core *c, struct sub *s);

/* core_read.c */
bool lane_blocked(const struct lane *lane);
struct reader *reader_new(
    struct core *c, struct sub *s, struct lane *lane, uint32_t rep);
void reader_free(struct core *c, struct reader *rd);
void sub_waits_for(struct core *c, struct sub *s, struct reader *rd);
int64_t sub_front(const struct core *c, const struct sub *s);
bool reader_room(struct core *c, struct reader *rd);
bool reader_gap(const struct reader *rd, int64_t seq);
bool reader_read_out(const struct reader *rd);
bool reader_unread(const struct core *c, const struct reader *rd);
void reader_check(struct core *c, struct reader *rd);
void reader_later(struct core *c, struct reader *rd);
void sub_readers_later(struct core *c, struct sub *s);
void sub_feed_starved(struct core *c, struct sub *s);
void reader_moved(struct core *c, struct reader *rd);
void sub_check_readers(struct core *c, struct sub *s);
void sub_to_reader(struct core *c, struct sub *s, int64_t read_pos);
void lane_to_reader(struct core *c, struct lane *lane, int64_t fed_pos);

/* core_send.c */
void item_go(struct core *c, struct item *it);
bool item_behind_gap(const struct item *it);
int core_sick_slots(const struct core *c);
void item_tell(struct item *it, struct core_send *ret);
void item_ready(struct core *c, struct item *it);
void item_unready(struct item *it);
void lane_ready(struct core *c, struct lane *lane);
void sub_ready(struct core *c, struct sub *s);
void endpoint_run(struct core *c, struct endpoint *ep);
void space_end(struct core *c, const struct item *it, int64_t not_before);
void send_unused(struct core *c, struct item *it);

void item_flies(struct item *it);

/* core_peers.c */
void peers_join(struct core *c, struct item *it);
void peers_leave(struct core *c, struct item *it);
bool peers_busy(const struct item *it);
void peers_fly(struct item *it);
void peers_ready(struct core *c, struct peers *p);
bool peers_fed(struct core *c, struct item *it, int64_t now);
bool peers_turn(struct core *c, struct item *it, int64_t now);

/* core_pull.c */
void pull_land(struct core *c, struct item *it);
void pull_load(struct core *c, struct item *it);
void pull_rest(struct core *c, struct sub *s);

/* core_result.c */
void item_settle(struct core *c, struct item *it);
void item_landed(struct item *it);
bool item_orphaned(struct core *c, struct item *it, int64_t now);

/* core_flush.c */
void item_put_del(struct core *c, const struct item *it);
void item_put_dead(struct core *c, const struct item *it, int reason,
    void *detail, int64_t now);
void item_put_attempt(struct core *c, const struct item *it,
    const struct core_result *r, int64_t now);
int64_t reader_pos(const struct reader *rd);
void core_touched(struct core *c, int64_t now);
struct core_row item_as_row(const struct item *it);
size_t core_unflushed(const struct core *c);
size_t core_drops(const struct core *c);
