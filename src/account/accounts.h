/*
 * accounts.h - people who log in with a name and a password.
 *
 * A name is 1 to 63 of a-z 0-9 . _ @ + -, beginning with a letter or a digit:
 * lower case only, so that Alice and alice can't be two people. Roles stand in
 * scopes.h.
 *
 * WHO HASHES. Hashing a password takes as long as a hundred commits, and the
 * commit thread has better things to do. So these take hashes; the caller
 * makes them beforehand, elsewhere (seal/password.h).
 *
 * INVARIANTS
 *   1. Where there are accounts there is an admin: the first must be one, and
 *      the last one can't be removed.
 *   2. `password` is never shown, logged or answered.
 *   3. An account is a person (users.h), from its making to its end.
 */
#pragma once

#include "account/scopes.h"
#include "seal/password.h"

struct db;

struct account {
	int64_t id;
	int64_t user; /* the person (users.h); in lists 0 */
	struct uuid user_uid;
	struct str name;
	struct str password; /* the hash; empty in lists */
	enum role role;
	int64_t created_us, changed_us; /* changed: the password */
};

/* ERR_INVALID with the pointer `at` when it can't be a name. */
int account_check_name(
    struct str name, const char *at, struct err *e) MUST_CHECK;

/*
 * First run: when there is no account at all, makes `admin` with the password
 * `given` or, when that is empty, a random one that is written to ret_made to
 * be shown once ("" when nothing is to be shown). Hashes, so it belongs before
 * the commit thread. *ret_first: whether admin was made.
 */
int accounts_first(struct db *db, struct str given, int64_t now_us,
    char ret_made[PASSWORD_MADE_LEN + 1], bool *ret_first,
    struct err *e) MUST_CHECK;

/*
 * Without a terminal to show it on, that password lies in DIR/first-password,
 * mode 0600, until it is changed. *ret_path: to tell where.
 */
int accounts_first_keep(const char *dir, const char *password, struct arena *a,
    struct str *ret_path, struct err *e) MUST_CHECK;
/* `name` has another password now. */
void accounts_first_forget(const char *dir, struct str name);

/*
 * Adding, removing and a new password are audited, with who did so in `by`
 * (audit.h, actor): inside a transaction.
 */
/* ERR_CONFLICT when the name is taken, or the first is no admin. */
int accounts_add(struct db *db, struct str name, struct str hash,
    enum role role, struct str by, int64_t now_us, struct err *e) MUST_CHECK;
/* These three: ERR_ABSENT when there is none of that name. */
int accounts_find(struct db *db, struct str name, struct arena *a,
    struct account *ret, struct err *e) MUST_CHECK;
/* Ends the account's sessions, but for one, and its app passwords: whoever had
 * the old password may have made them. */
struct account_password {
	struct str name, hash, by;
	struct str keep; /* the id of a session that goes on; empty: none */
};
int accounts_password(struct db *db, const struct account_password *p,
    int64_t now_us, struct err *e) MUST_CHECK;
/* ERR_CONFLICT for the last admin. */
int accounts_remove(struct db *db, struct str name, struct str by,
    int64_t now_us, struct err *e) MUST_CHECK;
/* By name, from the first after `after`; at most `most` of them. */
int accounts_list(struct db *db, struct str after, size_t most, struct arena *a,
    struct account **ret, size_t *ret_n, struct err *e) MUST_CHECK;

/* The account as the API shows it. */
void account_json(const struct account *u, struct buf *b);
