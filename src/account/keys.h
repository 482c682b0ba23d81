/*
 * keys.h - API keys: how programs call.
 *
 * A key is a token (seal/token.h) that was shown once. The store has its hash,
 * a name for people, its scopes, and what limits it: tenants, a rate, an end.
 * It is found by hash, told apart by its first characters, and revoked by id;
 * a revoked key keeps its row.
 *
 * A key outlives the account that made it: removing a person who set up a
 * service must not stop the service. `createdBy` tells which keys to revoke.
 *
 * Beside the token a key has a secret that signs webhooks towards its owner,
 * given or made, stored sealed. It can be replaced (keys_secret_set()); whoever
 * signs with it is told by the caller (task/target.h).
 *
 * INVARIANTS
 *   1. The token is in no row, no log and no answer but the first; the secret is
 *      in the answer that made or replaced it alone.
 *   2. n_tenants is 0 exactly when tenants is NULL: not limited.
 */
#pragma once

#include "account/limits.h"
#include "account/scopes.h"
#include "seal/sign.h"
#include "seal/token.h"

struct db;
struct keyring;

struct key {
	int64_t id;
	struct uuid public_id;
	struct str name, shown, created_by;
	unsigned scopes;
	const struct uuid *tenants;
	const struct str *tenant_names; /* as they were given */
	size_t n_tenants;
	struct str webhook_secret; /* to be; .p NULL: one is made */
	int64_t rate_per_second;   /* 0: as key.rate.limit says */
	int64_t created_us;
	int64_t last_used_us, expires_us, revoked_us; /* 0: never */
};

/* What a user asks for: ERR_INVALID with the pointer of what is wrong. */
int key_check(const struct key *k, int64_t now_us, struct err *e) MUST_CHECK;

/* ERR_INVALID at /webhookSecret: it can't sign. */
int key_secret_check(struct str secret, struct err *e) MUST_CHECK;

/* What is shown once, when a key is made. */
struct key_made {
	struct token token;
	/* Signs webhooks towards the key's owner; stored sealed. */
	char secret[KEY_SECRET_MAX + 1];
};

/*
 * Takes name, scopes, tenants, rate, end, secret and created_by from *k, fills
 * in the rest but for the row's id. The token in *ret is the only copy there is.
 * Audited, so inside a transaction; revoking too.
 */
int keys_create(struct db *db, struct keyring *ring, struct key *k,
    int64_t now_us, struct arena *a, struct key_made *ret,
    struct err *e) MUST_CHECK;
/*
 * The secret that signs for a key: its own or, for one that was made without,
 * `absent` (webhook.default.secret; may be empty). ERR_ABSENT: no such key.
 */
int keys_secret(struct db *db, struct keyring *ring, struct uuid id,
    struct str absent, struct arena *a, struct str *ret,
    struct err *e) MUST_CHECK;
/* Another one, at once: k->webhook_secret. Audited, inside a transaction. */
int keys_secret_set(struct db *db, struct keyring *ring, const struct key *k,
    struct str by, int64_t now_us, char ret[KEY_SECRET_MAX + 1],
    struct err *e) MUST_CHECK;
/* The id that is shown, of a row's; ERR_ABSENT when there is none. */
int keys_public(
    struct db *db, int64_t id, struct uuid *ret, struct err *e) MUST_CHECK;
/* Both: ERR_ABSENT when there is none. */
int keys_find(struct db *db, const unsigned char hash[DIGEST_LEN],
    struct arena *a, struct key *ret, struct err *e) MUST_CHECK;
int keys_get(struct db *db, struct uuid id, struct arena *a, struct key *ret,
    struct err *e) MUST_CHECK;
/* In the order they were made, from the first whose row id is above `after`. */
int keys_list(struct db *db, int64_t after, size_t most, struct arena *a,
    struct key **ret, size_t *ret_n, struct err *e) MUST_CHECK;
/* ERR_ABSENT when there is none; again is fine. */
int keys_revoke(struct db *db, struct uuid id, struct str by, int64_t now_us,
    struct err *e) MUST_CHECK;
int keys_touch(
    struct db *db, int64_t id, int64_t now_us, struct err *e) MUST_CHECK;

/* The names of its tenants, with commas, of which no name has one. */
struct str key_tenant_names(const struct key *k, struct arena *a);

/* The key as the API shows it. `made` only when it was just made, or NULL. */
void key_json(const struct key *k, const struct key_made *made, struct buf *b);
