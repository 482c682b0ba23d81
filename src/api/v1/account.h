/*
 * account.h - keys, users and "who am I" over HTTP.
 *
 * WHY CHANGES ARE ON_HTTP. A body is parsed and checked on the http thread, a
 * password hashed on the password thread, and only the SQL runs on the commit
 * thread. When it is committed, and before it is answered, auth_changed() ends
 * what the caches know.
 *
 * WHO SEES WHAT. A key that is limited to tenants sees, makes and revokes only
 * keys within these tenants, and no users at all (routes.tbl: SCOPE_WHOLE). Nobody makes or revokes a
 * key with scopes beyond his own; a key makes none that lasts longer or may
 * send faster than itself. Everybody may set his own password, if he knows the
 * old one (oldPassword; a wrong one counts as a failed login); an admin those
 * of others. A new password ends the sessions and app passwords of its owner,
 * but for the session that he sets it in.
 */
#pragma once

#include "account/scopes.h"
#include "api/handlers.h"

/*
 * For what takes a right away: api_write(), and auth_changed() before the
 * answer.
 */
int api_account_write(struct req *r, handler_fn fn, struct err *e) MUST_CHECK;

/* An account to be: its password is checked and hashed, it is written, and
 * `show` answers on the commit thread, with it as r->ctx. */
struct account_new {
	struct str name, password;
	enum role role;
	handler_fn show;
};
int api_account_add(
    struct req *r, const struct account_new *n, struct err *e) MUST_CHECK;
