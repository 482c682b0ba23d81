/*
 * types.h - names of event types, and patterns of them.
 *
 * A type is dotted parts, "feed.item.added". A pattern is a type, or a type's
 * beginning with a last part "*": "feed.item.*" stands for "feed.item.added"
 * and for "feed.item.a.b", not for "feed.item" itself. "*" alone is all.
 */
#pragma once

#include "base/base.h"

/* ERR_INVALID with what is wrong, for whoever wrote the pattern. */
int match_types_check(struct str pattern, struct err *e) MUST_CHECK;

/*
 * The key of a pattern: the type itself, or the bytes that a type must begin
 * with, which end with a dot or are none. As no type ends with a dot the two
 * never meet.
 */
struct str match_types_key(struct str pattern);

/* Does a type fit the key of a pattern? */
bool match_types_fit(struct str key, struct str type);
