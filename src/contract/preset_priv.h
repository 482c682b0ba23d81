/*
 * preset_priv.h - between preset.c, which keeps them, and preset_read.c.
 */
#pragma once

#include "contract/preset.h"

/* Fills *ret, whose texts go to the arena. */
int preset_read(struct arena *a, struct str name, struct str text,
    struct preset *ret, struct err *e) MUST_CHECK;
