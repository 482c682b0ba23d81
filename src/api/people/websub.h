/*
 * websub.h - where hubs call us (reader/websub.h). The address is the secret
 * that lets somebody in, so an unknown one is 404 like any other.
 */
#ifndef API_PEOPLE_WEBSUB_H
#define API_PEOPLE_WEBSUB_H

#include "api/api.h"

/* Did we ask for this? Then its challenge is the answer. */
int api_websub_get(struct req *r, struct db *db, struct err *e);
/* 202 when it is written, and also when its signature is wrong, as the standard
 * wants it: who guesses learns nothing. 503 when too many wait. */
int api_websub_post(struct req *r, struct db *db, struct err *e);

#endif
