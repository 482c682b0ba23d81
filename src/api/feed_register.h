/*
 * feed_register.h - the reader's routes: feeds that people add.
 */
#ifndef API_FEED_REGISTER_H
#define API_FEED_REGISTER_H

#include "api/api.h"

int api_feeds_post(struct req *r, struct db *db, struct err *e);
int api_feeds_patch(struct req *r, struct db *db, struct err *e);

#endif
