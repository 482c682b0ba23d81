/*
 * href.h - what a link in a page or an article leads to.
 *
 * A browser takes more for a URL than any standard of URLs does: blanks and
 * controls around it, tabs and line feeds within it, backslashes for slashes,
 * "https:host". So a link is read as a browser reads it, its scheme is judged
 * by what is left, and what it is written as has only one reading: what we let
 * through is what will be followed. Nothing is connected to here; whoever
 * fetches asks the guard (http/client/guard.h).
 *
 * INVARIANTS
 *   1. A link that is written begins with one of the schemes that were asked
 *      for, in lower case, and holds no blank, control, quote, '<' or '>'.
 *   2. Read again, with any base, it is written the same.
 */
#pragma once

#include "base/base.h"

enum { HREF_HTTP = 1, HREF_HTTPS = 2, HREF_MAILTO = 4 };

/*
 * `text`, resolved against `base` (an http or https URL; empty: only what is
 * absolute is taken). .p is NULL when it is none of `schemes`, has no host, is
 * over HREF_MAX, or over the arena's limit.
 */
struct str href_resolve(
    struct arena *a, struct str base, struct str text, int schemes);
/* RFC 3986, section 5, to the letter: a link without a scheme against a base with
 * one, both as they are. Empty when it would be over the arena's limit. */
struct str href_join(struct arena *a, struct str base, struct str link);
/* "scheme" of "scheme:rest", in any case; empty: there is none. */
struct str href_scheme(struct str s);
/* "host:port" of what href_resolve() wrote. */
struct str href_host(struct str url);
