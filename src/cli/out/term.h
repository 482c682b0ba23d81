/*
 * term.h - text for people at a terminal: escapes, widths, colours.
 *
 * What is shown was written by strangers: a terminal must not obey it. Control
 * characters and bytes that are no UTF-8 are spelled out (\x1b). A character
 * may be two columns wide (CJK, emoji) or none (combining marks).
 *
 * Colours are for terminals. --color always or never decides; auto, which is
 * the default, means that the standard output is a terminal, NO_COLOR is not
 * set and TERM is not dumb.
 */
#pragma once

#include "cli/cli.h"

enum tint { TINT_NONE, TINT_HEAD, TINT_GOOD, TINT_BAD, TINT_WAIT, TINT_DIM };

/* Whether to colour; cli_usage() for a --color that is none. */
int term_begin(struct cli *c, struct err *e) MUST_CHECK;
/* Begins a colour, TINT_NONE ends it. */
void term_tint(struct cli *c, enum tint t);
/* What a word of a state is tinted with: SUCCESS, DEAD_LETTER, running … */
enum tint term_tint_of(struct str word);

/* As it can be shown, in the arena when it had to change. `lines`: the ends of
 * lines and tabs stay. */
struct str term_clean(struct arena *a, struct str s, bool lines);
size_t term_width(struct str s); /* columns of what term_clean() gave */
/* What fits into so many columns, with … where it was cut. */
struct str term_fit(struct arena *a, struct str s, size_t columns);
size_t term_columns(void); /* of the terminal; 80 when there is none */
/* A line that is written over, on the standard error when that is a terminal;
 * ended: the last. */
void term_progress(struct cli *c, bool ended, const char *fmt, ...)
    PRINTF(3, 4);
