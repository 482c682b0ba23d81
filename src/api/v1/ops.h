/* ops.h - is it alive, is it ready, how does it fare. */
#ifndef API_V1_OPS_H
#define API_V1_OPS_H

#include "http/server/req.h"

int api_health(struct req *r, struct db *db, struct err *e);
int api_ready(struct req *r, struct db *db, struct err *e);
int api_metrics(struct req *r, struct db *db, struct err *e);
int api_openapi(struct req *r, struct db *db, struct err *e);
int api_ping(struct req *r, struct db *db, struct err *e);

#endif
