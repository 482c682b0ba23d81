/*
 * uuid.h - 16 bytes, as a value, and the random bytes they are made of.
 *
 * rand_bytes() hands out from a pool per thread that is filled by getrandom():
 * one system call for many ids. The pool is wiped as it is used, so a memory
 * dump shows no key that was handed out.
 */
#pragma once

#include "base/base.h"

#define UUID_LEN 36

struct uuid {
	unsigned char b[16];
};

struct buf;

void rand_bytes(void *ret, size_t n);
/* Drops this thread's pool: after fork() both would hand out the same. */
void rand_forget(void);

struct uuid uuid_v4(void);
struct uuid uuid_v7(int64_t now_us); /* time-ordered within a millisecond */
/* v8 form (RFC 9562: custom) from the first 16 bytes of a digest. */
struct uuid uuid_from_digest(const unsigned char digest[16]);
void uuid_format(struct uuid u, char ret[UUID_LEN + 1]); /* lower case */
void uuid_add(struct buf *b, struct uuid u);
bool uuid_parse(struct str s, struct uuid *ret); /* either case, 8-4-4-4-12 */
bool uuid_eq(struct uuid a, struct uuid b);
struct str uuid_str(const struct uuid *u); /* the 16 bytes, borrowed */
struct uuid uuid_of(struct str bytes); /* the other way; all 0: not 16 bytes */
