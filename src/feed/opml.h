/*
 * opml.h - lists of subscriptions, as readers exchange them.
 *
 * OPML 1.0 and 2.0 are trees of <outline>: one with an xmlUrl is a feed, any
 * other is a folder. Here that is a flat list: a feed has the names of the
 * folders around it as one category, "News / Local"; without a folder it has
 * the first of its own `category` attribute. What is written has a folder for
 * each category, so that reading it again gives the same list.
 *
 * Files in the wild are as broken as feeds and are mended in the same way
 * (xml.h). Outlines are taken from anywhere, also when a <body> is missing.
 *
 * LIFE. All of it is the caller's arena's. No state between calls; any thread.
 *
 * INVARIANTS
 *   1. Every string is valid UTF-8 without NUL; what is absent is empty. Only
 *      title, site and category may be: a feed without a URL is none.
 *   2. n_feeds <= OPML_FEEDS_MAX; time is linear in the bytes, and no
 *      recursion follows the depth of the input.
 *   3. The URLs are as they were written, whatever they are: whoever takes
 *      them judges them.
 */
#pragma once

#include "base/base.h"

struct opml_feed {
	struct str title, url, site, category;
	struct opml_feed *next;
};

struct opml {
	bool repaired; /* it was not well-formed */
	bool cut;      /* it had more feeds than we take */
	struct str title;
	struct opml_feed *feeds;
	size_t n_feeds;
};

/*
 * ERR_INVALID when it is no OPML, in words for people, ERR_LIMIT when it is
 * too large.
 */
int opml_parse(struct arena *a, struct str bytes, struct str content_type,
    struct opml **ret, struct err *e) MUST_CHECK;

/*
 * OPML 2.0. Feeds of one category that follow each other share a folder: the
 * list should be in that order.
 */
void opml_write(const struct opml *o, int64_t now_us, struct buf *to);
