/*
 * live.h - server-sent events: a stream that stays open.
 *
 *   pull ── something is ready ──▶ send it
 *     ├── there is more to read ──▶ a read thread fills `ready` ──▶ wake
 *     └── nothing newer ──▶ the tail waits for it, or for a heartbeat ──▶ wake
 *
 * What is read, and what is waited for, is said by its kind.
 *
 * LIFE. A client may leave at any moment, also while a read thread or the tail
 * works for it. So the stream is not the request's: it has two owners at most,
 * the request and the one errand under way, and goes with the last of them.
 *
 * WHO MAY. A right that was taken away must end a stream too. So one ends when
 * any key, account or session was changed on this node, when its key or session
 * expires, and after the kind's life in any case; a client whose right still
 * holds comes back with Last-Event-ID and misses nothing.
 */
#pragma once

#include "event/tail.h"
#include "http/server/req.h"
#include "loop/pool.h"

struct api;
struct live;

struct live_kind {
	/* On a read thread: appends to l->ready, moves its place in l->state. */
	int (*read)(struct live *l, struct db *db, struct err *e);
	/* Is there nothing to read? Then w says what it waits for. */
	bool (*rests)(struct live *l, struct tail_waiter *w);
	int64_t life_ms;
	int64_t pause_ms; /* between two readings */
	int64_t check_ms; /* how often its right is looked at, at least */
};

struct live {
	const struct live_kind *kind;
	void *state; /* the kind's, in the arena */
	struct api *api;
	struct arena *arena;  /* nothing of the request's may be needed */
	struct principal who; /* without tenants, unless the kind copies them */
	struct buf ready;

	/* live.c's */
	_Atomic int owners;
	_Atomic bool away; /* an errand is under way: hands off the rest */
	struct waker *waker;
	struct pool_job job;
	struct tail_waiter waiter;
	size_t sent;         /* of `ready` */
	int64_t beat_ms;     /* when silence must be broken */
	int64_t look_ms;     /* not to be read before */
	int64_t end_ms;      /* when the client must come again, with its key */
	bool failed;         /* the last read did */
	bool by_cookie;      /* how its owner is known */
	uint64_t generation; /* of what auth knew at the beginning */
};

/* One for the request, with a state of so many bytes. */
struct live *live_new(
    struct req *r, const struct live_kind *kind, size_t state_bytes);
void live_drop(struct live *l); /* instead of live_begin() */
/* Answers with it; takes it, also when it fails: ERR_BUSY. */
int live_begin(struct req *r, struct live *l, struct err *e) MUST_CHECK;
