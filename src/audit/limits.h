/*
 * limits.h - the bounds of audit rows.
 */
#pragma once

#include "base/base.h"

/* One text of a row, its details, and all of it. */
#define AUDIT_TEXT_MAX    2048 /* a URL fits */
#define AUDIT_DETAILS_MAX (16 * KIB)
#define AUDIT_ROW_MAX     (256 * KIB) /* every text escaped to six bytes each */
#define AUDIT_HEADERS_MAX 64          /* names of headers that are listed */
#define AUDIT_MANY_MAX    1024        /* rows of one call: a flush */
#define AUDIT_WALK_MAX    1000        /* rows that a step of verify looks at */
