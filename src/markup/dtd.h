/*
 * dtd.h - the entities that a DOCTYPE defines by a text.
 *
 * <!ENTITY name "text">, and nothing else: none from outside, no parameter
 * entities. A text may hold references to earlier ones; it is expanded where
 * it is defined, so that what it becomes is known and bounded there. One that
 * grows over DTD_VALUE_MAX, or refers to what is not known, is not defined.
 *
 * INVARIANT. All that dtd_find() hands out for one feed is DTD_SPEND_MAX bytes
 * at most; then it finds nothing any more.
 */
#ifndef MARKUP_DTD_H
#define MARKUP_DTD_H

#include "base/base.h"

#define DTD_ENTITIES_MAX 256  /* a list of Latin letters */
#define DTD_VALUE_MAX    1024 /* of one, in bytes */
#define DTD_SPEND_MAX    ((size_t)1 << 20)
#define DTD_BYTES_MAX    ((size_t)65536)   /* of it that are looked at */
#define DTD_EFFORT_MAX   ((size_t)1 << 24) /* names that are compared */

struct dtd {
	struct {
		struct str name;
		size_t at, n; /* of text */
	} list[DTD_ENTITIES_MAX];
	size_t n, n_text, spent, effort;
	char text[16384];
};

/* `doctype` is from <!DOCTYPE to its end, and must outlive it. */
void dtd_read(struct dtd *d, struct str doctype);
bool dtd_find(struct dtd *d, struct str name, struct str *ret);

#endif
