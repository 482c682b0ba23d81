#include "event/type/catalog.h"

#include "event/envelope.h"
#include "event/limits.h"
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

#define NO_KEY          NULL
#define OF_RECORD       "{objectName}:{tenantId}:{recordId}"
#define OF_TARGET       "{target.objectName}:{tenantId}:{target.recordId}"
#define OF_CONFIG(what) "{objectName}#config:{tenantId}:" what

#define TYPE(n, k, o, p, key_, s, d, ...)                                      \
	{.name = #n,                                                           \
	    .kind = EVENT_##k,                                                 \
	    .optional = (o),                                                   \
	    .producer = #p,                                                    \
	    .key = (key_),                                                     \
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

/* A text of the payload, by the names that lead to it: "target.recordId". */
static struct str
member(const struct json *payload, struct str path)
{
	char pointer[64] = "/";
	const struct json *j;

	assert(path.n < sizeof(pointer) - 1);
	for (size_t i = 0; i < path.n; i++)
		pointer[i + 1] = path.p[i];
	for (char *p = strchr(pointer, '.'); p; p = strchr(p, '.'))
		*p = '/';
	j = json_at(payload, str_of(pointer));
	return json_is(j, JSON_STRING) ? j->text : STR_EMPTY;
}

struct str
catalog_key(struct arena *a, const struct event_type *t, const struct event *ev)
{
	struct buf b CLEANUP(buf_done) = BUF(EVENT_KEY_MAX);
	struct str rest = str_of(t->key ? t->key : "");

	if (!t->key)
		return STR_EMPTY;
	for (;;) {
		struct str name, text = str_cut(&rest, '{');

		buf_add(&b, text);
		if (rest.n == 0)
			break;
		name = str_cut(&rest, '}');
		if (str_eq(name, STR("tenantId")) && ev->tenant_name.n == 0) {
			uuid_add(&b, ev->tenant);
			continue;
		}
		text = str_eq(name, STR("tenantId"))
			   ? ev->tenant_name
			   : member(ev->payload, name);
		if (text.n == 0)
			return STR_EMPTY;
		buf_add(&b, text);
	}
	return b.failed ? (struct str){NULL, EVENT_KEY_MAX + 1}
			: arena_dup(a, buf_str(&b));
}

const struct json *
catalog_version(
    const struct event_type *t, const struct json *payload, int64_t *ret_us)
{
	const struct json *j = NULL;

	for (const struct field *f = t->fields; f->name; f++)
		if (strcmp(f->name, "recordVersion") == 0)
			j = json_get(payload, f->name);
	if (!j || j->type != JSON_STRING || !time_parse(j->text, ret_us, NULL))
		return NULL;
	return j;
}

/* Behind the name of the object ids begin, whose letters' case is free. */
static bool
same_key(struct str x, struct str y)
{
	size_t name = 0;

	if (x.n != y.n)
		return false;
	while (name < x.n && x.p[name] != ':')
		name++;
	return memcmp(x.p, y.p, name) == 0 &&
	       str_eq_nocase(str_from(x, name), str_from(y, name));
}

/* Key and version are those of the payload. */
static int
check_sequence(struct arena *a, const struct event_type *t,
    const struct event *ev, struct err *e)
{
	struct str key = catalog_key(a, t, ev);
	int64_t us;

	if (key.n > EVENT_KEY_MAX)
		return json_wrong(e, "/sequence/partitionKey",
		    "must be %s of the payload, which is too long for it",
		    t->key);
	if (key.n > 0 && !same_key(key, ev->key))
		return json_wrong(e, "/sequence/partitionKey",
		    "must be %s of the payload: %.*s", t->key, STR_ARG(key));
	if (catalog_version(t, ev->payload, &us) &&
	    (!ev->has_rv || ev->rv_us != us))
		return json_wrong(e, "/sequence/recordVersion",
		    "must be the payload's recordVersion");
	return OK;
}

void
catalog_check(struct arena *a, const struct event_type *t,
    const struct event *ev, struct faults *ret)
{
	UNINIT struct err e;

	if (ev->schema_version != CATALOG_VERSION) {
		(void)json_wrong(&e, "/schemaVersion",
		    "must be %d, the only one of %s", CATALOG_VERSION, t->name);
		faults_add(ret, &e, false);
		return;
	}
	schema_check(t->fields, ev->payload, "payload", ret);
	if (ret->n == 0 && check_sequence(a, t, ev, &e) < 0)
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
	if (t->key)
		put_z(b, "partitionKey", t->key);
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
