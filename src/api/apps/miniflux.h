/*
 * miniflux.h - what the files of the Miniflux API share: its JSON.
 *
 * Ids are those of our tables. An icon has the id of its feed. A feed without
 * a category is in SYNC_NO_CATEGORY, called "All", since apps expect one.
 */
#ifndef API_APPS_MINIFLUX_H
#define API_APPS_MINIFLUX_H

#include "http/server/req.h"
#include "reader/sync.h"

/* The param as an id; ERR_ABSENT when it is none. */
int mf_id(
    const struct req *r, size_t param, int64_t *ret, struct err *e) MUST_CHECK;
/* The body as a JSON object. */
struct json;
int mf_body(struct req *r, struct json **ret, struct err *e) MUST_CHECK;

void mf_feed(struct buf *b, int64_t user, const struct sync_feed *f);
void mf_category(struct buf *b, int64_t user, int64_t id, struct str title,
    const char *more);
void mf_entry(struct buf *b, struct arena *a, int64_t user,
    const struct sync_item *it, const struct sync_feed *feeds, size_t n);
/* Empties the answer and says 204. */
int mf_nothing(struct req *r);

#endif
