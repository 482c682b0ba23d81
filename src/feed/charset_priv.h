/*
 * charset_priv.h - what charset.c and charset_guess.c share.
 */
#ifndef FEED_CHARSET_PRIV_H
#define FEED_CHARSET_PRIV_H

#include "base/base.h"

struct buf;

/* How many bytes made no sense; SIZE_MAX when iconv does not know it. */
size_t charset_convert(const char *charset, struct str s, struct buf *to);

/* NULL: UTF-8 with other bytes in it, or windows-1252. */
const char *charset_guess(struct str s);

#endif
