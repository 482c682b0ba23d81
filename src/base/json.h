/*
 * json.h - JSON that keeps what it was given.
 *
 * A document becomes a small tree whose every value knows the exact bytes it
 * was written with (`raw`). Numbers are never converted, so 0.1, 1e400 and
 * 12345678901234567890 come out as they went in, and a piece of a document is
 * copied through by its span.
 *
 * WHY OUR OWN. The grammar is small; what costs is what two readers could
 * understand differently, all of which is refused here: duplicate keys, lone
 * surrogates, overlong UTF-8, form feeds as blanks, any depth. A library lets
 * some of it pass, so that each of its tokens needs a second look, which costs
 * a third more of an event's time than one pass that knows all the rules. The
 * tests compare with yajl (tests/fuzz/json_yajl.c).
 *
 * LIFE. The tree is the arena's; raw, and text and key where they have no
 * escape, are borrowed from the input, which must live as long.
 *
 * INVARIANTS
 *   1. raw of a child lies inside raw of its parent, in document order.
 *   2. raw, parsed alone, gives an equal tree.
 *   3. No object has two equal keys, after decoding.
 *   4. Depth and nodes are at most JSON_DEPTH_MAX and JSON_NODES_MAX, so that
 *      recursion over a tree is safe.
 *   5. Time is linear in the input, also for keys chosen by an enemy.
 */
#pragma once

#include "base/base.h"

struct arena;

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json {
	enum json_type type;
	unsigned n : 31;     /* members or elements */
	unsigned marked : 1; /* for whoever walks the tree; 0 at first */
	struct str raw;      /* as written, with quotes or braces */
	struct str text;     /* JSON_STRING: decoded; else empty */
	struct str key;      /* decoded, when the parent is an object */
	struct json *child;  /* the first; NULL when there is none */
	struct json *next;   /* its neighbour */
};

/*
 * ERR_SYNTAX with what and where ("… at byte 17 (line 1, column 18)") for all
 * that is no JSON and for too much depth, ERR_LIMIT for too many values and
 * when the arena is at its limit. *ret is untouched on failure.
 */
int json_parse(struct arena *a, struct str text, struct json **ret,
    struct err *e) MUST_CHECK;

/*
 * The elements of an array, one by one, as soon as each is read, so that a long
 * array costs no more memory than its largest element: `scratch` is reset
 * after each. What `each` returns < 0 ends it. When the text is wrong further
 * down, some elements have been handed over before that is known.
 */
int json_each(struct arena *a, struct arena *scratch, struct str text,
    int (*each)(void *ctx, struct json *element, struct err *e), void *ctx,
    struct err *e) MUST_CHECK;

/* NULL when j is NULL, is no object, or has no such member. */
struct json *json_get(const struct json *j, const char *name);
/* The member or, by its index, the element; NULL when absent. */
struct json *json_step(const struct json *j, struct str segment);
/* By JSON Pointer (RFC 6901); "" is j itself. NULL when absent. */
struct json *json_at(const struct json *j, struct str pointer);

bool json_is(const struct json *j, enum json_type type); /* NULL: false */
bool json_is_bool(const struct json *j);
/* A number without fraction or exponent that fits. */
bool json_int(const struct json *j, int64_t *ret);
/* A member of an object: a text, or empty; a number, or 0; true; the first of
 * its elements, or NULL. For answers whose shape was looked at, or is no
 * matter. */
struct str json_text(const struct json *j, const char *name);
long long json_number(const struct json *j, const char *name);
bool json_true(const struct json *j, const char *name);
struct json *json_first(const struct json *j, const char *name);
const char *json_type_name(enum json_type type); /* "a string", "null" */

/* Room for a pointer in struct err. */
#define JSON_POINTER_MAX (sizeof(((struct err *)0)->at) - 1)
/*
 * Appends "/segment" with ~ and / escaped; what has no room is cut between
 * two characters. `at` is NUL-terminated.
 */
void json_point(char at[JSON_POINTER_MAX + 1], struct str segment);

/* ERR_INVALID at a pointer; the text begins with the pointer's last name. */
int json_wrong(struct err *e, const char *at, const char *fmt, ...)
    PRINTF(3, 4);
#ifdef __clang_analyzer__ /* as err_set(): a failure is seen to be one */
#define json_wrong(e, ...) ((json_wrong)(e, __VA_ARGS__), (int)ERR_INVALID)
#endif

/*
 * ERR_INVALID for the first member of the object that is not among `names`
 * (NULL ends): a typo must not be a silent default. `at` is the pointer of the
 * object itself, "" for the document.
 */
int json_known(const struct json *j, const char *at, const char *const *names,
    struct err *e) MUST_CHECK;

/*
 * NDJSON: takes the next line that is not blank off *rest. A carriage return
 * at its end is dropped with the other blanks. False at the end.
 */
bool json_line(struct str *rest, struct str *ret_line);
