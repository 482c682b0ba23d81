#include "base/map.h"

#include "base/sip.h"

#define FIRST_SLOTS ((size_t)16)

struct slot {
	struct str key;
	void *value; /* NULL: free */
	uint64_t hash;
};

struct map {
	struct slot *slots;
	size_t n, cap; /* cap is 0 or a power of two */
	size_t most;
	struct sip sip;
};

struct map *
map_new(size_t most)
{
	struct map *m = mem_get(sizeof(*m));

	m->most = most;
	m->sip = sip_new();
	return m;
}

void
map_free(struct map *m)
{
	if (!m)
		return;
	free(m->slots);
	free(m);
}

size_t
map_count(const struct map *m)
{
	return m->n;
}

/* Where the key is, or the free slot where it belongs. Never a full table. */
static struct slot *
map_slot(const struct map *m, struct str key, uint64_t h)
{
	for (size_t i = h & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct slot *s = &m->slots[i];

		if (!s->value || (s->hash == h && str_eq(s->key, key)))
			return s;
	}
}

/* Keeps a quarter of the slots free, so that map_slot() ends soon. */
static void
map_grow(struct map *m)
{
	struct map wide = *m;

	if (m->n + 1 <= m->cap / 4 * 3)
		return;
	wide.cap = m->cap ? 2 * m->cap : FIRST_SLOTS;
	wide.slots = mem_array(wide.cap, sizeof(*wide.slots));
	for (size_t i = 0; i < m->cap; i++) {
		struct slot *s = &m->slots[i];

		if (s->value)
			*map_slot(&wide, s->key, s->hash) = *s;
	}
	free(m->slots);
	*m = wide;
}

void *
map_find(const struct map *m, struct str key)
{
	return m->n ? map_slot(m, key, sip_hash(&m->sip, key))->value : NULL;
}

int
map_put(
    struct map *m, struct str key, void *value, void **ret_old, struct err *e)
{
	uint64_t h = sip_hash(&m->sip, key);
	struct slot *s = m->cap ? map_slot(m, key, h) : NULL;
	void *old = s ? s->value : NULL;

	assert(value);
	if (!old) {
		if (m->n >= m->most)
			return err_set(e, ERR_LIMIT,
			    "a table is full at %zu entries", m->most);
		map_grow(m);
		s = map_slot(m, key, h);
		m->n++;
	}
	/* The key too: the old one may live inside the old value. */
	*s = (struct slot){.key = key, .value = value, .hash = h};
	if (ret_old)
		*ret_old = old;
	return OK;
}

void
map_set(struct map *m, struct str key, void *value)
{
	struct err e;
	int rc = map_put(m, key, value, NULL, &e);

	assert(rc == OK);
}

void *
map_take(struct map *m, struct str key)
{
	struct slot *s = m->n ? map_slot(m, key, sip_hash(&m->sip, key)) : NULL;
	size_t mask = m->cap - 1, hole;
	void *value;

	if (!s || !s->value)
		return NULL;
	value = s->value;
	m->n--;
	/* Those behind move up into the hole, unless it is before their home:
	 * no tombstones, so a table that only churns never fills. */
	hole = (size_t)(s - m->slots);
	for (size_t i = (hole + 1) & mask; m->slots[i].value;
	     i = (i + 1) & mask) {
		size_t home = m->slots[i].hash & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole] = (struct slot){.value = NULL};
	return value;
}

void *
map_each(const struct map *m, size_t *at)
{
	while (*at < m->cap) {
		void *value = m->slots[(*at)++].value;

		if (value)
			return value;
	}
	return NULL;
}
