/*
 * password.h - what people remember, hashed so that a stolen store is little
 * use: argon2id with 7 MiB, 5 passes, 1 lane.
 *
 * WHY THESE. They are one of the settings OWASP holds to be equal in strength
 * (with 19 MiB, 2 passes and the like); this one keeps a check at 7 MiB of
 * memory, which counts in a server that is to stay below 40. A check takes
 * some 20 to 40 ms of one core: callers run it on a thread of its own.
 *
 * The parameters stand inside the hash ("$argon2id$v=19$m=7168,t=5,p=1$…"),
 * so that they may be raised later and old hashes still hold.
 */
#pragma once

#include "base/base.h"

#define PASSWORD_HASH_SIZE 128 /* room for any hash, with its NUL */
#define PASSWORD_MADE_LEN  24

/* What somebody who guesses tries first, beside the worst of all (worst.h). */
struct password_of {
	struct str name; /* of the account */
	struct str url;  /* of the server; may be empty */
};

/* `at` is the JSON pointer for the message. Bytes, not characters. */
int password_check(struct str password, const struct password_of *of,
    const char *at, struct err *e) MUST_CHECK;
/* NUL-terminated. ERR_IO when there are no 7 MiB. */
int password_hash(struct str password, char ret[PASSWORD_HASH_SIZE],
    struct err *e) MUST_CHECK;
/* *ret_same says whether it is the one. Any failure to find out is an error. */
int password_verify(struct str hash, struct str password, bool *ret_same,
    struct err *e) MUST_CHECK;
/* As long as a check takes, for a user who is not there. */
void password_waste(struct str password);

/*
 * 24 characters of an alphabet without look-alikes (no 0 O o 1 l I): 139 bits,
 * to be read from a screen and typed.
 */
void password_make(char ret[PASSWORD_MADE_LEN + 1]);
