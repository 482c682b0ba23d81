/*
 * pack.h - plain structs as bytes and back, by one table for both ways.
 *
 * WHY A TABLE. What the cage answers is written there and read here. With one
 * description of each struct (shapes.h) the two can't drift apart, and the one
 * function that reads bytes which a stranger may have made is small.
 *
 * BYTES. The fields in the order of the table: a text is its length (four
 * bytes) and itself, a list the number of its elements (four bytes) and they.
 * Numbers lie as in memory: both ends are the same binary.
 *
 * INVARIANTS of what was read
 *   1. Texts lie in the bytes that were read, are UTF-8 without NUL, and not
 *      longer than their limit. Only a PACK_MAYBE has .p NULL.
 *   2. A list is not longer than its limit, nor than the bytes that are left.
 *   3. Numbers lie between 0, or `least`, and `most`.
 */
#pragma once

#include "base/base.h"

enum pack_type {
	PACK_TEXT,   /* struct str */
	PACK_MAYBE,  /* struct str that may be absent */
	PACK_NUMBER, /* int64_t, int, an enum, bool: by its size */
	PACK_CHAIN,  /* a pointer to the first of structs with a `next` */
	PACK_ROW,    /* an array within the struct */
};

struct pack_field {
	enum pack_type type;
	size_t at, size;     /* in the struct */
	int64_t least, most; /* of a number; `most` bytes, or elements */
	const struct pack_shape *of; /* of CHAIN and ROW: the elements */
	size_t count; /* where their number is kept, a size_t; 0: nowhere */
};

struct pack_shape {
	size_t size;
	size_t next; /* of an element of a chain: where its `next` is */
	const struct pack_field *fields;
	size_t n;
};

void pack_put(struct buf *to, const struct pack_shape *s, const void *from);

/*
 * Takes one off *rest. `to` is zeroed memory of the shape's size; what lists
 * need comes from the arena. ERR_SYNTAX: the bytes are none; ERR_LIMIT: they are
 * over the arena's limit.
 */
int pack_get(struct arena *a, struct str *rest, const struct pack_shape *s,
    void *to, struct err *e) MUST_CHECK;
