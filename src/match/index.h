/*
 * index.h - a hash table whose links lie inside what it holds.
 *
 * base/map.h takes 32 bytes a slot and keeps a quarter free. Of a hundred
 * thousand subscriptions two tables are kept, which are to be small: here an
 * entry costs its link (16 bytes, one word of them for the owner's use) and a
 * bucket.
 *
 * LIFE. Entries are the owner's, who begins each with a struct index_link and
 * keeps its key in it. One thread.
 */
#ifndef MATCH_INDEX_H
#define MATCH_INDEX_H

#include "base/base.h"
#include "base/sip.h"

struct index_link {
	struct index_link *next;
	uint32_t hash;
	uint32_t count; /* the owner's, so that nothing is lost to padding */
};

struct index {
	struct index_link **buckets;
	size_t n, cap; /* cap is 0 or a power of two */
	bool (*is)(const struct index_link *l, struct str key);
	struct sip sip;
};

void index_init(
    struct index *x, bool (*is)(const struct index_link *l, struct str key));
void index_done(struct index *x); /* the entries may be gone by then */
void *index_find(const struct index *x, struct str key); /* NULL: absent */
void index_add(struct index *x, struct str key, struct index_link *l);
void index_remove(struct index *x, struct index_link *l); /* must be there */
/* Takes out one after the other, for whoever empties it. Start with *at = 0;
 * NULL: it is empty. Nothing is added meanwhile. */
void *index_pop(struct index *x, size_t *at);

#endif
