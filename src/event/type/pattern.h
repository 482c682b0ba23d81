/*
 * pattern.h - regular expressions that can't burn time.
 *
 * `pattern` of a schema is written by one stranger and run over the text of
 * another. It becomes a machine whose states are all followed at once (Thompson
 * 1968), so that a text takes time by its length times PATTERN_STATES at most,
 * whatever the two say; there is nothing to go back to.
 *
 * TAKEN: the everyday part of ECMA 262: characters, ., [a-z], [^…], \d \w \s
 * and their capitals, \t \n \r \f \v, \xHH, \uHHHH, \ before a sign, (…), (?:…),
 * |, * + ? {m} {m,} {m,n}, ^ and $. What looks around or back (\1, \b, (?=…)),
 * is named or lazy, or is a class of Unicode (\p) is refused. As in JSON Schema
 * it may match anywhere in the text; ^ and $ are the text's ends.
 *
 * LIFE. The arena's; never changed once made, for any thread.
 */
#pragma once

#include "base/base.h"

struct pattern;

/* ERR_INVALID says what is not taken. */
int pattern_compile(struct arena *a, struct str text, struct pattern **ret,
    struct err *e) MUST_CHECK;
/* Takes what it costs off *left; false with 0 left: it was too much. */
bool pattern_matches(const struct pattern *p, struct str text, size_t *left);
