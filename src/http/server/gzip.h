/*
 * gzip.h - smaller answers for those who ask.
 *
 * Level 1: an http thread does it, and while it does it serves nobody else.
 * On JSON it makes about a fifth of the size at over 100 MB/s; level 6 would
 * save a few more percent at a third of the speed.
 */
#pragma once

#include "base/base.h"

/* Does Accept-Encoding allow gzip? q=0 says no, a name beats "*". */
bool gzip_accepted(struct str accept_encoding);
/* Appends s compressed. False when it got no smaller or there is no memory. */
bool gzip_add(struct buf *b, struct str s);
