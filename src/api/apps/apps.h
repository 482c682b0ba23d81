/*
 * apps.h - for apps that sync: their passwords, OPML, and three protocols.
 *
 *   /api/users/me/tokens   app passwords (account/tokens.h)   app_tokens.c
 *   /api/opml              a list of subscriptions, in and out opml.c
 *   /miniflux/v1/…         the Miniflux REST API              miniflux*.c
 *   /reader/api/0/…        the Google Reader API              greader*.c
 *   /fever/?api            Fever                              fever.c
 *
 * The three are spelling around reader/sync.h. They answer as apps expect of
 * the originals, also where the rest of this API would be stricter: parameters
 * that we don't know are left alone, since apps send what newer servers have.
 * Google Reader's routes, and no others, are also at /api/greader.php/…, for
 * apps that know FreshRSS (routes.tbl: ALIAS).
 */
#ifndef API_APPS_APPS_H
#define API_APPS_APPS_H

#include "http/server/req.h"

int api_tokens_list(struct req *r, struct db *db, struct err *e);
int api_tokens_post(struct req *r, struct db *db, struct err *e);
int api_tokens_delete(struct req *r, struct db *db, struct err *e);

int api_opml_get(struct req *r, struct db *db, struct err *e);
int api_opml_post(struct req *r, struct db *db, struct err *e);

int api_user_opml_get(struct req *r, struct db *db, struct err *e);
int api_user_opml_post(struct req *r, struct db *db, struct err *e);

int api_mf_me(struct req *r, struct db *db, struct err *e);
int api_mf_version(struct req *r, struct db *db, struct err *e);
int api_mf_version_text(struct req *r, struct db *db, struct err *e);
int api_mf_health(struct req *r, struct db *db, struct err *e);
int api_mf_integrations(struct req *r, struct db *db, struct err *e);
int api_mf_feeds(struct req *r, struct db *db, struct err *e);
int api_mf_feed(struct req *r, struct db *db, struct err *e);
int api_mf_feed_post(struct req *r, struct db *db, struct err *e);
int api_mf_feed_put(struct req *r, struct db *db, struct err *e);
int api_mf_feed_delete(struct req *r, struct db *db, struct err *e);
int api_mf_feed_refresh(struct req *r, struct db *db, struct err *e);
int api_mf_feeds_refresh(struct req *r, struct db *db, struct err *e);
int api_mf_feed_read(struct req *r, struct db *db, struct err *e);
int api_mf_icon(struct req *r, struct db *db, struct err *e);
int api_mf_counters(struct req *r, struct db *db, struct err *e);
int api_mf_categories(struct req *r, struct db *db, struct err *e);
int api_mf_category_post(struct req *r, struct db *db, struct err *e);
int api_mf_category_put(struct req *r, struct db *db, struct err *e);
int api_mf_category_delete(struct req *r, struct db *db, struct err *e);
int api_mf_category_feeds(struct req *r, struct db *db, struct err *e);
int api_mf_category_read(struct req *r, struct db *db, struct err *e);
int api_mf_entries(struct req *r, struct db *db, struct err *e);
int api_mf_feed_entries(struct req *r, struct db *db, struct err *e);
int api_mf_category_entries(struct req *r, struct db *db, struct err *e);
int api_mf_entry(struct req *r, struct db *db, struct err *e);
int api_mf_entries_put(struct req *r, struct db *db, struct err *e);
int api_mf_bookmark(struct req *r, struct db *db, struct err *e);
int api_mf_user_read(struct req *r, struct db *db, struct err *e);
int api_mf_discover(struct req *r, struct db *db, struct err *e);
int api_mf_import(struct req *r, struct db *db, struct err *e);

int api_gr_login(struct req *r, struct db *db, struct err *e);
int api_gr_token(struct req *r, struct db *db, struct err *e);
int api_gr_user(struct req *r, struct db *db, struct err *e);
int api_gr_subs(struct req *r, struct db *db, struct err *e);
int api_gr_sub_edit(struct req *r, struct db *db, struct err *e);
int api_gr_quickadd(struct req *r, struct db *db, struct err *e);
int api_gr_tags(struct req *r, struct db *db, struct err *e);
int api_gr_tag_rename(struct req *r, struct db *db, struct err *e);
int api_gr_tag_disable(struct req *r, struct db *db, struct err *e);
int api_gr_unread(struct req *r, struct db *db, struct err *e);
int api_gr_stream(struct req *r, struct db *db, struct err *e);
int api_gr_atom(struct req *r, struct db *db, struct err *e);
int api_gr_ids(struct req *r, struct db *db, struct err *e);
int api_gr_items(struct req *r, struct db *db, struct err *e);
int api_gr_edit_tag(struct req *r, struct db *db, struct err *e);
int api_gr_read_all(struct req *r, struct db *db, struct err *e);

int api_fever(struct req *r, struct db *db, struct err *e);

#endif
