#include "contract/reading.h"

#include <stdarg.h>

const char *
reading_at(struct reading *g, const char *at, const char *name)
{
	member_at(g->at, at, name);
	return g->at;
}

const struct json *
reading_given(const struct json *o, const char *name)
{
	const struct json *j = json_get(o, name);

	return j && j->type != JSON_NULL ? j : NULL;
}

void
reading_wrong(struct reading *g, const char *at, const char *fmt, ...)
{
	char text[sizeof(g->e->text)];
	va_list ap;

	if (g->rc < 0)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	g->rc = json_wrong(g->e, at, "%s", text);
}

void
reading_need(struct reading *g, bool there, const char *at, const char *name)
{
	if (!there)
		reading_wrong(g, reading_at(g, at, name), "is required");
}

void
reading_one_line(struct reading *g, struct str s, const char *at)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20)
			reading_wrong(
			    g, at, "must not have control characters");
}

bool
reading_want(struct reading *g, const struct json *j, enum json_type type,
    const char *at)
{
	if (g->rc == OK)
		g->rc = member_want(j, type, at, g->e);
	return g->rc == OK;
}

void
reading_members(struct reading *g, const struct member *table,
    const struct json *o, const char *at, const void *initial, void *base)
{
	if (o && g->rc == OK)
		g->rc = member_read(&g->io, table, o, at, initial, base, g->e);
}
