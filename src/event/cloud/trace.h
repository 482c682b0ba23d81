/*
 * trace.h - W3C's traceparent: where a change began, carried along.
 *
 * The header of whoever publishes becomes the member `traceparent` of the
 * envelope, unless that has one; so it is stored, shown and handed to those who
 * fetch like the rest of it. A delivery sends it on as its header, of the same
 * trace, with a span of its own as the parent: W3C wants a new one each hop.
 * One that is not well-formed is ignored, and kept where a publisher put it.
 */
#pragma once

#include "base/base.h"

#define TRACE_LEN 55 /* 00-<32>-<16>-<2> */

bool trace_valid(struct str traceparent);
/* That of a stored body; false when it has none that is valid. */
bool trace_of(struct str body, struct str *ret);
/* The same trace and flags, with a new parent. */
void trace_next(struct str traceparent, char ret[TRACE_LEN + 1]);
