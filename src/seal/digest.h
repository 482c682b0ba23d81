/*
 * digest.h - SHA-256, HMAC-SHA256, and comparing in constant time.
 *
 * WHY OUR OWN WRAPPER. OpenSSL's one-shot calls look the algorithm up by name
 * each time, which costs more than hashing a kilobyte. Here the algorithm is
 * fetched once, each thread keeps one context for digests, and whoever has a
 * secret keeps one for its HMAC.
 *
 * LIFE. Digests may be called from any thread. A struct hmac belongs to one
 * thread at a time. A library that can't do SHA-256 or has no memory for a
 * context is no state to go on in: these assert instead of failing.
 */
#pragma once

#include "base/base.h"

#define DIGEST_LEN       32
#define DIGEST_SHORT_LEN 16
#define DIGEST_MD5_LEN   16
#define DIGEST_SHA1_LEN  20

#define DIGEST_STR(sum) ((struct str){(const char *)(sum), DIGEST_LEN})

void digest_sha256(struct str s, unsigned char ret[DIGEST_LEN]);
/* Its first 16 bytes: enough where only accidents must not collide. */
void digest_short(struct str s, unsigned char ret[DIGEST_SHORT_LEN]);
/* For UUIDv5, which is made with it. */
void digest_sha1(struct str s, unsigned char ret[DIGEST_SHA1_LEN]);
/* For protocols that know no better. False where MD5 is forbidden (FIPS). */
bool digest_md5(struct str s, unsigned char ret[DIGEST_MD5_LEN]);

struct hmac;

struct hmac *hmac_new(struct str key); /* the key is copied */
void hmac_free(struct hmac *h);        /* wipes the key; NULL is fine */
/* Over all parts, one after the other. */
void hmac_sum(struct hmac *h, const struct str *parts, size_t n,
    unsigned char ret[DIGEST_LEN]);

/*
 * An HMAC with the hash that somebody else chose: "sha1", "sha256", "sha384" or
 * "sha512". Its length, or 0 when it is none of these, or is forbidden here.
 */
#define HMAC_MAX 64
size_t hmac_named(
    struct str hash, struct str key, struct str s, unsigned char ret[HMAC_MAX]);

/* Takes the same time wherever the two differ. */
bool digest_eq(const void *a, const void *b, size_t n);
/* Overwrites a secret; never optimised away. */
void digest_wipe(void *p, size_t n);
void digest_wipe_buf(struct buf *b); /* and frees it */
