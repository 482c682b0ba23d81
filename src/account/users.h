/*
 * users.h - people: who reads, whatever they log in with.
 *
 * A person has one row in users and one or more identities: a provider and
 * what the provider calls them. The accounts of this program (accounts.h) are
 * the provider USER_LOCAL. What belongs to a person (sessions, settings,
 * subscriptions, what was read) refers to users.id and goes with it; feeds and
 * articles are everybody's and stay.
 */
#ifndef ACCOUNT_USERS_H
#define ACCOUNT_USERS_H

#include "base/base.h"
#include "base/uuid.h"

struct arena;
struct db;

#define USER_LOCAL "local"

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

#endif
