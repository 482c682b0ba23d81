/*
 * sign.h - signatures over what we send: HMAC-SHA256 and ed25519.
 *
 * SECRETS AS TEXT. Standard Webhooks writes them with a prefix and base64:
 *
 *   whsec_   HMAC key, 24 to 64 bytes
 *   whsk_    ed25519 private key, 32 bytes, or 64 with the public key behind
 *   whpk_    ed25519 public key, 32 bytes: what a receiver is given
 *
 * Other schemes take the text itself as the key. SECRET_TEXT reads any text
 * so, SECRET_STANDARD the three forms above and nothing else, SECRET_EITHER
 * decodes what has one of the prefixes and takes the rest as it is.
 *
 * WHY A STRUCT SIGNER. Setting up a key costs more than signing a kilobyte
 * with it. Whoever sends keeps one signer per secret; it belongs to one thread
 * at a time.
 *
 * All compare in constant time. A secret stands in no error text.
 */
#pragma once

#include "base/base.h"

#define SIGN_MAX        64 /* bytes of the longest signature */
#define SECRET_TEXT_LEN 96 /* room for a made secret or public key, with NUL */

enum sign_algorithm { SIGN_HMAC_SHA256, SIGN_ED25519 };
enum secret_form { SECRET_STANDARD, SECRET_TEXT, SECRET_EITHER };

struct signer;

/* `at` is the JSON pointer for errors, which say what form is wanted. */
int signer_new(struct str secret, enum secret_form form, const char *at,
    struct signer **ret, struct err *e) MUST_CHECK;
void signer_free(struct signer *s); /* wipes the key; NULL is fine */
enum sign_algorithm signer_algorithm(const struct signer *s);
/* False with a public key, which can only verify. */
bool signer_can_sign(const struct signer *s);

/*
 * Over all parts, one after the other; returns the bytes written. ERR_LIMIT
 * only with ed25519, which needs them in one piece.
 */
int signer_sign(struct signer *s, const struct str *parts, size_t n,
    unsigned char ret[SIGN_MAX], struct err *e) MUST_CHECK;
bool signer_verify(
    struct signer *s, const struct str *parts, size_t n, struct str signature);

/* A new one: whsec_ with 32 random bytes, or whsk_ with both keys. */
void sign_make_secret(enum sign_algorithm algorithm, char ret[SECRET_TEXT_LEN]);
/* 64 hexadecimal digits of 32 random bytes, for schemes that take text. */
void sign_make_text(char ret[SECRET_TEXT_LEN]);
/* whpk_ of a signer with an ed25519 key; false with another. */
bool sign_public(const struct signer *s, char ret[SECRET_TEXT_LEN]);
