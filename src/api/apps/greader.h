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
#pragma once

#include "api/apps/app.h"
#include "http/server/query.h"
#include "http/server/req.h"
#include "reader/sync.h"

#define GR_STATE "user/-/state/com.google/"
#define GR_LABEL "user/-/label/"
#define GR_ITEM  "tag:google.com,2005:reader/item/"

/* A stream, as far as its text says it. */
enum greader_kind {
	GR_NONE,
	GR_FEED,
	GR_NAMED,
	GR_ALL,
	GR_READ,
	GR_STARRED,
	GR_KEPT
};

struct greader_stream {
	enum greader_kind kind;
	struct str rest; /* of a feed its number or URL, of a label its name */
};

struct greader_stream greader_stream(struct str text);
bool greader_item_id(struct str text, int64_t *ret);

/* What the person has: feeds with their categories, and categories. */
struct greader_world {
	struct sync_feeds feeds;
	struct sync_categories categories;
};
int greader_world(struct req *r, struct db *db, struct greader_world *ret,
    struct err *e) MUST_CHECK;
/* NULL when there is none. */
const struct sync_feed *greader_feed(
    const struct greader_world *w, struct str rest);
const struct sync_category *greader_category(
    const struct greader_world *w, struct str name);

/* The ids of articles that it has as i; ERR_INVALID. */
int greader_ids(const struct form *f, struct arena *a, struct sync_ids *ret,
    struct err *e) MUST_CHECK;
/* "id": that of a feed or a label. */
void greader_put_feed(struct buf *b, const char *name, int64_t id);
void greader_put_label(struct buf *b, const char *name, struct str title);

/* A POST's parameters, once its T is seen to be right. On the http thread. */
int greader_form(struct req *r, struct form **ret, struct err *e) MUST_CHECK;
/* The same, then `write` on the commit thread with them in r->ctx. */
int greader_post(struct req *r, handler_fn write, struct err *e) MUST_CHECK;
