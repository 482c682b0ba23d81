/*
 * import.h - a list of subscriptions in, and out again (feed/opml.h).
 *
 * Nobody waits for feeds to be fetched: each becomes a row that is due now, and
 * the fetcher takes it from there. So a whole list is one transaction. What
 * can't be taken is told with its reason; the rest is taken all the same.
 *
 * The name in the list is the subscriber's own: it is what they called it
 * elsewhere. A folder becomes a category of that name.
 */
#pragma once

#include "reader/sync.h"

struct guard;
struct opml;

enum import_outcome { IMPORT_ADDED, IMPORT_KNOWN, IMPORT_REFUSED };

struct import_line {
	enum import_outcome outcome;
	struct str url, title;
	const char *word;  /* of what was refused: URL_REFUSED, … */
	struct str reason; /* for people */
};

struct import_result {
	struct import_line *lines;
	size_t n, added, known, refused;
	bool cut; /* the list was longer than we take */
};

/* What the operator lets one have. */
struct import_rules {
	const struct guard *guard;
	int64_t feeds_max; /* reader.feeds.max */
};

/* On the commit thread, inside a transaction. */
int import_opml(const struct sync *who, const struct import_rules *rules,
    const struct opml *list, int64_t now_us, struct import_result *ret,
    struct err *e) MUST_CHECK;
/* {"added","known","refused":[{"url","title","code","message"}],"cut"} */
void import_json(const struct import_result *r, struct buf *b);

/* One feed, in the same way; ERR_CONFLICT with a word, ERR_DENIED or
 * ERR_INVALID with URL_REFUSED. title empty: the feed's. */
int import_one(const struct sync *who, const struct import_rules *rules,
    struct str url, struct str title, int64_t now_us, int64_t *ret_feed,
    struct err *e) MUST_CHECK;

/* The person's subscriptions as OPML 2.0. */
int import_export(const struct sync *who, int64_t now_us, struct buf *to,
    struct err *e) MUST_CHECK;
