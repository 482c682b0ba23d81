/*
 * wire.h - plain structs as bytes and back, by one table for both ways.
 *
 * WHY A TABLE. What the cage answers is written there and read here. With one
 * description of each struct (shapes.h) the two can't drift apart, and the one
 * function that reads bytes which a stranger may have made is small.
 *
 * BYTES. The fields in the order of the table: a text is its length (four
 * bytes) and itself, a number eight bytes, a flag one, a list the number of
 * its elements (four bytes) and they. Numbers lie as in memory: both ends are
 * the same binary.
 *
 * INVARIANTS of what was read
 *   1. Texts lie in the bytes that were read, are UTF-8 without NUL, and not
 *      longer than their limit. Only a WIRE_MAYBE has .p NULL.
 *   2. A list is not longer than its limit, nor than the bytes that are left.
 *   3. Numbers lie between 0, or `least`, and `most`.
 */
#ifndef DOC_WIRE_H
#define DOC_WIRE_H

#include "base/base.h"

struct arena;
struct buf;

enum wire_type {
	WIRE_TEXT,   /* struct str */
	WIRE_MAYBE,  /* struct str that may be absent */
	WIRE_NUMBER, /* int64_t */
	WIRE_CHOICE, /* an enum, or an int */
	WIRE_FLAG,   /* bool */
	WIRE_CHAIN,  /* a pointer to the first of structs with a `next` */
	WIRE_ROW,    /* an array within the struct */
};

#define WIRE_UNCOUNTED SIZE_MAX

struct wire_field {
	enum wire_type type;
	size_t at;           /* in the struct */
	int64_t least, most; /* of a number; `most` bytes, or elements */
	const struct wire_shape *of; /* of CHAIN and ROW: the elements */
	size_t count; /* where their number is kept, a size_t, or UNCOUNTED */
};

struct wire_shape {
	size_t size;
	size_t next; /* of an element of a chain: where its `next` is */
	const struct wire_field *fields;
	size_t n;
};

void wire_put(struct buf *to, const struct wire_shape *s, const void *from);

/*
 * Takes one off *rest. `to` is zeroed memory of the shape's size; what lists
 * need comes from the arena. ERR_SYNTAX: the bytes are none; ERR_NOMEM.
 */
int wire_get(struct arena *a, struct str *rest, const struct wire_shape *s,
    void *to, struct err *e) MUST_CHECK;

#endif
