/*
 * heap.h - timers: what is due first.
 *
 * A binary heap of nodes that live inside their owners, so that adding and
 * removing allocate nothing but the array. A node knows its place, which makes
 * removal and change of the due time O(log n). One thread.
 */
#pragma once

#include "base/base.h"

struct heap_node {
	int64_t due;
	size_t at; /* 1-based place, 0: not in a heap */
};

struct heap {
	struct heap_node **v;
	size_t n, cap;
};

void heap_add(struct heap *h, struct heap_node *node);
void heap_move(struct heap *h, struct heap_node *node, int64_t due);
void heap_remove(struct heap *h, struct heap_node *node); /* absent is fine */
struct heap_node *heap_first(const struct heap *h);       /* NULL: empty */
void heap_done(struct heap *h); /* the nodes may be gone by then */
