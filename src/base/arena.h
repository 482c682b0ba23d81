/*
 * arena.h - memory that dies together.
 *
 * A request, an attempt, a CLI verb each own one arena. Everything they make
 * comes from it, nothing is freed singly, and a leak is impossible. Each has a
 * limit, so that what a stranger sends can not become all our memory: what
 * grows with a stranger's input is asked for with arena_try(), or its maker
 * looks at arena_over() now and then. Small things are given in any case
 * (base/mem.h), so that nobody has to check them.
 *
 * LIFE. One owner, one thread at a time. arena_reset() keeps the first block,
 * so that a connection that serves a thousand small requests allocates once.
 *
 * INVARIANTS
 *   1. arena_try() never hands out past the limit.
 *   2. Memory comes zeroed, unless asked for raw, and aligned for any type.
 *   3. Under ASan, bytes not handed out are poisoned.
 */
#pragma once

#include "base/base.h"

struct arena;

struct arena *arena_new(size_t limit);
void arena_free(struct arena *a);   /* NULL is fine */
void arena_freep(struct arena **a); /* for CLEANUP */
void arena_reset(struct arena *a);
size_t arena_used(const struct arena *a);
bool arena_over(const struct arena *a); /* more than its limit was given */

void *arena_try(struct arena *a, size_t n) MUST_CHECK; /* not zeroed; NULL */
/* These never fail. */
void *arena_alloc(struct arena *a, size_t n);              /* zeroed */
void *arena_array(struct arena *a, size_t n, size_t size); /* zeroed */
struct str arena_dup(struct arena *a, struct str s); /* with a NUL behind */
const char *arena_z(struct arena *a, struct str s);
struct str arena_fmt(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
