/*
 * reads.h - Core's read route, and how its consumers ask there.
 *
 *   GET /crm/records/{objectName}/{recordId}    Authorization: Bearer KEY
 *   200 {"objectName","recordId","ownerId","recordVersion","fields":{…}}
 *   401 without the key, 404 when there is none (any more)
 *
 * Here the fields are whole, with what no event shows. The route is served on
 * loopback, by one thread of libmicrohttpd with a database connection of its
 * own; consumers ask by libcurl.
 */
#pragma once

#include <hikyaku.h>

struct reads;
struct asker;

/* On any free port of 127.0.0.1, over the company's databases in `dir`. */
int reads_start(const char *dir, struct reads **ret, struct hk_error *e);
void reads_stop(struct reads *r); /* NULL is fine */
int reads_port(const struct reads *r);
const char *reads_key(const struct reads *r);

/* For one consumer, on one thread. */
int asker_new(
    int port, const char *key, struct asker **ret, struct hk_error *e);
void asker_free(struct asker *q); /* NULL is fine */
/* The `ask` of a taker; `ctx` is the asker. HK_RETRY: Core does not answer. */
int asker_ask(void *ctx, const char *object, const char *record, char **ret,
    struct hk_error *e);
