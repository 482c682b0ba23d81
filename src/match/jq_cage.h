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

bool jq_cage(void); /* false: the process must not go on */

#endif
