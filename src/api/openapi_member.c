/* openapi.h: schemas, from tables of members and from schemas.txt. */
#include "api/handlers.h"
#include "api/io.h"
#include "api/openapi.h"
#include "contract/sub.h"
#include "seal/tenant.h"
#include "source/hook.h"

static const struct {
	const char *name;
	const struct member *table;
} TABLES[] = {
#define TABLE(table) {#table, table},
#define DESCRIBE(run, body, query, says)
#include "api/describe.tbl"
#undef DESCRIBE
#undef TABLE
};

void
openapi_ref(struct buf *b, const char *name, struct str schema)
{
	if (schema.p[0] == '{') {
		put_raw(b, name, schema);
		return;
	}
	put_open(b, name, '{');
	put_name(b, "$ref");
	buf_fmt(b, "\"#/components/schemas/%.*s\"", STR_ARG(schema));
	put_close(b, '}');
}

static void
add_type(struct buf *b, const char *type, bool nullable)
{
	if (!nullable) {
		put_z(b, "type", type);
		return;
	}
	put_open(b, "type", '[');
	put_z(b, NULL, type);
	put_z(b, NULL, "null");
	put_close(b, ']');
}

static void
add_enum(struct buf *b, const char *const *words, bool nullable)
{
	put_open(b, "enum", '[');
	for (; *words; words++)
		put_z(b, NULL, *words);
	if (nullable)
		put_null(b, NULL);
	put_close(b, ']');
}

/* Whether null may stand there. */
static bool
may_be_null(const struct member *m, enum openapi_way way)
{
	if (way != OPENAPI_SHOWN)
		return way == OPENAPI_TAKEN && !m->must;
	switch (m->kind) {
	case MEMBER_BOOL:
	case MEMBER_CHOICE:
	case MEMBER_EITHER:
	case MEMBER_WORDS:
	case MEMBER_UUID:
	case MEMBER_TENANT:
	case MEMBER_PART:
		return false;
	case MEMBER_INT:
		return m->least > 0;
	case MEMBER_TEXT:
	case MEMBER_LONG:
	case MEMBER_SECRET:
	case MEMBER_POINTER:
	case MEMBER_VALUE:
	case MEMBER_STRING:
	case MEMBER_CHARS:
	case MEMBER_TIME:
	case MEMBER_UUIDS:
	case MEMBER_TENANTS:
	case MEMBER_OBJECT:
	case MEMBER_JSON:
	case MEMBER_VARS:
	case MEMBER_OWN:
		break;
	}
	return true;
}

/* Bytes are at least characters: what is too long here is so there too. */
static void
add_length(struct buf *b, const struct member *m, enum openapi_way way)
{
	if (way == OPENAPI_SHOWN)
		return;
	if (m->least > 0)
		put_int(b, "minLength", 1);
	if (m->most > 0 && m->most < INT32_MAX)
		put_int(b, "maxLength", m->most);
}

static void
add_int(struct buf *b, const struct member *m, enum openapi_way way)
{
	put_z(b, "format", "int64");
	if (way == OPENAPI_SHOWN)
		return;
	if (m->least > INT64_MIN)
		put_int(b, "minimum", m->least);
	if (m->most < INT64_MAX)
		put_int(b, "maximum", m->most);
	if (way == OPENAPI_ASKED && m->absent >= m->least && m->absent != 0)
		put_int(b, "default", m->absent);
}

/* Elements with their bounds. */
static void
add_list(struct buf *b, const struct member *m, enum openapi_way way)
{
	put_open(b, "items", '{');
	put_z(b, "type", "string");
	if (m->kind == MEMBER_WORDS)
		add_enum(b, m->words, false);
	else if (m->kind == MEMBER_UUIDS)
		put_z(b, "format", "uuid");
	else
		put_z(b, "pattern", TENANT_PATTERN);
	put_close(b, '}');
	if (way == OPENAPI_SHOWN)
		return;
	if (m->least > 0)
		put_int(b, "minItems", m->least);
	if (m->kind != MEMBER_WORDS)
		put_int(b, "maxItems", m->most);
}

static void
add_simple(struct buf *b, const struct member *m, enum openapi_way way)
{
	static const struct {
		const char *type, *format;
	} T[] = {
	    [MEMBER_TEXT] = {"string"},
	    [MEMBER_LONG] = {"string"},
	    [MEMBER_SECRET] = {"string", "password"},
	    [MEMBER_POINTER] = {"string", "json-pointer"},
	    [MEMBER_BOOL] = {"boolean"},
	    [MEMBER_INT] = {"integer"},
	    [MEMBER_CHOICE] = {"string"},
	    [MEMBER_EITHER] = {"string"},
	    [MEMBER_WORDS] = {"array"},
	    [MEMBER_STRING] = {"string"},
	    [MEMBER_CHARS] = {"string"},
	    [MEMBER_TIME] = {"string", "date-time"},
	    [MEMBER_UUID] = {"string", "uuid"},
	    [MEMBER_UUIDS] = {"array"},
	    [MEMBER_TENANT] = {"string"},
	    [MEMBER_TENANTS] = {"array"},
	    [MEMBER_OBJECT] = {"object"},
	    [MEMBER_VARS] = {"string"},
	};
	bool nullable = may_be_null(m, way);

	add_type(b, T[m->kind].type, nullable);
	if (T[m->kind].format)
		put_z(b, "format", T[m->kind].format);
	if (m->kind == MEMBER_CHOICE || m->kind == MEMBER_EITHER)
		add_enum(b, m->words, nullable);
	else if (m->kind == MEMBER_INT)
		add_int(b, m, way);
	else if (m->kind == MEMBER_TENANT)
		put_z(b, "pattern", TENANT_PATTERN);
	else if (m->kind == MEMBER_WORDS || m->kind == MEMBER_UUIDS ||
		 m->kind == MEMBER_TENANTS)
		add_list(b, m, way);
	else if (m->kind == MEMBER_TEXT || m->kind == MEMBER_LONG ||
		 m->kind == MEMBER_STRING || m->kind == MEMBER_CHARS ||
		 m->kind == MEMBER_SECRET)
		add_length(b, m, way);
}

/* What a function reads and writes. */
static void
add_own(struct buf *b, const struct member *m, enum openapi_way way)
{
	bool nullable = may_be_null(m, way) && m->kind != MEMBER_VALUE;

	if (m->rows) {
		add_type(b, "array", nullable);
		openapi_object(b, "items", m->part, way, false);
		return;
	}
	put_open(b, "anyOf", '[');
	if (m->kind == MEMBER_VALUE)
		openapi_ref(b, NULL, STR("Value"));
	else if (m->part)
		openapi_object(b, NULL, m->part, way, false);
	else
		openapi_ref(b, NULL, str_of(m->schema));
	if (nullable || (m->kind == MEMBER_VALUE && may_be_null(m, way)))
		put_raw(b, NULL, STR("{\"type\":\"null\"}"));
	put_close(b, ']');
}

void
openapi_member(struct buf *b, const char *name, const struct member *m,
    enum openapi_way way)
{
	const struct member *like = m;

	if (m->kind == MEMBER_JSON && m->part)
		like = member_find(m->part, str_of(m->name));
	if (like->kind == MEMBER_PART) {
		openapi_object(
		    b, name, like->part, way, may_be_null(like, way));
		return;
	}
	put_open(b, name, '{');
	if (like->kind == MEMBER_OWN || like->kind == MEMBER_JSON ||
	    like->kind == MEMBER_VALUE ||
	    (like->kind == MEMBER_OBJECT && like->part))
		add_own(b, like, way);
	else
		add_simple(b, like, way);
	if (m->about)
		put_z(b, "description", m->about);
	put_close(b, '}');
}

/* One that is stored alone, or that somebody else shows. */
static bool
is_described(const struct member *m, enum openapi_way way)
{
	if (m->kind == MEMBER_JSON || m->kind == MEMBER_OBJECT)
		return way != OPENAPI_SHOWN;
	return m->kind != MEMBER_OWN || m->schema || m->part;
}

static bool
is_named(struct str names, const char *name)
{
	while (names.n > 0)
		if (str_eq(str_cut(&names, ','), str_of(name)))
			return true;
	return false;
}

static void
add_properties(
    struct buf *b, const struct member *m, enum openapi_way way, struct str but)
{
	for (; m->name; m++)
		if (is_described(m, way) && !is_named(but, m->name))
			openapi_member(b, m->name, m, way);
}

static void
add_required(
    struct buf *b, const struct member *m, enum openapi_way way, struct str but)
{
	for (; m->name; m++)
		if (is_described(m, way) && !is_named(but, m->name) &&
		    (way == OPENAPI_SHOWN || m->must))
			put_z(b, NULL, m->name);
}

void
openapi_object(struct buf *b, const char *name, const struct member *table,
    enum openapi_way way, bool nullable)
{
	put_open(b, name, '{');
	add_type(b, "object", nullable);
	put_open(b, "properties", '{');
	add_properties(b, table, way, STR_EMPTY);
	put_close(b, '}');
	put_open(b, "required", '[');
	add_required(b, table, way, STR_EMPTY);
	put_close(b, ']');
	put_bool(b, "additionalProperties", false);
	put_close(b, '}');
}

static const struct member *
table_get(struct str name)
{
	size_t i = 0;

	while (i < COUNT_OF(TABLES) && !str_eq(name, str_of(TABLES[i].name)))
		i++;
	assert(
	    i < COUNT_OF(TABLES)); /* describe.tbl has those of schemas.txt */
	return TABLES[i].table;
}

/* "!<TABLE a,b": the required of what is taken, but a and b. */
static void
add_mark(struct buf *b, struct str mark)
{
	bool required = str_starts(mark, STR("!"));
	enum openapi_way way;

	mark = str_from(mark, required);
	way = str_starts(mark, STR(">")) ? OPENAPI_SHOWN : OPENAPI_TAKEN;
	mark = str_from(mark, 1);
	(required ? add_required : add_properties)(
	    b, table_get(str_cut(&mark, ' ')), way, mark);
}

void
openapi_schemas(struct buf *b)
{
	put_open(b, "schemas", '{');
	for (const struct openapi_text *t = OPENAPI_SCHEMAS; t->name; t++) {
		struct str rest = str_of(t->text);

		put_name(b, t->name);
		while (rest.n > 0) {
			buf_add(b, str_cut(&rest, '@'));
			if (rest.n > 0)
				add_mark(b, str_cut(&rest, ';'));
		}
	}
	put_close(b, '}');
}
