#include "account/signup.h"

#include "seal/jwt.h"

#define GROUP STR("group:")

/* What follows the last @; empty without one. */
static struct str
domain(struct str address)
{
	size_t at = address.n;

	while (at > 0 && address.p[at - 1] != '@')
		at--;
	return at ? str_from(address, at) : STR_EMPTY;
}

static bool
is_item(struct str item)
{
	if (str_starts(item, GROUP))
		return item.n > GROUP.n;
	return domain(item).n > 0;
}

int
signup_check(struct str rules, struct err *e)
{
	if (str_eq(rules, STR("open")) || str_eq(rules, STR("closed")))
		return OK;
	while (rules.n > 0) {
		struct str item = str_trim(str_cut(&rules, ','));

		if (!is_item(item))
			return err_set(e, ERR_INVALID,
			    "oidc.signup: %.*s is none of @domain, name@domain and group:name; open and closed stand alone",
			    STR_ARG(item));
	}
	return OK;
}

static bool
in_group(const struct jwt_claims *c, struct str name)
{
	if (!json_is(c->groups, JSON_ARRAY))
		return false;
	for (const struct json *g = c->groups->child; g; g = g->next)
		if (json_is(g, JSON_STRING) && str_eq(g->text, name))
			return true;
	return false;
}

static bool
fits(struct str item, const struct jwt_claims *c)
{
	if (str_starts(item, GROUP))
		return in_group(c, str_from(item, GROUP.n));
	if (!c->email_verified || domain(c->email).n == 0)
		return false;
	return item.p[0] == '@'
		   ? str_eq_nocase(str_from(item, 1), domain(c->email))
		   : str_eq_nocase(item, c->email);
}

bool
signup_allows(struct str rules, const struct jwt_claims *c)
{
	if (str_eq(rules, STR("open")))
		return true;
	while (rules.n > 0) {
		struct str item = str_trim(str_cut(&rules, ','));

		if (is_item(item) && fits(item, c))
			return true;
	}
	return false;
}

bool
signup_groups(struct str rules)
{
	while (rules.n > 0)
		if (str_starts(str_trim(str_cut(&rules, ',')), GROUP))
			return true;
	return false;
}
