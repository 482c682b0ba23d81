/*
 * session.h - who stays logged in: a cookie, and a row.
 *
 *   Cookie: hikyaku_session=TOKEN.MAC
 *
 * TOKEN is 43 characters drawn evenly from 62: 256 bits. MAC is an HMAC of it
 * under the session secret, so that what nobody was given is refused before
 * the store is asked. The store has the SHA-256 of the token alone, so whoever
 * reads the table can't use it; `data` (how the person logged in) is sealed.
 *
 * THE SECRET is session.secret or, when that is empty, one that is made at the
 * first run and kept in the store, sealed (meta `session_secret`): restarts and
 * other nodes know it. A new secret ends all sessions.
 *
 * A person has SESSIONS_EACH at most; with one more the oldest ends. A session
 * lasts session.max.age from its last use on, and session.max.total from its
 * login on at most: each use puts its end off, in steps, so that a row is not
 * written for each request. A new password ends all of an account's. Those past
 * their end go by ops/jobs.h.
 *
 * LIFE. session_key_open() by the one writer before there are threads. What
 * writes runs inside a transaction on the commit thread, which also seals.
 */
#pragma once

#include "seal/digest.h"

struct conf;
struct db;
struct keyring;
struct principal;

#define SESSION_COOKIE    "hikyaku_session"
#define SESSION_TOKEN_LEN 43
#define SESSION_TEXT_LEN  (SESSION_TOKEN_LEN + 1 + 43)

struct session_key {
	unsigned char b[DIGEST_LEN];
};

/* `given` is session.secret, "" when it is not set. */
int session_key_open(struct db *db, struct keyring *k, const char *given,
    struct session_key *ret, struct err *e) MUST_CHECK;

/* A new one: what the cookie holds, and what the store knows it by. */
void session_make(const struct session_key *k, char ret[SESSION_TEXT_LEN + 1],
    unsigned char ret_id[DIGEST_LEN]);
/* False when we never gave it out. */
bool session_read(const struct session_key *k, struct str text,
    unsigned char ret_id[DIGEST_LEN]);
/* So that a cookie which we never gave out costs no more than this. `label`
 * says what for, and ends with a blank. */
void session_mac(const struct session_key *k, const char *label,
    struct str text, unsigned char ret[DIGEST_LEN]);
/* The value of a cookie in a Cookie header; empty when it is not there. */
struct str session_cookie(struct str header, struct str name);

struct session_new {
	const unsigned char *id; /* as session_make() has it */
	int64_t user;
	struct str provider; /* how the person logged in */
	int64_t now_us, expires_us;
};
/* *ret_ended: older ones went for it. */
int session_add(struct db *db, struct keyring *k, struct arena *a,
    const struct session_new *s, bool *ret_ended, struct err *e) MUST_CHECK;
/* How long they last, from the last use on and from the login on. */
struct session_life {
	int64_t age_us, total_us;
};
struct session_life session_life(const struct conf *c);
/* When one ends that is used now. */
int64_t session_end(
    const struct session_life *l, int64_t created_us, int64_t now_us);
/* The least by which an end is put off. */
int64_t session_step(const struct session_life *l);

struct session_row {
	int64_t seq, created_us;
};
/* Whose it is: an account's name, or what logs tell of somebody without one.
 * ERR_ABSENT when there is none, or it is over. ret_row may be NULL. */
int session_find(struct db *db, const unsigned char id[DIGEST_LEN],
    int64_t now_us, struct arena *a, struct principal *ret,
    struct session_row *ret_row, struct err *e) MUST_CHECK;
/* Its end is put off; one that ends later stays so. */
int session_renew(
    struct db *db, int64_t seq, int64_t expires_us, struct err *e) MUST_CHECK;
/* How the person logged in; .p NULL when it can't be read. */
int session_look(struct db *db, struct keyring *k,
    const unsigned char id[DIGEST_LEN], struct arena *a,
    struct str *ret_provider, struct err *e) MUST_CHECK;
/* All of a person's but `keep`, which may be empty. */
int session_remove_others(
    struct db *db, int64_t user, struct str keep, struct err *e) MUST_CHECK;
/* None of that id is fine. */
int session_remove(struct db *db, const unsigned char id[DIGEST_LEN],
    struct err *e) MUST_CHECK;
