/*
 * arena.h - memory that dies together.
 *
 * A request, an attempt, a CLI verb each own one arena. Everything they make
 * comes from it, nothing is freed singly, and a leak is impossible. Each has a
 * limit, so that what a stranger sends can not become all our memory.
 *
 * LIFE. One owner, one thread at a time. arena_reset() keeps the first block,
 * so that a connection that serves a thousand small requests allocates once.
 *
 * INVARIANTS
 *   1. The sum of what was handed out never exceeds the limit.
 *   2. Memory comes zeroed, unless asked for raw, and aligned for any type.
 *   3. Under ASan, bytes not handed out are poisoned.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/base.h"

struct arena;

struct arena *arena_new(size_t limit); /* NULL when there is no memory */
void arena_free(struct arena *a);      /* NULL is fine */
void arena_reset(struct arena *a);
size_t arena_used(const struct arena *a);

void *arena_raw(struct arena *a, size_t n);   /* not zeroed, or NULL */
void *arena_alloc(struct arena *a, size_t n); /* zeroed, or NULL */
void *arena_array(struct arena *a, size_t n, size_t size); /* no overflow */
struct str arena_dup(struct arena *a, struct str s); /* .p NULL on failure */
const char *arena_z(struct arena *a, struct str s);  /* NUL-terminated */
struct str arena_fmt(struct arena *a, const char *fmt, ...) PRINTF(2, 3);

#endif
