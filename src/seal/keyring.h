/*
 * keyring.h - secrets that we must be able to read again, sealed: AES-256-GCM.
 *
 * A sealed value is printable text, a JSON object:
 *
 *   {"v":1,"kid":"key-2026-01-3f9a","s":"…","iv":"…","ct":"…","tag":"…"}
 *
 * kid names the key, iv has 12 random bytes, tag 16. A ring has one active key,
 * which seals, and others that only unseal, so that a key can be replaced
 * while values of the old one are still there (ops/reseal.h moves them on).
 *
 * KEYS. 32 bytes in base64 are used as they are. Any other text is a
 * passphrase: PBKDF2-HMAC-SHA256, 100,000 rounds, with the salt in field `s`.
 * Each data folder has one salt (seal.salt), so a start derives once and not
 * once a value; losing it costs nothing but another derivation.
 *
 * SOURCES
 *   file  one key a line, `id:key` or a key alone (its id is then `file`); the
 *         first is active. By default DATA/seal.key, made at the first run.
 *   env   the active key, as `id:key` or alone (id `env`); NAME_OLD may hold
 *         the one before, and then both need ids.
 *   kms   data keys that only a KMS can unwrap (kms.h); the wrapped ones are
 *         the caller's to keep: keyring_wrapped().
 *
 * WHY `where`. It says where the value lives ("api_key.webhook_secret:UUID")
 * and is authenticated with it, so that somebody who can write to the store
 * still can't put the secret of one row into another. A row that moves is
 * unsealed and sealed again.
 *
 * LIFE. Opened before there are threads. keyring_seal() and keyring_unseal()
 * may be called by any thread at any time and take no lock; keyring_add() by
 * one thread at a time, while others seal. Closed when no thread is left.
 *
 * INVARIANTS
 *   1. A key is in no log, no error and no answer; memory of keys is wiped.
 *   2. Nothing but exactly what was sealed, at its place, is ever unsealed.
 *   3. Keys only come while a ring is open; none goes.
 */
#pragma once

#include "seal/limits.h"

struct keyring;

struct kms_opts {
	const char *provider; /* "aws" */
	const char *key_id;   /* the key that wraps: an id, ARN or alias */
	const char *region;   /* "": AWS_REGION, AWS_DEFAULT_REGION */
	const char *url;      /* "": the region's own */
};

struct keyring_opts {
	const char *source;   /* "file", "env" or "kms" */
	const char *dir;      /* the data folder */
	const char *file;     /* "": DIR/seal.key */
	const char *env_name; /* of the variable that holds the key */
	struct kms_opts kms;
	struct str wrapped; /* kms: as keyring_wrapped() said; "" at first */
	bool first;         /* nothing is sealed yet: a key may be made */
};

/*
 * ERR_INVALID, ERR_ABSENT or ERR_IO, with what to do, when there is no good
 * key. With kms it asks the KMS and blocks, for KMS_WAIT_MS a key at most.
 */
int keyring_open(const struct keyring_opts *o, struct keyring **ret,
    struct err *e) MUST_CHECK;
void keyring_close(struct keyring *k); /* NULL is fine */

int keyring_seal(struct keyring *k, struct arena *a, struct str where,
    struct str plain, struct str *ret, struct err *e) MUST_CHECK;
/* ERR_INVALID when it was changed or moved, or its key is not in the ring. */
int keyring_unseal(struct keyring *k, struct arena *a, struct str where,
    struct str sealed, struct str *ret, struct err *e) MUST_CHECK;

/*
 * What is long and many, such as events: bytes instead of text.
 *
 *   01  n | 80 when salted  id (n)  [salt (16)]  nonce (24)  tag (16)  text
 *
 * The first byte tells it from any JSON text. A random iv of 12 bytes is good
 * for 2^32 values of a key, and a busy log has more: so this is XAES-256-GCM
 * (C2SP), whose nonce has 24 bytes. The first 12 make a key of this one value.
 */
#define SEAL_BYTES_MORE (2 + SEAL_ID_MAX + 16 + 24 + 16) /* that it adds */
bool keyring_is_bytes(struct str s);
/* Which key sealed them; what keyring_seal_bytes() made, and no other. */
struct str keyring_bytes_id(struct str sealed);
/* In `to`, which has room for plain.n + SEAL_BYTES_MORE. */
struct str keyring_seal_bytes(
    struct keyring *k, struct str where, struct str plain, char *to);
/*
 * To `to`, which has room for sealed.n and may be sealed.p itself. ERR_INVALID
 * as keyring_unseal(): what lies there then is nothing.
 */
int keyring_unseal_bytes(struct keyring *k, struct str where, struct str sealed,
    char *to, struct str *ret, struct err *e) MUST_CHECK;

/* "column:UUID" for `where`; .p NULL when the arena is at its limit. */
struct str keyring_where(struct arena *a, const char *column, struct uuid row);
/* Which key sealed it; ERR_INVALID when it has not the form. */
int keyring_id_of(struct arena *a, struct str sealed, struct str *ret_id,
    struct err *e) MUST_CHECK;

const char *keyring_source(const struct keyring *k);
/* The nth key's id, the active one first; NULL past the last. */
const char *keyring_id(struct keyring *k, size_t nth);

/*
 * Makes a new active key: file writes it before anything is sealed with it.
 * ERR_CONFLICT for env, whose keys are not ours to make.
 */
int keyring_add(struct keyring *k, struct err *e) MUST_CHECK;
/* kms: the wrapped data keys as text, to be kept; else empty. */
struct str keyring_wrapped(const struct keyring *k);
