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

#endif
