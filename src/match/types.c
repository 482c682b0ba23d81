#include "match/types.h"

#include "event/envelope.h"
#include "event/limits.h"

int
match_types_check(struct str pattern, struct err *e)
{
	struct str name = pattern;
	const char *why;

	if (str_eq(pattern, STR("*")))
		return OK;
	if (str_ends(pattern, STR(".*")))
		name.n -= 2;
	if (str_has(name, '*'))
		return err_set(e, ERR_INVALID,
		    "\"%.*s\" may have * as its last part only, as in feed.item.*",
		    (int)(pattern.n < EVENT_TYPE_MAX ? pattern.n
						     : EVENT_TYPE_MAX),
		    pattern.p);
	if (pattern.n > EVENT_TYPE_MAX)
		return err_set(e, ERR_INVALID,
		    "a type is at most %d bytes, not %zu", EVENT_TYPE_MAX,
		    pattern.n);
	why = envelope_type_wrong(name);
	if (why)
		return err_set(
		    e, ERR_INVALID, "\"%.*s\" %s", STR_ARG(pattern), why);
	return OK;
}

struct str
match_types_key(struct str pattern)
{
	if (pattern.n > 0 && pattern.p[pattern.n - 1] == '*')
		pattern.n--;
	return pattern;
}

bool
match_types_fit(struct str key, struct str type)
{
	if (key.n == 0 || key.p[key.n - 1] == '.')
		return type.n > key.n && str_starts(type, key);
	return str_eq(key, type);
}
