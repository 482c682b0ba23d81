#include "base/map.h"

#include <assert.h>

#include "base/str.h"
#include "base/uuid.h"

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
	uint64_t secret[2];
};

static uint64_t
rotl(uint64_t x, int b)
{
	return x << b | x >> (64 - b);
}

static void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[0] = rotl(v[0], 32);
	v[2] += v[3];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[2] = rotl(v[2], 32);
}

static void
sip_word(uint64_t v[4], uint64_t m)
{
	v[3] ^= m;
	sip_round(v);
	v[0] ^= m;
}

/*
 * SipHash-1-3: whoever does not know the secret can't choose keys that meet in
 * one slot, and so can't make a table slow. The byte order of a word is the
 * machine's; the result never leaves the process.
 */
static uint64_t
hash(const struct map *m, struct str key)
{
	uint64_t v[4] = {
	    m->secret[0] ^ 0x736f6d6570736575u,
	    m->secret[1] ^ 0x646f72616e646f6du,
	    m->secret[0] ^ 0x6c7967656e657261u,
	    m->secret[1] ^ 0x7465646279746573u,
	};
	uint64_t last = (uint64_t)key.n << 56, word;

	for (; key.n >= sizeof(word); key = str_from(key, sizeof(word))) {
		memcpy(&word, key.p, sizeof(word));
		sip_word(v, word);
	}
	for (size_t i = 0; i < key.n; i++)
		last |= (uint64_t)(unsigned char)key.p[i] << 8 * i;
	sip_word(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct map *
map_new(size_t most)
{
	struct map *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->most = most;
	rand_bytes(m->secret, sizeof(m->secret));
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
look(const struct map *m, struct str key, uint64_t h)
{
	for (size_t i = h & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
		struct slot *s = &m->slots[i];

		if (!s->value || (s->hash == h && str_eq(s->key, key)))
			return s;
	}
}

/* Keeps a quarter of the slots free, so that look() ends soon. */
static bool
grow(struct map *m)
{
	struct map wide = *m;

	if (m->n + 1 <= m->cap / 4 * 3)
		return true;
	wide.cap = m->cap ? 2 * m->cap : FIRST_SLOTS;
	wide.slots = calloc(wide.cap, sizeof(*wide.slots));
	if (!wide.slots)
		return false;
	for (size_t i = 0; i < m->cap; i++) {
		struct slot *s = &m->slots[i];

		if (s->value)
			*look(&wide, s->key, s->hash) = *s;
	}
	free(m->slots);
	*m = wide;
	return true;
}

void *
map_find(const struct map *m, struct str key)
{
	return m->n ? look(m, key, hash(m, key))->value : NULL;
}

int
map_put(
    struct map *m, struct str key, void *value, void **ret_old, struct err *e)
{
	uint64_t h = hash(m, key);
	struct slot *s = m->cap ? look(m, key, h) : NULL;
	void *old = s ? s->value : NULL;

	assert(value);
	if (!old) {
		if (m->n >= m->most)
			return err_set(e, ERR_LIMIT,
			    "a table is full at %zu entries", m->most);
		if (!grow(m))
			return err_set(e, ERR_NOMEM, "no memory for a table");
		s = look(m, key, h);
		m->n++;
	}
	/* The key too: the old one may live inside the old value. */
	*s = (struct slot){.key = key, .value = value, .hash = h};
	if (ret_old)
		*ret_old = old;
	return OK;
}

void *
map_take(struct map *m, struct str key)
{
	struct slot *s = m->n ? look(m, key, hash(m, key)) : NULL;
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
