/*
 * groups.h - whom routes are for (struct route_group): how their errors look,
 * and which passwords count there. Routes for programs are in no group.
 */
#ifndef API_GROUPS_H
#define API_GROUPS_H

#include "http/server/req.h"

extern const struct route_group FOR_TASKS;    /* its words for our own faults */
extern const struct route_group FOR_PEOPLE;   /* browsers: people/person.h */
extern const struct route_group FOR_MINIFLUX; /* apps; errors as Miniflux' */
extern const struct route_group FOR_APPS;     /* apps of other protocols */

#endif
