#include "event/type/catalog.h"

#include "event/envelope.h"
#include "event/type/fault.h"
#include "event/type/schema.h"

#define WORDS(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define NOBODY      ((const char *const[]){NULL})
#define FIELDS(...) ((const struct field[]){__VA_ARGS__, {.name = NULL}})
#define F(n, t, ...)                                                           \
	{                                                                      \
		.name = #n, .type = FIELD_##t, __VA_ARGS__                     \
	}
#define OPTIONAL       .optional = true
#define ONE_OF(...)    .words = WORDS(__VA_ARGS__)
#define WITH(...)      .fields = FIELDS(__VA_ARGS__)
#define RECORD_VERSION F(recordVersion, TIME)
#define EFFECTIVE_AT   F(effectiveAt, TIME)
#define TARGET         F(target, OBJECT, WITH(F(objectName, STRING), F(recordId, UUID)))

#define TYPE(n, k, o, p, s, d, ...)                                            \
	{.name = #n,                                                           \
	    .kind = EVENT_##k,                                                 \
	    .optional = (o),                                                   \
	    .producer = #p,                                                    \
	    .subscribers = (s),                                                \
	    .description = (d),                                                \
	    .fields = FIELDS(__VA_ARGS__)},
static const struct event_type TYPES[] = {
#include "event/type/catalog.tbl"
};
#undef TYPE

const struct event_type *
catalog_find(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(TYPES); i++)
		if (name.n > 0 && name.p[0] == TYPES[i].name[0] &&
		    str_eq(name, str_of(TYPES[i].name)))
			return &TYPES[i];
	return NULL;
}

const struct event_type *
catalog_each(const struct event_type *t)
{
	if (!t)
		return TYPES;
	return t + 1 < TYPES + COUNT_OF(TYPES) ? t + 1 : NULL;
}

void
catalog_check(
    const struct event_type *t, const struct event *ev, struct faults *ret)
{
	struct err e;

	if (ev->schema_version == CATALOG_VERSION) {
		schema_check(t->fields, ev->payload, "payload", ret);
		return;
	}
	(void)json_wrong(&e, "/schemaVersion", "must be %d, the only one of %s",
	    CATALOG_VERSION, t->name);
	faults_add(ret, &e, false);
}

void
catalog_schema(const struct event_type *t, struct buf *b)
{
	put_open(b, NULL, '{');
	put_z(b, "$schema", "https://json-schema.org/draft/2020-12/schema");
	put_z(b, "title", t->name);
	put_z(b, "description", t->description);
	schema_write(t->fields, b);
	put_close(b, '}');
}

void
catalog_write(const struct event_type *t, struct buf *b)
{
	put_open(b, NULL, '{');
	put_z(b, "type", t->name);
	put_bool(b, "builtin", true);
	put_z(b, "kind", t->kind == EVENT_DOMAIN ? "Domain" : "Integration");
	put_z(b, "producer", t->producer);
	put_int(b, "schemaVersion", CATALOG_VERSION);
	put_bool(b, "optional", t->optional);
	put_open(b, "subscribers", '[');
	for (const char *const *s = t->subscribers; *s; s++)
		put_z(b, NULL, *s);
	put_close(b, ']');
	put_z(b, "description", t->description);
	put_name(b, "schema");
	catalog_schema(t, b);
	put_close(b, '}');
}
