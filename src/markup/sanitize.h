/*
 * sanitize.h - HTML of a feed, made safe to show.
 *
 * WHAT. The text is read as browsers read it (markup/html.h) and written anew
 * from the tree: the elements of a list with the attributes of a list, and
 * text; everything escaped. Nothing of the input is ever copied as markup.
 *   basic    p br a ul ol li blockquote pre code strong em img
 *   article  also h1..h6, table with its parts, figure figcaption, b i hr del
 *            sup sub
 * a has href (http, https, mailto) and title, and gets target="_blank" and
 * rel="noopener noreferrer"; without a good href it is left out, its text
 * stays. img has src (https), alt, title, width, height; without a good src
 * it is left out. Scripts, styles, forms' controls, media, SVG, MathML and
 * templates go with all they hold; what else is unknown goes, and its content
 * stays.
 *
 * SHAPE. What the list has no element for keeps its shape by those it has. In a
 * block that is left out (div, section, dd …) what stands in lines becomes
 * paragraphs; a heading's are strong. A row of a table is a line with " | "
 * between its cells, unless there are blocks in them: then these are
 * paragraphs. b and i are strong and em. A frame, and a picture that is not
 * https, is a link to it, by its title or alt text, or its address or file.
 *
 * WHY A FIXED POINT. What one parser wrote and another reads differently is
 * how markup comes to life after it was cleaned. So an element is written
 * only where HTML lets it stand: no block within p, no a within a, no li
 * within li, table parts in their places, no formatting element within its
 * own kind. Then there is one reading, every parser finds the tree that we
 * wrote, and cleaning it again changes nothing.
 *
 * LIFE. Pure: nothing is kept, the same input gives the same output.
 *
 * INVARIANTS
 *   1. sanitize(sanitize(x)) == sanitize(x), with the same list, any base.
 *   2. '<' is written only before a name of the list, or '/' and such a name.
 *   3. Time and memory are linear in the input, whatever it is.
 */
#pragma once

#include "base/base.h"

enum sanitize_tags { SANITIZE_BASIC, SANITIZE_ARTICLE };

/*
 * Appends to `out`, whose limit should be SANITIZE_OUT_MAX. `base` may be
 * empty; relative links are then left out. ERR_LIMIT: over SANITIZE_IN_MAX, or
 * the result over the buffer's limit. *ret_cut: the end is missing, for its
 * tree was over SANITIZE_MEM; may be NULL.
 */
int sanitize(struct str html, struct str base, enum sanitize_tags tags,
    struct buf *out, bool *ret_cut, struct err *e) MUST_CHECK;
