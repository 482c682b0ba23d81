/*
 * feeding.h - entries of the log into the core: dispatch's feeds, and the pages
 * that readers ask for.
 *
 * Feeds circulate between dispatch and deliver, so that dispatch can't run
 * ahead by more than there are feeds.
 *
 * LOST. A reader keeps what it needs in the log, up to a bound; past that the
 * oldest go (event/retain.h). The log loses entries on the commit thread,
 * readers move on the deliver thread: whoever moved a reader in the store alone
 * would have its position written back by the core, so nobody does. Once a
 * second, and with each page, it is seen that the log begins above a reader,
 * and one dead letter for the whole stretch is written with the flush that
 * moves it, also for one that stands still. A crash before that flush finds the
 * same once more. Rows are not touched: their bodies were kept, and their next
 * try finds the log without them and makes the dead letter.
 *
 * LIFE. The deliver thread's.
 */
#pragma once

#include "deliver/engine/fetch.h"
#include "deliver/limits.h"

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

struct feeding {
	size_t pages;     /* under way in fetch */
	int64_t again_us; /* no page before, after one that failed */
	int64_t lost_us;  /* the next look */
};

void feeding_feed(struct deliver *d, struct feed *f, int64_t now);
void feeding_page(struct deliver *d, struct page *p, int64_t now);
/* Asks for the pages that readers need now. */
void feeding_read(struct deliver *d, int64_t now);
/* Moves readers that stand where the log has nothing left. */
void feeding_lost(struct deliver *d, int64_t now);
void feeding_drop(struct feed *f); /* what it holds, not the feed */
/* Order and spacing keys of an entry; false: it is not wanted after all. */
bool feeding_keys(struct deliver *d, const struct wish *w, struct letter *l,
    struct core_entry *en);
