/* ops.h - is it alive, is it ready, how does it fare. */
#ifndef API_OPS_H
#define API_OPS_H

#include "http/req.h"

int health_get(struct req *r, struct db *db, struct err *e);
int ready_get(struct req *r, struct db *db, struct err *e);
int metrics_get(struct req *r, struct db *db, struct err *e);
int openapi_get(struct req *r, struct db *db, struct err *e);
int ping_post(struct req *r, struct db *db, struct err *e);

#endif
