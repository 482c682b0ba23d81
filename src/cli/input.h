/*
 * input.h - a verb's input: a file, or the standard input.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "base/base.h"

struct buf;

/* `path` NULL or "-" is the standard input; the buffer's limit is the bound. */
int input_read(const char *path, struct buf *b, struct err *e) MUST_CHECK;

#endif
