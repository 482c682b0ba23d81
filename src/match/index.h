/*
 * index.h - a hash table whose links lie inside what it holds.
 *
 * base/map.h takes 32 bytes a slot and keeps a quarter free; a table of a
 * hundred thousand subscriptions has three such maps. Here an entry costs its
 * link (16 bytes, one word of them for the owner's use) and a bucket.
 *
 * LIFE. Entries are the owner's, who begins each with a struct link, sets its
 * hash and hands it in. A zeroed struct is an empty index. One thread.
 */
#ifndef MATCH_INDEX_H
#define MATCH_INDEX_H

#include "base/base.h"

struct link {
	struct link *next;
	uint32_t hash;
	uint32_t count; /* the owner's, so that nothing is lost to padding */
};

struct index {
	struct link **buckets;
	size_t n, cap; /* cap is 0 or a power of two */
};

/* Starts at index_first() and goes on by ->next; hashes may differ. */
struct link *index_first(const struct index *x, uint32_t hash);
int index_add(struct index *x, struct link *l, struct err *e) MUST_CHECK;
void index_remove(struct index *x, struct link *l); /* must be there */
/* Takes out one after the other, for whoever empties it. Start with *at = 0;
 * NULL: it is empty. Nothing is added meanwhile. */
struct link *index_pop(struct index *x, size_t *at);
void index_done(struct index *x); /* the entries may be gone by then */

#endif
