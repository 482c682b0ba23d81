/*
 * shut.h - what a caged process locks behind itself.
 *
 * Memory and stack are bounded, no core is written, privileges can't grow, and
 * a system call that is not on the list in shut.c ends the process. Built
 * with ASan memory is not bounded; with TSan the list is not used either.
 */
#pragma once

#include "base/base.h"

enum shut_calls {
	SHUT_FORKING, /* may also make a worker, and wait for its end */
	SHUT_ALONE,   /* may not */
};

/* Both: false when the process must not go on. First the bounds: so much
 * memory beside what the process has now. */
bool shut_bounds(size_t memory_max);
bool shut_calls(enum shut_calls which);
