/*
 * mem.h - memory, or the end of the process.
 *
 * ONE RULE. What this program makes for itself is small: a struct, a table that
 * grows, a copy of a name. When there is no memory for that, nothing useful can
 * be done any more, and a start recovers everything that was accepted; so these
 * never return NULL, and nobody checks them. Sizes that a stranger chooses are
 * bounded before memory is asked for, or asked for with arena_try()
 * (base/arena.h), which is checked and answered with ERR_LIMIT.
 *
 * What they return is freed with free().
 */
#pragma once

#include "base/base.h"

#define MEM_EXIT 83 /* the exit status of a process that had no memory */

void *mem_get(size_t bytes) __attribute__((returns_nonnull)); /* zeroed */
void *mem_array(size_t n, size_t size)
    __attribute__((returns_nonnull)); /* zeroed */
/* realloc() to n elements; those that are new are not zeroed. */
void *mem_grow(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
/* Room for element n of v, which has *cap of them: v, or a larger one. */
void *mem_more(void *v, size_t *cap, size_t n, size_t size)
    __attribute__((returns_nonnull));
char *mem_z(struct str s)
    __attribute__((returns_nonnull)); /* a copy, with a NUL */

/* Says how much was asked for and ends the process with MEM_EXIT. */
_Noreturn void mem_out(size_t bytes);
