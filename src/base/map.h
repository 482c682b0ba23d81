/*
 * map.h - from a run of bytes to a pointer.
 *
 * Open addressing with a power of two of slots. Keys may come from strangers,
 * so the hash has a random secret per map (base/sip.h). Keys are borrowed:
 * they must live as long as their entry (usually inside the value).
 * NULL is not a value. One thread at a time.
 */
#pragma once

#include "base/base.h"

struct map;

struct map *map_new(size_t most); /* never more entries than that */
void map_free(struct map *m);     /* the values are the caller's */
size_t map_count(const struct map *m);
void *map_find(const struct map *m, struct str key); /* NULL when absent */
/* Replaces; the old value comes back in *ret_old when not NULL. */
int map_put(struct map *m, struct str key, void *value, void **ret_old,
    struct err *e) MUST_CHECK;
/* The same where the bound can't be reached: for what we count ourselves. */
void map_set(struct map *m, struct str key, void *value);
void *map_take(struct map *m, struct str key); /* removes and returns */
/* Start with *at = 0; NULL at the end. No changes while walking. */
void *map_each(const struct map *m, size_t *at);
