/*
 * keyring_priv.h - what keyring.c, keyring_bytes.c and keyring_source.c share.
 *
 * A ring is an immutable list of keys; the keyring points to the newest, and
 * older ones stay until it is closed, for threads that still look at them. The
 * keys of passphrases are derived when they are needed and pushed on a list
 * that only grows: two threads may derive the same one, which costs time and
 * nothing else.
 */
#ifndef SEAL_KEYRING_PRIV_H
#define SEAL_KEYRING_PRIV_H

#include <stdatomic.h>

#include "seal/keyring.h"
#include "seal/limits.h"

#define SEAL_KEY_LEN  32
#define SEAL_SALT_LEN 16
#define SEAL_IV_LEN   12
#define SEAL_TAG_LEN  16

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

struct ring {
	struct ring *older;
	size_t n;
	struct seal_key *keys[SEAL_KEYS_MAX]; /* the first is active */
};

struct keyring {
	const char *source;
	char *path; /* of the key file */
	char *wrapped;
	struct kms_opts kms;
	unsigned char salt[SEAL_SALT_LEN]; /* for what is sealed from now on */
	_Atomic(struct ring *) now;
};

struct seal_key *keyring_active(struct keyring *k);
/* NULL when none has this id. */
struct seal_key *keyring_find(struct keyring *k, struct str id);
/* The 32 bytes to work with. */
void seal_key_bytes(struct seal_key *key, const unsigned char *salt,
    unsigned char ret[SEAL_KEY_LEN]);
/* One call of AES-256-GCM, either way. False when the tag is wrong. */
bool seal_gcm(bool seal, const unsigned char key[SEAL_KEY_LEN],
    const unsigned char iv[SEAL_IV_LEN], struct str where, struct str in,
    char *out, unsigned char tag[SEAL_TAG_LEN]);

/* The keys of a source, as they are read. */
struct key_list {
	size_t n;
	struct seal_key *keys[SEAL_KEYS_MAX];
};

/* `[id:]key`, or an error that names `what` it came from. */
int key_list_add(struct key_list *l, struct str line, const char *default_id,
    const char *what, struct err *e) MUST_CHECK;
/* A key that is known already: unwrapped, or just made. */
int key_list_raw(struct key_list *l, const char *id,
    const unsigned char key[SEAL_KEY_LEN], struct err *e) MUST_CHECK;
void key_list_done(struct key_list *l); /* wipes and frees what is left */

int keyring_file(const char *path, bool may_make, struct key_list *ret,
    struct err *e) MUST_CHECK;
int keyring_env(
    const char *name, struct key_list *ret, struct err *e) MUST_CHECK;
/* Puts `id:key` before what stands in the file, whole or not at all. */
int keyring_file_add(const char *path, const char *id,
    const unsigned char key[SEAL_KEY_LEN], struct err *e) MUST_CHECK;
/* The folder's salt, made when it is not there. */
int keyring_salt(const char *dir, unsigned char ret[SEAL_SALT_LEN],
    struct err *e) MUST_CHECK;
/* "key-2026-01-3f9a": the month, so that a reader can tell old from new. */
void keyring_new_id(const char *prefix, char ret[SEAL_ID_MAX + 1]);

#endif
