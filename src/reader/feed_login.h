/*
 * feed_login.h - the user name and password that a feed is asked for with.
 *
 * WHAT. Some feeds want Basic authentication. A person gives name and password
 * beside the address, or within it (https://name:password@host/…), where they
 * are taken out before anything else sees it. Such a feed is that person's own:
 * its row is found by feed_login_key(), and nobody else can come to share it; it
 * is private, as feeds_mark() has it.
 *
 * WHERE IT GOES. Into the subscription, sealed, so that it ends with the
 * subscription or the person. From there into a header for the origin of the
 * feed's address and no other: not behind a redirect to another (n_own of
 * http/client/follow.h), not to icons and pages elsewhere, not to hubs. It is
 * in no answer (FEED_LOGIN_MASK stands for it), log, event or list.
 *
 * A login is "name:password", as Basic has it; .p NULL: there is none.
 *
 * LIFE. What has a db runs on the commit thread inside a transaction; the rest
 * is pure. Texts are the arena's.
 */
#pragma once

#include "reader/limits.h"

struct db;
struct keyring;

#define FEED_LOGIN_MASK "********"

/* What a person says of it; .p NULL: nothing, as with FEED_LOGIN_MASK. An empty
 * name takes it away. */
struct feed_login_edit {
	struct str name, password;
};

/* Takes it out of *url, an address as it is typed. ERR_INVALID; of two,
 * too: *login has one already. */
int feed_login_split(struct arena *a, struct str *url, struct str *login,
    struct err *e) MUST_CHECK;
/* `was` with what is said; .p NULL: none is left. ERR_INVALID at /username or
 * /password. */
int feed_login_make(struct arena *a, struct str was,
    const struct feed_login_edit *x, struct str *ret, struct err *e) MUST_CHECK;
/* True when it says anything; a mask is nothing. */
bool feed_login_says(struct feed_login_edit *x);

/* The value of Authorization. */
struct str feed_login_header(struct arena *a, struct str login);
/* feed.feed_url of a person's own feed at this address. */
struct str feed_login_key(struct arena *a, struct str url, struct uuid user);
/* Would it go there, too? */
bool feed_login_same_origin(struct str a, struct str b);

/* Whose, of which feed. */
struct feed_login_of {
	struct db *db;
	struct keyring *k;
	int64_t user, feed, now_us;
};
/* The feed must be the person's own. ERR_ABSENT */
int feed_login_put(
    const struct feed_login_of *of, struct str login, struct err *e) MUST_CHECK;
/* The same with what is said, and the feed is fetched now. */
int feed_login_change(const struct feed_login_of *of,
    const struct feed_login_edit *x, struct err *e) MUST_CHECK;
/* What the row of a subscription has. */
int feed_login_open(struct keyring *k, struct arena *a, struct uuid sub,
    struct str sealed, struct str *ret, struct err *e) MUST_CHECK;
