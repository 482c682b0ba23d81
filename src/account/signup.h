/*
 * signup.h - whom a login provider may bring for the first time (oidc.signup).
 *
 *   closed             nobody: who is to come is added by an admin
 *   open               whoever the provider lets in
 *   @example.com, ann@example.org, group:staff
 *                      those of a domain, an address, a group; any one will do
 *
 * A provider that anybody can have an account with (Google) lets the whole
 * world in; so it is closed unless somebody is named. An address counts only
 * when the provider has verified it; the domain is all of what follows the
 * last @, so @example.com is not @sub.example.com. Groups are the claim
 * `groups` of the id_token, compared byte by byte.
 *
 * A value module: pure. Who was let in once comes in again, whatever is set.
 */
#pragma once

#include "base/base.h"

struct jwt_claims;

/* ERR_INVALID naming the item that is none of the above. */
int signup_check(struct str rules, struct err *e) MUST_CHECK;
bool signup_allows(struct str rules, const struct jwt_claims *c);
/* Whether groups are asked for: the provider has to be asked to tell them. */
bool signup_groups(struct str rules);
