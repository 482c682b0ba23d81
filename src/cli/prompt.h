/*
 * prompt.h - asking whoever runs the program: a line of the standard input,
 * which at a terminal can be one that is not shown.
 */
#pragma once

#include "cli/cli.h"

/* One line of the standard input, without its end; what follows it stays. */
int prompt_line(struct cli *c, struct str *ret, struct err *e) MUST_CHECK;
/* The same at a terminal, after the question. */
int prompt_text(
    struct cli *c, const char *what, struct str *ret, struct err *e) MUST_CHECK;
int prompt_secret(
    struct cli *c, const char *what, struct str *ret, struct err *e) MUST_CHECK;
