/*
 * consumers.h - pull consumers over HTTP.
 *
 *   PUT    /v1/consumers/{name}          MANAGE  201 or 200; as often as one likes
 *   GET    /v1/consumers                 READ    limit, after
 *   GET    /v1/consumers/{name}          READ    with its lag
 *   DELETE /v1/consumers/{name}          MANAGE  204
 *   GET    /v1/consumers/{name}/events   READ    max, wait
 *   POST   /v1/consumers/{name}/ack      READ    {"cursors"}
 *   POST   /v1/consumers/{name}/nack     READ    {"cursors","delayMs","dead","reason"}
 *   POST   /v1/consumers/{name}/extend   READ    {"cursors","seconds"}
 *
 * A consumer is a subscription that is managed here and has no URL: workers
 * come and fetch (sink/pull/pull.h). So its deliveries, attempts, dead letters
 * and replays are those of any other, under its id.
 *
 * A CURSOR names a delivery and an attempt of it (deliver/engine/delivery_id.h), and
 * is told what became of it by itself: one that is late or made up does not
 * fail the others. An answer is sent when it is committed.
 *
 * WHO MAY. Taking part in a consumer's work takes `consume`: whoever fetches
 * keeps an event from the other workers, which is more than to look at it. To
 * look at a consumer takes `read`, to make or end one `manage`. A key that is
 * limited to tenants finds those consumers whose tenants are within its own.
 */
#ifndef API_V1_CONSUMERS_H
#define API_V1_CONSUMERS_H

#include "base/base.h"

struct db;
struct req;

int api_consumers_list(struct req *r, struct db *db, struct err *e);
int api_consumers_put(struct req *r, struct db *db, struct err *e);
int api_consumers_get(struct req *r, struct db *db, struct err *e);
int api_consumers_delete(struct req *r, struct db *db, struct err *e);
int api_consumers_events(struct req *r, struct db *db, struct err *e);
int api_consumers_ack(struct req *r, struct db *db, struct err *e);
int api_consumers_nack(struct req *r, struct db *db, struct err *e);
int api_consumers_extend(struct req *r, struct db *db, struct err *e);

#endif
