#include "http/server/query.h"

#include "http/server/limits.h"

static size_t
count_parts(struct str s)
{
	size_t n = 0;

	while (s.n > 0)
		n += str_cut(&s, '&').n > 0;
	return n;
}

static int
pairs_parse(struct arena *a, struct str s, size_t most, const char *what,
    const struct str_pair **ret, size_t *ret_n, struct err *e)
{
	size_t n = count_parts(s), at = 0;
	struct str_pair *v;

	if (n > most)
		return err_set(
		    e, ERR_LIMIT, "%s has over %zu parameters", what, most);
	v = arena_array(a, n, sizeof(*v));
	while (s.n > 0) {
		struct str value = str_cut(&s, '&'), name;

		if (value.n == 0)
			continue;
		name = str_cut(&value, '=');
		TRY(percent_decode(
		    a, name, true, "a parameter's name", &v[at].name, e));
		TRY(percent_decode(
		    a, value, true, "a parameter's value", &v[at].value, e));
		at++;
	}
	*ret = v;
	*ret_n = at;
	return OK;
}

int
query_parse(struct arena *a, struct str s, const struct str_pair **ret,
    size_t *ret_n, struct err *e)
{
	return pairs_parse(a, s, HTTP_QUERY_MAX, "the query", ret, ret_n, e);
}

bool
req_query(const struct req *r, const char *name, struct str *ret)
{
	struct form f = {r->query, r->n_query};
	size_t at = 0;

	return form_each(&f, name, &at, ret);
}

int
form_read(const struct req *r, struct form *ret, struct err *e)
{
	const struct str_pair *body = NULL;
	struct str_pair *all;
	size_t n = 0;

	TRY(pairs_parse(
	    r->arena, r->body, FORM_PAIRS_MAX, "the form", &body, &n, e));
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
	struct str s = form_get(f, name);
	int64_t v = absent;

	if (s.n > 0 && (!str_int(s, &v) || v < lo || v > hi))
		return err_set(e, ERR_INVALID,
		    "parameter %s must be a whole number from %lld to %lld",
		    name, (long long)lo, (long long)hi);
	*ret = v;
	return OK;
}
