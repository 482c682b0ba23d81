#include "match/index.h"

#include <assert.h>

#define FIRST_BUCKETS ((size_t)16)

static struct link **
bucket(const struct index *x, uint32_t hash)
{
	return &x->buckets[hash & (x->cap - 1)];
}

struct link *
index_first(const struct index *x, uint32_t hash)
{
	return x->cap ? *bucket(x, hash) : NULL;
}

static void
push(struct index *x, struct link *l)
{
	struct link **at = bucket(x, l->hash);

	l->next = *at;
	*at = l;
}

static bool
grow(struct index *x)
{
	struct index wide = {.n = x->n};

	if (x->n < x->cap)
		return true;
	wide.cap = x->cap ? 2 * x->cap : FIRST_BUCKETS;
	wide.buckets = calloc(wide.cap, sizeof(struct link *));
	if (!wide.buckets)
		return false;
	for (size_t i = 0; i < x->cap; i++)
		for (struct link *l = x->buckets[i], *next; l; l = next) {
			next = l->next;
			push(&wide, l);
		}
	free(x->buckets);
	*x = wide;
	return true;
}

int
index_add(struct index *x, struct link *l, struct err *e)
{
	if (!grow(x))
		return err_set(e, ERR_NOMEM, "no memory for a table");
	push(x, l);
	x->n++;
	return OK;
}

void
index_remove(struct index *x, struct link *l)
{
	struct link **at = bucket(x, l->hash);

	while (*at != l) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = l->next;
	x->n--;
}

struct link *
index_pop(struct index *x, size_t *at)
{
	struct link *l;

	while (*at < x->cap && !x->buckets[*at])
		(*at)++;
	if (*at == x->cap)
		return NULL;
	l = x->buckets[*at];
	x->buckets[*at] = l->next;
	x->n--;
	return l;
}

void
index_done(struct index *x)
{
	free(x->buckets);
	*x = (struct index){.n = 0};
}
