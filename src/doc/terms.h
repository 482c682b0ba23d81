/*
 * terms.h - the words of a text, and what is asked for.
 *
 * WHY OUR OWN. SQLite and PostgreSQL cut texts into words differently, and
 * neither cuts Japanese or Chinese at all. Both get words that are cut
 * already, so both find the same.
 *
 * A WORD is a run of letters, digits and marks, in lower case. Scripts that
 * put no blanks between words (Chinese, Japanese, Korean, Thai and the like)
 * become pairs: 東京都 is 東京 京都 都. The last sign stands by itself, so that
 * each one begins a word: one sign alone is looked for as such a beginning.
 * Case, accents and widths are folded (doc/fold.h); what is invisible is left
 * out.
 *
 * A QUERY is words that must all be there; "in quotes", or with anything but
 * blanks between them, one behind the other; word* is a beginning, -word and
 * -"some words" must not be there. There is no other syntax, and whatever is
 * typed is a query or has no word in it.
 *
 * BOUNDS. TERMS_MAX words of a text are known, TERM_BYTES of a word, and
 * TERMS_QUERY_MAX of a query. PostgreSQL keeps 256 places of a word: phrases
 * are found by those.
 */
#pragma once

#include "store/store.h"

/* Counts on over the texts of one article, behind terms_begin(): each begins
 * with a gap. */
struct terms {
	enum store_engine engine;
	struct buf *out;
	size_t n; /* words so far */
};

void terms_begin(struct terms *t);
/* Plain text, UTF-8. */
void terms_add(struct terms *t, struct str text);
/* HTML that sanitize.h wrote. */
void terms_add_html(struct terms *t, struct str html);

/*
 * The query as the engine wants it; nothing in it is a stranger's syntax.
 * ERR_INVALID when there is no word in it, or too many.
 */
int terms_query(enum store_engine engine, struct str query, struct buf *out,
    struct err *e) MUST_CHECK;
