#include "match/index.h"

#include <assert.h>

#include "base/mem.h"

#define FIRST_BUCKETS ((size_t)16)

void
index_init(
    struct index *x, bool (*is)(const struct index_link *l, struct str key))
{
	*x = (struct index){.is = is, .sip = sip_new()};
}

static struct index_link **
bucket(const struct index *x, uint32_t hash)
{
	return &x->buckets[hash & (x->cap - 1)];
}

void *
index_find(const struct index *x, struct str key)
{
	uint32_t h = (uint32_t)sip_hash(&x->sip, key);
	struct index_link *l = x->cap ? *bucket(x, h) : NULL;

	while (l && (l->hash != h || !x->is(l, key)))
		l = l->next;
	return l;
}

static void
push(struct index *x, struct index_link *l)
{
	struct index_link **at = bucket(x, l->hash);

	l->next = *at;
	*at = l;
}

static void
widen(struct index *x)
{
	struct index wide = *x;

	wide.cap = x->cap ? 2 * x->cap : FIRST_BUCKETS;
	wide.buckets = mem_array(wide.cap, sizeof(struct index_link *));
	for (size_t i = 0; i < x->cap; i++)
		for (struct index_link *l = x->buckets[i], *next; l; l = next) {
			next = l->next;
			push(&wide, l);
		}
	free(x->buckets);
	*x = wide;
}

void
index_add(struct index *x, struct str key, struct index_link *l)
{
	if (x->n == x->cap)
		widen(x);
	l->hash = (uint32_t)sip_hash(&x->sip, key);
	push(x, l);
	x->n++;
}

void
index_remove(struct index *x, struct index_link *l)
{
	struct index_link **at = bucket(x, l->hash);

	while (*at != l) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = l->next;
	x->n--;
}

void *
index_pop(struct index *x, size_t *at)
{
	struct index_link *l;

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
