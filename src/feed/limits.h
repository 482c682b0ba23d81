/*
 * limits.h - the bounds of feeds and lists of them, as they are parsed.
 */
#pragma once

#include "base/base.h"

/* Feeds that are read. The fetcher stops at 5 MiB; a file may be larger. */
#define FEED_BYTES_MAX      (16 * MIB)
#define FEED_ARENA_MAX      (192 * MIB)
#define FEED_ITEMS_MAX      10000 /* more is an archive, not news */
#define FEED_CATEGORIES_MAX 64    /* of an item; each is compared with all */
#define FEED_ENCLOSURES_MAX 64
#define FEED_LINK_MAX       8192
#define FEED_AUTHOR_MAX     1024
#define FEED_DATE_MAX       128 /* no date is longer */
/* Looking for feeds in a page (feed/discover.h). */
#define DISCOVER_IN_MAX     (5 * MIB)
#define DISCOVER_FEEDS_MAX  32
#define DISCOVER_ICONS_MAX  16
#define DISCOVER_TITLE_MAX  256
#define DISCOVER_LINKS_MAX  (32 * KIB) /* of Link headers, in bytes */
/* Lists of subscriptions (feed/opml.h): a hundred times what one may have. */
#define OPML_BYTES_MAX      (4 * MIB)
#define OPML_FEEDS_MAX      10000
#define OPML_TEXT_MAX       200 /* of a name, in characters */
