/*
 * keyring_priv.h - what keyring.c, keyring_bytes.c and keyring_source.c share.
 *
 * A ring is only added to: a thread sees as many keys as `n` said when it
 * looked, and none of these goes before the ring is closed. The keys of
 * passphrases are derived when they are needed and pushed on a list
 * that only grows: two threads may derive the same one, which costs time and
 * nothing else.
 */
#pragma once

#include <stdatomic.h>

#include "seal/keyring.h"
#include "seal/limits.h"

#define SEAL_KEY_LEN  32
#define SEAL_SALT_LEN 16
#define SEAL_IV_LEN   12
#define SEAL_TAG_LEN  16

/* For CLEANUP: a key that goes out of scope is wiped. */
void seal_wipe(unsigned char (*key)[SEAL_KEY_LEN]);

struct derived {
	struct derived *next;
	unsigned char salt[SEAL_SALT_LEN];
	unsigned char key[SEAL_KEY_LEN];
};

struct seal_key {
	char id[SEAL_ID_MAX + 1];
	bool phrase; /* key is derived from text, by salt */
	unsigned char key[SEAL_KEY_LEN];
	char text[SEAL_TEXT_MAX + 1];
	size_t text_n;
	_Atomic(struct derived *) derived;
	_Atomic int n_derived;
};

struct keyring {
	const char *source;
	char *path; /* of the key file */
	char *wrapped;
	struct kms_opts kms;
	unsigned char salt[SEAL_SALT_LEN]; /* for what is sealed from now on */
	struct seal_key *keys[SEAL_KEYS_MAX]; /* the last is active */
	atomic_size_t n;
};

struct seal_key *keyring_active(struct keyring *k);
/* NULL when none has this id. */
struct seal_key *keyring_find(struct keyring *k, struct str id);
/* The key of a value, with a salt in it or none. ERR_INVALID. */
int keyring_key_of(struct keyring *k, struct str id, bool salted,
    struct seal_key **ret, struct err *e) MUST_CHECK;
/* The 32 bytes to work with. */
void seal_key_bytes(struct seal_key *key, const unsigned char *salt,
    unsigned char ret[SEAL_KEY_LEN]);
/* One call of AES-256-GCM, either way. False when the tag is wrong. */
bool seal_gcm(bool seal, const unsigned char key[SEAL_KEY_LEN],
    const unsigned char iv[SEAL_IV_LEN], struct str where, struct str in,
    char *out, unsigned char tag[SEAL_TAG_LEN]);

/* A key that is known already: unwrapped, or just made. */
int keyring_raw(struct keyring *k, const char *id,
    const unsigned char key[SEAL_KEY_LEN], struct err *e) MUST_CHECK;

/* From the file k->path, and from the environment: the active key first. */
int keyring_file(struct keyring *k, bool may_make, struct err *e) MUST_CHECK;
int keyring_env(struct keyring *k, const char *name, struct err *e) MUST_CHECK;
/* Puts `id:key` before what stands in the file, whole or not at all. */
int keyring_file_add(struct keyring *k, const char *id,
    const unsigned char key[SEAL_KEY_LEN], struct err *e) MUST_CHECK;
/* The folder's salt, made when it is not there. */
int keyring_salt(const char *dir, unsigned char ret[SEAL_SALT_LEN],
    struct err *e) MUST_CHECK;
/* "key-2026-01-3f9a": the month, so that a reader can tell old from new. */
void keyring_new_id(
    struct keyring *k, const char *prefix, char ret[SEAL_ID_MAX + 1]);
