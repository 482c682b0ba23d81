/*
 * discover.h - the feeds and the icons that a page names.
 *
 * WHAT. From a page as it came (bytes, its URL, its Content-Type and Link
 * headers) to a list of feeds and one of icons, the best first. Nothing is fetched: what
 * is found is for whoever fetches, who asks the guard. A page that is a feed
 * itself is told by its first bytes, never by its Content-Type, which lies.
 *
 * WHICH. <link rel="alternate"> of a type of feeds: Atom, RSS, JSON Feed; and
 * plain XML or JSON when title or address call it a feed; Link headers that say
 * the same. <base href> holds for links in the page; where a <meta> refresh
 * leads is told, for who finds no feed here; templates, noscript and comments are not looked
 * into. ORDER: on the page's own host, then Atom, then RSS, then others, then as
 * they stand in the page. Icons: by how well they fit 32 pixels, pictures for
 * home screens and SVG behind them, /favicon.ico last.
 *
 * LIFE. What is found is the arena's. Pure.
 *
 * INVARIANTS
 *   1. Every URL is http or https, absolute, at most HREF_MAX, and named once.
 *   2. No more than DISCOVER_FEEDS_MAX and DISCOVER_ICONS_MAX.
 */
#pragma once

#include "feed/feed.h"
#include "feed/limits.h"

enum discover_kind {
	DISCOVER_ATOM,
	DISCOVER_RSS,
	DISCOVER_JSON,
	DISCOVER_XML, /* some XML that is called a feed */
};

struct discover_feed {
	struct str url, title; /* the title may be empty */
	enum discover_kind kind;
	bool same_host;
};

struct discover_icon {
	struct str url;
	int pixels; /* of its best size; 0: not said */
	bool svg, touch;
};

struct discover {
	bool is_feed;       /* the page is one itself; nothing else is set */
	struct str refresh; /* another page, where it sends its readers */
	size_t n_feeds, n_icons;
	struct discover_feed feeds[DISCOVER_FEEDS_MAX];
	struct discover_icon icons[DISCOVER_ICONS_MAX + 1];
};

/* Where feeds often lie, for a site that names none; ends with NULL. */
extern const char *const DISCOVER_PATHS[];

/* ERR_INVALID: the URL is none of http or https, or the page's charset is
 * refused (charset.h); ERR_LIMIT: the page is too long. */
int discover(struct arena *a, struct str page, const struct feed_from *from,
    struct discover *ret, struct err *e) MUST_CHECK;

const char *discover_kind_name(enum discover_kind k);
