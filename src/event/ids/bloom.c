#include "event/ids/bloom.h"

#define BLOCK_BITS 512 /* one cache line */
#define BITS       4   /* of a hash, each 9 bits of it */
#define UNUSED     21  /* low bits of a hash */

struct block {
	_Alignas(BLOCK_BITS / 8) uint64_t w[BLOCK_BITS / 64];
};

struct bloom {
	size_t count, n_blocks;
	struct block *blocks;
};

struct bloom *
bloom_new(size_t bytes)
{
	struct bloom *b = mem_get(sizeof(*b));

	assert(bytes >= sizeof(struct block) && (bytes & (bytes - 1)) == 0);
	b->n_blocks = bytes / sizeof(struct block);
	b->blocks = aligned_alloc(sizeof(struct block), bytes);
	if (!b->blocks)
		mem_out(bytes);
	memset(b->blocks, 0, bytes);
	return b;
}

void
bloom_free(struct bloom *b)
{
	if (b)
		free(b->blocks);
	free(b);
}

static struct block *
block_of(const struct bloom *b, uint64_t h)
{
	/* Mixed: 43 bits are too few for a large filter's own bits besides. */
	uint64_t mixed = (h >> UNUSED) * UINT64_C(0x9e3779b97f4a7c15);

	return &b->blocks[(mixed >> 32) & (b->n_blocks - 1)];
}

void
bloom_add(struct bloom *b, int64_t h)
{
	struct block *k = block_of(b, (uint64_t)h);
	uint64_t bits = (uint64_t)h >> UNUSED;

	for (int i = 0; i < BITS; i++, bits >>= 9)
		k->w[bits / 64 % 8] |= UINT64_C(1) << (bits % 64);
	b->count++;
}

void
bloom_hint(const struct bloom *b, int64_t h)
{
	__builtin_prefetch(block_of(b, (uint64_t)h));
}

bool
bloom_has(const struct bloom *b, int64_t h)
{
	const struct block *k = block_of(b, (uint64_t)h);
	uint64_t bits = (uint64_t)h >> UNUSED;

	for (int i = 0; i < BITS; i++, bits >>= 9)
		if (!(k->w[bits / 64 % 8] >> (bits % 64) & 1))
			return false;
	return true;
}

size_t
bloom_bytes(const struct bloom *b)
{
	return b->n_blocks * sizeof(struct block);
}

size_t
bloom_count(const struct bloom *b)
{
	return b->count;
}
