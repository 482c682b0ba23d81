/*
 * schema.h - the shape of a payload, said once.
 *
 * A shape is a table of fields, ended by one without a name. From the same
 * table come the check of what was published and the JSON Schema (draft
 * 2020-12) that tells others what will be accepted, so that the two can not
 * drift apart. Tables are constant; nothing here allocates.
 *
 * Members that the table does not name are always fine: a producer may know
 * more than we do. A field that is there has its type; null is the same
 * as leaving it out where that is allowed.
 */
#pragma once

#include "base/base.h"

struct faults;

enum field_type {
	FIELD_ANY,
	FIELD_UUID,
	FIELD_STRING, /* `words` may name the only ones */
	FIELD_BOOL,
	FIELD_TRUE,    /* the constant */
	FIELD_INT,     /* whole, 64 bits, written without fraction */
	FIELD_TIME,    /* RFC 3339, any offset */
	FIELD_DATE,    /* YYYY-MM-DD */
	FIELD_STRINGS, /* an array of them */
	FIELD_OBJECT,  /* with `fields`, or any when NULL */
	FIELD_MAP,     /* an object whose every value has `fields` */
};

struct field {
	const char *name;
	enum field_type type;
	bool optional;
	const char *const *words;   /* NULL ends */
	const struct field *fields; /* a field without name ends */
};

/* Adds each field that is wrong; `at` is the name of the object itself in its
 * document. */
void schema_check(const struct field *fields, const struct json *obj,
    const char *at, struct faults *ret);
/* "type":"object","required":[…],"properties":{…}: a schema's members. */
void schema_write(const struct field *fields, struct buf *b);
