/*
 * plain.h - the jq programs that are so plain that C can run them.
 *
 * Comparisons of a field with a constant (`.payload.amount > 100`,
 * `"x" == .type`), fields alone (true unless false or null), and these joined
 * by `and`, `or`, parentheses and `| not`. Most filters are of this kind; they
 * cost a walk over the parsed event, no process and no copy.
 *
 * The meaning is jq's to the letter: null < false < true < numbers < strings <
 * arrays < objects; a field of null is null; a field of a number, a string, a
 * boolean or an array is an error; numbers are compared as doubles. Whatever
 * is written in another way is not understood here, and left to jq.
 *
 * LIFE. A plain is the heap's, is only read once it is made, and ends with
 * free(). It borrows the program's text, which must live as long.
 */
#pragma once

#include "match/jq/jq.h"

struct plain;

/* NULL when it is not of this kind; free() it. */
struct plain *plain_parse(struct str program);

/* JQ_TRUE, JQ_FALSE or JQ_ERROR. */
enum jq_verdict plain_run(const struct plain *p, const struct json *doc);
