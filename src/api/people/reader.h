/*
 * reader.h - feeds, articles and what a person does with them, over HTTP, as
 * seed 002 has them.
 *
 *   GET    /api/feeds/{id}                     Feed
 *   DELETE /api/feeds/{id}                     204
 *   GET    /api/feeds/{id}/items               ?cursor&filter
 *   POST   /api/feeds/{id}/read                {"as_of"} → {"marked"}
 *   GET    /api/feeds/{id}/favicon             the bytes
 *   GET    /api/feeds/{id}/fetches             ?cursor
 *   GET    /api/items                          ?filter&category&feed&search&unique&cursor
 *   POST   /api/items/read                     {"category_id","as_of"} → {"marked"}
 *   GET    /api/items/{id}                     ItemDetail
 *   PUT    /api/items/{id}/state               {"is_read","is_starred"} → ItemState
 *   GET    /api/subscriptions                  [Subscription]
 *   PATCH  /api/subscriptions/{id}             {"title","category_id"} → Subscription
 *   DELETE /api/subscriptions/{id}             204
 *   PUT    /api/subscriptions/{id}/settings    {"fetch_interval_minutes"} → Subscription
 *   POST   /api/subscriptions/{id}/resume      Subscription
 *   GET, POST /api/categories, PATCH, DELETE /api/categories/{id}
 *
 * WHO SEES WHAT. All of it belongs to r->who.user: what is somebody else's, or
 * of a feed that one does not have, is a 404. There is no admin's view.
 */
#ifndef API_PEOPLE_READER_H
#define API_PEOPLE_READER_H

#include "http/server/req.h"

int api_feeds_get(struct req *r, struct db *db, struct err *e);
int api_feeds_delete(struct req *r, struct db *db, struct err *e);
int api_feeds_items(struct req *r, struct db *db, struct err *e);
int api_feeds_read(struct req *r, struct db *db, struct err *e);
int api_feeds_favicon(struct req *r, struct db *db, struct err *e);
int api_feeds_fetches(struct req *r, struct db *db, struct err *e);

int api_items_list(struct req *r, struct db *db, struct err *e);
int api_items_read(struct req *r, struct db *db, struct err *e);
int api_items_get(struct req *r, struct db *db, struct err *e);
int api_items_state(struct req *r, struct db *db, struct err *e);

int api_fsubs_list(struct req *r, struct db *db, struct err *e);
int api_fsubs_patch(struct req *r, struct db *db, struct err *e);
int api_fsubs_delete(struct req *r, struct db *db, struct err *e);
int api_fsubs_settings(struct req *r, struct db *db, struct err *e);
int api_fsubs_resume(struct req *r, struct db *db, struct err *e);

int api_categories_list(struct req *r, struct db *db, struct err *e);
int api_categories_post(struct req *r, struct db *db, struct err *e);
int api_categories_patch(struct req *r, struct db *db, struct err *e);
int api_categories_delete(struct req *r, struct db *db, struct err *e);

/* The id in the path; ERR_ABSENT when it is none. */
int reader_id(
    const struct req *r, const char *what, struct uuid *ret, struct err *e);
/* api_query() (api/io.h), which also names a field that is none. */
struct member;
int reader_query(struct req *r, const struct member *table, void *ret,
    struct err *e) MUST_CHECK;
int reader_query_none(struct req *r, struct err *e) MUST_CHECK;

#endif
