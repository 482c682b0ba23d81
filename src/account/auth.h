/*
 * auth.h - who is calling: the server's `who` hook.
 *
 *   Authorization: Bearer hk_…       an API key
 *   Authorization: Basic …           an account's name and password
 *   X-Auth-Token, GoogleLogin        an app password, on the routes of apps
 *   Cookie: hikyaku_session=…        a person's session (session.h)
 *   the unix socket                  the owner of the data folder: all scopes
 *   nothing                          nobody; the route says if that will do
 *
 * Which of them count is said by the route's group (http/server/req.h), never by how
 * its path was spelled.
 *
 * The header wins over the cookie. A cookie that stands for nothing (any more)
 * is nothing: nobody asked the person to log in yet.
 *
 * WHY A CACHE. The hook runs on an http thread, which must not wait for the
 * store, let alone for argon2. So each http thread remembers whom it has seen,
 * and a request it can't place is suspended while others look:
 *
 *   http thread ──miss──▶ read pool: the key's or account's row
 *       ▲                     │ a password that is not verified yet
 *       │                     ▼
 *       └──req_wake()── password thread: lockout, argon2 (one at a time)
 *
 * What was found is fresh for AUTH_FRESH_S, or until auth_changed() on this
 * node: then the row is read again. So a revoked key or a session that was
 * logged out ends at once here and within 5 s on other nodes. A password that argon2 approved is trusted for
 * AUTH_VERIFIED_S as long as the stored hash is still the same; what is kept
 * of it is an HMAC under a key that lives as long as the process.
 *
 * FAIRNESS. argon2 runs on one thread, so that guessing costs 7 MiB and one
 * core at most however many guess. AUTH_CHECKS_MAX requests may wait for it,
 * AUTH_CHECKS_EACH of one network, so that one guesser can't fill the queue;
 * the rest get ERR_BUSY. Those who are verified don't come there. A name that
 * does not exist takes as long as a wrong password. Lock-out: see lockout.h.
 *
 * LIFE. auth_new() before the server starts. At the end: server_drain(), stop
 * the read pool, auth_free(), then the commit thread. Per-thread caches end
 * with their threads. The hook uses r->ctx until it says who it is.
 *
 * INVARIANTS
 *   1. What the cache says was true in the store at most AUTH_FRESH_S ago, and
 *      not before the last auth_changed().
 *   2. who.tenants lies in the request's arena, never in the cache.
 *   3. Each REQ_WAIT is followed by one req_wake().
 */
#pragma once

#include "account/lockout.h"
#include "account/session.h"
#include "http/server/req.h"

struct append;
struct auth;
struct failures;

struct auth_opts {
	struct pool *read;     /* its context is a read `struct db *` */
	struct append *append; /* for when a key, app or session was used */
	int64_t key_rate;      /* for keys without one of their own; 0: none */
	struct lockout_opts lockout;
	struct session_key session;
	struct session_life life;  /* of sessions */
	struct failures *failures; /* NULL: they are counted alone */
};

int auth_new(
    const struct auth_opts *o, struct auth **ret, struct err *e) MUST_CHECK;
void auth_free(struct auth *a); /* NULL is fine */

/* The hook; arg is the struct auth. */
int auth_who(void *arg, struct req *r, struct err *e);

/*
 * For handlers of open routes that log in by what the body says: a name and a
 * password as Basic has them, an app password (with its login name), or Fever's
 * key. OK with r->who set, or REQ_WAIT, and then auth_checked() in r->then. They
 * use r->ctx meanwhile.
 */
int auth_check(struct auth *a, struct req *r, struct str name,
    struct str password, struct err *e) MUST_CHECK;
int auth_login(struct auth *a, struct req *r, struct str login,
    struct str password, struct err *e) MUST_CHECK;
int auth_fever(
    struct auth *a, struct req *r, struct str key, struct err *e) MUST_CHECK;
int auth_checked(struct req *r, struct err *e) MUST_CHECK;

/* Tells of a login that failed elsewhere; `way` is a constant (failures.h). */
void auth_failed(struct auth *a, const struct req *r, const char *way);

/* After the commit of whatever takes a right away. From any thread. */
void auth_changed(void);
/* The same when only sessions have ended, which they do all day: what is known
 * of keys and passwords stays. */
void auth_session_ended(void);
/* Grows with each of these: for those who last longer than a request. */
uint64_t auth_generation(bool by_cookie);

/* Runs a job on the password thread: for those who hash. False: full. */
bool auth_post(struct auth *a, struct pool_job *job) MUST_CHECK;
