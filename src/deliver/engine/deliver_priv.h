/*
 * deliver_priv.h - the deliver thread and its parts.
 *
 *   deliver.c    start and stop, the deliver thread's loop;
 *                deliver_mail.c, deliver_load.c
 *   owner.h      taking, holding and losing the groups
 *   feeding.h    entries into the core
 *   attempt.h    one attempt, from the core's wish to its sink
 *   flush.h      changes of the core on their way into the store
 *   ask.h        what people ask of the engine
 *   confs.h      whole subscriptions, kept while they are in use
 *   replay.h     replays under way
 *   stale.h      the last version of each record that was handed over
 *   hold.h       subscriptions whose programs go wrong too often
 *   fetch.h      the fetch thread: pages and single entries of the log
 *
 * Each part is a struct with an owner, the file of its name; what is here is
 * the thread that has them all.
 */
#pragma once

#include <stdatomic.h>

#include "deliver/core/core.h"
#include "deliver/dispatch/dispatch.h"
#include "deliver/engine/ask.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/confs.h"
#include "deliver/engine/deliver.h"
#include "deliver/engine/feeding.h"
#include "deliver/engine/flush.h"
#include "deliver/engine/hold.h"
#include "deliver/engine/owner.h"
#include "deliver/engine/replay.h"

struct client;
struct pool;
struct stale;

struct deliver {
	struct deliver_opts o;
	/* A clock that never jumps, and goes on while the machine sleeps: a
	 * lease ends meanwhile. */
	int64_t wall_us; /* at boot_us */
	int64_t boot_us;

	struct mailbox *box, *ask_box;
	struct thread *thread;
	_Atomic bool sleeping, stopping, hurried, owns, cut_tests;
	int64_t stop_by_us;
	int stop_stage;

	struct dispatch *dispatch;
	struct pool *fetch;
	struct client *client;
	struct core *core;
	bool core_void; /* of groups that were lost: begin anew */
	struct go_note go;
	struct map *wishes; /* by sub */
	struct stale *stale;
	struct arena *scratch;
	struct {
		void *self;
		int64_t due; /* when it wants its turn */
	} sinks[SINKS];

	struct owner owner;
	struct feeding feeding;
	struct list attempts; /* in flight */
	struct flush flush;
	struct asks asks;
	struct confs confs;
	struct replays replays;
	struct holds holds;
};

/* attempt.c */
/* The groups are lost or the server stops: what is under way is cut off. */
void attempt_cancel_all(struct deliver *d, bool lost);
void attempt_cancel_tests(struct deliver *d);
void attempt_start(struct deliver *d, const struct core_send *s, int64_t now);
/* NOTE_LETTER, NOTE_VERSION */
void attempt_letter(struct attempt *a);
void attempt_version(struct attempt *a);
void attempt_test(struct deliver *d, struct ask_test *q, struct letter *l);

/* deliver_mail.c: what other threads tell and ask; true: there was some. */
bool deliver_mail(struct deliver *d);
/* NOTE_REPLAY once more, that the store had no answer to. */
void deliver_replays_late(struct deliver *d, int64_t now);
/* The same once nobody takes it any more. */
void deliver_mail_drop(struct deliver *d, const struct err *e);
void deliver_forget_subs(struct deliver *d);
void deliver_sinks_drop(struct deliver *d, const struct err *e);

/*
 * deliver_load.c: what the store knows of deliveries, into the core; after a start,
 * and after groups were taken over, once the core knows the subscriptions. It
 * reads endpoints, rows and readers, and what is settled above the cursor, which
 * is bounded by the window (limits.h) whatever the backlog is. What is settled
 * above a reader's position is not read: its pages leave such entries out (sql
 * log_feed_sub).
 */
int deliver_load(struct deliver *d, int64_t now, struct err *e) MUST_CHECK;
/* The same of the replays of one subscription. */
int deliver_load_replays(
    struct deliver *d, uint32_t sub, struct err *e) MUST_CHECK;
