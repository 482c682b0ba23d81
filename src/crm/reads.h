/*
 * reads.h - Core's read route, and how its consumers ask there.
 *
 *   GET /crm/records/{objectName}/{recordId}    Authorization: Bearer KEY
 *   200 {"objectName","recordId","ownerId","recordVersion","fields":{…}}
 *   401 without the key, 404 when there is none (any more)
 *
 * Here the fields are whole, with what no event shows (section 7 of the seed).
 * The server is the project's own (http/server/server.h), on loopback, with one thread
 * that has a connection of its own to Core's database; consumers ask by the
 * project's client (http/client/client.h) and through its guard.
 */
#ifndef CRM_READS_H
#define CRM_READS_H

#include "base/base.h"
#include "crm/crm.h"

struct reads;
struct asker;

/* On any free port of 127.0.0.1. */
int reads_start(
    const char *core_path, struct reads **ret, struct err *e) MUST_CHECK;
void reads_stop(struct reads *r); /* NULL is fine */
int reads_port(const struct reads *r);
const char *reads_key(const struct reads *r);

/* For one consumer, on one thread. */
int asker_new(
    int port, const char *key, struct asker **ret, struct err *e) MUST_CHECK;
void asker_free(struct asker *q); /* NULL is fine */
struct crm_fetch asker_fetch(struct asker *q);

#endif
