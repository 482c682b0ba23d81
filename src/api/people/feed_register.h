/*
 * feed_register.h - the reader's routes: feeds that people add.
 */
#ifndef API_PEOPLE_FEED_REGISTER_H
#define API_PEOPLE_FEED_REGISTER_H

#include "api/api.h"
#include "api/handlers.h"

struct registration;

/* Hands it to the fetcher for who calls: REQ_WAIT until its done(), or an
 * error. r->ctx and r->then are the caller's. */
int feed_register(
    struct req *r, struct registration *reg, struct err *e) MUST_CHECK;

#endif
