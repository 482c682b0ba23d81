/*
 * scopes.h - what may be done, as words and as bits, and who stays within what.
 *
 * A scope is a bit; users, the store and the API know its word:
 *
 *   publish  send events           admin   everything, users included
 *   read     look at everything    submit  hand in tasks
 *   consume  take events as a      query   ask for tasks
 *            pull consumer, which keeps them from other workers
 *   manage   change subscriptions, keys and settings
 *
 * An account has a role, which stands for scopes:
 *
 *   admin     all of them
 *   operator  read, consume, manage, publish
 *   viewer    read: a viewer only looks, and takes nothing from a worker
 *   reader    none: one's own feeds and what is read of them, one's own
 *             password; the role of whoever is given no other
 *
 * WITHIN. Nobody gives what he has not got: a key that is made, or revoked,
 * must lie within its maker's scopes and tenants. `admin` covers all scopes,
 * but lifts no limit to tenants.
 */
#pragma once

#include "base/base.h"

struct principal;

/* A principal has some, a route wants one of them. ADMIN has all. That anybody
 * may is SCOPE_OPEN (http/server/req.h). */
enum scope {
	SCOPE_PUBLISH = 1 << 0,
	SCOPE_READ = 1 << 1,
	SCOPE_MANAGE = 1 << 2,
	SCOPE_ADMIN = 1 << 3,
	SCOPE_SUBMIT = 1 << 4,
	SCOPE_QUERY = 1 << 5,
	SCOPE_CONSUME = 1 << 6,
	SCOPE_ANY = 1 << 7,     /* anybody who is known */
	SCOPE_METRICS = 1 << 8, /* READ; anybody when metrics.open */
	SCOPE_USER = 1 << 9, /* a person (who.user): no key, no admin's right */
	SCOPE_WHOLE = 1 << 10 /* beside another: no key limited to tenants */
};

#define SCOPES_END  (1U << 11)
#define SCOPES_ALL  0x7fU /* the seven that can be given */
/* For messages: what each scope and role is called. */
#define SCOPE_WORDS "publish, read, consume, manage, admin, submit or query"
#define ROLE_WORDS  "reader, viewer, operator or admin"

unsigned scope_of(struct str word); /* 0 when it is none */
/* What one bit asks for; NULL for those that nobody can be given. */
const char *scope_name(unsigned bit);
/* The words of `scopes` one after the other; start with *at = 0. NULL ends. */
const char *scope_next(unsigned scopes, size_t *at);
/* Words with blanks between, as the store has them. */
struct str scopes_text(struct arena *a, unsigned scopes);
/* The same as a list of JSON. */
void scopes_put(struct buf *b, const char *name, unsigned scopes);
unsigned scopes_of(struct str text); /* unknown words are no scopes */

enum role { ROLE_NONE, ROLE_READER, ROLE_VIEWER, ROLE_OPERATOR, ROLE_ADMIN };

enum role role_of(struct str word); /* ROLE_NONE when it is none */
const char *role_name(enum role role);
unsigned role_scopes(enum role role);

/* ERR_UNKNOWN when nobody is known; ERR_DENIED, with the scopes that would do. */
int scopes_may(
    const struct principal *who, unsigned wants, struct err *e) MUST_CHECK;
bool scopes_within(unsigned scopes, unsigned of);
/* NULL is no limit: nothing is within a limit but a limit. */
bool scopes_tenants_within(
    const struct uuid *tenants, size_t n, const struct principal *who);
