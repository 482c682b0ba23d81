/*
 * show.h - one JSON document, for people: a name and its value a line, what is
 * inside indented. What is null or empty is left out.
 */
#pragma once

#include "cli/cli.h"

void show_doc(struct cli *c, const struct json *j);
/* A single value as a table or a line shows it: a text, a number, yes or no,
 * the words of an array with commas between; "-" when there is nothing. */
struct str show_value(struct arena *a, const struct json *v);
