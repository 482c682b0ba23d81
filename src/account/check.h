/*
 * check.h - is this the password? The password thread's own part of auth.h.
 *
 * Knows what was verified lately, who is locked out, and asks argon2 for the
 * rest. What was verified is looked at before the lock: somebody who guesses
 * from a shared address can't shut out those who are logged in there.
 *
 * LIFE. Owned by the one password thread; no locks. The time is a parameter.
 */
#pragma once

#include "account/lockout.h"

struct check;

struct check *check_new(const struct lockout_opts *o);
void check_free(struct check *c); /* NULL is fine */

struct check_ask {
	struct str name, password;
	struct str hash; /* the account's; .p NULL: there is no such account */
	const char *peer;
};

/*
 * OK with the time until which the answer may be trusted; ERR_UNKNOWN when it
 * is not the password, ERR_BUSY with retry_after_s when the pair is locked.
 */
int check_password(struct check *c, const struct check_ask *q, int64_t now_us,
    int64_t *ret_until_us, struct err *e) MUST_CHECK;
