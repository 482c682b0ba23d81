/*
 * delivery_key.h - the key of this installation's deliveryIds.
 *
 * Made with the first start, kept in the store (meta `delivery_id_key`), and
 * never changed: receivers keep ids.
 */
#ifndef DELIVER_ENGINE_DELIVERY_KEY_H
#define DELIVER_ENGINE_DELIVERY_KEY_H

#include "deliver/engine/delivery_id.h"

struct db;

/* By the one writer, before there are threads. */
int delivery_key(
    struct db *db, struct delivery_id_key *ret, struct err *e) MUST_CHECK;

#endif
