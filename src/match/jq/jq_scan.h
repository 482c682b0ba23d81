/*
 * jq_scan.h - what a jq program may not name.
 *
 * A filter sees one event and nothing else: no environment, no files, no other
 * inputs, and it can't end or talk past the process that runs it. That process
 * has none of these anyway (jq_child.h); here whoever saves a program is told,
 * with the place.
 *
 * It is jq's lexer in small: strings with their interpolations, comments,
 * fields (`.input` is fine) and keys of objects (`{input: .a}` is fine).
 */
#pragma once

#include "base/base.h"

/* ERR_INVALID with the line and column; ERR_LIMIT when it is too long. */
int jq_scan(struct str program, struct err *e) MUST_CHECK;

bool jq_scan_begins(char c); /* a name */
