/*
 * reading.h - a document that is read member by member, until one is wrong.
 *
 * A user is told the first thing that is wrong. From then on everything here
 * does nothing, so whoever reads says line by line what is to be read and what
 * must hold, and asks once, at the end, whether all went well (rc). Values that
 * were not read are as they were: conditions over them do no harm.
 */
#ifndef CONTRACT_READING_H
#define CONTRACT_READING_H

#include "base/json.h"
#include "contract/member.h"

struct reading {
	struct member_io io;
	struct err *e;
	int rc;                        /* OK, or what was wrong first */
	char at[JSON_POINTER_MAX + 1]; /* of reading_at() */
};

/* The pointer of a member of the object at `at`; good until the next. */
const char *reading_at(struct reading *g, const char *at, const char *name);
/* The member; NULL when it is absent, or null. */
const struct json *reading_given(const struct json *o, const char *name);

void reading_wrong(struct reading *g, const char *at, const char *fmt, ...)
    PRINTF(3, 4);
void reading_need(
    struct reading *g, bool there, const char *at, const char *name);
/* No control characters, which are no part of a header. */
void reading_one_line(struct reading *g, struct str s, const char *at);
/* False: it is no such thing, or something was wrong before. */
bool reading_want(struct reading *g, const struct json *j, enum json_type type,
    const char *at);
/* As member_read(); without an object nothing happens. */
void reading_members(struct reading *g, const struct member *table,
    const struct json *o, const char *at, const void *initial, void *base);

#endif
