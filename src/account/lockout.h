/*
 * lockout.h - how often a password may be guessed, without shutting out its
 * owner.
 *
 * WHY PAIRS. Counting by account alone lets anybody lock the admin out by
 * guessing badly; counting by address alone punishes an office for one typing
 * error and stops no one who guesses many names slowly. So failures are
 * counted for (account name, caller's network): IPv4 by address, IPv6 by its /64,
 * which is what one customer gets and can pick addresses from at will. The
 * owner at another network is never affected; at the same network (a shared
 * address) whoever is logged in stays so, since auth.h looks at what it
 * verified before it asks here.
 *
 * The rule: `failures_max` failures are free. From then on each locks the pair
 * for first_us, doubling up to lock_us, and while it is locked no password is
 * looked at, right or wrong. A success, or `window_us` of quiet after the last
 * failure or lock, forgets all. Names that don't exist count like those that
 * do, so the answer tells nothing.
 *
 * Memory is bounded: LOCKOUT_MAX pairs, the longest untouched is forgotten. To
 * push out an entry an attacker must have that many wrong passwords checked
 * for other names, one after the other on the one password thread: minutes for
 * a few more guesses.
 *
 * LIFE. Owned by the password thread; no locks. The time is a parameter.
 */
#pragma once

#include "base/base.h"

#define LOCKOUT_KEY_LEN 16

struct lockout;

struct lockout_opts {
	int failures_max;  /* >= 1 */
	int64_t window_us; /* > 0 */
	int64_t first_us;  /* > 0, the first lock */
	int64_t lock_us;   /* >= first_us, the longest lock */
};

/* The pair as a digest: names come from strangers and have any length. */
struct lockout_key {
	unsigned char b[LOCKOUT_KEY_LEN];
};

struct lockout *lockout_new(const struct lockout_opts *o);
void lockout_free(struct lockout *l); /* NULL is fine */

/*
 * `peer` is an address in text form; a mapped IPv4 counts as IPv4. `hash` is
 * the stored password's, empty when there is no such account: with it in, a
 * new password begins a new count, so that setting one lifts every lock.
 */
struct lockout_key lockout_pair(
    struct str name, struct str hash, const char *peer);
/* The network alone, for those who count by it. */
struct lockout_key lockout_network(const char *peer);

/* How long the pair is still locked; 0: go on. */
int64_t lockout_wait_us(
    struct lockout *l, const struct lockout_key *k, int64_t now_us);
void lockout_failed(
    struct lockout *l, const struct lockout_key *k, int64_t now_us);
void lockout_passed(struct lockout *l, const struct lockout_key *k);
