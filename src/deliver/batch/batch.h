/*
 * batch.h - gathering: events that a subscription does not get one by one.
 *
 * Which those are says wish_gathers(): all in mode batched or summary, CHILD_*
 * events with the preset `repository`. Dispatch feeds them to nobody; it hands
 * them over here, and what comes out is a *directed* entry of the log, for that
 * subscription alone: a batch, a summary, or a CHILD_* event whose turn has
 * come. From there on it is a delivery like any other: its deliveryId, its
 * content, retries and order are the log's.
 *
 *   dispatch ──take──▶ window or limiter ──turn──▶ job: ONE transaction
 *      ▲  behind: the log, from `seen` on           entries, position, state,
 *      └──────────────────────────────────────────  drops with their audit
 *
 * A WINDOW (batch_window.h) ends by time or when it is full; THE LIMITER
 * (child_limit.h) lets single CHILD_* events out. What is in memory is a copy
 * of what the log has behind the stored position: when there is no room, or the
 * store does not answer, a subscription falls behind, and reads the log itself.
 *
 * WHY NOTHING IS LOST OR DOUBLE. Without a row, or with one that is idle, a
 * subscription gathers from the cursor on, what stands behind the row's pos.
 * The first event engages it: a row with pos before that event is committed
 * before dispatch tells anybody that it is past it (batcher_settled()), so the
 * cursor can't pass an event that only memory knows. Each job moves pos, makes
 * its entries and counts its drops in one transaction, fenced by the epoch and
 * numbered by step. A crash before it: nothing was sent, and the same events
 * are gathered again. A crash behind it: they are behind us.
 *
 *            take             engaged            job that leaves nothing
 *   IDLE ───────────▶ ENGAGING ──────▶ ENGAGED ───────────────▶ LEAVING ─┐
 *    ▲                    ▲                                     │ done   │
 *    └────────────────────┼──────────── nothing came ───────────┤        │
 *                         └──── something came meanwhile ───────┘ again ◀┘
 *
 * FILTERS. One that fails over an event makes it a dead letter, in the same
 * transaction as the position behind it. A subscription that is held (hold.h)
 * falls behind and reads on when it is not: its window ends all the same.
 *
 * CHANGES. Another mode or window: what is not committed is gathered anew under
 * the new terms. Back to immediate: what stands before that change in the log
 * goes out as one last batch, at once; wish_gathers() knows the place, whatever
 * readers do. Disabled: it goes on, and its batches wait for it in the log as
 * all else does, so that "resume" and "skip to now" mean what they mean
 * elsewhere. Ended: its row goes with it (control.c).
 *
 * LIMITS of 10.2.2 in mode batched: at most so many windows a minute as a
 * folder may have deliveries; what is over that waits in the log, none is
 * dropped. A breaker is for single events alone.
 *
 * LIFE. The dispatch thread's. Jobs run on the commit thread and come back as
 * NOTE_BATCH; batcher_free() after batcher_wait().
 */
#pragma once

#include "contract/verdict.h"

struct batcher;
struct db;
struct deliver;
struct jq;
struct letter;
struct mailbox;
struct note;
struct wish;

struct batcher *batcher_new(
    struct deliver *d, struct mailbox *box, struct db *db, struct jq *jq);
/* For jobs under way, once the mailbox is closed. */
void batcher_wait(struct batcher *b);
void batcher_free(struct batcher *b); /* NULL is fine */

/* Made or changed; program is its filter's, or -1. */
void batcher_sub(struct batcher *b, struct wish *w, int program);
void batcher_forget(struct batcher *b, uint32_t sub);
void batcher_halt(struct batcher *b); /* all of them */
/* Dispatch begins behind the cursor: reads what is stored. */
int batcher_go(
    struct batcher *b, int64_t cursor, int64_t epoch, struct err *e) MUST_CHECK;

/* An event that this subscription wants and wish_gathers(). */
void batcher_take(struct batcher *b, uint32_t sub, struct letter *l);
/* Its filter failed over this one. */
void batcher_fail(struct batcher *b, uint32_t sub, const struct letter *l,
    enum reason r, struct str why);
/* Whether it takes events from dispatch; else it reads the log itself. */
bool batcher_live(const struct batcher *b, uint32_t sub);
/* Whether the cursor may pass all that was taken; else batcher_push(). */
bool batcher_settled(const struct batcher *b);
void batcher_push(struct batcher *b);

/*
 * What is due now; those behind read on, up to `upto`. Dispatch has matched
 * everything up to there. Milliseconds until there is more to do; -1: nothing.
 */
int batcher_turn(struct batcher *b, int64_t upto);
/* NOTE_BATCH: a job is done. */
void batcher_note(struct batcher *b, struct note *n);
