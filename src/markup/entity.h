/*
 * entity.h - character references: &amp; &#38; &#x26;, as people write them.
 *
 * One table for XML and HTML: feeds use the names of HTML where XML knows five
 * of them.
 */
#pragma once

#include "base/base.h"

#define ENTITY_MAX 8 /* bytes of what one stands for: two characters */

enum entity_in {
	ENTITY_IN_XML,  /* with its semicolon alone */
	ENTITY_IN_ATTR, /* HTML; "?a=1&copy=2" is no copyright sign */
	ENTITY_IN_HTML,
};

/*
 * s begins with '&'. When a reference stands there, its text goes to `ret` and
 * the bytes that it took are returned; else 0. Numbers from 128 to 159 are
 * those of windows-1252, as browsers have it; a number that is no character
 * gives U+FFFD.
 */
size_t entity_read(
    struct str s, enum entity_in in, char ret[ENTITY_MAX], size_t *ret_n);

/* The character that s begins with, which takes `len` bytes of UTF-8. */
uint32_t entity_code(struct str s, size_t len);

/* What windows-1252 has at 128 + i. */
extern const uint16_t ENTITY_CP1252[32];
