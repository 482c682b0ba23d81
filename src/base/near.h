/*
 * near.h - "did you mean …": the known word closest to a mistyped one.
 *
 * For people at a prompt or in a settings file: short words, short lists, no
 * need for speed. Distance is Levenshtein's. A suggestion that has little in
 * common with what was typed is worse than none, so at most a third of the
 * typed letters (and at least two) may differ.
 *
 *   struct near n = near_to(typed);
 *   for each known word
 *           near_try(&n, known);
 *   if (n.best) …
 */
#pragma once

#include "base/base.h"

struct near {
	struct str word;
	const char *best; /* NULL: nothing is close */
	size_t distance;  /* of the best; before there is one, the most allowed
			   * plus one */
};

struct near near_to(struct str word);
/* Of two that are equally close the first stays. Borrows `known`. */
void near_try(struct near *n, const char *known);
