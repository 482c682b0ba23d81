#include "base/heap.h"

/* Places are 1-based, so that the children of i are 2i and 2i + 1. */
static void
heap_put(struct heap *h, size_t at, struct heap_node *node)
{
	h->v[at - 1] = node;
	node->at = at;
}

static void
up(struct heap *h, struct heap_node *node)
{
	size_t at = node->at;

	for (; at > 1 && h->v[at / 2 - 1]->due > node->due; at /= 2)
		heap_put(h, at, h->v[at / 2 - 1]);
	heap_put(h, at, node);
}

static void
down(struct heap *h, struct heap_node *node)
{
	size_t at = node->at;

	for (size_t child; (child = 2 * at) <= h->n; at = child) {
		if (child < h->n && h->v[child]->due < h->v[child - 1]->due)
			child++;
		if (h->v[child - 1]->due >= node->due)
			break;
		heap_put(h, at, h->v[child - 1]);
	}
	heap_put(h, at, node);
}

void
heap_add(struct heap *h, struct heap_node *node)
{
	assert(node->at == 0);
	h->v = mem_more(h->v, &h->cap, h->n, sizeof(struct heap_node *));
	heap_put(h, ++h->n, node);
	up(h, node);
}

void
heap_move(struct heap *h, struct heap_node *node, int64_t due)
{
	assert(node->at > 0 && h->v[node->at - 1] == node);
	node->due = due;
	up(h, node);
	down(h, node);
}

void
heap_remove(struct heap *h, struct heap_node *node)
{
	size_t at = node->at;
	struct heap_node *last;

	if (at == 0)
		return;
	assert(h->v[at - 1] == node);
	node->at = 0;
	last = h->v[--h->n];
	if (last == node)
		return;
	heap_put(h, at, last);
	up(h, last);
	down(h, last);
}

struct heap_node *
heap_first(const struct heap *h)
{
	return h->n ? h->v[0] : NULL;
}

void
heap_done(struct heap *h)
{
	free(h->v);
	*h = (struct heap){.v = NULL};
}
