/* jschema_priv.h - a schema as it is checked with: jschema*.c alone. */
#pragma once

#include "event/type/jschema.h"

struct pattern;

enum {
	T_NULL = 1,
	T_BOOL = 2,
	T_INT = 4,
	T_NUMBER = 8,
	T_STRING = 16,
	T_ARRAY = 32,
	T_OBJECT = 64,
	T_ANY = 127
};

enum format {
	FORMAT_NONE,
	FORMAT_TIME,
	FORMAT_DATE,
	FORMAT_UUID,
	FORMAT_URI,
	FORMAT_EMAIL
};
extern const char *const JSCHEMA_FORMATS[]; /* by enum format; NULL ends */

/* A list of subschemas. */
struct jlist {
	struct jnode **v;
	size_t n;
};

/* A member that `properties` or `required` names. */
struct jprop {
	struct str name;
	struct jnode *node; /* NULL: any */
	bool required;
};

/* The bounds of a length: of a text, an array, an object. */
struct jsize {
	int64_t least, most; /* most -1: none */
};

struct jnode {
	const struct json *src; /* itself: its place for the compiler */
	bool never;             /* the schema false */
	unsigned types;         /* T_ANY without `type` */
	const struct json *is, *one_of_these; /* const, enum */
	const struct json *min, *max, *above, *below;
	struct jsize text, array, object;
	bool unique;
	struct pattern *pattern;
	struct str pattern_text;
	enum format format;
	struct jprop *props; /* by name */
	size_t n_props, n_required;
	struct jnode *more, *items; /* additionalProperties, items */
	struct jlist prefix, all, any, one;
	struct jnode * not, *ref;
	int seen; /* for the search for circles: 0, 1 inside, 2 done */
};

struct jschema {
	struct jnode *root;
};

/* How two numbers stand: < 0, 0, > 0; of those that can't be compared 2. */
int jschema_number_cmp(const struct json *a, const struct json *b);
/* The same value; takes what it costs off *left. */
bool jschema_equal(const struct json *a, const struct json *b, size_t *left);
/* The bit of its type; a whole number has T_INT and T_NUMBER. */
unsigned jschema_type(const struct json *j);
