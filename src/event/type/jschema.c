#include "event/type/jschema.h"

#include <stdarg.h>

#include "event/limits.h"
#include "event/type/jschema_priv.h"
#include "event/type/pattern.h"

#define DRAFT "https://json-schema.org/draft/2020-12/schema"

const char *const JSCHEMA_FORMATS[] = {
    "", "date-time", "date", "uuid", "uri", "email", NULL};

struct compiler {
	struct arena *a;
	const struct json *root;
	struct jnode **nodes; /* SCHEMA_NODES of them */
	size_t n, depth;
	struct err *e;
};

/* A place, as a chain on the stack. */
struct spot {
	const struct spot *up;
	struct str name;
};

static void
write_spot(const struct spot *s, char at[JSON_POINTER_MAX + 1])
{
	if (s->up)
		write_spot(s->up, at);
	if (s->name.p)
		json_point(at, s->name);
}

static int schema_refuse(struct compiler *c, const struct spot *at,
    const char *fmt, ...) PRINTF(3, 4);

static int
schema_refuse(struct compiler *c, const struct spot *at, const char *fmt, ...)
{
	char text[sizeof(c->e->text)], where[JSON_POINTER_MAX + 1] = "";
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	write_spot(at, where);
	return json_wrong(c->e, where, "%s", text);
}

static int make(struct compiler *c, const struct json *j, const struct spot *at,
    struct jnode **ret);

static int
read_types(struct compiler *c, const struct json *j, const struct spot *at,
    unsigned *ret)
{
	static const struct {
		const char *name;
		unsigned bits;
	} NAMES[] = {{"null", T_NULL}, {"boolean", T_BOOL}, {"integer", T_INT},
	    {"number", T_INT | T_NUMBER}, {"string", T_STRING},
	    {"array", T_ARRAY}, {"object", T_OBJECT}};
	const struct json *one = j->type == JSON_ARRAY ? j->child : j;

	for (*ret = 0; one; one = j == one ? NULL : one->next) {
		size_t i = 0;

		while (i < COUNT_OF(NAMES) &&
		       (one->type != JSON_STRING ||
			   !str_eq(one->text, str_of(NAMES[i].name))))
			i++;
		if (i == COUNT_OF(NAMES))
			return schema_refuse(c, at,
			    "must be of null, boolean, integer, number, string, array and object");
		*ret |= NAMES[i].bits;
	}
	return *ret ? OK : schema_refuse(c, at, "must name a type");
}

static int
read_count(struct compiler *c, const struct json *j, const struct spot *at,
    int64_t *ret)
{
	return json_int(j, ret) && *ret >= 0 && *ret <= INT32_MAX
		   ? OK
		   : schema_refuse(c, at, "must be a whole number from 0 to %d",
			 INT32_MAX);
}

static int
read_list(struct compiler *c, const struct json *j, const struct spot *at,
    struct jlist *ret)
{
	char index[24];

	if (j->type != JSON_ARRAY || j->n == 0)
		return schema_refuse(c, at, "must be an array of schemas");
	ret->v = arena_array(c->a, j->n, sizeof(*ret->v));
	for (const struct json *s = j->child; s; s = s->next) {
		(void)snprintf(index, sizeof(index), "%zu", ret->n);
		TRY(make(
		    c, s, &(struct spot){at, str_of(index)}, &ret->v[ret->n]));
		ret->n++;
	}
	return OK;
}

static int
by_name(const void *a, const void *b)
{
	return str_cmp(
	    ((const struct jprop *)a)->name, ((const struct jprop *)b)->name);
}

/* Both tell of members: one table, sorted. */
static int
read_props(struct compiler *c, const struct json *schema, const struct spot *up,
    struct jnode *ret)
{
	const struct json *props = json_get(schema, "properties");
	const struct json *must = json_get(schema, "required");
	struct spot at = {up, STR("properties")};
	size_t n = 0, kept = 0;
	struct jprop *v = arena_array(c->a,
	    (size_t)(props ? props->n : 0) + (must ? must->n : 0) + 1,
	    sizeof(*v));

	if (props && props->type != JSON_OBJECT)
		return schema_refuse(c, &at, "must be an object of schemas");
	for (const struct json *p = props ? props->child : NULL; p;
	     p = p->next) {
		v[n].name = p->key;
		TRY(make(c, p, &(struct spot){&at, p->key}, &v[n].node));
		n++;
	}
	at.name = STR("required");
	if (must && must->type != JSON_ARRAY)
		return schema_refuse(c, &at, "must be an array of names");
	for (const struct json *m = must ? must->child : NULL; m; m = m->next) {
		if (m->type != JSON_STRING)
			return schema_refuse(
			    c, &at, "must be an array of names");
		v[n++] = (struct jprop){.name = m->text, .required = true};
	}
	qsort(v, n, sizeof(*v), by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || !str_eq(v[kept - 1].name, v[i].name)) {
			v[kept++] = v[i];
			continue;
		}
		v[kept - 1].required |= v[i].required;
		if (v[i].node)
			v[kept - 1].node = v[i].node;
	}
	for (size_t i = 0; i < kept; i++)
		ret->n_required += v[i].required;
	ret->props = v;
	ret->n_props = kept;
	return OK;
}

static int
read_format(struct compiler *c, const struct json *j, const struct spot *at,
    struct jnode *ret)
{
	for (unsigned i = 1; JSCHEMA_FORMATS[i]; i++)
		if (j->type == JSON_STRING &&
		    str_eq(j->text, str_of(JSCHEMA_FORMATS[i]))) {
			ret->format = (enum format)i;
			return OK;
		}
	return schema_refuse(
	    c, at, "must be date-time, date, uuid, uri or email");
}

static int
read_pattern(struct compiler *c, const struct json *j, const struct spot *at,
    struct jnode *ret)
{
	struct err why = {0};

	if (j->type != JSON_STRING)
		return schema_refuse(c, at, "must be a string");
	ret->pattern_text = j->text;
	return pattern_compile(c->a, j->text, &ret->pattern, &why) == OK
		   ? OK
		   : schema_refuse(c, at, "%s", why.text);
}

static int
read_ref(struct compiler *c, const struct json *j, const struct spot *at,
    struct jnode *ret)
{
	const struct json *to;

	if (j->type != JSON_STRING || !str_starts(j->text, STR("#")) ||
	    str_has(j->text, '%') || (j->text.n > 1 && j->text.p[1] != '/'))
		return schema_refuse(c, at,
		    "must be a pointer into this schema, as #/$defs/name");
	to = json_at(c->root, str_from(j->text, 1));
	if (!to)
		return schema_refuse(c, at, "points to nothing");
	return make(c, to, at, &ret->ref);
}

static int
read_defs(struct compiler *c, const struct json *j, const struct spot *at)
{
	struct jnode *ignored;

	if (j->type != JSON_OBJECT)
		return schema_refuse(c, at, "must be an object of schemas");
	for (const struct json *d = j->child; d; d = d->next)
		TRY(make(c, d, &(struct spot){at, d->key}, &ignored));
	return OK;
}

enum keyword {
	K_NOTE, /* says nothing of what is allowed */
	K_SCHEMA,
	K_DEFS,
	K_REF,
	K_TYPE,
	K_CONST,
	K_ENUM,
	K_NUMBER,
	K_COUNT,
	K_NODE,
	K_LIST,
	K_PROPS,
	K_PATTERN,
	K_FORMAT,
	K_UNIQUE,
};

#define NODE(field) offsetof(struct jnode, field)
static const struct {
	const char *name;
	enum keyword is;
	size_t offset; /* NUMBER, COUNT, NODE, LIST */
} KEYWORDS[] = {
    {"$schema", K_SCHEMA, 0},
    {"$id", K_NOTE, 0},
    {"$comment", K_NOTE, 0},
    {"title", K_NOTE, 0},
    {"description", K_NOTE, 0},
    {"default", K_NOTE, 0},
    {"deprecated", K_NOTE, 0},
    {"examples", K_NOTE, 0},
    {"$defs", K_DEFS, 0},
    {"$ref", K_REF, 0},
    {"type", K_TYPE, 0},
    {"const", K_CONST, 0},
    {"enum", K_ENUM, 0},
    {"minimum", K_NUMBER, NODE(min)},
    {"maximum", K_NUMBER, NODE(max)},
    {"exclusiveMinimum", K_NUMBER, NODE(above)},
    {"exclusiveMaximum", K_NUMBER, NODE(below)},
    {"minLength", K_COUNT, NODE(text.least)},
    {"maxLength", K_COUNT, NODE(text.most)},
    {"minItems", K_COUNT, NODE(array.least)},
    {"maxItems", K_COUNT, NODE(array.most)},
    {"minProperties", K_COUNT, NODE(object.least)},
    {"maxProperties", K_COUNT, NODE(object.most)},
    {"uniqueItems", K_UNIQUE, 0},
    {"pattern", K_PATTERN, 0},
    {"format", K_FORMAT, 0},
    {"properties", K_PROPS, 0},
    {"required", K_PROPS, 0},
    {"additionalProperties", K_NODE, NODE(more)},
    {"items", K_NODE, NODE(items)},
    {"not", K_NODE, NODE(not )},
    {"prefixItems", K_LIST, NODE(prefix)},
    {"allOf", K_LIST, NODE(all)},
    {"anyOf", K_LIST, NODE(any)},
    {"oneOf", K_LIST, NODE(one)},
};

static int
read_keyword(struct compiler *c, size_t k, const struct json *j,
    const struct spot *at, struct jnode *ret)
{
	void *field = (char *)ret + KEYWORDS[k].offset;

	switch (KEYWORDS[k].is) {
	case K_NOTE:
	case K_PROPS: /* read_props()' */
		return OK;
	case K_SCHEMA:
		return j->type == JSON_STRING && str_eq(j->text, STR(DRAFT))
			   ? OK
			   : schema_refuse(c, at, "must be " DRAFT);
	case K_DEFS:
		return read_defs(c, j, at);
	case K_REF:
		return read_ref(c, j, at, ret);
	case K_TYPE:
		return read_types(c, j, at, &ret->types);
	case K_CONST:
		ret->is = j;
		return OK;
	case K_ENUM:
		ret->one_of_these = j;
		return j->type == JSON_ARRAY && j->n > 0
			   ? OK
			   : schema_refuse(c, at, "must be an array of values");
	case K_NUMBER:
		*(const struct json **)field = j;
		return j->type == JSON_NUMBER && j->raw.n < SCHEMA_DIGITS
			   ? OK
			   : schema_refuse(c, at, "must be a number");
	case K_COUNT:
		return read_count(c, j, at, field);
	case K_NODE:
		return make(c, j, at, field);
	case K_LIST:
		return read_list(c, j, at, field);
	case K_PATTERN:
		return read_pattern(c, j, at, ret);
	case K_FORMAT:
		return read_format(c, j, at, ret);
	case K_UNIQUE:
		ret->unique = j->type == JSON_TRUE;
		return json_is_bool(j)
			   ? OK
			   : schema_refuse(c, at, "must be true or false");
	}
	return OK;
}

static int
read_keywords(struct compiler *c, const struct json *schema,
    const struct spot *at, struct jnode *ret)
{
	for (const struct json *j = schema->child; j; j = j->next) {
		struct spot here = {at, j->key};
		size_t k = 0;

		while (k < COUNT_OF(KEYWORDS) &&
		       !str_eq(j->key, str_of(KEYWORDS[k].name)))
			k++;
		if (k == COUNT_OF(KEYWORDS))
			return schema_refuse(c, &here,
			    "is a keyword that is not taken; docs/event-types.md has those that are");
		TRY(read_keyword(c, k, j, &here, ret));
	}
	return read_props(c, schema, at, ret);
}

/* The node of that place in the document, made when it is first met. */
static int
make(struct compiler *c, const struct json *j, const struct spot *at,
    struct jnode **ret)
{
	struct jnode *n;

	for (size_t i = 0; i < c->n; i++)
		if (c->nodes[i]->src == j) {
			*ret = c->nodes[i];
			return OK;
		}
	if (c->n == SCHEMA_NODES || c->depth == 2 * JSON_DEPTH_MAX)
		return schema_refuse(
		    c, at, "makes the schema too large or too deep");
	if (j->type != JSON_OBJECT && !json_is_bool(j))
		return schema_refuse(
		    c, at, "must be a schema: an object or a boolean");
	n = arena_alloc(c->a, sizeof(*n));
	*n = (struct jnode){
	    .src = j,
	    .never = j->type == JSON_FALSE,
	    .types = T_ANY,
	    .text.most = -1,
	    .array.most = -1,
	    .object.most = -1,
	};
	c->nodes[c->n++] = *ret = n;
	if (j->type != JSON_OBJECT)
		return OK;
	c->depth++;
	TRY(read_keywords(c, j, at, n));
	c->depth--;
	return OK;
}

/* True when it comes back to a node without a step into the document. */
static bool
in_circle(struct jnode *n, size_t depth)
{
	const struct jlist *const LISTS[] = {&n->all, &n->any, &n->one};
	struct jnode *const ONES[] = {n->ref, n->not };
	bool found = false;

	if (n->seen || depth > SCHEMA_DEPTH)
		return n->seen != 2;
	n->seen = 1;
	for (size_t i = 0; i < COUNT_OF(ONES); i++)
		found |= ONES[i] && in_circle(ONES[i], depth + 1);
	for (size_t i = 0; i < COUNT_OF(LISTS); i++)
		for (size_t k = 0; k < LISTS[i]->n && !found; k++)
			found = in_circle(LISTS[i]->v[k], depth + 1);
	n->seen = 2;
	return found;
}

int
jschema_compile(struct arena *a, const struct json *tree, const char *at,
    struct jschema **ret, struct err *e)
{
	struct jschema *s = arena_alloc(a, sizeof(*s));
	struct compiler c = {.a = a, .root = tree, .e = e};
	char where[JSON_POINTER_MAX + 1] = "";
	struct spot root = {NULL, {.p = NULL}};
	int rc;

	c.nodes = mem_array(SCHEMA_NODES, sizeof(struct jnode *));
	rc = make(&c, tree, &root, &s->root);
	for (size_t i = 0; rc == OK && i < c.n; i++)
		if (in_circle(c.nodes[i], 0))
			rc = json_wrong(e, "/$ref",
			    "leads back to itself without a step into the document, or too far");
	free(c.nodes);
	if (rc < 0) {
		(void)snprintf(where, sizeof(where), "%s%s", at, e->at);
		(void)snprintf(e->at, sizeof(e->at), "%s", where);
		return rc;
	}
	*ret = s;
	return OK;
}
