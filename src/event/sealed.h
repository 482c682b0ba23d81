/*
 * sealed.h - bodies of the log that are sealed at rest (event.seal.payload).
 *
 * The whole stored body is sealed, as bytes (seal/keyring.h), by whoever posts
 * it to the commit thread, and opened wherever it is read. What is matched and
 * looked up stays plain: tenant, event id, type and key; a publisher keeps
 * secrets out of these. The hash is still that of the bytes received, so
 * dedupe knows nothing of it.
 *
 * WHICH. A body says itself whether it is sealed: no JSON text begins with the
 * mark. So the setting may change from start to start, and a log have both.
 *
 * KEYS. The log is append only: a body stays sealed with its key, which a
 * rotation leaves in the ring to unseal, and which must stay there until
 * retention has taken the last entry of it. The table log_key tells: each key
 * in each hour is noted before the first body sealed with it is committed.
 */
#pragma once

#include "base/base.h"

struct db;
struct entry;
struct keyring;

/* en->body to `to`, with room for SEAL_BYTES_MORE more; its place is en's. */
struct str sealed_make(struct keyring *k, const struct entry *en, char *to);

/*
 * A body as it lies in the log, by the row's tenant and event id. A plain one
 * is answered as it is; a sealed one is opened to `to`, which has room for
 * body.n and may be body.p. ERR_SEALED when no key opens it.
 */
bool sealed_is(struct str body);
int sealed_open(struct keyring *k, struct str tenant, struct str event_id,
    struct str body, char *to, struct str *ret, struct err *e) MUST_CHECK;

/* A key that the log needs, as far as is known: to the hour. */
struct sealed_key {
	struct str id; /* valid within `each` */
	int64_t first_seq, first_us, last_us;
};
int sealed_keys(struct db *db,
    int (*each)(void *arg, const struct sealed_key *key, struct err *e),
    void *arg, struct err *e) MUST_CHECK;
