/*
 * xmlfix.h - XML that is nearly some, made well-formed.
 *
 * By rules for feeds, which no general parser has:
 *   - a stray & or < is text; names of HTML become their characters;
 *   - comments, processing instructions and any DOCTYPE go;
 *   - attributes get their quotes; the second of two equal ones goes;
 *   - an end tag closes what is open within it, but none of an item's closes
 *     the item; one that nothing began goes;
 *   - an <item> or <entry> that begins within another ends that one;
 *   - <br>, <img> and the like end themselves;
 *   - the root stays open to the end, for items behind it;
 *   - what is open at the end is closed; a tag cut in two there goes.
 *
 * INVARIANTS
 *   1. The output is UTF-8 when the input is, has no control characters, and
 *      each of its elements is closed; it is no deeper than FEED_DEPTH_MAX.
 *   2. A byte is looked at a bounded number of times.
 */
#ifndef FEED_XMLFIX_H
#define FEED_XMLFIX_H

#include "base/base.h"

struct buf;

/* The buffer's sticky error says whether it had room. */
void xmlfix(struct str xml, struct buf *to);

/* s begins with <!DOCTYPE: how many bytes it takes; 0 when it never ends. */
size_t xmlfix_doctype(struct str s);

#endif
