/*
 * feed_priv.h - what the readers of XML and of JSON share.
 */
#pragma once

#include "feed/feed.h"

/* A feed in the making. */
struct making {
	struct arena *arena;
	struct str url; /* where it came from, or empty */
	struct feed *feed;
	struct feed_item **tail; /* where the next item goes */
	struct str author;       /* of what has none of its own */
};

void making_init(struct making *m, struct arena *a, struct str url);
/* NULL when there are enough items, or the arena is over its limit. */
struct feed_item *making_item(struct making *m);
/* Hangs it in, unless there is nothing in it. */
void making_add(struct making *m, struct feed_item *it);
/* Both trim, and take no second one of the same. */
void making_category(struct making *m, struct feed_item *it, struct str text);
void making_enclosure(struct making *m, struct feed_item *it, struct str url,
    struct str type, struct str length);
/* The first enclosure that is one by its type, or empty. */
struct str making_picture(const struct feed_item *it);
/* Resolves what could not be before all was read. */
void making_done(struct making *m);

/*
 * ERR_INVALID when it holds no feed. ERR_SYNTAX, never with `mend`: elements
 * are closed in the wrong order, and the whole is to be read again with it.
 */
int feed_read_xml(struct making *m, struct str xml, struct str doctype,
    bool mend, struct err *e) MUST_CHECK;
/* Does the text begin as a feed does? */
bool feed_begins(struct str text);
int feed_read_json(struct making *m, struct str json, struct err *e) MUST_CHECK;
