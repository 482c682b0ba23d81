/* events.h - publishing, reading and following the log over HTTP. */
#ifndef API_EVENTS_H
#define API_EVENTS_H

#include "http/req.h"

int events_publish(struct req *r, struct db *db, struct err *e);
int events_list(struct req *r, struct db *db, struct err *e);
int events_get(struct req *r, struct db *db, struct err *e);
int events_stream(struct req *r, struct db *db, struct err *e);
int event_types_list(struct req *r, struct db *db, struct err *e);
int event_types_get(struct req *r, struct db *db, struct err *e);

#endif
