/*
 * websub.h - where hubs call us (reader/websub.h). The address is the secret
 * that lets somebody in, so an unknown one is 404 like any other.
 *
 * GET: did we ask for this? Then its challenge is the answer. POST: 202 when it
 * is written, and also when its signature is wrong, as the standard wants it:
 * who guesses learns nothing. 503 when too many wait.
 */
#ifndef API_PEOPLE_WEBSUB_H
#define API_PEOPLE_WEBSUB_H

#include "api/api.h"
#include "api/handlers.h"

#endif
