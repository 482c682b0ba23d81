#include "account/scopes.h"

#include "http/server/req.h"

_Static_assert(
    SCOPES_ALL == (SCOPE_PUBLISH | SCOPE_READ | SCOPE_MANAGE | SCOPE_ADMIN |
		      SCOPE_SUBMIT | SCOPE_QUERY | SCOPE_CONSUME),
    "all that can be given");

static const struct {
	unsigned bit;
	const char *word;
} SCOPES[] = {
    {SCOPE_PUBLISH, "publish"},
    {SCOPE_READ, "read"},
    {SCOPE_CONSUME, "consume"},
    {SCOPE_MANAGE, "manage"},
    {SCOPE_ADMIN, "admin"},
    {SCOPE_SUBMIT, "submit"},
    {SCOPE_QUERY, "query"},
};

static const struct {
	const char *word;
	unsigned scopes;
} ROLES[] = {
    [ROLE_NONE] = {"", 0},
    [ROLE_READER] = {"reader", 0},
    [ROLE_VIEWER] = {"viewer", SCOPE_READ},
    [ROLE_OPERATOR] = {"operator",
	SCOPE_READ | SCOPE_CONSUME | SCOPE_MANAGE | SCOPE_PUBLISH},
    [ROLE_ADMIN] = {"admin", SCOPES_ALL},
};

unsigned
scope_of(struct str word)
{
	for (size_t i = 0; i < COUNT_OF(SCOPES); i++)
		if (str_eq(word, str_of(SCOPES[i].word)))
			return SCOPES[i].bit;
	return 0;
}

const char *
scope_name(unsigned bit)
{
	size_t at = 0;

	if (bit == SCOPE_USER)
		return "user";
	return scope_next(bit == SCOPE_METRICS ? SCOPE_READ : bit, &at);
}

const char *
scope_next(unsigned scopes, size_t *at)
{
	while (*at < COUNT_OF(SCOPES)) {
		size_t i = (*at)++;

		if (scopes & SCOPES[i].bit)
			return SCOPES[i].word;
	}
	return NULL;
}

struct str
scopes_text(struct arena *a, unsigned scopes)
{
	struct str text = STR_EMPTY;
	const char *word;
	size_t at = 0;

	while ((word = scope_next(scopes, &at)))
		text = arena_fmt(
		    a, "%.*s%s%s", STR_ARG(text), text.n ? " " : "", word);
	return text;
}

void
scopes_put(struct buf *b, const char *name, unsigned scopes)
{
	const char *word;
	size_t at = 0;

	put_open(b, name, '[');
	while ((word = scope_next(scopes, &at)))
		put_z(b, NULL, word);
	put_close(b, ']');
}

unsigned
scopes_of(struct str text)
{
	unsigned scopes = 0;

	while (text.n > 0)
		scopes |= scope_of(str_cut(&text, ' '));
	return scopes;
}

enum role
role_of(struct str word)
{
	for (size_t i = ROLE_READER; i < COUNT_OF(ROLES); i++)
		if (str_eq(word, str_of(ROLES[i].word)))
			return (enum role)i;
	return ROLE_NONE;
}

const char *
role_name(enum role role)
{
	return ROLES[role].word;
}

unsigned
role_scopes(enum role role)
{
	return ROLES[role].scopes;
}

/* The scopes that would do, "publish or manage". */
static int
deny(unsigned wants, struct err *e)
{
	struct buf b CLEANUP(buf_done) = BUF(128);

	for (unsigned bit = 1; bit < SCOPES_END; bit <<= 1)
		if ((wants & bit) && scope_name(bit))
			buf_fmt(&b, "%s%s", b.n ? " or " : "", scope_name(bit));
	return err_set(
	    e, ERR_DENIED, "this needs the scope %.*s", STR_ARG(buf_str(&b)));
}

int
scopes_may(const struct principal *who, unsigned wants, struct err *e)
{
	unsigned has = who->scopes | SCOPE_ANY;

	if (has & SCOPE_READ)
		has |= SCOPE_METRICS;
	if (who->kind == WHO_NOBODY)
		return err_set(e, ERR_UNKNOWN, "who are you?");
	if ((wants & SCOPE_WHOLE) && who->tenants)
		return err_set(e, ERR_DENIED,
		    "this is not for a key that is limited to tenants");
	if (wants & SCOPE_USER)
		return who->user ? OK : deny(wants, e);
	return (has & wants) || (has & SCOPE_ADMIN) ? OK : deny(wants, e);
}

bool
scopes_within(unsigned scopes, unsigned of)
{
	return (of & SCOPE_ADMIN) || (scopes & ~of) == 0;
}

static bool
has_tenant(const struct principal *who, struct uuid tenant)
{
	for (size_t i = 0; i < who->n_tenants; i++)
		if (uuid_eq(who->tenants[i], tenant))
			return true;
	return false;
}

bool
scopes_tenants_within(
    const struct uuid *tenants, size_t n, const struct principal *who)
{
	if (!who->tenants)
		return true;
	if (!tenants)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!has_tenant(who, tenants[i]))
			return false;
	return true;
}
