/*
 * text.h - small texts: titles, people, what was escaped twice.
 *
 * Results are the arena's or the argument itself; empty when it would be over
 * the arena's limit.
 */
#pragma once

#include "base/base.h"

struct str text_copy(struct arena *a, struct str s);
/* HTML to the text in it: tags go, references become characters, and a blank is
 * where a block began or ended. */
struct str text_of_html(struct arena *a, struct str html);
/* Runs of blanks become one, none at the ends. */
struct str text_squeeze(struct arena *a, struct str s);
/*
 * A title of RSS, where nobody knows whether it is HTML: references become
 * characters; tags go when one of them is an end tag or needs none.
 */
struct str text_title(struct arena *a, struct str s);
/* & < > as references: plain text as HTML. */
struct str text_escape(struct arena *a, struct str s);
/*
 * "ann@example.com (Ann)", "Ann <ann@example.com>", "mailto:...": the name, or
 * the address when there is none. *ret_named says which.
 */
struct str text_person(struct arena *a, struct str s, bool *ret_named);
/* Base64 with blanks in it; empty when it is none or no UTF-8. */
struct str text_base64(struct arena *a, struct str s);
