/*
 * feed.h - a feed of any format, as one plain value.
 *
 * RSS 0.90 to 2.0, Atom 0.3 and 1.0 and JSON Feed become the same struct, so
 * that nobody else knows how many ways there are to write a date or a link.
 *
 * XML goes through a reader of our own (markup/xml.h), which mends what it can on the
 * way and begins again only where elements are closed in the wrong order: a
 * general parser's recovery drops a stray `&` and hangs items into each other.
 * A DTD defines short texts (markup/xml_dtd.c) and nothing else: entities that grow,
 * external ones and anything over the network are impossible, not merely
 * switched off.
 *
 * Texts are UTF-8 whatever came. `content` and `summary` are HTML as the feed
 * has it, NOT clean: whoever shows them sanitises first. Titles, authors and
 * categories are plain text. Links are resolved (xml:base, the feed's URL).
 *
 * LIFE. All of it is the caller's arena's. No state between calls; any thread.
 *
 * INVARIANTS
 *   1. Every string is valid UTF-8 without NUL; what is absent is empty.
 *   2. n_items <= FEED_ITEMS_MAX; time is linear in the bytes, and no
 *      recursion follows the depth of the input.
 *   3. No link has a scheme that runs something (javascript:, data:).
 */
#pragma once

#include "base/base.h"

#define FEED_NO_DATE INT64_MIN

enum feed_format {
	FEED_RSS2,
	FEED_RSS1,
	FEED_RSS09X,
	FEED_ATOM1,
	FEED_ATOM03,
	FEED_JSON,
};

struct feed_enclosure {
	struct str url, type;
	int64_t length; /* -1: not said */
	struct feed_enclosure *next;
};

struct feed_text {
	struct str text;
	struct feed_text *next;
};

struct feed_item {
	struct str id, title, link, content, summary, author;
	struct str base; /* what relative links in its HTML are relative to */
	struct str thumbnail;             /* a picture's URL: http or https */
	int64_t published_us, updated_us; /* or FEED_NO_DATE */
	struct feed_text *categories;
	struct feed_enclosure *enclosures;
	struct feed_item *next;
};

struct feed {
	enum feed_format format;
	bool repaired; /* it was not well-formed */
	bool cut;      /* it had more items than we take */
	struct str title, link, description, language;
	struct str self, hub; /* as it names them itself */
	int64_t updated_us;
	struct feed_item *items;
	size_t n_items;
};

/* What is known about the bytes besides themselves; all may be empty. */
struct feed_from {
	struct str url;
	struct str content_type; /* the header's value, for its charset */
	struct str links;        /* of all Link headers, for discover.h */
};

/*
 * ERR_INVALID when there is no feed in it, in words for people ("this is an
 * HTML page, not a feed"), ERR_LIMIT when it is too large. What is over the
 * arena's limit is left out.
 */
int feed_parse(struct arena *a, struct str bytes, const struct feed_from *from,
    struct feed **ret, struct err *e) MUST_CHECK;

/* "rss2", "rss1", "rss09x", "atom1", "atom03" or "json". */
const char *feed_format_name(enum feed_format format);

/* The normalised JSON of PRODUCT.md, in one line. */
void feed_write(const struct feed *f, struct buf *to);
