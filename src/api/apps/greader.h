/*
 * greader.h - what the files of the Google Reader API share.
 *
 * A stream is a feed ("feed/7", "feed/http://…"), a label, which is one of our
 * categories ("user/-/label/News"), or a state ("user/-/state/com.google/…":
 * reading-list, read, starred, kept-unread). An article is
 * "tag:google.com,2005:reader/item/" and 16 hex digits, or its number.
 *
 * Streams are in the order in which articles came to us, which is that of their
 * ids; a continuation is the last id seen. So a page costs the same wherever it
 * is, and nothing is skipped when articles come meanwhile.
 *
 * T, which POSTs carry, is a hash of what the app logged in with: it needs no
 * memory and holds on every node. An app may leave it out, since it must have
 * sent its password in a header, which no web page makes a browser do; one that
 * is there must be right.
 */
#ifndef API_APPS_GREADER_H
#define API_APPS_GREADER_H

#include "http/server/query.h"
#include "http/server/req.h"
#include "reader/sync.h"

#define GR_STATE "user/-/state/com.google/"
#define GR_LABEL "user/-/label/"
#define GR_ITEM  "tag:google.com,2005:reader/item/"

/* A stream, as far as its text says it. */
enum gr_kind {
	GR_NONE,
	GR_FEED,
	GR_NAMED,
	GR_ALL,
	GR_READ,
	GR_STARRED,
	GR_KEPT
};

struct gr_stream {
	enum gr_kind kind;
	struct str rest; /* of a feed its number or URL, of a label its name */
};

struct gr_stream gr_stream(struct str text);
bool gr_item_id(struct str text, int64_t *ret);

/* What the person has: feeds with their categories, and categories. */
struct gr_world {
	struct sync_feed *feeds;
	struct sync_category *categories;
	size_t n_feeds, n_categories;
};
int gr_world(struct req *r, struct db *db, struct gr_world *ret,
    struct err *e) MUST_CHECK;
/* NULL when there is none. */
const struct sync_feed *gr_feed(const struct gr_world *w, struct str rest);
const struct sync_category *gr_category(
    const struct gr_world *w, struct str name);

const struct sync_feed *gr_world_feed(const struct gr_world *w, int64_t id);

/* A page of the stream that the path, or s, names. */
struct gr_page {
	struct gr_world w;
	struct str stream, title;
	struct sync_item *items;
	size_t n;
	int64_t next; /* the continuation; 0: that was all */
};
int gr_page(struct req *r, struct db *db, struct gr_page *ret,
    struct err *e) MUST_CHECK;

/* A POST's parameters, once its T is seen to be right. On the http thread. */
int gr_form(struct req *r, struct form **ret, struct err *e) MUST_CHECK;
/* The same, then `write` on the commit thread with them in r->ctx. */
int gr_post(struct req *r, handler_fn write, struct err *e) MUST_CHECK;
void gr_token(struct req *r, char ret[41]);
int gr_ok(struct req *r); /* answers OK, as text */

#endif
