#include "event/schema.h"

/* Where we are, as a chain on the stack: written out only when needed. */
struct path {
	const struct path *up;
	struct str name;
};

static void
write_path(const struct path *p, char at[JSON_POINTER_MAX + 1])
{
	if (p->up)
		write_path(p->up, at);
	json_point(at, p->name);
}

static int
wrong(struct err *e, const struct path *p, const char *why)
{
	char at[JSON_POINTER_MAX + 1] = "";

	write_path(p, at);
	return json_wrong(e, at, "%s", why);
}

static int
wrong_word(struct err *e, const struct path *p, const char *const *words)
{
	char why[sizeof(e->text)] = "must be one of";
	size_t n = strlen(why);

	for (const char *const *w = words; *w && n < sizeof(why); w++)
		n += (size_t)snprintf(why + n, sizeof(why) - n, "%s %s",
		    w == words ? "" : ",", *w);
	return wrong(e, p, why);
}

static bool
is_word(struct str s, const char *const *words)
{
	while (*words && !str_eq(s, str_of(*words)))
		words++;
	return *words != NULL;
}

static int check_fields(const struct field *fields, const struct json *obj,
    const struct path *at, struct err *e);

static int
check_strings(const struct json *j, const struct path *at, struct err *e)
{
	char index[24];
	size_t i = 0;

	if (j->type != JSON_ARRAY)
		return wrong(e, at, "must be an array of strings");
	for (const struct json *c = j->child; c; c = c->next, i++) {
		if (c->type == JSON_STRING)
			continue;
		(void)snprintf(index, sizeof(index), "%zu", i);
		return wrong(
		    e, &(struct path){at, str_of(index)}, "must be a string");
	}
	return OK;
}

static int
check_object(const struct field *fields, const struct json *j,
    const struct path *at, struct err *e)
{
	if (j->type != JSON_OBJECT)
		return wrong(e, at, "must be an object");
	return fields ? check_fields(fields, j, at, e) : OK;
}

static int
check_map(const struct field *f, const struct json *j, const struct path *at,
    struct err *e)
{
	TRY(check_object(NULL, j, at, e));
	for (const struct json *c = j->child; c; c = c->next)
		TRY(check_object(f->fields, c, &(struct path){at, c->key}, e));
	return OK;
}

/* The scalars: NULL when fine, else what it must be. */
static const char *
scalar_wrong(enum field_type type, const struct json *j)
{
	bool string = j->type == JSON_STRING;
	struct uuid u;
	int64_t i;

	switch (type) {
	case FIELD_UUID:
		return string && uuid_parse(j->text, &u) ? NULL
							 : "must be a UUID";
	case FIELD_STRING:
		return string ? NULL : "must be a string";
	case FIELD_BOOL:
		return json_is_bool(j) ? NULL : "must be true or false";
	case FIELD_TRUE:
		return j->type == JSON_TRUE ? NULL : "must be true";
	case FIELD_INT:
		return json_int(j, &i) ? NULL : "must be a whole number";
	case FIELD_TIME:
		return string && time_parse(j->text, &i, NULL)
			   ? NULL
			   : "must be a time as in RFC 3339";
	case FIELD_DATE:
		return string && time_is_day(j->text)
			   ? NULL
			   : "must be a date, YYYY-MM-DD";
	case FIELD_ANY:
	case FIELD_STRINGS:
	case FIELD_OBJECT:
	case FIELD_MAP:
		break;
	}
	return NULL;
}

static int
check_value(const struct field *f, const struct json *j, const struct path *at,
    struct err *e)
{
	const char *why = scalar_wrong(f->type, j);

	if (why)
		return wrong(e, at, why);
	if (f->words && !is_word(j->text, f->words))
		return wrong_word(e, at, f->words);
	if (f->type == FIELD_STRINGS)
		return check_strings(j, at, e);
	if (f->type == FIELD_MAP)
		return check_map(f, j, at, e);
	return f->type == FIELD_OBJECT ? check_object(f->fields, j, at, e) : OK;
}

/* Recursion is no deeper than the table. */
static int
check_fields(const struct field *fields, const struct json *obj,
    const struct path *at, struct err *e)
{
	for (const struct field *f = fields; f->name; f++) {
		struct path here = {at, str_of(f->name)};
		const struct json *j = json_get(obj, f->name);

		if (f->optional && json_is(j, JSON_NULL))
			continue; /* as if it were absent */
		if (j)
			TRY(check_value(f, j, &here, e));
		else if (!f->optional)
			return wrong(e, &here, "is required");
	}
	return OK;
}

int
schema_check(const struct field *fields, const struct json *obj, const char *at,
    struct err *e)
{
	return check_fields(fields, obj, &(struct path){NULL, str_of(at)}, e);
}

static void
write_value(const struct field *f, struct buf *b)
{
	static const char *const TEXT[] = {
	    [FIELD_ANY] = "",
	    [FIELD_UUID] = "\"type\":\"string\",\"format\":\"uuid\"",
	    [FIELD_STRING] = "\"type\":\"string\"",
	    [FIELD_BOOL] = "\"type\":\"boolean\"",
	    [FIELD_TRUE] = "\"const\":true",
	    [FIELD_INT] = "\"type\":\"integer\"",
	    [FIELD_TIME] = "\"type\":\"string\",\"format\":\"date-time\"",
	    [FIELD_DATE] = "\"type\":\"string\",\"format\":\"date\"",
	    [FIELD_STRINGS] =
		"\"type\":\"array\",\"items\":{\"type\":\"string\"}",
	    [FIELD_OBJECT] = "\"type\":\"object\"",
	    [FIELD_MAP] = "\"type\":\"object\",\"additionalProperties\":{",
	};

	put_open(b, f->name, '{');
	if (f->type == FIELD_OBJECT && f->fields)
		schema_write(f->fields, b);
	else
		buf_addz(b, TEXT[f->type]);
	if (f->type == FIELD_MAP) {
		schema_write(f->fields, b);
		put_close(b, '}');
	}
	if (f->words) {
		put_open(b, "enum", '[');
		for (const char *const *w = f->words; *w; w++)
			put_z(b, NULL, *w);
		put_close(b, ']');
	}
	put_close(b, '}');
}

void
schema_write(const struct field *fields, struct buf *b)
{
	put_z(b, "type", "object");
	put_open(b, "required", '[');
	for (const struct field *f = fields; f->name; f++)
		if (!f->optional)
			put_z(b, NULL, f->name);
	put_close(b, ']');
	put_open(b, "properties", '{');
	for (const struct field *f = fields; f->name; f++)
		write_value(f, b);
	put_close(b, '}');
}
