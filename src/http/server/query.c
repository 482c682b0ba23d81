#include "http/server/query.h"

#include "base/arena.h"
#include "base/str.h"
#include "http/server/limits.h"

static size_t
count_parts(struct str s)
{
	size_t n = 0;

	while (s.n > 0)
		n += str_cut(&s, '&').n > 0;
	return n;
}

int
pairs_parse(struct arena *a, struct str s, size_t most, const char *what,
    struct req_pair **ret, size_t *ret_n, struct err *e)
{
	size_t n = count_parts(s), at = 0;
	struct req_pair *v;
	int rc;

	if (n > most)
		return err_set(
		    e, ERR_LIMIT, "%s has over %zu parameters", what, most);
	v = arena_array(a, n, sizeof(*v));
	while (s.n > 0) {
		struct str value = str_cut(&s, '&'), name;

		if (value.n == 0)
			continue;
		name = str_cut(&value, '=');
		rc = percent_decode(
		    a, name, true, "a parameter's name", &v[at].name, e);
		if (rc == OK)
			rc = percent_decode(a, value, true,
			    "a parameter's value", &v[at].value, e);
		if (rc < 0)
			return rc;
		at++;
	}
	*ret = v;
	*ret_n = at;
	return OK;
}

int
query_parse(struct arena *a, struct str s, const struct req_pair **ret,
    size_t *ret_n, struct err *e)
{
	struct req_pair *v = NULL;
	int rc = pairs_parse(a, s, HTTP_QUERY_MAX, "the query", &v, ret_n, e);

	if (rc == OK)
		*ret = v;
	return rc;
}

bool
req_query(const struct req *r, const char *name, struct str *ret)
{
	struct str want = str_of(name);

	for (size_t i = 0; i < r->n_query; i++)
		if (str_eq(r->query[i].name, want)) {
			*ret = r->query[i].value;
			return true;
		}
	return false;
}

int
req_query_int(const struct req *r, const char *name, int64_t lo, int64_t hi,
    int64_t absent, int64_t *ret, struct err *e)
{
	struct str s;
	int64_t v;

	if (!req_query(r, name, &s)) {
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

static bool
listed(const char *const *names, struct str name)
{
	for (; *names; names++)
		if (str_eq(str_of(*names), name))
			return true;
	return false;
}

int
req_query_only(const struct req *r, const char *const *names, struct err *e)
{
	for (size_t i = 0; i < r->n_query; i++) {
		struct str name = r->query[i].name;
		int shown = name.n < 64 ? (int)name.n : 64;

		if (!listed(names, name))
			return err_set(e, ERR_INVALID,
			    "there is no parameter %.*s", shown, name.p);
		for (size_t k = 0; k < i; k++)
			if (str_eq(r->query[k].name, name))
				return err_set(e, ERR_INVALID,
				    "parameter %.*s is given twice", shown,
				    name.p);
	}
	return OK;
}
