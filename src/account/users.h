/*
 * users.h - people: who reads, whatever they log in with.
 *
 * A person has one row in users and one or more identities: a provider and
 * what the provider calls them. The accounts of this program (accounts.h) are
 * the provider USER_LOCAL. What belongs to a person (sessions, settings,
 * subscriptions, what was read) refers to users.id and goes with it; feeds and
 * articles are everybody's and stay.
 *
 * A person who is logged in may link more identities, IDENTITIES_MAX in all, and
 * remove them; each leads to the same person. What the oldest says of their name
 * and address is theirs. A WAY IN is an identity that one can log in with now: of
 * USER_LOCAL, or of the provider that is set.
 *
 * INVARIANTS
 *   1. An identity is one person's: one that is somebody's is never moved.
 *   2. The last way in is not removed, nor is that of an account, which is the
 *      person itself.
 */
#pragma once

#include "base/base.h"

struct db;

#define USER_LOCAL  "local"
/* Before the uid of somebody without an account, in logs and audit rows. No
 * account can be called so. */
#define PERSON_NAME "person:"

struct user_new {
	struct str provider, subject; /* the identity */
	struct str email, name;       /* may be empty, not NULL */
};

/*
 * Inside a transaction. ERR_CONFLICT when the identity is somebody's already.
 * ret_id may be NULL.
 */
int users_add(struct db *db, const struct user_new *u, int64_t now_us,
    int64_t *ret_id, struct err *e) MUST_CHECK;

struct user {
	struct uuid uid;
	struct str email, name;
	int64_t created_us;
};

/* ERR_ABSENT when there is no such person. */
int users_get(struct db *db, int64_t id, struct arena *a, struct user *ret,
    struct err *e) MUST_CHECK;

/* Whose identity it is; ERR_ABSENT when it is nobody's. */
int users_find(struct db *db, struct str provider, struct str subject,
    int64_t *ret_id, struct err *e) MUST_CHECK;
/*
 * Whose identity it is, made when it is nobody's; what the provider says of
 * them now is kept. Inside a transaction. *ret_made may be NULL. ERR_CONFLICT
 * when another node made it in this moment: again, it is found.
 */
int users_login(struct db *db, const struct user_new *u, int64_t now_us,
    int64_t *ret_id, bool *ret_made, struct err *e) MUST_CHECK;
struct identity {
	int64_t id;
	struct str provider, subject;
	int64_t created_us;
};

/* At most IDENTITIES_MAX, the oldest first. */
int users_identities(struct db *db, int64_t user, struct arena *a,
    struct identity **ret, size_t *ret_n, struct err *e) MUST_CHECK;
/*
 * One more, inside a transaction. *ret_new false: it was there. ERR_CONFLICT:
 * it is somebody else's; ERR_LIMIT: there are too many.
 */
int users_link(struct db *db, int64_t user, const struct user_new *u,
    int64_t now_us, bool *ret_new, struct err *e) MUST_CHECK;
/*
 * One less, inside a transaction. `way` is the provider that is set, or empty.
 * ERR_ABSENT; ERR_CONFLICT when it is the last way in, or an account's.
 */
int users_unlink(struct db *db, int64_t user, int64_t id, struct str way,
    struct arena *a, struct identity *ret_gone, struct err *e) MUST_CHECK;

/*
 * Inside a transaction; all that is theirs goes along. An account has to be
 * removed by accounts_remove(), which ends here.
 */
int users_remove(struct db *db, int64_t id, struct err *e) MUST_CHECK;
