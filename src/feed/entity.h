/*
 * entity.h - character references, as people write them.
 */
#ifndef FEED_ENTITY_H
#define FEED_ENTITY_H

#include "base/base.h"

#define ENTITY_UTF8_MAX 4

/*
 * s begins with '&'. When a reference with its semicolon stands there, its
 * character goes to `ret` and the bytes that it took are returned; else 0.
 * Numbers from 128 to 159 are those of windows-1252, as browsers have it; a
 * number that is no character gives U+FFFD.
 */
size_t entity_read(struct str s, char ret[ENTITY_UTF8_MAX], size_t *ret_n);

/* How many bytes the character takes; `code` is a character. */
size_t entity_utf8(uint32_t code, char ret[ENTITY_UTF8_MAX]);

/* What windows-1252 has at 128 + i. */
extern const uint16_t ENTITY_CP1252[32];

#endif
