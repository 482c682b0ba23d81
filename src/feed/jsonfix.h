/*
 * jsonfix.h - JSON with the faults of handmade feeds, made valid.
 *
 * Control characters and line ends in strings are escaped, halves of surrogate
 * pairs become U+FFFD, unknown escapes lose their backslash; a comma too many
 * and comments go; what is cut off is closed, and a member without its value
 * goes with it. All else stays, and is for the parser to refuse.
 */
#pragma once

#include "base/base.h"

void jsonfix(struct str json, struct buf *to);
