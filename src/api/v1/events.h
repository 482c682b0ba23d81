/* events.h - publishing, reading and following the log over HTTP. */
#ifndef API_V1_EVENTS_H
#define API_V1_EVENTS_H

#include "http/server/req.h"

int api_events_post(struct req *r, struct db *db, struct err *e);
int api_events_list(struct req *r, struct db *db, struct err *e);
int api_events_get(struct req *r, struct db *db, struct err *e);
int api_events_stream(struct req *r, struct db *db, struct err *e);
int api_types_list(struct req *r, struct db *db, struct err *e);
int api_types_get(struct req *r, struct db *db, struct err *e);

#endif
