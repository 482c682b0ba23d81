/*
 * fetch.h - the fetch thread: what the deliver thread must not wait for.
 *
 * Pages of the log for readers, single entries for retries, versions of
 * records, pages of dead letters. A page looks at no more than FETCH_SCAN
 * entries, so that a reader which wants one event in a million holds nobody up.
 *
 * LIFE. Each is asked for by a function that is false when too much is asked
 * for already, and comes back to the deliver thread as a note. An attempt is
 * the fetch thread's meanwhile, but for its `void_`; the others are freed by
 * the function of their name.
 */
#pragma once

#include "deliver/core/core.h"
#include "deliver/core/limits.h"
#include "deliver/engine/note.h"
#include "deliver/limits.h"
#include "loop/pool.h"

struct attempt;
struct letter;
struct replay;

struct fetcher;

/* The head of what is asked for. */
struct fetched {
	struct note note; /* as which it comes back */
	struct pool_job job;
	struct deliver *d;
	void (*read)(struct fetcher *f, struct fetched *x);
};

/* A page of a reader. */
struct page {
	struct fetched head;
	struct core_read read;
	struct wish *wish;
	struct replay *replay; /* NULL: none; a reference */
	int64_t upto;          /* looked at; read.after when it failed */
	int64_t lost_to; /* the log begins behind it; 0: nothing is lost */
	size_t n;
	struct letter *letters[READ_PAGE_MAX];
};

/* A place among the dead letters of a subscription: by when they died. */
struct dead_at {
	int64_t at, seq;
	int rep;
};

/* Dead letters of a health check that failed, and their events. */
struct deads {
	struct fetched head;
	uint32_t sub;
	int64_t turn;  /* the asker's own */
	bool failed;   /* the store is away */
	bool crowded;  /* too much of it waits to be sent */
	bool more;     /* there may be */
	int64_t until; /* those that died by then */
	struct dead_at after;
	size_t n;
	struct dead_row {
		struct dead_at at;
		uint64_t okey, skey;
		int n;
		struct letter *letter;
	} v[REVIVE_PAGE];
};

int fetch_start(struct deliver *d, struct pool **ret, struct err *e) MUST_CHECK;

/* NOTE_PAGE. */
bool fetch_page(struct deliver *d, const struct core_read *r, struct wish *w,
    struct replay *replay);
void fetch_page_free(struct page *p);
/*
 * NOTE_LETTER: the attempt itself, with the log's entry of its delivery, or
 * NULL when the log has it no more. With `w` its filter is asked about an entry
 * that was sealed, or whose filter failed before (s.unjudged); or NULL.
 */
bool fetch_letter(struct attempt *a, struct wish *w);
/* NOTE_VERSION: the attempt, with the last version of its record. */
bool fetch_version(struct attempt *a);
/* NOTE_DEADS, which goes to the sink of the subscription. */
bool fetch_deads(struct deliver *d, const struct deads *want);
void fetch_deads_free(struct deads *p);
