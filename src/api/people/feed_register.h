/*
 * feed_register.h - the reader's routes: feeds that people add.
 */
#ifndef API_PEOPLE_FEED_REGISTER_H
#define API_PEOPLE_FEED_REGISTER_H

#include "api/api.h"

struct registration;

/* Hands it to the fetcher for who calls: REQ_WAIT until its done(), or an
 * error. r->ctx and r->then are the caller's. */
int feed_register(
    struct req *r, struct registration *reg, struct err *e) MUST_CHECK;

int api_feeds_post(struct req *r, struct db *db, struct err *e);
int api_feeds_patch(struct req *r, struct db *db, struct err *e);

#endif
