/*
 * owner.h - who delivers. The groups are taken as one, by a lease:
 *
 *   NONE ──take──▶ TAKING ──got them──▶ LOADING ──LOADED──▶ YES
 *    ▲                │ somebody has them   ▲ deliver.c       │ fenced, or
 *    └────────────────┴──── a second later ─┘                 │ stopping
 *    └────────────────────────────────────────────────────────┘
 *
 * What a node of the same name owned is free at once when it starts again,
 * without waiting for its lease to end (node/node.h). A store that one process
 * has for itself has decided everything already: the lease is written once and
 * never runs out.
 *
 * LIFE. A part of the deliver thread; its jobs run on the commit thread, one at
 * a time, and come back as NOTE_OWNED.
 */
#pragma once

#include "deliver/engine/note.h"
#include "event/append.h"

struct node;

enum owner_state {
	OWNER_NONE,    /* stands by */
	OWNER_TAKING,  /* has asked the store */
	OWNER_LOADING, /* dispatch tells the subscriptions */
	OWNER_YES,
	OWNER_LEAVING,
};

struct owner {
	struct deliver *d; /* who is told, and whose clock it is */
	struct append *append;
	const struct node *node;
	bool shared; /* other nodes may want the groups */
	enum owner_state state;
	/* Of the groups, written by the job while TAKING; epoch 0: none. */
	int64_t epoch, cursor, unclean;
	int64_t renewed_us, try_us;
	struct {
		struct note note;
		struct append_job job;
		int64_t posted_us;
		bool busy;
	} job;
};

enum owner_news { OWNER_SAME, OWNER_GOT, OWNER_LOST };

/* Takes the groups or renews their lease, when it is time. */
void owner_turn(struct owner *o, int64_t now);
/* NOTE_OWNED. LOST: another node has the groups. */
enum owner_news owner_job_done(struct owner *o, int64_t now);
bool owner_may_send(const struct owner *o, int64_t now);
/* At a good end: the next start finds everything in order. */
void owner_leave(struct owner *o);
