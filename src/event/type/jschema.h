/*
 * jschema.h - JSON Schema, the part of it that events need.
 *
 * WHY OUR OWN. Debian has no C library for it that knows draft 2020-12 and holds
 * up against a schema and a document by strangers; the part that is used to
 * describe payloads is small. docs/event-types.md states it: a keyword that is
 * not in the table of jschema.c is refused when a schema is saved, by its name
 * and place, so that nothing is believed to be checked that is not.
 *
 * COST. A schema has up to SCHEMA_NODES subschemas; references are local, are
 * looked up once and run in no circle that takes no step into the document. A
 * check may take so many steps as the document is long (SCHEMA_WORK); one that
 * would take more ends with a fault that says so.
 *
 * LIFE. A schema is the arena's and borrows from the document it was made of;
 * it is never changed, so that any thread may check with it.
 */
#pragma once

#include "base/base.h"

struct faults;
struct jschema;

/* ERR_INVALID with the pointer below `at`. */
int jschema_compile(struct arena *a, const struct json *tree, const char *at,
    struct jschema **ret, struct err *e) MUST_CHECK;
/* Adds what does not fit; `at` is the pointer of the document itself. */
void jschema_check(const struct jschema *s, const struct json *doc,
    const char *at, struct faults *ret);
/*
 * May whoever reads documents of the old schema read those of the new one?
 * Adds what stands against it: what the new one allows and the old one does not,
 * or what it can't be seen to forbid.
 */
void jschema_compare(
    const struct jschema *old, const struct jschema *new, struct faults *ret);
