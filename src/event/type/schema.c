#include "event/type/schema.h"

#include "event/type/fault.h"

/* Where we are, as a chain on the stack: written out only when needed. */
struct path {
	const struct path *up;
	struct str name;
	struct faults *faults;
};

static void
write_path(const struct path *p, char at[JSON_POINTER_MAX + 1])
{
	if (p->up)
		write_path(p->up, at);
	json_point(at, p->name);
}

static void
wrong(const struct path *p, const char *why)
{
	char at[JSON_POINTER_MAX + 1] = "";
	struct err e;

	write_path(p, at);
	(void)json_wrong(&e, at, "%s", why);
	faults_add(p->faults, &e, false);
}

static struct path
below(const struct path *up, struct str name)
{
	return (struct path){up, name, up->faults};
}

static void
wrong_word(const struct path *p, const char *const *words)
{
	char why[sizeof(((struct err *)0)->text)] = "must be one of";
	size_t n = strlen(why);

	for (const char *const *w = words; *w && n < sizeof(why); w++)
		n += (size_t)snprintf(why + n, sizeof(why) - n, "%s %s",
		    w == words ? "" : ",", *w);
	wrong(p, why);
}

static bool
is_word(struct str s, const char *const *words)
{
	while (*words && !str_eq(s, str_of(*words)))
		words++;
	return *words != NULL;
}

static void check_fields(
    const struct field *fields, const struct json *obj, const struct path *at);

static void
check_strings(const struct json *j, const struct path *at)
{
	char index[24];
	struct path here;
	size_t i = 0;

	if (j->type != JSON_ARRAY) {
		wrong(at, "must be an array of strings");
		return;
	}
	for (const struct json *c = j->child; c; c = c->next, i++) {
		if (c->type == JSON_STRING)
			continue;
		(void)snprintf(index, sizeof(index), "%zu", i);
		here = below(at, str_of(index));
		wrong(&here, "must be a string");
		if (!faults_room(at->faults))
			return;
	}
}

static void
check_object(
    const struct field *fields, const struct json *j, const struct path *at)
{
	if (j->type != JSON_OBJECT)
		wrong(at, "must be an object");
	else if (fields)
		check_fields(fields, j, at);
}

static void
check_map(const struct field *f, const struct json *j, const struct path *at)
{
	check_object(NULL, j, at);
	if (j->type != JSON_OBJECT)
		return;
	for (const struct json *c = j->child; c && faults_room(at->faults);
	     c = c->next) {
		struct path here = below(at, c->key);

		check_object(f->fields, c, &here);
	}
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

static void
check_value(const struct field *f, const struct json *j, const struct path *at)
{
	const char *why = scalar_wrong(f->type, j);

	if (why)
		wrong(at, why);
	else if (f->words && !is_word(j->text, f->words))
		wrong_word(at, f->words);
	else if (f->type == FIELD_STRINGS)
		check_strings(j, at);
	else if (f->type == FIELD_MAP)
		check_map(f, j, at);
	else if (f->type == FIELD_OBJECT)
		check_object(f->fields, j, at);
}

/* Recursion is no deeper than the table. */
static void
check_fields(
    const struct field *fields, const struct json *obj, const struct path *at)
{
	for (const struct field *f = fields; f->name; f++) {
		struct path here = below(at, str_of(f->name));
		const struct json *j = json_get(obj, f->name);

		if (f->optional && json_is(j, JSON_NULL))
			continue; /* as if it were absent */
		if (j)
			check_value(f, j, &here);
		else if (!f->optional)
			wrong(&here, "is required");
	}
}

void
schema_check(const struct field *fields, const struct json *obj, const char *at,
    struct faults *ret)
{
	check_fields(fields, obj, &(struct path){NULL, str_of(at), ret});
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
