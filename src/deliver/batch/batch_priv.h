/*
 * batch_priv.h - batch.c decides when, batch_job.c makes and writes,
 * batch_store.c knows what is stored.
 */
#pragma once

#include <stdatomic.h>

#include "audit/audit.h"
#include "base/heap.h"
#include "deliver/batch/batch.h"
#include "deliver/batch/batch_window.h"
#include "deliver/batch/child_limit.h"
#include "deliver/batch/ring.h"
#include "deliver/engine/attempt.h"
#include "deliver/engine/flush.h"
#include "deliver/engine/hold.h"
#include "deliver/engine/wish.h"
#include "deliver/limits.h"
#include "event/append.h"

#define BATCH_RETRY_US ((int64_t)250 * 1000) /* after a store that failed */
#define BATCH_SCRATCH  (64 * MIB)
#define BATCH_ENTRIES                                                          \
	(BATCH_GROUPS_MAX > CHILD_SENDS_MAX ? BATCH_GROUPS_MAX                 \
					    : CHILD_SENDS_MAX)
/* Each drop one by one, one for the rest, and singles that are gone. */
#define BATCH_AUDITS    (CHILD_DROPS_MAX + 1 + CHILD_SENDS_MAX)
#define BATCH_FAILS_MAX (STRIKE_FAILURES + STRIKE_OVERRUNS)

enum stored { STORED_IDLE, STORED_ENGAGING, STORED_ENGAGED, STORED_LEAVING };

/* What the commit thread has, and comes back as a note. */
struct posted {
	struct note note;
	struct append_job job;
	struct batcher *b;
};

/* Events that a filter failed over, by seq. They are of no window: each is a
 * dead letter, written with the position that leaves it behind. */
struct fails {
	struct core_dead *v;
	size_t n;
};

/* One commit. Posted again as it is until it succeeds. */
struct batch_job {
	struct posted post;
	struct gather *g;
	struct arena *arena;
	uint32_t sub;
	int64_t pos, step, epoch, minute;
	bool idle;
	bool known; /* it was written before */
	struct str state;
	struct entry entries[BATCH_ENTRIES];
	struct audit_row audits[BATCH_AUDITS];
	size_t n_entries, n_audits;
	int64_t dropped;
	struct fails fails;
};

/* One subscription. */
struct gather {
	struct batcher *b;
	uint32_t sub;
	struct wish *wish;
	int program; /* jq; -1: none */
	enum stored stored;
	bool live;    /* else it is behind: it reads the log after `seen` */
	bool forced;  /* its window must end: what follows is the limiter's */
	bool reload;  /* what is stored counts, not what is here */
	bool dirty;   /* the limiter has taken what no job has written */
	int64_t seen; /* looked at, up to here */
	int64_t handled; /* in jobs, up to here; the row's pos */
	int64_t last;    /* that the limiter took */
	int64_t again;   /* LEAVING: to be engaged from here; -1: need not */
	int64_t step, retry_us;
	struct batch_window *open;
	struct child_limit *limit; /* NULL: never needed */
	struct fails fails;        /* for the next job */
	struct ring closed;        /* when its windows ended */
	struct batch_job *job;     /* NULL: none */
	bool busy;                 /* the commit thread has it */
	struct link in_list;       /* behind, or gone */
	struct heap_node due;
};

struct engage {
	uint32_t sub;
	int64_t pos;
};

struct batcher {
	struct deliver *d;
	struct mailbox *box;
	struct db *db;
	struct jq *jq;
	struct map *gathers; /* by sub */
	struct heap due;
	struct list behind;
	struct list gone; /* forgotten with a job under way */
	struct arena *scratch;
	size_t bytes; /* of all open windows */
	int64_t epoch;
	size_t unsettled; /* ENGAGING, or LEAVING with something that came */
	_Atomic int in_flight;
	bool told;
	struct {
		struct posted post;
		struct engage *v; /* being written */
		size_t n, cap;
		int64_t epoch, retry_us;
		bool busy, stale;
	} engage;
};

/* batch.c */
struct gather *batch_find(const struct batcher *b, uint32_t sub);
void batch_gather_free(struct gather *g);
void batch_set_due(struct gather *g, int64_t now);
void batch_fall_behind(struct gather *g);
/* This entry is the first that it has not looked at. */
void batch_fall_behind_at(struct gather *g, int64_t seq);
void batch_drop_window(struct gather *g);
void batch_limiter(struct gather *g);
int64_t batch_minute_us(const struct batcher *b);
size_t batch_per_minute(const struct batcher *b);

/* batch_store.c */
/* As after a start: what the limiter said is void. */
void batch_reload(struct gather *g, int64_t now);
/* It has taken this one. */
void batch_engage(struct gather *g, int64_t seq);
void batch_tell(struct batcher *b, const struct err *e);

/* batch_job.c: makes one and hands it over. */
void batch_job_window(struct gather *g, int64_t now);
/* Fails when the log can't be read: what the limiter gave is then the store's
 * alone, and has to be read again. */
int batch_job_limit(struct gather *g, int64_t now, struct err *e) MUST_CHECK;
void batch_job_leave(struct gather *g, int64_t now);
void batch_job_post(struct gather *g, int64_t now);
void batch_job_free(struct batch_job *j);
void batch_engage_post(struct batcher *b);
/* It failed over this one; false: there is no room now. */
bool batch_fail(
    struct gather *g, const struct letter *l, enum reason r, struct str why);
void batch_fails_done(struct fails *f);
