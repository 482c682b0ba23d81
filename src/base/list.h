/*
 * list.h - a two-way list of nodes that live inside their owners.
 *
 * No allocation, O(1) add and remove. A node that is in no list has a NULL
 * `next`; removing it again is fine. One thread.
 */
#pragma once

#include "base/base.h"

struct link {
	struct link *prev, *next;
};

struct list {
	struct link head;
	size_t n;
};

static inline void
list_init(struct list *l)
{
	l->head.prev = l->head.next = &l->head;
	l->n = 0;
}

static inline bool
link_on(const struct link *k)
{
	return k->next != NULL;
}

/* Behind `at`, which is in the list or its head. */
static inline void
list_add_after(struct list *l, struct link *at, struct link *k)
{
	k->prev = at;
	k->next = at->next;
	at->next->prev = k;
	at->next = k;
	l->n++;
}

static inline void
list_add(struct list *l, struct link *k)
{
	list_add_after(l, l->head.prev, k);
}

/* Unless it is in the list already. */
static inline void
list_add_once(struct list *l, struct link *k)
{
	if (!link_on(k))
		list_add(l, k);
}

static inline void
list_remove(struct list *l, struct link *k)
{
	if (!k->next)
		return;
	k->prev->next = k->next;
	k->next->prev = k->prev;
	k->prev = k->next = NULL;
	l->n--;
}

static inline struct link *
list_first(const struct list *l)
{
	/* The analyzer can't see that a node which was freed was removed. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	return l->n ? l->head.next : NULL;
}

static inline struct link *
list_last(const struct list *l)
{
	return l->n ? l->head.prev : NULL;
}

static inline struct link *
list_next(const struct list *l, const struct link *k)
{
	return k->next == &l->head ? NULL : k->next;
}

/* The first one, which is removed. */
static inline struct link *
list_shift(struct list *l)
{
	struct link *k = list_first(l);

	if (k)
		list_remove(l, k);
	return k;
}

static inline void *
link_owner(struct link *k, size_t offset)
{
	return k ? (char *)k - offset : NULL;
}

/* The struct that the link is a member of. */
#define LINK_OF(link, type, member)                                            \
	((type *)(void *)((char *)(link)-offsetof(type, member)))

/* The same for the first of a list; NULL: it is empty. */
#define list_head(l, type, member)                                             \
	((type *)link_owner(list_first(l), offsetof(type, member)))
#define list_take(l, type, member)                                             \
	((type *)link_owner(list_shift(l), offsetof(type, member)))
/* Each in turn is `x`, which may leave the list; its neighbour may not. */
/* NOLINTBEGIN(bugprone-macro-parentheses): it declares x. */
#define list_each(type, x, l, member)                                          \
	for (type *x = list_head(l, type, member), *x##_next;                  \
	     x && (x##_next = link_owner(                                      \
		       list_next(l, &x->member), offsetof(type, member)),      \
		  true);                                                       \
	     x = x##_next)
/* NOLINTEND(bugprone-macro-parentheses) */
