/*
 * worst.h - passwords that are guessed first, whoever's they are.
 *
 * A guesser has few tries before he is locked out, and spends them on what most
 * people take: a word of worst.tbl, with digits and marks around it, or with
 * digits in the place of letters; one's own name; what the server is called; a
 * few characters over and over; a run as on the keyboard. These are refused;
 * nothing else is: long and plain beats short and strange.
 *
 * A value module: pure, no state.
 */
#pragma once

#include "base/base.h"

struct password_of;

/* NULL when nobody tries it first, or what it is, to be read after "it is". */
const char *worst_why(struct str password, const struct password_of *of);
