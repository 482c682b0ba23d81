/*
 * fold.h - signs as search compares them: without case, accents and widths.
 *
 * What Unicode calls NFKD, with the marks left out and small letters, for what
 * people write feeds in, without its tables. Covered: Latin with all of its
 * accents (Vietnamese too), Greek, also polytonic, Cyrillic; marks that stand
 * by themselves; full-width letters and digits, half-width Katakana; small
 * digits above and below the line, digits in circles up to 9, ligatures of f.
 * ß, æ and ø are letters of their own, as in Unicode.
 *
 * A dakuten is no accent: か and が are two letters, however they are spelled.
 */
#pragma once

#include "base/base.h"

#define FOLD_MAX 4

/*
 * Takes the first sign off `text` with the voiced marks behind it: what it is
 * compared as, and how many signs those are. 0: it is a mark.
 */
size_t fold_next(struct str *text, uint32_t ret[FOLD_MAX]);
