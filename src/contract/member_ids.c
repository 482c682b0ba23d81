#include "contract/member.h"
#include "seal/tenant.h"

int
member_uuids(const struct json *j, const char *at, const struct member *m,
    struct arena *a, struct member_uuids *ret, struct err *e)
{
	struct str *names = NULL;
	struct uuid *v;
	size_t n = 0;
	char here[JSON_POINTER_MAX + 1];

	TRY(member_want(j, JSON_ARRAY, at, e));
	if (j->n < m->least || j->n > m->most)
		return json_wrong(e, at, "must have %lld to %lld elements%s",
		    (long long)m->least, (long long)m->most,
		    m->must ? "" : "; leave it out for all");
	v = arena_array(a, j->n, sizeof(*v));
	if (m->kind == MEMBER_TENANTS)
		names = arena_array(a, j->n, sizeof(*names));
	for (const struct json *u = j->child; u; u = u->next, n++) {
		member_at_index(here, at, n);
		if (!json_is(u, JSON_STRING) ||
		    !(names ? tenant_parse : uuid_parse)(u->text, &v[n]))
			return json_wrong(e, here, "must be %s",
			    names ? TENANT_WORDS : "a UUID");
		if (names)
			names[n] = arena_dup(a, u->text);
	}
	*ret = (struct member_uuids){v, n, names};
	return OK;
}
