/*
 * sanitize_priv.h - between the parts of sanitize.
 */
#pragma once

#include "base/base.h"

/* As text, or as an attribute's value in double quotes. */
void sanitize_escape(struct buf *b, struct str s, bool attr);
