/*
 * jq_cage.h - what the jq child locks behind itself.
 *
 * Memory and stack are bounded, no core is written, privileges can't grow, and
 * a system call that is not on the list in jq_cage.c ends the process. Built
 * with ASan memory is not bounded; with TSan the list is not used either.
 */
#ifndef MATCH_JQ_CAGE_H
#define MATCH_JQ_CAGE_H

#include "base/base.h"

enum jq_cage {
	JQ_CAGE_KEEPER, /* may also make a worker, and wait for its end */
	JQ_CAGE_WORKER, /* a keeper that may no more */
};

bool jq_cage(enum jq_cage cage); /* false: the process must not go on */

#endif
