#include "http/server/form.h"

#include "base/arena.h"
#include "base/str.h"
#include "http/server/limits.h"
#include "http/server/query.h"

int
form_read(const struct req *r, struct form *ret, struct err *e)
{
	struct req_pair *body = NULL, *all;
	size_t n = 0;
	int rc = pairs_parse(
	    r->arena, r->body, FORM_PAIRS_MAX, "the form", &body, &n, e);

	if (rc < 0)
		return rc;
	all = arena_array(r->arena, n + r->n_query, sizeof(*all));
	if (n > 0)
		memcpy(all, body, n * sizeof(*all));
	if (r->n_query > 0)
		memcpy(all + n, r->query, r->n_query * sizeof(*all));
	ret->pairs = all;
	ret->n = n + r->n_query;
	return OK;
}

bool
form_each(const struct form *f, const char *name, size_t *at, struct str *ret)
{
	struct str want = str_of(name);

	for (; *at < f->n; ++*at)
		if (str_eq(f->pairs[*at].name, want)) {
			*ret = f->pairs[(*at)++].value;
			return true;
		}
	return false;
}

struct str
form_get(const struct form *f, const char *name)
{
	struct str s = STR_EMPTY;
	size_t at = 0;

	return form_each(f, name, &at, &s) ? s : STR_EMPTY;
}

bool
form_has(const struct form *f, const char *name)
{
	struct str s;
	size_t at = 0;

	return form_each(f, name, &at, &s);
}

int
form_int(const struct form *f, const char *name, int64_t lo, int64_t hi,
    int64_t absent, int64_t *ret, struct err *e)
{
	struct str s;
	size_t at = 0;
	int64_t v;

	if (!form_each(f, name, &at, &s) || s.n == 0) {
		*ret = absent;
		return OK;
	}
	if (!str_int(s, &v) || v < lo || v > hi)
		return err_set(e, ERR_INVALID,
		    "parameter %s must be a whole number from %lld to %lld",
		    name, (long long)lo, (long long)hi);
	*ret = v;
	return OK;
}
