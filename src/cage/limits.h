/*
 * limits.h - the bounds of caged children (cage/cage.h).
 */
#pragma once

#include "base/base.h"

#define CAGE_STACK_MAX      (8 * MIB)
/* After so many deaths in a row that nothing is to blame for, a start waits. */
#define CAGE_DEATHS_FREE    3
#define CAGE_BACKOFF_MS     100
#define CAGE_BACKOFF_MAX_MS 10000
