/*
 * seal.h - the keys that seal secrets, over HTTP.
 *
 *   GET  /v1/seal         ADMIN  ON_READ  ids, and how many values each sealed
 *   POST /v1/seal/rotate  ADMIN  ON_HTTP  202; GET tells when it is done
 *
 * A rotation makes a new active key, tells the audit, and has every value
 * sealed anew in the background (ops/reseal.h). While values of an older key
 * are left it goes on with those, and makes none. With env and kms the new key
 * comes with a restart: a server asks no KMS while it serves. Events of the log
 * stay with the key that sealed them (event/sealed.h); GET tells which it needs.
 */
#ifndef API_V1_SEAL_H
#define API_V1_SEAL_H

#include "http/server/req.h"

int api_seal_get(struct req *r, struct db *db, struct err *e);
int api_seal_rotate(struct req *r, struct db *db, struct err *e);

#endif
