/*
 * base64.h - RFC 4648: the standard alphabet with padding, and the one for
 * URLs (- and _), without.
 *
 * Reading is strict: whole groups of four, padding only at the end, no blanks,
 * no bits left over. So each run of bytes has one spelling, and a cache keyed
 * by what was sent can't be made to hold the same thing many times.
 */
#pragma once

#include "base/base.h"

#define BASE64_LEN(n) (((n) + 2) / 3 * 4)

void base64_add(struct buf *b, struct str bytes);
/* False when it is not base64 or over `cap` bytes; *ret_n bytes written. */
bool base64_read(struct str text, char *ret, size_t cap, size_t *ret_n);

#define BASE64URL_LEN(n) (((n)*4 + 2) / 3)
void base64_url_add(struct buf *b, struct str bytes);
bool base64_url_read(struct str text, char *ret, size_t cap, size_t *ret_n);
