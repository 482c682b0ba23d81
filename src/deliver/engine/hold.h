/*
 * hold.h - subscriptions that are held: their filter or template went wrong too
 * often (strikes.h).
 *
 * The core leaves all that comes to a reader from the moment the deliver thread
 * hears of it; the store hears of it by a change of the subscription, with its
 * place in the log, which is posted until it is in. When somebody changed the
 * subscription meanwhile that change counts: dispatch comes to it, and the core
 * goes on.
 *
 * LIFE. A hold is in the list from hold_apply() until its change is stored or
 * refused. All but hold_strike() is the deliver thread's; another thread tells
 * it by NOTE_HOLD (deliver_tell_sub).
 */
#pragma once

#include "contract/verdict.h"
#include "deliver/engine/note.h"

struct append;
struct core;
struct jq_said;

struct holds {
	struct deliver *d; /* who is told, and knows the wishes */
	struct append *append;
	struct list list;
	int busy; /* with the commit thread */
};

/* What a filter said: a reason when it failed, and then it is counted. Any
 * thread; when wish_held() now, the deliver thread is to hear of it. */
enum reason hold_strike(
    struct wish *w, const struct jq_said *said, int64_t now);
/* When the wish is held and is still that of its subscription, so is that. */
void hold_apply(
    struct holds *all, struct core *core, struct wish *w, int64_t now);
/* NOTE_HELD */
void hold_posted(struct holds *all, struct note *n, int64_t now);
void hold_turn(struct holds *all, int64_t now);
int64_t hold_due(const struct holds *all); /* INT64_MAX: never */
void hold_done(struct holds *all);
