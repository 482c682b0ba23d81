/*
 * seen.h - whom this thread has seen: the cache under auth.h.
 *
 * A table of AUTH_CACHE_MAX places for each thread that asks, found by the
 * first bytes of a mark (a hash of what the caller showed). A newcomer takes
 * the place of whoever had it. Only those get in who were found in the store,
 * so a stranger can't push anybody out.
 *
 * LIFE. An entry belongs to its thread and stays until replaced; the thread's
 * end frees all. Nothing here is shared, so nothing is locked.
 */
#pragma once

#include "http/server/req.h"
#include "seal/digest.h"

struct seen {
	unsigned char mark[DIGEST_LEN];
	uint64_t generation;       /* when it was looked up (auth_changed) */
	int64_t fresh_until_us;    /* mono */
	int64_t verified_until_us; /* mono: `memo` holds so long; 0: none */
	unsigned char memo[DIGEST_SHORT_LEN]; /* of the stored password hash */
	struct principal who;                 /* tenants are the entry's */
};

/* NULL when not seen. Valid until this thread's next seen_put(). */
const struct seen *seen_find(const unsigned char mark[DIGEST_LEN]);
/* His tenants and their names become copies of the arena's. */
void seen_tenants(struct principal *who, struct arena *a);
/* Copies, tenants too. */
void seen_put(const struct seen *s);

/* What a password is remembered by: an HMAC under the process's own key. */
void seen_mark(struct str secret, unsigned char ret[DIGEST_LEN]);
